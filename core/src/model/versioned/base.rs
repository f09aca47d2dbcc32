//! The content that an object had when it was loaded, to compare with later.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::encoding::{EncodingError, Reader, long};
use crate::id::ObjId;
use crate::model::binding::Binding;
use crate::model::error::{Error, Result};
use crate::model::evolution::{Seen, pairs_of};
use crate::model::load::ObjectWriter;
use crate::object::{ObjectBuilder, ObjectData, Transaction};
use crate::schema::{ItemKind, ResolvedType, SchemaId};

/// The first byte of a base: the form of the bytes that follow.
const FORM: u8 = 1;
/// How many bytes of the check sum end a base.
const SUM: usize = 8;

/// The content that an object had when it was loaded. A [`Versioned`](crate::model::Versioned)
/// value is stored by comparing it with this.
///
/// It can be kept as bytes, for example in a form on a web page, and outlives the program. The
/// bytes have a check sum, so damage is noticed. They are neither secret nor signed: a program that
/// makes bytes of its own can claim that an object had other values when it was loaded. Such values
/// are only compared and never written. The difference to a counter is made from them.
#[derive(Clone, PartialEq, Eq)]
pub struct Base {
    id: ObjId,
    schema: SchemaId,
    fields: Vec<FieldBase>,
}

/// The content of one field.
#[derive(Clone, PartialEq, Eq)]
struct FieldBase {
    /// The hash of the field's schema ID, which stands for its definition in any database.
    definition: [u8; 16],
    /// The rest of the key after the field, and the value.
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl fmt::Debug for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Base({} in {})", self.id, self.schema)
    }
}

impl Base {
    /// The base of an object with this content, as the model sees it.
    pub(in crate::model) fn of(id: ObjId, binding: &Binding, data: &ObjectData) -> Result<Self> {
        let of_field = |position: usize| {
            let field = binding.field(position)?;
            let pairs = pairs_of(data, field).into_iter();
            Ok(FieldBase {
                definition: *field.schema_id.hash(),
                pairs: pairs.map(|(key, value)| (key.to_vec(), value.to_vec())).collect(),
            })
        };
        let fields = (0..binding.info.fields.len()).map(of_field).collect::<Result<_>>()?;
        Ok(Base { id, schema: binding.fields.object_type.schema_of, fields })
    }

    /// The object.
    pub fn id(&self) -> ObjId {
        self.id
    }

    /// The schema of the models with which the object was loaded.
    pub fn schema_id(&self) -> SchemaId {
        self.schema
    }

    /// The content as the model sees it, also if it is that of another schema. A field counts as
    /// unread if its old content is not known.
    pub(in crate::model) fn seen(&self, binding: &Binding, tx: &Transaction) -> Result<Seen> {
        let own = &binding.fields.object_type;
        if self.schema != own.schema_of {
            let bundle = tx.bundle();
            let recorded = bundle.schema_by_id(self.schema);
            let old = recorded.and_then(|schema| schema.type_by_storage_id(own.storage_id));
            if let Some(old) = old {
                return binding.see(self.content(old), tx);
            }
        }
        // The schema was removed. Fields that only the base has may have been any of the model. If
        // it has none of these, it lacked the others.
        let definitions: Vec<_> = own.fields.iter().map(|field| *field.schema_id.hash()).collect();
        let is_known = |field: &FieldBase| definitions.contains(&field.definition);
        let lacked = self.schema != own.schema_of && self.fields.iter().all(is_known);
        let content = self.content(own);
        let mut writer = ObjectWriter::new(&binding.fields);
        let mut unread = Vec::new();
        for (position, decl) in binding.info.fields.iter().enumerate() {
            let definition = binding.field(position)?.schema_id.hash();
            if self.fields.iter().any(|field| field.definition == *definition) {
                writer.copy(position, &content)?;
            } else if lacked && !binding.has_own_code(decl) {
                binding.write_default(position, &mut writer)?;
            } else {
                unread.push(position);
            }
        }
        let mut seen = Seen::own(writer.finish().0);
        seen.unread = unread;
        Ok(seen)
    }

    /// The content of the fields of a type.
    fn content(&self, object_type: &Arc<ResolvedType>) -> ObjectData {
        let mut data = ObjectBuilder::new(Arc::clone(object_type));
        for field in &object_type.fields {
            let hash = field.schema_id.hash();
            let found = self.fields.iter().find(|base| base.definition == *hash);
            for (key, value) in found.iter().flat_map(|base| &base.pairs) {
                data.push_pair(field.storage_id, key, value);
            }
        }
        data.finish()
    }

    /// The base as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![FORM];
        out.extend_from_slice(self.id.as_bytes());
        out.extend_from_slice(self.schema.hash());
        write_len(self.fields.len(), &mut out);
        for FieldBase { definition, pairs } in &self.fields {
            out.extend_from_slice(definition);
            write_len(pairs.len(), &mut out);
            for bytes in pairs.iter().flat_map(|(key, value)| [key, value]) {
                write_len(bytes.len(), &mut out);
                out.extend_from_slice(bytes);
            }
        }
        let sum = sum(&out);
        out.extend_from_slice(&sum);
        out
    }

    /// The base that [`to_bytes`](Base::to_bytes) wrote.
    ///
    /// # Errors
    /// [`Error::DamagedBase`] if the bytes are not what `to_bytes` writes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let damaged = |reason: String| Error::DamagedBase { reason };
        match bytes.first() {
            None => return Err(damaged("there are no bytes".to_owned())),
            Some(&FORM) => {}
            Some(other) => {
                return Err(damaged(format!(
                    "it has form {other}, and this program knows form {FORM}; a newer program may have written it"
                )));
            }
        }
        let content = bytes.len().checked_sub(SUM).and_then(|at| bytes.split_at_checked(at));
        match content {
            Some((content, end)) if end == sum(content) => {
                read(content).map_err(|error| damaged(error.to_string()))
            }
            Some(_) => Err(damaged("its check sum does not match".to_owned())),
            None => Err(damaged("it is too short".to_owned())),
        }
    }
}

/// As bytes; in formats for people, such as JSON, as hexadecimal digits.
#[cfg(feature = "serde")]
impl serde::Serialize for Base {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let bytes = self.to_bytes();
        match to.is_human_readable() {
            true => to.collect_str(&permazen_kv::Hex(&bytes)),
            false => to.serialize_bytes(&bytes),
        }
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Base {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match from.is_human_readable() {
            true => from.deserialize_str(BaseVisitor),
            false => from.deserialize_bytes(BaseVisitor),
        }
    }
}

#[cfg(feature = "serde")]
struct BaseVisitor;

#[cfg(feature = "serde")]
impl serde::de::Visitor<'_> for BaseVisitor {
    type Value = Base;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what an object contained when it was loaded")
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Base, E> {
        Base::from_bytes(bytes).map_err(E::custom)
    }

    fn visit_str<E: serde::de::Error>(self, digits: &str) -> Result<Base, E> {
        let bytes = digits.as_bytes().chunks(2).map(|pair| match pair {
            [high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let digits = std::str::from_utf8(pair).ok()?;
                u8::from_str_radix(digits, 16).ok()
            }
            _ => None,
        });
        let bytes: Option<Vec<u8>> = bytes.collect();
        self.visit_bytes(&bytes.ok_or_else(|| E::custom("it is no hexadecimal number"))?)
    }
}

fn write_len(len: usize, out: &mut Vec<u8>) {
    // Nothing in memory is longer than `isize::MAX`, so none is clamped. If one were, fewer bytes
    // would follow than it says, and the base would be refused when it is read.
    long::write(i64::try_from(len).unwrap_or(i64::MAX), out);
}

fn read_len(reader: &mut Reader<'_>) -> Result<usize, EncodingError> {
    let len = long::read(reader)?;
    usize::try_from(len).map_err(|_| EncodingError::Invalid(format!("{len} is no length")))
}

fn sum(bytes: &[u8]) -> [u8; SUM] {
    let mut sum = [0; SUM];
    sum.iter_mut().zip(Sha256::digest(bytes)).for_each(|(to, from)| *to = from);
    sum
}

fn read(content: &[u8]) -> Result<Base, EncodingError> {
    let mut reader = Reader::new(content);
    reader.byte()?;
    let id = ObjId::read_from(&mut reader)?;
    let schema = SchemaId::new(ItemKind::Schema, reader.array()?);
    let mut fields = Vec::new();
    for _ in 0..read_len(&mut reader)? {
        let definition = reader.array()?;
        let mut pairs = Vec::new();
        for _ in 0..read_len(&mut reader)? {
            let key = read_bytes(&mut reader)?;
            pairs.push((key, read_bytes(&mut reader)?));
        }
        fields.push(FieldBase { definition, pairs });
    }
    reader.finish()?;
    Ok(Base { id, schema, fields })
}

fn read_bytes(reader: &mut Reader<'_>) -> Result<Vec<u8>, EncodingError> {
    let len = read_len(reader)?;
    Ok(reader.take(len)?.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes made by hand, with a check sum that matches, are read or refused.
    #[test]
    fn bytes_with_a_matching_sum_are_read_or_refused() {
        let definition = [7; 16];
        let pairs = vec![(vec![], vec![1, 2]), (vec![3; 300], vec![])];
        let id = "0a00000000000001".parse().unwrap();
        let schema = SchemaId::new(ItemKind::Schema, [9; 16]);
        let base = Base { id, schema, fields: vec![FieldBase { definition, pairs }] };
        let bytes = base.to_bytes();
        assert_eq!(Base::from_bytes(&bytes).unwrap(), base);
        let content = &bytes[..bytes.len() - SUM];
        let with_sum = |content: &[u8]| [content, &sum(content)].concat();
        for at in 1..content.len() {
            assert!(Base::from_bytes(&with_sum(&content[..at])).is_err(), "{at}");
            for other in [0, 1, 0x7f, 0x80, 0xfe, 0xff] {
                let mut changed = content.to_vec();
                changed[at] = other;
                if let Ok(read) = Base::from_bytes(&with_sum(&changed)) {
                    assert_eq!(Base::from_bytes(&read.to_bytes()).unwrap(), read);
                }
            }
        }
        assert!(Base::from_bytes(&with_sum(&[content, &[0]].concat())).is_err());
    }
}
