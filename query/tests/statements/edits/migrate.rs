use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use permazen::__internal::object::WouldLose;
use permazen::object::{Error, MigrationEnd};
use permazen_query::{Limits, QueryError, migration};

use super::world::*;

#[test]
fn in_the_transaction() {
    let world = World::new();
    let on = world.begin();
    let ann = on.create_in(1, "Person name = \"Ann\", age = 30, tags = {\"x\"}");
    let bob = on.create_in(2, "Person name = \"Bob\"");
    let edited = on.run("migrate Person to newest");
    assert_eq!((edited.moved, edited.to_string().as_str()), (1, "1 object moved"));
    assert_eq!([on.schema_of(ann), on.schema_of(bob)], [2, 2]);
    assert_eq!([on.get(ann, "age"), on.get(ann, "tags")], ["30", "{\"x\"}"]);
    assert_eq!(on.run("migrate Person to 1").moved, 2);
    let id = second().schema_id();
    assert_eq!(on.run(&format!("migrate Person to \"{id}\"")).moved, 2);
    on.assert_clean();
}

#[test]
fn what_would_be_lost() {
    let world = World::new();
    let on = world.begin();
    let ann = on.create_in(1, "Person age = 70000, visits = 5");
    on.create_in(1, "Person age = 7");
    let error = on
        .refused("migrate Person to 2", &["70000 does not fit short", "visits", &ann.to_string()]);
    let QueryError::Object(Error::MoveRefused(cause)) = &error else { panic!("{error:?}") };
    assert_eq!(cause.downcast_ref::<WouldLose>().unwrap().losses.len(), 2);
    on.refused("migrate Person to 7", &["no such schema"]);
    on.create("Sums");
    on.refused("migrate Sums to 2", &["Sums"]);
    let some = "Person where age < 100";
    on.refused(&format!("migrate Sums union ({some}) to 2"), &["no such object type"]);
    assert_eq!(on.run(&format!("migrate {some} to 2")).moved, 1);
}

#[test]
fn losses_are_accepted_and_said() {
    let world = World::new();
    let on = world.begin();
    let ann = on.create_in(1, "Person name = \"Ann\", age = 70000, visits = 5");
    let bob = on.create_in(1, "Person age = 7");
    let edited = on.run("migrate Person to 2 lossy");
    assert_eq!((edited.moved, edited.lossy), (2, 1));
    let [loss] = &edited.losses[..] else { panic!("{edited:?}") };
    for part in [&ann.to_string(), "70000 does not fit short", "\"visits\""] {
        assert!(loss.contains(part), "{loss}");
    }
    assert_eq!([on.schema_of(ann), on.schema_of(bob)], [2, 2]);
    assert_eq!([on.get(ann, "name"), on.get(bob, "age")], ["\"Ann\"", "7"]);
    assert_eq!(on.run("migrate Person to 2 lossy").moved, 0);
    on.assert_clean();
}

#[test]
fn losses_are_accepted_in_batches() {
    let world = World::new();
    let on = world.begin();
    let large = on.create_in(1, "Person age = 70000");
    for age in 0..10 {
        on.create_in(1, &format!("Person age = {age}"));
    }
    on.tx.commit().unwrap();
    let on = world.begin();
    let all = on.check("migrate Person to 2 lossy").unwrap();
    let tried = migration(&world.db, &on.tx, &all, &Limits::default()).unwrap().dry_run();
    let run = migration(&world.db, &on.tx, &all, &Limits::default()).unwrap().batch(4);
    drop(on);
    for report in [tried.run().unwrap(), run.run().unwrap()] {
        assert_eq!((report.moved, report.refused, report.lossy), (11, 0, 1));
        assert_eq!((report.losses.len(), report.losses[0].id), (1, large));
    }
    world.begin().assert_clean();
}

#[test]
fn in_batches() {
    let world = World::new();
    let on = world.begin();
    for age in 0..25 {
        on.create_in(1, &format!("Person age = {age}"));
    }
    let large = on.create_in(1, "Person age = 70000");
    on.create_in(1, "Sums");
    on.tx.commit().unwrap();
    let limits = Limits::default();
    let on = world.begin();
    let some = on.check("migrate Person where age < 10 to 2").unwrap();
    let run = migration(&world.db, &on.tx, &some, &limits).unwrap();
    drop(on);
    let report = run.batch(4).run().unwrap();
    assert_eq!((report.moved, report.refused, report.end), (10, 0, MigrationEnd::Done));

    let on = world.begin();
    let all = on.check("migrate Person to 2").unwrap();
    let run = migration(&world.db, &on.tx, &all, &limits).unwrap();
    drop(on);
    let report = run.batch(4).progress(|_| ControlFlow::Break(())).run().unwrap();
    assert_eq!((report.moved + report.refused, report.end), (4, MigrationEnd::Stopped));
    let moved = report.moved;
    // The same statement continues.
    let on = world.begin();
    let run = migration(&world.db, &on.tx, &all, &limits).unwrap();
    drop(on);
    let report = run.run().unwrap();
    assert_eq!((moved + report.moved, report.refused, report.refusals[0].id), (15, 1, large));

    let on = world.begin();
    on.assert_clean();
    let wrong = migration(&world.db, &on.tx, &on.check("find Person").unwrap(), &limits);
    assert!(matches!(wrong, Err(QueryError::WrongKind(_))));
    let mut limits = Limits::default();
    limits.stop = Some(Arc::new(AtomicBool::new(true)));
    let run = migration(&world.db, &on.tx, &some, &limits).unwrap();
    drop(on);
    assert_eq!(run.run().unwrap().moved, 0);
}
