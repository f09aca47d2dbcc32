//! `schema compare`.

use std::collections::HashMap;
use std::sync::Arc;

use permazen::__internal::schema::{Difference, Item, SchemaComparison};
use permazen::StorageId;
use serde_json::{Value, json};

use super::effects::effects;
use super::named::Named;
use crate::commands::{Command, Context, Scope};
use crate::failure::{Answer, Failure};
use crate::output::Output;

/// List what differs between two schemas; the exit code is 1 if anything does.
///
/// Storage IDs that a file leaves out do not count against a recorded schema.
#[derive(Debug, clap::Args)]
pub(crate) struct Compare {
    /// The old schema: its number, its ID or the first digits of that, or a file with its XML
    old: String,
    /// The new schema
    new: String,
    /// Also say what `migrate` does to objects that move from the old schema to the new one
    #[arg(long)]
    effects: bool,
}

impl Command for Compare {
    fn scope(&self) -> Scope {
        Scope::InTransaction { edits: false }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let session = context.session;
        context.read(|transaction, out| {
            let old = Named::find(transaction, &self.old, session)?;
            let new = Named::find(transaction, &self.new, session)?;
            let (old, new) = without_missing_ids(old, new);
            let differ = show(&old, &new, out)?;
            if self.effects && !out.is_json() {
                out.say("");
                all_effects(&old, &new).iter().for_each(|line| out.say(line));
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
        let effects = all_effects(old, new);
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

/// Why the new schema cannot be recorded beside the old one, and what `migrate` does to objects.
fn all_effects(old: &Named, new: &Named) -> Vec<String> {
    let refusals = SchemaComparison::new(&old.model, &new.model).refusals;
    let refused = refusals.iter().map(|refusal| format!("refused: {refusal}"));
    refused.chain(effects(&old.model, &new.model)).collect()
}

/// Two schemas, of which one is recorded and the other that of a file. Storage IDs that the file
/// leaves out are left out of both.
fn without_missing_ids(old: Named, new: Named) -> (Named, Named) {
    let ids = |schema: &Named| -> HashMap<String, Option<StorageId>> {
        let items = schema.model.items();
        items.map(|item| (item.location(), item.storage_id())).collect()
    };
    let of = |schema: &Named, other: &HashMap<String, Option<StorageId>>| {
        let is_missing = |item: &Item<'_>| other.get(&item.location()) == Some(&None);
        let counted = |item: &Item<'_>| item.storage_id().filter(|_| !is_missing(item));
        Named { model: Arc::new(schema.model.with_storage_ids(counted)), ..schema.clone() }
    };
    if old.number.is_some() == new.number.is_some() {
        return (old, new);
    }
    let (of_old, of_new) = (ids(&old), ids(&new));
    (of(&old, &of_new), of(&new, &of_old))
}

fn side(schema: &Named) -> Value {
    let number = schema.number.map(|number| number.get());
    json!({ "schema": number, "id": schema.id.to_string() })
}

fn as_json(difference: &Difference) -> Value {
    let details: Vec<_> = difference.details.iter().map(as_json).collect();
    json!({ "text": difference.text, "details": details })
}
