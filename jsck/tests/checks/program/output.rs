//! The output of the program, and when it comes.

use std::fs;
use std::path::Path;

use permazen::kv::{KvDatabase, TxOptions};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{STALE_ENTRY, bytes, change, damaged, jsck, lines, sqlite_file, stdout};

/// Whether a value matches a schema. It knows the part of JSON schema that the program's schema
/// uses.
fn is_valid(schema: &Value, value: &Value) -> bool {
    let rules = schema.as_object().expect("a schema is an object");
    rules.iter().all(|(rule, wanted)| match rule.as_str() {
        "$schema" | "title" | "description" => true,
        "oneOf" => {
            let several = wanted.as_array().expect("several schemas");
            several.iter().filter(|schema| is_valid(schema, value)).count() == 1
        }
        "const" => value == wanted,
        "enum" => wanted.as_array().expect("several values").contains(value),
        "type" => match wanted {
            Value::Array(several) => several.iter().any(|one| has_type(value, one)),
            one => has_type(value, one),
        },
        "required" => {
            let Some(object) = value.as_object() else { return true };
            let mut names = wanted.as_array().expect("several names").iter();
            names.all(|name| object.contains_key(name.as_str().expect("a name")))
        }
        "additionalProperties" => {
            assert_eq!(wanted, false);
            let Some(object) = value.as_object() else { return true };
            object.keys().all(|name| schema["properties"].get(name).is_some())
        }
        "properties" => {
            let Some(object) = value.as_object() else { return true };
            let properties = wanted.as_object().expect("several properties");
            let mut present = properties.iter().filter_map(|(n, s)| Some((s, object.get(n)?)));
            present.all(|(schema, value)| is_valid(schema, value))
        }
        other => panic!("a rule the test does not know: {other}"),
    })
}

fn has_type(value: &Value, name: &Value) -> bool {
    match name.as_str().expect("the name of a type") {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("a type the test does not know: {other}"),
    }
}

#[test]
fn every_line_of_json_is_as_its_schema_says() {
    let schema = stdout(&mut jsck(&["--generate", "json-schema"]), 0);
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let (dir, path) = damaged(&[
        STALE_ENTRY,
        ("12aabb", Some("cc")),
        ("2000000000000001", None),
        ("ff00", Some("aa")),
        ("100000000000000112", Some("a700")),
    ]);
    let position = dir.path().join("position");
    fs::write(&position, "10\n").expect("write");
    let position = position.to_str().expect("UTF-8");
    let runs: [&[&str]; 5] = [
        &[],
        &["--repair", "--dry-run"],
        &["--online", "--limit", "1"],
        &["--online", "--position", position],
        &["--repair", "--yes"],
    ];
    let mut kinds = std::collections::BTreeSet::new();
    for args in runs {
        let args = [&["--json", &path], args].concat();
        for line in lines(&mut jsck(&args), 1) {
            assert!(is_valid(&schema, &line), "{args:?}: {line}");
            kinds.insert(line["type"].as_str().expect("a type").to_owned());
        }
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["change", "finding", "summary"]);
    assert!(is_valid(&schema, &serde_json::json!({"type": "store", "problem": "page 3"})));
    assert!(!is_valid(&schema, &serde_json::json!({"type": "store"})));
}

/// Each pair is counted once as an existing pair. How often pairs were read is reported separately.
#[test]
fn pairs_and_reads_are_told_apart() {
    for changes in [&[][..], &[STALE_ENTRY, ("13ff1000000000000002", None), ("01", Some("aa"))]] {
        let (_dir, path) = damaged(changes);
        let code = i32::from(!changes.is_empty());
        let store = permazen::kv::lmdb::LmdbStore::open(&path).expect("open");
        let pairs = store.statistics().expect("figures").entries.expect("how many pairs");
        drop(store);
        for args in [&[][..], &["--online"], &["--threads", "1"], &["--repair", "--dry-run"]] {
            let args = [args, &[&*path]].concat();
            let json = lines(&mut jsck(&[&["--json"], &args[..]].concat()), code);
            let summary = json.last().expect("a summary");
            assert_eq!(summary["pairs"], pairs, "{args:?}");
            let reads = summary["reads"].as_u64().expect("a number");
            assert!(reads > pairs || args.contains(&"--online"), "{args:?}: {reads} of {pairs}");
            let text = stdout(&mut jsck(&args), code);
            let told = format!("{pairs} pairs checked with {reads} reads in ");
            assert!(text.contains(&told), "no {told:?} in\n{text}");
        }
    }
    // A partial check counts the pairs it looks at.
    let (_dir, path) = damaged(&[]);
    let part = |args: &[&str]| {
        let json = lines(&mut jsck(&[args, &["--json", &path]].concat()), 0);
        json[0]["pairs"].as_u64().expect("a number")
    };
    let (all, people, pets) = (part(&[]), part(&["--type", "Person"]), part(&["--type", "Pet"]));
    let none = part(&["--range", "1fffffffffffffff..1fffffffffffffff"]);
    assert_eq!(people + pets - none, all, "the meta-data is checked in both");
}

#[test]
fn a_dry_run_shows_the_exact_changes() {
    // An element is missing from the middle of a list, so another one moves down.
    let (_dir, path) = damaged(&[("10000000000000011701", None)]);
    let text = stdout(&mut jsck(&["--repair", "--dry-run", &path]), 1);
    let changes: Vec<&str> =
        text.lines().filter(|line| line.starts_with("- ") || line.starts_with("+ ")).collect();
    assert_eq!(
        changes,
        [
            "+ 10000000000000011701 = 1000000000000002",
            "- 10000000000000011702 = 1000000000000002",
            "+ 181000000000000002100000000000000101 = (empty)",
            "- 181000000000000002100000000000000102 = (empty)",
            "- 181000000000000003100000000000000101 = (empty)",
        ],
        "{text}"
    );
    let dry = lines(&mut jsck(&["--json", "--repair", "--dry-run", &path]), 1);
    let dry: Vec<_> = dry.iter().filter(|line| line["type"] == "change").collect();
    assert_eq!(dry.len(), changes.len());
    stdout(&mut jsck(&["--repair", "--yes", &path]), 1);
    let store = permazen::kv::lmdb::LmdbStore::open(&path).expect("open");
    let kv = store.begin(&TxOptions::reading()).expect("begin");
    for change in dry {
        let text = |name: &str| change[name].as_str().map(bytes);
        let found = kv.get(&text("key").expect("a key")).expect("get");
        assert_eq!(found.as_deref(), text("new_value").as_deref(), "{change}");
    }
}

#[test]
fn keys_are_decoded_as_far_as_they_can_be() {
    let (_dir, path) = damaged(&[
        ("1000000000000001", None),
        ("131000000000000003100000000000000a", Some("")),
        ("1f416e6f0080100000000000000a", Some("")),
        ("1b81100000000000000a6100", Some("")),
    ]);
    let text = stdout(&mut jsck(&[&path]), 1);
    for expected in [
        "(Person 1000000000000001 name)",
        "(Person 1000000000000001 friends[1])",
        "(Person 1000000000000001 tags element \"x\")",
        "(index Person.spouse: 1000000000000003, object 100000000000000a)",
        "(index Person#nameAge: \"Ano\", 1, object 100000000000000a)",
        "(index Person.scores.value: 2, object 100000000000000a under key \"a\")",
    ] {
        assert!(text.contains(expected), "no {expected:?} in\n{text}");
    }
}

#[test]
fn errors_are_in_words() {
    let dir = TempDir::new().expect("a directory");
    let missing = dir.path().join("missing");
    let missing = missing.to_str().expect("UTF-8");
    let (_dir, path) = damaged(&[STALE_ENTRY]);
    for args in [
        &[missing][..],
        &["--kind", "lmdb", missing],
        &["--kind", "xml", missing],
        &["--kind", "sqlite", missing],
        &["--apply-undo", missing, &path],
        &["--schema", &format!("1={missing}"), &path],
    ] {
        let output = jsck(args).assert().code(2).get_output().stderr.clone();
        let output = String::from_utf8(output).expect("UTF-8");
        assert_eq!(output.lines().count(), 1, "{output}");
        assert!(output.contains(missing) && !output.contains("os error"), "{args:?}: {output}");
    }
}

#[test]
fn nothing_is_overwritten() {
    let (dir, path) = damaged(&[STALE_ENTRY]);
    let file = dir.path().join("precious");
    fs::write(&file, "precious").expect("write");
    let name = file.to_str().expect("UTF-8");
    for option in ["--backup", "--undo-file"] {
        jsck(&["--repair", "--yes", option, name, &path]).assert().code(2);
        assert_eq!(fs::read_to_string(&file).expect("read"), "precious", "{option}");
        jsck(&[&path]).assert().code(1);
    }
}

#[test]
fn verbose_says_what_is_checked_and_shows_all_of_a_value() {
    let long = "ab".repeat(200);
    let (_dir, path) = damaged(&[("12aabb", Some(&long))]);
    let brief = stdout(&mut jsck(&[&path]), 1);
    assert!(!brief.contains(&long) && !brief.contains("Looking at"), "{brief}");
    let text = stdout(&mut jsck(&["--verbose", &path]), 1);
    assert!(text.contains(&long), "{text}");
    for phase in ["meta-data", "which objects exist", "objects, indexes"] {
        assert!(text.contains(&format!("Looking at: {phase}\n")), "{text}");
    }
}

#[test]
fn a_sqlite_file_is_checked_and_mended_too() {
    let dir = TempDir::new().expect("a directory");
    let file = sqlite_file(dir.path(), |kv| change(kv, &[STALE_ENTRY]));
    let path = file.to_str().expect("UTF-8");
    let text = stdout(&mut jsck(&["--repair", "--yes", path]), 1);
    assert!(text.contains("SQLite file") && text.contains("Repaired: 1 changes"), "{text}");
    jsck(&[path]).assert().code(0);
    spoil(&file);
    let output = jsck(&["--json", path]).output().expect("run");
    let told = String::from_utf8_lossy(&output.stdout).contains(r#""type":"store""#);
    assert!(
        told || output.status.code() == Some(2),
        "damage of the file goes unnoticed: {output:?}"
    );
}

/// The store fails in the middle of a check. The findings before the failure are summed up.
#[test]
fn a_check_that_fails_ends_in_a_summary() {
    let dir = TempDir::new().expect("a directory");
    let file = sqlite_file(dir.path(), |kv| {
        for number in 0..2000_u32 {
            let key = [&bytes("22")[..], &number.to_be_bytes()].concat();
            kv.put(&key, &[7; 100]).expect("put");
        }
    });
    spoil(&file);
    let path = file.to_str().expect("UTF-8");
    let lines = lines(&mut jsck(&["--json", "--no-store-check", path]), 2);
    let (summary, findings) = lines.split_last().expect("lines");
    assert!(findings.iter().all(|line| line["class"] == "foreign-key"), "{findings:?}");
    assert!(!findings.is_empty() && findings.len() < 2000, "{summary}");
    assert_eq!((&summary["type"], &summary["complete"]), (&"summary".into(), &false.into()));
    assert_eq!(summary["findings"], findings.len());
    assert_eq!((&summary["objects"], &summary["seconds"]), (&Value::Null, &Value::Null));
    let schema = stdout(&mut jsck(&["--generate", "json-schema"]), 0);
    assert!(is_valid(&serde_json::from_str(&schema).expect("JSON"), summary), "{summary}");
}

/// Overwrites the header of the last page that has one.
fn spoil(file: &Path) {
    let mut bytes = fs::read(file).expect("read");
    let last = bytes.len() - 4096;
    bytes.get_mut(last..last + 100).expect("a page").fill(0xa5);
    fs::write(file, bytes).expect("write");
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_check_with_what_was_found_so_far() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    let (dir, path) = damaged(&[("01", Some("aa")), ("fe00", Some("aa"))]);
    let position = dir.path().join("position");
    // At two pairs a second it would take half a minute.
    let mut child = Command::new(env!("CARGO_BIN_EXE_jsck"))
        .args(["--json", "--online", "--rate", "2", "--position"])
        .arg(&position)
        .arg(&path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("run");
    let deadline = Instant::now() + Duration::from_secs(20);
    while !position.exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(position.exists(), "no slice has ended");
    // The shell's own `kill` needs no program of that name.
    let kill = format!("kill -INT {}", child.id());
    let interrupted = Command::new("sh").args(["-c", &kill]).status();
    assert!(interrupted.expect("a shell").success());
    assert_eq!(child.wait().expect("wait").code(), Some(1));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().expect("output"), &mut text)
        .expect("UTF-8");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (summary, findings) = lines.split_last().expect("lines");
    assert_eq!(findings.len(), 2, "{text}");
    assert_eq!(summary["complete"], false);
    let stopped = summary["position"].as_str().expect("where it stopped");
    assert_eq!(fs::read_to_string(&position).expect("read").trim(), stopped);
    // The rest is healthy, and earlier findings are not reported again.
    let position = position.to_str().expect("UTF-8");
    jsck(&["--online", "--position", position, &path]).assert().code(0);
}

#[test]
fn the_help_fits_the_terminal() {
    for width in [60, 80, 200] {
        let output = jsck(&["--help"]).env("COLUMNS", width.to_string()).output().expect("run");
        let help = String::from_utf8(output.stdout).expect("UTF-8");
        let longest = help.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(longest <= width.min(100), "{longest} columns of {width}:\n{help}");
        // Narrow terminals are used in full, and wide ones up to a hundred columns.
        assert!(longest > width.min(100) - 25, "{longest} columns of {width}:\n{help}");
    }
}
