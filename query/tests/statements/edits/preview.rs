use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use permazen::kv::KvDatabase;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen_query::{Limits, Preview, preview};

use super::world::*;

fn of(on: &Session, statement: &str) -> Preview {
    let checked = on.check(statement).unwrap();
    let before = on.pairs();
    let preview = preview(&on.tx, &checked, &Limits::default()).unwrap().unwrap();
    assert_eq!(on.pairs(), before);
    preview
}

#[test]
fn on_each_store() {
    let dir = tempfile::tempdir().unwrap();
    let stores: [Arc<dyn KvDatabase>; 3] = [
        Arc::new(MemoryStore::new()),
        Arc::new(OptimisticDatabase::new(MemoryStore::new())),
        Arc::new(LmdbStore::builder().create(true).open(dir.path()).unwrap()),
    ];
    for store in stores {
        let world = World::with(store, &[first(), second()]);
        let on = world.begin();
        let ann = on.create("Person name = \"Ann\"");
        let bob = on.create(&format!("Person name = \"Bob\", boss = @{ann}, friends = [@{ann}]"));
        let pet = on.create(&format!("Pet owner = @{ann}"));
        let text = format!(
            "would delete 1 object\n  Person @{ann}\n\
             would delete 1 other object with them\n  Pet @{pet}\n\
             would make 1 reference null\n  Person @{bob} boss -> Person @{ann}\n\
             would remove 1 reference\n  Person @{bob} friends.element -> Person @{ann}"
        );
        let statement = "delete Person where name = \"Ann\"";
        assert_eq!(of(&on, statement).to_string(), text);
        assert_eq!(of(&on, &format!("explain {statement}")).to_string(), text);
        let json = of(&on, statement).json();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["deleted"]["count"], 1);
        assert_eq!(value["deletedWith"]["first"][0]["id"], pet.to_string());
        assert_eq!(value["nullified"]["first"][0]["field"], "boss");
        on.run(statement);
        assert!(!on.exists(ann) && !on.exists(pet));
        on.tx.commit().unwrap();
    }
}

#[test]
fn what_refuses() {
    let world = World::new();
    let on = world.begin();
    let ann = on.create("Person name = \"Ann\"");
    let bob = on.create("Person name = \"Bob\"");
    let vets: Vec<_> = (0..1500).map(|_| on.create(&format!("Pet vet = @{ann}"))).collect();
    let found = of(&on, "delete all Person");
    assert_eq!((found.refused.count, found.refused.first.len()), (1500, 1000));
    let first = vets.iter().min().unwrap();
    assert_eq!(found.refused.first[0].to_string(), format!("Pet @{first} vet -> Person @{ann}"));
    let text = found.to_string();
    assert!(text.starts_with("is refused: 1500 references forbid it\n"), "{text}");
    assert!(text.contains("\n  and 500 more\n"), "{text}");
    let [first, last] = if ann < bob { [ann, bob] } else { [bob, ann] };
    let all = format!("\nwould otherwise delete 2 objects\n  Person @{first}\n  Person @{last}");
    assert!(text.ends_with(&all), "{text}");
    // An object that is also deleted does not refuse.
    let found = of(&on, "delete all (Person union Pet)");
    assert_eq!((found.refused.count, found.deleted.count), (0, 1502));
    assert_eq!(found.deleted.first.len(), 1000);
    assert_eq!(
        found.deleted.first[0].type_name.len(),
        6 - 3 * usize::from(&*found.deleted.first[0].type_name == "Pet")
    );
}

#[test]
fn of_other_statements_and_stopped() {
    let world = World::new();
    let on = world.begin();
    on.create("Person");
    for statement in ["find Person", "set all Person to age = 1", "explain find Person"] {
        let checked = on.check(statement).unwrap();
        assert_eq!(preview(&on.tx, &checked, &Limits::default()).unwrap(), None);
    }
    let mut limits = Limits::default();
    limits.stop = Some(Arc::new(AtomicBool::new(true)));
    let found = preview(&on.tx, &on.check("delete all Person").unwrap(), &limits).unwrap().unwrap();
    assert!(found.stopped && found.deleted.count == 0);
    assert_eq!(
        (found.to_string().as_str(), found.json().as_str()),
        ("stopped", "{\"stopped\":true}")
    );
}

#[test]
fn a_preview_makes_no_conflict_and_no_change() {
    let db = Arc::new(OptimisticDatabase::new(MemoryStore::new()));
    let world = World::with(db, &[first(), second()]);
    let on = world.begin();
    let ann = on.create("Person");
    on.tx.commit().unwrap();
    let on = world.begin();
    let mine = on.create("Pet");
    let checked = on.check("delete all Person").unwrap();
    let found = preview(&on.tx, &checked, &Limits::default()).unwrap().unwrap();
    assert_eq!(found.deleted.count, 1);
    let other = world.begin();
    other.run(&format!("set @{ann} to age = 7"));
    other.tx.commit().unwrap();
    on.tx.commit().unwrap();
    let on = world.begin();
    assert!(on.exists(mine));
    assert_eq!(on.get(ann, "age"), "7");
}

#[test]
fn hostile_names() {
    use permazen::schema::{DeleteAction, Field, ObjectType, SchemaModel};
    let name = "P\u{9b}31m";
    let boss = Field::new("b\u{202e}oss", reference(name, DeleteAction::Nullify));
    let schema = SchemaModel::new().object_type(ObjectType::new(name).field(boss));
    let world = World::with(Arc::new(MemoryStore::new()), &[schema]);
    let on = world.begin();
    let a = on.create("`P\\u{9b}31m`");
    let b = on.create(&format!("`P\\u{{9b}}31m` `b\\u{{202e}}oss` = @{a}"));
    let found = of(&on, &format!("delete @{a}"));
    let text = found.to_string();
    assert!(text.contains(&format!("P\\u{{9b}}31m @{b} b\\u{{202e}}oss -> ")), "{text}");
    assert!(found.json().chars().all(|c| !c.is_control() && c != '\u{202e}'), "{}", found.json());
}
