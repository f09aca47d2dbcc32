//! Checking `create`, `set`, `delete` and `migrate`.

use std::sync::Arc;

use permazen::schema::SchemaIndex;

use super::changes::{
    CheckedAssignment, CheckedCreate, CheckedDelete, CheckedMigrate, CheckedSet, FieldChange,
};
use super::checker::{Checker, Result};
use super::names::{missing, ticked};
use super::query::check_all;
use crate::mistake::Mistake;
use crate::syntax::{Assignment, Create, Delete, Literal, LiteralKind, Migrate, Set};

impl Checker<'_> {
    pub(super) fn create(&self, create: &Create) -> Result<CheckedCreate> {
        let entry = self.object_type(&create.type_name)?;
        let version = match self.parameters.schema() {
            Some(schema) => entry.version(schema),
            None => entry.newest(),
        };
        let Some(object_type) = version.map(Arc::clone) else {
            let what = format!(
                "schema {} has no object type {}",
                self.parameters.schema().unwrap_or_default(),
                ticked(&entry.name)
            );
            return Err(Mistake::new(create.type_name.span, what));
        };
        let mut fields: Vec<(Arc<_>, _)> = Vec::new();
        for (name, value) in &create.fields {
            let found = object_type.fields.iter().find(|f| name.is(&f.name, f.storage_id));
            let Some(field) = found else {
                let names = object_type.fields.iter().map(|field| &*field.name);
                let mut mistake = missing(name, "field", names);
                let what = format!(
                    "{} in schema {} has no field",
                    ticked(&entry.name),
                    object_type.schema
                );
                mistake.what = mistake.what.replacen("there is no field", &what, 1);
                return Err(mistake);
            };
            if fields.iter().any(|(other, _)| Arc::ptr_eq(other, field)) {
                let what = format!("{} has its value already", ticked(&field.name));
                return Err(Mistake::new(name.span, what));
            }
            fields.push((Arc::clone(field), self.content(field, value)?));
        }
        Ok(CheckedCreate { object_type, fields })
    }

    pub(super) fn set(&self, set: &Set) -> Result<CheckedSet> {
        let query = self.query(&set.query)?;
        check_all(set.all, "set", &set.query, &query)?;
        let assignments = set
            .assignments
            .iter()
            .map(|assignment| self.assignment(&query.objects.types, assignment))
            .collect::<Result<_>>()?;
        Ok(CheckedSet { query, assignments })
    }

    fn assignment(
        &self,
        types: &[permazen::StorageId],
        assignment: &Assignment,
    ) -> Result<CheckedAssignment> {
        let found = self.fields(types, &assignment.field)?;
        let mut versions = Vec::new();
        let mut newest: Option<Arc<str>> = None;
        let mut refused = None;
        let mut accepted = false;
        for (version, at) in found.newest_first() {
            newest.get_or_insert_with(|| Arc::clone(&at.field.name));
            if !at.stored {
                continue;
            }
            let field = Arc::clone(&at.field);
            let change = self
                .change(&field, &assignment.change, assignment.span)
                .map(|change| FieldChange { field, change });
            match &change {
                Ok(_) => accepted = true,
                Err(mistake) => drop(refused.get_or_insert_with(|| mistake.clone())),
            }
            versions.push((version, change));
        }
        versions.sort_by_key(|(version, _)| *version);
        match refused {
            Some(mistake) if !accepted => Err(mistake),
            _ => Ok(CheckedAssignment {
                span: assignment.span,
                field: newest.unwrap_or_else(|| "".into()),
                versions,
            }),
        }
    }

    pub(super) fn delete(&self, delete: &Delete) -> Result<CheckedDelete> {
        let query = self.query(&delete.query)?;
        check_all(delete.all, "delete", &delete.query, &query)?;
        Ok(CheckedDelete { query })
    }

    pub(super) fn migrate(&self, migrate: &Migrate) -> Result<CheckedMigrate> {
        let query = self.query(&migrate.query)?;
        let schema = self.schema(&migrate.schema)?;
        let has_any = self.entries(&query.objects.types).any(|e| e.version(schema).is_some());
        if !has_any {
            let what = format!("schema {schema} has no {}", self.type_names(&query.objects.types));
            return Err(Mistake::new(migrate.schema.span, what));
        }
        Ok(CheckedMigrate { query, schema, lossy: migrate.lossy })
    }

    /// A schema by its number, its ID, or the word `newest`.
    fn schema(&self, literal: &Literal) -> Result<SchemaIndex> {
        let schemas = self.catalog.schemas().schemas();
        let found = match &self.given(literal)?.kind {
            LiteralKind::Word(word) if word == "newest" => schemas.last(),
            LiteralKind::Number(number) => {
                let index = number.parse().ok().and_then(SchemaIndex::new);
                schemas.iter().find(|schema| Some(schema.index) == index)
            }
            LiteralKind::Word(id) => schemas.iter().find(|schema| schema.id.to_string() == *id),
            LiteralKind::Text(id) => {
                let id = id.to_string_lossy();
                schemas.iter().find(|schema| schema.id.to_string() == id)
            }
            _ => None,
        };
        found.map(|schema| schema.index).ok_or_else(|| {
            let what = "there is no such schema";
            let numbers: Vec<_> = schemas.iter().map(|schema| schema.index.to_string()).collect();
            let expected = "the number or the ID of a recorded schema, or `newest`";
            let listed = format!("{what}; there are {}", numbers.join(", "));
            let what = if numbers.len() <= 10 { listed } else { what.to_owned() };
            Mistake::new(literal.span, what).expecting(&[expected])
        })
    }
}
