use permazen::ObjId;
use permazen::object::Error;
use permazen_query::QueryError;

use super::world::*;

#[test]
fn references_become_null_or_go_and_objects_go_with_others() {
    let world = World::new();
    let on = world.begin();
    let ann = on.create("Person name = \"Ann\"");
    let bob =
        on.create(&format!("Person name = \"Bob\", boss = @{ann}, friends = [@{ann}, @{ann}]"));
    let cid = on.create_in(1, &format!("Person boss = @{bob}, friends = [@{bob}, @{ann}]"));
    let pets = [ann, ann, bob].map(|owner| on.create(&format!("Pet owner = @{owner}")));
    let edited = on.run("delete Person where name = \"Ann\"");
    assert_eq!(
        edited.to_string(),
        "1 object deleted, 2 other objects deleted with them, 1 reference made null, 2 references removed"
    );
    assert_eq!(
        (edited.deleted, edited.deleted_with, edited.nullified, edited.removed),
        (1, 2, 1, 2)
    );
    assert_eq!(edited.json(), r#"{"deleted":1,"deletedWith":2,"nullified":1,"removed":2}"#);
    assert_eq!(pets.map(|pet| on.exists(pet)), [false, false, true]);
    assert_eq!([on.get(bob, "boss"), on.get(bob, "friends")], ["null", "[]"]);
    assert_eq!(on.get(cid, "friends"), format!("[@{bob}]"));
    on.assert_clean();
    // All at once: an object that is also deleted does not count as one that has lost a reference.
    let edited = on.run("delete all Person");
    assert_eq!(edited.json(), r#"{"deleted":2,"deletedWith":1}"#);
    on.assert_clean();
}

#[test]
fn only_references_of_objects_that_stay_count() {
    let world = World::new();
    let on = world.begin();
    // Whichever goes first, the other one loses its references before it goes too.
    let ann = on.create("Person");
    let bob = on.create(&format!("Person boss = @{ann}, friends = [@{ann}]"));
    on.run(&format!("set @{ann} to boss = @{bob}, friends = [@{bob}]"));
    let stays = on.create(&format!("Person name = \"stays\", boss = @{bob}, friends = [@{ann}]"));
    let statement = format!("delete @{ann} union @{bob}");
    let checked = on.check(&statement).unwrap();
    let found = permazen_query::preview(&on.tx, &checked, &Default::default()).unwrap().unwrap();
    assert_eq!((found.nullified.count, found.removed.count), (1, 1));
    assert!(found.nullified.first[0].holder.id == stays && found.removed.first[0].target.id == ann);
    assert_eq!(on.run(&statement).json(), r#"{"deleted":2,"nullified":1,"removed":1}"#);
    on.assert_clean();
}

#[test]
fn what_forbids_it() {
    let world = World::new();
    let on = world.begin();
    let ann = on.create("Person");
    let pet = on.create(&format!("Pet vet = @{ann}"));
    let error = on.refused("delete all Person", &["cannot be deleted", "vet", &pet.to_string()]);
    assert!(matches!(error, QueryError::Object(Error::ReferencedObject { .. })), "{error:?}");
    // Together, they do not forbid it.
    assert_eq!(on.run("delete all (Person union Pet)").deleted, 2);
}

#[test]
fn objects_that_are_deleted_together_may_refer_to_each_other_in_any_order() {
    let world = World::new();
    let on = world.begin();
    // A long chain, in which each forbids the deletion of the one before it.
    let mut last: Option<ObjId> = None;
    for _ in 0..2000 {
        let next = last.map_or("null".to_owned(), |id| format!("@{id}"));
        last = Some(on.create(&format!("Pet next = {next}")));
    }
    on.refused("delete Pet where next = null", &["cannot be deleted"]);
    assert_eq!(on.run("delete all Pet").deleted, 2000);
    on.assert_clean();

    // One that goes with another one forbids nothing.
    for _ in 0..20 {
        let ann = on.create("Person");
        let bob = on.create("Person");
        on.create(&format!("Pet owner = @{ann}, vet = @{bob}"));
    }
    let edited = on.run("delete all Person");
    assert_eq!((edited.deleted, edited.deleted_with), (40, 20));

    // A circle.
    let a = on.create("Pet");
    let b = on.create(&format!("Pet next = @{a}"));
    on.run(&format!("set @{a} to next = @{b}"));
    on.refused(&format!("delete @{a}"), &["cannot be deleted"]);
    assert_eq!(on.run("delete all Pet").deleted, 2);
    on.assert_clean();

    // One that forbids the deletion with which it goes.
    let ann = on.create("Person");
    on.create(&format!("Pet owner = @{ann}, vet = @{ann}"));
    let edited = on.run(&format!("delete @{ann}"));
    assert_eq!((edited.deleted, edited.deleted_with), (1, 1));
}

#[test]
fn objects_that_are_not_there() {
    let world = World::new();
    let on = world.begin();
    let ann = on.create("Person");
    assert_eq!(on.run(&format!("delete @{ann} union @{ann}")).deleted, 1);
    assert_eq!(on.run(&format!("delete @{ann}")).to_string(), "nothing to change");
}
