//! Random operations on objects of two schemas that refer to each other, compared with a simple
//! model. The checker finds nothing after any commit. One database in five is a page of a ledger,
//! where in the end the checker looks at each old commit too. `PERMAZEN_OPERATIONS` sets about how
//! many operations are made (12,000), and `PERMAZEN_SEED` which ones.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use permazen::ObjId;
use permazen::encoding::Value;
use permazen::kv::KvDatabase;
use permazen::kv::memory::MemoryStore;
use permazen::object::{Database, Error, Migrate, Transaction, TransactionConfig};
use permazen::schema::SchemaModel;
use permazen_tests::on_page;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};

/// Stands for null, which sorts last.
const NULL: u8 = 0xff;
/// Objects are numbered from 1 to this.
const OBJECTS: u8 = 8;

fn schema(version: u8) -> TransactionConfig {
    let (r, list, indexed) =
        if version == 1 { ("NULLIFY", "NULLIFY", "true") } else { ("DELETE", "REMOVE", "false") };
    let extra = if version == 2 {
        r#"<SimpleField name="extra" encoding="urn:fdc:permazen.io:2020:int" storageId="40" indexed="true"/>"#
    } else {
        ""
    };
    let xml = format!(
        r#"<Schema><ObjectType name="A" storageId="10">{extra}
<SimpleField name="i" encoding="urn:fdc:permazen.io:2020:int" storageId="11" indexed="{indexed}"/>
<ReferenceField name="r" storageId="12" inverseDelete="{r}"/>
<ReferenceField name="d" storageId="13" inverseDelete="DELETE"/>
<ReferenceField name="x" storageId="14" inverseDelete="EXCEPTION"/>
<ReferenceField name="f" storageId="15" inverseDelete="NULLIFY" forwardDelete="true"/>
<SetField name="set" storageId="20"><ReferenceField storageId="21" inverseDelete="REMOVE"/></SetField>
<ListField name="list" storageId="22"><ReferenceField storageId="23" inverseDelete="{list}"/></ListField>
<MapField name="keys" storageId="24"><ReferenceField storageId="25" inverseDelete="NULLIFY"/><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="26" indexed="{indexed}"/></MapField>
<MapField name="vals" storageId="27"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="28"/><ReferenceField storageId="29" inverseDelete="REMOVE"/></MapField>
<CompositeIndex name="ir" storageId="30"><Field name="i"/><Field name="r"/></CompositeIndex>
</ObjectType></Schema>"#
    );
    TransactionConfig::new(SchemaModel::from_xml(xml.as_bytes()).unwrap()).unwrap()
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Object {
    version: u8,
    i: i32,
    /// r, d, x and f
    refs: [u8; 4],
    set: BTreeSet<u8>,
    list: Vec<u8>,
    keys: BTreeMap<u8, i32>,
    vals: BTreeMap<i32, u8>,
}

const REFS: [&str; 4] = ["r", "d", "x", "f"];

impl Object {
    fn new(version: u8) -> Self {
        Object {
            version,
            i: 0,
            refs: [NULL; 4],
            set: BTreeSet::new(),
            list: Vec::new(),
            keys: BTreeMap::new(),
            vals: BTreeMap::new(),
        }
    }

    /// The effects of the deletion of `gone`, except for further deletions. `had_null`: a key has
    /// become null in the same deletion before. Returns whether one does so.
    fn forget(&mut self, gone: u8, had_null: bool) -> bool {
        let nullified: &[usize] = if self.version == 1 { &[0, 3] } else { &[3] };
        for &at in nullified {
            if self.refs[at] == gone {
                self.refs[at] = NULL;
            }
        }
        self.set.remove(&gone);
        if self.version == 1 {
            self.list.iter_mut().filter(|target| **target == gone).for_each(|t| *t = NULL);
        } else {
            self.list.retain(|target| *target != gone);
        }
        let value = self.keys.remove(&gone);
        if let Some(value) = value {
            // Of several keys that become null together, the one with the lowest value stays.
            let there = self.keys.get(&NULL).filter(|_| had_null);
            let lowest = there.map_or(value, |there| value.min(*there));
            self.keys.insert(NULL, lowest);
        }
        self.vals.retain(|_, target| *target != gone);
        value.is_some()
    }

    fn goes_with(&self, gone: u8) -> bool {
        self.refs[1] == gone || (self.version == 2 && self.refs[0] == gone)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Model(BTreeMap<u8, Object>);

impl Model {
    /// `None` if the deletion is refused.
    fn delete(&self, first: u8) -> Option<Model> {
        let mut model = self.clone();
        let mut todo = VecDeque::from([first]);
        let mut had_null = BTreeSet::new();
        while let Some(id) = todo.pop_front() {
            if !model.0.contains_key(&id) {
                continue;
            }
            let object = model.0.remove(&id)?;
            if object.refs[3] != NULL {
                todo.push_back(object.refs[3]);
            }
            for (&holder, object) in &mut model.0 {
                if object.forget(id, had_null.contains(&holder)) {
                    had_null.insert(holder);
                }
            }
            // the holders through r come before those through d
            for at in [0, 1] {
                let holders = model.0.iter().filter(|(_, o)| o.refs[at] == id && o.goes_with(id));
                todo.extend(holders.map(|(holder, _)| *holder));
            }
        }
        let gone = |id: &u8| self.0.contains_key(id) && !model.0.contains_key(id);
        let refused = model.0.values().any(|object| gone(&object.refs[2]));
        (!refused).then_some(model)
    }
}

#[derive(Debug, Clone)]
enum Step {
    Create(u8),
    Delete(u8),
    Int(u8, i32),
    Ref(u8, usize, u8),
    SetAdd(u8, u8),
    SetRemove(u8, u8),
    ListInsert(u8, u8, u8),
    ListRemove(u8, u8),
    KeysPut(u8, u8, i32),
    KeysRemove(u8, u8),
    ValsPut(u8, i32, u8),
    ValsRemove(u8, i32),
    Migrate(u8),
    Copy(u8, u8),
    Commit(u8),
    RollBack(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let id = 1..=OBJECTS;
    let target = prop_oneof![8 => 1..=OBJECTS, 1 => Just(NULL)];
    let small = 0i32..4;
    let step = prop_oneof![
        10 => id.clone().prop_map(Step::Create),
        3 => id.clone().prop_map(Step::Delete),
        3 => (id.clone(), small.clone()).prop_map(|(a, b)| Step::Int(a, b)),
        10 => (id.clone(), 0usize..4, target.clone()).prop_map(|(a, b, c)| Step::Ref(a, b, c)),
        4 => (id.clone(), target.clone()).prop_map(|(a, b)| Step::SetAdd(a, b)),
        1 => (id.clone(), target.clone()).prop_map(|(a, b)| Step::SetRemove(a, b)),
        6 => (id.clone(), any::<u8>(), target.clone())
            .prop_map(|(a, b, c)| Step::ListInsert(a, b, c)),
        1 => (id.clone(), any::<u8>()).prop_map(|(a, b)| Step::ListRemove(a, b)),
        4 => (id.clone(), target.clone(), small.clone())
            .prop_map(|(a, b, c)| Step::KeysPut(a, b, c)),
        1 => (id.clone(), target.clone()).prop_map(|(a, b)| Step::KeysRemove(a, b)),
        4 => (id.clone(), small.clone(), target).prop_map(|(a, b, c)| Step::ValsPut(a, b, c)),
        1 => (id.clone(), small).prop_map(|(a, b)| Step::ValsRemove(a, b)),
        3 => id.clone().prop_map(Step::Migrate),
        1 => (id.clone(), id).prop_map(|(a, b)| Step::Copy(a, b)),
        2 => (1u8..=2).prop_map(Step::Commit),
        1 => (1u8..=2).prop_map(Step::RollBack),
    ];
    prop::collection::vec(step, 1..250)
}

fn id(n: u8) -> ObjId {
    ObjId::from_bytes([0x0a, 0, 0, 0, 0, 0, 0, n]).unwrap()
}

fn value(n: u8) -> Value {
    if n == NULL { Value::Null } else { Value::Ref(id(n)) }
}

fn number(value: &Value) -> u8 {
    match value {
        Value::Ref(id) => id.to_bytes()[7],
        _ => NULL,
    }
}

/// The object as the database has it.
fn read(tx: &Transaction, n: u8) -> Object {
    let id = id(n);
    let get = |field: &str| tx.get(id, field, Migrate::No).unwrap();
    let list = tx.list_view(id, "list", Migrate::No).unwrap().to_vec().unwrap();
    let set = tx.set_view(id, "set", Migrate::No).unwrap().to_vec().unwrap();
    let keys = tx.map_view(id, "keys", Migrate::No).unwrap().to_vec().unwrap();
    let vals = tx.map_view(id, "vals", Migrate::No).unwrap().to_vec().unwrap();
    let int = |value: &Value| value.get::<i32>().unwrap();
    Object {
        version: if tx.object_type(id).unwrap().field("extra").is_some() { 2 } else { 1 },
        i: int(&get("i")),
        refs: REFS.map(|field| number(&get(field))),
        set: set.iter().map(number).collect(),
        list: list.iter().map(number).collect(),
        keys: keys.iter().map(|(key, value)| (number(key), int(value))).collect(),
        vals: vals.iter().map(|(key, value)| (int(key), number(value))).collect(),
    }
}

/// Does a step on both sides. Both must agree on whether it is possible.
fn apply(tx: &Transaction, version: u8, model: &mut Model, step: &Step) {
    let before = model.clone();
    let there = |n: u8| before.0.contains_key(&n);
    // Whether `n` may refer to `target`.
    let may = |n: u8, target: u8| there(n) && (target == NULL || target == n || there(target));
    let object = |model: &mut Model, n: u8, change: &dyn Fn(&mut Object)| {
        change(model.0.get_mut(&n).unwrap());
    };
    let (expected, result): (bool, Result<(), Error>) = match *step {
        Step::Create(n) => {
            let created = tx.create_with_id(id(n)).unwrap();
            assert_eq!(created, !there(n));
            model.0.entry(n).or_insert_with(|| Object::new(version));
            (true, Ok(()))
        }
        Step::Delete(n) => {
            let after = model.delete(n);
            let result = tx.delete(id(n));
            if let Ok(deleted) = result {
                assert_eq!(deleted, there(n));
            }
            let expected = after.is_some();
            *model = after.unwrap_or_else(|| before.clone());
            (expected, result.map(drop))
        }
        Step::Int(n, i) => {
            if there(n) {
                object(model, n, &|o| o.i = i);
            }
            (there(n), tx.set(id(n), "i", &Value::Int(i), Migrate::No))
        }
        Step::Ref(n, at, target) => {
            if may(n, target) {
                object(model, n, &|o| o.refs[at] = target);
            }
            (may(n, target), tx.set(id(n), REFS[at], &value(target), Migrate::No))
        }
        Step::SetAdd(n, target) if there(n) => {
            if may(n, target) {
                object(model, n, &|o| {
                    o.set.insert(target);
                });
            }
            let set = tx.set_view(id(n), "set", Migrate::No).unwrap();
            (may(n, target), set.add(&value(target)).map(drop))
        }
        Step::SetRemove(n, target) if there(n) => {
            object(model, n, &|o| {
                o.set.remove(&target);
            });
            let set = tx.set_view(id(n), "set", Migrate::No).unwrap();
            (true, set.remove(&value(target)).map(drop))
        }
        Step::ListInsert(n, at, target) if there(n) => {
            let at = usize::from(at) % (before.0[&n].list.len() + 1);
            if may(n, target) {
                object(model, n, &|o| o.list.insert(at, target));
            }
            let list = tx.list_view(id(n), "list", Migrate::No).unwrap();
            (may(n, target), list.insert(at as u32, &value(target)))
        }
        Step::ListRemove(n, at) if there(n) && !before.0[&n].list.is_empty() => {
            let at = usize::from(at) % before.0[&n].list.len();
            object(model, n, &|o| {
                o.list.remove(at);
            });
            let list = tx.list_view(id(n), "list", Migrate::No).unwrap();
            (true, list.remove(at as u32).map(drop))
        }
        Step::KeysPut(n, key, i) if there(n) => {
            if may(n, key) {
                object(model, n, &|o| {
                    o.keys.insert(key, i);
                });
            }
            let map = tx.map_view(id(n), "keys", Migrate::No).unwrap();
            (may(n, key), map.put(&value(key), &Value::Int(i)).map(drop))
        }
        Step::KeysRemove(n, key) if there(n) => {
            object(model, n, &|o| {
                o.keys.remove(&key);
            });
            let map = tx.map_view(id(n), "keys", Migrate::No).unwrap();
            (true, map.remove(&value(key)).map(drop))
        }
        Step::ValsPut(n, key, target) if there(n) => {
            if may(n, target) {
                object(model, n, &|o| {
                    o.vals.insert(key, target);
                });
            }
            let map = tx.map_view(id(n), "vals", Migrate::No).unwrap();
            (may(n, target), map.put(&Value::Int(key), &value(target)).map(drop))
        }
        Step::ValsRemove(n, key) if there(n) => {
            object(model, n, &|o| {
                o.vals.remove(&key);
            });
            let map = tx.map_view(id(n), "vals", Migrate::No).unwrap();
            (true, map.remove(&Value::Int(key)).map(drop))
        }
        Step::Migrate(n) => {
            if there(n) {
                object(model, n, &|o| o.version = version);
            }
            (there(n), tx.migrate(id(n)).map(drop))
        }
        Step::Copy(from, to) => {
            if there(from) {
                let mut copy = before.0[&from].clone();
                let exchange = |target: &mut u8| {
                    if *target == from {
                        *target = to;
                    }
                };
                copy.refs.iter_mut().for_each(exchange);
                copy.list.iter_mut().for_each(exchange);
                copy.vals.values_mut().for_each(exchange);
                let exchanged = |target: u8| if target == from { to } else { target };
                copy.set = copy.set.into_iter().map(exchanged).collect();
                // If two entries have the same key, the one copied last stays.
                copy.keys = copy.keys.into_iter().map(|(k, v)| (exchanged(k), v)).collect();
                model.0.insert(to, copy);
            }
            let mut ids = permazen::object::IdMap::from([(id(from), Some(id(to)))]);
            let mut options = permazen::object::CopyOptions::new().mapping_ids(&mut ids);
            (there(from), tx.copy_to(id(from), tx, &mut options).map(drop))
        }
        _ => (true, Ok(())),
    };
    match result {
        Ok(()) => assert!(expected, "{step:?} was possible"),
        Err(Error::DeletedObject { .. } | Error::ReferencedObject { .. }) => {
            assert!(!expected, "{step:?}: {result:?}");
        }
        Err(error) => panic!("{step:?}: {error}"),
    }
}

fn compare(tx: &Transaction, model: &Model) {
    let found: BTreeMap<u8, Object> =
        (1..=OBJECTS).filter(|n| tx.exists(id(*n)).unwrap()).map(|n| (n, read(tx, n))).collect();
    assert_eq!(found, model.0);
    let findings = tx
        .read_pairs(|kv| {
            let mut findings = Vec::new();
            let options = permazen_jsck::Options::default();
            permazen_jsck::check(kv, &options, &mut |finding| findings.push(finding.to_string()))
                .unwrap();
            Ok(findings)
        })
        .unwrap();
    assert!(findings.is_empty(), "{findings:#?}");
}

/// Does the steps on a page, or else in the memory store. Returns how many old commits were
/// checked.
fn run(on_a_page: bool, steps: &[Step]) -> u64 {
    let page = on_a_page.then(|| on_page::new_page().unwrap());
    let store: Arc<dyn KvDatabase> = match &page {
        Some(page) => on_page::main_branch(page).unwrap(),
        None => Arc::new(MemoryStore::new()),
    };
    let db = Database::new(store);
    let schemas = [schema(1), schema(2)];
    let mut version = 1;
    let mut committed = Model::default();
    let mut model = Model::default();
    let mut tx = db.begin(&schemas[0]).unwrap();
    for step in steps {
        match *step {
            Step::Commit(next) | Step::RollBack(next) => {
                if matches!(step, Step::Commit(_)) {
                    tx.commit().unwrap();
                    committed = model.clone();
                } else {
                    tx.rollback().unwrap();
                    model = committed.clone();
                }
                version = next;
                tx = db.begin(&schemas[usize::from(next) - 1]).unwrap();
                compare(&tx, &model);
            }
            _ => apply(&tx, version, &mut model, step),
        }
    }
    compare(&tx, &model);
    tx.commit().unwrap();
    page.map_or(0, |page| on_page::check_commits(&page, 1).unwrap().old)
}

/// A number from the environment.
fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

#[test]
fn objects_agree_with_a_naive_model() {
    // A case has 125 steps on average.
    let operations = number_from("PERMAZEN_OPERATIONS").unwrap_or(12_000);
    let mut config = Config { max_shrink_iters: 4000, ..Config::default() };
    config.cases = u32::try_from(operations.div_ceil(125)).unwrap();
    if let Some(seed) = number_from("PERMAZEN_SEED") {
        config.rng_seed = RngSeed::Fixed(seed);
    }
    config.source_file = Some(file!());
    let (cases, old_commits) = (config.cases, Cell::new(0));
    // A failure is shown in the memory store if it happens there too.
    let strategy = (0_u8..5, steps());
    let one = |(store, steps): (u8, Vec<Step>)| -> Result<(), TestCaseError> {
        old_commits.set(old_commits.get() + run(store == 4, &steps));
        Ok(())
    };
    TestRunner::new(config).run(&strategy, one).unwrap();
    let old_commits = old_commits.get();
    println!("{cases} databases, {old_commits} old commits of pages were checked");
    assert!(old_commits > u64::from(cases) / 8 || cases < 50, "{old_commits} old commits");
}
