//! Names, values, paths and arguments that could control a terminal are never printed unchanged.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use permazen::__internal::escape::{Escaping, needs_escape};
use permazen::encoding::{EnumValue, Value};
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, TxOptions};
use permazen::object::{Database, Migrate, TransactionConfig};
use permazen::schema::SchemaModel;
use permazen_jsck::{Options, check};
use tempfile::TempDir;

use crate::support::{bytes, damaged, jsck, lines, stdout};

/// Characters that change how the text around them is shown.
fn hostile() -> Vec<char> {
    let ranges = [
        ('\0', '\x1f'),
        ('\x7f', '\u{9f}'),
        ('\u{ad}', '\u{ad}'),
        ('\u{61c}', '\u{61c}'),
        ('\u{180e}', '\u{180e}'),
        ('\u{200b}', '\u{200f}'),
        ('\u{2028}', '\u{202e}'),
        ('\u{2060}', '\u{2064}'),
        ('\u{2066}', '\u{206f}'),
        ('\u{feff}', '\u{feff}'),
        ('\u{fff9}', '\u{fffb}'),
        ('\u{e0001}', '\u{e0001}'),
        ('\u{e0020}', '\u{e007f}'),
    ];
    ranges.into_iter().flat_map(|(from, to)| from..=to).collect()
}

fn schema(type_name: &str, field: &str, identifier: &str) -> String {
    let escaped =
        |name: &str| -> String { name.chars().map(|c| format!("&#{};", u32::from(c))).collect() };
    let (type_name, field, identifier) = (escaped(type_name), escaped(field), escaped(identifier));
    format!(
        r#"<Schema><ObjectType name="{type_name}">
  <EnumField name="e" indexed="true"><Identifier>{identifier}</Identifier></EnumField>
  <ReferenceField name="friend" inverseDelete="NULLIFY"/>
  <SimpleField name="{field}" encoding="urn:fdc:permazen.io:2020:String" indexed="true"/>
  <SetField name="s{field}"><SimpleField encoding="urn:fdc:permazen.io:2020:String"/></SetField>
</ObjectType></Schema>"#
    )
}

fn model(type_name: &str, field: &str, identifier: &str) -> Option<SchemaModel> {
    let model = SchemaModel::from_xml(schema(type_name, field, identifier).as_bytes()).ok()?;
    model.validate().ok()?;
    Some(model)
}

/// A name with each character that a name can have.
fn name(start: &str, fits: impl Fn(&str) -> bool) -> String {
    let fit = hostile().into_iter().filter(|c| fits(&format!("{start}{c}")));
    let name: String = start.chars().chain(fit).collect();
    for c in ['\u{9b}', '\u{202e}', '\u{200b}', '\u{feff}', '\u{ad}'] {
        assert!(name.contains(c), "{c:?} is valid in names");
    }
    name
}

/// A damaged database with many such characters, under a path with such characters, and its type.
fn hostile_database() -> (TempDir, PathBuf, String) {
    let dir = TempDir::new().expect("a directory");
    let in_path: String = hostile().into_iter().filter(|&c| c != '\0').collect();
    // A file name has at most 255 bytes.
    let mut path = dir.path().to_path_buf();
    for part in in_path.chars().collect::<Vec<_>>().chunks(50) {
        path.push(part.iter().collect::<String>());
    }
    fs::create_dir_all(&path).expect("directories");
    path.push("db");
    let type_name = name("P", |name| model(name, "f", "E").is_some());
    let field = name("f", |name| model("P", name, "E").is_some());
    let identifier = name("E", |name| model("P", "f", name).is_some());
    let model = model(&type_name, &field, &identifier).expect("a schema");
    // An index entry on LMDB has at most 510 bytes, and 60 characters of it are shown.
    let hostile = hostile();
    let values: Vec<String> = hostile.chunks(50).map(|part| part.iter().collect()).collect();

    let store = LmdbStore::open_or_create(&path).expect("open");
    let config = TransactionConfig::new(model).expect("a schema");
    let db = Database::new(Arc::new(store.clone()));
    let tx = db.begin(&config).expect("begin");
    for number in 0..30 {
        let id = tx.create(&type_name).expect("create");
        let value = values.get(number % values.len()).expect("one of them");
        let text = Value::from(format!("{number}{value}").as_str());
        tx.set(id, &field, &text, Migrate::No).expect("set");
        let one = Value::Enum(EnumValue::new(identifier.as_str(), 0));
        tx.set(id, "e", &one, Migrate::No).expect("set");
        tx.set(id, "friend", &Value::from(id), Migrate::No).expect("set");
    }
    tx.commit().expect("commit");
    drop(db);

    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    let keys: Vec<Vec<u8>> = kv
        .scan(KeySpan::new(&[0, 0x80], None), Direction::Forward)
        .expect("scan")
        .map(|pair| pair.expect("pair").0.into_owned())
        .collect();
    for (number, key) in keys.iter().enumerate().filter(|(number, _)| number % 3 == 1) {
        match number % 2 {
            0 => kv.put(key, &[0xfe, 0x00]),
            _ => kv.remove(key),
        }
        .expect("change");
    }
    kv.commit().expect("commit");
    (dir, path, type_name)
}

/// Runs the program. Checks that nothing it prints on both outputs is hostile, and returns it.
fn shown(args: &[&str], path: &Path, code: i32) -> String {
    let mut command = jsck(args);
    let output = command.arg(path).assert().code(code).get_output().clone();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("UTF-8");
    is_harmless(&text, args);
    text
}

fn is_harmless(text: &str, of: &[&str]) {
    let hostile: BTreeSet<char> = hostile().into_iter().collect();
    let found = text.chars().filter(|&c| c != '\n').find(|c| hostile.contains(c));
    assert_eq!(found, None, "{of:?}: {}", text.escape_debug());
}

#[test]
fn no_output_has_control_or_format_characters_of_the_database() {
    let (dir, path, type_name) = hostile_database();
    let undo = dir.path().join("undo\u{202e}\u{9b}\u{e0041}");
    let undo = undo.to_str().expect("UTF-8");
    for args in [
        &[][..],
        &["--verbose"],
        &["--json"],
        &["--online"],
        &["--online", "--json"],
        &["--repair", "--dry-run"],
        &["--repair", "--dry-run", "--json"],
        &["--type", &type_name],
        &["--repair", "--yes", "--undo-file", undo],
    ] {
        let text = shown(args, &path, 1);
        if args.contains(&"--json") {
            let item = text.lines().find_map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
                line["item"].as_str().filter(|item| item.starts_with(&type_name)).map(str::to_owned)
            });
            assert!(item.is_some(), "names come out of JSON as they are: {text}");
            assert!(text.contains(r"\u202e") && text.contains(r"\u009b"), "{text}");
        } else {
            assert!(text.contains(r"\u{9b}") && text.contains(r"\u{e0041}"), "{text}");
        }
    }
    is_harmless(&fs::read_to_string(undo).expect("read"), &["the undo file"]);
    // A value has changed since the repair. It is named, and nothing is undone.
    let store = LmdbStore::open(&path).expect("open");
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    let change = fs::read_to_string(undo).expect("read");
    let change: serde_json::Value =
        serde_json::from_str(change.lines().nth(1).expect("a change")).expect("JSON");
    kv.put(&bytes(change["key"].as_str().expect("a key")), b"other").expect("put");
    kv.commit().expect("commit");
    drop(store);
    assert!(shown(&["--apply-undo", undo], &path, 2).contains("has changed since the repair"));
    shown(&["--apply-undo", undo, "--force", "changed"], &path, 0);
    fs::remove_file(undo).expect("remove");
    let text = shown(&["--repair", "--yes", "--json", "--undo-file", undo], &path, 1);
    assert!(text.contains(r"undo\u202e\u009b\udb40\udc41"), "{text}");
    shown(&["--apply-undo", undo], &path, 0);
    // Other programs may print findings.
    let store = LmdbStore::open(&path).expect("open");
    let kv = store.begin(&TxOptions::reading()).expect("begin");
    let sink = &mut |finding: &_| is_harmless(&format!("{finding}"), &["Display"]);
    check(&*kv, &Options::default(), sink).expect("check");
}

#[test]
fn no_error_has_them_either() {
    let evil: String = hostile().into_iter().filter(|&c| c != '\0').take(60).collect();
    let dir = TempDir::new().expect("a directory");
    let (_other, good) = damaged(&[]);
    let good = Path::new(&good);
    let missing = dir.path().join(&evil);
    let file = missing.to_str().expect("UTF-8");
    let schema = format!("1={file}");
    for args in [&["--kind=lmdb"][..], &["--kind=xml"], &["--kind=sqlite"], &["--json"], &[]] {
        shown(args, &missing, 2);
    }
    for args in [
        &["--kind", &*evil][..],
        &[&*evil],
        &[&*format!("--{evil}")],
        &["--type", &evil],
        &["--range", &evil],
        &["--schema", &evil],
        &["--schema", &schema],
        &["--storage-id", &evil],
        &["--apply-undo", file],
        &["--repair", "--yes", "--backup", &format!("{file}/there")],
    ] {
        shown(args, good, 2);
    }
    fs::write(&missing, "hello").expect("write");
    shown(&[], &missing, 2);
    shown(&["--apply-undo", file], good, 2);
    shown(&["--online", "--position", file], good, 2);
    shown(&["--repair", "--yes", "--undo-file", file], good, 2);
    // XML whose content is quoted in the error, and a schema whose names are not allowed.
    fs::write(&missing, "<entries><\u{202e}\u{9b}/></entries>").expect("write");
    shown(&[], &missing, 2);
    shown(&["--schema", &schema], good, 2);
    let bad = "<Schema><ObjectType name=\"\u{202e} \u{9b}\"/></Schema>";
    let stored = permazen::__internal::schema::deflate(bad.as_bytes());
    let stored: String = stored.iter().map(|byte| format!("{byte:02x}")).collect();
    let (_dir, path) = damaged(&[("000101", Some(&stored))]);
    let text = shown(&[], Path::new(&path), 1);
    assert!(text.contains("bad-schema-xml") && text.contains(r"\u{202e}"), "{text}");
    shown(&["--json"], Path::new(&path), 1);
}

/// Every unit of a string is shown, also units that are no characters.
#[test]
fn unpaired_surrogates_are_told_as_they_are() {
    let entry = |unit: u16| {
        let mut key = bytes("11");
        permazen::encoding::string::write_units([0x61, unit], &mut key);
        key.extend(bytes("1000000000000001"));
        key.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let entries = [entry(0xd800), entry(0xdfff)];
    let (_dir, path) = damaged(&[(&entries[0], Some("")), (&entries[1], Some(""))]);
    let text = stdout(&mut jsck(&[&path]), 1);
    assert!(text.contains("d800") && text.contains("dfff"), "{text}");
    let json = lines(&mut jsck(&["--json", &path]), 1);
    let decoded = |n: usize| json[n]["decoded_key"].as_str().expect("decoded").to_owned();
    assert!(decoded(0).contains("ud800") && decoded(1).contains("udfff"), "{json:?}");
}

#[test]
fn whatever_is_escaped_can_be_told_apart() {
    use std::fmt::Write;
    for c in hostile() {
        assert!(needs_escape(c), "{c:?}");
        let mut shown = String::new();
        write!(Escaping(&mut shown), "a{c}b").expect("a string");
        assert_eq!(shown, format!("a\\u{{{:x}}}b", u32::from(c)));
    }
    for c in "aZ09 ä ß 日本 é\u{301} 🎵 \u{fe0f} ~".chars() {
        assert!(!needs_escape(c), "{c:?}");
    }
}
