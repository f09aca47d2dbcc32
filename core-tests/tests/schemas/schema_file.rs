//! Tests of programs that notice when their schema changes.

use std::path::{Path, PathBuf};

use permazen::kv::memory::MemoryStore;
use permazen::schema::SchemaModel;
use permazen::schema_file::{self, SchemaFileError};
use permazen::{Counter, Permazen, PermazenObject, Ref, assert_schema};

use crate::child;

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

    pub(super) mod before {
        use permazen::{PermazenObject, Ref};

        #[derive(PermazenObject)]
        pub(in super::super) struct Item {
            pub(in super::super) name: String,
            pub(in super::super) age: i32,
            pub(in super::super) gone: i32,
            pub(in super::super) next: Option<Ref<Item>>,
            #[permazen(accessor = "the_any")]
            pub(in super::super) any: Option<Ref<permazen::Any>>,
        }
    }

    pub(super) mod after {
        use permazen::{PermazenObject, Ref};

        #[derive(PermazenObject)]
        #[permazen(composite(name = "byNameAge", fields(name, age)))]
        pub(in super::super) struct Item {
            #[permazen(indexed)]
            pub(in super::super) name: String,
            pub(in super::super) age: i32,
            #[permazen(inverse_delete = "nullify")]
            pub(in super::super) next: Option<Ref<Item>>,
            #[permazen(accessor = "the_any")]
            pub(in super::super) any: Option<Ref<Item>>,
        }
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

const FILE: &str = "tests/schemas/schema_file.xml";

fn schema() -> SchemaModel {
    let models = Permazen::builder(MemoryStore::new()).model::<Person>().model::<Team>();
    models.schema().unwrap()
}

const ASSERTED_MODELS: &str = "PERMAZEN_TEST_ASSERTED_MODELS";
const ASSERTED_FILE: &str = "PERMAZEN_TEST_ASSERTED_FILE";

/// The tests below run this in a process with other variables, so that `PERMAZEN_ACCEPT_SCHEMA=1
/// cargo test` changes no file. Alone it checks nothing.
#[test]
fn asserting_process() {
    let Some(file) = std::env::var_os(ASSERTED_FILE).map(PathBuf::from) else { return };
    match &*std::env::var(ASSERTED_MODELS).unwrap() {
        "all" => assert_schema!(file, Person, Team),
        "changed" => assert_schema!(file, changed::Person),
        "changed ID" => assert_schema!(file, changed::id::Person, Team),
        "Team" => assert_schema!(file, Team),
        other => unreachable!("{other}"),
    }
}

/// Asserts in another process that models have the schema of a file. Returns whether they have, and
/// the output.
fn asserted(models: &str, file: &Path, accept: &str) -> (bool, String) {
    let mut test = child::this_program();
    let test = test.args(child::arguments(module_path!(), "asserting_process"));
    let test = test.env(ASSERTED_MODELS, models);
    let test = test.env(ASSERTED_FILE, file).env(schema_file::ACCEPT, accept);
    let output = test.output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

/// The message for models that have not the schema of the file.
fn complaint(models: &str, file: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let before = std::fs::read(&file).ok();
    let (passes, text) = asserted(models, &file, "0");
    assert!(!passes, "{text}");
    assert_eq!(std::fs::read(&file).ok(), before);
    text
}

#[test]
fn the_schema_of_the_file_passes() {
    assert_schema!("tests/schemas/schema_file.xml", Person, Team);
    assert_schema!(FILE, Team, Person,);
}

#[test]
fn a_schema_that_changed_fails_in_words() {
    let text = complaint("changed", FILE);
    let said = text.split_once("schema_file.xml:\n").unwrap().1;
    let said = said.split_once("If this is on purpose").unwrap().0;
    assert_eq!(
        said,
        r#"-> changed object type "Person"
  -> changed field "age" type int
    -> changed field encoding ID from "urn:fdc:permazen.io:2020:int" to "urn:fdc:permazen.io:2020:long"
  -> added field "fresh" type boolean
  -> changed field "name" type String
    -> removed index on field
  -> changed field "size" from int to list of int
  -> removed composite index "byNameAge"
-> removed object type "Team"
For objects that are stored already:
  Person.age: when an object moves, its value is converted from int to long; an object whose value has no exact counterpart does not move
  Person.fresh: they have its default; a field that requires a value needs `default = …`, unless `was = "…"` or code of your own gives one
  Person.size: when an object moves, its value is converted from int to list of int; an object whose value has no exact counterpart does not move
  Team: its objects stay as they are; `Tx::untyped` finds them
"#
    );
    assert!(text.contains("PERMAZEN_ACCEPT_SCHEMA=1"), "{text}");
}

#[test]
fn removed_fields_new_indexes_and_narrower_references_are_explained() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("schema.xml");
    let models = Permazen::builder(MemoryStore::new()).model::<changed::before::Item>();
    schema_file::write(&file, &models.schema().unwrap()).unwrap();
    let models = Permazen::builder(MemoryStore::new()).model::<changed::after::Item>();
    let error = schema_file::check(&file, &models.schema().unwrap());
    // With `PERMAZEN_ACCEPT_SCHEMA=1`, the file has been replaced.
    let Err(SchemaFileError::Differs { differences, .. }) = error else {
        assert_eq!(std::env::var(schema_file::ACCEPT).as_deref(), Ok("1"));
        return;
    };
    let (_, meaning) = differences.split_once("already:\n").unwrap();
    assert_eq!(
        meaning,
        r#"  Item.any: an object does not move if it refers to a type that is no longer allowed
  Item.gone: an object with a value there does not move, unless the model says `removed("gone")` or carries the value over
  Item.name: index on name: queries are incomplete, and refused, until `build_indexes` has moved the objects
  Item.next: each object has the new options when it has moved
  Item, index byNameAge: queries are incomplete, and refused, until `build_indexes` has moved the objects"#
    );
}

#[test]
fn a_storage_id_that_changed_fails() {
    let text = complaint("changed ID", FILE);
    assert!(text.contains("\n-> changed storage IDs\n"), "{text}");
}

#[test]
fn a_file_that_is_missing_or_damaged_says_what_to_do() {
    let text = complaint("all", "tests/no_such_file.xml");
    assert!(
        text.contains("no_such_file.xml; run the test with PERMAZEN_ACCEPT_SCHEMA=1"),
        "{text}"
    );
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("schema.xml");
    std::fs::write(&file, "<Schema><Unknown/></Schema>").unwrap();
    assert!(complaint("all", file.to_str().unwrap()).contains("contains no schema"));
    let error = schema_file::check(dir.path(), &schema()).unwrap_err();
    assert!(matches!(error, SchemaFileError::Io { .. }), "{error:?}");
}

#[test]
fn models_that_are_wrong_fail() {
    assert!(complaint("Team", FILE).contains("Person"));
}

#[test]
fn a_variable_accepts_the_schema() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("schema.xml");
    let passes = |accept: &str| asserted("all", &file, accept).0;
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
