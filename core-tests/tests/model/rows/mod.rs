//! The typed layer, row by row of the tables and lists of `model.md`, the specification of the
//! model layer of Permazen for Java.
//!
//! A test has the number of its section and of its row in its name: `m05_3_02` is row 2 of section
//! 5.3, and `m04_0_01` is row 1 of section 4, which has no parts. A name such as `m05_2_01_to_03`
//! covers several rows. The file `rows.txt` lists all rows, section by section. For each it says in
//! a few words what the row is about, and one of these, or several with a semicolon between them:
//!
//! - the name of a test of this suite,
//! - `fn NAME in FILE`: a test of another suite,
//! - `text "…" in FILE`: what the file says, for example the message of the compiler for a mistake,
//! - `java: …`: why the row is about Java alone,
//! - `differs: …`: in which way this library differs on purpose; `docs/deviations.md` says why.
//!
//! Section 20 of the specification is a proposal, sections 21 and 22 repeat what others say.

mod composite;
mod copies;
mod errors;
mod fields;
mod names;
mod notifications;
mod objects;
mod paths;
mod queries;
mod recording;
mod references;
mod schema_change;
mod schemas;
mod table;
mod transactions;
mod uniqueness;
mod untyped;
mod validation;

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::Arc;

use permazen::kv::memory::MemoryStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvRead, TxOptions};
use permazen::model::{ModelErrors, Rule};
use permazen::schema::ResolvedField;
use permazen::{Builder, Error, Model, ObjId, Permazen, Result, Tx, Violations};

type Store = Arc<MemoryStore>;

fn store() -> Store {
    Arc::new(MemoryStore::new())
}

fn builder() -> Builder {
    Permazen::builder(MemoryStore::new())
}

/// A database in memory with one model.
fn database<M: Model>() -> Permazen {
    open::<M>(&store())
}

/// The database in a store, as a program with one model sees it.
fn open<M: Model>(store: &Store) -> Permazen {
    Permazen::builder_shared(store.clone()).model::<M>().build().unwrap()
}

/// The database in a store, as a program with two models sees it.
fn open2<M: Model, N: Model>(store: &Store) -> Permazen {
    Permazen::builder_shared(store.clone()).model::<M>().model::<N>().build().unwrap()
}

/// All pairs of a store, in hexadecimal.
fn pairs(store: &Store) -> Vec<(String, String)> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let scan = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
    scan.map(|pair| pair.map(|(key, value)| (hex(&key), hex(&value))).unwrap()).collect()
}

/// A field of a recorded type, by its full name.
fn field(tx: &Tx, type_name: &str, full_name: &str) -> Arc<ResolvedField> {
    tx.schema().object_type(type_name).unwrap().field_or_sub_field(full_name).unwrap().clone()
}

fn field_id(tx: &Tx, type_name: &str, full_name: &str) -> u32 {
    field(tx, type_name, full_name).storage_id.get()
}

/// The operation failed, because this object does not exist.
#[track_caller]
fn assert_deleted<T: Debug>(result: Result<T>, missing: ObjId) {
    match result {
        Err(Error::Object(permazen::object::Error::DeletedObject { id, .. })) => {
            assert_eq!(id, missing)
        }
        other => panic!("{other:?}"),
    }
}

/// The violations, if an operation was refused because of rules.
fn violations<T: Debug>(refused: Result<T>) -> Violations {
    match refused {
        Err(Error::Invalid(violations)) => violations,
        other => panic!("{other:?}"),
    }
}

/// The objects that break a rule, the rule and its path, by object.
fn broken<T: Debug>(refused: Result<T>) -> Vec<(ObjId, Rule, String)> {
    let violations = violations(refused);
    let mut found: Vec<_> =
        violations.iter().map(|it| (it.object, it.rule, it.path.clone())).collect();
    found.sort_by_key(|(object, _, path)| (*object, path.clone()));
    found
}

/// The problems of models that are refused.
fn problems(builder: Builder) -> ModelErrors {
    match builder.build() {
        Err(Error::Models(errors)) => errors,
        other => panic!("{other:?}"),
    }
}

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Notes that something has happened in this thread.
fn log(line: impl Into<String>) {
    LOG.with_borrow_mut(|log| log.push(line.into()));
}

/// Takes the log of this thread, which must have these lines.
#[track_caller]
fn assert_log<const N: usize>(expected: [&str; N]) {
    assert_eq!(LOG.take(), expected);
}
