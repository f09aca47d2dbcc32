//! Objects as XML: all objects that are read are written in every style, and come back from the one
//! that keeps ids.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use permazen::kv::memory::MemoryStore;
use permazen::object::{Database, Transaction, TransactionConfig};
use permazen::object_xml::{ObjectXmlReader, ObjectXmlWriter};
use permazen::schema::SchemaModel;

const SCHEMA: &[u8] = br#"<Schema>
<ObjectType name="P" storageId="16">
  <SimpleField name="s" encoding="urn:fdc:permazen.io:2020:String" indexed="true" storageId="17"/>
  <SimpleField name="i" encoding="urn:fdc:permazen.io:2020:int" storageId="18"/>
  <ReferenceField name="r" storageId="19" inverseDelete="NULLIFY"/>
  <SetField name="st" storageId="21"><SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="22"/></SetField>
  <ListField name="l" storageId="23"><ReferenceField storageId="24" inverseDelete="REMOVE"/></ListField>
  <MapField name="m" storageId="25">
    <SimpleField encoding="urn:fdc:permazen.io:2020:String" storageId="26"/>
    <SimpleField encoding="urn:fdc:permazen.io:2020:int" indexed="true" storageId="27"/>
  </MapField>
  <CounterField name="n" storageId="28"/>
</ObjectType>
</Schema>"#;

/// A database without objects, in which the schema is recorded.
static DATABASE: LazyLock<(Database, TransactionConfig)> = LazyLock::new(|| {
    let model = SchemaModel::from_xml(SCHEMA).expect("the schema is readable");
    let config = TransactionConfig::new(model).expect("the schema is valid");
    let database = Database::new(Arc::new(MemoryStore::new()));
    database.begin(&config).expect("memory").commit().expect("memory");
    (database, config)
});

/// A transaction to be rolled back.
fn begin() -> Transaction {
    let (database, config) = &*DATABASE;
    database.begin(config).expect("memory")
}

fn write(tx: &Transaction, writer: &ObjectXmlWriter) -> Vec<u8> {
    let mut out = Vec::new();
    writer.write(tx, &mut out).expect("what was read can be written");
    out
}

fuzz_target!(|document: &[u8]| {
    let tx = begin();
    if ObjectXmlReader::new().allow_unresolved().read(&tx, document).is_err() {
        return;
    }
    let schemas = tx.bundle().schemas().len();
    for writer in [ObjectXmlWriter::new(), ObjectXmlWriter::new().plain().with_defaults()] {
        write(&tx, &writer);
    }
    // The schemas of the document may have encodings whose texts are not all read back.
    if schemas == 1 {
        let writer = ObjectXmlWriter::new().with_storage_ids().compact();
        let written = write(&tx, &writer);
        drop(tx);
        let tx = begin();
        let reader = ObjectXmlReader::new().allow_unresolved();
        reader.read(&tx, &written[..]).expect("a written document is readable");
        assert_eq!(write(&tx, &writer), written);
    }
});
