//! Random edits, compared with a naive model. The checker finds nothing after them.

use std::collections::{BTreeMap, BTreeSet};

use permazen::ObjId;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::world::*;

const STEPS: usize = 300;

#[derive(Debug, Clone, PartialEq)]
struct Person {
    schema: u32,
    name: String,
    age: i64,
    tags: BTreeSet<String>,
    scores: BTreeMap<String, i64>,
    friends: Vec<ObjId>,
    boss: Option<ObjId>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    people: BTreeMap<ObjId, Person>,
    /// Owner and vet.
    pets: BTreeMap<ObjId, [Option<ObjId>; 2]>,
}

impl Model {
    /// Deletes people. `None` if a pet that stays forbids it.
    fn delete(&self, wanted: &BTreeSet<ObjId>) -> Option<Model> {
        let mut model = self.clone();
        // Pets go with their owners.
        model.pets.retain(|_, pet| !pet[0].is_some_and(|owner| wanted.contains(&owner)));
        // So a pet that is left forbids it.
        if model.pets.values().any(|pet| pet[1].is_some_and(|vet| wanted.contains(&vet))) {
            return None;
        }
        model.people.retain(|id, _| !wanted.contains(id));
        for person in model.people.values_mut() {
            person.friends.retain(|friend| !wanted.contains(friend));
            person.boss = person.boss.filter(|boss| !wanted.contains(boss));
        }
        Some(model)
    }
}

fn read(on: &Session) -> Model {
    use permazen::object::Migrate;
    let mut model = Model::default();
    for id in on.tx.all_objects().unwrap().iter().map(Result::unwrap) {
        let simple = |field| on.tx.get(id, field, Migrate::No).unwrap();
        if id.storage_id() == on.type_id("Pet") {
            model.pets.insert(id, ["owner", "vet"].map(|field| simple(field).as_ref_id()));
            continue;
        }
        let tags = on.tx.set_view(id, "tags", Migrate::No).unwrap().to_vec().unwrap();
        let scores = on.tx.map_view(id, "scores", Migrate::No).unwrap().to_vec().unwrap();
        let friends = on.tx.list_view(id, "friends", Migrate::No).unwrap().to_vec().unwrap();
        let text = |value: &permazen::encoding::Value| value.as_str().unwrap().to_owned();
        let person = Person {
            schema: on.schema_of(id),
            name: text(&simple("name")),
            age: on.get(id, "age").parse().unwrap(),
            tags: tags.iter().map(text).collect(),
            scores: scores.iter().map(|(k, v)| (text(k), number(v))).collect(),
            friends: friends.iter().map(|friend| friend.as_ref_id().unwrap()).collect(),
            boss: simple("boss").as_ref_id(),
        };
        model.people.insert(id, person);
    }
    model
}

trait AsRefId {
    fn as_ref_id(&self) -> Option<ObjId>;
}

impl AsRefId for permazen::encoding::Value {
    fn as_ref_id(&self) -> Option<ObjId> {
        match self {
            permazen::encoding::Value::Ref(id) => Some(*id),
            _ => None,
        }
    }
}

fn number(value: &permazen::encoding::Value) -> i64 {
    match value {
        permazen::encoding::Value::Int(number) => i64::from(*number),
        other => panic!("{other:?}"),
    }
}

fn literal(id: Option<ObjId>) -> String {
    id.map_or("null".to_owned(), |id| format!("@{id}"))
}

/// Names that need quotes, controls and more than one unit.
const NAMES: [&str; 4] = ["", "a\"\\`", "\u{9b}\u{202e}\0", "😀é"];

fn step(on: &Session, model: &mut Model, random: &mut StdRng) {
    let ids: Vec<ObjId> = model.people.keys().copied().collect();
    let any = |random: &mut StdRng| -> Option<ObjId> {
        (!ids.is_empty()).then(|| ids[random.random_range(0..ids.len())])
    };
    let name = NAMES[random.random_range(0..NAMES.len())];
    let quoted = permazen_query::text::quoted(&name.into());
    let low = random.random_range(-2_i64..12);
    let high = low + random.random_range(0..4);
    let (target, size) = (any(random), random.random_range(-3_i64..4));
    let condition = format!("Person where age >= {low} and age <= {high}");
    let matches: BTreeSet<ObjId> = model
        .people
        .iter()
        .filter(|(_, person)| (low..=high).contains(&person.age))
        .map(|(id, _)| *id)
        .collect();
    let each = |model: &mut Model, change: &dyn Fn(&mut Person)| {
        matches.iter().for_each(|id| change(model.people.get_mut(id).unwrap()));
    };
    let set = |change: String| on.run(&format!("set {condition} to {change}")).set;
    match random.random_range(0..17) {
        0..4 => {
            let schema = random.random_range(1..=2);
            let age = random.random_range(0..10);
            let text = format!("Person name = {quoted}, age = {age}, boss = {}", literal(target));
            let id = on.create_in(schema, &text);
            let (tags, scores, friends) = Default::default();
            let name = name.to_owned();
            let person = Person { schema, name, age, tags, scores, friends, boss: target };
            model.people.insert(id, person);
        }
        4 => {
            let vet = any(random).filter(|vet| random.random_bool(0.3) && Some(*vet) != target);
            let text = format!("Pet owner = {}, vet = {}", literal(target), literal(vet));
            model.pets.insert(on.create(&text), [target, vet]);
        }
        5 => {
            assert_eq!(set(format!("name = {quoted}")), matches.len() as u64);
            each(model, &|person| person.name = name.to_owned());
        }
        6 => {
            set(format!("age += {size}"));
            each(model, &|person| person.age += size);
        }
        7 => {
            set(format!("age = {}, age -= {size}", low + 1));
            each(model, &|person| person.age = low + 1 - size);
        }
        8 => {
            set(format!("tags add {quoted}, scores[{quoted}] = {size}"));
            each(model, &|person| {
                person.tags.insert(name.to_owned());
                person.scores.insert(name.to_owned(), size);
            });
        }
        9 => {
            set(format!("tags remove {quoted}, scores remove {quoted}"));
            each(model, &|person| {
                person.tags.remove(name);
                person.scores.remove(name);
            });
        }
        10 => {
            set(format!("tags = {{{quoted}, \"q\"}}, scores = {{{quoted}: 1, \"q\": {size}}}"));
            each(model, &|person| {
                person.tags = [name, "q"].map(str::to_owned).into();
                person.scores = [(name.to_owned(), 1), ("q".to_owned(), size)].into();
            });
        }
        11 => {
            let Some(target) = target else { return };
            set(format!("friends add @{target}, friends insert @{target} at 0, boss = @{target}"));
            each(model, &|person| {
                person.friends.push(target);
                person.friends.insert(0, target);
                person.boss = Some(target);
            });
        }
        12 => {
            let Some(target) = target else { return };
            set(format!("friends remove @{target}"));
            each(model, &|person| person.friends.retain(|friend| *friend != target));
        }
        13 => {
            let list: Vec<ObjId> = (0..size.max(0)).filter_map(|_| any(random)).collect();
            let text: Vec<_> = list.iter().map(|id| format!("@{id}")).collect();
            set(format!("friends = [{}]", text.join(", ")));
            each(model, &|person| person.friends = list.clone());
        }
        14 => {
            let schema = random.random_range(1..=2);
            let others = matches.iter().filter(|id| model.people[*id].schema != schema).count();
            let moved = on.run(&format!("migrate {condition} to {schema}")).moved;
            assert_eq!(moved, others as u64);
            each(model, &|person| person.schema = schema);
        }
        15 => {
            // One of many refuses.
            let statement =
                format!("set {condition} to age += 1, tags add \"no\", age += 2147483647");
            if !matches.is_empty() && low >= 0 {
                on.refused(&statement, &["out of"]);
            }
        }
        _ => {
            let statement = format!("delete {condition}");
            match model.delete(&matches) {
                Some(expected) => {
                    let edited = on.run(&statement);
                    assert_eq!(edited.deleted, matches.len() as u64);
                    let pets = model.pets.len() - expected.pets.len();
                    assert_eq!(edited.deleted_with, pets as u64);
                    *model = expected;
                }
                None => drop(on.refused(&statement, &["cannot be deleted"])),
            }
        }
    }
}

#[test]
fn random_edits() {
    let mut refused_or_deleted = 0;
    for seed in 0..4 {
        let mut random = StdRng::seed_from_u64(seed);
        let world = World::new();
        let mut model = Model::default();
        let mut on = world.begin();
        for at in 0..STEPS {
            let before = model.people.len();
            step(&on, &mut model, &mut random);
            refused_or_deleted += usize::from(model.people.len() < before);
            assert_eq!(read(&on), model, "seed {seed}, step {at}");
            if at % 50 == 49 {
                on.assert_clean();
                on.tx.commit().unwrap();
                on = world.begin();
            }
        }
    }
    assert!(refused_or_deleted > 10, "{refused_or_deleted}");
}
