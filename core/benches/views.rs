//! Index views, enumeration and collections, and the same work done by hand on the store.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::ops::Bound;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use permazen::encoding::Value;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvTransaction, TxOptions};
use permazen::object::{Database, Migrate, TransactionConfig};
use permazen::schema::SchemaModel;
use permazen::{ObjId, StorageId};

const SCHEMA: &str = r#"<Schema><ObjectType name="Foo" storageId="10">
  <SimpleField name="i" encoding="urn:fdc:permazen.io:2020:int" storageId="11" indexed="true"/>
  <SimpleField name="s" encoding="urn:fdc:permazen.io:2020:String" storageId="12"/>
  <ListField name="list" storageId="22"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="23"/></ListField>
  <SetField name="set" storageId="20"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="21" indexed="true"/></SetField>
</ObjectType></Schema>"#;

const OBJECTS: i32 = 100_000;

fn number(n: i32) -> ObjId {
    let mut bytes = [0x0a, 0, 0, 0, 0, 0, 0, 0];
    bytes[4..].copy_from_slice(&n.to_be_bytes());
    ObjId::from_bytes(bytes).unwrap()
}

fn views(c: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let store =
        LmdbStore::builder().create(true).map_size(1 << 30).open(dir.path().join("db")).unwrap();
    let kv: Arc<dyn KvDatabase> = Arc::new(store);
    let db = Database::new(kv.clone());
    let model = SchemaModel::from_xml(SCHEMA.as_bytes()).unwrap();
    let config = TransactionConfig::new(model).unwrap();
    let tx = db.begin(&config).unwrap();
    for n in 0..OBJECTS {
        tx.create_with_id(number(n)).unwrap();
        tx.set(number(n), "i", &Value::Int(n % 1000), Migrate::No).unwrap();
        tx.set(number(n), "s", &Value::from("some text"), Migrate::No).unwrap();
    }
    let words: Vec<Value> = (0..OBJECTS).map(|n| Value::from(n.to_string())).collect();
    let set = tx.set_view(number(0), "set", Migrate::No).unwrap();
    for n in 0..OBJECTS {
        set.add(&Value::Int(n)).unwrap();
    }
    tx.list_view(number(0), "list", Migrate::No).unwrap().extend(&words).unwrap();
    tx.commit().unwrap();

    let by_hand = |kv: &dyn KvTransaction, min: &[u8], max: &[u8], direction: Direction| {
        let mut sum = 0u64;
        for pair in kv.scan(KeySpan::new(min, Some(max)), direction).unwrap() {
            let (key, _) = pair.unwrap();
            let id: [u8; 8] = key[key.len() - 8..].try_into().unwrap();
            sum = sum.wrapping_add(u64::from_be_bytes(id));
        }
        sum
    };
    let add = |sum: u64, id: permazen::object::Result<ObjId>| {
        sum.wrapping_add(u64::from_be_bytes(id.unwrap().to_bytes()))
    };
    let tx = db.begin(&config).unwrap();
    let sid = |n| StorageId::new(n).unwrap();

    let mut group = c.benchmark_group("ids of an index, 100000 entries");
    group.bench_function("view", |b| {
        let index = tx.simple_index(sid(11)).unwrap();
        b.iter(|| index.ids().fold(0, add));
    });
    group.bench_function("view backwards", |b| {
        let index = tx.simple_index(sid(11)).unwrap();
        b.iter(|| index.ids().rev().fold(0, add));
    });
    group.bench_function("view with values", |b| {
        let index = tx.simple_index(sid(11)).unwrap();
        b.iter(|| {
            index.iter_with(|entry| Ok((entry.value(0)?, entry.id()?))).map(Result::unwrap).count()
        });
    });
    drop(tx);
    group.bench_function("by hand", |b| {
        let kv = kv.begin(&TxOptions::default()).unwrap();
        b.iter(|| by_hand(&*kv, &[11], &[12], Direction::Forward));
    });
    group.finish();

    let tx = db.begin(&config).unwrap();
    let mut group = c.benchmark_group("ids of one value, 100 entries");
    group.bench_function("view", |b| {
        let index = tx.simple_index(sid(11)).unwrap();
        b.iter(|| index.get(black_box(&[Value::Int(7)])).unwrap().iter().fold(0, add));
    });
    group.bench_function("query and view", |b| {
        b.iter(|| {
            let index = tx.simple_index(sid(11)).unwrap();
            index.get(black_box(&[Value::Int(7)])).unwrap().iter().fold(0, add)
        });
    });
    drop(tx);
    group.bench_function("by hand", |b| {
        let kv = kv.begin(&TxOptions::default()).unwrap();
        b.iter(|| by_hand(&*kv, black_box(&[11, 0x86]), &[11, 0x87], Direction::Forward));
    });
    group.finish();

    let tx = db.begin(&config).unwrap();
    let mut group = c.benchmark_group("distinct values of an index, 1000 of 100000");
    group.bench_function("view", |b| {
        let values = tx.simple_index(sid(11)).unwrap().values();
        b.iter(|| values.count().unwrap());
    });
    group.finish();

    let mut group = c.benchmark_group("all objects of a type, 100000");
    group.bench_function("view", |b| {
        let objects = tx.objects("Foo").unwrap();
        b.iter(|| objects.iter().fold(0, add));
    });
    group.finish();

    let mut group = c.benchmark_group("set of 100000 ints");
    group.bench_function("iterate decoded", |b| {
        let set = tx.set_view(number(0), "set", Migrate::No).unwrap();
        b.iter(|| set.iter().map(Result::unwrap).count());
    });
    group.bench_function("iterate a range of 100", |b| {
        let set = tx.set_view(number(0), "set", Migrate::No).unwrap();
        b.iter(|| {
            let bounds = (Bound::Included(&Value::Int(500)), Bound::Excluded(&Value::Int(600)));
            set.range(bounds.0, bounds.1).unwrap().iter().map(Result::unwrap).count()
        });
    });
    group.finish();

    let mut group = c.benchmark_group("list of 100000 strings");
    group.bench_function("length", |b| {
        let list = tx.list_view(number(0), "list", Migrate::No).unwrap();
        b.iter(|| list.len().unwrap());
    });
    group.bench_function("get", |b| {
        let list = tx.list_view(number(0), "list", Migrate::No).unwrap();
        b.iter(|| list.get(black_box(50_000)).unwrap());
    });
    group.bench_function("push and pop", |b| {
        let list = tx.list_view(number(0), "list", Migrate::No).unwrap();
        b.iter(|| {
            list.push(&words[7]).unwrap();
            list.pop().unwrap()
        });
    });
    group.bench_function("insert and remove 1000 before the end", |b| {
        let list = tx.list_view(number(0), "list", Migrate::No).unwrap();
        b.iter(|| {
            list.insert(99_000, &words[7]).unwrap();
            list.remove(99_000).unwrap()
        });
    });
    group.finish();
    drop(tx);

    let mut kv = kv.begin(&TxOptions::default()).unwrap();
    let mut group = c.benchmark_group("list of 100000 strings, by hand");
    group.bench_function("put and remove", |b| {
        let key = [&number(0).to_bytes()[..], &[22, 0xfd, 0, 0x85, 0xf0]].concat();
        b.iter(|| {
            kv.put(&key, b"7\0").unwrap();
            kv.remove(&key).unwrap();
        });
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(std::time::Duration::from_secs(1))
        .warm_up_time(std::time::Duration::from_millis(300));
    targets = views
}
criterion_main!(benches);
