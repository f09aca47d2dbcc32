//! Permazen for Java on databases whose objects have moved by our rules.

use permazen::Permazen;
use permazen::schema::XmlForm;

use permazen_tests::outcome::{Outcome, Stop};
use serde_json::{Value as Json, json};

use crate::tracker::driver::Driver;
use crate::tracker::process::Tracker;
use crate::tracker::program::v3;
use crate::tracker::random::setting;

/// The driver; `None` if Java is not here and need not be.
fn java() -> Option<Driver> {
    match Driver::start() {
        Ok(java) => Some(java),
        Err(Stop::Skip(reason)) if setting("PERMAZEN_JAVA").is_none_or(|java| java == 0) => {
            println!("skipped: {reason}");
            None
        }
        Err(Stop::Skip(text) | Stop::Fail(text)) => panic!("{text}"),
    }
}

/// Lets Java perform one step, which must succeed.
fn must(java: &mut Driver, step: Json) -> Json {
    answer(java.must(step))
}

fn answer<T>(outcome: Outcome<T>) -> T {
    outcome.unwrap_or_else(|stop| panic!("{stop:?}"))
}

fn load(java: &mut Driver, tracker: &Tracker) {
    must(java, json!({ "op": "load", "kind": "lmdb", "path": tracker.path() }));
}

fn version_3(tracker: &Tracker) -> Permazen {
    v3::open(tracker.path().to_str().unwrap()).unwrap()
}

/// The IDs of all objects.
fn ids(java: &mut Driver) -> Vec<Json> {
    match must(java, json!({ "op": "all" })) {
        Json::Array(ids) => ids,
        other => panic!("{other}"),
    }
}

/// Opens a transaction of Java's with the schema of version 3.
fn open(java: &mut Driver, tracker: &Tracker, removal: &str) {
    let xml = version_3(tracker).schema().to_xml(XmlForm::STORED);
    must(java, json!({ "op": "schema", "name": "V3", "xml": xml }));
    must(java, json!({ "op": "database" }));
    must(java, json!({ "op": "open", "schema": "V3", "allowNew": false, "removal": removal }));
}

/// With several recorded schemas, Java's checker reports healthy objects. So Java first removes the
/// schemas that no object uses.
#[test]
fn its_checker_finds_nothing_after_an_upgrade() {
    let Some(mut java) = java() else { return };
    for versions in [&["v2", "v3"][..], &["v3"]] {
        let tracker = Tracker::filled(40);
        tracker.work(1);
        versions.iter().for_each(|version| tracker.upgrade(version));
        load(&mut java, &tracker);
        open(&mut java, &tracker, "ALWAYS");
        must(&mut java, json!({ "op": "commit" }));
        assert_eq!(must(&mut java, json!({ "op": "check" })), json!([]));
    }
}

/// Java moves the objects that we have not moved, by its own rules, and we continue with its file.
#[test]
fn java_moves_the_other_half() {
    let Some(mut java) = java() else { return };
    let tracker = Tracker::filled(100);
    let db = version_3(&tracker);
    let moved = db.upgrade_all().only::<v3::Issue>().only::<v3::Label>().run().unwrap();
    drop(db);
    assert_eq!((moved.moved, moved.refused), (110, 0));
    let before = tracker.print("v3");

    load(&mut java, &tracker);
    open(&mut java, &tracker, "NEVER");
    let mut migrated = 0;
    for id in ids(&mut java) {
        if must(&mut java, json!({ "op": "typeOf", "id": id })) != json!("Watch") {
            let moved = must(&mut java, json!({ "op": "migrate", "id": id }));
            migrated += u32::from(moved == json!(true));
        }
    }
    must(&mut java, json!({ "op": "commit" }));
    let theirs = Tracker::empty();
    must(&mut java, json!({ "op": "save", "kind": "lmdb", "path": theirs.path() }));
    assert!(migrated > 100, "{migrated} objects");

    theirs.check();
    // The objects that we have moved are as they were. Nothing is left to move but objects of the
    // removed type.
    let after = theirs.print("v3");
    for (what, value) in before.iter() {
        if what.starts_with("Issue ") || what.starts_with("Label ") {
            assert_eq!(after.get(what), Some(value), "{what}");
        }
    }
    assert_eq!(theirs.must(&["upgrade", "v3"], &[]), "");
    theirs.check();
}
