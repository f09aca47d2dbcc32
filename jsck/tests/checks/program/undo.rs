//! Undo files: their content, and the databases they are not applied to.

use std::fs;
use std::path::Path;

use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{KvDatabase, TxOptions};
use serde_json::Value;

use crate::support::{self, Pairs, STALE_ENTRY, bytes, change, damaged, data, jsck, stdout};

/// The meta-data of an object, with an unknown flag. Without it, the value is `01`.
const SPOILED: (&str, Option<&str>) = ("2000000000000001", Some("0105"));

/// A database that was repaired, its directory and its undo file.
fn repaired(damage: &[(&str, Option<&str>)]) -> (tempfile::TempDir, String, String) {
    let (dir, path) = damaged(damage);
    let undo = dir.path().join("undo").to_str().expect("UTF-8").to_owned();
    jsck(&["--repair", "--yes", "--undo-file", &undo, &path]).assert().code(1);
    (dir, path, undo)
}

fn pairs(path: &str) -> Pairs {
    let store = LmdbStore::open(path).expect("open");
    support::pairs(&*store.begin(&TxOptions::reading()).expect("begin"))
}

fn set(path: &str, key: &str, value: Option<&str>) {
    let store = LmdbStore::open(path).expect("open");
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    change(&mut *kv, &[(key, value)]);
    kv.commit().expect("commit");
}

/// Applying the undo file is refused and changes nothing. Returns the output, and the error.
fn refused(args: &[&str], path: &str) -> (String, String) {
    let before = pairs(path);
    let output = jsck(&[&["--apply-undo"], args, &[path]].concat()).output().expect("run");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (out, error) = (text(output.stdout), text(output.stderr));
    assert_eq!(output.status.code(), Some(2), "{out}{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert_eq!(pairs(path), before);
    (out, error)
}

#[test]
fn an_undo_file_names_its_database_and_the_changes() {
    let (_dir, path, undo) = repaired(&[STALE_ENTRY, SPOILED]);
    let text = fs::read_to_string(&undo).expect("read");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [head, changes @ .., end] = &lines[..] else { panic!("{text}") };
    assert_eq!((&head["type"], &head["form"]), (&"undo".into(), &2.into()));
    let whole = Path::new(&path).canonicalize().expect("a path");
    assert_eq!(head["database"], whole.to_str().expect("UTF-8"));
    assert_eq!(head["kind"], "LMDB environment");
    assert_eq!(head["program"], env!("CARGO_PKG_VERSION"));
    assert!(head["time"].as_u64() > Some(1_700_000_000), "{head}");
    assert_eq!((&end["type"], &end["changes"]), (&"end".into(), &changes.len().into()));
    for (key, old, new) in [(STALE_ENTRY.0, "", None), (SPOILED.0, "0105", Some("01"))] {
        let change = changes.iter().find(|change| change["key"] == key);
        let change = change.unwrap_or_else(|| panic!("no {key} in {text}"));
        assert_eq!(change["old_value"], old);
        assert_eq!(change["new_value"].as_str(), new);
    }
}

#[test]
fn an_undo_file_applied_twice_has_nothing_to_do() {
    let (_dir, before) = damaged(&[STALE_ENTRY, SPOILED]);
    let (_dir, path, undo) = repaired(&[STALE_ENTRY, SPOILED]);
    let text = stdout(&mut jsck(&["--apply-undo", &undo, &path]), 0);
    assert!(text.starts_with("2 changes undone in "), "{text}");
    assert_eq!(pairs(&path), pairs(&before));
    let text = stdout(&mut jsck(&["--apply-undo", &undo, &path]), 0);
    assert!(text.contains("0 changes undone") && text.contains("2 were as before"), "{text}");
    assert_eq!(pairs(&path), pairs(&before));
}

#[test]
fn pairs_that_changed_since_are_named_and_left() {
    for (key, value, told) in [
        // A value that was repaired and then changed or removed; a pair that was removed and put
        // again.
        (SPOILED.0, Some("02"), "it is 02, not 01"),
        (SPOILED.0, None, "it is absent, not 01"),
        (STALE_ENTRY.0, Some("77"), "it is 77, not absent"),
    ] {
        let (_dir, path, undo) = repaired(&[STALE_ENTRY, SPOILED]);
        set(&path, key, value);
        let (out, error) = refused(&[&undo], &path);
        assert!(out.contains(&format!("{key} has changed since the repair: {told}")), "{out}");
        assert_eq!(out.lines().count(), 1, "{out}");
        assert!(error.contains("1 pairs") && error.contains("--force=changed"), "{error}");
        refused(&[&undo, "--force=database,incomplete"], &path);
        jsck(&["--apply-undo", &undo, "--force=changed", &path]).assert().code(0);
        let (_dir, before) = damaged(&[STALE_ENTRY, SPOILED]);
        assert_eq!(pairs(&path), pairs(&before));
    }
    // Pairs that the repair has not touched may change.
    let (_dir, path, undo) = repaired(&[STALE_ENTRY, SPOILED]);
    set(&path, "00ff01", Some("aa"));
    jsck(&["--apply-undo", &undo, &path]).assert().code(0);
    assert_eq!(pairs(&path).get(&bytes("00ff01")), Some(&bytes("aa")));
}

#[test]
fn an_undo_file_of_another_database_is_refused() {
    let (_dir, first, undo) = repaired(&[STALE_ENTRY]);
    let (_dir, second, _) = repaired(&[STALE_ENTRY]);
    let (_, error) = refused(&[&undo], &second);
    for part in [&first, &second, "LMDB environment", "--force=database"] {
        assert!(error.contains(part), "no {part} in {error}");
    }
    refused(&[&undo, "--force=changed"], &second);
    jsck(&["--apply-undo", &undo, "--force=database", &second]).assert().code(0);
    jsck(&[&second]).assert().code(1);
    // The same database under another path.
    let there = Path::new(&first).join("..").join("db");
    jsck(&["--apply-undo", &undo, there.to_str().expect("UTF-8")]).assert().code(0);
}

#[test]
fn an_undo_file_that_is_cut_off_is_recognised_and_can_be_used_as_far_as_it_goes() {
    let (dir, path, undo) = repaired(&[STALE_ENTRY, SPOILED]);
    let whole = fs::read(&undo).expect("read");
    let head = whole.iter().position(|&byte| byte == b'\n').expect("a line") + 1;
    let cut = dir.path().join("cut");
    let cut_name = cut.to_str().expect("UTF-8");
    for len in (0..whole.len()).rev().step_by(5).chain([head - 1, head, whole.len() - 1]) {
        fs::write(&cut, whole.get(..len).expect("shorter")).expect("write");
        let (_, error) = refused(&[cut_name], &path);
        let expected = if len < head { "is no undo file" } else { "is cut off" };
        assert!(error.contains(expected), "{len} of {} bytes: {error}", whole.len());
    }
    let lines: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
    // The first change, and a part of the second one.
    let part = [&lines[..2].concat()[..], lines[2].get(..20).expect("longer")].concat();
    fs::write(&cut, part).expect("write");
    refused(&[cut_name, "--force=changed"], &path);
    let text = stdout(&mut jsck(&["--apply-undo", cut_name, "--force=incomplete", &path]), 0);
    assert!(text.contains("is cut off") && text.contains("1 changes undone"), "{text}");
    let now = pairs(&path);
    let has = |pair: (&str, &str)| now.get(&bytes(pair.0)) == Some(&bytes(pair.1));
    assert_ne!(has((SPOILED.0, "0105")), has((STALE_ENTRY.0, "")), "one of two was undone");
}

#[test]
fn an_undo_file_with_a_changed_byte_is_refused() {
    let (dir, path, undo) = repaired(&[STALE_ENTRY, SPOILED]);
    let whole = fs::read(&undo).expect("read");
    let spoiled = dir.path().join("spoiled");
    for at in (0..whole.len() - 1).step_by(3) {
        let mut bytes = whole.clone();
        bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
        fs::write(&spoiled, bytes).expect("write");
        let name = spoiled.to_str().expect("UTF-8");
        refused(&[name, "--force=database,changed,incomplete"], &path);
    }
    let twice = [&whole[..], &whole[..]].concat();
    fs::write(&spoiled, twice).expect("write");
    let (_, error) = refused(&[spoiled.to_str().expect("UTF-8")], &path);
    assert!(error.contains("it comes after the end"), "{error}");
    let newer = String::from_utf8(whole).expect("UTF-8").replace("\"form\":2", "\"form\":3");
    let newer = newer.lines().next().expect("a line").to_owned() + "\n";
    fs::write(&spoiled, newer).expect("write");
    let (_, error) = refused(&[spoiled.to_str().expect("UTF-8")], &path);
    assert!(error.contains("form 3"), "{error}");
}

/// A limit on the size of files stands for a disk without room.
#[cfg(target_os = "linux")]
#[test]
fn without_room_for_it_nothing_is_changed() {
    let stale: Vec<String> = (0..1000).map(|n| format!("11416e6f001000000000{n:06x}")).collect();
    let damage: Vec<_> = stale.iter().map(|key| (&**key, Some(""))).collect();
    let (dir, path) = damaged(&damage);
    let undo = dir.path().join("undo");
    let before = pairs(&path);
    // The limit is in blocks of 512 bytes. It is less than the undo file takes, but enough for the
    // lock file.
    let script = "ulimit -f 64; exec \"$0\" \"$@\"";
    let output = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_jsck"), "--repair", "--yes", "--undo-file"])
        .arg(&undo)
        .arg(&path)
        .output()
        .expect("run");
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains(undo.to_str().expect("UTF-8")), "{error}");
    assert!(error.contains("nothing was changed") && error.lines().count() == 1, "{error}");
    assert_eq!(pairs(&path), before);
    assert_eq!(fs::read_dir(dir.path()).expect("list").count(), 1, "a file was left");
}

/// The undo file is checked before the database, which need not even exist.
#[test]
fn files_that_cannot_be_written_are_refused_at_once() {
    let (dir, path) = damaged(&[STALE_ENTRY]);
    let taken = dir.path().join("taken");
    fs::write(&taken, "precious").expect("write");
    let nowhere = dir.path().join("missing").join("file");
    let in_file = taken.join("file");
    let no_database = dir.path().join("none");
    let no_database = no_database.to_str().expect("UTF-8");
    for (file, why) in [
        (&taken, "exists already"),
        (&nowhere, "there is no directory"),
        (&in_file, "no file can be written there"),
    ] {
        let name = file.to_str().expect("UTF-8");
        for option in ["--undo-file", "--backup"] {
            let output = jsck(&["--repair", "--yes", option, name, no_database]).output();
            let output = output.expect("run");
            let error = String::from_utf8(output.stderr).expect("UTF-8");
            assert_eq!(output.status.code(), Some(2), "{option} {name}");
            assert!(error.contains(name) && error.contains(why), "{option} {name}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
    // A dry run writes no undo file.
    let name = taken.to_str().expect("UTF-8");
    jsck(&["--repair", "--dry-run", "--undo-file", name, &path]).assert().code(1);
    assert_eq!(fs::read_dir(dir.path()).expect("list").count(), 2, "a file was left");
}

/// A repaired dump, whose name need not be text, and the undo file.
#[cfg(unix)]
fn repaired_dump(dir: &Path, name: &[u8]) -> (std::path::PathBuf, std::path::PathBuf) {
    use std::os::unix::ffi::OsStrExt;
    let file = dir.join(std::ffi::OsStr::from_bytes(name));
    let text = fs::read_to_string(data("reference/R.kv.xml")).expect("data");
    let stale = format!("<entry><key>{}</key></entry></entries>", STALE_ENTRY.0);
    fs::write(&file, text.replace("</entries>", &stale)).expect("write");
    let mut undo = file.clone().into_os_string();
    undo.push(".undo");
    let undo = std::path::PathBuf::from(undo);
    let args = ["--repair", "--yes", "--json", "--undo-file"];
    let output = jsck(&args).arg(&undo).arg(&file).assert().code(1).get_output().stdout.clone();
    let text = String::from_utf8(output).expect("UTF-8");
    let shown = name.escape_ascii().to_string().replace('\\', r"\\");
    assert!(text.contains(&format!("{shown}.undo\"")), "{text}");
    (file, undo)
}

#[cfg(unix)]
#[test]
fn paths_that_are_no_text_are_told_apart() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let (ff, undo_ff) = repaired_dump(dir.path(), b"odd\xff");
    let (fd, undo_fd) = repaired_dump(dir.path(), b"odd\xfd");
    let (literal, undo_literal) = repaired_dump(dir.path(), b"odd\\xff");
    let all = [(&ff, &undo_ff), (&fd, &undo_fd), (&literal, &undo_literal)];
    for (file, own) in all {
        for (_, undo) in all.iter().filter(|(other, _)| other != &file) {
            let output = jsck(&["--apply-undo"]).arg(undo).arg(file).assert().code(2);
            let error = String::from_utf8(output.get_output().stderr.clone()).expect("UTF-8");
            assert!(error.contains("was written for") && error.contains(r"\x"), "{error}");
        }
        jsck(&["--apply-undo"]).arg(own).arg(file).assert().code(0);
    }
}

/// The first form of undo files named the path as it is shown, with U+FFFD for what is no text.
#[cfg(unix)]
#[test]
fn undo_files_of_the_first_form_are_read() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let whole = |file: &Path| file.canonicalize().expect("a path").display().to_string();
    for (name, applied) in [(&b"plain"[..], true), (br"back\slash", true), (b"odd\xff", false)] {
        let (file, undo) = repaired_dump(dir.path(), name);
        let text = fs::read_to_string(&undo).expect("read");
        let mut lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let end = lines.pop().expect("the end");
        lines[0]["form"] = 1.into();
        lines[0]["database"] = whole(&file).into();
        let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let mut crc = flate2::Crc::new();
        crc.update(text.as_bytes());
        let (changes, crc32) = (&end["changes"], crc.sum());
        text += &format!("{{\"type\":\"end\",\"changes\":{changes},\"crc32\":{crc32}}}\n");
        fs::write(&undo, text).expect("write");
        if !applied {
            jsck(&["--apply-undo"]).arg(&undo).arg(&file).assert().code(2);
        }
        let force = if applied { "--force=changed" } else { "--force=database" };
        jsck(&["--apply-undo"]).arg(&undo).args([force]).arg(&file).assert().code(0);
        jsck(&[]).arg(&file).assert().code(1);
    }
}
