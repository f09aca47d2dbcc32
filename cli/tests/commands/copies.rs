//! `copy` and `backup`.

use serde_json::json;

use crate::fixture::{Fixture, data, pairs, run};

#[test]
fn a_copy_can_be_of_any_kind() {
    let db = Fixture::recorded("music");
    let all = db.pairs();
    let dump = db.file("source.xml", data("databases/music/kv.xml"));
    for source in [&db.db, &dump] {
        for kind in ["lmdb", "sqlite", "xml"] {
            let path = db.name(kind);
            let out = run(&[source, "copy", &format!("{kind}:{path}")], "").out(0);
            let start = format!("Copied {} key/value pairs to ", all.len());
            assert!(out.starts_with(&start) && out.ends_with(&format!("{path}\n")), "{out}");
            assert!(pairs(&path) == all, "{kind} differs");
            // The kind of a path that is there is found out.
            let error = run(&[source, "copy", &path], "").error(2);
            assert!(error.contains("--force replaces it"), "{error}");
            let small = Fixture::reference();
            small.out(&["copy", "--force", &path]);
            assert_eq!(pairs(&path), small.pairs());
            match kind {
                "lmdb" => std::fs::remove_dir_all(&path).expect("remove"),
                _ => std::fs::remove_file(&path).expect("remove"),
            }
        }
    }
    let json = db.run(&["--json", "copy", &format!("xml:{}", db.name("x"))]).json(0);
    let written = json!({ "type": "written", "file": db.name("x"), "pairs": all.len() });
    assert_eq!(json, [written]);
}

#[test]
fn a_store_without_pairs_needs_no_force() {
    let db = Fixture::reference();
    let empty = Fixture::with(|_| {});
    db.out(&["copy", &empty.db]);
    assert_eq!(empty.pairs(), db.pairs());
}

#[test]
fn what_cannot_be_copied_to() {
    let db = Fixture::reference();
    let before = db.pairs();
    for (target, why) in [
        (db.db.clone(), "this is the database itself"),
        ("memory:".to_owned(), "is lost when"),
        (db.name("new"), "say of which kind"),
        (format!("xml:{}", db.name("no/x.xml")), "no"),
        ("x://user:secret@host".to_owned(), ""),
    ] {
        let error = db.run(&["copy", "--force", &target]).error(2);
        assert!(error.contains(why) && !error.contains("secret"), "{target}: {error}");
    }
    let target = format!("sqlite:{}", db.name("dry"));
    let error = db.run(&["--dry-run", "copy", &target]).error(2);
    assert!(error.contains("cannot be tried"), "{error}");
    assert!(!db.path("dry").exists());
    assert_eq!(db.pairs(), before);
}

#[test]
fn a_backup_is_of_the_same_kind() {
    let db = Fixture::recorded("music");
    let all = db.pairs();
    let sqlite = db.name("db.sqlite");
    db.out(&["copy", &format!("sqlite:{sqlite}")]);
    let dump = db.name("db.xml");
    db.out(&["copy", &format!("xml:{dump}")]);
    for (n, source) in [&db.db, &sqlite, &dump].into_iter().enumerate() {
        let backup = db.name(&format!("backup{n}"));
        let out = run(&[source, "backup", &backup], "").out(0);
        let data = std::path::Path::new(&backup).join("data.mdb");
        let found = std::fs::metadata(&data).or_else(|_| std::fs::metadata(&backup));
        let bytes = found.expect("a file").len();
        assert_eq!(out, format!("Wrote {bytes} bytes to {backup}\n"));
        assert!(pairs(&backup) == all, "{source} differs");
        let kind = |db: &str| run(&[db, "info"], "").out(0).lines().next().map(str::to_owned);
        assert_eq!(kind(&backup), kind(source));
        run(&[source, "backup", &backup], "").error(2);
    }
    db.run(&["--json", "backup", &db.name("other")]).json(0);
    run(&["memory:", "backup", &db.name("memory")], "").error(2);
}

#[test]
fn a_database_is_made_compact_in_its_place() {
    let db = Fixture::recorded("music");
    let all = db.pairs();
    let sqlite = db.name("db.sqlite");
    db.out(&["copy", &format!("sqlite:{sqlite}")]);
    for source in [&db.db, &sqlite] {
        let size = |path: &str| {
            let data = std::path::Path::new(path).join("data.mdb");
            let found = std::fs::metadata(&data).or_else(|_| std::fs::metadata(path));
            found.expect("a file").len()
        };
        let before = size(source);
        let error = run(&[source, "compact"], "").error(2);
        assert!(error.contains("needs --write"), "{error}");
        let error = run(&[source, "--write", "--dry-run", "compact"], "").error(2);
        assert!(error.contains("cannot be tried"), "{error}");
        let error = run(&[source, "--write"], "compact").error(2);
        assert!(error.contains("needs the database for itself"), "{error}");
        let out = run(&[source, "--write", "--json", "compact"], "").json(0);
        assert_eq!(out[0]["bytes"], size(source));
        assert!(size(source) <= before);
        assert!(pairs(source) == all, "{source} differs");
        let out = run(&[source, "compact", "--write"], "").out(0);
        assert!(out.ends_with(&format!(": {0} bytes, before {0}\n", size(source))), "{out}");
    }
    let dump = db.name("db.xml");
    db.out(&["copy", &format!("xml:{dump}")]);
    for (refused, why) in [(&*dump, "no unused space"), ("memory:", "no file")] {
        let error = run(&[refused, "--write", "compact"], "").error(2);
        assert!(error.contains(why), "{error}");
    }
    // While another program has it open.
    let store = permazen::open(&db.db).expect("open");
    let error = db.run(&["--write", "compact"]).error(3);
    assert!(error.contains("another process has it open"), "{error}");
    drop(store);
}

#[test]
fn nothing_is_written_over_a_database_or_another_file() {
    let db = Fixture::reference();
    let all = db.pairs();
    let sqlite = db.name("db.sqlite");
    db.out(&["copy", &format!("sqlite:{sqlite}")]);
    let dump = db.name("db.xml");
    db.out(&["copy", &format!("xml:{dump}")]);
    let (data, lock) = (format!("{}/data.mdb", db.db), format!("{}/lock.mdb", db.db));
    let notes = db.file("notes", "not to be lost");
    let (wal, journal) = (format!("{sqlite}-wal"), format!("{sqlite}-journal"));
    let open = "a file of the open database";
    let other = "it is no XML";
    for (source, target, why) in [
        (&db.db, &data, open),
        (&db.db, &lock, open),
        (&sqlite, &sqlite, open),
        (&sqlite, &wal, open),
        (&sqlite, &journal, open),
        (&dump, &dump, open),
        (&sqlite, &data, other),
        (&db.db, &sqlite, other),
        (&db.db, &notes, other),
    ] {
        for command in [&["save"][..], &["kv", "dump"]] {
            let error = run(&[&[&**source], command, &[&**target]].concat(), "").error(2);
            assert!(error.contains(why), "{source} to {target}: {error}");
        }
    }
    let error = run(&[&sqlite, "copy", "--force", &format!("xml:{notes}")], "").error(2);
    assert!(error.contains(other), "{error}");
    // Also where nothing is yet.
    for command in [["backup", &*wal], ["copy", &format!("xml:{journal}")]] {
        let error = run(&[&[&*sqlite], &command[..]].concat(), "").error(2);
        assert!(error.contains(open), "{error}");
    }
    let error = db.run(&["copy", "xml:-"]).error(2);
    assert!(error.contains("`kv dump -`"), "{error}");
    for source in [&db.db, &sqlite, &dump] {
        assert_eq!(pairs(source), all);
    }
    assert_eq!(std::fs::read(&notes).expect("read"), b"not to be lost");
    // XML is replaced, and a dry run writes nothing.
    let old = db.file("old.xml", "<old/>");
    let error = db.run(&["--dry-run", "save", &old]).error(2);
    assert!(error.contains("--dry-run writes no file"), "{error}");
    assert_eq!(std::fs::read(&old).expect("read"), b"<old/>");
    db.out(&["save", &old]);
    assert!(std::fs::read_to_string(&old).expect("read").contains("<database>"));
}

/// A copy of a database that only its owner can read can be read by no other user, from its first
/// byte.
#[cfg(unix)]
#[test]
fn copies_of_a_private_database_are_private() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    use std::path::Path;

    fn modes(of: &Path) -> Vec<(String, u32)> {
        let mode = fs::metadata(of).expect("metadata").permissions().mode();
        let mut all = vec![(of.display().to_string(), mode)];
        if of.is_dir() {
            let inside = fs::read_dir(of).expect("read");
            all.extend(inside.flat_map(|entry| modes(&entry.expect("entry").path())));
        }
        all
    }

    let db = Fixture::reference();
    let sqlite = db.name("db.sqlite");
    db.out(&["copy", &format!("sqlite:{sqlite}")]);
    let dump = db.name("dump.xml");
    db.out(&["copy", &format!("xml:{dump}")]);
    let data = Path::new(&db.db).join("data.mdb");
    let (data, sqlite_file, dump_file) = (data.as_path(), Path::new(&sqlite), Path::new(&dump));
    let folder = sqlite_file.parent().expect("a folder");
    let set = |path: &Path, mode: u32| {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("permissions");
    };
    let group = sqlite_file.metadata().expect("metadata").gid();
    let new = db.file("new", *b"");
    let all_is_private = modes(Path::new(&new)).iter().all(|(_, mode)| mode & 0o077 == 0);
    let cases = [
        (true, 0o600, 0o755, group),
        (all_is_private, 0o644, 0o755, group),
        (true, 0o644, 0o700, group),
        // Only the system administrator can give a file to any group.
        (true, 0o640, 0o755, group + 1),
    ];
    for (number, (is_private, mode, of_folder, of_group)) in cases.into_iter().enumerate() {
        set(folder, of_folder);
        set(Path::new(&db.db), 0o755);
        let mut is_set = true;
        for file in [data, sqlite_file, dump_file] {
            set(file, mode);
            is_set &= chown(file, None, Some(of_group)).is_ok();
        }
        if !is_set {
            continue;
        }
        for (source, kind) in [(&db.db, "lmdb"), (&sqlite, "sqlite"), (&dump, "xml")] {
            let made = |name: &str| db.name(&format!("{name}-{number}-{kind}"));
            let commands: [&[&str]; 6] = [
                &["copy", &format!("lmdb:{}", made("lmdb"))],
                &["copy", &format!("sqlite:{}", made("sqlite"))],
                &["copy", &format!("xml:{}", made("xml"))],
                &["backup", &made("backup")],
                &["save", &made("objects")],
                &["kv", "dump", &made("pairs")],
            ];
            for (command, name) in
                commands.iter().zip(["lmdb", "sqlite", "xml", "backup", "objects", "pairs"])
            {
                run(&[&[&**source], *command].concat(), "").out(0);
                for (file, mode) in modes(Path::new(&made(name))) {
                    assert_eq!(mode & 0o077 == 0, is_private, "{file}: {mode:o}");
                }
            }
        }
    }
}
