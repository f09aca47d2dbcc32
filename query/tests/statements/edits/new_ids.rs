use permazen::ObjId;
use permazen_query::{Limits, NewIds, edit};

use super::world::*;

fn run(on: &Session, statement: &str, ids: &mut NewIds) -> Vec<ObjId> {
    edit(&on.tx, &on.check(statement).unwrap(), &Limits::default(), ids)
        .map(|edited| edited.created)
        .unwrap_or_default()
}

#[test]
fn a_replay_uses_the_same_ids() {
    let world = World::new();
    let mut ids = NewIds::new();
    let statements = ["create Person", "create Pet", "create Person name = \"b\""];
    let all = |on: &Session, ids: &mut NewIds| -> Vec<ObjId> {
        statements.iter().flat_map(|statement| run(on, statement, ids)).collect()
    };
    let first = all(&world.begin(), &mut ids);
    assert_eq!((first.len(), ids.in_use()), (3, &first[..]));
    ids.begin_again();
    assert!(ids.in_use().is_empty());
    let on = world.begin();
    assert_eq!(all(&on, &mut ids), first);
    on.tx.commit().unwrap();

    // If other objects have them, others are drawn.
    ids.begin_again();
    let on = world.begin();
    on.run(&format!("delete @{}", first[1]));
    let third = all(&on, &mut ids);
    assert!(third[0] != first[0] && third[1] == first[1] && third[2] != first[2]);
    assert_eq!(ids.in_use(), third);
}

#[test]
fn a_statement_that_fails_takes_none() {
    let world = World::new();
    let on = world.begin();
    let mut ids = NewIds::new();
    let ann = run(&on, "create Person", &mut ids)[0];
    on.run(&format!("delete @{ann}"));
    assert!(run(&on, &format!("create Person boss = @{ann}"), &mut ids).is_empty());
    assert_eq!(ids.in_use(), [ann]);
    let pet = run(&on, "create Pet", &mut ids)[0];
    assert_eq!(ids.in_use(), [ann, pet]);
}

#[test]
fn another_type_gets_another_id() {
    let world = World::new();
    let mut ids = NewIds::new();
    let on = world.begin();
    let ann = run(&on, "create Person", &mut ids)[0];
    drop(on);
    ids.begin_again();
    let on = world.begin();
    let pet = run(&on, "create Pet", &mut ids)[0];
    assert_ne!(ann.storage_id(), pet.storage_id());
    assert_eq!(pet.storage_id(), on.type_id("Pet"));
}
