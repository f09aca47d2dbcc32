//! `schema show`.

use permazen::schema::{SchemaModel, XmlForm};
use serde_json::json;

use super::named;
use crate::commands::{Command, Context, Scope};
use crate::failure::{Answer, Failure};

/// Show recorded schemas as XML.
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The schema: its number, its ID or the first digits of that [default: all of them]
    schema: Option<String>,
    /// Leave out the storage IDs
    #[arg(long)]
    no_storage_ids: bool,
}

impl Command for Show {
    fn scope(&self) -> Scope {
        Scope::InTransaction { edits: false }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let session = context.session;
        let form = XmlForm { storage_ids: !self.no_storage_ids, pretty: true };
        context.read(|transaction, out| {
            let schemas = match &self.schema {
                Some(name) => vec![named::recorded_or_newest(transaction, Some(name))?],
                None => transaction.bundle().recorded().schemas().to_vec(),
            };
            for schema in &schemas {
                let xml = schema.model_with_storage_ids().to_xml(form);
                if out.is_json() {
                    let (number, id) = (schema.index.get(), schema.id.to_string());
                    let xml = xml.trim();
                    out.json(&json!({ "type": "schema", "schema": number, "id": id, "xml": xml }))?;
                    continue;
                }
                if self.schema.is_none() {
                    out.say(format_args!("=== Schema {}: {} ===", schema.index.get(), schema.id));
                }
                xml.trim().lines().for_each(|line| out.say(line));
            }
            // A schema that is named is shown whole, whatever is damaged.
            Ok(match &self.schema {
                Some(_) => Answer::Yes,
                None => session.perhaps_lacking(Answer::Yes),
            })
        })
    }
}

/// A schema as XML, as `schema verify` expects it.
pub(super) fn expected_form(model: &SchemaModel) -> String {
    model.to_xml(XmlForm { storage_ids: false, pretty: true })
}
