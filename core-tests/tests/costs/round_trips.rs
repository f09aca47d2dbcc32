//! How often operations on objects ask a store on another machine.

use permazen::kv::KvDatabaseExt;
use permazen::kv::counting::{CountingStore, Operations};
use permazen::kv::memory::MemoryStore;
use permazen::kv::remote::{RemoteDatabase, SimulatedServer};
use permazen::{Counter, ObjId, Permazen, PermazenObject, Ref};

#[derive(PermazenObject, Debug, Clone, Default)]
struct Person {
    #[permazen(indexed)]
    name: String,
    #[permazen(indexed)]
    age: u32,
    tags: Vec<String>,
    boss: Option<Ref<Person>>,
    visits: Counter,
}

struct World {
    server: SimulatedServer,
    db: Permazen,
    people: Vec<Ref<Person>>,
}

impl World {
    /// People with names `p0` and so on, of the ages 0 to 9 in turn; each has the one before as the
    /// boss.
    fn new(count: usize) -> World {
        let server = SimulatedServer::new();
        let db = RemoteDatabase::new(server.clone());
        let db = Permazen::builder(db).model::<Person>().build().unwrap();
        let mut people: Vec<Ref<Person>> = Vec::new();
        db.write(|tx| {
            people.clear();
            for number in 0..count {
                let (name, tags) = (format!("p{number}"), vec!["a".to_owned(), "b".to_owned()]);
                let (age, boss) = (number as u32 % 10, people.last().copied());
                let person = Person { name, age, tags, boss, ..Person::default() };
                people.push(tx.create(person)?.to_ref());
            }
            Ok(())
        })
        .unwrap();
        World { server, db, people }
    }

    /// The requests in a transaction that reads, after it has begun, and those of its end.
    fn read(&self, body: impl Fn(&permazen::Tx) -> permazen::Result<()>) -> (u64, u64) {
        let mut inside = 0;
        self.server.take_requests();
        self.db
            .read(|tx| {
                assert_eq!(self.server.take_requests(), 1, "the schema tables");
                body(tx)?;
                inside = self.server.take_requests();
                Ok(())
            })
            .unwrap();
        (inside, self.server.take_requests())
    }

    fn write(&self, body: impl Fn(&permazen::Tx) -> permazen::Result<()>) -> (u64, u64) {
        let mut inside = 0;
        self.server.take_requests();
        self.db
            .write(|tx| {
                assert_eq!(self.server.take_requests(), 1, "the schema tables");
                body(tx)?;
                inside = self.server.take_requests();
                Ok(())
            })
            .unwrap();
        (inside, self.server.take_requests())
    }
}

#[test]
fn the_first_touch_of_an_object_asks_once_for_all_of_it() {
    let world = World::new(10);
    let id = world.people[5];
    assert_eq!(world.read(|_| Ok(())), (0, 1));
    let all = |tx: &permazen::Tx| {
        let person = tx.get(id)?;
        assert_eq!((person.name()?, person.age()?), ("p5".to_owned(), 5));
        assert_eq!(person.tags()?.get(1)?.unwrap(), "b");
        assert_eq!(person.visits().get()?, 0);
        assert_eq!(person.load()?.boss, Some(world.people[4]));
        Ok(())
    };
    assert_eq!(world.read(all), (1, 1));
    assert_eq!(world.read(|tx| tx.get(id)?.load().map(drop)), (1, 1));
    assert_eq!(world.read(|tx| tx.get(id)?.exists().map(drop)), (1, 1));
}

#[test]
fn known_references_are_asked_for_64_at_a_time() {
    let world = World::new(200);
    // Not in their order, and one of them twice.
    let wanted: Vec<Ref<Person>> =
        (0..130).map(|at| world.people[at * 7 % 200]).chain([world.people[0]]).collect();
    let names: Vec<String> = (0..130).map(|at| format!("p{}", at * 7 % 200)).collect();
    let loaded = |tx: &permazen::Tx| {
        let people: Vec<Person> = tx.load_all(&wanted)?;
        assert!(people.iter().map(|person| &person.name).eq(names.iter().chain([&names[0]])));
        Ok(())
    };
    assert_eq!(world.read(loaded), (3, 1));
    assert_eq!(world.write(loaded), (3, 1));
    let used = |tx: &permazen::Tx| {
        tx.prefetch(&wanted)?;
        for person in &wanted {
            tx.get(*person)?.age()?;
            tx.get(*person)?.load()?;
        }
        // Known objects are not requested again.
        tx.prefetch(&wanted)
    };
    assert_eq!(world.read(used), (3, 1));
    assert_eq!(world.read(|tx| tx.prefetch(&wanted[..64])), (1, 1));
    assert_eq!(world.read(|tx| tx.prefetch(Vec::<Ref<Person>>::new())), (0, 1));
    // One by one, each is a round trip.
    let singly = |tx: &permazen::Tx| {
        wanted[..10].iter().try_for_each(|person| tx.get(*person)?.load().map(drop))
    };
    assert_eq!(world.read(singly), (10, 1));
}

#[test]
fn elsewhere_they_cost_what_loads_cost_and_nothing() {
    let store = CountingStore::new(MemoryStore::new());
    let counter = store.counter();
    let db = Permazen::builder(store).model::<Person>().build().unwrap();
    db.write(|tx| {
        let create = |age| Ok(tx.create(Person { age, ..Person::default() })?.to_ref());
        let people = (0..100).map(create).collect::<permazen::Result<Vec<Ref<Person>>>>()?;
        counter.take();
        tx.prefetch(&people)?;
        assert_eq!(counter.take(), Operations::default());
        people.iter().try_for_each(|person| tx.get(*person)?.load().map(drop))?;
        let singly = counter.take();
        tx.load_all::<Person>(&people)?;
        assert_eq!(counter.take(), singly);
        Ok(())
    })
    .unwrap();
}

#[test]
fn the_reference_that_is_missing_is_named_as_load_names_it() {
    let world = World::new(100);
    let gone = world.people[99];
    world.db.write(|tx| tx.get(gone)?.delete().map(drop)).unwrap();
    let singly = world.db.read(|tx| tx.get(gone)?.load().map(drop)).unwrap_err().to_string();
    assert!(singly.contains(&gone.id().to_string()), "{singly}");
    let all = world.db.read(|tx| tx.load_all::<Person>(&world.people)).unwrap_err().to_string();
    assert_eq!(all, singly);
    // To ask for it is no mistake.
    world.db.read(|tx| tx.prefetch(&world.people)).unwrap();
}

#[test]
fn a_prefetch_of_a_damaged_object_is_no_error() {
    // The own pair of an object: an unknown schema, a schema without the type, and nothing
    // readable.
    for own in ["09", "fe", ""] {
        let world = World::new(100);
        let (damaged, good) = (world.people[70], world.people[99]);
        let own = hex(own);
        world.server.store().write(|tx| tx.put(damaged.id().as_bytes(), &own)).unwrap();
        let singly = world.db.read(|tx| tx.get(damaged)?.load().map(drop)).unwrap_err();
        let singly = singly.to_string();
        assert!(singly.contains(&damaged.id().to_string()), "{singly}");
        let all = world.db.read(|tx| tx.load_all::<Person>(&world.people)).unwrap_err();
        assert_eq!(all.to_string(), singly, "{own:?}");
        // The others can be used, and only the damaged one is refused.
        let used = |tx: &permazen::Tx| {
            tx.prefetch(&world.people)?;
            assert_eq!(tx.get(good)?.name()?, "p99");
            assert_eq!(tx.get(damaged)?.load().unwrap_err().to_string(), singly);
            Ok(())
        };
        assert_eq!(world.read(used), (2, 1));
        world.db.write(|tx| tx.prefetch(&world.people)).unwrap();
    }
}

mod older {
    #[derive(permazen::PermazenObject)]
    pub(crate) struct Person {
        #[permazen(indexed)]
        pub(crate) name: String,
    }

    #[derive(permazen::PermazenObject, Default)]
    pub(crate) struct Pet {
        pub(crate) owner: Option<String>,
    }
}

/// The loaded objects, or the first error.
fn text<T: std::fmt::Debug>(loaded: permazen::Result<Vec<T>>) -> String {
    match loaded {
        Ok(all) => format!("{all:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn whatever_is_loaded_together_is_as_it_is_loaded_alone() {
    let world = World::new(200);
    // Objects of an older version, of another type, of no type, and one that is gone.
    let older = Permazen::builder(RemoteDatabase::new(world.server.clone()));
    let older = older.model::<older::Person>().model::<older::Pet>().build().unwrap();
    let (old, pet) = older
        .write(|tx| {
            let old = tx.create(older::Person { name: "old".into() })?.id();
            Ok((old, tx.create(older::Pet::default())?.id()))
        })
        .unwrap();
    let gone = world.people[150].id();
    let stranger = ObjId::from_bytes(*b"\x7fabcdefg").unwrap();
    world
        .db
        .write(|tx| {
            tx.get(world.people[151])?.set_boss(None)?;
            tx.get(world.people[150])?.delete().map(drop)
        })
        .unwrap();
    let people: Vec<ObjId> = world.people[..100].iter().map(|person| person.id()).collect();
    let many: Vec<ObjId> = (0..10_000).map(|at| people[at * 13 % 100]).collect();
    let beside = |id: ObjId| people.iter().copied().chain([id, people[0]]).collect::<Vec<_>>();
    let lists = [
        Vec::new(),
        people.clone(),
        many,
        beside(old),
        beside(pet),
        beside(gone),
        beside(stranger),
    ];
    let compare = |tx: &permazen::Tx| {
        let mut kinds = Vec::new();
        for list in &lists {
            tx.prefetch(list.iter().copied())?;
            let all = tx.load_all::<Person>(list.iter().copied());
            let alone = list.iter().map(|id| tx.get::<Person>(*id)?.load());
            let alone: permazen::Result<Vec<Person>> = alone.collect();
            kinds.push(all.is_ok());
            assert_eq!(text(all), text(alone));
        }
        assert_eq!(kinds, [true, true, true, true, false, false, false]);
        Ok(())
    };
    world.db.read(compare).unwrap();
    world.db.read(|tx| compare(&*tx.snapshot()?)).unwrap();
    world.db.write(compare).unwrap();
    // Uncommitted changes count.
    world
        .db
        .write(|tx| {
            tx.get(world.people[3])?.set_name("changed")?;
            tx.get(world.people[4])?.tags()?.push("more")?;
            compare(tx)?;
            let mine = tx.create(Person::default())?.id();
            let loaded = tx.load_all::<Person>([world.people[3].id(), mine, people[4]])?;
            assert_eq!((&*loaded[0].name, loaded[2].tags.len()), ("changed", 3));
            // One that is deleted here after it was asked for.
            tx.prefetch([people[60]])?;
            tx.get(world.people[61])?.set_boss(None)?;
            tx.get(world.people[60])?.delete()?;
            tx.prefetch(people.clone())?;
            let deleted = tx.load_all::<Person>(people.clone()).unwrap_err().to_string();
            assert!(deleted.contains(&people[60].to_string()), "{deleted}");
            assert_eq!(tx.get(world.people[60])?.load().unwrap_err().to_string(), deleted);
            Ok(())
        })
        .unwrap();
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

#[test]
fn what_is_created_and_set_is_sent_with_the_commit() {
    let world = World::new(10);
    let created = |tx: &permazen::Tx| {
        for number in 0..100 {
            let person = Person { name: format!("new {number}"), ..Person::default() };
            let person = tx.create(person)?;
            person.set_age(7)?;
            person.tags()?.push("c")?;
            person.visits().add(1)?;
            assert_eq!(person.age()?, 7);
        }
        Ok(())
    };
    assert_eq!(world.write(created), (0, 1));
    let id = world.people[3];
    let set = |tx: &permazen::Tx| {
        let person = tx.get(id)?;
        person.set_name("other")?;
        person.set_age(8)?;
        person.tags()?.push("c")?;
        person.visits().add(1)
    };
    assert_eq!(world.write(set), (1, 1));
}

#[test]
fn an_index_is_read_in_pages_and_its_objects_64_at_a_time() {
    let world = World::new(1_000);
    let ids = |tx: &permazen::Tx| {
        assert_eq!(tx.index(Person::AGE)?.get(3)?.iter().count(), 100);
        Ok(())
    };
    assert_eq!(world.read(ids), (1, 1));
    for reverse in [false, true] {
        let loaded = |tx: &permazen::Tx| {
            let all = tx.index(Person::AGE)?.get(3)?;
            let load =
                |person: permazen::Result<permazen::Obj<'_, Person>>| Ok(person?.load()?.age);
            let ages: permazen::Result<Vec<u32>> = match reverse {
                true => all.iter().rev().map(load).collect(),
                false => all.iter().map(load).collect(),
            };
            assert_eq!(ages?, [3; 100]);
            Ok(())
        };
        assert_eq!(world.read(loaded), (3, 1));
    }
    // From objects that were loaded to those that they refer to: each boss is another object.
    let bosses = |tx: &permazen::Tx| {
        for person in &tx.index(Person::AGE)?.get(3)? {
            assert!(person?.boss()?.is_some());
        }
        Ok(())
    };
    assert_eq!(world.read(bosses), (3, 1));
    // 5,000 pairs of objects, of which those of an object lie side by side.
    let all = |tx: &permazen::Tx| {
        for person in &tx.all::<Person>()? {
            person?.load()?;
        }
        Ok(())
    };
    let (inside, end) = world.read(all);
    assert!(inside <= 16 && end == 1, "{inside}");
}

/// A request ahead can fail as well. The transaction then runs again, whichever request it was.
#[test]
fn an_iteration_that_loses_its_connection_runs_again() {
    let world = World::new(600);
    for requests in 0..14 {
        world.server.fail_after(requests);
        let ages = world.db.read(|tx| {
            let mut ages = 0;
            for person in &tx.all::<Person>()? {
                ages += person?.age()?;
            }
            Ok(ages)
        });
        assert_eq!(ages.unwrap(), 2_700, "{requests}");
        let names = world.db.read(|tx| {
            let people = tx.all::<Person>()?;
            people.iter().rev().map(|person| person?.name()).collect::<permazen::Result<Vec<_>>>()
        });
        assert_eq!(names.unwrap().len(), 600, "{requests}");
    }
}
