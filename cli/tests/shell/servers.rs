//! The shell on stores of servers.

use std::path::Path;
use std::process::Command;

use permazen::kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, TxOptions};
use permazen::open::{Opening, StoreKind};
use permazen_test_servers::{Etcd, Postgres, post_to_etcd};

use crate::prompt::Person;
use crate::support::{Fixture, Ran, SCHEMA, program};

fn run(store: &str, arguments: &[&str]) -> Ran {
    Ran::of(&mut program(Path::new(store), arguments))
}

/// A server itself decides which users can read its data, so a copy is private to this user.
#[track_caller]
fn is_private(file: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0, "{file:?}");
    }
}

#[test]
fn a_table_is_copied_queried_changed_checked_and_copied_back() {
    let Some(server) = Postgres::shared() else { return };
    let (db, url) = (Fixture::new(), server.new_table());
    let missing = run(&url, &["count Pet"]).failed(2);
    assert!(
        missing.contains("there is no store") && missing.contains("--create creates it"),
        "{missing}"
    );
    // Nothing that is wrong with the user or the server is made right by a new store.
    // Which table it is about is said.
    let table = url.rsplit_once('&').unwrap().1;
    assert!(missing.contains(table), "{missing}");
    let refused = run(&url.replace("test@", "nobody@"), &["count Pet"]).failed(2);
    assert!(refused.contains("28000") && !refused.contains("--create"), "{refused}");
    let copied = db.run(&["copy", &url]).done();
    assert!(copied.contains("key/value pairs to PostgreSQL table postgres://"), "{copied}");
    let twice = db.run(&["copy", &url]).failed(2);
    assert!(twice.contains("there is something in it; --force replaces it"), "{twice}");
    let again = db.run(&["copy", &url, "--force"]).done();
    assert_eq!(again, copied);
    let query = ["find Person columns name, age", "--raw"];
    assert_eq!(run(&url, &query).done(), db.run(&query).done());
    let refused = run(&url, &["set @1000000000000002 to age = 70"]).failed(2);
    assert!(refused.contains("--write"), "{refused}");
    run(&url, &["--write", "set @1000000000000002 to age = 70"]).done();
    let changed = run(&url, &["--raw", "find @1000000000000002 columns age"]).done();
    assert_eq!(changed, "70\n");
    let info = run(&url, &["info"]).done();
    assert!(info.contains("PostgreSQL table") && info.contains("postgres://"), "{info}");
    assert_eq!(run(&url, &["check"]).code, 0);
    let back = format!("lmdb:{}", db.file("back").display());
    run(&url, &["copy", &back]).done();
    is_private(&db.file("back").join("data.mdb"));
    let dump = |store: &str| run(store, &["kv", "dump", "-"]).done();
    assert_eq!(dump(&back), dump(&url));
    for (arguments, why) in
        [(&["backup", "/tmp/x"][..], "a backup"), (&["--write", "compact"][..], "VACUUM")]
    {
        let failed = run(&url, arguments).failed(2);
        assert!(failed.contains(why), "{failed}");
    }
    for command in [&["save"][..], &["kv", "dump"], &["copy"]] {
        let file = db.file(&format!("{}.xml", command[0]));
        let name = format!("{}{}", if command[0] == "copy" { "xml:" } else { "" }, file.display());
        run(&url, &[command, &[&name]].concat()).done();
        is_private(&file);
    }
}

#[test]
fn a_server_that_does_not_answer_is_waited_for() {
    // Connections wait in its queue.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    std::thread::scope(|scope| {
        for scheme in ["postgres://test@", "etcd://"] {
            scope.spawn(move || {
                let url = format!("{scheme}127.0.0.1:{port}/none");
                let output =
                    program(Path::new(&url), &["--wait", "4s", "count Pet"]).output().unwrap();
                let err = Ran::whole(output).failed(3);
                assert!(err.starts_with("permazen: waiting for the server\n"), "{err}");
                assert!(!err.contains("is lost: timed out") && !err.contains("others"), "{err}");
            });
        }
    });
}

#[test]
fn settings_that_endanger_commits_are_warned_of_and_advice_is_in_info_alone() {
    let settings = ["fsync=off", "max_pred_locks_per_transaction=64"];
    let Some(server) = Postgres::start(&settings) else { return };
    let (db, url) = (Fixture::new(), format!("{}?table=pets", server.url()));
    let safe = format!("{}?warnings=off&table=pets", server.url());
    let danger = format!("permazen: {url}: warning: if the machine of the server stops");
    let warned = |ran: Ran| {
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.err.starts_with(&danger) && ran.err.contains("fsync = off"), "{ran:?}");
        assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
        ran.out
    };
    // The server of the copy is the one that matters.
    warned(db.run(&["copy", &url]));
    assert_eq!(warned(run(&url, &["--raw", "count Pet"])), "1\n");
    assert!(warned(run(&url, &["check"])).contains("No findings"));
    let info = warned(run(&url, &["info"]));
    let lines: Vec<&str> = info.lines().filter(|line| line.contains(" = ")).collect();
    assert_eq!(lines.len(), 2, "{info}");
    assert!(lines[0].starts_with("  Warning: if the machine"), "{info}");
    let advice = "  Advice: a transaction that reads more than 32 pairs";
    assert!(lines[1].starts_with(advice), "{info}");
    // Programs find them too.
    let json = run(&url, &["--json", "info"]);
    let note: serde_json::Value = serde_json::from_str(&json.err).unwrap();
    assert_eq!(note["type"], "note");
    assert!(note["message"].as_str().unwrap().contains("fsync = off"), "{note}");
    let info: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let kinds: Vec<_> =
        info["warnings"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert_eq!(kinds, ["data", "speed"]);
    let check = run(&url, &["check", "--json"]).out;
    let first: serde_json::Value = serde_json::from_str(check.lines().next().unwrap()).unwrap();
    assert_eq!(first["type"], "setting");
    assert!(first["warning"].as_str().unwrap().contains("fsync = off"), "{first}");
    let store = permazen::open(&url).unwrap();
    assert_eq!(store.warnings().len(), 2);
    // `warnings=off` in the URL leaves the warnings out.
    assert_eq!(run(&safe, &["--raw", "count Pet"]).done(), "1\n");
    run(&safe, &["check"]).done();
    // The prompt prints the warning once.
    let mut person = Person::on(Path::new(&url), &[]);
    let shown = person.types("info");
    assert!(shown.contains("Advice: a transaction"), "{shown}");
    let left = person.leaves();
    assert_eq!(left.err.matches("warning: if the machine").count(), 1, "{left:?}");
}

/// A report of a change before its commit is not left as if it were true.
#[test]
fn a_user_with_read_rights_only_is_told_that_nothing_was_committed() {
    let Some(server) = Postgres::shared() else { return };
    let (db, url) = (Fixture::new(), server.new_table());
    db.run(&["copy", &url]).done();
    let table = url.split_once("table=").unwrap().1;
    for sql in [
        "DROP USER IF EXISTS reader",
        "CREATE USER reader",
        &format!("GRANT SELECT ON \"{table}\", \"{table}_commit\" TO reader"),
    ] {
        server.sql(sql);
    }
    let url = url.replace("test@", "reader@");
    assert_eq!(run(&url, &["--raw", "count Pet"]).done(), "1\n");
    for arguments in [
        &["--write", "create Pet name = \"Tom\""][..],
        &["--write", "--each", "create Pet name = \"Tom\""],
    ] {
        let refused = run(&url, arguments);
        assert_eq!(refused.code, 2, "{refused:?}");
        let said = "42501";
        assert!(refused.err.contains(said), "{refused:?}");
        let said = "; nothing is changed";
        assert!(refused.err.trim_end().ends_with(said), "{refused:?}");
        assert_eq!(refused.out, "");
    }
    let json = run(&url, &["--write", "--json", "create Pet"]);
    assert_eq!((json.code, json.out.as_str()), (2, ""), "{json:?}");
    server.sql("DROP OWNED BY reader");
    server.sql("DROP USER reader");
}

#[test]
fn a_copy_that_is_too_large_for_a_cluster_says_what_to_set() {
    let Some(cluster) = Etcd::start(1, &[]) else { return };
    let db = Fixture::new();
    let many: Vec<String> = (0..40).map(|n| format!("create Pet name = \"{n}\"")).collect();
    db.run(&["--write", &many.join("; ")]);
    let refused = db.run(&["copy", &cluster.new_prefix()]).failed(2);
    for said in [
        "operations, and the server takes 128",
        "a copy is one transaction",
        "--max-txn-ops=",
        "--max-request-bytes=",
    ] {
        assert!(refused.contains(said), "{refused}");
    }
    assert!(!refused.contains("make several transactions"), "{refused}");
    // The settings that the message names are enough.
    let number = |name: &str| -> u64 {
        let from = refused.split_once(name).unwrap().1;
        from.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap()
    };
    let (operations, bytes) = (number("--max-txn-ops="), number("--max-request-bytes="));
    let arguments = [format!("--max-txn-ops={operations}"), format!("--max-request-bytes={bytes}")];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some(cluster) = Etcd::start(1, &arguments) else { return };
    let url = cluster.new_prefix();
    db.run(&["copy", &url]).done();
    // The replaced pairs are counted, and not guessed.
    let small = Fixture::new();
    small.run(&["copy", "--force", &url]).done();
}

/// A transaction of a script or the prompt is one commit, for which the demonstration is too large.
#[test]
fn the_demonstration_is_put_into_a_cluster_in_parts_or_refused_at_once() {
    let Some(cluster) = Etcd::start(1, &[]) else { return };
    let url = cluster.new_prefix();
    run(&url, &["--create", "echo", "x"]).done();
    let script = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(script.path(), "demo\n").unwrap();
    let advice = "`permazen DB --write demo` alone commits it in parts";
    for arguments in [
        &["--write", "-c", "demo"][..],
        &["--write", "--each", "-c", "demo"],
        &["--write", "-f", script.path().to_str().unwrap()],
        &["--dry-run", "-c", "demo"],
    ] {
        let refused = run(&url, arguments).failed(2);
        assert!(refused.contains(advice), "{arguments:?}: {refused}");
        assert!(!refused.contains("128"), "{refused}");
    }
    let mut person = Person::on(Path::new(&url), &["--write", "--yes"]);
    person.types("demo");
    // There is nothing to commit or to give up.
    let shown = person.types("echo");
    assert!(shown.starts_with("permazen> "), "{shown}");
    let left = person.leaves();
    assert!(left.code == 0 && left.err.contains(advice), "{left:?}");
    assert_eq!(run(&url, &["--raw", "schema", "list"]).done(), "");
    let tried = run(&url, &["--dry-run", "demo"]);
    assert_eq!(tried.code, 0, "{tried:?}");
    assert_eq!(run(&url, &["--raw", "schema", "list"]).done(), "");
    let whole = "Read 36 object(s) of the demonstration\n";
    assert_eq!(run(&url, &["--write", "demo"]).done(), whole);
    assert_eq!(run(&url, &["--raw", "count Moon"]).done(), "26\n");
    // Its last part has this moon, which is damaged here.
    let moon = "0100000000000301";
    run(&url, &["--write", "--yes", "kv", "put", moon, "ff"]).done();
    let failed = run(&url, &["--write", "demo"]).failed(2);
    assert!(failed.contains("27 objects of it are committed"), "{failed}");
    run(&url, &["--write", "--yes", "kv", "remove", moon]).done();
    assert_eq!(run(&url, &["--write", "demo"]).done(), whole);
}

#[test]
fn a_prompt_on_a_table() {
    let Some(server) = Postgres::shared() else { return };
    let (db, url) = (Fixture::new(), server.new_table());
    db.run(&["copy", &url]).done();
    let mut person = Person::on(Path::new(&url), &["--write", "--yes", "--raw"]);
    person.types("create Pet name = \"Tom\"");
    let shown = person.types("count Pet");
    assert!(shown.contains("]> count Pet\n2\n"), "{shown}");
    // Others do not see it yet, and their writes do not wait.
    assert_eq!(run(&url, &["--raw", "count Pet"]).done(), "1\n");
    let committed = person.types("commit");
    assert!(committed.contains("committed: Pet: 1 created"), "{committed}");
    assert_eq!(person.leaves().code, 0);
    assert_eq!(run(&url, &["--raw", "count Pet"]).done(), "2\n");
}

/// These would wait for the transaction of the prompt.
#[test]
fn a_check_and_a_copy_beside_an_open_transaction_on_a_table_are_refused() {
    let Some(server) = Postgres::shared() else { return };
    let (db, url) = (Fixture::new(), server.new_table());
    db.run(&["copy", &url]).done();
    let back = format!("lmdb:{}", db.file("back").display());
    let options = ["--write", "--yes", "--wait", "10s"];
    let mut person = Person::on(Path::new(&url), &options);
    person.types("create Pet name = \"Tom\"");
    let shown = person.types(&format!("check\ncopy {back}"));
    assert!(!shown.contains("Checking") && !shown.contains("Copied"), "{shown}");
    // Commands that wait for nothing are not refused.
    let shown = person.types("check --repair --dry-run");
    assert!(shown.contains("Checking") && shown.contains("No findings"), "{shown}");
    assert!(person.types("commit").contains("committed: Pet: 1 created"));
    let shown = person.types(&format!("check\ncopy {back}"));
    assert!(shown.contains("No findings") && shown.contains("Copied"), "{shown}");
    let left = person.leaves();
    let refused = "one is open here: `commit` it or `rollback` before";
    assert_eq!((left.code, left.err.matches(refused).count()), (0, 2), "{left:?}");
    // Only what runs says what it sees.
    assert_eq!(left.err.matches("this sees what is committed").count(), 1, "{left:?}");
}

#[test]
fn a_table_is_checked_and_repaired() {
    let Some(server) = Postgres::shared() else { return };
    let (db, url) = (Fixture::new(), server.new_table());
    db.run(&["copy", &url]).done();
    run(&url, &["--write", "--yes", "kv", "put", "11416e6f001000000000000001", ""]).done();
    let found = run(&url, &["check"]);
    assert_eq!(found.code, 1, "{}", found.err);
    let mut repair = program(Path::new(&url), &["check", "--repair", "--yes", "--write"]);
    let repaired = Ran::of(repair.current_dir(db.file("")));
    assert_eq!(repaired.code, 1, "{}{}", repaired.out, repaired.err);
    // The undo file is in the current directory.
    let undo = std::fs::read_dir(db.file("")).unwrap().filter_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name.starts_with("postgres.undo-").then_some(name)
    });
    assert_eq!(undo.count(), 1);
    assert_eq!(run(&url, &["check"]).code, 0);
}

/// The transaction of the repair is open while the backup is written.
#[test]
fn a_table_is_backed_up_before_it_is_repaired() {
    let Some(server) = Postgres::shared() else { return };
    let (db, url) = (Fixture::new(), server.new_table());
    db.run(&["copy", &url]).done();
    run(&url, &["--write", "--yes", "kv", "put", "11416e6f001000000000000001", ""]).done();
    let dump = |store: &str| run(store, &["kv", "dump", "-"]).done();
    let (before, backup) = (dump(&url), db.file("backup.xml"));
    let arguments = ["check", "--repair", "--yes", "--write", "--backup", backup.to_str().unwrap()];
    let mut repair = program(Path::new(&url), &arguments);
    let repaired = Ran::of(repair.current_dir(db.file("")));
    assert!(repaired.code == 1 && repaired.out.contains("Repaired: 1 changes"), "{repaired:?}");
    assert_eq!(dump(&format!("xml:{}", backup.display())), before);
    assert_eq!(run(&url, &["check"]).code, 0);
}

/// After a question, the transaction of the repair itself reads what is backed up.
#[test]
fn a_repair_that_asks_backs_up_on_one_connection() {
    let Some(server) = Postgres::shared() else { return };
    let (db, url) = (Fixture::new(), server.new_table());
    db.run(&["copy", &url]).done();
    let dump = |store: &str| run(store, &["kv", "dump", "-"]).done();
    for setting in ["connections=1", "deferrable=on"] {
        run(&url, &["--write", "--yes", "kv", "put", "11416e6f001000000000000001", ""]).done();
        let (before, setting_url) = (dump(&url), format!("{url}&{setting}"));
        let [undo, backup] = ["undo", "backup"].map(|name| db.file(&format!("{name}-{setting}")));
        let files = format!("--undo-file '{}' --backup '{}'", undo.display(), backup.display());
        let options = ["--write", "--wait", "10s"];
        let mut person = Person::on(Path::new(&setting_url), &options);
        let shown = person.types(&format!("check --repair {files}\ny"));
        assert!(shown.contains("Repaired: 1 changes"), "{setting}: {shown}");
        assert_eq!(person.leaves().code, 0);
        assert_eq!(dump(&format!("xml:{}", backup.display())), before);
        assert_eq!(run(&url, &["check"]).code, 0);
    }
    // Without a question, the backup needs a second connection.
    run(&url, &["--write", "--yes", "kv", "put", "11416e6f001000000000000001", ""]).done();
    let (undo, backup) = (db.file("undo"), db.file("backup"));
    let options = ["--write", "--wait", "3s", "check", "--repair", "--yes"];
    let files = ["--undo-file", undo.to_str().unwrap(), "--backup", backup.to_str().unwrap()];
    let failed = run(&format!("{url}&connections=1"), &[&options[..], &files].concat());
    assert_eq!(failed.code, 3, "{failed:?}");
    let why = failed.err.trim_end();
    assert!(why.contains("connections") && why.ends_with("; nothing was changed"), "{failed:?}");
    assert!(!undo.exists() && !backup.exists());
    assert_eq!(run(&url, &["check"]).code, 1);
}

/// A cluster compares at most 100,000 pairs in a commit. With `PERMAZEN_ALL` the prefix has more.
#[test]
fn a_large_prefix_is_repaired_after_a_question() {
    let Some(cluster) = Etcd::start(1, &["--max-txn-ops=2000"]) else { return };
    let (db, url) = (Fixture::with_schema(SCHEMA), cluster.new_prefix());
    db.run(&["--write", "create Pet name = \"Tom\""]);
    db.run(&["copy", &url]).done();
    let store = Opening::new().write(true).open(&url).unwrap();
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let pairs = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
    let pairs: Vec<_> =
        pairs.map(|pair| pair.unwrap()).map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
    drop(tx);
    // Pets have the storage ID 32.
    let pet = pairs.iter().map(|(key, _)| key).find(|key| key.len() == 8 && key[0] == 32).unwrap();
    let place = |key: &[u8]| key.windows(8).position(|part| part == &pet[..]);
    let of_pet: Vec<_> = pairs.iter().filter_map(|pair| Some((pair, place(&pair.0)?))).collect();
    let least = if std::env::var_os("PERMAZEN_ALL").is_some() { 100_001_u32 } else { 3_000 };
    let (least, together) = (least.div_ceil(of_pet.len() as u32), 400);
    for first in (0..least).step_by(together) {
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        for number in first..first + together as u32 {
            for ((key, value), at) in &of_pet {
                let mut key = key.clone();
                key[at + 4..at + 8].copy_from_slice(&number.to_be_bytes());
                tx.put(&key, value).unwrap();
            }
        }
        tx.commit().unwrap();
    }
    run(&url, &["--write", "--yes", "kv", "put", "11416e6f001000000000000001", ""]).done();
    let [undo, backup] = ["undo", "backup"].map(|name| db.file(name));
    let files = format!("--undo-file '{}' --backup '{}'", undo.display(), backup.display());
    let mut person = Person::on(Path::new(&url), &["--write"]);
    let shown = person.types(&format!("check --repair {files}\ny"));
    assert!(shown.contains("Repaired: 1 changes"), "{shown}");
    assert_eq!(person.leaves().code, 0);
    assert!(undo.exists() && backup.exists());
    assert_eq!(run(&url, &["check"]).code, 0);
}

/// The server refuses at the end of the commit, when everything was shown.
#[test]
fn a_repair_that_the_server_refuses_says_that_nothing_was_changed() {
    let Some(server) = Postgres::shared() else { return };
    let (db, url) = (Fixture::new(), server.new_table());
    db.run(&["copy", &url]).done();
    run(&url, &["--write", "--yes", "kv", "put", "11416e6f001000000000000001", ""]).done();
    let table = url.rsplit_once("table=").unwrap().1;
    for (state, code) in [("40001", 3), ("53100", 2)] {
        server.sql(&format!(
            "CREATE OR REPLACE FUNCTION refuse_{table}() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN RAISE EXCEPTION 'refused on purpose' USING ERRCODE = '{state}'; END $$;
             DROP TRIGGER IF EXISTS refuse ON \"{table}\";
             CREATE CONSTRAINT TRIGGER refuse AFTER DELETE ON \"{table}\"
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse_{table}()"
        ));
        let mut repair = program(Path::new(&url), &["check", "--repair", "--yes", "--write"]);
        let refused = Ran::of(repair.current_dir(db.file("")));
        assert_eq!(refused.code, code, "{refused:?}");
        assert!(refused.err.contains("refused on purpose"), "{refused:?}");
        assert!(refused.err.ends_with("; nothing was changed\n"), "{refused:?}");
        assert!(
            !refused.out.contains("Repaired") && !refused.out.contains("replaced"),
            "{refused:?}"
        );
        // The pairs that it would have replaced are there still.
        let left = std::fs::read_dir(db.file("")).unwrap();
        let is_undo = |name: &std::ffi::OsString| name.to_string_lossy().contains(".undo-");
        assert_eq!(left.filter(|file| is_undo(&file.as_ref().unwrap().file_name())).count(), 0);
        assert_eq!(run(&url, &["check"]).code, 1);
    }
    server.sql(&format!("DROP TRIGGER refuse ON \"{table}\""));
    let mut repair = program(Path::new(&url), &["check", "--repair", "--yes", "--write"]);
    let repaired = Ran::of(repair.current_dir(db.file("")));
    assert!(repaired.code == 1 && repaired.out.contains("Repaired: 1 changes"), "{repaired:?}");
}

#[test]
fn a_table_is_created() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.new_table();
    let db = Fixture::new();
    let schema = db.file("schema.xml");
    std::fs::write(&schema, SCHEMA).unwrap();
    let add = ["--create", "--yes", "schema", "add", schema.to_str().unwrap()];
    let added = run(&url, &add);
    assert_eq!(added.code, 0, "{added:?}");
    run(&url, &["--write", "create Pet name = \"Tom\""]);
    assert_eq!(run(&url, &["--raw", "find Pet columns name"]).done(), "Tom\n");
}

#[test]
fn a_password_is_neither_taken_nor_shown() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.new_table().replacen("postgres://test@", "postgresql://test@", 1);
    let store = permazen::open::Opening::new().create(true).open(&url).unwrap();
    assert_eq!((store.kind(), store.path()), (StoreKind::Postgres, None));
    let with_password = url.replacen("test@", "test:s3cret@", 1);
    let store = permazen::open(&with_password).unwrap();
    let name = store.name().to_str().unwrap();
    assert!(name.starts_with("postgres://test@") && !name.contains("s3cret"), "{name}");
    assert!(!format!("{store:?}").contains("s3cret"));
    // The name leads to the store, if it is the usual table.
    assert_eq!(permazen::open::Opening::new().locate(name).unwrap().0, StoreKind::Postgres);
    let mut environment: Command = program(Path::new(&url), &["kv", "dump", "-"]);
    environment.env("PGPASSWORD", "s3cret");
    assert!(!Ran::of(&mut environment).done().contains("s3cret"));
}

#[test]
fn settings_of_a_program_reach_the_server_and_those_of_the_url_come_first() {
    let Some(server) = Postgres::shared().filter(|server| server.port() > 0) else { return };
    let url = server.new_table();
    let name = |part: &str| format!("{part} {}", std::process::id());
    let called = |name: &str| {
        let all =
            format!("SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}'");
        server.sql(&all)
    };
    let opening =
        |part: &str| Opening::new().create(true).postgres_setting("application_name", name(part));
    let _one = opening("one").open(&url).unwrap();
    assert_eq!(called(&name("one")), "1");
    // The URL comes first.
    let of_url = name("url").replace(' ', "%20");
    let _other = opening("other").open(format!("{url}&application_name={of_url}")).unwrap();
    assert_eq!((called(&name("other")), called(&name("url"))), ("0".into(), "1".into()));
    let unknown = Opening::new().postgres_setting("aplication_name", "x").open(&url).unwrap_err();
    assert!(unknown.to_string().contains("aplication_name"), "{unknown}");
    // Stores elsewhere do without.
    opening("none").open("memory:").unwrap();
}

/// The program with an environment in which there is no password but this one.
fn with_password(store: &str, arguments: &[&str], password: Option<(&str, &str)>) -> Ran {
    let mut command = program(Path::new(store), arguments);
    for name in ["PGPASSWORD", "PGPASSFILE", "ETCD_PASSWORD"] {
        command.env_remove(name);
    }
    // Where there is no ~/.pgpass.
    let home = tempfile::tempdir().unwrap();
    command.env("HOME", home.path()).env("APPDATA", home.path()).envs(password);
    Ran::of(&mut command)
}

/// Whatever opens a store for writing or for reading, also that of a copy, says what works there.
#[track_caller]
fn says_where_passwords_belong(url: &str, name: &str, password: Option<&str>, words: &str) {
    let db = Fixture::new();
    let own = db.path();
    for (store, arguments) in [
        (url, &["count Pet"][..]),
        (url, &["check"]),
        (url, &["--write", "check", "--repair", "--yes"]),
        (own.to_str().unwrap(), &["copy", url]),
    ] {
        let password = password.map(|password| (name, password));
        let refused = with_password(store, arguments, password).failed(2);
        assert!(refused.contains(words), "{arguments:?}: {refused}");
        assert!(!refused.contains("in the URL or") && !refused.contains("URL, in"), "{refused}");
    }
}

#[test]
fn advice_about_passwords_of_postgresql_names_what_the_shell_takes() {
    let Some(server) = Postgres::start_with_passwords(&["fsync=off"]) else { return };
    server.sql("ALTER USER test PASSWORD 'right'");
    let url = server.new_table();
    let missing = "asks for a password: name it in PGPASSWORD or in ~/.pgpass";
    says_where_passwords_belong(&url, "PGPASSWORD", None, missing);
    // An empty one is none, so it is asked for in the next place.
    says_where_passwords_belong(&url, "PGPASSWORD", Some(""), missing);
    let wrong = "at the password in PGPASSWORD or in ~/.pgpass";
    says_where_passwords_belong(&url, "PGPASSWORD", Some("wrong"), wrong);
    // The variable that the message names is enough.
    let db = Fixture::new();
    let copy = ["copy", &url];
    let right = Some(("PGPASSWORD", "right"));
    let copied = with_password(db.path().to_str().unwrap(), &copy, right);
    assert_eq!(copied.code, 0, "{copied:?}");
    assert_eq!(with_password(&url, &["count Pet", "--raw"], right).out, "1\n");
    // The file counts if the variable is empty, and only then.
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "*:*:*:*:right\n").unwrap();
    let count = |password: &str| {
        let mut command = program(Path::new(&url), &["count Pet", "--raw"]);
        Ran::of(command.env("PGPASSWORD", password).env("PGPASSFILE", file.path()))
    };
    assert_eq!(count("").out, "1\n");
    assert!(count("wrong").failed(2).contains(wrong));
}

#[test]
fn advice_about_passwords_of_etcd_names_what_the_shell_takes() {
    let Some(cluster) = Etcd::start(1, &[]) else { return };
    let port = cluster.endpoints()[0];
    for (path, body) in [
        ("auth/user/add", r#"{"name":"root","password":"right"}"#),
        ("auth/role/add", r#"{"name":"root"}"#),
        ("auth/user/grant", r#"{"user":"root","role":"root"}"#),
        ("auth/enable", "{}"),
    ] {
        let answer = post_to_etcd(port, path, body);
        assert!(answer.contains("200 OK"), "{path}: {answer}");
    }
    let url = format!("etcd://root@127.0.0.1:{port}/pets");
    let missing = "the user has no password: name it in ETCD_PASSWORD";
    says_where_passwords_belong(&url, "ETCD_PASSWORD", None, missing);
    let wrong = "look at the user in the URL, and at the password in ETCD_PASSWORD";
    says_where_passwords_belong(&url, "ETCD_PASSWORD", Some("wrong"), wrong);
    // The variable that the message names is enough.
    let db = Fixture::new();
    let right = Some(("ETCD_PASSWORD", "right"));
    let copied = with_password(db.path().to_str().unwrap(), &["copy", &url], right);
    assert_eq!(copied.code, 0, "{copied:?}");
    assert_eq!(with_password(&url, &["count Pet", "--raw"], right).out, "1\n");
}

#[test]
fn a_prefix_of_a_cluster_is_used_as_a_table() {
    let Some(cluster) = Etcd::shared() else { return };
    let (db, url) = (Fixture::new(), cluster.new_prefix());
    let missing = run(&url, &["count Pet"]).failed(2);
    assert!(missing.contains("no store under this prefix"), "{missing}");
    let copied = db.run(&["copy", &url]).done();
    assert!(copied.contains("key/value pairs to etcd prefix etcd://"), "{copied}");
    assert_eq!(db.run(&["copy", &url, "--force"]).done(), copied);
    let query = ["find Person columns name, age", "--raw"];
    assert_eq!(run(&url, &query).done(), db.run(&query).done());
    run(&url, &["--write", "set @1000000000000002 to age = 70"]).done();
    let changed = run(&url, &["--raw", "find @1000000000000002 columns age"]).done();
    assert_eq!(changed, "70\n");
    let info = run(&url, &["info"]).done();
    assert!(info.contains("etcd prefix") && info.contains("etcd://"), "{info}");
    assert_eq!(run(&url, &["check"]).code, 0);
    let back = format!("lmdb:{}", db.file("back").display());
    run(&url, &["copy", &back]).done();
    is_private(&db.file("back").join("data.mdb"));
    let dump = |store: &str| run(store, &["kv", "dump", "-"]).done();
    assert_eq!(dump(&back), dump(&url));
    for (arguments, why) in
        [(&["backup", "/tmp/x"][..], "a backup"), (&["--write", "compact"][..], "etcdctl")]
    {
        let failed = run(&url, arguments).failed(2);
        assert!(failed.contains(why), "{failed}");
    }
    let store = permazen::open(&url).unwrap();
    assert_eq!((store.kind(), store.path()), (StoreKind::Etcd, None));
    let name = store.name().to_str().unwrap();
    assert_eq!(permazen::open::Opening::new().locate(name).unwrap().0, StoreKind::Etcd);
    // Opening it to read writes nothing, not even the first records of a store.
    assert!(permazen::open(cluster.new_prefix()).is_err());
}
