//! `schema rust`.

use serde_json::json;

use super::named;
use super::rust::structs;
use crate::commands::{Command, Context, Scope};
use crate::failure::{Answer, Failure};

/// Print Rust structs with which a program has this schema.
///
/// Everything that can be null is an Option. Rules such as `unique` are the program's own: a
/// database does not record them. If the attributes of the structs cannot say all of the schema,
/// the reasons are listed instead, and the exit code is 1.
#[derive(Debug, clap::Args)]
pub(crate) struct Rust {
    /// The schema: its number, its ID or the first digits of that [default: the newest one]
    schema: Option<String>,
    /// Ask for the storage IDs that this database has given
    #[arg(long)]
    storage_ids: bool,
}

impl Command for Rust {
    fn scope(&self) -> Scope {
        Scope::InTransaction { edits: false }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let session = context.session;
        let schema = context.read(|transaction, _| {
            named::recorded_or_newest(transaction, self.schema.as_deref())
        })?;
        let source = match self.storage_ids {
            true => structs(&schema.model_with_storage_ids()),
            false => structs(&schema.model),
        };
        let out = &mut *context.out;
        let (number, id) = (schema.index.get(), schema.id.to_string());
        match &source {
            Ok(source) if out.is_json() => {
                out.json(&json!({ "type": "rust", "schema": number, "id": id, "rust": source }))?;
            }
            // Names in it are escaped.
            Ok(source) => out.exactly(source.as_bytes()),
            Err(reasons) if out.is_json() => {
                out.json(
                    &json!({ "type": "rust", "schema": number, "id": id, "reasons": reasons }),
                )?;
            }
            Err(reasons) => {
                out.say(format_args!("{} cannot be said in Rust:", schema.id));
                reasons.iter().for_each(|reason| out.say(reason));
            }
        }
        let answer = Answer::yes_if(source.is_ok());
        // The newest one may be damaged. One that is named is not.
        Ok(match &self.schema {
            Some(_) => answer,
            None => session.perhaps_lacking(answer),
        })
    }
}
