//! How much an online check reads.

use std::cell::Cell;
use std::sync::Arc;

use permazen::encoding::Value;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{Blob, Direction, KeySpan, KvDatabase, KvError, KvRead, Scan, TxOptions};
use permazen::object::{Database, Migrate, TransactionConfig};
use permazen::schema::SchemaModel;
use permazen_jsck::{OnlineCheck, Options};

/// Counts lookups, and the pairs that scans return.
struct Counting<'k> {
    kv: &'k dyn KvRead,
    reads: &'k Cell<u64>,
}

impl KvRead for Counting<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>, KvError> {
        self.reads.set(self.reads.get() + 1);
        self.kv.get(key)
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>, KvError> {
        let scan = self.kv.scan(span, direction)?;
        Ok(Box::new(scan.inspect(|_| self.reads.set(self.reads.get() + 1))))
    }
}

const SCHEMA: &str = r#"<Schema><ObjectType name="Note"><ListField name="words">
  <SimpleField encoding="urn:fdc:permazen.io:2020:int" indexed="true"/>
</ListField></ObjectType></Schema>"#;

/// Two objects that each have all the values. In the index, entries of the one and of the other
/// alternate.
#[test]
fn large_collections_are_read_a_few_times_only() {
    const ELEMENTS: i32 = 500;
    let store = MemoryStore::new();
    let model = SchemaModel::from_xml(SCHEMA.as_bytes()).expect("a schema");
    let db = Database::new(Arc::new(store.clone()));
    let tx = db.begin(&TransactionConfig::new(model).expect("a schema")).expect("begin");
    for _ in 0..2 {
        let id = tx.create("Note").expect("create");
        for n in 0..ELEMENTS {
            let list = tx.list_view(id, "words", Migrate::No).expect("a list");
            list.push(&Value::Int(n)).expect("add");
        }
    }
    tx.commit().expect("commit");
    let kv = store.begin(&TxOptions::reading()).expect("begin");
    let reads = Cell::new(0);
    let counting = Counting { kv: &*kv, reads: &reads };
    let check = OnlineCheck::new(Options::default());
    let slice = check.slice(&counting, &[], u64::MAX, &mut |_| {});
    let slice = slice.expect("a slice");
    assert!(slice.complete && slice.findings == 0);
    assert!(slice.pairs > 4 * ELEMENTS as u64, "{}", slice.pairs);
    assert!(reads.get() < 4 * slice.pairs, "{} reads of {} pairs", reads.get(), slice.pairs);
}
