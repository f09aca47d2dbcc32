//! `schema rust`: its output compiles, and the structs have the schema they were printed for.
//!
//! `generated.rs` is its output for the schemas of `schemas.rs`.
//! `PERMAZEN_GENERATED=write cargo test -p permazen-cli --test schema_rust` writes it again; then
//! run the test once more, with the new file compiled in.
#![allow(clippy::expect_used)]

#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
#[rustfmt::skip]
mod generated;
mod schemas;

use std::fmt::Write;
use std::path::Path;

use assert_cmd::Command;
use permazen::encoding::EncodingId;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KeySpan, KvDatabase, TxOptions, xml};
use permazen::object::{Database, TransactionConfig};
use permazen::schema::{Field, ObjectType, SchemaModel, Simple, UnknownEncodings, XmlForm};

/// A database with one schema, as an XML dump.
fn database(dir: &Path, schema: &SchemaModel) -> String {
    let store = MemoryStore::new();
    let db = Database::new(std::sync::Arc::new(store.clone()));
    let db = db.unknown_encodings(UnknownEncodings::Carry);
    let config = TransactionConfig::new(schema.clone()).expect("a schema");
    db.begin(&config).expect("begin").commit().expect("commit");
    let mut dump = Vec::new();
    let kv = store.begin(&TxOptions::reading()).expect("begin");
    xml::dump(&*kv, KeySpan::FULL, xml::Style::Plain, &mut dump).expect("dump");
    let file = dir.join("db.xml");
    std::fs::write(&file, dump).expect("write");
    file.to_str().expect("a path in UTF-8").to_owned()
}

/// The output of the program, and its exit code.
fn printed(schema: &SchemaModel, more: &[&str]) -> (String, i32) {
    let dir = tempfile::TempDir::new().expect("a directory");
    let db = database(dir.path(), schema);
    let mut command = Command::new(env!("CARGO_BIN_EXE_permazen"));
    let output = command.arg(db).args(["schema", "rust"]).args(more).output().expect("run");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.is_empty(), "{errors}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    (text, output.status.code().expect("an exit code"))
}

/// A module with the source, and a function that gives the schema of its structs.
fn module(name: &str, source: &str) -> String {
    let mut text = format!("pub mod {name} {{\n");
    source.lines().for_each(|line| _ = writeln!(text, "{line}"));
    let structs = source.lines().filter_map(|line| line.strip_prefix("pub struct "));
    let structs = structs.filter_map(|line| line.split_whitespace().next());
    let models: String = structs.map(|name| format!(".model::<{name}>()")).collect();
    let _ = writeln!(
        text,
        "pub fn schema() -> permazen::schema::SchemaModel {{\n\
         permazen::Permazen::builder(permazen::kv::memory::MemoryStore::new()){models}\
         .schema().expect(\"a schema\")\n}}\n}}\n"
    );
    text
}

#[test]
fn the_source_is_that_which_is_compiled_here() {
    let mut all = String::from("//! The structs that `schema rust` prints for `schemas.rs`.\n\n");
    for (name, schema) in schemas::all() {
        let (source, code) = printed(&schema, &[]);
        assert_eq!(code, 0, "{name}: {source}");
        all.push_str(&module(&name, &source));
    }
    let (source, _) = printed(&schemas::reference(), &["--storage-ids"]);
    all.push_str(&module("storage_ids_of_reference", &source));
    let mut modules = String::from(
        "pub fn all() -> Vec<(&'static str, permazen::schema::SchemaModel)> {\nvec![\n",
    );
    for (name, _) in schemas::all() {
        let _ = writeln!(modules, "(\"{name}\", {name}::schema()),");
    }
    all.push_str(&format!("{modules}]\n}}\n"));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema_rust/generated.rs");
    if std::env::var_os("PERMAZEN_GENERATED").is_some_and(|value| value == "write") {
        std::fs::write(&file, &all).expect("write");
    }
    let compiled = std::fs::read_to_string(&file).expect("read");
    assert!(all == compiled, "run this test with PERMAZEN_GENERATED=write");
}

#[test]
fn the_structs_have_the_schema() {
    let (schemas, generated) = (schemas::all(), generated::all());
    assert_eq!(schemas.len(), generated.len());
    for ((name, schema), (module, structs)) in schemas.iter().zip(generated) {
        assert_eq!(name, module);
        let form = XmlForm { storage_ids: true, pretty: true };
        let (structs_xml, xml) = (structs.to_xml(form), schema.to_xml(form));
        assert_eq!(
            structs.schema_id(),
            schema.schema_id(),
            "run with PERMAZEN_GENERATED=write, and then again\n{name}: {structs_xml}\n{xml}"
        );
    }
    assert_eq!(generated::storage_ids_of_reference::schema(), schemas::reference());
}

/// All values of every built-in encoding can be held.
#[test]
fn every_built_in_encoding_has_a_type() {
    let everything = schemas::every_encoding();
    let (source, code) = printed(&everything, &[]);
    assert_eq!(code, 0, "{source}");
    let fields = everything.object_types()[0].fields().len();
    assert_eq!(source.matches("\n    pub ").count(), fields);
}

#[test]
fn what_cannot_be_said_is_listed() {
    let of = |alias: &str| Simple::of(EncodingId::from_alias(alias).expect("an encoding"));
    let own = Simple::of(EncodingId::new("urn:fdc:example.com:2026:thing").expect("an ID"));
    let nested = format!("int{}", "[]".repeat(41));
    let no_types: [&str; 0] = [];
    let schema = SchemaModel::new()
        .object_type(ObjectType::new("€").field(Field::new("a", of("int"))))
        .object_type(
            ObjectType::new("T")
                .field(Field::new("a", of("int")))
                .field(Field::new("b", of("int")))
                .field(Field::new("deep", of(&nested)))
                .field(Field::new("deepEnum", Simple::enum_array(41, ["A"])))
                .field(Field::new("empty", Simple::enumeration(no_types)))
                .field(Field::list("list", own))
                .field(Field::new("none", Simple::reference().to(no_types)))
                .field(Field::new("state", Simple::enumeration(["A", "€"])))
                .field(Field::new("P\u{9b}31m", of("int")))
                .index("list", ["a", "deep"])
                .index("by_a", ["a", "b"])
                .index("byA", ["b", "a"]),
        );
    let (text, code) = printed(&schema, &[]);
    assert_eq!(code, 1);
    let names = "the attributes take names of letters, digits, _ and $ only";
    let deep = "it has arrays of more than 40 dimensions, which the compiler refuses";
    let expected = format!(
        "{} cannot be said in Rust:
composite index T.by_a: its constant would be that of index byA
composite index T.list: it has the name of a field
field T.P\\u{{9b}}31m: {names}
field T.deep: {deep}
field T.deepEnum: {deep}
field T.empty: an enum without constants has no values
field T.list.element: its encoding urn:fdc:example.com:2026:thing is none of the built-in ones: give it a type of \
         your own that implements permazen::encoding::Encodable
field T.none: it may refer to objects of no type at all
field T.state, constant €: {names}
object type €: {names}
",
        schema.schema_id()
    );
    assert_eq!(text, expected);
}
