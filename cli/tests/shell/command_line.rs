//! Arguments of the program.

use std::process::Stdio;

use crate::support::{Fixture, Ran, program};

#[test]
fn a_statement_is_one_argument() {
    let db = Fixture::new();
    let message = db.run(&["find", "Person"]).failed(2);
    assert!(message.starts_with("permazen: a statement is one argument: write it in quotes"));
    assert_eq!(db.run(&["count Person"]).done(), "count\n-----\n    3\n");
    assert_eq!(db.run(&["-c", "count Pet", "--raw"]).done(), "1\n");
    // Options may come before and after it.
    assert_eq!(db.run(&["count Pet", "--raw"]).done(), "1\n");
    assert_eq!(db.run(&["--raw", "count Pet"]).done(), "1\n");
}

#[test]
fn a_command_drops_no_statements() {
    let db = Fixture::new();
    let script = db.file("script").display().to_string();
    std::fs::write(&script, "delete all Pet").unwrap();
    for options in [&["-c", "delete all Pet"][..], &["-f", &script], &["--prompt"]] {
        let message = db.run(&[&["--write"], options, &["info"]].concat()).failed(2);
        assert!(message.contains("do not go with a command"), "{message}");
    }
    let counts = db.run(&["--raw", "-c", "count Person", "count Pet"]).done();
    assert_eq!(counts, "3\n1\n");
}

#[test]
fn a_command_that_is_not_there() {
    let db = Fixture::new();
    let message = db.run(&["inof", "--json", "x"]).failed(2);
    let error: serde_json::Value = serde_json::from_str(&message).unwrap();
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("unrecognized subcommand 'inof'"), "{message}");
    assert!(message.contains("a similar subcommand exists: 'info'"), "{message}");
    let one = db.run(&["inof"]).failed(2);
    assert!(
        one.contains("there is no statement or command `inof` (did you mean `info`?)"),
        "{one}"
    );
    assert_eq!(db.run(&["-c", "-- only a comment"]).done(), "");
}

#[test]
fn what_cannot_be_written_fails() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        println!("skipped: there is no /dev/full");
        return;
    };
    let db = Fixture::new();
    for format in ["table", "lines", "json", "csv", "xml"] {
        let mut command = db.command(&["find Pet", "--format", format]);
        let message = Ran::of(command.stdout(full.try_clone().unwrap())).failed(2);
        assert!(
            message.contains("No space left on device") && message.contains("is not complete"),
            "{format}: {message}"
        );
    }
}

#[test]
fn options_of_commands_may_come_after_them() {
    let db = Fixture::new();
    let info = db.run(&["info"]).done();
    assert_eq!(info, db.run(&["info", "--wait", "1s"]).done());
    assert!(info.contains("LMDB environment"), "{info}");
}

#[test]
fn several_statements_run_one_after_the_other() {
    let db = Fixture::new();
    let counts =
        db.run(&["-c", "count Pet", "-c", "count Person; count @1000000000000001", "--raw"]);
    assert_eq!(counts.done(), "1\n3\n1\n");
}

#[test]
fn parameters_cannot_become_a_part_of_the_statement() {
    let db = Fixture::new();
    let name = |option: &str, value: &str| {
        let statement = "find Person where name = $x columns name";
        db.run(&[statement, "--raw", option, &format!("x={value}")])
    };
    assert_eq!(name("--param", "\"Ann\"").done(), "Ann\n");
    assert_eq!(name("--text", "Ann").done(), "Ann\n");
    assert_eq!(name("--text", "\"Ann\"").done(), "");
    assert_eq!(name("--text", "Ann\" or name = \"Bob").done(), "");
    let injected = name("--param", "\"Ann\" or true").failed(2);
    assert!(injected.starts_with("permazen: --param, line 1, column 7: `or` is not"), "{injected}");
    assert!(injected.contains("--text takes any text as it is"), "{injected}");
    let word = name("--param", "3").failed(2);
    assert!(word.starts_with("permazen: line 1, column 26: "), "{word}");
    let twice = ["count Pet", "--param", "x=1", "--text", "$x=1"];
    assert_eq!(db.run(&twice).failed(2), "permazen: --text $x=1: $x has a value already\n");
    let unnamed = db.run(&["count Pet", "--param", "x"]).failed(2);
    assert_eq!(unnamed, "permazen: --param x: there is no = after the name\n");
    assert_eq!(
        db.run(&["find $id columns name", "--param", "id=@1000000000000002", "--raw"]).done(),
        "Bob\n"
    );
}

#[test]
fn a_mistake_is_shown_with_its_place_and_the_nearest_name() {
    let db = Fixture::new();
    assert_eq!(
        db.run(&["find Person wher age > 3"]).failed(2),
        "permazen: line 1, column 13: `wher` is not expected here (did you mean `where`?)\n  \
         find Person wher age > 3\n              ^^^^\n"
    );
    assert_eq!(
        db.run(&["-c", "count Pet", "-c", "find Prson"]).err,
        "permazen: -c 2, line 1, column 6: there is no object type `Prson` (did you mean `Person`?)\n  \
         find Prson\n       ^^^^^\n"
    );
    assert_eq!(
        db.run(&["-c", "inof"]).failed(2),
        "permazen: line 1, column 1: there is no statement or command `inof` (did you mean `info`?)\n  \
         inof\n  ^^^^\n"
    );
}

#[test]
fn errors_are_json_if_that_is_asked_for() {
    let db = Fixture::new();
    assert_eq!(
        db.run(&["find Person wher", "--json"]).failed(2),
        "{\"type\":\"error\",\"message\":\"`wher` is not expected here (did you mean `where`?)\",\
         \"exit\":2,\"line\":1,\"column\":13,\"nearest\":\"where\"}\n"
    );
    // Also the errors of the command line itself.
    for arguments in
        [&["--json", "--wait", "soon", "count Pet"][..], &["--format=json", "--nosuch"]]
    {
        let message = db.run(arguments).failed(2);
        let error: serde_json::Value = serde_json::from_str(&message).unwrap();
        assert_eq!((&error["type"], &error["exit"]), (&"error".into(), &2.into()), "{message}");
    }
}

#[test]
fn a_database_that_is_not_there() {
    let db = Fixture::new();
    let missing = Ran::of(&mut program(&db.file("nosuch"), &["count Pet"])).failed(2);
    assert!(missing.ends_with("nosuch: No such file or directory\n"), "{missing}");
    let other = Ran::of(&mut program("mysql://server/db".as_ref(), &["count Pet"])).failed(2);
    assert!(other.starts_with("permazen: mysql: is no kind of store: lmdb:PATH"), "{other}");
    std::fs::write(db.file("text"), "no database").unwrap();
    let text = Ran::of(&mut program(&db.file("text"), &["count Pet"])).failed(2);
    assert!(text.ends_with("no XML dump; --kind says what it is\n"), "{text}");
}

#[test]
fn a_path_with_a_colon_and_a_kind_that_is_given() {
    let db = Fixture::new();
    let dump = db.file("a:b");
    let mut file = std::fs::File::create(&dump).unwrap();
    let store = db.open();
    let tx = permazen::kv::KvDatabase::begin(&store, &permazen::kv::TxOptions::reading()).unwrap();
    let style = permazen::kv::xml::Style::Indented;
    permazen::kv::xml::dump(&*tx, permazen::kv::KeySpan::FULL, style, &mut file).unwrap();
    let mut command = program("./a:b".as_ref(), &["count Person", "--raw"]);
    assert_eq!(Ran::of(command.current_dir(db.file(""))).done(), "3\n");
    assert_eq!(
        Ran::of(&mut program(&dump, &["count Person", "--raw", "--kind", "xml"])).done(),
        "3\n"
    );
    let wrong = Ran::of(&mut program(&dump, &["count Person", "--kind", "sqlite"])).failed(2);
    assert!(wrong.contains("a:b"), "{wrong}");
}

/// The error for an unknown kind of store lists all kinds, and the help names the same ones.
#[test]
fn the_help_names_every_kind_of_store() {
    let unknown = Ran::of(&mut program("nosuch:x".as_ref(), &["info"])).failed(2);
    let kinds = unknown.split_once("is no kind of store: ").unwrap().1;
    let kinds = kinds.split_once(';').unwrap().0;
    let help = Ran::of(&mut program("--help".as_ref(), &[])).done();
    let database = help.split_once("[DB]\n").unwrap().1.split_once("\n\n").unwrap().0;
    for kind in kinds.split(", ") {
        let scheme = kind.split_once(':').unwrap().0;
        assert!(database.contains(&format!("{scheme}:")), "{scheme}: {database}");
    }
    assert!(kinds.contains("postgres:") && kinds.contains("etcd:"), "{kinds}");
}

#[test]
fn passwords_are_refused_and_not_shown() {
    for url in ["postgres://me:s3cret@server/db", "etcd://me:s3c@ret@server", "x://:s3cret@h"] {
        for json in [&["count Pet"][..], &["count Pet", "--json"]] {
            let message = Ran::of(&mut program(url.as_ref(), json)).failed(2);
            assert!(
                message.contains("a password in an argument can be seen by others"),
                "{message}"
            );
            assert!(!message.contains("s3c"), "{message}");
        }
    }
    // Wherever it was written by mistake.
    let db = Fixture::new();
    for arguments in [
        &["--nosuch=postgres://me:s3cret@server/db"][..],
        &["-c", "postgres://me:s3cret@server/db"],
        &["-f", "postgres://me:s3cret@server/db"],
        &["--kind", "postgres://me:s3cret@server/db"],
    ] {
        let message = db.run(arguments).failed(2);
        assert!(!message.contains("s3cret"), "{message}");
    }
}

#[test]
fn without_anything_to_do_there_is_a_hint() {
    // An empty script is something to do.
    assert_eq!(Fixture::new().run(&[]).done(), "");
    let mut nothing = std::process::Command::new(assert_cmd::cargo::cargo_bin!("permazen"));
    let message = Ran::of(nothing.stdin(Stdio::null())).failed(2);
    assert!(message.contains("<DB>"), "{message}");
}

#[test]
fn what_is_generated() {
    let program = assert_cmd::cargo::cargo_bin!("permazen");
    let run =
        |what: &str| Ran::of(std::process::Command::new(program).args(["--generate", what])).done();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        assert!(run(shell).contains("permazen"), "{shell}");
    }
    assert!(run("man").starts_with(".ie"));
    let schema: serde_json::Value = serde_json::from_str(&run("json-schema")).unwrap();
    assert_eq!(schema["title"], "A line that permazen --json prints");
}

#[test]
fn times_to_wait() {
    let db = Fixture::new();
    for time in ["0s", "500ms", "2m", "1h"] {
        assert_eq!(db.run(&["count Pet", "--raw", "--wait", time]).done(), "1\n");
    }
    for time in ["5", "s", "-1s", "1.5s", "5 s", "99999999999999999999h", ""] {
        let message = db.run(&["count Pet", &format!("--wait={time}")]).failed(2);
        assert!(message.contains("a time is written as 500ms, 5s, 10m or 2h"), "{message}");
    }
}
