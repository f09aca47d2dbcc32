//! The typed layer: structs as object types, handles on objects, typed queries.
//!
//! A struct with `#[derive(PermazenObject)]` is an object type, and the plain data of one object at the same time. A
//! [`Permazen`] is a database with a set of models; [`Permazen::write`] and [`Permazen::read`] run transactions. In
//! a transaction, objects are reached through copyable handles, [`Obj`]; references that outlive it are [`Ref`]s.
//! [`Tx::index`] queries an index by a field constant such as `Person::NAME`.

mod binding;
mod collections;
mod composite;
mod counter;
mod declare;
mod differences;
mod error;
mod fields;
mod generate;
#[doc(hidden)]
pub mod generated;
mod handle;
mod index;
mod load;
mod objects;
mod owned;
mod permazen;
mod target;
mod tx;
mod upgrade;
mod values;

pub use self::permazen::{Builder, Permazen};
pub use crate::schema::DeleteAction;
pub use collections::{ListOf, MapOf, SetOf};
pub use composite::{
    ByTuple, Column, Column0, Column1, Column2, Column3, Column4, CompositeIndex, HasColumn, Tuple,
};
pub use counter::CounterOf;
pub use declare::{CompositeDecl, Exclude, ExcludeBound, FieldDecl, Upgrade, ValueDecl};
pub use error::{Error, Failure, ModelError, ModelErrors, Result, is_retryable};
pub use fields::{
    Composite, CounterField, Field, Indexed, ListField, MapField, MapKey, MapValue, MapValueKeys,
    Positions, SetField, Unindexed,
};
pub use handle::{AnyObj, Handle, Obj};
pub use index::{ByKey, ByPosition, ByValue, Columns, Index, IndexOn};
pub use load::{ObjectReader, ObjectWriter};
pub use objects::{Objs, ObjsIter};
pub use permazen_kv::Retry;
pub use target::{Accessors, Any, Model, Ref, Target};
pub use tx::{Transaction, Tx};
pub use values::{Counter, EncodeAs, EnumType};
