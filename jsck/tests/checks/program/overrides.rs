//! Setting by hand what the meta-data should be, through the program.

use permazen::kv::Hex;

use crate::support::{damaged, jsck, lines, stdout};

const FORMAT_VERSION: &str = "00005065726d617a656e00";
/// The schema ID that the reference database has recorded for storage ID 18.
const AGE: &str = "SimpleField_d005e02d8b94f2956e15f7434919fae4";

/// Damage that repair does not mend by itself, but mends with these options.
fn mended_with(damage: &[(&str, Option<&str>)], class: &str, options: &[&str]) {
    let (_dir, path) = damaged(damage);
    let found = lines(&mut jsck(&["--json", &path]), 1);
    assert!(found.iter().any(|line| line["class"] == class), "no {class}: {found:#?}");
    let text = stdout(&mut jsck(&["--repair", "--yes", &path]), 1);
    assert!(text.contains("cannot be repaired automatically"), "{text}");
    // A check with the options shows the changes of a repair, and changes nothing.
    let shown = lines(&mut jsck(&[&["--json"], options, &[&path]].concat()), 1);
    let (summary, shown) = shown.split_last().expect("lines");
    assert_eq!(summary["unrepairable"], 0, "{shown:#?}");
    assert!(
        shown.iter().any(|line| line["key"] == damage[0].0 && line["fix"] != "none"),
        "{shown:#?}"
    );
    assert_eq!(lines(&mut jsck(&["--json", &path]), 1).len(), found.len());
    let text = stdout(&mut jsck(&[&["--repair", "--yes"], options, &[&path]].concat()), 1);
    assert!(text.contains("Repaired:") && text.contains("0 findings left"), "{text}");
    jsck(&[&path]).assert().code(0);
}

#[test]
fn a_storage_id_that_is_lost_or_damaged_is_given() {
    let option = format!("--storage-id=18={AGE}");
    mended_with(&[("000212", None)], "missing-storage-id", &[&option]);
    mended_with(&[("000212", Some("aabb"))], "bad-storage-id-value", &[&option]);
}

#[test]
fn a_storage_id_there_are_two_of_is_dropped() {
    let value = Hex(&[AGE.as_bytes(), &[0]].concat()).to_string();
    mended_with(&[("000263", Some(&value))], "duplicate-storage-id", &["--storage-id=99="]);
}

#[test]
fn an_unused_schema_is_dropped() {
    mended_with(&[("000102", Some("aabb"))], "bad-schema-xml", &["--schema=2="]);
}

#[test]
fn a_format_version_that_is_lost_or_damaged_is_given() {
    for (value, class) in [(None, "missing-format-version"), (Some("02"), "bad-format-version")] {
        mended_with(&[(FORMAT_VERSION, value)], class, &["--format-version=1"]);
    }
}

/// Half a load must not look like all of it.
#[test]
fn a_load_that_has_not_ended_is_not_called_a_database() {
    let loading = Hex(b"\0loading, by whom").to_string();
    let (_dir, path) = damaged(&[(FORMAT_VERSION, Some(&loading))]);
    for options in [&["--repair", "--yes"][..], &["--repair", "--yes", "--format-version=1"]] {
        let text = stdout(&mut jsck(&[options, &[&path]].concat()), 1);
        assert!(text.contains("still being loaded"), "{text}");
        assert!(text.contains("cannot be repaired automatically"), "{text}");
    }
    let found = lines(&mut jsck(&["--json", &path]), 1);
    assert_eq!((&found[0]["class"], found.len()), (&"bad-format-version".into(), 2), "{found:#?}");
}

/// The stored value is already right. Setting another one still is a change.
#[test]
fn what_is_right_can_be_replaced() {
    let (_dir, path) = damaged(&[]);
    let found = lines(&mut jsck(&["--json", "--storage-id=18=", &path]), 1);
    assert_eq!((&found[0]["class"], &found[0]["key"]), (&"override".into(), &"000212".into()));
    let undamaged = format!("--storage-id=18={AGE}");
    let found = lines(&mut jsck(&["--json", &undamaged, &path]), 1);
    assert_eq!((found.len(), &found[0]["class"]), (2, &"override".into()), "{found:#?}");
    jsck(&[&path]).assert().code(0);
}

/// Several options at once, with an undo file that takes all of them back.
#[test]
fn what_was_given_is_undone_as_all_else() {
    let damage = [("000212", None), ("000102", Some("aabb")), (FORMAT_VERSION, Some("02"))];
    let (dir, path) = damaged(&damage);
    let undo = dir.path().join("undo");
    let undo = undo.to_str().expect("UTF-8");
    let storage_id = format!("--storage-id=18={AGE}");
    let given = ["--schema=2=", "--format-version=1", &storage_id];
    let args = [&["--repair", "--yes", "--undo-file", undo], &given[..], &[&path]].concat();
    let text = stdout(&mut jsck(&args), 1);
    assert!(text.contains("Repaired: 3 changes"), "{text}");
    jsck(&[&path]).assert().code(0);
    jsck(&["--apply-undo", undo, &path]).assert().code(0);
    let again = [&["--repair", "--yes"], &given[..], &[&path]].concat();
    let text = stdout(&mut jsck(&again), 1);
    assert!(text.contains("Repaired: 3 changes"), "{text}");
}

#[test]
fn what_cannot_be_is_refused_in_one_line() {
    let (dir, path) = damaged(&[]);
    let xml = dir.path().join("schema.xml");
    std::fs::write(&xml, "<Schema><ObjectType/></Schema>").expect("write");
    let no_schema = format!("--schema=2={}", xml.display());
    for option in [
        "--storage-id=18",
        "--storage-id=x=",
        "--storage-id=0=",
        "--storage-id=-1=",
        "--storage-id=2147483648=",
        "--storage-id=18=nonsense",
        "--schema=1",
        "--schema=0=",
        "--schema=x=",
        "--format-version=0",
        "--format-version=2",
        &no_schema,
    ] {
        let output = jsck(&["--json", option, &path]).output().expect("run");
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{option}: {error}");
        assert_eq!(error.lines().count(), 1, "{option}: {error}");
        assert!(output.stdout.is_empty(), "{option}");
    }
}
