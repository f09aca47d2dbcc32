//! `demo`: a small database to try things on.

use std::borrow::Cow;

use permazen::kv::{Capabilities, KvDatabase};
use permazen::object_xml::ObjectXmlReader;
use serde_json::json;

use super::{Command, Context, Scope};
use crate::failure::{Answer, Failure};

/// The star, the planets and the moons, with the IDs that the demonstration of Permazen for Java
/// has.
const OBJECTS: &str = include_str!("demo.xml");

/// Put the demonstration of Permazen into the database: a star, nine planets, and moons.
///
/// It fits into an empty database, or one that has it already. On stores with small transactions
/// (etcd) it is committed in parts, so that it cannot be in a script nor at the prompt. There a
/// failure can leave a part of it; the next `demo` puts the rest.
#[derive(Debug, clap::Args)]
pub(crate) struct Demo {}

/// How many objects a transaction puts into a store with small transactions. Each has up to eight
/// pairs, and etcd takes 128 operations unless its members allow more.
const FEW: usize = 9;

/// The documents with the objects, for the transactions that put them. On most stores there is one
/// transaction, so that all of the demonstration is there or nothing.
fn documents(store: Capabilities, dry_run: bool) -> Vec<Cow<'static, str>> {
    // Uncommitted changes may be of any size, and the next part would not see it.
    match store.small_transactions && !dry_run {
        true => parts().into_iter().map(Cow::from).collect(),
        false => vec![OBJECTS.into()],
    }
}

/// The objects in several documents. An object comes after those that it refers to.
fn parts() -> Vec<String> {
    let lines: Vec<&str> = OBJECTS.split_inclusive('\n').collect();
    let is_start = |line: &&str| line.trim_start().starts_with("<objects");
    let first = lines.iter().position(is_start).map_or(lines.len(), |at| at + 1);
    let is_end = |line: &&str| line.trim_start().starts_with("</objects");
    let last = lines.iter().position(is_end).unwrap_or(lines.len());
    let piece = |from: usize, to: usize| lines.get(from..to).unwrap_or_default().concat();
    let (head, tail) = (piece(0, first), piece(last, lines.len()));
    let objects = lines.get(first..last).unwrap_or_default();
    let mut objects: Vec<String> = objects
        .split_inclusive(|line| line.starts_with("        </"))
        .map(<[&str]>::concat)
        .collect();
    // They lie in the order of their IDs, and moons, planets and the star refer to objects that
    // come later.
    objects.reverse();
    objects.chunks(FEW).map(|some| format!("{head}{}{tail}", some.concat())).collect()
}

impl Command for Demo {
    fn scope(&self) -> Scope {
        Scope::InTransaction { edits: true }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let store = context.session.store().capabilities();
        // All parts would be in the transaction that is open, whose commit would fail.
        if store.small_transactions && context.transaction.is_some() {
            return Err(Failure::new(
                "the demonstration is too large for one transaction of this store, as a script or \
                 the prompt has it; `permazen DB --write demo` alone commits it in parts",
            ));
        }
        let mut count = 0;
        for part in documents(store, context.session.options.dry_run) {
            let put = context.write(|transaction| {
                let read = ObjectXmlReader::new().read(transaction, part.as_bytes());
                Ok(read?.count)
            });
            count += match put {
                // The parts before stay.
                Err(failure) if count > 0 => {
                    let left = format!(
                        "{count} objects of it are committed, and the next `demo` puts the rest"
                    );
                    return Err(failure.but(&left));
                }
                put => put?,
            };
        }
        context.out.done(
            format_args!("Read {count} object(s) of the demonstration"),
            &json!({ "type": "read", "file": "demo.xml", "objects": count }),
        )?;
        Ok(Answer::Yes)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use permazen::kv::memory::MemoryStore;
    use permazen::object::{Database, TransactionConfig};

    use super::*;

    #[test]
    fn no_commit_has_more_operations_than_etcd_takes() {
        let store = Arc::new(MemoryStore::new());
        let pairs = || store.statistics().unwrap().entries.unwrap();
        let database = Database::new(store.clone());
        let (mut before, mut count) = (pairs(), 0);
        for part in parts() {
            let tx = database.begin(&TransactionConfig::without_schema()).unwrap();
            count += ObjectXmlReader::new().read(&tx, part.as_bytes()).unwrap().count;
            tx.commit().unwrap();
            assert!(pairs() - before < 100, "{}", pairs() - before);
            before = pairs();
        }
        assert_eq!(count, 36);
    }
}
