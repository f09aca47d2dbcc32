//! `schema list`.

use serde_json::json;

use crate::commands::Context;
use crate::failure::{Answer, Failure};

/// List the recorded schemas, with the number of their object types and objects.
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    /// Do not count the objects, which takes a step for each
    #[arg(long)]
    no_counts: bool,
}

impl List {
    pub(super) fn run(&self, context: &mut Context<'_, '_>) -> Result<Answer, Failure> {
        let session = context.session;
        context.read(|transaction, out| {
            let bundle = transaction.bundle();
            for schema in bundle.schemas() {
                let mut objects = None;
                if !self.no_counts {
                    let mut count = 0u64;
                    for id in &transaction.objects_in_schema(schema.index)? {
                        session.interrupt.check()?;
                        id?;
                        count += 1;
                    }
                    objects = Some(count);
                }
                let (number, types) = (schema.index.get(), schema.types.len());
                if out.is_json() {
                    let id = schema.id.to_string();
                    let mut line =
                        json!({ "type": "schema", "schema": number, "id": id, "types": types });
                    if let Some(objects) = objects {
                        line["objects"] = objects.into();
                    }
                    out.json(&line)?;
                    continue;
                }
                let objects = objects.map(|count| format!(", {}", counted(count, "object")));
                let types = counted(types as u64, "type");
                let objects = objects.unwrap_or_default();
                out.say(format_args!("{number:>4}  {}  {types}{objects}", schema.id));
            }
            Ok(Answer::Yes)
        })
    }
}

/// `1 object`, `2 objects`.
fn counted(count: u64, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}
