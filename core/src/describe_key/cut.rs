//! Cuts a key into parts.

use crate::encoding::{Encoding, EncodingKind, Reader, Result, Value, uint};
use crate::id::{ObjId, StorageId};
use crate::layout::{self, FORMAT_VERSION_KEY, META_DATA};
use crate::schema::{
    BundleItem, ItemKind, Occurrence, ResolvedField, ResolvedIndex, ResolvedKind, ResolvedPart,
    ResolvedType, SchemaBundle, SubFieldRole,
};

/// The meaning of a part of a key.
pub(super) enum KeyPart<'d> {
    /// A part that always means the same.
    Fixed(&'static str),
    SchemaIndex(u32),
    StorageId(u32),
    /// The storage ID of an object ID.
    ObjectType(&'d ResolvedType),
    /// The rest of an object ID.
    Unique,
    Field(&'d ResolvedField),
    /// A storage ID that is no field of the type.
    NoField(StorageId),
    /// A storage ID that is neither a type nor an index.
    Unknown(StorageId),
    SimpleIndex {
        owner: &'d ResolvedType,
        field: &'d ResolvedField,
    },
    CompositeIndex {
        owner: &'d ResolvedType,
        index: &'d ResolvedIndex,
    },
    /// An indexed value.
    Value(Value, &'d dyn Encoding),
    ObjectId(ObjId),
    Element(Value, &'d dyn Encoding),
    ListIndex(u32),
    MapKey(Value, &'d dyn Encoding),
    /// The map key at the end of an index entry.
    EntryKey(Value, &'d dyn Encoding),
    /// A part that cannot be decoded; the key is not complete without it.
    Undecodable,
    /// Bytes after a complete key.
    Garbage,
}

/// A key that is being cut.
struct Cutting<'k, 'd> {
    rest: &'k [u8],
    parts: Vec<(&'k [u8], KeyPart<'d>)>,
}

/// Cuts a key into its parts. `object_type` is the type of the object, if it is known.
pub(super) fn cut<'k, 'd>(
    key: &'k [u8],
    schemas: &'d SchemaBundle,
    object_type: Option<&'d ResolvedType>,
) -> Vec<(&'k [u8], KeyPart<'d>)> {
    let mut cutting = Cutting { rest: key, parts: Vec::new() };
    let complete = match key {
        // The empty key has no parts, and is not damaged.
        [] => Some(()),
        [META_DATA, ..] => cutting.meta_data(key),
        _ => cutting.data(schemas, object_type),
    };
    if !cutting.rest.is_empty() {
        cutting.take(
            cutting.rest.len(),
            match complete {
                // Complete keys have an end, so further bytes are surplus and not a part that
                // failed.
                Some(()) => KeyPart::Garbage,
                None => KeyPart::Undecodable,
            },
        );
    }
    cutting.parts
}

/// Most return `None` if the rest cannot be decoded.
impl<'k, 'd> Cutting<'k, 'd> {
    fn take(&mut self, len: usize, part: KeyPart<'d>) {
        if let Some((piece, rest)) = self.rest.split_at_checked(len) {
            self.parts.push((piece, part));
            self.rest = rest;
        }
    }

    /// Takes the bytes that `read` reads.
    fn read<T>(
        &mut self,
        read: impl FnOnce(&mut Reader<'k>) -> Result<T>,
        part: impl FnOnce(T) -> KeyPart<'d>,
    ) -> Option<()> {
        let mut reader = Reader::new(self.rest);
        let found = read(&mut reader).ok()?;
        self.take(self.rest.len() - reader.rest().len(), part(found));
        Some(())
    }

    fn value(
        &mut self,
        encoding: &'d dyn Encoding,
        part: impl FnOnce(Value, &'d dyn Encoding) -> KeyPart<'d>,
    ) -> Option<()> {
        self.read(|reader| encoding.decode(reader), |value| part(value, encoding))
    }

    fn meta_data(&mut self, key: &[u8]) -> Option<()> {
        self.take(1, KeyPart::Fixed("Meta-data key prefix"));
        let &[table, ..] = self.rest else { return Some(()) };
        let prefix = match table {
            0 => "Format version prefix",
            layout::SCHEMA_TABLE => "Schema table prefix",
            layout::STORAGE_ID_TABLE => "Storage ID table prefix",
            layout::OBJECT_SCHEMA_INDEX => "Object schema index",
            layout::USER_META_DATA => "User meta-data range",
            _ => "Unknown meta-data prefix",
        };
        self.take(1, KeyPart::Fixed(prefix));
        match table {
            0 if key.starts_with(FORMAT_VERSION_KEY) => {
                self.take(FORMAT_VERSION_KEY.len() - 2, KeyPart::Fixed("Format version key"));
                Some(())
            }
            layout::SCHEMA_TABLE => self.read(uint::read, KeyPart::SchemaIndex),
            layout::STORAGE_ID_TABLE => self.read(uint::read, KeyPart::StorageId),
            layout::OBJECT_SCHEMA_INDEX => {
                self.read(uint::read, KeyPart::SchemaIndex)?;
                self.read(ObjId::read_from, KeyPart::ObjectId)
            }
            layout::USER_META_DATA => {
                if !self.rest.is_empty() {
                    self.take(self.rest.len(), KeyPart::Fixed("User meta-data key"));
                }
                Some(())
            }
            _ => None,
        }
    }

    fn data(
        &mut self,
        schemas: &'d SchemaBundle,
        object_type: Option<&'d ResolvedType>,
    ) -> Option<()> {
        let mut reader = Reader::new(self.rest);
        let id = StorageId::read_from(&mut reader).ok()?;
        let len = self.rest.len() - reader.rest().len();
        let Some(item) = schemas.item(id) else {
            self.take(len, KeyPart::Unknown(id));
            return None;
        };
        match item.kind() {
            ItemKind::ObjectType => self.object(len, item, object_type),
            ItemKind::CompositeIndex => {
                let Occurrence { object_type: owner, part } = item.occurrences.first()?;
                let ResolvedPart::Index(index) = part else { return None };
                self.take(len, KeyPart::CompositeIndex { owner, index });
                let columns = index.fields.iter().filter_map(|field| field.simple());
                let columns: Vec<_> = columns.map(|simple| &*simple.encoding).collect();
                self.entry(&columns, None, item)
            }
            _ => match indexed(item) {
                Some((owner, field)) => {
                    self.take(len, KeyPart::SimpleIndex { owner, field });
                    let role = field.parent.as_ref().map(|parent| parent.role);
                    self.entry(&[&*field.simple()?.encoding], role, item)
                }
                None => {
                    self.take(len, KeyPart::Unknown(id));
                    None
                }
            },
        }
    }

    /// `id_len` is the length of the storage ID in the object ID.
    fn object(
        &mut self,
        id_len: usize,
        item: &'d BundleItem,
        object_type: Option<&'d ResolvedType>,
    ) -> Option<()> {
        // A type that is not the one of the ID says nothing about the fields.
        let known = object_type.filter(|known| known.storage_id == item.storage_id);
        let newest = &item.representative()?.object_type;
        self.take(id_len, KeyPart::ObjectType(known.unwrap_or(newest)));
        // A key that is too short has no object ID, and is shown as bytes that cannot be decoded.
        self.rest.get(..ObjId::LEN - id_len)?;
        self.take(ObjId::LEN - id_len, KeyPart::Unique);
        if self.rest.is_empty() {
            return Some(());
        }
        let mut reader = Reader::new(self.rest);
        let id = StorageId::read_from(&mut reader).ok()?;
        let len = self.rest.len() - reader.rest().len();
        // Without its own schema, the object may have had any of the recorded versions of its type.
        let field = match known {
            Some(known) => known.field_by_storage_id(id),
            None => item
                .occurrences
                .iter()
                .rev()
                .find_map(|version| version.object_type.field_by_storage_id(id)),
        };
        let Some(field) = field else {
            self.take(len, KeyPart::NoField(id));
            return None;
        };
        self.take(len, KeyPart::Field(field));
        match &field.kind {
            ResolvedKind::Simple(_) | ResolvedKind::Counter => Some(()),
            ResolvedKind::Set { element } => {
                self.value(&*element.simple()?.encoding, KeyPart::Element)
            }
            ResolvedKind::List { .. } => self.read(uint::read, KeyPart::ListIndex),
            ResolvedKind::Map { key, .. } => self.value(&*key.simple()?.encoding, KeyPart::MapKey),
        }
    }

    /// The parts after the storage ID of an index. `role` is that of the indexed sub-field.
    fn entry(
        &mut self,
        columns: &[&'d dyn Encoding],
        role: Option<SubFieldRole>,
        item: &'d BundleItem,
    ) -> Option<()> {
        for &column in columns {
            if matches!(column.kind(), EncodingKind::Unknown) {
                // The values after it cannot be told apart from it, so they are one part.
                self.values_of_unknown_length(column, role)?;
                break;
            }
            self.value(column, KeyPart::Value)?;
        }
        self.read(ObjId::read_from, KeyPart::ObjectId)?;
        match role {
            Some(SubFieldRole::ListElement) => self.read(uint::read, KeyPart::ListIndex),
            Some(SubFieldRole::MapValue) => {
                let mut keys = item.occurrences.iter().filter_map(map_key);
                // Which map it is depends on the object, which is not read. The first encoding that
                // fits is taken.
                keys.find_map(|encoding| self.value(encoding, KeyPart::EntryKey))
            }
            _ => Some(()),
        }
    }

    /// Values from one on whose encoding is not registered. They end before the object ID, if that
    /// is the end of the key; otherwise their end is not known.
    fn values_of_unknown_length(
        &mut self,
        encoding: &'d dyn Encoding,
        role: Option<SubFieldRole>,
    ) -> Option<()> {
        if matches!(role, Some(SubFieldRole::ListElement | SubFieldRole::MapValue)) {
            return None;
        }
        let len = self.rest.len().checked_sub(ObjId::LEN).filter(|&len| len > 0)?;
        let value = encoding.decode(&mut Reader::new(self.rest.get(..len)?)).ok()?;
        self.take(len, KeyPart::Value(value, encoding));
        Some(())
    }
}

/// The field whose index has this storage ID, and the first type that has it.
fn indexed(item: &BundleItem) -> Option<(&ResolvedType, &ResolvedField)> {
    item.occurrences.iter().find_map(|Occurrence { object_type, part, .. }| match part {
        ResolvedPart::Field(field) if field.is_indexed() => Some((&**object_type, &**field)),
        _ => None,
    })
}

/// The encoding of the keys, if this is the value of a map. Maps of the same name may have keys of
/// different encodings.
fn map_key(occurrence: &Occurrence) -> Option<&dyn Encoding> {
    let Occurrence { object_type, part } = occurrence;
    let ResolvedPart::Field(field) = part else { return None };
    match &object_type.field(&field.parent.as_ref()?.name)?.kind {
        ResolvedKind::Map { key, .. } => Some(&*key.simple()?.encoding),
        _ => None,
    }
}
