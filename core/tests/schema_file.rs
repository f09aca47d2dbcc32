//! Tests of programs that notice when their schema changes.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use permazen::kv::memory::MemoryStore;
use permazen::schema::SchemaModel;
use permazen::schema_file::{self, SchemaFileError};
use permazen::{Counter, Permazen, PermazenObject, Ref, assert_schema};

#[derive(PermazenObject)]
#[permazen(composite(name = "byNameAge", fields(name, age)))]
struct Person {
    #[permazen(indexed)]
    name: String,
    age: i32,
    size: i32,
    #[permazen(storage_id = 77)]
    hits: Counter,
}

#[derive(PermazenObject)]
struct Team {
    members: Vec<Option<Ref<Person>>>,
}

mod changed {
    use permazen::{Counter, PermazenObject};

    #[derive(PermazenObject)]
    pub(super) struct Person {
        pub(super) name: String,
        pub(super) age: i64,
        pub(super) size: Vec<i32>,
        #[permazen(storage_id = 77)]
        pub(super) hits: Counter,
        pub(super) fresh: bool,
    }

    pub(super) mod id {
        use permazen::{Counter, PermazenObject};

        #[derive(PermazenObject)]
        #[permazen(composite(name = "byNameAge", fields(name, age)))]
        pub(in super::super) struct Person {
            #[permazen(indexed)]
            pub(in super::super) name: String,
            pub(in super::super) age: i32,
            pub(in super::super) size: i32,
            pub(in super::super) hits: Counter,
        }
    }
}

const FILE: &str = "tests/schema_file.xml";

fn schema() -> SchemaModel {
    let models = Permazen::builder(MemoryStore::new()).model::<Person>().model::<Team>();
    models.schema().unwrap()
}

fn panic_of(test: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(test).unwrap_err();
    panic.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn the_schema_of_the_file_passes() {
    assert_schema!("tests/schema_file.xml", Person, Team);
    assert_schema!(FILE, Team, Person,);
}

#[test]
fn a_schema_that_changed_fails_in_words() {
    let text = panic_of(|| assert_schema!("tests/schema_file.xml", changed::Person));
    for part in [
        "schema_file.xml",
        "-> removed object type \"Team\"",
        "-> changed object type \"Person\"",
        "-> changed field encoding ID",
        "-> removed index on field",
        "-> removed composite index \"byNameAge\"",
        "-> added field \"fresh\"",
        "field \"size\" of object type \"Person\" is not removed but changed from int to list of int",
        "PERMAZEN_ACCEPT_SCHEMA=1",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_storage_id_that_changed_fails() {
    let text = panic_of(|| assert_schema!("tests/schema_file.xml", changed::id::Person, Team));
    assert!(text.contains("-> changed"), "{text}");
}

#[test]
fn a_file_that_is_missing_or_damaged_says_what_to_do() {
    let text = panic_of(|| assert_schema!("tests/no_such_file.xml", Person));
    assert!(
        text.contains("no_such_file.xml; run the test with PERMAZEN_ACCEPT_SCHEMA=1"),
        "{text}"
    );
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("schema.xml");
    std::fs::write(&file, "<Schema><Unknown/></Schema>").unwrap();
    let error = schema_file::check(&file, &schema()).unwrap_err();
    assert!(matches!(error, SchemaFileError::Invalid { .. }), "{error:?}");
    let error = schema_file::check(dir.path(), &schema()).unwrap_err();
    assert!(matches!(error, SchemaFileError::Io { .. }), "{error:?}");
}

#[test]
fn models_that_are_wrong_fail() {
    let text = panic_of(|| assert_schema!("tests/schema_file.xml", Team));
    assert!(text.contains("Person"), "{text}");
}

const ACCEPTED_FILE: &str = "PERMAZEN_TEST_ACCEPTED_FILE";

/// What `a_variable_accepts_the_schema` runs in a process with other variables. Alone it checks
/// nothing.
#[test]
fn accepting_process() {
    if let Some(file) = std::env::var_os(ACCEPTED_FILE) {
        assert_schema!(std::path::PathBuf::from(file), Person, Team);
    }
}

#[test]
fn a_variable_accepts_the_schema() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("schema.xml");
    let passes = |accept: &str| {
        let mut test = Command::new(std::env::current_exe().unwrap());
        let test = test.args(["--exact", "accepting_process"]).env(ACCEPTED_FILE, &file);
        test.env(schema_file::ACCEPT, accept).output().unwrap().status.success()
    };
    assert!(!passes("0"));
    assert!(!file.exists());
    assert!(passes("1"));
    schema_file::check(&file, &schema()).unwrap();
    assert!(passes("0"));
    // Another schema is replaced, and so is a file that is damaged.
    for other in ["<Schema/>", "no schema"] {
        std::fs::write(&file, other).unwrap();
        assert!(!passes(""));
        assert!(passes("1"));
        assert!(passes("0"));
    }
}
