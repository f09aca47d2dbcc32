//! Whatever operation of the store fails while an object is deleted to which many others refer, all
//! of the deletion is made or nothing. With `PERMAZEN_FAULTS=full` each operation fails in turn,
//! and otherwise some, spread evenly.

use std::sync::Arc;

use permazen::ObjId;
use permazen::encoding::Value;
use permazen::kv::fault::{FaultStore, Faults};
use permazen::kv::key::next_key;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{
    Blob, Capabilities, Direction, KeySpan, KvDatabase, KvError, KvRead, KvTransaction, KvWrite,
    Result as KvResult, Scan, TxOptions, Verdict,
};
use permazen::object::{Database, Error, Migrate, Transaction, TransactionConfig};

use crate::failures::{all_pairs, config, planned};
use crate::support::*;

/// A store that removes each pair as soon as it was shown, as LMDB does. If that fails in the
/// middle, some pairs are gone.
struct RemovesAtOnce<D>(D);

struct RemovingTx(Box<dyn KvTransaction + Send>);

impl<D: KvDatabase> KvDatabase for RemovesAtOnce<D> {
    fn begin(&self, options: &TxOptions) -> KvResult<Box<dyn KvTransaction + Send>> {
        Ok(Box::new(RemovingTx(self.0.begin(options)?)))
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }
}

impl KvRead for RemovingTx {
    fn get(&self, key: &[u8]) -> KvResult<Option<Blob<'_>>> {
        self.0.get(key)
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> KvResult<Scan<'a>> {
        self.0.scan(span, direction)
    }
}

impl KvWrite for RemovingTx {
    fn put(&mut self, key: &[u8], value: &[u8]) -> KvResult<()> {
        self.0.put(key, value)
    }

    fn remove(&mut self, key: &[u8]) -> KvResult<()> {
        self.0.remove(key)
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> KvResult<()> {
        self.0.remove_span(span)
    }

    fn remove_where(
        &mut self,
        span: KeySpan<'_>,
        judge: &mut dyn FnMut(&[u8], &[u8]) -> Verdict,
    ) -> KvResult<()> {
        let mut min = span.min.to_vec();
        while let Some((key, value)) = self.0.at_least(&min, span.max)? {
            let (key, value) = (key.into_owned(), value.into_owned());
            min = next_key(&key);
            match judge(&key, &value) {
                Verdict::Remove => self.0.remove(&key)?,
                Verdict::Keep => {}
                Verdict::Stop => break,
            }
        }
        Ok(())
    }
}

impl KvTransaction for RemovingTx {
    fn is_read_only(&self) -> bool {
        self.0.is_read_only()
    }

    fn set_read_only(&mut self) -> KvResult<()> {
        self.0.set_read_only()
    }

    fn commit(self: Box<Self>) -> KvResult<()> {
        self.0.commit()
    }

    fn rollback(self: Box<Self>) {
        self.0.rollback();
    }
}

/// References of all kinds, of which none forbids a deletion: with those, a deletion looks at
/// objects one by one. The fields have the names of what they ask for.
fn schema() -> String {
    let mut fields = String::new();
    for (n, action) in [(0, "NULLIFY"), (1, "DELETE"), (2, "REMOVE")] {
        let id = |part: u32| 20 * (n + 1) + part;
        let reference = |part| {
            let id = id(part);
            format!(r#"<ReferenceField storageId="{id}" inverseDelete="{action}"/>"#)
        };
        let number = |part| {
            let (id, encoding) = (id(part), "urn:fdc:permazen.io:2020:int");
            format!(r#"<SimpleField encoding="{encoding}" storageId="{id}" indexed="true"/>"#)
        };
        if action != "REMOVE" {
            fields += &reference(0).replacen(' ', &format!(r#" name="ref{action}" "#), 1);
        }
        for (kind, name, part, content) in [
            ("SetField", "set", 1, reference(2)),
            ("ListField", "list", 3, reference(4)),
            ("MapField", "byKey", 5, reference(6) + &number(7)),
            ("MapField", "byValue", 8, number(9) + &reference(10)),
        ] {
            let id = id(part);
            fields +=
                &format!(r#"<{kind} name="{name}{action}" storageId="{id}">{content}</{kind}>"#);
        }
    }
    fields += r#"<ReferenceField name="part" storageId="80" inverseDelete="IGNORE" forwardDelete="true"/>"#;
    format!(
        r#"<Schema><ObjectType name="A" storageId="10">{fields}</ObjectType>
<ObjectType name="B" storageId="11">{fields}</ObjectType></Schema>"#
    )
}

fn object(kind: u8, n: u16) -> ObjId {
    let [high, low] = n.to_be_bytes();
    ObjId::from_bytes([kind, 0, 0, 0, 0, 0, high, low]).unwrap()
}

/// Makes `holder` refer to `target` through the field of this name.
fn refer(tx: &Transaction, holder: ObjId, field: &str, target: ObjId) {
    let target = Value::Ref(target);
    let map = || tx.map_view(holder, field, Migrate::No).unwrap();
    if field.starts_with("set") {
        tx.set_view(holder, field, Migrate::No).unwrap().add(&target).unwrap();
    } else if field.starts_with("list") {
        let twice = [target.clone(), Value::Null, target];
        tx.list_view(holder, field, Migrate::No).unwrap().extend(&twice).unwrap();
    } else if field.starts_with("byKey") {
        map().put(&target, &int(1)).unwrap();
    } else if field.starts_with("byValue") {
        map().put(&int(1), &target).unwrap();
        map().put(&int(2), &target).unwrap();
    } else {
        set(tx, holder, field, target);
    }
}

/// A store, and what makes its operations fail.
fn stores() -> [(Arc<dyn KvDatabase>, Faults); 2] {
    let [first, second] = [(); 2].map(|()| FaultStore::new(MemoryStore::new()));
    let faults = [first.faults(), second.faults()];
    let [of_first, of_second] = faults;
    [(Arc::new(first), of_first), (Arc::new(RemovesAtOnce(second)), of_second)]
}

/// One in how many operations fails.
fn one_in(few: u64) -> u64 {
    if std::env::var("PERMAZEN_FAULTS").is_ok_and(|faults| faults == "full") { 1 } else { few }
}

/// The numbers of the operations that fail, one in each run. `which` is the number of the store:
/// other operations fail on each.
fn failing(which: u64, every: u64) -> impl Iterator<Item = u64> {
    (0..).map(move |run| 1 + which * (every / 2) + run * every)
}

/// The object that is deleted.
fn target() -> ObjId {
    object(10, 0)
}

/// Fills a database, and returns how its transactions begin.
fn filled(store: Arc<dyn KvDatabase>, fill: fn(&Transaction)) -> (Database, TransactionConfig) {
    let (db, config) = (Database::new(store), config(&schema()));
    let tx = db.begin(&config).unwrap();
    create(&tx, target());
    fill(&tx);
    tx.commit().unwrap();
    (db, config)
}

/// Some objects of both types for each field; those that are deleted have referrers and parts
/// again.
fn referrers_of_all_kinds(tx: &Transaction) {
    let mut n = 1;
    for action in ["NULLIFY", "DELETE", "REMOVE"] {
        for kind in ["ref", "set", "list", "byKey", "byValue"] {
            let field = format!("{kind}{action}");
            let many = match (kind, action) {
                ("ref", "REMOVE") => continue,
                ("ref", _) => 9,
                _ => 2,
            };
            for count in 0..many {
                // Mostly beside each other, others of another type or far away.
                let id = object(10 + u8::from(count % 5 == 3), n + count % 2 * 1000);
                create(tx, id);
                refer(tx, id, &field, target());
                n += 1;
                if action == "DELETE" && count == 0 {
                    for more in ["refNULLIFY", "refDELETE", "setREMOVE", "byKeyNULLIFY"] {
                        let other = create(tx, object(10, 5000 + n));
                        refer(tx, other, more, id);
                        n += 1;
                    }
                    let part = create(tx, object(11, 5000 + n));
                    set(tx, id, "part", Value::Ref(part));
                }
            }
        }
    }
    // Refers to the target in several ways, and the target to it.
    let last = create(tx, object(11, 9000));
    for field in ["refNULLIFY", "listREMOVE", "setNULLIFY", "byKeyDELETE"] {
        refer(tx, last, field, target());
    }
    refer(tx, target(), "refDELETE", last);
}

/// More than are taken together.
fn very_many_referrers(tx: &Transaction) {
    for n in 1..=1100 {
        refer(tx, create(tx, object(10, n)), "refNULLIFY", target());
        refer(tx, create(tx, object(11, n)), "refDELETE", target());
    }
}

#[test]
fn a_failed_deletion_of_an_object_with_referrers_leaves_everything_as_it_was() {
    for (which, (store, faults)) in (0..).zip(stores()) {
        let (db, config) = filled(store, referrers_of_all_kinds);
        let begin = || db.begin(&config).unwrap();
        let before = all_pairs(&begin());
        let after = {
            let tx = begin();
            assert!(tx.delete(target()).unwrap());
            all_pairs(&tx)
        };
        let mut steps = 0;
        for n in failing(which, one_in(5)) {
            let tx = begin();
            faults.fail_nth(n, planned);
            let result = tx.delete(target());
            let hit = faults.hits() > 0;
            faults.stop();
            if !hit {
                assert!(result.unwrap());
                break;
            }
            steps = n;
            let message = result.unwrap_err().to_string();
            assert!(message.contains("planned failure"), "{n}: {message}");
            assert!(message.contains("A 0a") || message.contains("B 0b"), "{n}: {message}");
            assert!(all_pairs(&tx) == before, "the failure at operation {n} left something");
            // The transaction can be used on.
            if n % 11 == 0 {
                assert!(tx.delete(target()).unwrap());
                assert!(all_pairs(&tx) == after, "another outcome after a failure at {n}");
            }
        }
        assert!(steps > 300, "{steps}");
    }
}

#[test]
fn a_deletion_in_a_store_that_fails_for_good_is_never_committed_in_part() {
    let every = one_in(7);
    for (which, (store, faults)) in (0..).zip(stores()) {
        let (db, config) = filled(store, referrers_of_all_kinds);
        let begin = || db.begin(&config).unwrap();
        let before = all_pairs(&begin());
        let (mut broken, mut steps) = (0, 0);
        for n in failing(which, every) {
            // The transaction of the store is dead after that.
            let tx = begin();
            faults.fail_nth(n, || KvError::Retry("planned".to_owned()));
            let result = tx.delete(target());
            let hit = faults.hits() > 0;
            faults.stop();
            if !hit {
                break;
            }
            steps = n;
            assert!(result.unwrap_err().is_retryable(), "{n}");
            assert!(tx.commit().is_err(), "{n}");
            assert!(all_pairs(&begin()) == before, "the failure at {n} was committed in part");

            // Nothing can be undone either.
            let tx = begin();
            faults.fail_from(n, planned);
            assert!(tx.delete(target()).is_err(), "{n}");
            faults.stop();
            match tx.exists(target()) {
                Err(Error::Broken) => {
                    broken += 1;
                    assert!(matches!(tx.commit(), Err(Error::Broken)), "{n}");
                }
                exists => {
                    assert!(exists.unwrap(), "{n}");
                    tx.commit().unwrap();
                }
            }
            assert!(all_pairs(&begin()) == before, "{n}: a part of it was committed");
        }
        assert!(steps > 300 && broken > 240 / every, "{broken} of {steps}");
    }
}

#[test]
fn a_failed_deletion_of_more_referrers_than_are_taken_together_leaves_everything_as_it_was() {
    for (store, faults) in stores() {
        let (db, config) = filled(store, very_many_referrers);
        let begin = || db.begin(&config).unwrap();
        let before = all_pairs(&begin());
        let (after, operations) = {
            let tx = begin();
            faults.stop();
            assert!(tx.delete(target()).unwrap());
            let operations = faults.operations();
            (all_pairs(&tx), operations)
        };
        // Everywhere, and at both ends.
        let places = (1..=operations).step_by(operations as usize / 6).chain([operations]);
        for n in places {
            let tx = begin();
            faults.fail_nth(n, planned);
            assert!(tx.delete(target()).is_err());
            assert_eq!(faults.hits(), 1);
            faults.stop();
            assert!(all_pairs(&tx) == before, "the failure at operation {n} left something");
            assert!(tx.delete(target()).unwrap());
            assert!(all_pairs(&tx) == after, "another outcome after a failure at {n}");
        }
    }
}
