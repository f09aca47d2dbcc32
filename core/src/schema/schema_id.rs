//! Schema IDs: they identify a schema, and each of its items, across databases
//! (docs/src/schemas.md#ids).

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use super::item::{Item, Part};
use super::model::{CompositeIndex, Field, FieldKind, ObjectType, SchemaModel, Simple, SimpleKind};

/// The kind of item that a [`SchemaId`] stands for. The names are those of the XML elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ItemKind {
    /// A whole schema.
    Schema,
    /// An object type.
    ObjectType,
    /// A field with a registered encoding.
    SimpleField,
    /// A reference.
    ReferenceField,
    /// An enum field.
    EnumField,
    /// An enum array field.
    EnumArrayField,
    /// A counter.
    CounterField,
    /// A set.
    SetField,
    /// A list.
    ListField,
    /// A map.
    MapField,
    /// A composite index.
    CompositeIndex,
}

impl ItemKind {
    /// All kinds.
    pub const ALL: [ItemKind; 11] = [
        ItemKind::Schema,
        ItemKind::ObjectType,
        ItemKind::SimpleField,
        ItemKind::ReferenceField,
        ItemKind::EnumField,
        ItemKind::EnumArrayField,
        ItemKind::CounterField,
        ItemKind::SetField,
        ItemKind::ListField,
        ItemKind::MapField,
        ItemKind::CompositeIndex,
    ];

    /// The type code: `Schema`, `ObjectType`, `SimpleField`, …
    pub fn as_str(self) -> &'static str {
        match self {
            ItemKind::Schema => "Schema",
            ItemKind::ObjectType => "ObjectType",
            ItemKind::SimpleField => "SimpleField",
            ItemKind::ReferenceField => "ReferenceField",
            ItemKind::EnumField => "EnumField",
            ItemKind::EnumArrayField => "EnumArrayField",
            ItemKind::CounterField => "CounterField",
            ItemKind::SetField => "SetField",
            ItemKind::ListField => "ListField",
            ItemKind::MapField => "MapField",
            ItemKind::CompositeIndex => "CompositeIndex",
        }
    }
}

impl SimpleKind {
    /// The kind of item that a field of this kind is.
    pub fn item_kind(&self) -> ItemKind {
        match self {
            SimpleKind::Plain(_) => ItemKind::SimpleField,
            SimpleKind::Reference(_) => ItemKind::ReferenceField,
            SimpleKind::Enum { .. } => ItemKind::EnumField,
            SimpleKind::EnumArray { .. } => ItemKind::EnumArrayField,
        }
    }
}

impl FieldKind {
    /// The kind of item that a field of this kind is.
    pub fn item_kind(&self) -> ItemKind {
        match self {
            FieldKind::Simple(simple) => simple.kind().item_kind(),
            FieldKind::Counter => ItemKind::CounterField,
            FieldKind::Set(_) => ItemKind::SetField,
            FieldKind::List(_) => ItemKind::ListField,
            FieldKind::Map { .. } => ItemKind::MapField,
        }
    }
}

/// The identity of a schema, or of an item of a schema: a kind and 128 bits.
///
/// Two items have the same schema ID if and only if they have the same structure. Storage IDs do
/// not matter. An ID displays and parses as `ObjectType_dbe433c53ee3c5016ff034ca505d70d8`; `Debug`
/// shows the same text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SchemaId {
    kind: ItemKind,
    hash: [u8; 16],
}

impl SchemaId {
    /// The schema ID with this kind and hash.
    pub fn new(kind: ItemKind, hash: [u8; 16]) -> Self {
        SchemaId { kind, hash }
    }

    /// The schema ID of the object type with that name. It depends on nothing else.
    pub fn of_type_name(name: &str) -> SchemaId {
        let mut stream = Stream::default();
        // A type keeps its ID whatever fields it has, so that objects of all schemas have the same
        // one.
        stream.type_head(name, false);
        stream.finish(ItemKind::ObjectType)
    }

    /// The kind of item that the ID stands for.
    pub fn kind(&self) -> ItemKind {
        self.kind
    }

    /// The hash.
    pub fn hash(&self) -> &[u8; 16] {
        &self.hash
    }
}

impl fmt::Display for SchemaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{:032x}", self.kind.as_str(), u128::from_be_bytes(self.hash))
    }
}

impl fmt::Debug for SchemaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A program that returns an error from `main` prints it with `Debug`.
        fmt::Display::fmt(self, f)
    }
}

/// A text does not have the form of a schema ID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no schema id; one looks like \"ObjectType_\" and 32 lower-case hex digits")]
pub struct ParseSchemaIdError(String);

impl FromStr for SchemaId {
    type Err = ParseSchemaIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (code, digits) = text.split_once('_')?;
            let kind = ItemKind::ALL.into_iter().find(|kind| kind.as_str() == code)?;
            let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
            // `from_str_radix` would also take upper-case digits and a sign.
            if digits.len() != 32 || !digits.bytes().all(is_digit) {
                return None;
            }
            let hash = u128::from_str_radix(digits, 16).ok()?.to_be_bytes();
            Some(SchemaId { kind, hash })
        };
        parse().ok_or_else(|| ParseSchemaIdError(text.to_owned()))
    }
}

impl SchemaModel {
    /// The ID of this schema. It has no meaning if the model is invalid.
    pub fn schema_id(&self) -> SchemaId {
        let mut stream = Stream::default();
        stream.string("Schema");
        stream.count(self.object_types().len());
        for object_type in self.object_types() {
            stream.object_type(object_type);
        }
        stream.finish(ItemKind::Schema)
    }
}

impl Item<'_> {
    /// The schema ID of this item. It has no meaning if the model is invalid.
    pub fn schema_id(&self) -> SchemaId {
        let mut stream = Stream::default();
        match self.part {
            Part::ObjectType => {
                stream.type_head(self.object_type.name(), false);
                stream.finish(ItemKind::ObjectType)
            }
            Part::Field(field) => {
                stream.field(field, false);
                stream.finish(field.kind().item_kind())
            }
            Part::SubField { parent, name, sub_field } => {
                stream.simple(name, sub_field.simple(), Some(parent), false);
                stream.finish(sub_field.simple().kind().item_kind())
            }
            Part::Index(index) => {
                stream.index(self.object_type, index);
                stream.finish(ItemKind::CompositeIndex)
            }
        }
    }
}

/// The bytes that are hashed. `whole` is true for the ID of a whole schema. It then includes the
/// options that are not part of an item's identity.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
}

impl Stream {
    fn finish(self, kind: ItemKind) -> SchemaId {
        let digest: [u8; 32] = Sha256::digest(&self.bytes).into();
        let (high, low) = digest.split_at(16);
        let mut hash = [0; 16];
        // A schema ID has half the bits of the digest: its two halves are combined.
        for (byte, (high, low)) in hash.iter_mut().zip(high.iter().zip(low)) {
            *byte = high ^ low;
        }
        SchemaId { kind, hash }
    }

    /// The length in two bytes, then the text in modified UTF-8. There, a character above U+FFFF is
    /// two surrogates of three bytes each, and U+0000 takes two bytes.
    fn string(&mut self, text: &str) {
        #[allow(clippy::cast_possible_truncation, reason = "validation refuses a longer text")]
        let length_bytes = |length: usize| (length as u16).to_be_bytes();
        #[allow(clippy::cast_possible_truncation, reason = "only bits below the eighth are set")]
        let byte = |bits: u16| bits as u8;
        if text.bytes().all(|byte| (1..0x80).contains(&byte)) {
            self.bytes.extend(length_bytes(text.len()));
            self.bytes.extend_from_slice(text.as_bytes());
            return;
        }
        let units = || text.encode_utf16();
        let length = units().map(|unit| match unit {
            1..=0x7f => 1,
            0 | 0x80..=0x7ff => 2,
            _ => 3,
        });
        self.bytes.extend(length_bytes(length.sum()));
        for unit in units() {
            match unit {
                1..=0x7f => self.bytes.push(byte(unit)),
                0 | 0x80..=0x7ff => {
                    self.bytes.extend([0xc0 | byte(unit >> 6), 0x80 | byte(unit & 0x3f)]);
                }
                _ => self.bytes.extend([
                    0xe0 | byte(unit >> 12),
                    0x80 | byte(unit >> 6 & 0x3f),
                    0x80 | byte(unit & 0x3f),
                ]),
            }
        }
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "nothing in a schema is counted that has more than 2³² parts"
    )]
    fn count(&mut self, n: usize) {
        self.bytes.extend((n as u32).to_be_bytes());
    }

    fn flag(&mut self, flag: bool) {
        self.bytes.push(u8::from(flag));
    }

    fn strings(&mut self, texts: &[String]) {
        self.count(texts.len());
        for text in texts {
            self.string(text);
        }
    }

    fn type_head(&mut self, name: &str, whole: bool) {
        self.string("ObjectType");
        self.string(name);
        self.flag(whole);
    }

    fn object_type(&mut self, object_type: &ObjectType) {
        self.type_head(object_type.name(), true);
        self.count(object_type.fields().len());
        for field in object_type.fields() {
            self.field(field, true);
        }
        self.count(object_type.indexes().len());
        for index in object_type.indexes() {
            self.index(object_type, index);
        }
    }

    fn field(&mut self, field: &Field, whole: bool) {
        if let FieldKind::Simple(simple) = field.kind() {
            self.simple(field.name(), simple, None, whole);
        } else {
            self.string(field.kind().item_kind().as_str());
            self.string(field.name());
            for (name, sub_field) in field.sub_fields() {
                self.simple(name, sub_field.simple(), Some(field), whole);
            }
        }
    }

    fn simple(&mut self, name: &str, simple: &Simple, parent: Option<&Field>, whole: bool) {
        self.string(simple.kind().item_kind().as_str());
        self.string(name);
        self.flag(parent.is_some());
        // The names of sub-fields are all alike, so their parent tells them apart.
        if let Some(parent) = parent {
            self.string(parent.kind().item_kind().as_str());
            self.string(parent.name());
        }
        if let SimpleKind::Plain(encoding) = simple.kind() {
            self.string(encoding.as_str());
        }
        self.flag(whole);
        // An item keeps its ID, and its storage ID, when it is indexed or when these options
        // change.
        if whole {
            self.flag(simple.is_indexed());
        }
        match simple.kind() {
            SimpleKind::Plain(_) => {}
            SimpleKind::Reference(reference) => {
                self.flag(whole);
                if whole {
                    self.string(reference.inverse_delete().as_str());
                    self.flag(reference.forward_delete());
                    self.flag(reference.allow_deleted());
                    self.flag(reference.object_types().is_some());
                    if let Some(types) = reference.object_types() {
                        self.strings(types);
                    }
                }
            }
            SimpleKind::Enum { identifiers } => self.strings(identifiers),
            SimpleKind::EnumArray { identifiers, dimensions } => {
                self.strings(identifiers);
                self.count(usize::from(*dimensions));
            }
        }
    }

    fn index(&mut self, object_type: &ObjectType, index: &CompositeIndex) {
        self.string("CompositeIndex");
        self.string(index.name());
        self.count(index.fields().len());
        self.flag(true);
        for name in index.fields() {
            let field = object_type.find_field(name);
            // As in Java, a flag says of each field whether it is there.
            self.flag(field.is_some());
            if let Some(field) = field {
                self.field(field, false);
            }
        }
    }
}
