//! Schemas: their model, XML form, IDs, and the tables that record them.
//!
//! A [`SchemaModel`] says what objects look like. [`open_schema`] prepares a transaction for work
//! with a model and records it in the database. It returns the [`Schema`], which is the model with
//! storage IDs and encodings, and a [`SchemaBundle`] of all recorded schemas.
#![deny(clippy::indexing_slicing)]

pub(crate) mod add_remove;
pub(crate) mod bundle;
pub(crate) mod comparison;
pub(crate) mod compress;
pub(crate) mod differences;
mod encodings;
pub(crate) mod error;
pub(crate) mod item;
mod model;
mod names;
pub(crate) mod opening;
pub(crate) mod recorded_schemas;
pub(crate) mod resolved;
mod schema_id;
pub(crate) mod tables;
mod unnumbered;
pub(crate) mod usable;
mod used_by_process;
mod validate;
pub(crate) mod xml;

pub use crate::layout::{SchemaIndex, TABLES_SPAN};
pub(crate) use add_remove::{with_schemas, without_schema};
pub(crate) use bundle::{BundleItem, Occurrence, ResolvedPart, SchemaBundle};
pub(crate) use comparison::{
    FieldEffect, IndexEffect, SchemaComparison, TypeDifference, TypeEffect,
};
pub(crate) use differences::Difference;
pub use encodings::UnknownEncodings;
pub(crate) use error::Result;
pub use error::{Problems, SchemaError};
pub use model::{
    CompositeIndex, DeleteAction, ELEMENT, Field, FieldKind, KEY, ObjectType, Reference,
    SchemaModel, Simple, SimpleKind, SubField, VALUE,
};
pub use names::{identifier_can_be_stored, is_enum_identifier, is_name};
pub use opening::SchemaRemoval;
pub(crate) use opening::{AsOf, DatabaseState, SchemaConfig, open_schema, open_schema_at};
pub(crate) use resolved::{
    ReferenceInfo, ResolvedIndex, ResolvedKind, ResolvedSimple, SubFieldRole,
};
pub use resolved::{ResolvedField, ResolvedType, Schema};
pub use schema_id::{ItemKind, ParseSchemaIdError, SchemaId};
pub(crate) use tables::{Change, SchemaTables, Stored};
pub(crate) use unnumbered::{changes_unnumbered, unnumbered};
pub(crate) use usable::{UsableSchemas, read_usable_schemas};
pub(crate) use used_by_process::UsedByProcess;
pub use xml::XmlForm;
pub(crate) use xml::read_schema;
