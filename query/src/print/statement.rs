//! Statements.

use std::fmt::{Display, Formatter, Result};

use super::list;
use crate::syntax::{
    Assignment, Bounds, Change, Create, Find, IndexEntries, Limit, Name, Query, Set, Statement,
    StatementKind, Using,
};

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.kind {
            StatementKind::Find(find) => find.fmt(f),
            StatementKind::Show(query) => write!(f, "show {query}"),
            StatementKind::Count(query) => write!(f, "count {query}"),
            StatementKind::Index(index) => index.fmt(f),
            StatementKind::Create(create) => create.fmt(f),
            StatementKind::Set(set) => set.fmt(f),
            StatementKind::Delete(delete) => {
                write!(f, "delete {}{}", if delete.all { "all " } else { "" }, delete.query)
            }
            StatementKind::Migrate(migrate) => {
                let lossy = if migrate.lossy { " lossy" } else { "" };
                write!(f, "migrate {} to {}{lossy}", migrate.query, migrate.schema)
            }
            StatementKind::Export(query) => write!(f, "export {query}"),
            StatementKind::Explain(explain) => {
                let run = if explain.run { "run " } else { "" };
                write!(f, "explain {run}{}", explain.statement)
            }
        }
    }
}

fn names(f: &mut Formatter<'_>, names: &[Name]) -> Result {
    for (at, name) in names.iter().enumerate() {
        write!(f, "{}{name}", if at > 0 { "." } else { "" })?;
    }
    Ok(())
}

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.objects.fmt(f)?;
        if !self.order.is_empty() {
            f.write_str(" order by ")?;
            list(f, &self.order, |f, order| {
                write!(f, "{}{}", order.path, if order.descending { " desc" } else { "" })
            })?;
        }
        if let Some(limit) = &self.limit {
            write!(f, " limit {limit}")?;
        }
        match &self.using {
            None => Ok(()),
            Some(Using::None(_)) => f.write_str(" using none"),
            Some(Using::Index(index)) => {
                f.write_str(" using ")?;
                match index.as_slice() {
                    // The word `none` alone means no index.
                    [name] if name.text.as_deref() == Some("none") && name.storage_id.is_none() => {
                        f.write_str("`none`")
                    }
                    index => names(f, index),
                }
            }
        }
    }
}

impl Display for Find {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "find {}", self.query)?;
        if self.columns.is_empty() {
            return Ok(());
        }
        f.write_str(" columns ")?;
        list(f, &self.columns, |f, column| column.fmt(f))
    }
}

impl Display for IndexEntries {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("index ")?;
        names(f, &self.index)?;
        if !self.bounds.is_empty() {
            f.write_str(" (")?;
            list(f, &self.bounds, |f, bounds| match bounds {
                Bounds::Value(value) => value.fmt(f),
                Bounds::Range(range) => range.fmt(f),
            })?;
            f.write_str(")")?;
        }
        if self.reverse {
            f.write_str(" reverse")?;
        }
        self.limit.as_ref().map_or(Ok(()), |limit| write!(f, " limit {limit}"))
    }
}

impl Display for Create {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "create {}", self.type_name)?;
        if self.fields.is_empty() {
            return Ok(());
        }
        f.write_str(" ")?;
        list(f, &self.fields, |f, (field, value)| write!(f, "{field} = {value}"))
    }
}

impl Display for Set {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "set {}{} to ", if self.all { "all " } else { "" }, self.query)?;
        list(f, &self.assignments, |f, assignment| assignment.fmt(f))
    }
}

impl Display for Assignment {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.field.fmt(f)?;
        match &self.change {
            Change::Assign(value) => write!(f, " = {value}"),
            Change::AssignAt(key, value) => write!(f, "[{key}] = {value}"),
            Change::Increase(value) => write!(f, " += {value}"),
            Change::Decrease(value) => write!(f, " -= {value}"),
            Change::Add(value) => write!(f, " add {value}"),
            Change::Remove(value) => write!(f, " remove {value}"),
            Change::Insert(value, at) => write!(f, " insert {value} at {at}"),
            Change::Put(key, value) => write!(f, " put {key}: {value}"),
        }
    }
}

impl Display for Limit {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Limit::Count(count) => count.fmt(f),
            Limit::Parameter(parameter) => parameter.fmt(f),
        }
    }
}
