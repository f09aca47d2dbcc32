//! The example prints the expected lines.

#[path = "../../examples/contacts.rs"]
#[allow(dead_code, reason = "its main function is not called here")]
mod example;

#[test]
fn two_branches_of_a_contact_list_are_merged() {
    let dir = tempfile::tempdir().unwrap();
    let mut out = Vec::new();
    example::show(dir.path(), &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let mut lines: Vec<&str> = out.lines().collect();
    // Two commits of one generation come in the order of their random IDs.
    lines[9..11].sort_unstable();
    assert_eq!(
        lines[..14],
        [
            "main: Ann, Bob 555-0100",
            "main: Ann 555-0101, Bob 555-0102",
            "travel: Ann, Bob 555-0104, Cleo 555-0103",
            "7 entries differ",
            "merged: Ann 555-0101, Bob 555-0104, Cleo 555-0103",
            "the checker finds 0 mistakes",
            "main: Ann 555-0101, Bob 555-0104, Cleo 555-0103",
            "history:",
            "  4: a merge",
            "  3: Ann: numbers",
            "  3: Bob: people on the way",
            "  2: Ann: the first two",
            "  1: a change",
            "before the journey: Ann, Bob 555-0100",
        ],
        "{out}"
    );
    assert!(lines[14].starts_with("5 commits, ") && lines[14].ends_with(", 0 findings of verify"));
}
