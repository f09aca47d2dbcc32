//! What is found.

use crate::database::people;

/// The last two digits of the IDs of what is found.
fn found(statement: &str) -> String {
    let fixture = people();
    let ids: Vec<_> = fixture
        .ask(&format!("{statement} columns id"))
        .rows
        .iter()
        .map(|row| row.id.unwrap().to_string()[14..].to_owned())
        .collect();
    ids.join(" ")
}

#[test]
fn conditions() {
    assert_eq!(found("find Person"), "01 02 03 11 12 13");
    assert_eq!(found("find Person where name = \"Ann\""), "01 11");
    assert_eq!(found("find Person where age = 20"), "02 13");
    assert_eq!(found("find Person where age >= 30"), "01 03 11");
}
