//! Which objects a deletion deletes, and which refuse it, does not depend on the IDs of the
//! objects. Random graphs are compared with a model of the rule, under several IDs each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use permazen::__internal::object::DeletionStep;
use permazen::ObjId;
use permazen::encoding::Value;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::optimistic::OptimisticDatabase;
use permazen::kv::{Durability, KeySpan, KvDatabase, KvDatabaseExt};
use permazen::object::{Error, Migrate, Transaction};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::deletion_model::*;
use crate::failures::all_pairs;
use crate::support::*;

const OBJECTS: usize = 9;
/// Of each type.
const FIELDS: usize = 5;
/// The type whose objects go with no other ones.
const LAST: usize = 2;
/// How many orders of the IDs are tried.
const ORDERS: usize = 3;

/// The schema of the model's types.
fn xml(model: &Model) -> String {
    let reference = |name: &str, options: Options| {
        let action = match options.action {
            Action::Ignore => "IGNORE",
            Action::Exception => "EXCEPTION",
            Action::Nullify => "NULLIFY",
            Action::Remove => "REMOVE",
            Action::Delete => "DELETE",
        };
        let allowed = match options.forward {
            true => r#"<ObjectTypes><ObjectType name="T0"/><ObjectType name="T1"/></ObjectTypes>"#,
            false => "",
        };
        format!(
            r#"<ReferenceField {name} inverseDelete="{action}" forwardDelete="{}" allowDeleted="true">{allowed}</ReferenceField>"#,
            options.forward
        )
    };
    let mut text = String::new();
    for (n, fields) in model.types.iter().enumerate() {
        let storage_id = 10 + n;
        text += &format!(r#"<ObjectType name="T{n}" storageId="{storage_id}">"#);
        for (at, kind) in fields.iter().enumerate() {
            let part = |options| reference("", options);
            text += &match *kind {
                Kind::Simple(options) => reference(&format!(r#"name="f{at}""#), options),
                Kind::Set(options) => {
                    format!(r#"<SetField name="f{at}">{}</SetField>"#, part(options))
                }
                Kind::List(options) => {
                    format!(r#"<ListField name="f{at}">{}</ListField>"#, part(options))
                }
                Kind::Map(key, value) => {
                    format!(r#"<MapField name="f{at}">{}{}</MapField>"#, part(key), part(value))
                }
            };
        }
        text += "</ObjectType>";
    }
    format!("<Schema>{text}</Schema>")
}

/// The ID of each object.
#[derive(Debug, Clone)]
struct Ids(Vec<ObjId>);

impl Ids {
    /// `order` says where each object comes among those of its type.
    fn new(model: &Model, order: &[u8]) -> Ids {
        let of = |n: usize| model.objects[n].as_ref().map_or(0, |object| object.of);
        let id = |n: usize| {
            let kind = 10 + of(n) as u8;
            ObjId::from_bytes([kind, order[n], 0, 0, 0, 0, 0, n as u8]).unwrap()
        };
        Ids((0..model.objects.len()).map(id).collect())
    }

    fn value(&self, target: Target) -> Value {
        target.map_or(Value::Null, |target| Value::Ref(self.0[target]))
    }

    fn number(&self, id: ObjId) -> usize {
        self.0.iter().position(|it| *it == id).unwrap()
    }

    fn target(&self, value: &Value) -> Target {
        match value {
            Value::Ref(id) => Some(self.number(*id)),
            _ => None,
        }
    }
}

fn fill(tx: &Transaction, model: &Model, ids: &Ids) {
    for (n, object) in model.objects.iter().enumerate() {
        let Some(object) = object else { continue };
        let id = create(tx, ids.0[n]);
        for (at, content) in object.fields.iter().enumerate() {
            let name = format!("f{at}");
            match content {
                Content::Simple(target) => set(tx, id, &name, ids.value(*target)),
                Content::Set(targets) => {
                    let view = tx.set_view(id, &name, Migrate::No).unwrap();
                    targets.iter().for_each(|it| assert!(view.add(&ids.value(*it)).unwrap()));
                }
                Content::List(targets) => {
                    let view = tx.list_view(id, &name, Migrate::No).unwrap();
                    targets.iter().for_each(|it| view.push(&ids.value(*it)).unwrap());
                }
                Content::Map(entries) => {
                    let view = tx.map_view(id, &name, Migrate::No).unwrap();
                    for (key, value) in entries {
                        view.put(&ids.value(*key), &ids.value(*value)).unwrap();
                    }
                }
            }
        }
    }
}

fn read(tx: &Transaction, model: &Model, ids: &Ids) -> Vec<Option<Object>> {
    let read = |n: usize| {
        let id = ids.0[n];
        if !tx.exists(id).unwrap() {
            return None;
        }
        let of = usize::from(id.as_bytes()[0]) - 10;
        let field = |(at, kind): (usize, &Kind)| {
            let name = format!("f{at}");
            let targets = |values: Vec<Value>| values.into_iter().map(|it| ids.target(&it));
            match kind {
                Kind::Simple(_) => {
                    Content::Simple(ids.target(&tx.get(id, &name, Migrate::No).unwrap()))
                }
                Kind::Set(_) => {
                    let view = tx.set_view(id, &name, Migrate::No).unwrap();
                    Content::Set(targets(view.to_vec().unwrap()).collect())
                }
                Kind::List(_) => {
                    let view = tx.list_view(id, &name, Migrate::No).unwrap();
                    Content::List(targets(view.to_vec().unwrap()).collect())
                }
                Kind::Map(..) => {
                    let view = tx.map_view(id, &name, Migrate::No).unwrap();
                    let entries = view.to_vec().unwrap().into_iter();
                    Content::Map(entries.map(|(k, v)| (ids.target(&k), ids.target(&v))).collect())
                }
            }
        };
        let fields = model.types[of].iter().enumerate().map(field).collect();
        Some(Object { of, fields })
    };
    (0..model.objects.len()).map(read).collect()
}

/// A field by its full name, and whether it is the value of a map.
fn place(full_name: &str) -> (usize, bool) {
    let (name, half) = full_name.split_once('.').unwrap_or((full_name, ""));
    (name[1..].parse().unwrap(), half == "value")
}

/// How a deletion is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Alone,
    Telling,
    /// With a listener to deletions.
    Heard,
    Together,
}

/// Fails unless the deletion does what the model says. Returns the refusal, if it was refused.
fn check(
    world: &World,
    (model, roots, outcome): (&Model, &[usize], &Outcome),
    ids: &Ids,
    how: How,
) -> Result<Option<Refusal>, TestCaseError> {
    let tx = world.begin(&xml(model));
    fill(&tx, model, ids);
    if how == How::Heard {
        on_delete(&tx, |_, _, _| Ok(()));
    }
    let before = all_pairs(&tx);
    let mut steps = Vec::new();
    let mut tell = |step| {
        steps.push(step);
        Ok(())
    };
    let result = match how {
        How::Alone | How::Heard => tx.delete(ids.0[roots[0]]).map(drop),
        How::Telling => tx.delete_telling(ids.0[roots[0]], &mut tell).map(drop),
        How::Together => {
            let roots: Vec<ObjId> = roots.iter().map(|root| ids.0[*root]).collect();
            tx.delete_together(&roots, &mut tell)
        }
    };
    let tells = matches!(how, How::Telling | How::Together);
    match (result, outcome) {
        (Ok(()), Outcome::Deleted(left)) => {
            prop_assert_eq!(&read(&tx, model, ids), left);
            let told: BTreeSet<usize> = steps
                .iter()
                .filter_map(|step| match step {
                    DeletionStep::Deleted { id } => Some(ids.number(*id)),
                    _ => None,
                })
                .collect();
            let gone = |n: &usize| model.objects[*n].is_some() && left[*n].is_none();
            let gone = (0..left.len()).filter(gone).collect();
            prop_assert!(!tells || told == gone, "{:?}, not {:?}", told, gone);
            Ok(None)
        }
        (Err(Error::ReferencedObject { id, referrer, full_name, .. }), Outcome::Refused(all)) => {
            let named = (ids.number(id), ids.number(referrer), place(&full_name));
            prop_assert!(all.contains(&named), "{:?} is not among {:?}", named, all);
            let refused = steps.iter().filter_map(|step| match step {
                DeletionStep::Refused { holder, field, target } => {
                    let object_type = tx.object_type(*holder).unwrap();
                    let part = object_type.all_fields().find(|part| part.storage_id == *field);
                    let place = place(&part.unwrap().full_name);
                    Some((ids.number(*target), ids.number(*holder), place))
                }
                _ => None,
            });
            let refused: Vec<_> = refused.collect();
            if tells {
                prop_assert_eq!(refused.first(), Some(&named));
            }
            if how == How::Together {
                prop_assert_eq!(&refused.into_iter().collect::<BTreeSet<_>>(), all);
            }
            prop_assert!(all_pairs(&tx) == before, "it has left something");
            Ok(Some(named))
        }
        (result, expected) => {
            Err(TestCaseError::fail(format!("{how:?}: {result:?}, expected {expected:?}")))
        }
    }
}

fn options(may_delete: bool, may_remove: bool) -> impl Strategy<Value = Options> {
    let actions = [
        Some(Action::Ignore),
        Some(Action::Nullify),
        Some(Action::Exception),
        Some(Action::Exception),
        may_remove.then_some(Action::Remove),
        may_delete.then_some(Action::Delete),
        may_delete.then_some(Action::Delete),
    ];
    let actions: Vec<Action> = actions.into_iter().flatten().collect();
    (prop::sample::select(actions), prop::bool::weighted(0.3))
        .prop_map(|(action, forward)| Options { action, forward })
}

fn kind(may_delete: bool) -> impl Strategy<Value = Kind> {
    let part = move || options(may_delete, true);
    prop_oneof![
        3 => options(may_delete, false).prop_map(Kind::Simple),
        1 => part().prop_map(Kind::Set),
        1 => part().prop_map(Kind::List),
        2 => (part(), part()).prop_map(|(key, value)| Kind::Map(key, value)),
    ]
}

/// Types, the type of each object, and references: holder, field, target, and the other half of a
/// map entry.
fn model() -> impl Strategy<Value = Model> {
    let fields = |may_delete| prop::collection::vec(kind(may_delete), FIELDS);
    let target = || prop_oneof![1 => Just(None), 6 => (0..OBJECTS).prop_map(Some)];
    (
        (fields(true), fields(true), fields(false)),
        prop::collection::vec(prop_oneof![3 => 0..2_usize, 1 => Just(2)], OBJECTS),
        prop::collection::vec((0..OBJECTS, 0..FIELDS, target(), target()), 0..24),
    )
        .prop_map(|((first, second, last), of, references)| {
            let types = vec![first, second, last];
            let empty = |kind: &Kind| match kind {
                Kind::Simple(_) => Content::Simple(None),
                Kind::Set(_) => Content::Set(BTreeSet::new()),
                Kind::List(_) => Content::List(Vec::new()),
                Kind::Map(..) => Content::Map(BTreeMap::new()),
            };
            let object = |of: &usize| {
                Some(Object { of: *of, fields: types[*of].iter().map(empty).collect() })
            };
            let mut objects: Vec<Option<Object>> = of.iter().map(object).collect();
            for (holder, at, one, other) in references {
                let kind = types[of[holder]][at];
                // References that delete forward do not allow objects of the last type.
                let allowed = |options: Options, target: Target| {
                    target.filter(|target| !options.forward || of[*target] != LAST)
                };
                let Some(holder) = &mut objects[holder] else { continue };
                match (kind, &mut holder.fields[at]) {
                    (Kind::Simple(options), Content::Simple(target)) => {
                        *target = allowed(options, one);
                    }
                    (Kind::Set(options), Content::Set(set)) => {
                        set.insert(allowed(options, one));
                    }
                    (Kind::List(options), Content::List(list)) => list.push(allowed(options, one)),
                    (Kind::Map(key, value), Content::Map(map)) => {
                        map.insert(allowed(key, one), allowed(value, other));
                    }
                    _ => unreachable!(),
                }
            }
            Model { types, objects }
        })
}

/// A model, the objects to delete, and several orders of the objects by their IDs.
fn given() -> impl Strategy<Value = (Model, Vec<usize>, Vec<Vec<u8>>)> {
    let orders = prop::collection::vec(prop::collection::vec(any::<u8>(), OBJECTS), ORDERS);
    (model(), prop::collection::vec(0..OBJECTS, 1..4), orders)
}

/// How many random graphs are deleted from. `PERMAZEN_DELETIONS` sets this.
pub(crate) fn graphs(default: u32) -> u32 {
    let wanted = std::env::var("PERMAZEN_DELETIONS").ok();
    wanted.map_or(default, |text| text.parse().expect("PERMAZEN_DELETIONS is a number"))
}

fn cases(default: u32) -> Config {
    Config { source_file: Some(file!()), ..Config::with_cases(graphs(default)) }
}

/// As [`given`], where maps hold most references, and keys mostly become null.
fn given_maps() -> impl Strategy<Value = (Model, Vec<usize>, Vec<Vec<u8>>)> {
    let target = || prop_oneof![1 => Just(None), 6 => (0..OBJECTS).prop_map(Some)];
    let values = || prop_oneof![2 => options(true, true), 1 => options(false, false)];
    let nullify = Options { action: Action::Nullify, forward: false };
    let entries = prop::collection::vec((0..OBJECTS, 1..FIELDS, target(), target()), 12..40);
    (given(), prop::collection::vec(values(), 3 * FIELDS), entries).prop_map(
        move |((mut model, roots, orders), values, entries)| {
            for (at, value) in values.into_iter().enumerate() {
                if at % FIELDS > 0 {
                    let value = Options { forward: false, ..value };
                    model.types[at / FIELDS][at % FIELDS] = Kind::Map(nullify, value);
                }
            }
            for object in model.objects.iter_mut().flatten() {
                object.fields[1..].fill(Content::Map(BTreeMap::new()));
            }
            for (holder, at, key, value) in entries {
                let Some(holder) = &mut model.objects[holder] else { continue };
                let Content::Map(map) = &mut holder.fields[at] else { unreachable!() };
                map.insert(key, value);
            }
            (model, roots, orders)
        },
    )
}

#[test]
fn ids_decide_nothing() {
    let [deleted, refused] = ids_decide_nothing_in(60, given());
    assert!(deleted > refused / 4 && refused > deleted / 16, "{deleted} and {refused}");
}

#[test]
fn ids_decide_nothing_in_maps_whose_keys_become_null() {
    let [deleted, refused] = ids_decide_nothing_in(25, given_maps());
    assert!(deleted > refused / 16 && refused > deleted / 16, "{deleted} and {refused}");
}

/// Returns how often something was deleted, and how often that was refused.
fn ids_decide_nothing_in(
    default: u32,
    given: impl Strategy<Value = (Model, Vec<usize>, Vec<Vec<u8>>)>,
) -> [usize; 2] {
    let counts = std::cell::RefCell::new([0; 2]);
    TestRunner::new(cases(default))
        .run(&given, |(model, roots, orders)| {
            for (roots, hows) in [
                (&roots[..1], &[How::Alone, How::Telling, How::Heard, How::Together][..]),
                (&roots[..], &[How::Together]),
            ] {
                let mut refused = BTreeSet::new();
                for order in &orders {
                    let ids = Ids::new(&model, order);
                    let outcome = model.delete(roots, |n| ids.0[n]);
                    refused.insert(matches!(outcome, Outcome::Refused(_)));
                    let mut named = BTreeSet::new();
                    for how in hows {
                        named.extend(check(&World::new(), (&model, roots, &outcome), &ids, *how)?);
                    }
                    prop_assert!(named.len() <= 1, "several are named: {named:?}");
                }
                prop_assert_eq!(refused.len(), 1, "it depends on the order whether it is refused");
                counts.borrow_mut()[usize::from(refused.contains(&true))] += 1;
            }
            Ok(())
        })
        .unwrap();
    counts.into_inner()
}

#[test]
fn other_stores_decide_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let lmdb = LmdbStore::builder().create(true).durability(Durability::MayLoseEverything);
    let lmdb: Arc<dyn KvDatabase> = Arc::new(lmdb.open(dir.path()).unwrap());
    TestRunner::new(cases(25))
        .run(&given(), |(model, roots, orders)| {
            let ids = Ids::new(&model, &orders[0]);
            let outcome = model.delete(&roots[..1], |n| ids.0[n]);
            let mut named = BTreeSet::new();
            for how in [How::Alone, How::Heard] {
                let tracking = Arc::new(OptimisticDatabase::new(MemoryStore::new()));
                for store in [Arc::clone(&lmdb), tracking] {
                    store.write(|tx| tx.remove_span(KeySpan::FULL)).unwrap();
                    let world = World::on(store);
                    let one = check(&world, (&model, &roots[..1], &outcome), &ids, how)?;
                    named.extend(one);
                }
            }
            prop_assert!(named.len() <= 1, "several are named: {named:?}");
            Ok(())
        })
        .unwrap();
}
