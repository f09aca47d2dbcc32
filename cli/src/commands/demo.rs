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
/// (etcd), a failure can leave a part of it; the next `demo` puts the rest.
#[derive(Debug, clap::Args)]
pub(crate) struct Demo {}

/// How many objects a transaction puts into a store with small transactions. Each has up to eight
/// pairs, and etcd takes 128 operations unless its members allow more.
const FEW: usize = 9;

/// The documents with the objects, for the transactions that put them. On most stores there is one
/// transaction, so that all of the demonstration is there or nothing.
fn documents(store: Capabilities) -> Vec<Cow<'static, str>> {
    match store.small_transactions {
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
        let mut count = 0;
        for part in documents(context.session.store().capabilities()) {
            count += context.write(|transaction| {
                let read = ObjectXmlReader::new().read(transaction, part.as_bytes());
                Ok(read?.count)
            })?;
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
