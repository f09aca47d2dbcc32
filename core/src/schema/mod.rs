//! Schemas: their model, XML form, IDs, and the tables that record them.
//!
//! A [`SchemaModel`] says what objects look like. [`open_schema`] prepares a transaction for work
//! with a model and records it in the database. It returns the [`Schema`], which is the model with
//! storage IDs and encodings, and a [`SchemaBundle`] of all recorded schemas.
#![deny(clippy::indexing_slicing)]

mod bundle;
mod comparison;
mod compress;
mod differences;
mod encodings;
mod error;
mod item;
mod model;
mod names;
mod opening;
mod recorded_schemas;
mod resolved;
mod schema_id;
mod tables;
mod unnumbered;
mod usable;
mod used_by_process;
mod validate;
mod xml;

pub use bundle::{BundleItem, Occurrence, ResolvedPart, SchemaBundle};
pub use comparison::{
    FieldDifference, FieldEffect, IndexDifference, IndexEffect, Narrowed, SchemaComparison,
    TypeDifference, TypeEffect,
};
pub use compress::{InflateError, deflate, inflate};
pub use differences::{Difference, Differences};
pub use encodings::UnknownEncodings;
pub use error::{Problem, Problems, Result, SchemaError};
pub use item::{Item, Part};
pub use model::{
    CompositeIndex, DeleteAction, ELEMENT, Field, FieldKind, KEY, ObjectType, Reference,
    SchemaModel, Simple, SimpleKind, SubField, VALUE,
};
pub use names::{identifier_can_be_stored, is_enum_identifier, is_name};
pub(crate) use opening::{AsOf, open_schema_at, with_schemas, without_schema};
pub use opening::{
    DatabaseState, OpenedSchema, SchemaConfig, SchemaRemoval, add_schema, add_schemas, open_schema,
    read_schemas, remove_schema,
};
pub use recorded_schemas::{RecordedSchema, RecordedSchemas};
pub use resolved::{
    Parent, ReferenceInfo, ResolvedField, ResolvedIndex, ResolvedKind, ResolvedSimple,
    ResolvedType, Schema, SubFieldRole,
};
pub use schema_id::{ItemKind, ParseSchemaIdError, SchemaId};
pub use tables::SchemaTables;
pub(crate) use tables::{Change, Stored};
pub(crate) use unnumbered::{changes_unnumbered, unnumbered};
pub use usable::{UsableSchemas, read_usable_schemas};
pub(crate) use used_by_process::UsedByProcess;
pub(crate) use xml::read_schema;
pub use xml::{MAX_XML_BYTES, XmlForm};
