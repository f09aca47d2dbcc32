//! Characters that could control a terminal, in names and values of a database, in arguments and in
//! scripts. None of them reaches a terminal; in pipes, they are in formats that are exact there.

use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;

use permazen::__internal::escape::needs_escape;
use permazen::encoding::{EncodingId, EnumValue, Value};
use permazen::object::{Database, Migrate, TransactionConfig};
use permazen::open::Opening;
use permazen::schema::{Field, ObjectType, SchemaModel, Simple, is_name};
use permazen_query::text::quoted_name;
use serde_json::Value as Json;

use crate::support::{Ran, on_terminal, program};

/// All characters of the categories Cc, Cf, Zl and Zp of Unicode 16. Those that set the direction
/// of writing are among them.
const CONTROLS: [(u32, u32); 23] = [
    (0x0, 0x1f),
    (0x7f, 0x9f),
    (0xad, 0xad),
    (0x600, 0x605),
    (0x61c, 0x61c),
    (0x6dd, 0x6dd),
    (0x70f, 0x70f),
    (0x890, 0x891),
    (0x8e2, 0x8e2),
    (0x180e, 0x180e),
    (0x200b, 0x200f),
    (0x2028, 0x202e),
    (0x2060, 0x2064),
    (0x2066, 0x206f),
    (0xfeff, 0xfeff),
    (0xfff9, 0xfffb),
    (0x110bd, 0x110bd),
    (0x110cd, 0x110cd),
    (0x13430, 0x1343f),
    (0x1bca0, 0x1bca3),
    (0x1d173, 0x1d17a),
    (0xe0001, 0xe0001),
    (0xe0020, 0xe007f),
];

#[test]
fn every_control_and_format_character_is_escaped() {
    for c in CONTROLS.iter().flat_map(|&(first, last)| first..=last) {
        let c = char::from_u32(c).unwrap();
        assert!(needs_escape(c), "{}", c.escape_unicode());
    }
}

/// Every character that must not reach a terminal.
fn hidden() -> Vec<char> {
    ('\0'..=char::MAX).filter(|c| needs_escape(*c)).collect()
}

/// Names that have, together, all of these characters that names can have.
fn names() -> Vec<String> {
    let possible: Vec<char> = hidden().into_iter().filter(|c| is_name(&format!("a{c}"))).collect();
    assert!(possible.contains(&'\u{9b}') && possible.contains(&'\u{202e}'), "{possible:?}");
    possible.chunks(50).map(|chars| format!("P{}", String::from_iter(chars))).collect()
}

/// A constant of an enum; other characters of a name cannot be recorded in one.
fn constant(name: &str) -> String {
    name.chars().filter(|c| *c <= '\u{ffff}').collect()
}

/// Types with hostile names, whose fields and indexes have hostile names, and an object of each
/// with hostile values.
struct Hostile {
    folder: tempfile::TempDir,
    names: Vec<String>,
    /// The value of the fields.
    text: String,
}

impl Hostile {
    fn new() -> Hostile {
        let string: EncodingId = "urn:fdc:permazen.io:2020:String".parse().unwrap();
        let simple = || Simple::of(string.clone());
        let (names, text) = (names(), String::from_iter(hidden()));
        let mut model = SchemaModel::new();
        for name in &names {
            model = model.object_type(
                ObjectType::new(name)
                    .field(Field::new(name, simple()))
                    .field(Field::new(format!("{name}E"), Simple::enumeration([constant(name)])))
                    .field(Field::list(format!("{name}L"), simple()))
                    .field(Field::map(format!("{name}M"), simple().indexed(), simple())),
            );
        }
        let folder = tempfile::tempdir().unwrap();
        let url = format!("lmdb:{}", folder.path().join("db").display());
        let store = Opening::new().create(true).open(url).unwrap();
        let database = Database::new(Arc::new(store));
        let tx = database.begin(&TransactionConfig::new(model).unwrap()).unwrap();
        // An index entry has at most 510 bytes.
        let short = Value::from(String::from_iter(hidden().into_iter().take(150)).as_str());
        let long = Value::from(text.as_str());
        for name in &names {
            let id = tx.create(name).unwrap();
            tx.set(id, name, &long, Migrate::No).unwrap();
            let constant = EnumValue::new(constant(name), 0);
            tx.set(id, &format!("{name}E"), &Value::Enum(constant), Migrate::No).unwrap();
            let list = tx.list_view(id, &format!("{name}L"), Migrate::No).unwrap();
            list.push(&long).unwrap();
            let map = tx.map_view(id, &format!("{name}M"), Migrate::No).unwrap();
            map.put(&short, &long).unwrap();
        }
        tx.commit().unwrap();
        Hostile { folder, names, text }
    }

    fn piped(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut program(&self.folder.path().join("db"), arguments))
    }

    /// The text that a terminal shows; `None` if there is no terminal.
    fn shown(&self, arguments: &[&str]) -> Option<Ran> {
        on_terminal(&program(&self.folder.path().join("db"), arguments))
    }
}

/// Panics if a character reaches a terminal that must not.
#[track_caller]
fn must_be_harmless(text: &str) {
    let harmful: Vec<char> = text.chars().filter(|c| *c != '\n' && needs_escape(*c)).collect();
    assert!(harmful.is_empty(), "{harmful:?} in {}", text.escape_unicode());
}

#[test]
fn formats_for_people_are_escaped_in_pipes_too() {
    let db = Hostile::new();
    for name in &db.names {
        let name = quoted_name(name);
        for statement in
            [format!("find {name}"), format!("show {name}"), format!("explain find {name}")]
        {
            for format in ["table", "lines"] {
                let ran = db.piped(&[&statement, "--format", format]);
                must_be_harmless(&ran.clone().done());
                assert!(ran.out.len() > 10, "{}", ran.out);
            }
        }
    }
}

#[test]
fn json_is_escaped_and_gives_the_values_back() {
    let db = Hostile::new();
    for name in &db.names {
        let out = db.piped(&[&format!("show {}", quoted_name(name)), "--json"]).done();
        must_be_harmless(&out);
        let object: Json = serde_json::from_str(&out).unwrap();
        assert_eq!(object["object_type"], name.as_str());
        let fields = &object["fields"];
        assert_eq!(fields[name.as_str()], db.text.as_str());
        assert_eq!(fields[format!("{name}E")], constant(name).as_str());
        assert_eq!(fields[format!("{name}L")], serde_json::json!([db.text]));
        assert_eq!(fields[format!("{name}M")][0]["value"], db.text.as_str());
        let out = db.piped(&[&format!("find {}", quoted_name(name)), "--json"]).done();
        must_be_harmless(&out);
        let row: Json = serde_json::from_str(&out).unwrap();
        assert_eq!(row["values"].as_object().unwrap().len(), 5);
        assert!(
            row["values"].as_object().unwrap().values().any(|value| *value == db.text.as_str())
        );
    }
}

#[test]
fn formats_for_programs_are_exact_in_pipes() {
    let db = Hostile::new();
    let name = quoted_name(&db.names[0]);
    let csv = db.piped(&[&format!("find {name}"), "--format", "csv"]).done();
    assert!(csv.contains(&format!(",\"{}\",", db.text.replace('"', "\"\""))));
    let raw = db.piped(&[&format!("find {name}"), "--raw"]).done();
    assert!(raw.contains(&format!("\t{}\t", db.text)));
}

#[test]
fn nothing_harmful_reaches_a_terminal() {
    let db = Hostile::new();
    for name in &db.names {
        let name = quoted_name(name);
        let statement = format!("find {name}");
        for format in
            ["--format=table", "--format=lines", "--json", "--format=csv", "--raw", "--format=xml"]
        {
            let Some(ran) = db.shown(&[&statement, format]) else { return };
            assert_eq!(ran.code, 0, "{format}: {}", ran.out.escape_default());
            let text = ran.out.replace('\t', " ");
            let tabs = if format == "--raw" { 4 } else { 0 };
            assert_eq!(ran.out.matches('\t').count(), tabs, "{format}");
            must_be_harmless(&text);
            assert!(ran.out.len() > 10_000, "{format}: {}", ran.out);
        }
    }
}

/// Everything but the rows of statements: the output of commands about all these names and values.
#[test]
fn commands_show_nothing_harmful_on_a_terminal() {
    let db = Hostile::new();
    let mut script =
        "types\nschema list\nschema show\nschema rust\ninfo\nkv scan\nkv dump -\n".to_owned();
    for name in &db.names {
        let quoted = quoted_name(name);
        for statement in ["explain find", "explain run count", "explain delete all"] {
            script.push_str(&format!("{statement} {quoted};\n"));
        }
    }
    // These show on a terminal how far they are.
    must_be_harmless(&db.piped(&["stats"]).done());
    must_be_harmless(&db.piped(&["check"]).done());
    let file = db.folder.path().join("script");
    std::fs::write(&file, script).unwrap();
    let Some(ran) = db.shown(&["-f", file.to_str().unwrap()]) else { return };
    // Some names can be none of Rust.
    assert_eq!(ran.code, 1, "{}", ran.out.escape_default());
    must_be_harmless(&ran.out);
    assert!(ran.out.len() > 100_000, "{}", ran.out.len());
    for name in db.names.iter().take(3) {
        let ran = db.shown(&["type", name]).unwrap();
        assert_eq!(ran.code, 0, "{}", ran.out.escape_default());
        must_be_harmless(&ran.out);
    }
}

/// Changes, conflicts, completion and mistakes at the prompt.
#[test]
fn the_prompt_shows_nothing_harmful() {
    let db = Hostile::new();
    let value = permazen_query::text::quoted(&db.text.as_str().into());
    let mut lines = String::new();
    for name in &db.names {
        let (type_name, list) = (quoted_name(name), quoted_name(&format!("{name}L")));
        lines.push_str(&format!("create {type_name} {type_name} = {value}, {list} = [{value}]\n"));
        lines.push_str(&format!("set all {type_name} to {list} insert 0 {value}\n"));
        lines.push_str(&format!("find {type_name} where `\t\nfind {type_name}x\n"));
    }
    lines.push_str("diff\nfind `\t\ncommit --yes\n");
    let path = db.folder.path().join("db");
    let mut command = program(&path, &["--prompt", "--write"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let ran = Ran::from(child.wait_with_output().unwrap());
    writer.join().unwrap().unwrap();
    // The typed text is shown as it was typed, and has nothing harmful here.
    must_be_harmless(&ran.out.replace('\t', " "));
    must_be_harmless(&ran.err);
    assert!(ran.out.contains("committed: "), "{} {}", ran.out.len(), ran.err);
}

#[test]
fn messages_about_hostile_arguments_are_harmless() {
    let db = Hostile::new();
    // Of characters that follow one another, the first.
    let first =
        |c: &char| char::from_u32(u32::from(*c).wrapping_sub(1)).is_none_or(|c| !needs_escape(c));
    for c in hidden().into_iter().filter(|c| matches!(c, '\u{1}' | '\u{1b}' | '\u{9b}') || first(c))
    {
        if c == '\0' {
            continue;
        }
        let statement = format!("find Pe{c}rson where {c} > \"{c}\"");
        let message = db.piped(&[&statement]).failed(2);
        must_be_harmless(&message);
    }
    for arguments in [
        &["find Person", "--param", "\u{9b}=\u{9b}"][..],
        &["find Person", "--format", "\u{9b}31m"],
        &["find Person", "--\u{202e}"],
        &["-c", "inf\u{9b}o"],
        &["-f", "/no/su\u{9b}ch"],
        &["--schema", "\u{9b}", "find Person"],
    ] {
        let message = db.piped(arguments).failed(2);
        must_be_harmless(&message);
        assert!(message.contains("\\u{9b}") || message.contains("\\u{202e}"), "{message}");
    }
    let missing = program("/no/su\u{9b}ch".as_ref(), &["find Person", "--json"]);
    let message = Ran::of(&mut { missing }).failed(2);
    assert!(message.contains("\\u009b"), "{message}");
    must_be_harmless(&message);
}
