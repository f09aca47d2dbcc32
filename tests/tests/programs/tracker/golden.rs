//! A database that Permazen for Java wrote, with objects in three versions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use permazen::encoding::Value;
use permazen::encoding::number::BigDecimal;
use permazen::encoding::time::Instant;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{KvDatabase, TxOptions};
use permazen::model::{MigrationEnd, Refusal};
use permazen::object::FieldValue;
use permazen::{
    Counter, Error, Model, OldValues, Permazen, PermazenEnum, PermazenObject, Ref, Result, Tx,
};
use permazen_tests::digest;
use permazen_tests::files::data_dir;
use permazen_tests::scratch::Scratch;

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Active,
    Paused,
    Closed,
}

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "nameAge", fields(name, age)))]
#[permazen(composite(name = "statusCode", fields(status, code)))]
struct Customer {
    #[permazen(indexed)]
    name: Option<String>,
    age: Option<i32>,
    #[permazen(indexed)]
    city: Option<String>,
    #[permazen(indexed)]
    code: Option<String>,
    #[permazen(indexed)]
    email: Option<String>,
    limits: BTreeMap<Option<String>, Option<i32>>,
    #[permazen(element(indexed))]
    marks: BTreeSet<Option<i64>>,
    #[permazen(element(indexed))]
    notes: Vec<Option<String>>,
    #[permazen(inverse_delete = "nullify")]
    origin: Option<Ref<Customer>>,
    score: Counter,
    #[permazen(indexed)]
    status: Option<Status>,
}

#[derive(PermazenObject, Debug)]
struct Invoice {
    #[permazen(indexed)]
    amount: Option<BigDecimal>,
    #[permazen(indexed)]
    number: i64,
    #[permazen(inverse_delete = "delete")]
    order: Option<Ref<Order>>,
}

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "byCustomer", fields(customer, placed)))]
#[permazen(composite(name = "byTotal", fields(total, customer, placed)))]
#[allow(clippy::duplicated_attributes)]
struct Order {
    #[permazen(inverse_delete = "delete")]
    customer: Option<Ref<Customer>>,
    #[permazen(element(indexed))]
    lines: Vec<Option<String>>,
    #[permazen(indexed)]
    placed: Option<Instant>,
    total: Option<String>,
}

#[derive(PermazenObject, Debug)]
struct Tag {
    uses: Counter,
    #[permazen(indexed)]
    word: Option<String>,
}

/// The same models, with everything that may go or is carried over.
mod lenient {
    use super::*;

    /// The constants of all versions.
    #[derive(PermazenEnum, Debug, Clone, Copy)]
    enum AnyStatus {
        New,
        Active,
        Paused,
        Gone,
        Closed,
    }

    fn status(old: &OldValues<'_>) -> Result<Option<Status>> {
        let status = old.take::<Option<AnyStatus>>("status")?;
        Ok(status.map(|status| match status {
            AnyStatus::New | AnyStatus::Active => Status::Active,
            AnyStatus::Paused => Status::Paused,
            AnyStatus::Gone | AnyStatus::Closed => Status::Closed,
        }))
    }

    #[derive(PermazenObject, Debug)]
    #[permazen(composite(name = "nameAge", fields(name, age)))]
    #[permazen(composite(name = "statusCode", fields(status, code)))]
    #[permazen(removed("phone", "vip"))]
    #[allow(clippy::duplicated_attributes)]
    pub(super) struct Customer {
        #[permazen(indexed)]
        pub(super) name: Option<String>,
        pub(super) age: Option<i32>,
        #[permazen(indexed)]
        pub(super) city: Option<String>,
        #[permazen(indexed)]
        pub(super) code: Option<String>,
        #[permazen(indexed)]
        pub(super) email: Option<String>,
        pub(super) limits: BTreeMap<Option<String>, Option<i32>>,
        #[permazen(element(indexed))]
        pub(super) marks: BTreeSet<Option<i64>>,
        #[permazen(element(indexed))]
        pub(super) notes: Vec<Option<String>>,
        #[permazen(inverse_delete = "nullify", upgrade = "lossy")]
        pub(super) origin: Option<Ref<Customer>>,
        pub(super) score: Counter,
        #[permazen(indexed, upgrade_with = status)]
        pub(super) status: Option<Status>,
    }

    #[derive(PermazenObject, Debug)]
    pub(super) struct Invoice {
        #[permazen(indexed)]
        pub(super) amount: Option<BigDecimal>,
        #[permazen(indexed)]
        pub(super) number: i64,
        #[permazen(inverse_delete = "delete")]
        pub(super) order: Option<Ref<Order>>,
    }

    #[derive(PermazenObject, Debug)]
    #[permazen(composite(name = "byCustomer", fields(customer, placed)))]
    #[permazen(composite(name = "byTotal", fields(total, customer, placed)))]
    #[allow(clippy::duplicated_attributes)]
    pub(super) struct Order {
        #[permazen(inverse_delete = "delete")]
        pub(super) customer: Option<Ref<Customer>>,
        #[permazen(element(indexed))]
        pub(super) lines: Vec<Option<String>>,
        #[permazen(indexed)]
        pub(super) placed: Option<Instant>,
        pub(super) total: Option<String>,
    }
}

/// A copy of the database.
fn copy() -> (Arc<dyn KvDatabase>, Scratch) {
    let scratch = Scratch::lmdb(&data_dir().join("databases/evolution")).unwrap();
    (Arc::new(LmdbStore::open(scratch.path()).unwrap()), scratch)
}

/// The models have the schema that is recorded last, so that nothing is recorded.
fn strict(store: &Arc<dyn KvDatabase>) -> Permazen {
    Permazen::builder_shared(Arc::clone(store))
        .model::<Customer>()
        .model::<Invoice>()
        .model::<Order>()
        .model::<Tag>()
        .allow_new_schema(false)
        .build()
        .unwrap()
}

fn lenient(store: &Arc<dyn KvDatabase>) -> Permazen {
    Permazen::builder_shared(Arc::clone(store))
        .model::<lenient::Customer>()
        .model::<lenient::Invoice>()
        .model::<lenient::Order>()
        .model::<Tag>()
        .allow_new_schema(false)
        .build()
        .unwrap()
}

/// All pairs.
fn pairs(store: &Arc<dyn KvDatabase>) -> Vec<String> {
    digest::pairs(&*store.begin(&TxOptions::reading()).unwrap())
        .unwrap_or_else(|stop| panic!("{stop:?}"))
}

/// Our checker finds nothing.
fn check(store: &Arc<dyn KvDatabase>) {
    let kv = store.begin(&TxOptions::reading()).unwrap();
    let mut findings = Vec::new();
    let mut sink = |finding: &permazen_jsck::Finding| findings.push(finding.to_string());
    permazen_jsck::check(&*kv, &permazen_jsck::Options::default(), &mut sink).unwrap();
    assert_eq!(findings, Vec::<String>::new());
}

/// How many objects of a model load, and how often which field keeps one from it.
fn load_all<M: Model>(tx: &Tx, refused: &mut BTreeMap<String, usize>) -> Result<usize> {
    let mut loaded = 0;
    for object in tx.all::<M>()? {
        match object?.load() {
            Ok(_) => loaded += 1,
            Err(Error::Refused(refusal)) => note(refused, &refusal),
            Err(error) => return Err(error),
        }
    }
    Ok(loaded)
}

fn note(refused: &mut BTreeMap<String, usize>, refusal: &Refusal) {
    for loss in &refusal.losses {
        let field = format!("{}.{}", refusal.type_name, loss.field);
        *refused.entry(field).or_default() += 1;
    }
}

/// How often which field must keep an object in its schema.
fn expected_refusals(tx: &Tx) -> Result<BTreeMap<String, usize>> {
    let legacy = tx.untyped()?.ids().to_vec()?;
    let mut expected = BTreeMap::new();
    for customer in tx.all::<Customer>()? {
        let customer = tx.any(customer?.id());
        for (field, value) in customer.fields()? {
            let FieldValue::Simple(value) = value else { continue };
            let lost = match (&*field, value) {
                ("phone", Value::String(_)) | ("vip", Value::Bool(true)) => true,
                ("origin", Value::Ref(origin)) => legacy.contains(&origin),
                ("status", Value::Enum(status)) => ["NEW", "GONE"].contains(&status.name()),
                _ => false,
            };
            if lost {
                *expected.entry(format!("Customer.{field}")).or_default() += 1;
            }
        }
    }
    Ok(expected)
}

#[test]
fn reading_moves_nothing() {
    let (store, _scratch) = copy();
    let db = strict(&store);
    let before = pairs(&store);
    let mut refused = BTreeMap::new();
    db.read(|tx| {
        refused.clear();
        let loaded = [
            load_all::<Customer>(tx, &mut refused)?,
            load_all::<Invoice>(tx, &mut refused)?,
            load_all::<Order>(tx, &mut refused)?,
            load_all::<Tag>(tx, &mut refused)?,
        ];
        assert_eq!(loaded, [61, 25, 180, 30]);
        // All objects can be read by name, also objects of removed types.
        let mut all = 0;
        for object in tx.everything()? {
            all += usize::from(!object?.fields()?.is_empty());
        }
        assert_eq!(all, 406);
        assert_eq!(refused, expected_refusals(tx)?);
        Ok(())
    })
    .unwrap();
    // In a transaction that could write, fields of the same definition are read where they are.
    db.write(|tx| {
        for customer in tx.all::<Customer>()? {
            let customer = customer?;
            customer.name()?;
            customer.notes()?.load::<Vec<_>>()?;
            customer.limits()?.load::<BTreeMap<_, _>>()?;
            customer.city()?;
            // The program has no type `Legacy` for references to such objects.
            match customer.origin() {
                Ok(_) | Err(Error::WrongTarget { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        for order in tx.all::<Order>()? {
            let order = order?;
            order.customer()?;
            order.lines()?.load::<Vec<_>>()?;
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(pairs(&store), before);
    check(&store);
}

#[test]
fn an_upgrade_refuses_what_would_be_lost() {
    let (store, _scratch) = copy();
    let db = strict(&store);
    let expected = db.read(expected_refusals).unwrap();
    let report = db.upgrade_all().run().unwrap();
    assert_eq!((report.moved, report.refused, report.end), (167, 69, MigrationEnd::Done));
    let mut refused = BTreeMap::new();
    for refusal in &report.refusals {
        match &refusal.error {
            Error::Refused(refusal) => note(&mut refused, refusal),
            error => panic!("{error}"),
        }
    }
    assert_eq!(refused, expected);
    check(&store);
    let before = pairs(&store);
    let report = db.upgrade_all().run().unwrap();
    assert_eq!((report.moved, report.refused), (0, 69));
    assert_eq!(pairs(&store), before);
}

/// The text of a number, as `code` and `total` have it in the last schema.
fn number(value: &FieldValue) -> Option<String> {
    match value {
        FieldValue::Simple(Value::Int(number)) => Some(number.to_string()),
        FieldValue::Simple(Value::Long(number)) => Some(number.to_string()),
        _ => None,
    }
}

#[test]
fn an_upgrade_moves_everything_if_the_models_say_what_may_go() {
    let (store, _scratch) = copy();
    let db = lenient(&store);
    let fields = |tx: &Tx| {
        let mut all = BTreeMap::new();
        for object in tx.everything()? {
            let object = object?;
            let fields: BTreeMap<String, FieldValue> = object.fields()?.into_iter().collect();
            all.insert(object.id(), fields);
        }
        Ok(all)
    };
    let before = db.read(fields).unwrap();
    let report = db.upgrade_all().run().unwrap();
    assert_eq!((report.moved, report.refused, report.end), (236, 0, MigrationEnd::Done));
    check(&store);
    let after = db.read(fields).unwrap();
    assert_eq!(before.len(), after.len());
    let mut numbers = 0;
    for (id, before) in &before {
        let after = &after[id];
        for same in ["name", "email", "limits", "notes", "customer", "lines", "uses", "word"] {
            assert!(
                !after.contains_key(same) || before.get(same).is_none_or(|it| *it == after[same])
            );
        }
        for name in ["code", "total"] {
            if let Some(text) = before.get(name).and_then(number) {
                assert_eq!(after[name], FieldValue::Simple(Value::String(text)), "{id} {name}");
                numbers += 1;
            }
        }
    }
    assert_eq!(numbers, 43 + 46 + 61 + 66);
}
