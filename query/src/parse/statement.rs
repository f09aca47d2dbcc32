//! Statements.

use super::cursor::Cursor;
use super::keywords::STATEMENTS;
use super::limits::Result;
use super::token::TokenKind;
use crate::syntax::{
    Assignment, Bounds, Change, Create, Delete, Explain, Find, IndexEntries, Limit, Migrate, Order,
    Query, Set, Statement, StatementKind, Using,
};

impl Cursor<'_> {
    pub(super) fn statement(&mut self) -> Result<Statement> {
        let start = self.start();
        let word = match &self.token().kind {
            TokenKind::Word(word) => STATEMENTS.into_iter().find(|known| known == word),
            _ => None,
        };
        let Some(word) = word else {
            let expected = STATEMENTS.map(|word| format!("`{word}`"));
            let expected: Vec<_> = expected.iter().map(String::as_str).collect();
            let mut mistake = self.unexpected(&expected);
            if let TokenKind::Word(word) = &self.token().kind {
                mistake.what = format!("`{word}` begins no statement");
                return Err(mistake.near(word, STATEMENTS));
            }
            return Err(mistake);
        };
        self.take()?;
        let kind = match word {
            "find" => StatementKind::Find(self.find()?),
            "show" => StatementKind::Show(self.query()?),
            "count" => StatementKind::Count(self.query()?),
            "index" => StatementKind::Index(self.index_entries()?),
            "create" => StatementKind::Create(self.create()?),
            "set" => StatementKind::Set(self.set()?),
            "delete" => {
                // `all` is a reserved word, so no type without backticks can be meant.
                let all = self.take_word("all")?;
                StatementKind::Delete(Delete { all, query: self.query()? })
            }
            "migrate" => {
                let query = self.query()?;
                self.need_word("to")?;
                let schema = self.literal()?;
                let lossy = self.take_word("lossy")?;
                StatementKind::Migrate(Migrate { query, schema, lossy })
            }
            "export" => StatementKind::Export(self.query()?),
            _ => StatementKind::Explain(self.explain()?),
        };
        Ok(Statement { span: self.since(start), kind })
    }

    fn explain(&mut self) -> Result<Explain> {
        let run = self.take_word("run")?;
        // Otherwise the words could be repeated without end, and would mean nothing more.
        if self.at_word("explain") {
            let mut mistake = self.unexpected(&[]);
            mistake.what = "an explanation is not explained".into();
            return Err(mistake);
        }
        let statement = Box::new(self.nested(Self::statement)?);
        Ok(Explain { run, statement })
    }

    fn query(&mut self) -> Result<Query> {
        let objects = self.objects()?;
        let mut order = Vec::new();
        if self.take_word("order")? {
            self.need_word("by")?;
            loop {
                let path = self.path()?;
                let descending = self.take_word("desc")?;
                if !descending {
                    self.take_word("asc")?;
                }
                order.push(Order { path, descending });
                if !self.take_sign(",")? {
                    break;
                }
            }
        }
        let limit = self.limit()?;
        let using = self.using()?;
        Ok(Query { objects, order, limit, using })
    }

    fn limit(&mut self) -> Result<Option<Limit>> {
        if !self.take_word("limit")? {
            return Ok(None);
        }
        match self.token().kind {
            // The value of a parameter is no part of the text that is parsed.
            TokenKind::Parameter(_) => Ok(Some(Limit::Parameter(self.literal()?))),
            _ => Ok(Some(Limit::Count(self.count()?))),
        }
    }

    fn using(&mut self) -> Result<Option<Using>> {
        if !self.take_word("using")? {
            return Ok(None);
        }
        let span = self.token().span;
        // Asked before names: an index named `none` needs backticks.
        if self.take_word("none")? {
            return Ok(Some(Using::None(span)));
        }
        Ok(Some(Using::Index(self.names("an index or `none`")?)))
    }

    fn find(&mut self) -> Result<Find> {
        let mut query = self.query()?;
        let mut columns = Vec::new();
        if self.take_word("columns")? {
            columns.push(self.path()?);
            while self.take_sign(",")? {
                columns.push(self.path()?);
            }
            // `using` can stand before or after the columns. Two of them could contradict each
            // other.
            if query.using.is_none() {
                query.using = self.using()?;
            }
        }
        Ok(Find { query, columns })
    }

    fn index_entries(&mut self) -> Result<IndexEntries> {
        let index = self.names("an index")?;
        let mut bounds = Vec::new();
        if self.take_sign("(")? {
            // Empty parentheses bound nothing, which is allowed.
            while !self.take_sign(")")? {
                if !bounds.is_empty() {
                    self.need_sign(",")?;
                }
                bounds.push(self.bounds()?);
            }
        }
        let reverse = self.take_word("reverse")?;
        let limit = self.limit()?;
        Ok(IndexEntries { index, bounds, reverse, limit })
    }

    fn bounds(&mut self) -> Result<Bounds> {
        let start = self.start();
        let from = if self.at_range() { None } else { Some(self.literal()?) };
        match from {
            Some(value) if !self.at_range() => Ok(Bounds::Value(value)),
            from => Ok(Bounds::Range(self.range_after(start, from)?)),
        }
    }

    fn create(&mut self) -> Result<Create> {
        let type_name = self.name("a type")?;
        let mut fields = Vec::new();
        if self.at_name() {
            loop {
                let field = self.name("a field")?;
                self.need_sign("=")?;
                fields.push((field, self.literal()?));
                if !self.take_sign(",")? {
                    break;
                }
            }
        }
        Ok(Create { type_name, fields })
    }

    fn set(&mut self) -> Result<Set> {
        let all = self.take_word("all")?;
        let query = self.query()?;
        self.need_word("to")?;
        let mut assignments = vec![self.assignment()?];
        while self.take_sign(",")? {
            assignments.push(self.assignment()?);
        }
        Ok(Set { all, query, assignments })
    }

    fn assignment(&mut self) -> Result<Assignment> {
        let start = self.start();
        let field = self.name("a field")?;
        let change = self.change()?;
        Ok(Assignment { span: self.since(start), field, change })
    }

    fn change(&mut self) -> Result<Change> {
        if self.take_sign("=")? {
            return Ok(Change::Assign(self.literal()?));
        }
        if self.take_sign("+=")? {
            return Ok(Change::Increase(self.literal()?));
        }
        if self.take_sign("-=")? {
            return Ok(Change::Decrease(self.literal()?));
        }
        // A key can be a list, and lists contain values: the nesting counts towards the limit.
        if self.take_sign("[")? {
            let key = self.nested(Self::literal)?;
            self.need_sign("]")?;
            self.need_sign("=")?;
            return Ok(Change::AssignAt(key, self.literal()?));
        }
        if self.take_word("add")? {
            return Ok(Change::Add(self.literal()?));
        }
        if self.take_word("remove")? {
            return Ok(Change::Remove(self.literal()?));
        }
        if self.take_word("insert")? {
            let value = self.literal()?;
            self.need_word("at")?;
            return Ok(Change::Insert(value, self.literal()?));
        }
        if self.take_word("put")? {
            let key = self.literal()?;
            self.need_sign(":")?;
            return Ok(Change::Put(key, self.literal()?));
        }
        Err(self
            .unexpected(&["`=`", "`+=`", "`-=`", "`[`", "`add`", "`remove`", "`insert`", "`put`"]))
    }
}
