//! The declaration of an object type by a model struct. `#[derive(PermazenObject)]` writes this
//! constant data.

use std::any::TypeId;

use crate::encoding::{EncodingId, FieldType, SchemaForm};
use crate::object::LossPolicy;
use crate::schema::DeleteAction;

use super::error::Result;
use super::evolution::OldValues;
use super::load::ObjectWriter;

/// A field as its struct declares it.
#[derive(Debug, Clone, Copy)]
pub struct FieldDecl {
    pub(crate) name: &'static str,
    pub(crate) storage_id: u32,
    pub(crate) shape: Shape,
    pub(crate) unique: bool,
    pub(crate) excludes: &'static [Exclude],
    /// `None` if the model says nothing.
    pub(crate) upgrade: Option<Upgrade>,
    /// Whether the struct says `upgrade` for all its fields, and not this field itself.
    pub(crate) is_upgrade_of_all: bool,
    pub(crate) was: &'static [&'static str],
    pub(crate) default: Option<WriteDefault>,
    pub(crate) upgrade_with: Option<UpgradeWith>,
    /// The name of its accessor, if the model has mix-ins; otherwise empty.
    pub(crate) accessor: &'static str,
    /// The mix-in that declares the field; `None` if the model itself does.
    pub(crate) declared_in: Option<fn() -> TypeId>,
    /// Where the fields of that mix-in begin among those of the model.
    pub(crate) start: usize,
}

/// Writes the value that a field has in objects whose schema lacks it.
pub type WriteDefault = fn(&mut ObjectWriter<'_>) -> Result<()>;

/// Makes values of an object that moves to the schema of the models from the values it had, and
/// writes them.
pub type UpgradeWith = fn(&OldValues<'_>, &mut ObjectWriter<'_>) -> Result<()>;

/// The kind of a field with its values.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    Simple(ValueDecl),
    Counter,
    Set(ValueDecl),
    List(ValueDecl),
    Map(ValueDecl, ValueDecl),
}

impl FieldDecl {
    const fn new(name: &'static str, shape: Shape) -> Self {
        FieldDecl {
            name,
            storage_id: 0,
            shape,
            unique: false,
            excludes: &[],
            upgrade: None,
            is_upgrade_of_all: false,
            was: &[],
            default: None,
            upgrade_with: None,
            accessor: "",
            declared_in: None,
            start: 0,
        }
    }

    /// A simple field.
    pub const fn simple(name: &'static str, value: ValueDecl) -> Self {
        Self::new(name, Shape::Simple(value))
    }

    /// A counter.
    pub const fn counter(name: &'static str) -> Self {
        Self::new(name, Shape::Counter)
    }

    /// A set.
    pub const fn set(name: &'static str, element: ValueDecl) -> Self {
        Self::new(name, Shape::Set(element))
    }

    /// A list.
    pub const fn list(name: &'static str, element: ValueDecl) -> Self {
        Self::new(name, Shape::List(element))
    }

    /// A map.
    pub const fn map(name: &'static str, key: ValueDecl, value: ValueDecl) -> Self {
        Self::new(name, Shape::Map(key, value))
    }

    /// Requests a storage ID.
    #[must_use]
    pub const fn storage_id(mut self, id: u32) -> Self {
        self.storage_id = id;
        self
    }

    /// No two objects may have the same value (docs/src/rules.md).
    #[must_use]
    pub const fn unique(mut self) -> Self {
        self.unique = true;
        self
    }

    /// Exempts values from [`unique`](FieldDecl::unique).
    #[must_use]
    pub const fn exclude(mut self, excludes: &'static [Exclude]) -> Self {
        self.excludes = excludes;
        self
    }

    /// Sets what happens to a value when the type of the field changes. This also holds with
    /// [`Evolution::AsJava`](super::Evolution::AsJava).
    #[must_use]
    pub const fn upgrade(mut self, upgrade: Upgrade) -> Self {
        self.upgrade = Some(upgrade);
        self
    }

    /// Sets the same, as the struct says it for all its fields.
    #[must_use]
    pub const fn upgrade_of_all(mut self, upgrade: Upgrade) -> Self {
        self.upgrade = Some(upgrade);
        self.is_upgrade_of_all = true;
        self
    }

    /// Names that the field had before. Its values are carried over from the first one that an
    /// object has.
    #[must_use]
    pub const fn was(mut self, names: &'static [&'static str]) -> Self {
        self.was = names;
        self
    }

    /// Sets the value that the field has in objects whose schema lacks it.
    #[must_use]
    pub const fn default(mut self, write: WriteDefault) -> Self {
        self.default = Some(write);
        self
    }

    /// Makes the value of the field from those the object had.
    #[must_use]
    pub const fn upgrade_with(mut self, write: UpgradeWith) -> Self {
        self.upgrade_with = Some(write);
        self
    }

    /// Writes the value that the field's own conversion makes.
    pub(crate) fn convert_with_own_code(
        &self,
        old: &OldValues<'_>,
        to: &mut ObjectWriter<'_>,
    ) -> Result<()> {
        match self.upgrade_with {
            Some(convert) => to.after(self.start, |to| convert(old, to)),
            None => Ok(()),
        }
    }

    /// Says how the accessor of the field is called.
    #[must_use]
    pub const fn accessor(mut self, name: &'static str) -> Self {
        self.accessor = name;
        self
    }

    /// The same field in a model in which there are `fields` other fields before its mix-in.
    pub(crate) const fn after(mut self, fields: usize) -> Self {
        self.start += fields;
        self
    }

    /// Name of the field on disk.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

/// The values of a simple field or of a sub-field.
#[derive(Debug, Clone, Copy)]
pub struct ValueDecl {
    pub(crate) kind: fn() -> ValueKind,
    /// Whether a value of the Rust type may be null.
    pub(crate) optional: bool,
    /// Enum constants that had another name: the name now, and the name before.
    pub(crate) renamed: &'static [(&'static str, &'static str)],
    /// The enum constant of objects that lack the field.
    pub(crate) initial: Option<u32>,
    pub(crate) encoding: Option<&'static str>,
    pub(crate) storage_id: u32,
    pub(crate) indexed: bool,
    pub(crate) inverse_delete: Option<DeleteAction>,
    pub(crate) forward_delete: bool,
    pub(crate) allow_deleted: bool,
    pub(crate) forward_cascades: &'static [&'static str],
    pub(crate) inverse_cascades: &'static [&'static str],
}

impl ValueDecl {
    /// Values of type `T`.
    pub const fn of<T: FieldType>() -> Self {
        let (renamed, initial): (&[(&str, &str)], _) = match T::SCHEMA_FORM {
            // An `Option` is `None` in objects that lack the field.
            SchemaForm::Enum { renamed, .. } if T::IS_OPTION => (renamed, None),
            SchemaForm::Enum { renamed, initial, .. } => (renamed, initial),
            _ => (&[], None),
        };
        ValueDecl {
            kind: value_kind::<T>,
            optional: T::IS_OPTION,
            renamed,
            initial,
            encoding: None,
            storage_id: 0,
            indexed: false,
            inverse_delete: None,
            forward_delete: false,
            allow_deleted: false,
            forward_cascades: &[],
            inverse_cascades: &[],
        }
    }

    /// Requests a storage ID, for a sub-field.
    #[must_use]
    pub const fn storage_id(mut self, id: u32) -> Self {
        self.storage_id = id;
        self
    }

    /// Keeps an index.
    #[must_use]
    pub const fn indexed(mut self) -> Self {
        self.indexed = true;
        self
    }

    /// Records this encoding ID instead of the one of the Rust type.
    #[must_use]
    pub const fn encoding(mut self, id: &'static str) -> Self {
        self.encoding = Some(id);
        self
    }

    /// Sets what happens to the reference when its target is deleted.
    #[must_use]
    pub const fn inverse_delete(mut self, action: DeleteAction) -> Self {
        self.inverse_delete = Some(action);
        self
    }

    /// Deletes the target along with the referring object.
    #[must_use]
    pub const fn forward_delete(mut self) -> Self {
        self.forward_delete = true;
        self
    }

    /// Allows references to objects that do not exist.
    #[must_use]
    pub const fn allow_deleted(mut self) -> Self {
        self.allow_deleted = true;
        self
    }

    /// Names the cascades that follow the reference, forwards and backwards.
    #[must_use]
    pub const fn cascades(
        mut self,
        forward: &'static [&'static str],
        inverse: &'static [&'static str],
    ) -> Self {
        self.forward_cascades = forward;
        self.inverse_cascades = inverse;
        self
    }
}

/// The values of a Rust type, as the schema describes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Plain(EncodingId),
    Enum(&'static [&'static str]),
    EnumArray(u8, &'static [&'static str]),
    Reference(Option<&'static [&'static str]>),
}

fn value_kind<T: FieldType>() -> ValueKind {
    match T::SCHEMA_FORM {
        SchemaForm::Plain => ValueKind::Plain(T::encoding_id()),
        SchemaForm::Enum { identifiers, dimensions: 0, .. } => ValueKind::Enum(identifiers),
        SchemaForm::Enum { identifiers, dimensions, .. } => {
            ValueKind::EnumArray(dimensions, identifiers)
        }
        SchemaForm::Reference(types) => ValueKind::Reference(types),
    }
}

/// A composite index as its struct declares it.
#[derive(Debug, Clone, Copy)]
pub struct CompositeDecl {
    pub(crate) name: &'static str,
    /// Positions of the fields among those of the struct that declares the index.
    fields: &'static [usize],
    /// Where the fields of that struct begin among those of the model.
    start: usize,
    /// The mix-in that declares the index; `None` if the model itself does.
    pub(crate) declared_in: Option<fn() -> TypeId>,
    pub(crate) storage_id: u32,
    pub(crate) unique: bool,
    /// Combinations that are exempt: each has one list of exempt values per column.
    pub(crate) excludes: &'static [&'static [&'static [Exclude]]],
}

impl CompositeDecl {
    /// An index on the fields at these positions.
    pub const fn new(name: &'static str, fields: &'static [usize]) -> Self {
        CompositeDecl {
            name,
            fields,
            start: 0,
            declared_in: None,
            storage_id: 0,
            unique: false,
            excludes: &[],
        }
    }

    /// The same index in a model in which there are `fields` other fields before its mix-in.
    pub(crate) const fn after(mut self, fields: usize) -> Self {
        self.start += fields;
        self
    }

    /// The positions of the fields among those of the model.
    pub(crate) fn fields(&self) -> impl Iterator<Item = usize> + use<> {
        let start = self.start;
        self.fields.iter().map(move |position| start + position)
    }

    /// Requests a storage ID.
    #[must_use]
    pub const fn storage_id(mut self, id: u32) -> Self {
        self.storage_id = id;
        self
    }

    /// No two objects may have the same combination of values (docs/src/rules.md).
    #[must_use]
    pub const fn unique(mut self) -> Self {
        self.unique = true;
        self
    }

    /// Exempts combinations from [`unique`](CompositeDecl::unique). A combination is exempt if the
    /// lists of one entry match it in every column.
    #[must_use]
    pub const fn exclude(mut self, excludes: &'static [&'static [&'static [Exclude]]]) -> Self {
        self.excludes = excludes;
        self
    }
}

/// Values exempt from uniqueness. A value is given as text that the field's encoding parses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exclude {
    /// Null.
    Nulls,
    /// Everything but null.
    NonNulls,
    /// One value.
    Value(&'static str),
    /// A range of values.
    Range {
        /// Where it begins; `None` is unbounded.
        lower: Option<ExcludeBound>,
        /// Where it ends; `None` is unbounded.
        upper: Option<ExcludeBound>,
    },
}

/// One end of a range of exempt values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExcludeBound {
    /// The bound as text.
    pub value: &'static str,
    /// Whether it belongs to the range.
    pub inclusive: bool,
}

/// The treatment of the values of a field whose definition has changed, when its object moves to
/// the schema of the models. See `docs/src/evolution.md`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Upgrade {
    /// The values are converted exactly: converting them back would give the same bytes. If that is
    /// impossible, the object does not move, and the operation that wanted to move it fails with
    /// [`Error::Refused`](super::Error::Refused).
    #[default]
    Exact,
    /// The values are converted as well as possible. A number that is too large wraps or is
    /// clipped, as in Java. A value that cannot be converted at all becomes the default, and an
    /// element is left out.
    Lossy,
    /// The field starts at its default.
    Reset,
}

impl From<Upgrade> for LossPolicy {
    fn from(upgrade: Upgrade) -> Self {
        match upgrade {
            Upgrade::Exact => LossPolicy::Exact,
            Upgrade::Lossy => LossPolicy::Lossy,
            Upgrade::Reset => LossPolicy::Reset,
        }
    }
}
