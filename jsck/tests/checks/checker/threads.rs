//! One thread or several threads give the same findings in the same order.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use permazen::ObjId;
use permazen::encoding::Value;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvRead, TxOptions};
use permazen::object::{Database, Migrate, TransactionConfig};
use permazen::schema::SchemaModel;
use permazen_jsck::{Class, Finding, Options, Report, check, check_database};

const SCHEMA: &str = r#"<Schema><ObjectType name="Person">
  <SimpleField name="age" encoding="urn:fdc:permazen.io:2020:int" indexed="true"/>
  <ReferenceField name="friend" inverseDelete="NULLIFY"/>
  <SimpleField name="name" encoding="urn:fdc:permazen.io:2020:String" indexed="true"/>
</ObjectType></Schema>"#;

/// More pairs than are checked in one thread, whatever number of threads is asked for.
const OBJECTS: i32 = 9_000;

fn fill(store: Arc<dyn KvDatabase>) {
    let model = SchemaModel::from_xml(SCHEMA.as_bytes()).expect("a schema");
    let config = TransactionConfig::new(model).expect("a schema");
    let db = Database::new(store);
    let tx = db.begin(&config).expect("begin");
    let mut last = None;
    for n in 0..OBJECTS {
        let id = tx.create("Person").expect("create");
        let name = Value::from(format!("Person {n}").as_str());
        tx.set(id, "name", &name, Migrate::No).expect("set");
        tx.set(id, "age", &Value::Int(n % 90), Migrate::No).expect("set");
        if let Some(friend) = last {
            tx.set(id, "friend", &Value::from(friend), Migrate::No).expect("set");
        }
        last = Some(id);
    }
    tx.commit().expect("commit");
}

/// Objects that no reference needs are read once, whatever the number of threads.
#[test]
fn only_objects_that_must_exist_are_read_twice() {
    const TYPES: &str = r#"<Schema>
      <ObjectType name="City"><SimpleField name="name" encoding="urn:fdc:permazen.io:2020:String"/></ObjectType>
      <ObjectType name="Note"><ReferenceField name="city" allowDeleted="true" inverseDelete="IGNORE"/></ObjectType>
      <ObjectType name="Visit"><SetField name="cities">
        <ReferenceField><ObjectTypes><ObjectType name="City"/></ObjectTypes></ReferenceField>
      </SetField></ObjectType>
    </Schema>"#;
    let store = Arc::new(MemoryStore::new());
    let model = SchemaModel::from_xml(TYPES.as_bytes()).expect("a schema");
    let config = TransactionConfig::new(model).expect("a schema");
    let db = Database::new(Arc::clone(&store) as Arc<dyn KvDatabase>);
    let tx = db.begin(&config).expect("begin");
    let mut gone = None;
    for n in 0..OBJECTS {
        let city = tx.create("City").expect("create");
        tx.set(city, "name", &Value::from(format!("City {n}").as_str()), Migrate::No).expect("set");
        let note = tx.create("Note").expect("create");
        tx.set(note, "city", &Value::from(city), Migrate::No).expect("set");
        let visit = tx.create("Visit").expect("create");
        tx.set_view(visit, "cities", Migrate::No)
            .and_then(|set| set.add(&Value::from(city)))
            .expect("add");
        gone = Some(city);
    }
    tx.commit().expect("commit");
    let gone = gone.expect("a city");
    let mut options = Options::default();
    for is_damaged in [false, true] {
        if is_damaged {
            let mut kv = store.begin(&TxOptions::writing()).expect("begin");
            kv.remove(gone.as_bytes()).expect("remove");
            kv.commit().expect("commit");
        }
        let kv = store.begin(&TxOptions::reading()).expect("begin");
        let (min, max) = gone.storage_id().key_range();
        let count = |span| kv.scan(span, Direction::Forward).expect("scan").count() as u64;
        let (all, cities) = (count(KeySpan::FULL), count(KeySpan::new(&min, Some(&max))));
        for threads in [1, 3] {
            options.threads = NonZeroUsize::new(threads).expect("not zero");
            let (report, findings) = found(&*store, &options);
            // Where something is wrong, more is read.
            assert!(report.reads == all + cities || is_damaged, "{report:?}: {all}, {cities}");
            let classes: Vec<Class> = findings.iter().map(|finding| finding.class).collect();
            let of_visit = classes.iter().filter(|class| **class == Class::DanglingReference);
            assert_eq!(of_visit.count(), usize::from(is_damaged), "{findings:?}");
            assert_eq!(report.is_clean(), !is_damaged);
        }
    }
}

/// Removes every `every`th pair, and damages some values.
fn damage(store: &dyn KvDatabase, every: usize) {
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    let keys: Vec<Vec<u8>> = kv
        .scan(KeySpan::new(&[0, 0x80], None), Direction::Forward)
        .expect("scan")
        .map(|pair| pair.expect("pair").0.into_owned())
        .collect();
    for (n, key) in keys.iter().enumerate().filter(|(n, _)| n % every == every / 2) {
        match n % 3 {
            0 => kv.put(key, &[0xfe, 0x00]),
            _ => kv.remove(key),
        }
        .expect("change");
    }
    kv.commit().expect("commit");
}

fn found(store: &dyn KvDatabase, options: &Options) -> (Report, Vec<Finding>) {
    let mut findings = Vec::new();
    let sink = &mut |finding: &Finding| findings.push(finding.clone());
    let report = check_database(store, options, sink, &mut |_| {}).expect("a report");
    (report, findings)
}

/// How many pairs belong to objects. All objects are of one type.
fn pairs_of_objects(kv: &dyn KvRead) -> u64 {
    let (key, _) = kv.at_least(&[0, 0x80], None).expect("get").expect("an object");
    let id = ObjId::from_bytes(key[3..].try_into().expect("eight bytes")).expect("an id");
    let (min, max) = id.storage_id().key_range();
    kv.scan(KeySpan::new(&min, Some(&max)), Direction::Forward).expect("scan").count() as u64
}

fn compare(store: &dyn KvDatabase) {
    let mut options = Options::default();
    let several = NonZeroUsize::new(3).expect("not zero");
    for every in [usize::MAX, 9_973, 11] {
        if every < usize::MAX {
            damage(store, every);
        }
        let mut alone = Vec::new();
        let kv = store.begin(&TxOptions::reading()).expect("begin");
        options.threads = NonZeroUsize::MIN;
        let report =
            check(&*kv, &options, &mut |finding| alone.push(finding.clone())).expect("a report");
        assert_eq!(found(store, &options), (report, alone.clone()));
        // Each pair is counted once, however often it is read.
        let pairs = kv.scan(KeySpan::FULL, Direction::Forward).expect("scan").count() as u64;
        assert!(report.pairs == pairs && report.reads > pairs, "{report:?} of {pairs} pairs");
        if every == usize::MAX {
            let of_objects = pairs_of_objects(&*kv);
            assert_eq!(report.reads, pairs + of_objects, "{pairs} pairs, {of_objects} of objects");
        }
        options.threads = several;
        assert_eq!(found(store, &options), (report, alone.clone()));
        assert_eq!(report.is_clean(), every == usize::MAX);
        if alone.len() > 5 {
            options.max_findings = 5;
            let (report, five) = found(store, &options);
            assert_eq!(five, alone.get(..5).expect("more than five"));
            assert!(!report.complete);
            options.max_findings = u64::MAX;
        }
    }
    options.threads = several;
    let stop = Arc::new(AtomicBool::new(true));
    options.stop = Some(Arc::clone(&stop));
    assert!(!found(store, &options).0.complete, "stopped before it began");
    stop.store(false, Ordering::Relaxed);
    let mut findings = 0;
    let sink = &mut |_: &Finding| {
        findings += 1;
        stop.store(true, Ordering::Relaxed);
    };
    let report = check_database(store, &options, sink, &mut |_| {}).expect("a report");
    assert!(!report.complete && findings == report.findings, "stopped at a finding");
    stop.store(false, Ordering::Relaxed);
    let mut findings = 0;
    let sink = &mut |_: &Finding| {
        findings += 1;
        stop.store(true, Ordering::Relaxed);
    };
    let kv = store.begin(&TxOptions::reading()).expect("begin");
    let report = check(&*kv, &options, sink).expect("a report");
    assert_eq!((findings, report.findings), (1, 1), "it went on after the first finding");
}

#[test]
fn threads_make_no_difference_on_lmdb() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = LmdbStore::open_or_create(dir.path()).expect("open");
    fill(Arc::new(store.clone()));
    compare(&store);
}

#[test]
fn threads_make_no_difference_in_memory() {
    let store = MemoryStore::new();
    fill(Arc::new(store.clone()));
    compare(&store);
}
