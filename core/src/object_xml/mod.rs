//! Objects as XML: export and import, in the format of Permazen for Java (docs/src/export.md).
//!
//! The document names types and fields. Unlike a dump of raw pairs ([`kv::xml`](crate::kv::xml)),
//! people can read and write it, and it can be loaded into another database. [`ObjectXmlWriter`]
//! writes the same bytes as Java; [`ObjectXmlReader`] reads what Java reads.
//!
//! Both stream. Writing takes memory for one object. Reading takes memory for one object, the
//! schemas of the document, the IDs made for it, and the references to objects
//! that have not come yet.
//!
//! With storage IDs ([`ObjectXmlWriter::with_storage_ids`]), a document reproduces the database
//! pair by pair, in an empty store or in the database that it comes from. Without them, which is
//! the default, each object is called `generated:TYPE:ID` wherever it occurs. It becomes a new
//! object of the database that the document is loaded into.
//!
//! ```
//! use std::sync::Arc;
//!
//! use permazen::kv::memory::MemoryStore;
//! use permazen::object::{Database, TransactionConfig};
//! use permazen::object_xml::{ObjectXmlReader, ObjectXmlWriter};
//! use permazen::schema::SchemaModel;
//!
//! let schema = r#"<Schema>
//!     <ObjectType name="Person">
//!         <SimpleField name="name" encoding="urn:fdc:permazen.io:2020:String"/>
//!         <ReferenceField name="friend" inverseDelete="NULLIFY"/>
//!     </ObjectType>
//! </Schema>"#;
//! let document = r#"<database>
//!     <schemas/>
//!     <objects>
//!         <Person id="generated:Person:ann">
//!             <friend>generated:Person:bob</friend>
//!             <name>Ann</name>
//!         </Person>
//!         <Person id="generated:Person:bob"/>
//!     </objects>
//! </database>"#;
//!
//! let db = Database::new(Arc::new(MemoryStore::new()));
//! let tx = db.begin(&TransactionConfig::new(SchemaModel::from_xml(schema.as_bytes())?)?)?;
//! let imported = ObjectXmlReader::new().read(&tx, document.as_bytes())?;
//! assert_eq!(imported.count, 2);
//!
//! let mut out = Vec::new();
//! ObjectXmlWriter::new().write(&tx, &mut out)?;
//! assert!(String::from_utf8(out)?.contains("            <name>Ann</name>\n"));
//! tx.commit()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
pub(crate) mod generated;
mod names;
mod read;
mod read_fields;
mod read_state;
mod spelling;
mod write;
mod write_tags;

pub use error::ObjectXmlError;
pub use read::{Imported, ObjectXmlReader};
pub use write::ObjectXmlWriter;
