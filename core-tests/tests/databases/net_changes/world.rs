//! A database with three schemas, whose edits are kept as writes over a snapshot.

use std::sync::Arc;

use permazen::__internal::object::{NetChange, NetChanges};
use permazen::__internal::schema::SchemaBundle;
use permazen::ObjId;
use permazen::kv::counting::{Counter, CountingStore};
use permazen::kv::memory::MemoryStore;
use permazen::kv::{Branch, KvDatabase, KvTransaction, TxOptions, Writes};
use permazen::object::{Database, Transaction, TransactionConfig};
use permazen::schema::{SchemaModel, SchemaRemoval};

const INT: &str = "urn:fdc:permazen.io:2020:int";
const STRING: &str = "urn:fdc:permazen.io:2020:String";

/// The schemas: the first, one that defines some fields differently, one that lacks fields.
pub(crate) fn schema(version: u8) -> String {
    let fields = match version {
        1 => format!(
            r#"<SimpleField name="i" encoding="{INT}" storageId="11" indexed="true"/>
<SimpleField name="s" encoding="{STRING}" storageId="12"/>
<CounterField name="c" storageId="14"/>
<SetField name="set" storageId="20"><SimpleField encoding="{INT}" storageId="21" indexed="true"/></SetField>
<ListField name="list" storageId="22"><SimpleField encoding="{STRING}" storageId="23" indexed="true"/></ListField>
<MapField name="map" storageId="24"><SimpleField encoding="{INT}" storageId="25"/><SimpleField encoding="{STRING}" storageId="26" indexed="true"/></MapField>"#
        ),
        2 => format!(
            r#"<SimpleField name="i" encoding="{STRING}" storageId="51"/>
<SimpleField name="s" encoding="{STRING}" storageId="12" indexed="true"/>
<SimpleField name="c" encoding="{INT}" storageId="54"/>
<SetField name="set" storageId="60"><SimpleField encoding="{STRING}" storageId="61"/></SetField>
<ListField name="list" storageId="62"><SimpleField encoding="{INT}" storageId="63"/></ListField>
<MapField name="map" storageId="64"><SimpleField encoding="{STRING}" storageId="65"/><SimpleField encoding="{STRING}" storageId="26"/></MapField>"#
        ),
        _ => format!(
            r#"<SimpleField name="i" encoding="{INT}" storageId="11"/>
<SimpleField name="more" encoding="{STRING}" storageId="70"/>
<CounterField name="c" storageId="14"/>
<SetField name="map" storageId="80"><SimpleField encoding="{INT}" storageId="81"/></SetField>
<ListField name="list" storageId="22"><SimpleField encoding="{STRING}" storageId="23"/></ListField>"#
        ),
    };
    format!(r#"<Schema><ObjectType name="A" storageId="10">{fields}</ObjectType></Schema>"#)
}

pub(crate) fn config(version: u8) -> TransactionConfig {
    let model = SchemaModel::from_xml(schema(version).as_bytes()).unwrap();
    TransactionConfig::new(model).unwrap().schema_removal(SchemaRemoval::Never)
}

/// `0a00000000000001` for 1, and so on.
pub(crate) fn a(n: u8) -> ObjId {
    ObjId::from_bytes([0x0a, 0, 0, 0, 0, 0, 0, n]).unwrap()
}

pub(crate) struct World {
    pub(crate) db: Database,
    pub(crate) store: Arc<CountingStore<MemoryStore>>,
    pub(crate) counter: Counter,
    /// `None` while it is edited.
    branch: Option<Branch>,
}

impl World {
    /// A database in which all schemas are recorded.
    pub(crate) fn new() -> World {
        let store = CountingStore::new(MemoryStore::new());
        let counter = store.counter();
        let store = Arc::new(store);
        let db = Database::new(Arc::clone(&store) as Arc<dyn KvDatabase>);
        for version in 1..=3 {
            db.begin(&config(version)).unwrap().commit().unwrap();
        }
        let branch = Branch::open(&store).unwrap();
        World { db, store, counter, branch: Some(branch) }
    }

    /// Makes changes that stay pending.
    pub(crate) fn edit<R>(&mut self, version: u8, body: impl FnOnce(&Transaction) -> R) -> R {
        let branch = self.branch.take().unwrap();
        let tx = self.db.detached(branch, &config(version)).unwrap();
        let result = body(&tx);
        self.branch = Some(tx.into_store().unwrap());
        result
    }

    /// Makes the pending changes for good, and begins anew.
    pub(crate) fn commit(&mut self) {
        self.branch.take().unwrap().merge(&self.store).unwrap();
        self.branch = Some(Branch::open(&self.store).unwrap());
    }

    pub(crate) fn branch(&mut self) -> &mut Branch {
        self.branch.as_mut().unwrap()
    }

    pub(crate) fn writes(&self) -> &Writes {
        self.branch.as_ref().unwrap().writes()
    }

    pub(crate) fn snapshot(&self) -> Box<dyn KvTransaction + Send> {
        self.store.begin(&TxOptions::reading()).unwrap()
    }

    pub(crate) fn schemas(&self) -> Arc<SchemaBundle> {
        self.db.begin(&config(1).read_only()).unwrap().bundle()
    }

    /// The pending changes.
    pub(crate) fn changes(&self) -> Vec<NetChange> {
        let (schemas, before) = (self.schemas(), self.snapshot());
        let changes = NetChanges::new(self.writes(), &*before, &schemas);
        changes.collect::<Result<_, _>>().unwrap()
    }
}
