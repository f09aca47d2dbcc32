//! Fields whose encoding is not registered: what can be done with them, and what is refused.

use std::ops::Bound;
use std::sync::Arc;

use permazen::ObjId;
use permazen::encoding::{
    CustomValue, Encodable, EncodingError, EncodingId, EncodingRegistry, Reader, Result, Value,
    uint,
};
use permazen::kv::TxOptions;
use permazen::kv::memory::MemoryStore;
use permazen::kv::overlay::MutableView;
use permazen::object::{
    CopyOptions, Database, Error, FieldValue, Migrate, ObjectBuilder, Transaction,
    TransactionConfig,
};
use permazen::schema::{SchemaModel, UnknownEncodings};
use permazen_jsck::{Class, OnlineCheck, Options};

use crate::support::{int, sid};

const ITEM: &str = r#"<Schema>
<ObjectType name="Item" storageId="10">
  <SimpleField name="plain" encoding="urn:example:money" storageId="11"/>
  <SimpleField name="price" encoding="urn:example:money" storageId="12" indexed="true"/>
  <SimpleField name="n" encoding="urn:fdc:permazen.io:2020:int" storageId="13"/>
  <SetField name="set" storageId="20"><SimpleField encoding="urn:example:money" storageId="21" indexed="true"/></SetField>
  <ListField name="list" storageId="22"><SimpleField encoding="urn:example:money" storageId="23" indexed="true"/></ListField>
  <MapField name="map" storageId="24"><SimpleField encoding="urn:example:money" storageId="25" indexed="true"/>
                                      <SimpleField encoding="urn:example:money" storageId="26" indexed="true"/></MapField>
  <MapField name="names" storageId="27"><SimpleField encoding="urn:example:money" storageId="28"/>
                                      <SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="29" indexed="true"/></MapField>
  <CompositeIndex name="last" storageId="30"><Field name="n"/><Field name="plain"/></CompositeIndex>
  <CompositeIndex name="first" storageId="31"><Field name="plain"/><Field name="n"/></CompositeIndex>
</ObjectType>
<ObjectType name="Plain" storageId="40">
  <SimpleField name="plain" encoding="urn:example:money" storageId="11"/>
</ObjectType>
</Schema>"#;

/// The unknown encoding, for a program that knows it. It has no null, and its default value is not
/// null either.
#[derive(Debug, Clone, PartialEq)]
struct Money(u32);

impl Encodable for Money {
    const PREFIX_FF: bool = false;
    const NULLABLE: bool = false;

    fn encoding_id() -> EncodingId {
        money()
    }

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        uint::write(self.0, out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        uint::read(reader).map(Money)
    }

    fn to_text(&self) -> String {
        self.0.to_string()
    }

    fn from_text(text: &str) -> Result<Self> {
        text.parse().map(Money).map_err(|_| EncodingError::Invalid("no money".into()))
    }

    fn default_value() -> Option<Self> {
        Some(Money(1))
    }
}

fn money() -> EncodingId {
    EncodingId::new("urn:example:money").unwrap()
}

fn amount(number: u32) -> Value {
    let mut bytes = Vec::new();
    uint::write(number, &mut bytes);
    Value::Custom(CustomValue::new(money(), bytes))
}

/// One store, used by a program that knows the encoding and by one that does not.
struct Both {
    knowing: Database,
    carrying: Database,
    config: TransactionConfig,
}

impl Both {
    fn new() -> Both {
        let store = Arc::new(MemoryStore::new());
        let registry = EncodingRegistry::new();
        registry.add::<Money>().unwrap();
        let model = SchemaModel::from_xml(ITEM.as_bytes()).unwrap();
        Both {
            knowing: Database::with_encodings(store.clone(), Arc::new(registry)),
            carrying: Database::new(store).unknown_encodings(UnknownEncodings::Carry),
            config: TransactionConfig::new(model).unwrap(),
        }
    }

    /// An object with a value in every place, made by the program that knows the encoding.
    fn filled(&self) -> ObjId {
        let tx = self.knowing.begin(&self.config).unwrap();
        let id = tx.create("Item").unwrap();
        for (field, value) in [("plain", amount(300)), ("price", amount(20)), ("n", int(7))] {
            tx.set(id, field, &value, Migrate::No).unwrap();
        }
        tx.set_view(id, "set", Migrate::No).unwrap().add(&amount(5)).unwrap();
        let list = tx.list_view(id, "list", Migrate::No).unwrap();
        list.push(&amount(1)).unwrap();
        list.push(&amount(251)).unwrap();
        tx.map_view(id, "map", Migrate::No).unwrap().put(&amount(1), &amount(2)).unwrap();
        tx.map_view(id, "names", Migrate::No).unwrap().put(&amount(3), &int(4)).unwrap();
        tx.commit().unwrap();
        id
    }

    /// An object of which nothing was set.
    fn fresh(&self) -> ObjId {
        let tx = self.knowing.begin(&self.config).unwrap();
        let id = tx.create("Item").unwrap();
        tx.commit().unwrap();
        id
    }

    fn carry(&self) -> Transaction {
        self.carrying.begin(&self.config).unwrap()
    }

    /// The classes of what the checker finds, with or without knowledge of the encoding.
    fn check(&self, known: bool) -> Vec<Class> {
        let mut options = Options::default();
        if known {
            options.encodings = Arc::clone(self.knowing.encodings());
        }
        let kv = self.knowing.kv().begin(&TxOptions::reading()).unwrap();
        let mut found = Vec::new();
        let report =
            permazen_jsck::check(&*kv, &options, &mut |finding| found.push(finding.class)).unwrap();
        assert!(report.complete);
        // A check in pieces, and a check of some objects only, find the same.
        let mut online = Vec::new();
        let slices = OnlineCheck::new(options.clone());
        let mut from = Some(Vec::new());
        while let Some(position) = from {
            let slice = slices
                .slice(&*kv, &position, 3, &mut |finding| online.push(finding.class))
                .unwrap();
            from = slice.next;
        }
        options.types = vec!["Item".to_owned()];
        let mut partial = Vec::new();
        permazen_jsck::check(&*kv, &options, &mut |finding| partial.push(finding.class)).unwrap();
        for other in [&mut online, &mut partial, &mut found] {
            other.sort();
        }
        assert_eq!(online, found);
        assert!(partial.iter().all(|class| found.contains(class)), "{partial:?}");
        assert!(!found.is_empty() || partial.is_empty());
        found
    }
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: std::result::Result<T, Error>, of: &str) {
    match result {
        Err(Error::UnknownEncoding { of: found, encoding, .. }) => {
            assert_eq!(encoding, money());
            assert!(found.contains(of), "{found}");
        }
        other => panic!("{other:?}"),
    }
}

/// The error names every place. `core-tests/tests/schemas/essentials.rs` lists them.
#[test]
fn unless_asked_for_unknown_encodings_are_refused() {
    let both = Both::new();
    both.filled();
    let refusing = Database::new(Arc::clone(both.knowing.kv()));
    let error = refusing.begin(&both.config).unwrap_err().to_string();
    assert_eq!(error.matches("urn:example:money is not registered").count(), 8, "{error}");
}

#[test]
fn values_are_read_and_changed_as_bytes() {
    let both = Both::new();
    let id = both.filled();
    let tx = both.carry();
    assert_eq!(tx.get(id, "plain", Migrate::No).unwrap(), amount(300));
    let data = tx.load(id, Migrate::No).unwrap();
    assert_eq!(data.decode("set").unwrap(), FieldValue::Set(vec![amount(5)]));
    assert_eq!(data.decode("list").unwrap(), FieldValue::List(vec![amount(1), amount(251)]));
    assert_eq!(data.decode("map").unwrap(), FieldValue::Map(vec![(amount(1), amount(2))]));

    tx.set(id, "plain", &amount(500), Migrate::No).unwrap();
    tx.set(id, "price", &amount(21), Migrate::No).unwrap();
    tx.set(id, "n", &int(8), Migrate::No).unwrap();
    tx.set_view(id, "set", Migrate::No).unwrap().add(&amount(6)).unwrap();
    tx.list_view(id, "list", Migrate::No).unwrap().insert(0, &amount(9)).unwrap();
    tx.map_view(id, "map", Migrate::No).unwrap().put(&amount(1), &amount(3)).unwrap();
    tx.map_view(id, "map", Migrate::No).unwrap().remove(&amount(1)).unwrap();
    assert!(matches!(
        tx.set(id, "plain", &int(5), Migrate::No),
        Err(Error::InvalidValue { source: EncodingError::WrongType { .. }, .. })
    ));
    assert!(tx.set(id, "plain", &Value::Null, Migrate::No).is_err());
    tx.commit().unwrap();
    assert_eq!(both.check(true), []);
    assert_eq!(both.check(false), [Class::UnknownEncoding]);

    let tx = both.carry();
    assert!(tx.delete(id).unwrap());
    tx.commit().unwrap();
    assert_eq!(both.check(true), []);
}

#[test]
fn a_default_value_is_not_known() {
    let both = Both::new();
    let id = both.fresh();
    let tx = both.carry();
    assert!(tx.is_default(id, "plain").unwrap());
    refused(tx.get(id, "plain", Migrate::No), "plain");
    let data = tx.load(id, Migrate::No).unwrap();
    refused(data.decode("price"), "price");
    assert_eq!(data.decode("n").unwrap(), FieldValue::Simple(int(0)));
    // The value is part of index entries, which therefore cannot be found or made.
    refused(tx.set(id, "price", &amount(2), Migrate::No), "price");
    refused(tx.set(id, "n", &int(2), Migrate::No), "plain");
    refused(tx.delete(id), "price");
    refused(tx.create("Item"), "price");
    let object_type = Arc::clone(data.object_type());
    refused(tx.create_with(None, &ObjectBuilder::new(object_type).finish()), "price");
    // Without an index, nothing prevents this.
    let plain = tx.create("Plain").unwrap();
    tx.set(plain, "plain", &amount(4), Migrate::No).unwrap();
    assert!(!tx.is_default(plain, "plain").unwrap());
    tx.commit().unwrap();
    assert_eq!(both.check(true), []);
    assert_eq!(both.check(false), [Class::UnknownEncoding]);
}

#[test]
fn an_index_is_read_where_the_end_of_the_value_can_be_found() {
    let both = Both::new();
    let id = both.filled();
    let fresh = both.fresh();
    let tx = both.carry();
    let entries = |storage_id| {
        let view = tx.index(sid(storage_id)).unwrap();
        view.entries().map(|entry| entry.unwrap().to_values().unwrap()).collect::<Vec<_>>()
    };
    let (filled, fresh) = (Value::Ref(id), Value::Ref(fresh));
    // The default value of the other object, 1, is read from the index.
    let found = [vec![amount(1), fresh.clone()], vec![amount(20), filled.clone()]];
    assert_eq!(entries(12), found);
    assert_eq!(entries(21), [[amount(5), filled.clone()]]);
    assert_eq!(entries(25), [[amount(1), filled.clone()]]);
    let found = [vec![int(0), amount(1), fresh], vec![int(7), amount(300), filled.clone()]];
    assert_eq!(entries(30), found);
    assert_eq!(entries(29), [[int(4), filled.clone(), amount(3)]]);
    let of = |name: &str, from: u32| {
        let view = tx.index_by_name("Item", name).unwrap();
        let view = view.with_bounds(0, Bound::Included(&amount(from)), Bound::Unbounded).unwrap();
        view.entries().rev().map(|entry| entry.unwrap().id().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(of("price", 2), [id]);
    assert_eq!(of("price", 21), []);

    refused(tx.index(sid(23)), "Item.list.element");
    refused(tx.index(sid(26)), "Item.map.value");
    refused(tx.index(sid(31)), "Item#first");
    refused(tx.simple_index(sid(23)), "Item.list.element");
    refused(tx.index_by_name("Item", "first"), "Item#first");
}

#[test]
fn objects_are_copied_and_move_between_schemas() {
    let both = Both::new();
    let id = both.filled();
    let fresh = both.fresh();
    let other = Both::new();
    let tx = both.carry();
    let there = other.carry();
    assert!(tx.copy_to(id, &there, &mut CopyOptions::new()).unwrap());
    refused(tx.copy_to(fresh, &there, &mut CopyOptions::new()), "price");
    there.commit().unwrap();
    assert_eq!(other.check(true), []);
    drop(tx);

    let text = ITEM.replace(r#"storageId="12" indexed="true""#, r#"storageId="12""#);
    let text = text.replace(
        r#"<SimpleField name="n" encoding="urn:fdc:permazen.io:2020:int" storageId="13"/>"#,
        r#"<SimpleField name="n" encoding="urn:fdc:permazen.io:2020:int" storageId="13" indexed="true"/>"#,
    );
    let config = TransactionConfig::new(SchemaModel::from_xml(text.as_bytes()).unwrap()).unwrap();
    let tx = both.carrying.begin(&config).unwrap();
    assert!(tx.migrate(id).unwrap());
    assert_eq!(tx.get(id, "price", Migrate::Yes).unwrap(), amount(20));
    refused(tx.migrate(fresh), "price");
    tx.commit().unwrap();
    assert_eq!(both.check(true), []);
    assert_eq!(both.check(false), [Class::UnknownEncoding]);
}

#[test]
fn a_detached_transaction_carries_them_too() {
    let both = Both::new();
    let id = both.filled();
    let tx = both.carry();
    let detached = tx.detached().unwrap();
    assert!(tx.copy_to(id, &detached, &mut CopyOptions::new()).unwrap());
    assert_eq!(detached.get(id, "plain", Migrate::No).unwrap(), amount(300));

    let memory = MemoryStore::new();
    let empty = Box::new(MutableView::untracked(memory.snapshot()));
    let detached = both.carrying.detached(empty, &both.config).unwrap();
    assert!(tx.copy_to(id, &detached, &mut CopyOptions::new()).unwrap());
    assert_eq!(detached.get(id, "plain", Migrate::No).unwrap(), amount(300));
}

#[test]
fn nothing_is_converted_to_or_from_an_unknown_encoding() {
    use permazen::__internal::encoding::UnknownEncoding;
    use permazen::encoding::Encoding;
    let unknown = UnknownEncoding::new(money());
    let other = UnknownEncoding::new(EncodingId::new("urn:example:other").unwrap());
    let int = EncodingRegistry::new().find_alias("int").unwrap().unwrap();
    let string = EncodingRegistry::new().find_alias("String").unwrap().unwrap();
    let unknown: &dyn Encoding = &unknown;
    assert_eq!(unknown.convert(unknown, &amount(5)), Ok(amount(5)));
    assert!(unknown.convert(&*int, &Value::Int(5)).is_err());
    assert!(int.convert(unknown, &amount(5)).is_err());
    assert!(string.convert(unknown, &amount(5)).is_err());
    assert!(unknown.convert(&other, &amount(5)).is_err());
}

#[test]
fn the_checker_finds_what_is_wrong_beside_them() {
    let both = Both::new();
    let id = both.filled();
    let fresh = both.fresh();
    let change = |key: Vec<u8>, value: Option<&[u8]>| {
        let mut kv = both.knowing.kv().begin(&TxOptions::default()).unwrap();
        match value {
            Some(value) => kv.put(&key, value).unwrap(),
            None => kv.remove(&key).unwrap(),
        }
        kv.commit().unwrap();
    };
    let entry = |sid: u8, value: &[u8], id: ObjId, rest: &[u8]| {
        [&[sid][..], value, id.as_bytes(), rest].concat()
    };
    let mut gone = id.to_bytes();
    gone[7] ^= 1;
    let gone = ObjId::from_bytes(gone).unwrap();
    // The index of price, for an object with a stored value: a missing entry, a wrong one, and one
    // of no object.
    change(entry(12, &[20], id, &[]), None);
    change(entry(12, &[22], id, &[]), Some(&[]));
    change(entry(12, &[22], gone, &[]), Some(&[]));
    // Elements of sets and lists are always stored, so their entries can be judged fully.
    change(entry(21, &[4], id, &[]), Some(&[]));
    change(entry(23, &[1], id, &[0]), None);
    change(entry(26, &[77], id, &[1]), Some(&[]));
    // A value without bytes.
    change([gone_field(fresh)].concat(), Some(&[]));
    let found = both.check(false);
    let count = |class| found.iter().filter(|found| **found == class).count();
    assert_eq!(count(Class::UnknownEncoding), 1, "{found:?}");
    assert_eq!(count(Class::MissingIndexEntry), 2, "{found:?}");
    assert_eq!(count(Class::DanglingIndexEntry), 4, "{found:?}");
    assert_eq!(count(Class::UndecodableValue), 1, "{found:?}");
    assert_eq!(found.len(), 8, "{found:?}");

    let mut kv = both.knowing.kv().begin(&TxOptions::default()).unwrap();
    let repaired =
        permazen_jsck::repair(&mut *kv, &Options::default(), &mut |_| {}, &mut |_| {}, &mut |_| {
            Ok(())
        })
        .unwrap();
    assert_eq!((repaired.found.findings, repaired.left.findings), (7, 0));
    kv.commit().unwrap();
    assert_eq!(both.check(false), [Class::UnknownEncoding]);
    assert_eq!(both.check(true), []);
}

fn gone_field(id: ObjId) -> Vec<u8> {
    [id.as_bytes(), &[11][..]].concat()
}
