//! Arguments of the program.

use crate::support::Fixture;

#[test]
fn a_statement_is_one_argument() {
    let db = Fixture::new();
    let message = db.run(&["find", "Person"]).failed(2);
    assert!(message.starts_with("permazen: a statement is one argument: write it in quotes"));
    assert_eq!(db.run(&["count Person"]).done(), "count\n-----\n    3\n");
    assert_eq!(db.run(&["-c", "count Pet", "--raw"]).done(), "1\n");
    assert_eq!(db.run(&["count Pet", "--raw"]).done(), "1\n");
}
