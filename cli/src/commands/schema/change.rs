//! `schema add`, `schema remove` and `schema gc`.

use std::path::PathBuf;

use permazen::object::Transaction;
use serde_json::json;

use super::{encodings, named};
use crate::commands::{Command, Context, Scope};
use crate::failure::{Answer, Failure};
use crate::output::{self, Output};

/// Record schemas.
///
/// An encoding that is not known is refused, because that may be a slip of the pen, and the values
/// could not be read.
#[derive(Debug, clap::Args)]
pub(crate) struct Add {
    /// XML files with a schema each; - is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Also record encodings that neither Java nor this program knows: those of your own classes
    #[arg(long)]
    custom_encodings: bool,
}

impl Command for Add {
    fn scope(&self) -> Scope {
        Scope::InTransaction { edits: true }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let session = context.session;
        let models = self.files.iter().map(|file| named::read(file, session));
        let models: Vec<_> = models.collect::<Result<_, _>>()?;
        if !self.custom_encodings {
            let encodings = session.database().encodings();
            models.iter().try_for_each(|model| encodings::check(model, encodings))?;
        }
        let added = context.write(|transaction| {
            let mut added = Vec::new();
            for model in &models {
                let is_new = transaction.add_schema(model)?;
                let schema = transaction.bundle().schema_by_id(model.schema_id()).cloned();
                let number = schema.map_or(0, |schema| schema.index.get());
                added.push((model.schema_id(), number, is_new));
            }
            Ok(added)
        })?;
        for (id, number, is_new) in added {
            let how = if is_new { "recorded as" } else { "was recorded before as" };
            context.out.done(
                format_args!("Schema {id} {how} number {number}"),
                &json!({
                    "type": "schema_added", "schema": number, "id": id.to_string(), "new": is_new,
                }),
            )?;
        }
        Ok(Answer::Yes)
    }
}

/// Remove a recorded schema that no object has.
///
/// The exit code is 1 if there is no such schema.
#[derive(Debug, clap::Args)]
pub(crate) struct Remove {
    /// The schema: its number, its ID or the first digits of that
    schema: String,
}

impl Command for Remove {
    fn scope(&self) -> Scope {
        Scope::InTransaction { edits: true }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let removed = context.write(|transaction| {
            let Some(schema) = named::recorded(transaction, &self.schema)? else { return Ok(None) };
            transaction.remove_schema(schema.id)?;
            Ok(Some((schema.index, schema.id)))
        })?;
        match removed {
            Some((number, id)) => {
                context.out.done(
                    format_args!("Schema version {id} removed"),
                    &json!({ "type": "schema_removed", "schema": number.get(), "id": id.to_string() }),
                )?;
                Ok(Answer::Yes)
            }
            None => {
                output::note(format_args!("Schema version {} not found", self.schema));
                Ok(Answer::No)
            }
        }
    }
}

/// Remove all recorded schemas that no object has.
#[derive(Debug, clap::Args)]
pub(crate) struct Gc {}

impl Command for Gc {
    fn scope(&self) -> Scope {
        Scope::InTransaction { edits: true }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let removed = context.write(|transaction| Ok(remove_unused(transaction)?))?;
        let out: &mut Output = context.out;
        for (number, id) in &removed {
            out.done(
                format_args!("Schema version {id} removed"),
                &json!({ "type": "schema_removed", "schema": number.get(), "id": id.to_string() }),
            )?;
        }
        if removed.is_empty() && !out.is_json() {
            out.say("Every recorded schema has objects");
        }
        Ok(Answer::Yes)
    }
}

type Removed = (permazen::schema::SchemaIndex, permazen::schema::SchemaId);

fn remove_unused(transaction: &Transaction) -> permazen::object::Result<Vec<Removed>> {
    let used = transaction.schemas_in_use()?;
    let recorded = transaction.bundle();
    let unused = recorded.schemas().iter().filter(|schema| !used.contains(&schema.index));
    let mut removed = Vec::new();
    for schema in unused {
        transaction.remove_schema(schema.id)?;
        removed.push((schema.index, schema.id));
    }
    Ok(removed)
}
