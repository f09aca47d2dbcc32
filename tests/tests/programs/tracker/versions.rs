//! The views that versions have of each other's objects.

use crate::tracker::process::Tracker;
use crate::tracker::program::lines::{ELSEWHERE, Lines};

/// The fields of version 1 that are defined otherwise in later versions, or that those lack.
const CHANGED: &[&str] = &[
    "AuditEntry action",
    "AuditEntry at",
    "Comment edits",
    "Comment reactions",
    "Issue components",
    "Issue created",
    "Issue estimated",
    "Issue priority",
    "Issue spent",
    "Issue views",
    "Label color",
    "Project leads",
    "Setting value",
    "User email",
    "User name",
    "User nickname",
    "User role",
];

/// Type and field of a line such as `User ann: email`.
fn type_and_field(what: &str) -> String {
    let (object, field) = what.rsplit_once(": ").unwrap();
    format!("{} {field}", object.split(' ').next().unwrap())
}

/// Checks what version 1 sees of a database of which some objects have moved, against what it sees
/// if none have.
pub(crate) fn check_old(found: &Lines, expected: &Lines, when: &str) {
    for (what, value) in expected.iter() {
        // Version 3 carries them over.
        if what.starts_with("Watch ") {
            continue;
        }
        let text = found.get(what).unwrap_or_else(|| panic!("{when}: {what} is lost"));
        // Fields that the object's schema lacks have their default. Halves of points may go.
        let differs_there = CHANGED.contains(&&*type_and_field(what))
            && [ELSEWHERE, "None", "[]", "0"].contains(&text)
            || what.ends_with(": points") && value.strip_suffix(".5") == text.strip_suffix(".0");
        // An object that has not moved is what it was.
        let object = what.rsplit_once(": ").unwrap().0;
        let may_differ = found.is_elsewhere(object) && differs_there;
        assert!(text == value || may_differ, "{when}: {what} = {text}, expected {value}");
    }
    for (what, _) in found.iter() {
        assert!(expected.get(what).is_some(), "{when}: {what} has appeared");
    }
}

/// Checks what version 3 sees of a database of which some objects have moved, against what it sees
/// if all have. Watchers are carried over last, so that some may lack.
pub(crate) fn check_new(found: &Lines, expected: &Lines, when: &str) {
    let known =
        |lines: &Lines| lines.iter().filter(|(what, _)| !what.ends_with(": watchers")).count();
    assert_eq!(known(found), known(expected), "{when}: number of lines");
    for (what, value) in found.iter().filter(|(what, _)| !what.ends_with(": watchers")) {
        assert_eq!(Some(value), expected.get(what), "{when}: {what}");
    }
}

#[test]
fn a_database_can_skip_a_version() {
    let one = Tracker::filled(100);
    let [two, three] = [one.copy(), one.copy()];
    two.upgrade("v2");
    two.check();
    two.upgrade("v3");
    three.upgrade("v3");
    assert_eq!(two.print("v3"), three.print("v3"));
    for tracker in [&two, &three] {
        tracker.check();
        // Everything is there already, so nothing moves.
        assert_eq!(tracker.must(&["upgrade", "v3"], &[]), "");
    }
}

#[test]
fn looking_moves_nothing() {
    let tracker = Tracker::filled(100);
    let expected = tracker.print("v1");
    let reference = tracker.copy();
    reference.upgrade("v3");
    let finally = reference.print("v3");
    check_new(&tracker.print("v3"), &finally, "before the upgrade");
    assert_eq!(tracker.print("v1"), expected);
    check_old(&reference.print("v1"), &expected, "after the upgrade");
    assert!(reference.print("v1").is_elsewhere("Project WEB"));
    assert!(!expected.is_elsewhere("Project WEB"));
    reference.print("v2");
    assert_eq!(reference.print("v3"), finally);
    reference.check();
}

#[test]
fn version_1_works_on_objects_of_every_version() {
    let expected = Tracker::filled(100);
    let [two, three] = [expected.copy(), expected.copy()];
    two.upgrade("v2");
    three.upgrade("v3");
    for tracker in [&expected, &two, &three] {
        tracker.work(1);
        tracker.check();
    }
    let worked = expected.print("v1");
    check_old(&two.print("v1"), &worked, "version 2");
    check_old(&three.print("v1"), &worked, "version 3");
    expected.upgrade("v3");
    let worked = expected.print("v3");
    for tracker in [&two, &three] {
        tracker.upgrade("v3");
        assert_eq!(tracker.print("v3"), worked);
        tracker.check();
    }
}
