//! The program, run as a process.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;

use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{KvDatabase, TxOptions};
use permazen_jsck::Class;
use tempfile::TempDir;

use crate::support::{STALE_ENTRY, bytes, damaged, data, jsck, lines, stdout};

#[test]
fn a_clean_database_exits_with_0() {
    let (_dir, path) = damaged(&[]);
    let text = stdout(&mut jsck(&[&path]), 0);
    assert!(text.contains("No findings: 4 objects"), "{text}");
    assert!(!text.contains('\x1b'), "colours although not on a terminal: {text}");
}

#[test]
fn a_damaged_one_exits_with_1_and_explains() {
    let (_dir, path) = damaged(&[STALE_ENTRY]);
    let text = stdout(&mut jsck(&[&path]), 1);
    for expected in [
        "dangling-index-entry  Person.name  object 1000000000000001",
        "object 1000000000000001 has no such value",
        "key     11416e6f001000000000000001  (index Person.name: \"Ano\", object 1000000000000001)",
        "repair  removes the pair",
        "1  dangling-index-entry",
    ] {
        assert!(text.contains(expected), "no {expected:?} in\n{text}");
    }
}

/// LMDB would follow the damaged page to a place outside of the file.
#[test]
fn a_damaged_store_is_not_read_any_further() {
    let (_dir, path) = damaged(&[]);
    let store = LmdbStore::open(&path).expect("open");
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    for number in 0..2000 {
        kv.put(format!("key-{number:04}").as_bytes(), &[7; 100]).expect("put");
    }
    kv.commit().expect("commit");
    drop(store);
    let file = Path::new(&path).join("data.mdb");
    let mut bytes = std::fs::read(&file).expect("read");
    let is_victim = |page: &[u8]| page[10] == 2 && page.windows(8).any(|part| part == b"key-1000");
    let victim = bytes.chunks_mut(4096).rev().find(|page| is_victim(page)).expect("a leaf");
    victim[12..16].copy_from_slice(&[0xf0, 0x0f, 0xf8, 0x0f]);
    std::fs::write(&file, &bytes).expect("write");
    let undo = Path::new(&path).join("undo");
    let undo = ["--apply-undo", undo.to_str().expect("a path in UTF-8")];
    let json = [&["--json"][..], &["--json", "--online"], &["--json", "--repair", "--yes"]];
    for options in json {
        let lines = lines(&mut jsck(&[&[&*path], options].concat()), 1);
        let (summary, problems) = lines.split_last().expect("lines");
        assert!(problems.iter().all(|line| line["type"] == "store") && !problems.is_empty());
        assert_eq!((&summary["type"], &summary["complete"]), (&"summary".into(), &false.into()));
        assert_eq!(summary["store_problems"], problems.len());
    }
    for options in [&[][..], &["--json"], &["--repair", "--yes"], &["--online"], &undo] {
        let mut command = jsck(&[&[&*path], options].concat());
        let output = command.assert().code(1).get_output().clone();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("has an entry that is not within it"), "{options:?}: {text}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("the objects are not checked"), "{options:?}: {text}");
        assert_eq!(std::fs::read(&file).expect("read"), bytes);
    }
}

#[test]
fn what_cannot_be_opened_exits_with_2_and_one_line() {
    let dir = TempDir::new().expect("a directory");
    let missing = dir.path().join("missing");
    let text = dir.path().join("file.txt");
    std::fs::write(&text, "hello").expect("write");
    for path in [missing.as_path(), text.as_path(), dir.path()] {
        let path = path.to_str().expect("a path in UTF-8");
        let output = jsck(&[path]).assert().code(2).get_output().stderr.clone();
        let output = String::from_utf8(output).expect("UTF-8");
        assert_eq!(output.lines().count(), 1, "{output}");
        assert!(output.contains(path), "{output}");
    }
    assert!(!dir.path().join("data.mdb").exists(), "a check created an environment");
}

/// A password in a URL is refused, so no error proposes one.
#[test]
fn advice_about_passwords_names_what_is_taken() {
    let run = |url: &str| {
        let mut command = jsck(&[url]);
        for name in ["PGPASSWORD", "PGPASSFILE", "ETCD_PASSWORD"] {
            command.env_remove(name);
        }
        // Where there is no ~/.pgpass.
        let home = TempDir::new().expect("a directory");
        command.env("HOME", home.path()).env("APPDATA", home.path());
        let output = command.assert().code(2).get_output().stderr.clone();
        String::from_utf8(output).expect("UTF-8")
    };
    for url in ["postgres://ann:s3cret@127.0.0.1/db", "etcd://ann:s3cret@127.0.0.1/db"] {
        let refused = run(url);
        for name in ["PGPASSWORD", "~/.pgpass", "ETCD_PASSWORD"] {
            assert!(refused.contains(name), "{refused}");
        }
    }
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("an address").port();
    let asking = std::thread::spawn(move || {
        let (mut connection, _) = server.accept().expect("a connection");
        // It begins with its length.
        let mut length = [0; 4];
        connection.read_exact(&mut length).expect("a length");
        let mut start = vec![0; u32::from_be_bytes(length) as usize - 4];
        connection.read_exact(&mut start).expect("what a client begins with");
        connection.write_all(b"R\0\0\0\x08\0\0\0\x03").expect("a question for a password");
        let _ = connection.read(&mut [0]);
    });
    let refused = run(&format!("postgres://ann@127.0.0.1:{port}/db"));
    assert!(refused.contains("a password: name it in PGPASSWORD or in ~/.pgpass"), "{refused}");
    asking.join().expect("a server");
    // A password that is missing here is found before a connection is made.
    let refused = run("etcd://ann@127.0.0.1:1/db");
    assert!(refused.contains("no password: name it in ETCD_PASSWORD"), "{refused}");
}

#[test]
fn json_has_a_line_for_each_finding_and_a_summary() {
    let (_dir, path) = damaged(&[STALE_ENTRY, ("12aabb", Some("cc"))]);
    let lines = lines(&mut jsck(&["--json", &path]), 1);
    let (summary, findings) = lines.split_last().expect("lines");
    assert_eq!(findings.len(), 2);
    for finding in findings {
        assert_eq!(finding["type"], "finding");
        let class = finding["class"].as_str().expect("a class");
        assert!(Class::ALL.iter().any(|known| known.as_str() == class), "{class}");
        assert!(["remove", "put", "none"].contains(&finding["fix"].as_str().expect("a fix")));
        for (member, optional) in [
            ("key", false),
            ("detail", false),
            ("value", true),
            ("object", true),
            ("item", true),
            ("decoded_key", true),
            ("new_value", true),
        ] {
            let value = &finding[member];
            assert!(value.is_string() || (optional && value.is_null()), "{member}: {value}");
        }
        assert!(finding["warning"].is_boolean() && finding["beyond_reference"].is_boolean());
    }
    assert_eq!(summary["type"], "summary");
    assert_eq!(summary["findings"], 2);
    assert_eq!(summary["complete"], true);
    assert_eq!(summary["objects"], 4);
}

#[test]
fn findings_are_grouped_under_headings() {
    let (_dir, path) = damaged(&[
        ("01", Some("aa")),
        ("02", Some("aa")),
        ("100000000000000112", Some("a700")),
        ("100000000000000113", Some("80")),
        ("1000000000000003", Some("8100")),
        ("2000000000000001", Some("800201")),
        ("11c0", Some("")),
        ("11c1", Some("")),
        ("ff00", Some("aa")),
    ]);
    let text = stdout(&mut jsck(&[&path]), 1);
    let lines: Vec<&str> = text.lines().skip(1).take_while(|line| !line.is_empty()).collect();
    let headings: Vec<_> = lines.iter().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(headings.first(), Some(&&"Keys that belong to nothing"), "{text}");
    for heading in ["Keys that belong to nothing", "Person 1000000000000001", "Index Person.name"] {
        assert_eq!(headings.iter().filter(|line| **line == &heading).count(), 1, "{text}");
    }
    let beyond = lines.iter().filter(|line| line.contains("(beyond Java's checker)")).count();
    let json = self::lines(&mut jsck(&["--json", &path]), 1);
    let marked = json.iter().filter(|line| line["beyond_reference"] == true).count();
    assert!(marked > 0 && marked == beyond, "{marked} in JSON\n{text}");
}

#[test]
fn options_about_meta_data_and_threads_do_what_they_say() {
    let (_dir, path) = damaged(&[STALE_ENTRY]);
    for threads in ["1", "3"] {
        assert_eq!(lines(&mut jsck(&["--json", "--threads", threads, &path]), 1).len(), 2);
    }
    jsck(&["--threads", "0", &path]).assert().code(2);
    jsck(&["--format-version", "2", &path]).assert().code(2);
    jsck(&["--collect-schemas", "--repair", "--yes", &path]).assert().code(1);
    jsck(&["--collect-schemas", &path]).assert().code(0);
    // A sample of half the objects is always the same, and finds no more than a check of all.
    let half = stdout(&mut jsck(&["--json", "--sample", "50", &path]), 0);
    let summary: serde_json::Value = serde_json::from_str(half.trim()).expect("a summary");
    let objects = summary["objects"].as_u64().expect("a number");
    assert!((1..4).contains(&objects), "{objects} of 4 objects are in the sample");
}

#[test]
fn a_limit_ends_early() {
    let (_dir, path) = damaged(&[("01", Some("aa")), ("02", Some("aa")), ("03", Some("aa"))]);
    let lines = lines(&mut jsck(&["--json", "--limit", "2", &path]), 1);
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[2]["complete"], false);
}

#[test]
fn repair_wants_to_be_confirmed() {
    let (_dir, path) = damaged(&[STALE_ENTRY]);
    jsck(&["--repair", &path]).write_stdin("").assert().code(2);
    jsck(&[&path]).assert().code(1);
}

#[test]
fn a_dry_run_changes_nothing() {
    let (dir, path) = damaged(&[STALE_ENTRY]);
    let text = stdout(&mut jsck(&["--repair", "--dry-run", &path]), 1);
    assert!(text.contains("repair would make 1 change"), "{text}");
    jsck(&[&path]).assert().code(1);
    assert_eq!(std::fs::read_dir(dir.path()).expect("list").count(), 1, "a file was left");
}

#[test]
fn repair_mends_and_can_be_undone() {
    let (dir, path) = damaged(&[STALE_ENTRY, ("10000000000000011701", None)]);
    let undo = dir.path().join("undo");
    let backup = dir.path().join("backup.xml");
    let (undo, backup) = (undo.to_str().expect("UTF-8"), backup.to_str().expect("UTF-8"));
    let before = lines(&mut jsck(&["--json", &path]), 1);
    let args = ["--repair", "--yes", "--undo-file", undo, "--backup", backup, &path];
    let text = stdout(&mut jsck(&args), 1);
    assert!(text.contains("Repaired:") && text.contains("0 findings left"), "{text}");
    jsck(&[&path]).assert().code(0);
    let in_backup = lines(&mut jsck(&["--json", backup]), 1);
    assert_eq!(in_backup.len(), before.len(), "the backup is of the damaged database");
    jsck(&["--apply-undo", undo, &path]).assert().code(0);
    let again = lines(&mut jsck(&["--json", &path]), 1);
    assert_eq!(again.len(), before.len());
}

#[test]
fn repair_of_derived_data_leaves_objects_alone() {
    let (_dir, path) = damaged(&[STALE_ENTRY, ("100000000000000112", Some("a700"))]);
    let text = stdout(&mut jsck(&["--repair=derived", "--yes", &path]), 1);
    // A line at the finding says why it is left alone, and a line at the end says how many are.
    assert!(text.contains("Repaired:") && text.contains("Left alone: 3 findings"), "{text}");
    let spoiled = text.find("trailing-garbage").expect("a finding");
    let stale = text.find("dangling-index-entry").expect("another");
    let reason = text.find("left alone: it is not of an index").expect("the reason");
    assert!(spoiled < reason && reason < stale, "{text}");
    // The others are of the index that holds the spoiled value.
    assert_eq!(text.matches("left alone").count(), 3, "{text}");
    assert_eq!(text.matches("it may belong to an object").count(), 2, "{text}");
    let left = lines(&mut jsck(&["--json", &path]), 1);
    assert_eq!(left[0]["class"], "trailing-garbage");
    assert_eq!(left.len(), 4);
    assert!(left[1..3].iter().all(|line| line["item"] == "Person#nameAge"), "{left:#?}");
}

#[test]
fn findings_out_of_scope_are_marked() {
    let (_dir, path) = damaged(&[STALE_ENTRY, ("100000000000000112", Some("a700"))]);
    for (repair, left_alone, left) in [("--repair=derived", 3, 3), ("--repair", 0, 0)] {
        let (_dir, path) = damaged(&[STALE_ENTRY, ("100000000000000112", Some("a700"))]);
        let lines = lines(&mut jsck(&["--json", repair, "--yes", &path]), 1);
        let (summary, findings) = lines.split_last().expect("lines");
        let out = findings.iter().filter(|line| line["in_scope"] == false).count();
        assert_eq!((out, &summary["repair"]["left_alone"]), (left_alone, &left_alone.into()));
        assert_eq!(summary["repair"]["findings_left"], left, "{summary}");
    }
    let lines = lines(&mut jsck(&["--json", &path]), 1);
    assert!(lines.iter().all(|line| line["in_scope"] != false), "{lines:#?}");
}

/// The count of the remaining findings ignores the limit.
#[test]
fn a_limited_repair_tells_what_is_left() {
    let (_dir, path) = damaged(&[("01", Some("aa")), ("02", Some("aa")), ("03", Some("aa"))]);
    for left in [2, 1, 0] {
        let args = ["--json", "--repair", "--yes", "--limit", "1", &path];
        let lines = lines(&mut jsck(&args), 1);
        let summary = lines.last().expect("a summary");
        assert_eq!((&summary["findings"], &summary["complete"]), (&1.into(), &false.into()));
        assert_eq!(summary["repair"]["findings_left"], left, "{summary}");
    }
    jsck(&[&path]).assert().code(0);
}

#[test]
fn what_cannot_be_repaired_is_refused() {
    let (_dir, path) = damaged(&[("000101", Some("aabb")), ("01", Some("aa"))]);
    let text = stdout(&mut jsck(&["--repair", "--yes", &path]), 1);
    assert!(text.contains("Nothing was changed"), "{text}");
    assert_eq!(lines(&mut jsck(&["--json", &path]), 1)[0]["class"], "bad-schema-xml");
}

/// For a store that is too damaged to be opened, there is one finding, and nothing else can be
/// checked.
#[test]
fn a_store_too_damaged_to_be_opened_is_a_finding() {
    let (_dir, path) = damaged(&[]);
    let file = Path::new(&path).join("data.mdb");
    let size = std::fs::metadata(&file).expect("size").len();
    std::fs::File::options()
        .write(true)
        .open(&file)
        .and_then(|file| file.set_len(size - size % 4096 - 4096 * 3))
        .expect("cut");
    let output = jsck(&[&path]).assert().code(1).get_output().clone();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("cannot be opened; restore a backup"), "{text}");
    let lines = lines(&mut jsck(&["--json", &path]), 1);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!((&lines[0]["type"], &lines[1]["type"]), (&"store".into(), &"summary".into()));
    assert_eq!(lines[1]["complete"], false);
}

#[test]
fn a_path_that_is_none_says_what_to_give() {
    let (dir, _) = damaged(&[]);
    let said = |path: &str| {
        let output = jsck(&[path]).assert().code(2).get_output().clone();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).expect("make");
    let told = said(empty.to_str().expect("UTF-8"));
    assert!(told.contains("it has no data.mdb"), "{told}");
    let missing = lines(&mut jsck(&["--json", "/no/such/place"]), 2);
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert_eq!((&missing[0]["type"], &missing[0]["complete"]), (&"summary".into(), &false.into()));
}

/// The file of an environment stands for its directory.
#[test]
fn urls_and_the_file_of_an_environment_are_taken() {
    let (_dir, path) = damaged(&[]);
    for name in [format!("{path}/data.mdb"), format!("lmdb:{path}")] {
        let output = jsck(&[&name]).assert().code(0).get_output().clone();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.starts_with(&format!("Checking {path} (LMDB environment")), "{text}");
    }
    let output = jsck(&["mysql:db"]).assert().code(2).get_output().clone();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.starts_with("jsck: mysql: is no kind of store"), "{text}");
}

/// Repair changes the file and not the link to it, and respects the file's permissions.
#[cfg(unix)]
#[test]
fn a_linked_xml_dump_is_repaired_where_it_is() {
    let dir = TempDir::new().expect("a directory");
    let (file, link) = (dir.path().join("dump.xml"), dir.path().join("link.xml"));
    let text = std::fs::read_to_string(data("reference/R.kv.xml")).expect("data");
    let stale = "<entry><key>11416e6f001000000000000001</key></entry></entries>";
    std::fs::write(&file, text.replace("</entries>", stale)).expect("write");
    std::os::unix::fs::symlink(&file, &link).expect("link");
    let (file, link) = (file.to_str().expect("UTF-8"), link.to_str().expect("UTF-8"));
    jsck(&["--repair", "--yes", "--undo-file", &format!("{link}.undo"), link]).assert().code(1);
    assert!(std::fs::symlink_metadata(link).expect("link").is_symlink());
    jsck(&[file]).assert().code(0);
    jsck(&["--apply-undo", &format!("{link}.undo"), link]).assert().code(0);
    jsck(&[file]).assert().code(1);
}

#[test]
fn an_xml_dump_is_checked_and_repaired_in_place() {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().join("dump.xml");
    let text = std::fs::read_to_string(data("reference/R.kv.xml")).expect("data");
    let stale = "<entry><key>11416e6f001000000000000001</key></entry></entries>";
    std::fs::write(&path, text.replace("</entries>", stale)).expect("write");
    let path = path.to_str().expect("UTF-8");
    jsck(&[path]).assert().code(1);
    jsck(&["--repair", "--yes", path]).assert().code(1);
    jsck(&[path]).assert().code(0);
}

#[test]
fn a_partial_check_looks_at_some_objects_only() {
    let (_dir, path) = damaged(&[STALE_ENTRY]);
    jsck(&["--type", "Pet", &path]).assert().code(0);
    jsck(&["--type", "Person", &path]).assert().code(1);
    jsck(&["--range", "1000000000000002..", &path]).assert().code(0);
    jsck(&["--range", "..1000000000000002", &path]).assert().code(1);
    jsck(&["--sample", "100", &path]).assert().code(1);
    jsck(&["--type", "Nobody", &path]).assert().code(2);
}

#[test]
fn a_partial_repair_mends_only_what_it_looks_at() {
    let (_dir, path) = damaged(&[STALE_ENTRY, ("200000000000000121", Some("7f00"))]);
    assert_eq!(lines(&mut jsck(&["--json", "--type", "Pet", &path]), 1).len(), 2);
    jsck(&["--repair", "--yes", "--type", "Pet", &path]).assert().code(1);
    jsck(&["--type", "Pet", &path]).assert().code(0);
    let left = lines(&mut jsck(&["--json", &path]), 1);
    assert_eq!((left.len(), left[0]["key"].as_str()), (2, Some(STALE_ENTRY.0)));
}

#[test]
fn an_online_check_finds_the_same_in_pieces() {
    let (dir, path) = damaged(&[
        STALE_ENTRY,
        ("13ff1000000000000002", None),
        ("0080011000000000000003", None),
        ("0080011000000000000009", Some("")),
        ("100000000000000112", Some("a700")),
        ("01", Some("aa")),
        // No value, bytes after the end, bytes after an object ID, an unknown schema.
        ("11c0", Some("")),
        ("11416e6f00100000000000000100", Some("")),
        ("0080011000000000000001aa", Some("")),
        ("00800720000000000000000a", Some("")),
        ("ff00", Some("aa")),
    ]);
    let sorted = |args: &[&str]| {
        let mut lines = lines(&mut jsck(args), 1);
        let summary = lines.pop().expect("a summary");
        lines.sort_by_key(|line| line["key"].to_string());
        (lines, summary)
    };
    let (whole, whole_summary) = sorted(&["--json", &path]);
    let (online, summary) = sorted(&["--json", "--online", &path]);
    assert_eq!(online, whole);
    for member in ["findings", "warnings", "unrepairable", "complete", "objects"] {
        assert_eq!(summary[member], whole_summary[member], "{member}");
    }
    for class in ["undecodable-index-entry", "trailing-garbage-index-entry", "bad-schema-index-key"]
    {
        assert!(online.iter().any(|line| line["class"] == class), "no {class}: {online:#?}");
    }
    let position = dir.path().join("position");
    std::fs::write(&position, "20\n").expect("write");
    let position = position.to_str().expect("UTF-8");
    let rest = lines(&mut jsck(&["--json", "--online", "--position", position, &path]), 0);
    assert_eq!(rest.len(), 1, "nothing is wrong from the pets on");
    assert!(!Path::new(position).exists(), "the position is kept although the end was reached");
}

/// The slices have ten entries. The limit counts over all of them.
#[test]
fn an_online_check_has_one_limit_for_all_its_slices() {
    let (_dir, path) = damaged(&[STALE_ENTRY, ("11c0", Some("")), ("13ff1000000000000002", None)]);
    for limit in 1..4_usize {
        let number = limit.to_string();
        let args = ["--json", "--online", "--rate", "100", "--limit", &number, &path];
        assert_eq!(lines(&mut jsck(&args), 1).len(), limit + 1);
    }
}

#[test]
fn an_online_check_goes_nowhere_without_schemas() {
    let (dir, path) = damaged(&[("000101", Some("aabb"))]);
    let offline = lines(&mut jsck(&["--json", &path]), 1);
    let file = dir.path().join("position");
    let position = file.to_str().expect("UTF-8");
    for start in ["", "28\n"] {
        std::fs::write(&file, start).expect("write");
        let online = lines(&mut jsck(&["--json", "--online", "--position", position, &path]), 1);
        let (summary, findings) = online.split_last().expect("lines");
        assert_eq!(findings, offline.split_last().expect("lines").1, "from {start:?}");
        assert_eq!(summary["complete"], false);
        assert_eq!(summary["unrepairable"], offline.last().expect("a summary")["unrepairable"]);
        assert_eq!(std::fs::read_to_string(&file).expect("kept").trim(), start.trim());
    }
}

/// A reader that opened the file before the repair sees the complete old content: the file is
/// replaced, not overwritten.
#[cfg(unix)]
#[test]
fn a_position_file_is_replaced_in_one_step() {
    use std::io::Read;
    let (dir, path) = damaged(&[STALE_ENTRY]);
    let file = dir.path().join("position");
    std::fs::write(&file, "10\n").expect("write");
    let mut before = std::fs::File::open(&file).expect("open");
    let position = file.to_str().expect("UTF-8");
    jsck(&["--online", "--rate", "300", "--limit", "1", "--position", position, &path])
        .assert()
        .code(1);
    let mut text = String::new();
    before.read_to_string(&mut text).expect("read");
    assert_eq!(text, "10\n");
    assert_ne!(std::fs::read_to_string(&file).expect("read"), text, "a slice has ended");
}

/// A check that continues says where it began, so that its counts are not taken for those of a
/// whole check.
#[test]
fn a_check_that_continues_says_from_where() {
    let (dir, path) = damaged(&[STALE_ENTRY]);
    let file = dir.path().join("position");
    std::fs::write(&file, "2000000000000002\n").expect("write");
    let position = file.to_str().expect("UTF-8");
    let of = |json: bool| {
        let mut arguments = vec!["--online", "--position", position, &*path];
        arguments.extend(json.then_some("--json"));
        let output = jsck(&arguments).output().expect("it runs");
        std::fs::write(&file, "2000000000000002\n").expect("write");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert!(of(true).contains(r#""from":"2000000000000002""#), "{}", of(true));
    assert!(of(false).contains("Continued from the key 2000000000000002"), "{}", of(false));
    std::fs::remove_file(&file).expect("it is there");
    let output = jsck(&["--online", "--position", position, &path]).output().expect("it runs");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("Continued"));
}

#[test]
fn an_online_check_refuses_what_it_cannot_do() {
    let (_dir, path) = damaged(&[]);
    for option in ["--collect-schemas", "--threads=2", "--repair", "--sample=5"] {
        jsck(&["--online", option, &path]).assert().code(2);
    }
}

#[test]
fn a_schema_that_is_lost_is_put_back_by_hand() {
    let (dir, path) = damaged(&[("000101", None)]);
    assert_eq!(lines(&mut jsck(&["--json", &path]), 1)[0]["class"], "missing-schema");
    let (_other, whole) = damaged(&[]);
    let store = LmdbStore::open(&whole).expect("open");
    let kv = store.begin(&TxOptions::reading()).expect("begin");
    let value = kv.get(&bytes("000101")).expect("get").expect("a schema").into_owned();
    let xml = permazen::__internal::schema::inflate(&value).expect("inflate");
    let file = dir.path().join("schema.xml");
    std::fs::write(&file, xml).expect("write");
    let schema = format!("1={}", file.display());
    jsck(&["--repair", "--yes", "--schema", &schema, &path]).assert().code(1);
    jsck(&[&path]).assert().code(0);
}

#[test]
fn shell_completion_and_manual_are_generated() {
    for (what, expected) in [("bash", "_jsck()"), ("zsh", "#compdef jsck"), ("man", ".TH jsck")] {
        let text = stdout(&mut jsck(&["--generate", what]), 0);
        assert!(text.contains(expected), "{what}: {text}");
    }
}

#[test]
fn a_schema_in_another_form_is_legal_but_remarked_on() {
    let (_dir, whole) = damaged(&[]);
    let store = LmdbStore::open(&whole).expect("open");
    let kv = store.begin(&TxOptions::reading()).expect("begin");
    let value = kv.get(&bytes("000101")).expect("get").expect("a schema").into_owned();
    let xml = permazen::__internal::schema::inflate(&value).expect("inflate");
    let spaced = String::from_utf8(xml).expect("UTF-8").replace("><", ">\n<");
    let value =
        permazen::kv::Hex(&permazen::__internal::schema::deflate(spaced.as_bytes())).to_string();
    let (_other, path) = damaged(&[("000101", Some(&value))]);
    let lines = lines(&mut jsck(&["--json", &path]), 0);
    assert_eq!(lines[0]["class"], "unusual-schema-xml");
    assert_eq!(lines[0]["warning"], true);
    assert_eq!(lines[0]["beyond_reference"], true);
    assert_eq!(lines[1]["findings"], 0);
}

#[cfg(unix)]
#[test]
fn a_repaired_dump_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;

    let dir = TempDir::new().expect("a directory");
    let path = dir.path().join("dump.xml");
    let text = std::fs::read_to_string(data("reference/R.kv.xml")).expect("data");
    let stale = "<entry><key>11416e6f001000000000000001</key></entry></entries>";
    std::fs::write(&path, text.replace("</entries>", stale)).expect("write");
    let permissions = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&path, permissions).expect("permissions");
    jsck(&["--repair", "--yes", path.to_str().expect("UTF-8")]).assert().code(1);
    let mode = std::fs::metadata(&path).expect("metadata").permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let (dir, path) = damaged(&[STALE_ENTRY]);
    let undo = dir.path().join("undo").display().to_string();
    jsck(&["--repair", "--yes", "--undo-file", &undo, &path]).assert().code(1);
    for option in ["--dry-run", "--json"] {
        jsck(&["--apply-undo", &undo, option, &path]).assert().code(2);
    }
    jsck(&["--online", "--rate", "0", &path]).assert().code(2);
    jsck(&["--limit", "0", &path]).assert().code(2);
    // Nothing was undone.
    jsck(&[&path]).assert().code(0);
    jsck(&["--apply-undo", &undo, "--yes", &path]).assert().code(0);
    jsck(&[&path]).assert().code(1);
}

#[test]
fn an_empty_file_is_no_undo_file() {
    let (dir, path) = damaged(&[]);
    let undo = dir.path().join("undo");
    std::fs::write(&undo, "").expect("write");
    let undo = undo.to_str().expect("UTF-8");
    let output = jsck(&["--apply-undo", undo, &path]).assert().code(2).get_output().clone();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("is no undo file"), "{text}");
}
