//! Schemas by what users call them: a number, an ID or its beginning, or a file.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use permazen::__internal::schema::RecordedSchema;
use permazen::object::Transaction;
use permazen::schema::{SchemaId, SchemaIndex, SchemaModel};

use crate::commands::file::{self, file_text};
use crate::failure::Failure;
use crate::session::Session;

/// The help of arguments that name schemas.
pub(super) const NAMES: &str = "its number, its ID or the first digits of that";

/// The recorded schema that a user means, or `None`.
pub(crate) fn recorded(
    transaction: &Transaction,
    name: &str,
) -> Result<Option<RecordedSchema>, Failure> {
    let bundle = transaction.bundle();
    let schemas = bundle.recorded().schemas();
    if let Some(schema) = schemas.iter().find(|schema| schema.index.get().to_string() == name) {
        return Ok(Some(schema.clone()));
    }
    let digits = name.strip_prefix("Schema_").unwrap_or(name);
    let has_digits = |schema: &&RecordedSchema| {
        let id = schema.id.to_string();
        !digits.is_empty() && id.strip_prefix("Schema_").is_some_and(|id| id.starts_with(digits))
    };
    match &schemas.iter().filter(has_digits).collect::<Vec<_>>()[..] {
        [] => Ok(None),
        [schema] => Ok(Some((*schema).clone())),
        [one, two, ..] => {
            let message =
                format!("schema {name}: this may be {} or {}; give more digits", one.id, two.id);
            Err(Failure::new(message))
        }
    }
}

/// The recorded schema that a user means, or the newest one.
pub(crate) fn recorded_or_newest(
    transaction: &Transaction,
    name: Option<&str>,
) -> Result<RecordedSchema, Failure> {
    match name {
        Some(name) => recorded(transaction, name)?.ok_or_else(|| missing(transaction, name)),
        None => {
            let bundle = transaction.bundle();
            let newest = bundle.recorded().schemas().last().cloned();
            newest.ok_or_else(|| Failure::new("the database has no schema"))
        }
    }
}

/// There is no such schema.
pub(super) fn missing(transaction: &Transaction, name: &str) -> Failure {
    let bundle = transaction.bundle();
    let numbers = bundle.recorded().schemas().iter().map(|schema| schema.index.get().to_string());
    let numbers: Vec<_> = numbers.collect();
    let there_are = match &numbers[..] {
        [] => "the database has no schema".to_owned(),
        numbers => format!("the database has the schemas {}", numbers.join(", ")),
    };
    Failure::new(format!("no schema {name}: {there_are} (say which by {NAMES})"))
}

/// A schema with what it is called in messages.
#[derive(Clone)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) model: Arc<SchemaModel>,
    pub(super) id: SchemaId,
    /// The number, if it is recorded.
    pub(super) number: Option<SchemaIndex>,
}

impl Named {
    pub(super) fn recorded(schema: &RecordedSchema) -> Named {
        Named {
            name: format!("schema \"{}\"", schema.id),
            model: Arc::new(schema.model_with_storage_ids()),
            id: schema.id,
            number: Some(schema.index),
        }
    }

    /// The recorded schema of this name, or else the one in the file of this name.
    pub(super) fn find(
        transaction: &Transaction,
        name: &str,
        session: &Session,
    ) -> Result<Named, Failure> {
        if let Some(schema) = recorded(transaction, name)? {
            return Ok(Named::recorded(&schema));
        }
        let path = Path::new(name);
        if !file::is_stream(path) && !path.exists() {
            let Failure { message, .. } = missing(transaction, name);
            return Err(Failure::new(format!("{message}, and there is no such file")));
        }
        let model = read(path, session)?;
        let name = format!("the schema of {}", file_text(path));
        Ok(Named { name, id: model.schema_id(), model: Arc::new(model), number: None })
    }
}

/// The valid schema in a file.
pub(super) fn read(path: &Path, session: &Session) -> Result<SchemaModel, Failure> {
    let mut xml = Vec::new();
    let failed =
        |error: &dyn std::fmt::Display| Failure::new(format!("{}: {error}", file_text(path)));
    file::read(path, session)?.read_to_end(&mut xml).map_err(|error| failed(&error))?;
    let model = SchemaModel::from_xml(&xml).map_err(|error| failed(&error))?;
    model.validate().map_err(|error| failed(&error))?;
    Ok(model)
}
