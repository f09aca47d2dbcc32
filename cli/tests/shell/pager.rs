//! Long output on a terminal.

use crate::support::{Fixture, on_terminal};

#[test]
fn on_a_terminal_rows_go_to_the_pager() {
    let db = Fixture::new();
    let mut command = db.command(&["count Pet", "--raw"]);
    command.env("PAGER", format!("sed 's/^/paged: /' > '{}'", db.file("paged").display()));
    let Some(ran) = on_terminal(&command) else { return };
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert_eq!(std::fs::read_to_string(db.file("paged")).unwrap(), "paged: 1\n");
    // In a pipe, there is none.
    assert_eq!(crate::support::Ran::of(&mut command).done(), "1\n");
}

#[test]
fn a_pager_that_is_left_ends_the_query() {
    let db = Fixture::new();
    let mut command = db.command(&["find Person", "--raw"]);
    command.env("PAGER", "head -n 1");
    let Some(ran) = on_terminal(&command) else { return };
    let first = db.run(&["find Person limit 1", "--raw"]).done();
    assert_eq!((ran.code, ran.out), (0, first));
}

#[test]
fn errors_are_not_paged() {
    let db = Fixture::new();
    let mut command = db.command(&["find Prson"]);
    command.env("PAGER", "cat > /dev/null");
    let Some(ran) = on_terminal(&command) else { return };
    assert_eq!(ran.code, 2);
    assert!(ran.out.contains("did you mean `Person`?"), "{}", ran.out);
}

#[test]
fn without_the_pager_the_output_is_shown_all_the_same() {
    let db = Fixture::new();
    let many: String = (0..3000).map(|n| format!("<Pet id=\"20{:014x}\"/>", n + 0x1000)).collect();
    db.load(&many);
    let mut command = db.command(&["find Pet columns id", "--raw"]);
    command.env("PAGER", "no-such-pager");
    let Some(ran) = on_terminal(&command) else { return };
    let rows = ran.out.lines().filter(|line| line.len() == 16).count();
    assert_eq!((ran.code, rows), (0, 3001), "{}", ran.out);
    // Also if it has ended before all of it was written.
    command.env("PAGER", "exit 127");
    let Some(ran) = on_terminal(&command) else { return };
    assert_eq!((ran.code, ran.out.lines().count()), (0, 3001));
}

#[test]
fn a_script_with_edits_is_not_paged() {
    let db = Fixture::new();
    let script = "find Pet columns name; create Pet";
    let mut command = db.command(&["--write", "--raw", "-c", script]);
    command.env("PAGER", "cat > /dev/null");
    let Some(ran) = on_terminal(&command) else { return };
    assert_eq!((ran.code, ran.out.lines().next()), (0, Some("Rex")), "{}", ran.out);
}
