//! Objects as XML: export and import, in the format of Permazen for Java (tools §4).
//!
//! Unlike a dump of raw pairs ([`kv::xml`](crate::kv::xml)), the document names types and fields, and
//! can be read, written by hand, and loaded into another database. [`ObjectXmlWriter`] writes the
//! bytes Java writes; [`ObjectXmlReader`] reads what Java reads.
//!
//! Both stream: writing takes memory for one object, reading for one object, the schemas of the
//! document, the ids made for it ([`GeneratedIds`]), and the references met whose objects have not come
//! yet.
//!
//! With storage ids ([`ObjectXmlWriter::with_storage_ids`]) a document reproduces the database pair by
//! pair, in an empty store or in the database it is from. Without them, which is the default, objects
//! are called `generated:TYPE:ID`, wherever they are referred to, and become new objects of whatever
//! database they are loaded into.
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

mod content;
mod error;
mod generated;
mod import;
mod names;
mod output;
mod read;
mod write;

pub use error::ObjectXmlError;
pub use generated::GeneratedIds;
pub use read::{Imported, ObjectXmlReader};
pub use write::ObjectXmlWriter;
