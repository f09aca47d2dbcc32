//! A database in memory that counts its operations, with the example schema.

use std::sync::{Arc, Mutex};

use permazen::ObjId;
use permazen::StorageId;
use permazen::encoding::Value;
use permazen::kv::counting::{Counter, CountingStore, Operations};
use permazen::kv::memory::MemoryStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, TxOptions};
use permazen::object::{
    ChangeKind, Database, Error, FieldChange, Migrate, Result, SchemaChange, Transaction,
    TransactionConfig, Watch,
};
use permazen::schema::SchemaModel;

/// The example schema.
pub(crate) const FOO: &str = r#"<Schema>
<ObjectType name="Foo" storageId="10">
  <SimpleField name="i" encoding="urn:fdc:permazen.io:2020:int" storageId="11" indexed="true"/>
  <SimpleField name="s" encoding="urn:fdc:permazen.io:2020:String" storageId="12"/>
  <ReferenceField name="r" storageId="13" inverseDelete="NULLIFY"/>
  <CounterField name="c" storageId="14"/>
  <EnumField name="e" storageId="15" indexed="true"><Identifier>RED</Identifier><Identifier>GREEN</Identifier></EnumField>
  <SetField name="set" storageId="20"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="21" indexed="true"/></SetField>
  <ListField name="list" storageId="22"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="23" indexed="true"/></ListField>
  <MapField name="map" storageId="24"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="25" indexed="true"/>
                                      <SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="26" indexed="true"/></MapField>
  <CompositeIndex name="is" storageId="30"><Field name="i"/><Field name="s"/></CompositeIndex>
  <CompositeIndex name="ire" storageId="31"><Field name="i"/><Field name="r"/><Field name="e"/></CompositeIndex>
</ObjectType>
</Schema>"#;

/// The example schema with one more field.
pub(crate) fn foo_with_more() -> String {
    let more = r#"<SimpleField name="more" encoding="urn:fdc:permazen.io:2020:int"/>"#;
    FOO.replace("<CounterField", &format!("{more}<CounterField"))
}

/// All kinds of references, with these delete actions.
pub(crate) fn containers(action: &str, element_action: &str) -> String {
    format!(
        r#"<Schema><ObjectType name="A" storageId="10">
<SimpleField name="n" encoding="urn:fdc:permazen.io:2020:int" storageId="40"/>
<ReferenceField name="ref" storageId="20" inverseDelete="{action}"/>
<ListField name="list" storageId="21"><ReferenceField storageId="22" inverseDelete="{element_action}"/></ListField>
<SetField name="set" storageId="23"><ReferenceField storageId="24" inverseDelete="{element_action}"/></SetField>
<MapField name="byKey" storageId="25"><ReferenceField storageId="26" inverseDelete="{element_action}"/><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="27"/></MapField>
<MapField name="byValue" storageId="28"><SimpleField encoding="urn:fdc:permazen.io:2020:int" storageId="29"/><ReferenceField storageId="30" inverseDelete="{element_action}"/></MapField>
</ObjectType></Schema>"#
    )
}

/// A database and the counts of its operations.
pub(crate) struct World {
    pub(crate) db: Database,
    pub(crate) counter: Counter,
}

impl World {
    pub(crate) fn new() -> World {
        let store = CountingStore::new(MemoryStore::new());
        let counter = store.counter();
        World { db: Database::new(Arc::new(store)), counter }
    }

    /// A database in another store, whose operations are not counted.
    pub(crate) fn on(store: Arc<dyn KvDatabase>) -> World {
        World { db: Database::new(store), counter: Counter::default() }
    }

    /// A transaction with the schema of this XML form.
    pub(crate) fn begin(&self, xml: &str) -> Transaction {
        let model = SchemaModel::from_xml(xml.as_bytes()).unwrap();
        let config = TransactionConfig::new(model).unwrap();
        self.db.begin(&config).unwrap()
    }

    /// A transaction with the example schema.
    pub(crate) fn foo(&self) -> Transaction {
        self.begin(FOO)
    }

    /// The cost of `body`.
    pub(crate) fn cost<R>(&self, body: impl FnOnce() -> R) -> (R, Operations) {
        self.counter.take();
        let result = body();
        (result, self.counter.take())
    }

    /// All committed pairs except the schema tables, as `key=value` in hex.
    pub(crate) fn pairs(&self) -> Vec<String> {
        let kv = self.db.kv().begin(&TxOptions::default()).unwrap();
        let pairs = kv.scan(KeySpan::FULL, Direction::Forward).unwrap();
        pairs
            .map(|pair| pair.unwrap())
            .filter(|(key, _)| key[0] != 0 || key[1] >= 0x80)
            .map(|(key, value)| format!("{}={}", hex(&key), hex(&value)))
            .collect()
    }

    /// Puts a raw pair, or removes it if there is no value.
    pub(crate) fn raw(&self, key: &str, value: Option<&str>) {
        let mut kv = self.db.kv().begin(&TxOptions::default()).unwrap();
        match value {
            Some(value) => kv.put(&unhex(key), &unhex(value)).unwrap(),
            None => kv.remove(&unhex(key)).unwrap(),
        }
        kv.commit().unwrap();
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    permazen::kv::Hex(bytes).to_string()
}

pub(crate) fn unhex(text: &str) -> Vec<u8> {
    permazen::kv::key::parse_hex(text).unwrap()
}

pub(crate) fn id(text: &str) -> ObjId {
    text.parse().unwrap()
}

/// `0a11111111111111` for 1, and so on.
pub(crate) fn foo_id(n: u8) -> ObjId {
    let mut bytes = [n * 0x11; 8];
    bytes[0] = 0x0a;
    ObjId::from_bytes(bytes).unwrap()
}

/// `0a00000000000001` for 1, and so on.
pub(crate) fn a(n: u8) -> ObjId {
    ObjId::from_bytes([0x0a, 0, 0, 0, 0, 0, 0, n]).unwrap()
}

/// Another one, of type 11.
pub(crate) fn b(n: u8) -> ObjId {
    ObjId::from_bytes([0x0b, 0, 0, 0, 0, 0, 0, n]).unwrap()
}

/// A reference to [`a`].
pub(crate) fn to_a(n: u8) -> Value {
    Value::Ref(a(n))
}

pub(crate) fn sid(number: u32) -> StorageId {
    StorageId::new(number).unwrap()
}

pub(crate) fn int(value: i32) -> Value {
    Value::Int(value)
}

pub(crate) fn text(value: &str) -> Value {
    Value::from(value)
}

pub(crate) fn ints(values: &[i32]) -> Vec<Value> {
    values.iter().map(|value| int(*value)).collect()
}

pub(crate) fn texts(values: &[&str]) -> Vec<Value> {
    values.iter().map(|value| text(value)).collect()
}

/// Creates an object with this ID.
pub(crate) fn create(tx: &Transaction, id: ObjId) -> ObjId {
    assert!(tx.create_with_id(id).unwrap());
    id
}

/// Creates [`a`] of these numbers.
pub(crate) fn create_all(tx: &Transaction, numbers: impl IntoIterator<Item = u8>) {
    for n in numbers {
        create(tx, a(n));
    }
}

pub(crate) fn set(tx: &Transaction, id: ObjId, field: &str, value: Value) {
    tx.set(id, field, &value, Migrate::No).unwrap();
}

/// A value as short text.
pub(crate) fn show(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Int(value) => value.to_string(),
        Value::Long(value) => value.to_string(),
        Value::Ref(id) => id.to_string(),
        Value::Enum(value) => value.name().into(),
        other => match other.as_str() {
            Some(text) => text.to_owned(),
            None => format!("{other:?}"),
        },
    }
}

pub(crate) fn show_all(values: &[Value]) -> String {
    values.iter().map(show).collect::<Vec<_>>().join(",")
}

/// Listens to a field of all objects.
pub(crate) fn on_change(
    tx: &Transaction,
    field: u32,
    listener: impl Fn(&Transaction, &FieldChange, &[ObjId]) -> Result<()> + Send + Sync + 'static,
) {
    tx.on_change(sid(field), Watch::itself(), Arc::new(listener)).unwrap();
}

/// Listens to deletions of all objects.
pub(crate) fn on_delete(
    tx: &Transaction,
    listener: impl Fn(&Transaction, ObjId, &[ObjId]) -> Result<()> + Send + Sync + 'static,
) {
    tx.on_delete(Watch::itself(), Arc::new(listener)).unwrap();
}

/// Listens to creations of objects of type 10.
pub(crate) fn on_create(
    tx: &Transaction,
    listener: impl Fn(&Transaction, ObjId) -> Result<()> + Send + Sync + 'static,
) {
    tx.on_create(sid(10), Arc::new(listener)).unwrap();
}

/// Listens to moves of objects of type 10 to another schema.
pub(crate) fn on_schema_change(
    tx: &Transaction,
    listener: impl Fn(&Transaction, &SchemaChange) -> Result<()> + Send + Sync + 'static,
) {
    tx.on_schema_change(sid(10), Arc::new(listener)).unwrap();
}

/// A list to which listeners add, and which the test reads.
pub(crate) struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Log<T> {
    /// An empty log twice: to read, and to add to.
    pub(crate) fn pair() -> (Log<T>, Log<T>) {
        let log = Log::default();
        (log.clone(), log)
    }

    /// Adds an item. The result is what a listener returns.
    pub(crate) fn add(&self, item: T) -> Result<()> {
        self.0.lock().unwrap().push(item);
        Ok(())
    }

    /// The items that were added since the last call.
    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl<T: Clone> Log<T> {
    /// Adds items. The result is what a listener returns.
    pub(crate) fn add_all(&self, items: &[T]) -> Result<()> {
        self.0.lock().unwrap().extend_from_slice(items);
        Ok(())
    }

    /// All that was added.
    pub(crate) fn all(&self) -> Vec<T> {
        self.0.lock().unwrap().clone()
    }
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Log(Arc::default())
    }
}

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Log(Arc::clone(&self.0))
    }
}

/// The events that listeners got.
#[derive(Clone)]
pub(crate) struct Events(Log<String>);

impl Events {
    /// Listens to a field of all objects.
    pub(crate) fn on(tx: &Transaction, field: u32) -> Events {
        let (told, log) = Log::pair();
        tx.on_change(
            sid(field),
            Watch::itself(),
            Arc::new(move |_, change, _| {
                let event = match change.decode()? {
                    ChangeKind::Simple { old, new } => {
                        format!("{} -> {}", show(&old), show(&new))
                    }
                    ChangeKind::SetAdd { value } => format!("add {}", show(&value)),
                    ChangeKind::SetRemove { value } => format!("remove {}", show(&value)),
                    ChangeKind::ListAdd { index, value } => {
                        format!("add {index}:{}", show(&value))
                    }
                    ChangeKind::ListRemove { index, value } => {
                        format!("remove {index}:{}", show(&value))
                    }
                    ChangeKind::ListReplace { index, old, new } => {
                        format!("replace {index}:{}->{}", show(&old), show(&new))
                    }
                    ChangeKind::MapAdd { key, value } => {
                        format!("add {}={}", show(&key), show(&value))
                    }
                    ChangeKind::MapRemove { key, value } => {
                        format!("remove {}={}", show(&key), show(&value))
                    }
                    ChangeKind::MapReplace { key, old, new } => {
                        format!("replace {}={}->{}", show(&key), show(&old), show(&new))
                    }
                    ChangeKind::SetClear | ChangeKind::ListClear | ChangeKind::MapClear => {
                        "clear".to_owned()
                    }
                    _ => "?".to_owned(),
                };
                log.add(event)
            }),
        )
        .unwrap();
        Events(told)
    }

    /// The events since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        self.0.take()
    }
}

#[track_caller]
pub(crate) fn assert_deleted<R: std::fmt::Debug>(result: Result<R>, id: ObjId) {
    match result {
        Err(Error::DeletedObject { id: found, .. }) => assert_eq!(found, id),
        other => panic!("expected DeletedObject, got {other:?}"),
    }
}

#[track_caller]
pub(crate) fn assert_invalid_value<R: std::fmt::Debug>(result: Result<R>) {
    assert!(
        matches!(result, Err(Error::InvalidValue { .. })),
        "expected InvalidValue, got {result:?}"
    );
}

#[track_caller]
pub(crate) fn assert_invalid_argument<R: std::fmt::Debug>(result: Result<R>) {
    assert!(
        matches!(result, Err(Error::InvalidArgument { .. })),
        "expected InvalidArgument, got {result:?}"
    );
}

#[track_caller]
pub(crate) fn assert_out_of_range<R: std::fmt::Debug>(result: Result<R>) {
    assert!(matches!(result, Err(Error::OutOfRange { .. })), "expected OutOfRange, got {result:?}");
}

#[track_caller]
pub(crate) fn assert_unknown_index<R: std::fmt::Debug>(result: Result<R>) {
    assert!(
        matches!(result, Err(Error::UnknownIndex { .. })),
        "expected UnknownIndex, got {result:?}"
    );
}

#[track_caller]
pub(crate) fn assert_unknown_field<R: std::fmt::Debug>(result: Result<R>) {
    assert!(
        matches!(result, Err(Error::UnknownField { .. })),
        "expected UnknownField, got {result:?}"
    );
}

/// Counts the creations of objects of type 10 for which listeners are called.
pub(crate) fn count_created(tx: &Transaction) -> Arc<Mutex<u32>> {
    let told = Arc::new(Mutex::new(0));
    let count = Arc::clone(&told);
    let listener = move |_: &Transaction, _| {
        *count.lock().unwrap() += 1;
        Ok(())
    };
    tx.on_create(sid(10), Arc::new(listener)).unwrap();
    told
}

/// Like [`a`], with numbers of two bytes.
pub(crate) fn number(n: u16) -> ObjId {
    let mut bytes = [0x0a, 0, 0, 0, 0, 0, 0, 0];
    bytes[6..].copy_from_slice(&n.to_be_bytes());
    ObjId::from_bytes(bytes).unwrap()
}
