//! Findings of the checker.

use std::fmt::{self, Write};

use permazen::__internal::escape::Escaping;
use permazen::__internal::layout::OBJECT_SCHEMA_INDEX_SPAN;
use permazen::{ObjId, StorageId, kv};

use crate::RepairScope;

/// One thing that is wrong with a database. It concerns exactly one key.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The kind of damage.
    pub class: Class,
    /// The key that it is about.
    pub key: Vec<u8>,
    /// The value that is stored under the key now; `None` if there is none.
    pub value: Option<Vec<u8>>,
    /// The action of a repair.
    pub fix: Fix,
    /// The object that it is about, if any.
    pub object: Option<ObjId>,
    /// The schema item that it is about: `Person`, `Person.name`, `Person.tags.element`,
    /// `Person#nameAge`.
    pub item: Option<String>,
    /// The problem, in words.
    pub detail: String,
    /// The meaning of the key, if it can be decoded.
    pub decoded_key: Option<String>,
    /// The indexes in which its object requires other entries once this is repaired than it does
    /// now. `None` stands for all of them, the object schema index included.
    pub(crate) unsettles: Vec<Option<StorageId>>,
    /// Whether it is an index entry that follows, or may follow, from a pair that stays although
    /// something is wrong with it, so that the entry stays too.
    pub(crate) is_of_kept_object: bool,
}

/// The action of a repair on a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fix {
    /// The key is removed.
    Remove,
    /// The key gets this value.
    Put(Vec<u8>),
    /// Repair can do nothing safely: it leaves the database as it is.
    None,
}

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The kind of damage a finding reports.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Class {
            $($(#[$doc])* $name,)*
        }

        impl Class {
            /// All classes.
            pub const ALL: &'static [Class] = &[$(Class::$name,)*];

            /// The name used in reports: words with hyphens.
            pub fn as_str(self) -> &'static str {
                match self { $(Class::$name => $text,)* }
            }
        }
    };
}

classes! {
    /// A pair in a range that must be empty.
    ForeignKey = "foreign-key",
    /// The format version pair is absent.
    MissingFormatVersion = "missing-format-version",
    /// The format version is not exactly 1.
    BadFormatVersion = "bad-format-version",
    /// A schema table key cannot be decoded, names index 0, or has bytes after the index.
    BadSchemaTableKey = "bad-schema-table-key",
    /// A storage ID table key cannot be decoded, names ID 0, or has bytes after the ID.
    BadStorageIdKey = "bad-storage-id-key",
    /// A schema table value cannot be inflated, parsed or accepted as a schema.
    BadSchemaXml = "bad-schema-xml",
    /// Bytes follow a compressed schema.
    TrailingGarbageSchema = "trailing-garbage-schema",
    /// Storage IDs or objects need a schema that is not recorded.
    MissingSchema = "missing-schema",
    /// One schema is recorded twice.
    DuplicateSchema = "duplicate-schema",
    /// A storage ID table value is not one schema ID.
    BadStorageIdValue = "bad-storage-id-value",
    /// An item of a schema has no storage ID.
    MissingStorageId = "missing-storage-id",
    /// A storage ID belongs to no item of a schema.
    UnknownStorageId = "unknown-storage-id",
    /// Two storage IDs have the same schema ID.
    DuplicateStorageId = "duplicate-storage-id",
    /// A schema requires another storage ID than the table has.
    ConflictingStorageId = "conflicting-storage-id",
    /// No object uses this schema.
    ObsoleteSchema = "obsolete-schema",
    /// An override changes or repeats a recorded entry.
    Override = "override",
    /// A key shorter than an object ID in the range of an object type.
    BadObjectKey = "bad-object-key",
    /// Content of an object that does not exist.
    OrphanField = "orphan-field",
    /// The meta-data pair of an object is absent.
    MissingObjectMeta = "missing-object-meta",
    /// The meta-data of an object cannot be decoded or has schema index 0.
    BadObjectMeta = "bad-object-meta",
    /// The meta-data of an object names a schema that is not recorded.
    UnknownSchemaIndex = "unknown-schema-index",
    /// The meta-data of an object names a schema that lacks the type of the object.
    TypeNotInSchema = "type-not-in-schema",
    /// The flags byte of an object is not zero.
    BadObjectFlags = "bad-object-flags",
    /// Bytes follow the flags of an object.
    ObjectMetaTrailingGarbage = "object-meta-trailing-garbage",
    /// A field ID that the type of the object does not have, or that cannot be decoded.
    UnknownField = "unknown-field",
    /// Bytes follow a complete key or value of a field or collection.
    TrailingGarbage = "trailing-garbage",
    /// The value of a simple field cannot be decoded.
    UndecodableValue = "undecodable-value",
    /// An element, key or value of a collection cannot be decoded.
    UndecodableElement = "undecodable-element",
    /// A simple field holds its default value, which is never stored.
    DefaultValueStored = "default-value-stored",
    /// A value can be decoded, but is not in the canonical form of its encoding.
    NonCanonicalValue = "non-canonical-value",
    /// A reference that may not dangle refers to an object that does not exist.
    DanglingReference = "dangling-reference",
    /// A counter is not eight bytes.
    BadCounterValue = "bad-counter-value",
    /// A set element pair has a value.
    NonEmptyElementValue = "non-empty-element-value",
    /// List indexes are not 0, 1, 2 …
    ListGap = "list-gap",
    /// A list key has no usable index.
    BadListIndex = "bad-list-index",
    /// An index entry that an object requires is absent.
    MissingIndexEntry = "missing-index-entry",
    /// An object schema index entry that an object requires is absent.
    MissingSchemaIndexEntry = "missing-schema-index-entry",
    /// An index entry whose object does not exist, or does not have such a value.
    DanglingIndexEntry = "dangling-index-entry",
    /// An object schema index entry whose object does not exist, or is of another schema.
    DanglingSchemaIndexEntry = "dangling-schema-index-entry",
    /// An index entry that cannot be decoded or is not canonical.
    UndecodableIndexEntry = "undecodable-index-entry",
    /// An index entry that has bytes after its end.
    TrailingGarbageIndexEntry = "trailing-garbage-index-entry",
    /// An object schema index key that cannot be decoded, or has bytes after the object ID.
    BadSchemaIndexKey = "bad-schema-index-key",
    /// An index entry with a value.
    NonEmptyIndexValue = "non-empty-index-value",
    /// An object schema index entry with a value.
    NonEmptySchemaIndexValue = "non-empty-schema-index-value",
    /// A reference to an object of a type that its field does not allow. Only a warning; Java's
    /// checker does not check this.
    DisallowedReference = "disallowed-reference",
    /// Fields have values of an encoding that is not registered, so the values cannot be judged.
    /// Only a warning.
    UnknownEncoding = "unknown-encoding",
    /// The XML of a recorded schema is not in its usual form: it has another order, white space, or
    /// more attributes. Only a warning, because it means the same.
    UnusualSchemaXml = "unusual-schema-xml",
    /// A key from `ff` up, which the key/value interface reserves; only a warning.
    ReservedKey = "reserved-key",
}

impl Class {
    /// Whether findings of this class are warnings: repair does nothing about them, and they do not
    /// make a database inconsistent.
    pub fn is_warning(self) -> bool {
        matches!(
            self,
            Class::DisallowedReference
                | Class::UnknownEncoding
                | Class::UnusualSchemaXml
                | Class::ReservedKey
        )
    }

    /// Whether it is about something that follows from the objects: index entries and the object
    /// schema index.
    pub fn is_derived(self) -> bool {
        matches!(
            self,
            Class::MissingIndexEntry
                | Class::MissingSchemaIndexEntry
                | Class::DanglingIndexEntry
                | Class::DanglingSchemaIndexEntry
                | Class::UndecodableIndexEntry
                | Class::TrailingGarbageIndexEntry
                | Class::BadSchemaIndexKey
                | Class::NonEmptyIndexValue
                | Class::NonEmptySchemaIndexValue
        )
    }

    /// Whether what a pair of an object holds cannot be taken as it is: a repair removes the pair,
    /// moves it or makes its value another one.
    pub(crate) fn is_about_unusable_value(self) -> bool {
        matches!(
            self,
            Class::TrailingGarbage
                | Class::UndecodableValue
                | Class::UndecodableElement
                | Class::NonCanonicalValue
                | Class::DanglingReference
                | Class::ListGap
                | Class::BadListIndex
        )
    }

    /// Whether an index entry has a value, but is neither missing nor surplus.
    pub(crate) fn is_about_value_of_entry(self) -> bool {
        matches!(self, Class::NonEmptyIndexValue | Class::NonEmptySchemaIndexValue)
    }

    /// Whether Java's checker does not check this at all.
    pub fn is_beyond_reference(self) -> bool {
        matches!(
            self,
            Class::DisallowedReference
                | Class::ReservedKey
                | Class::UnusualSchemaXml
                | Class::TypeNotInSchema
                | Class::NonCanonicalValue
        )
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Finding {
    /// Whether a repair with this scope may repair it. If it was found with
    /// [`RepairScope::Derived`], index entries that depend on the repair of the object's own pairs
    /// are not in that scope.
    pub fn is_in(&self, scope: RepairScope) -> bool {
        match scope {
            RepairScope::All => true,
            RepairScope::Derived => {
                let is_entry =
                    self.class.is_derived() || self.key.starts_with(OBJECT_SCHEMA_INDEX_SPAN.min);
                is_entry && !self.is_of_kept_object
            }
        }
    }

    pub(crate) fn new(class: Class, key: &[u8], detail: impl Into<String>) -> Self {
        Finding {
            class,
            key: key.to_vec(),
            value: None,
            fix: Fix::Remove,
            object: None,
            item: None,
            detail: detail.into(),
            decoded_key: None,
            unsettles: Vec::new(),
            is_of_kept_object: false,
        }
    }

    pub(crate) fn value(mut self, value: &[u8]) -> Self {
        self.value = Some(value.to_vec());
        self
    }

    pub(crate) fn put(mut self, value: &[u8]) -> Self {
        self.fix = Fix::Put(value.to_vec());
        self
    }

    pub(crate) fn unrepairable(mut self) -> Self {
        self.fix = Fix::None;
        self
    }

    pub(crate) fn object(mut self, id: ObjId) -> Self {
        self.object = Some(id);
        self
    }

    pub(crate) fn unsettles(mut self, indexes: Vec<Option<StorageId>>) -> Self {
        self.unsettles = indexes;
        self
    }

    pub(crate) fn item(mut self, item: impl Into<String>) -> Self {
        self.item = Some(item.into());
        self
    }
}

/// Writes `class: detail: key [hex] …` on one line. Long keys and values are cut. Control and
/// format characters are escaped, as [`Escaping`] does it.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let f = &mut Escaping(f);
        write!(f, "{}: ", self.class)?;
        if let Some(object) = self.object {
            write!(f, "object {object} ")?;
        }
        if let Some(item) = &self.item {
            write!(f, "{item}: ")?;
        }
        write!(f, "{}; key [{}]", self.detail, Hex(&self.key))?;
        if let Some(value) = &self.value {
            write!(f, " value [{}]", Hex(value))?;
        }
        match &self.fix {
            Fix::Remove => write!(f, "; repair removes it"),
            Fix::Put(new) if new.is_empty() => write!(f, "; repair puts an empty value"),
            Fix::Put(new) => write!(f, "; repair puts [{}]", Hex(new)),
            Fix::None if self.class.is_warning() => Ok(()),
            Fix::None => write!(f, "; cannot be repaired automatically"),
        }
    }
}

/// Bytes in hex, cut after 48 of them.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 48;
        match self.0.get(..SHOWN) {
            Some(shown) if shown.len() < self.0.len() => write!(f, "{}...", kv::Hex(shown)),
            _ => kv::Hex(self.0).fmt(f),
        }
    }
}
