//! `kv put` and `kv remove`.

use serde_json::json;

use super::bytes::Bytes;
use super::{Bounds, remove_span};
use crate::commands::{Command, Context, Scope};
use crate::failure::{Answer, Failure};

/// Set the value of a key.
#[derive(Debug, clap::Args)]
pub(crate) struct Put {
    /// The key
    key: Bytes,
    /// Its value
    value: Bytes,
}

impl Command for Put {
    fn scope(&self) -> Scope {
        Scope::OwnTransactions { edits: true }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        context.session.write_pairs(|kv| Ok(kv.put(&self.key.0, &self.value.0)?))?;
        if context.out.is_json() {
            let (key, value) = (self.key.to_string(), self.value.to_string());
            context.out.json(&json!({ "type": "pair", "key": key, "value": value }))?;
        }
        Ok(Answer::Yes)
    }
}

/// Remove a key, or all keys of a range.
///
/// That there is no such key is no error. A range has an end: its second bound, --prefix, or
/// --to-end.
#[derive(Debug, clap::Args)]
pub(crate) struct Remove {
    /// The key, or the first key of the range
    #[arg(required_unless_present = "prefix")]
    key: Option<Bytes>,
    /// The first key after the range
    to: Option<Bytes>,
    /// All keys that begin with these bytes
    #[arg(long, value_name = "BYTES", conflicts_with = "key")]
    prefix: Option<Bytes>,
    /// The range ends where the database ends
    #[arg(long, requires = "key", conflicts_with = "to")]
    to_end: bool,
}

impl Command for Remove {
    fn scope(&self) -> Scope {
        Scope::OwnTransactions { edits: true }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let session = context.session;
        // A script whose variable is empty would remove the whole database.
        if self.prefix.as_ref().is_some_and(|prefix| prefix.0.is_empty()) {
            let what = "every key begins with an empty prefix; to remove all keys, write: kv remove \"\" --to-end";
            return Err(Failure::new(what));
        }
        let removed = session.write_pairs(|kv| match (&self.prefix, &self.key) {
            (Some(prefix), _) => {
                remove_span(kv, Bounds::of_prefix(&prefix.0).span(), &session.interrupt)
            }
            (None, Some(key)) if self.to_end || self.to.is_some() => {
                let bounds = Bounds::between(key, self.to.as_ref())?;
                remove_span(kv, bounds.span(), &session.interrupt)
            }
            (None, Some(key)) => {
                let found = kv.get(&key.0)?.is_some();
                kv.remove(&key.0)?;
                Ok(u64::from(found))
            }
            (None, None) => Ok(0),
        })?;
        if context.out.is_json() {
            context.out.json(&json!({ "type": "removed", "pairs": removed }))?;
        } else if self.prefix.is_some() || self.to.is_some() || self.to_end {
            context.out.say(format_args!("Removed {removed} key/value pairs"));
        }
        Ok(Answer::Yes)
    }
}
