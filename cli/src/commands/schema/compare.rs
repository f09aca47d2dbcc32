//! `schema compare`.

use permazen::schema::{Difference, SchemaComparison};
use serde_json::{Value, json};

use super::named::Named;
use crate::commands::Context;
use crate::failure::{Answer, Failure};
use crate::output::Output;

/// List what differs between two schemas; the exit code is 1 if anything does.
#[derive(Debug, clap::Args)]
pub(crate) struct Compare {
    /// The old schema: its number, its ID or the first digits of that, or a file with its XML
    old: String,
    /// The new schema
    new: String,
    /// Also say what becomes of objects that move from the old schema to the new one
    #[arg(long)]
    effects: bool,
}

impl Compare {
    pub(super) fn run(&self, context: &mut Context<'_, '_>) -> Result<Answer, Failure> {
        let session = context.session;
        context.read(|transaction, out| {
            let old = Named::find(transaction, &self.old, session)?;
            let new = Named::find(transaction, &self.new, session)?;
            let differ = show(&old, &new, out)?;
            if self.effects && !out.is_json() {
                out.say("");
                let effects = SchemaComparison::new(&old.model, &new.model);
                effects.to_string().lines().for_each(|line| out.say(line));
            }
            Ok(Answer::yes_if(!differ))
        })
    }
}

/// Shows how two schemas differ. Returns whether they do.
pub(super) fn show(old: &Named, new: &Named, out: &mut Output) -> Result<bool, Failure> {
    let differences = new.model.differences_from(&old.model);
    if out.is_json() {
        let list: Vec<_> = differences.list().iter().map(as_json).collect();
        let effects = SchemaComparison::new(&old.model, &new.model).to_string();
        let effects: Vec<_> = effects.lines().collect();
        out.json(&json!({
            "type": "comparison",
            "old": side(old),
            "new": side(new),
            "differences": list,
            "effects": effects,
        }))?;
    } else if differences.is_empty() {
        out.say(format_args!("No differences found between {} and {}", old.name, new.name));
    } else {
        out.say(format_args!("Found differences between {} and {}", old.name, new.name));
        differences.to_string().lines().for_each(|line| out.say(line));
    }
    Ok(!differences.is_empty())
}

fn side(schema: &Named) -> Value {
    let number = schema.number.map(|number| number.get());
    json!({ "schema": number, "id": schema.id.to_string() })
}

fn as_json(difference: &Difference) -> Value {
    let details: Vec<_> = difference.details.iter().map(as_json).collect();
    json!({ "text": difference.text, "details": details })
}
