//! [`SchemaComparison`]: what the object layer does with stored objects when they move from one
//! schema to another (docs/src/schemas.md#evolution). The typed layer judges for itself:
//! `model/evolution/verdict.rs`. `differences.rs` lists the differences themselves, in words.

use std::collections::HashMap;
use std::fmt;

use super::differences::pair_up;
use super::item::Item;
use super::model::{CompositeIndex, Field, FieldKind, ObjectType, SchemaModel, Simple, SimpleKind};
use super::schema_id::SchemaId;

/// The changes between two schemas, and their effects on an object of the old schema that is
/// migrated to the new one. It displays as text for people, or as `no changes`.
///
/// ```
/// use permazen::encoding::EncodingId;
/// use permazen::schema::{Field, ObjectType, SchemaModel, Simple};
/// use permazen::__internal::schema::SchemaComparison;
/// use permazen::__internal::schema::FieldEffect;
///
/// let with = |alias| {
///     let age = Simple::of(EncodingId::from_alias(alias)?);
///     let person = ObjectType::new("Person").field(Field::new("age", age));
///     Ok::<_, permazen::encoding::EncodingError>(SchemaModel::new().object_type(person))
/// };
/// let comparison = SchemaComparison::new(&with("int")?, &with("long")?);
/// assert!(matches!(comparison.types[0].fields[0].effect, FieldEffect::Converted { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaComparison {
    /// The object types that differ, in name order.
    #[doc(hidden)]
    pub types: Vec<TypeDifference>,
    /// Why the new schema cannot be recorded next to the old one: the storage IDs they ask for
    /// contradict each other. Empty if it can.
    pub refusals: Vec<String>,
}

/// How an object type differs between two schemas.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TypeDifference {
    /// Its name.
    pub name: String,
    /// The effect on it.
    pub effect: TypeEffect,
    /// The fields that differ, in name order; only if the type is changed.
    pub fields: Vec<FieldDifference>,
    /// The composite indexes that differ, in name order; only if the type is changed.
    pub indexes: Vec<IndexDifference>,
}

/// The effect on an object type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TypeEffect {
    /// It is new.
    Added,
    /// It is gone. Its objects stay as they are, but cannot be migrated.
    Removed,
    /// It has other fields or indexes.
    Changed,
}

/// How a field differs between two schemas.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldDifference {
    /// Its name.
    pub name: String,
    /// The effect on its content.
    pub effect: FieldEffect,
}

/// The effect of a migration on the content of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldEffect {
    /// The field is new and has its default value, or is empty.
    Added,
    /// The field is gone, and its content with it.
    Removed,
    /// The content is kept.
    Kept {
        /// The indexes that are built. Each is named by the field or sub-field that is indexed.
        indexes_added: Vec<String>,
        /// The indexes that are dropped.
        indexes_removed: Vec<String>,
        /// The references that may refer to fewer types than before. References to objects of the
        /// other types are set to null, or removed from their collection.
        narrowed: Vec<Narrowed>,
        /// Whether options of references change: what happens when an object is deleted, or which
        /// types they may refer to.
        options_changed: bool,
    },
    /// Migration resets the field, but values of the old kind can be converted
    /// ([`Encoding::convert`](crate::encoding::Encoding)). The code that migrates gets the old
    /// value and can set the new one.
    Converted {
        /// The old kind.
        from: String,
        /// The new kind.
        to: String,
    },
    /// The content is lost: the field gets its default value, or becomes empty.
    Reset {
        /// The old kind.
        from: String,
        /// The new kind.
        to: String,
    },
}

/// A reference that may refer to fewer types than before.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Narrowed {
    /// The field or sub-field.
    pub field: String,
    /// The types that are no longer allowed; `None` means every type that is not in
    /// `still_allowed`.
    pub no_longer_allowed: Option<Vec<String>>,
    /// The types that are allowed now.
    pub still_allowed: Vec<String>,
}

/// How a composite index differs between two schemas.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexDifference {
    /// Its name.
    pub name: String,
    /// The effect on it.
    pub effect: IndexEffect,
}

/// The effect on a composite index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexEffect {
    /// Migrated objects get an entry.
    Added,
    /// Migrated objects lose their entry.
    Removed,
    /// The entry of migrated objects is replaced, because the fields differ in name, kind or order.
    Rebuilt,
}

impl SchemaComparison {
    /// Compares two schemas.
    pub fn new(old: &SchemaModel, new: &SchemaModel) -> SchemaComparison {
        let pairs = pair_up(old.object_types(), new.object_types(), ObjectType::name);
        let types = pairs.into_iter().filter_map(|pair| match pair {
            (Some(old), Some(new)) => changed_type(old, new),
            (Some(old), None) => Some(whole_type(old, TypeEffect::Removed)),
            (None, Some(new)) => Some(whole_type(new, TypeEffect::Added)),
            (None, None) => None,
        });
        SchemaComparison { types: types.collect(), refusals: refusals(old, new) }
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty() && self.refusals.is_empty()
    }

    /// Whether migrating an object can lose content.
    pub fn loses_content(&self) -> bool {
        self.types.iter().flat_map(|t| &t.fields).any(|field| match &field.effect {
            FieldEffect::Added => false,
            // The field is kept, but not its references to types that are no longer allowed.
            FieldEffect::Kept { narrowed, .. } => !narrowed.is_empty(),
            FieldEffect::Removed | FieldEffect::Converted { .. } | FieldEffect::Reset { .. } => {
                true
            }
        })
    }
}

fn whole_type(object_type: &ObjectType, effect: TypeEffect) -> TypeDifference {
    let name = object_type.name().to_owned();
    TypeDifference { name, effect, fields: Vec::new(), indexes: Vec::new() }
}

fn changed_type(old: &ObjectType, new: &ObjectType) -> Option<TypeDifference> {
    let mut change = whole_type(new, TypeEffect::Changed);
    for pair in pair_up(old.fields(), new.fields(), Field::name) {
        let (name, effect) = match pair {
            (Some(a), Some(b)) => (b.name(), changed_field(old, a, new, b)),
            (Some(a), None) => (a.name(), Some(FieldEffect::Removed)),
            (None, Some(b)) => (b.name(), Some(FieldEffect::Added)),
            (None, None) => continue,
        };
        let name = name.to_owned();
        change.fields.extend(effect.map(|effect| FieldDifference { name, effect }));
    }
    for pair in pair_up(old.indexes(), new.indexes(), CompositeIndex::name) {
        let (name, effect) = match pair {
            // The same ID means the same storage ID and the same entries.
            (Some(a), Some(b)) if index_id(old, a) == index_id(new, b) => continue,
            (Some(_), Some(b)) => (b.name(), IndexEffect::Rebuilt),
            (Some(a), None) => (a.name(), IndexEffect::Removed),
            (None, Some(b)) => (b.name(), IndexEffect::Added),
            (None, None) => continue,
        };
        change.indexes.push(IndexDifference { name: name.to_owned(), effect });
    }
    let differs = !change.fields.is_empty() || !change.indexes.is_empty();
    differs.then_some(change)
}

fn field_id(object_type: &ObjectType, field: &Field) -> SchemaId {
    Item { object_type, part: super::item::Part::Field(field) }.schema_id()
}

fn index_id(object_type: &ObjectType, index: &CompositeIndex) -> SchemaId {
    Item { object_type, part: super::item::Part::Index(index) }.schema_id()
}

fn changed_field(
    old_type: &ObjectType,
    old: &Field,
    new_type: &ObjectType,
    new: &Field,
) -> Option<FieldEffect> {
    // The same schema ID means the same storage ID, kind and encoding, so the pairs stay as they
    // are.
    if field_id(old_type, old) == field_id(new_type, new) {
        return kept_field(old, new);
    }
    let (from, to) = (old.kind().describe(), new.kind().describe());
    Some(if is_convertible(old.kind(), new.kind()) {
        FieldEffect::Converted { from, to }
    } else {
        FieldEffect::Reset { from, to }
    })
}

fn kept_field(old: &Field, new: &Field) -> Option<FieldEffect> {
    let mut indexes_added = Vec::new();
    let mut indexes_removed = Vec::new();
    let mut narrowed = Vec::new();
    let mut options_changed = false;
    let mut compare = |name: String, a: &Simple, b: &Simple| {
        match (a.is_indexed(), b.is_indexed()) {
            (false, true) => indexes_added.push(name.clone()),
            (true, false) => indexes_removed.push(name.clone()),
            _ => {}
        }
        let (Some(a), Some(b)) = (a.as_reference(), b.as_reference()) else { return };
        options_changed |= a != b;
        // More types than before lose nothing, so only a list that is there now can narrow.
        if let Some(still_allowed) = b.object_types() {
            let gone = a.object_types().map(|before| {
                before.iter().filter(|t| !still_allowed.contains(t)).cloned().collect::<Vec<_>>()
            });
            // `None` means that every type was allowed before.
            if gone.as_ref().is_none_or(|gone| !gone.is_empty()) {
                let still_allowed = still_allowed.to_vec();
                narrowed.push(Narrowed { field: name, no_longer_allowed: gone, still_allowed });
            }
        }
    };
    match (old.kind(), new.kind()) {
        (FieldKind::Simple(a), FieldKind::Simple(b)) => compare(new.name().to_owned(), a, b),
        _ => {
            for ((name, a), (_, b)) in old.sub_fields().zip(new.sub_fields()) {
                compare(format!("{}.{name}", new.name()), a.simple(), b.simple());
            }
        }
    }
    let differs = options_changed || !indexes_added.is_empty() || !indexes_removed.is_empty();
    differs.then_some(FieldEffect::Kept {
        indexes_added,
        indexes_removed,
        narrowed,
        options_changed,
    })
}

/// Whether the typed layer tries to convert values between fields of these kinds.
fn is_convertible(old: &FieldKind, new: &FieldKind) -> bool {
    match (old, new) {
        (FieldKind::Simple(a), FieldKind::Simple(b)) => {
            // A reference is no value that could mean something in another type, and no value names
            // an object.
            a.as_reference().is_none() && b.as_reference().is_none()
        }
        (FieldKind::Counter, FieldKind::Simple(simple))
        | (FieldKind::Simple(simple), FieldKind::Counter) => is_number(simple),
        _ => false,
    }
}

fn is_number(simple: &Simple) -> bool {
    // Encodings of programs may be numbers too, but only these are known without a registry.
    const NUMBERS: [&str; 14] = [
        "byte",
        "short",
        "int",
        "long",
        "float",
        "double",
        "Byte",
        "Short",
        "Integer",
        "Long",
        "Float",
        "Double",
        "BigInteger",
        "BigDecimal",
    ];
    matches!(simple.kind(), SimpleKind::Plain(id) if NUMBERS.contains(&id.alias()))
}

impl FieldKind {
    /// Describes in a few words what a field holds.
    pub(crate) fn describe(&self) -> String {
        let simple = |simple: &Simple| match simple.kind() {
            SimpleKind::Plain(id) => id.alias().to_owned(),
            SimpleKind::Reference(reference) => match reference.object_types() {
                None => "reference".to_owned(),
                Some(types) => format!("reference to {}", types.join(" or ")),
            },
            SimpleKind::Enum { identifiers } => format!("enum of {}", identifiers.join(", ")),
            SimpleKind::EnumArray { identifiers, dimensions } => {
                format!("{dimensions}-dimensional array of enum {}", identifiers.join(", "))
            }
        };
        match self {
            FieldKind::Simple(s) => simple(s),
            FieldKind::Counter => "counter".to_owned(),
            FieldKind::Set(element) => format!("set of {}", simple(element.simple())),
            FieldKind::List(element) => format!("list of {}", simple(element.simple())),
            FieldKind::Map { key, value } => {
                format!("map from {} to {}", simple(key.simple()), simple(value.simple()))
            }
        }
    }
}

fn refusals(old: &SchemaModel, new: &SchemaModel) -> Vec<String> {
    let mut refusals = Vec::new();
    let mut by_schema_id = HashMap::new();
    let mut by_storage_id = HashMap::new();
    for item in old.items() {
        if let Some(id) = item.storage_id() {
            by_schema_id.insert(item.schema_id(), id);
            by_storage_id.insert(id, (item.schema_id(), item));
        }
    }
    for item in new.items() {
        let Some(id) = item.storage_id() else { continue };
        let schema_id = item.schema_id();
        match by_schema_id.get(&schema_id) {
            Some(known) if *known != id => {
                refusals.push(format!("{item} asks for storage ID {id} but has {known}"));
            }
            // An item that already has the largest storage ID may keep it.
            None if item.asks_for_too_large_an_id() => {
                refusals.push(format!("{item} asks for storage ID {id}, which no type can have"));
            }
            _ => {}
        }
        match by_storage_id.get(&id) {
            Some((taken, other)) if *taken != schema_id => {
                refusals.push(format!("{item} asks for storage ID {id}, which {other} has"));
            }
            _ => {}
        }
    }
    refusals
}

impl fmt::Display for SchemaComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("no changes");
        }
        let mut newline = "";
        for refusal in &self.refusals {
            write!(f, "{newline}refused: {refusal}")?;
            newline = "\n";
        }
        for object_type in &self.types {
            write!(f, "{newline}object type {:?}: {}", object_type.name, object_type.effect)?;
            newline = "\n";
            for field in &object_type.fields {
                write!(f, "\n  field {:?}: {}", field.name, field.effect)?;
            }
            for index in &object_type.indexes {
                write!(f, "\n  composite index {:?}: {}", index.name, index.effect)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for TypeEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TypeEffect::Added => "added",
            TypeEffect::Removed => {
                "removed; its objects stay as they are, migrating them is refused"
            }
            TypeEffect::Changed => "changed",
        })
    }
}

impl fmt::Display for FieldEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldEffect::Added => f.write_str("added, with its default value"),
            FieldEffect::Removed => f.write_str("removed with its content"),
            FieldEffect::Kept { indexes_added, indexes_removed, narrowed, options_changed } => {
                f.write_str("kept")?;
                for name in indexes_added {
                    write!(f, "; index on {name} added")?;
                }
                for name in indexes_removed {
                    write!(f, "; index on {name} removed")?;
                }
                for Narrowed { field, no_longer_allowed, still_allowed } in narrowed {
                    match no_longer_allowed {
                        Some(gone) => {
                            write!(
                                f,
                                "; references from {field} to {} are reset",
                                gone.join(", ")
                            )?;
                        }
                        None => {
                            let allowed = still_allowed.join(", ");
                            write!(
                                f,
                                "; references from {field} to types other than [{allowed}] are reset"
                            )?;
                        }
                    }
                }
                match *options_changed && narrowed.is_empty() {
                    true => f.write_str("; options of the reference changed"),
                    false => Ok(()),
                }
            }
            FieldEffect::Converted { from, to } => {
                write!(
                    f,
                    "reset, from {from} to {to}, unless the program that migrates converts it"
                )
            }
            FieldEffect::Reset { from, to } => write!(f, "reset, from {from} to {to}"),
        }
    }
}

impl fmt::Display for IndexEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IndexEffect::Added => "added",
            IndexEffect::Removed => "removed",
            IndexEffect::Rebuilt => "rebuilt",
        })
    }
}
