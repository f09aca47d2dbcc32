//! A refused statement leaves the transaction as it was.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use permazen::kv::KvError;
use permazen::kv::fault::FaultStore;
use permazen::kv::memory::MemoryStore;
use permazen_query::{Catalog, Limits, NewIds, Parameters, QueryError, check, edit, parse};

use super::world::*;

#[test]
fn the_last_object_refuses() {
    let world = World::new();
    let on = world.begin();
    let ids: Vec<_> =
        (0..20).map(|n| on.create_in(1, &format!("Sums i = {n}, list = [1, 2]"))).collect();
    on.refused(
        "set all Sums to i = 7, list add 3, b += 1, s = 5, i += 2147483641",
        &["out of the range"],
    );
    on.refused("set all Sums to list[1] = 7, list[2] = 8", &["position 2", "size 2"]);
    on.refused("set all Sums to list insert 7 at 9", &["position 9"]);
    let last = ids.iter().max().unwrap();
    on.run(&format!("set @{last} to list = []"));
    on.refused("set all Sums to list[0] = 7", &["position 0", &last.to_string()]);
    on.assert_clean();
}

#[test]
fn the_transaction_can_be_used_further() {
    let world = World::new();
    let on = world.begin();
    let ann = on.create("Person age = 1");
    let pet = on.create(&format!("Pet vet = @{ann}"));
    on.refused("delete all Person", &["cannot be deleted", &pet.to_string()]);
    on.run("set all Person to age = 2");
    on.refused("set all Person to age = 99999", &["99999"]);
    on.run("set all Person to name = \"Ann\"");
    on.tx.commit().unwrap();
    let on = world.begin();
    assert_eq!([on.get(ann, "age"), on.get(ann, "name")], ["2", "\"Ann\""]);
}

#[test]
fn statements_that_read() {
    let world = World::new();
    let on = world.begin();
    for statement in ["find Person", "count Person", "explain delete all Person"] {
        let error = on.try_run(statement).unwrap_err();
        assert!(matches!(error, QueryError::WrongKind(_)), "{error:?}");
    }
}

#[test]
fn schemas_that_have_changed() {
    let world = World::with(Arc::new(MemoryStore::new()), &[first()]);
    let on = world.begin();
    let checked = on.check("create Person").unwrap();
    on.tx.add_schema(&second()).unwrap();
    let error = edit(&on.tx, &checked, &Limits::default(), &mut NewIds::new()).unwrap_err();
    assert!(matches!(error, QueryError::SchemasChanged) && error.is_retryable());
}

#[test]
fn a_stop() {
    let world = World::new();
    let on = world.begin();
    for n in 0..5 {
        on.create(&format!("Person age = {n}"));
    }
    let before = on.pairs();
    let stop = Arc::new(AtomicBool::new(true));
    let mut limits = Limits::default();
    limits.stop = Some(stop);
    for statement in ["set all Person to age = 7", "delete all Person", "migrate Person to 1"] {
        let checked = on.check(statement).unwrap();
        let edited = edit(&on.tx, &checked, &limits, &mut NewIds::new()).unwrap();
        assert!(edited.stopped && edited.set == 0 && edited.deleted == 0, "{edited:?}");
        assert_eq!(edited.to_string(), "stopped, and nothing was changed");
        assert_eq!(on.pairs(), before);
    }
}

#[test]
fn a_store_that_fails_at_each_operation() {
    let statements = |on: &Session| -> Result<(), QueryError> {
        on.try_run(
            "set all Person to age += 1, tags add \"z\", friends = [], scores = {\"q\": 1}",
        )?;
        on.try_run("delete Person where age = 1")?;
        on.try_run("migrate Person to 2")?;
        on.try_run("create Person name = \"new\"")?;
        Ok(())
    };
    let mut expected = None;
    for n in 1.. {
        let store = Arc::new(FaultStore::new(MemoryStore::new()));
        let faults = store.faults();
        let world = World::with(store, &[first(), second()]);
        let on = world.begin();
        for age in 0..3 {
            on.create_in(1, &format!("Person age = {age}, tags = {{\"x\"}}"));
        }
        on.tx.commit().unwrap();
        let on = world.begin();
        // The transaction remains usable after an argument that the store refuses.
        faults.fail_nth(n, || KvError::InvalidArgument("injected".to_owned()));
        let result = statements(&on);
        let hits = faults.hits();
        faults.stop();
        assert_eq!(result.is_err(), hits > 0, "{n}: {result:?}");
        if hits == 0 {
            assert!(n > 50, "{n}");
            on.assert_clean();
            break;
        }
        // Later statements work as if nothing had happened, unless the undo has failed too.
        drop(on);
        let on = world.begin();
        on.assert_clean();
        statements(&on).unwrap();
        let count = on.pairs().len();
        assert_eq!(count, *expected.get_or_insert(count), "{n}");
        on.assert_clean();
    }
}

#[test]
fn a_whole_type_needs_the_word_all() {
    let world = World::new();
    let on = world.begin();
    let pet = on.create("Pet");
    for objects in [
        "Pet".to_owned(),
        "Pet union Person".to_owned(),
        "Pet intersect Pet".to_owned(),
        format!("Pet minus @{pet}"),
        "Pet intersect Pet minus Pet".to_owned(),
        "Pet limit 99999999".to_owned(),
        "Pet limit 1001".to_owned(),
    ] {
        let parsed = parse(&format!("delete {objects}")).unwrap();
        let mistake = check(&parsed, &Catalog::of(&on.tx), &Parameters::new()).unwrap_err();
        assert!(mistake.what.contains("say `delete all`"), "{objects}: {mistake:?}");
    }
    for objects in
        [format!("Pet intersect @{pet}"), format!("@{pet} minus Pet"), "Pet limit 1000".to_owned()]
    {
        on.check(&format!("explain delete {objects}")).unwrap();
    }
}

#[test]
fn a_scan_for_lack_of_an_index_is_told() {
    let world = World::new();
    let on = world.begin();
    on.create("Person age = 1");
    let edited = on.try_run("set Person where friends[0] is not null to age = 2").unwrap();
    let why = "all objects of Person are read, because no index serves the condition";
    assert_eq!(edited.scanned_without_index.as_deref(), Some(why));
    assert_eq!(on.try_run("set all Person to age = 2").unwrap().scanned_without_index, None);
}
