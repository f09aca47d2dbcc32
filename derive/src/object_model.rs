//! The model of an object type as data: what the struct, its attributes and types mean.
//! `parse_object.rs` makes it, `check.rs` checks it, `expand.rs` makes code of it.

use proc_macro2::{Span, TokenStream};
use syn::{Attribute, ExprPath, Ident, LitStr, Type, Visibility};

use crate::evolution_attributes::{FieldEvolution, TypeEvolution};
use crate::exclude::Exclude;
use crate::inverse::Inverse;
use crate::types::ReferenceModel;

/// The role of a struct.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is an object type.
    Model,
    /// Its fields are fields of other structs.
    Mixin,
}

/// An object type, or a mix-in.
pub(crate) struct ObjectModel {
    pub(crate) role: Role,
    pub(crate) ident: Ident,
    pub(crate) visibility: Visibility,
    /// The path of the `permazen` crate.
    pub(crate) krate: TokenStream,
    pub(crate) name: String,
    pub(crate) storage_id: Option<u32>,
    pub(crate) singleton: bool,
    /// The name that the struct asks for, for the type of its accessors.
    pub(crate) accessors: Option<Ident>,
    pub(crate) fields: Vec<FieldModel>,
    /// Fields that are mix-ins.
    pub(crate) flattened: Vec<Flattened>,
    pub(crate) skipped: Vec<Ident>,
    pub(crate) refused: Vec<Refused>,
    pub(crate) composites: Vec<CompositeModel>,
    /// Methods that find the objects that refer to an object.
    pub(crate) inverses: Vec<Inverse>,
    pub(crate) evolution: TypeEvolution,
    /// A function of the program that checks the struct.
    pub(crate) validate: Option<ExprPath>,
    /// Where the struct says that it has hooks.
    pub(crate) hooks: Option<Span>,
}

/// A field whose type is a mix-in.
pub(crate) struct Flattened {
    pub(crate) ident: Ident,
    pub(crate) visibility: Visibility,
    pub(crate) docs: Vec<Attribute>,
    pub(crate) ty: Type,
}

/// A field whose type has a mistake.
pub(crate) struct Refused {
    pub(crate) ident: Ident,
    pub(crate) accessor: Ident,
    pub(crate) visibility: Visibility,
    /// The type as written.
    pub(crate) ty: Type,
}

/// A field of an object type.
pub(crate) struct FieldModel {
    pub(crate) ident: Ident,
    /// The name of the accessors: the one that the field asks for, or that of the field.
    pub(crate) accessor: Ident,
    pub(crate) visibility: Visibility,
    pub(crate) docs: Vec<Attribute>,
    pub(crate) deprecated: Option<Attribute>,
    /// The type as written, but with the struct's name for `Self`, which means another type in the
    /// accessors.
    pub(crate) ty: Type,
    pub(crate) name: String,
    /// Where the name comes from.
    pub(crate) name_span: Span,
    pub(crate) storage_id: Option<u32>,
    pub(crate) shape: Shape,
    pub(crate) unique: bool,
    pub(crate) excludes: Vec<Exclude>,
    pub(crate) evolution: FieldEvolution,
    /// A function of the program that checks the value.
    pub(crate) validate: Option<ExprPath>,
}

/// The kind of a field, with its values.
pub(crate) enum Shape {
    Simple(Box<ValueModel>),
    Counter,
    Set(Box<ValueModel>),
    List(Box<ValueModel>),
    Map(Box<ValueModel>, Box<ValueModel>),
}

/// A simple field or a sub-field of a collection.
pub(crate) struct ValueModel {
    /// The type that is encoded.
    pub(crate) ty: Type,
    /// Whether the struct holds another type, which is converted to and from `ty`.
    pub(crate) converted: bool,
    /// If the converted type is in an `Option`: its type in the struct, and the type it is stored
    /// as.
    pub(crate) inside_option: Option<(Type, Type)>,
    pub(crate) reference: Option<ReferenceModel>,
    pub(crate) storage_id: Option<u32>,
    pub(crate) encoding: Option<LitStr>,
    pub(crate) indexed: bool,
    pub(crate) inverse_delete: Option<DeleteAction>,
    pub(crate) forward_delete: bool,
    pub(crate) allow_deleted: bool,
    pub(crate) forward_cascades: Vec<String>,
    pub(crate) inverse_cascades: Vec<String>,
}

/// The action on the reference when its target is deleted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeleteAction {
    Ignore,
    Exception,
    Nullify,
    Remove,
    Delete,
}

impl DeleteAction {
    pub(crate) fn variant(self) -> &'static str {
        match self {
            DeleteAction::Ignore => "Ignore",
            DeleteAction::Exception => "Exception",
            DeleteAction::Nullify => "Nullify",
            DeleteAction::Remove => "Remove",
            DeleteAction::Delete => "Delete",
        }
    }
}

/// A composite index.
pub(crate) struct CompositeModel {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) storage_id: Option<u32>,
    /// The Rust names of the fields.
    pub(crate) fields: Vec<Ident>,
    pub(crate) unique: bool,
    pub(crate) excludes: Vec<Vec<Vec<Exclude>>>,
}

impl ValueModel {
    /// A value of type `ty` without attributes.
    pub(crate) fn plain(ty: Type, reference: Option<ReferenceModel>) -> Box<Self> {
        Box::new(ValueModel {
            ty,
            converted: false,
            inside_option: None,
            // A reference always has an index, by which deletions find it.
            indexed: reference.is_some(),
            reference,
            storage_id: None,
            encoding: None,
            inverse_delete: None,
            forward_delete: false,
            allow_deleted: false,
            forward_cascades: Vec::new(),
            inverse_cascades: Vec::new(),
        })
    }
}

impl FieldModel {
    /// The simple value of the field, if it is a simple field.
    pub(crate) fn simple(&self) -> Option<&ValueModel> {
        match &self.shape {
            Shape::Simple(value) => Some(value),
            _ => None,
        }
    }

    /// The values of the field: one, but two for a map and none for a counter.
    pub(crate) fn values(&self) -> impl Iterator<Item = &ValueModel> {
        let (first, second) = match &self.shape {
            Shape::Simple(value) | Shape::Set(value) | Shape::List(value) => (Some(value), None),
            Shape::Map(key, value) => (Some(key), Some(value)),
            Shape::Counter => (None, None),
        };
        first.into_iter().chain(second).map(|value| &**value)
    }
}
