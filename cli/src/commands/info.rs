//! `info`: what the database is.

use permazen::kv::KvDatabase;

use super::Context;
use crate::failure::{Answer, Failure};

/// Say what the database is.
#[derive(Debug, clap::Args)]
pub(crate) struct Info {}

impl Info {
    pub(crate) fn run(&self, context: &mut Context<'_, '_>) -> Result<Answer, Failure> {
        let store = context.session.store();
        let kind = store.kind();
        let entries = store.statistics()?.entries;
        context.read(|transaction, out| {
            out.say(format_args!("kind: {kind}"));
            if let Some(entries) = entries {
                out.say(format_args!("pairs: {entries}"));
            }
            out.say(format_args!("schemas: {}", transaction.bundle().schemas().len()));
            Ok(Answer::Yes)
        })
    }
}
