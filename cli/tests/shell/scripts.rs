//! Scripts: how they are read, and their allowed content.

use crate::support::Fixture;

#[test]
fn statements_and_commands_follow_one_another() {
    let db = Fixture::new();
    // The counts of `info` are not the same in a script, which has done more.
    let uncounted = |text: String| -> String {
        let is_count = |line: &&str| line.contains("Transactions: ");
        text.split_inclusive('\n').filter(|line| !is_count(line)).collect()
    };
    let info = uncounted(db.run(&["info"]).done());
    // A statement ends with `;`, a command with its line or with `;`.
    let script = "\u{feff}#!/usr/bin/env permazen\n\
                  -- a comment; with a semicolon\n\
                  count\n  Pet -- in the middle\n;;info\n;info;count Person";
    let expected = format!("1\n{info}{info}3\n");
    assert_eq!(uncounted(db.script(&["--raw"], script.as_bytes()).done()), expected);
    std::fs::write(db.file("script"), script).unwrap();
    let file = db.file("script").display().to_string();
    assert_eq!(uncounted(db.run(&["--raw", "-f", &file]).done()), expected);
    assert_eq!(uncounted(db.script(&["--raw", "-f", "-"], script.as_bytes()).done()), expected);
    assert_eq!(db.script(&[], b" ; -- nothing").done(), "");
}

#[test]
fn a_semicolon_in_quotes_ends_nothing() {
    let db = Fixture::new();
    let script = "count Pet; -- \";\ncount Pet where name = \"a;b\" -- ;\n; count Person";
    assert_eq!(db.script(&["--raw"], script.as_bytes()).done(), "1\n0\n3\n");
    let command = db.script(&[], b"info 'a;b'").failed(2);
    assert!(command.contains("unexpected argument 'a;b' found"), "{command}");
}

#[test]
fn a_mistake_anywhere_is_found_before_anything_runs() {
    let db = Fixture::new();
    assert_eq!(
        db.script(&[], b"count Pet;\n\n  find Person were age").failed(2),
        "permazen: standard input, line 3, column 15: `were` is not expected here (did you mean \
         `where`?)\n    find Person were age\n                ^^^^\n"
    );
    assert_eq!(
        db.script(&[], b"count Pet;\ninfo --nosuch\ncount Pet").failed(2),
        "permazen: standard input, line 2, column 1: unexpected argument '--nosuch' found\n  \
         info --nosuch\n  ^^^^^^^^^^^^^\n"
    );
    assert_eq!(
        db.script(&[], b"count Pet;\ninfo 'x").failed(2),
        "permazen: standard input, line 2, column 6: the quote that begins here does not end\n  \
         info 'x\n       ^\n"
    );
    assert_eq!(
        db.script(&[], b"count Pet;\n\xff").failed(2),
        "permazen: standard input, line 2, column 1: the text is not UTF-8 from here on\n  \n  ^\n"
    );
    let unfinished = db.script(&[], b"count Pet; find Pet where name = \"").failed(2);
    assert!(
        unfinished.starts_with("permazen: standard input, line 1, column 34: "),
        "{unfinished}"
    );
}

#[test]
fn names_are_looked_up_when_their_turn_comes() {
    let db = Fixture::new();
    let ran = db.script(&["--raw"], b"count Pet;\n count Prson;\n count Pet");
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (
            2,
            "1\n",
            "permazen: standard input, line 2, column 8: there is no object type `Prson` (did you \
             mean `Person`?)\n   count Prson;\n         ^^^^^\n"
        )
    );
}

#[test]
fn edits_need_to_be_allowed() {
    let db = Fixture::new();
    for edit in [
        "create Pet",
        "set Pet where name = \"x\" to name = \"y\"",
        "delete Pet where name = \"x\"",
        "migrate Pet to 1",
    ] {
        // It is refused before anything is read, so nothing is printed.
        let message = db.script(&["--raw"], format!("count Pet; {edit}").as_bytes()).failed(2);
        assert!(
            message.starts_with(
                "permazen: standard input, line 1, column 12: this changes the database, which needs \
                 --write\n"
            ),
            "{message}"
        );
    }
    // The plan of an edit is no edit.
    assert_eq!(db.run(&["explain find Pet"]).code, 0);
}

#[test]
fn a_very_long_script_is_no_long_statement() {
    let db = Fixture::new();
    let many = "count Pet;\n".repeat(300);
    assert_eq!(db.script(&["--raw"], many.as_bytes()).done(), "1\n".repeat(300));
    let blanks = " ".repeat((1 << 20) + 1);
    assert_eq!(
        db.script(&["--raw"], format!("count Pet;{blanks}count Pet").as_bytes()).done(),
        "1\n1\n"
    );
    let long = db.script(&[], format!("count Pet; count{blanks}Pet").as_bytes()).failed(2);
    assert!(long.contains("a statement is longer than 1048576 bytes"), "{long}");
}

#[test]
fn what_is_no_command_says_what_there_is() {
    let db = Fixture::new();
    for (script, message) in [
        ("schema lst", "column 8: `schema` has no command `lst` (did you mean `list`?)\n"),
        ("kv gte 00", "column 4: `kv` has no command `gte` (did you mean `get`?)\n"),
        ("kv", "column 1: `kv` needs a command after it; expected `get`, `scan`, `put`, "),
        ("kv xyz", "column 4: `kv` has no command `xyz`; expected `get`, `scan`, `put`, "),
        ("hlep", "column 1: there is no statement or command `hlep` (did you mean `help`?)\n"),
        ("ount Pet", "column 1: there is no statement or command `ount`\n"),
        ("fnd Pet", "column 1: there is no statement or command `fnd` (did you mean `find`?)\n"),
    ] {
        let said = db.script(&[], script.as_bytes()).failed(2);
        assert!(said.contains(message), "{script}: {said}");
    }
    // As arguments of the program too.
    let said = db.run(&["schema", "lst"]).failed(2);
    assert!(said.contains("'list'") && !said.contains("'rust'"), "{said}");
    let said = db.run(&["--jsn", "info"]).failed(2);
    assert!(said.contains("'--json'"), "{said}");
}

#[test]
fn help_for_a_command_in_a_script() {
    let out = Fixture::new().script(&[], b"info --help").done();
    assert!(out.contains("Usage: info"), "{out}");
}

#[test]
fn what_fails_when_it_runs_says_in_which_line() {
    let db = Fixture::new();
    let message = db.script(&[], b"count Pet;\n\n  kv dump no/such/file\n").err;
    let place = "permazen: standard input, line 3, column 3: no/such/file: there is no directory";
    assert!(message.starts_with(place), "{message}");
    let one = db.run(&["-c", "kv dump no/such/file"]).failed(2);
    assert!(one.starts_with("permazen: no/such/file: "), "{one}");
}

#[test]
fn an_option_in_a_statement_is_a_comment_and_said() {
    let db = Fixture::new();
    for ran in
        [db.run(&["find Pet --json"]), db.script(&["--prompt"], b"find Pet limit 1 --json\n")]
    {
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains("`--json` begins a comment here"), "{}", ran.err);
    }
}
