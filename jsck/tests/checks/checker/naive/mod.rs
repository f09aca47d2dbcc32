//! A second opinion on whether a database is healthy. Everything is decoded into simple maps and
//! written again from them, and the pairs are compared. It is slow, and shares nothing with the
//! checker.

use std::collections::{BTreeMap, BTreeSet};

use permazen::__internal::schema::{ResolvedKind, SchemaBundle, SchemaTables};
use permazen::ObjId;
use permazen::encoding::{Encoding, EncodingRegistry, Reader, Value, uint};
use permazen::schema::{ResolvedField, ResolvedType, SchemaIndex, UnknownEncodings};

use crate::support::Pairs;

/// Whether the pairs are exactly those of some database without damage.
pub(crate) fn is_healthy(pairs: &Pairs) -> bool {
    rebuild(pairs).is_some_and(|expected| {
        let meaningful = |key: &[u8]| !key.starts_with(&[0, 0xff]) && key.first() != Some(&0xff);
        let found: Pairs = pairs
            .iter()
            .filter(|(key, _)| meaningful(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        found == expected
    })
}

/// The pairs that belong to objects. Empty if the schemas cannot be read.
pub(crate) fn object_pairs(pairs: &Pairs) -> Pairs {
    let mut tables = SchemaTables::default();
    for (key, value) in pairs.range(vec![0, 1]..vec![0, 3]) {
        let Ok(number) = uint::read(&mut Reader::new(&key[2..])) else { continue };
        if key[1] == 1 {
            SchemaIndex::new(number)
                .map(|index| tables.schemas.insert(index, value.as_slice().into()));
        } else {
            let id = permazen::StorageId::new(number);
            id.map(|id| tables.storage_ids.insert(id, value.as_slice().into()));
        }
    }
    let registry = EncodingRegistry::new();
    let Ok(bundle) = SchemaBundle::decode(tables, &registry, UnknownEncodings::Refuse) else {
        return Pairs::new();
    };
    let ranges = bundle.type_ids().map(|type_id| type_id.key_range());
    ranges
        .flat_map(|(min, max)| pairs.range(min..max).map(|(k, v)| (k.clone(), v.clone())))
        .collect()
}

/// The pairs as they would be written from their own content; `None` if that makes no sense.
fn rebuild(pairs: &Pairs) -> Option<Pairs> {
    let format_version = b"\x00\x00Permazen\x00";
    let mut expected = Pairs::new();
    if pairs.get(&format_version[..])? != &[1] {
        return None;
    }
    expected.insert(format_version.to_vec(), vec![1]);
    let mut tables = SchemaTables::default();
    for (key, value) in pairs.range(vec![0, 1]..vec![0, 3]) {
        let mut reader = Reader::new(&key[2..]);
        let number = uint::read(&mut reader).ok()?;
        if !reader.is_empty() || uint::len(number) != key.len() - 2 {
            return None;
        }
        if key[1] == 1 {
            tables.schemas.insert(SchemaIndex::new(number)?, value.as_slice().into());
        } else {
            tables.storage_ids.insert(permazen::StorageId::new(number)?, value.as_slice().into());
        }
        expected.insert(key.clone(), value.clone());
    }
    let bundle =
        SchemaBundle::decode(tables, &EncodingRegistry::new(), UnknownEncodings::Refuse).ok()?;
    let mut objects: BTreeMap<[u8; 8], Pairs> = BTreeMap::new();
    for type_id in bundle.type_ids() {
        let (min, max) = type_id.key_range();
        for (key, value) in pairs.range(min..max) {
            let (id, rest) = key.split_first_chunk::<8>()?;
            objects.entry(*id).or_default().insert(rest.to_vec(), value.clone());
        }
    }
    let ids: BTreeSet<[u8; 8]> = objects.keys().copied().collect();
    for (id, content) in &objects {
        object(&bundle, ObjId::from_bytes(*id).ok()?, content, &ids, &mut expected)?;
    }
    Some(expected)
}

fn object(
    bundle: &SchemaBundle,
    id: ObjId,
    content: &Pairs,
    ids: &BTreeSet<[u8; 8]>,
    expected: &mut Pairs,
) -> Option<()> {
    let meta = content.get(&[][..])?;
    let mut reader = Reader::new(meta);
    let number = uint::read(&mut reader).ok()?;
    if number == 0 || uint::len(number) != meta.len() - reader.rest().len() {
        return None;
    }
    if !matches!(reader.rest(), [] | [0]) {
        return None;
    }
    let schema = bundle.schema(SchemaIndex::new(number)?)?;
    let object_type = schema.type_by_storage_id(id.storage_id())?;
    expected.insert(id.as_bytes().to_vec(), meta.clone());
    expected.insert(permazen::__internal::layout::object_schema_key(schema.index, id), Vec::new());
    let mut values = BTreeMap::new();
    let mut left = content.clone();
    left.remove(&[][..]);
    for field in &object_type.fields {
        let own: Pairs = left
            .iter()
            .filter(|(key, _)| key.starts_with(&field.key))
            .map(|(key, value)| (key[field.key.len()..].to_vec(), value.clone()))
            .collect();
        left.retain(|key, _| !key.starts_with(&field.key));
        if let Some(value) = one_field(id, field, &own, ids, expected)? {
            values.insert(field.name.clone(), value);
        }
    }
    if !left.is_empty() {
        return None;
    }
    composites(id, object_type, &values, expected)
}

/// Writes a field. Returns the encoded value of a simple one.
fn one_field(
    id: ObjId,
    field: &ResolvedField,
    own: &Pairs,
    ids: &BTreeSet<[u8; 8]>,
    expected: &mut Pairs,
) -> Option<Option<Vec<u8>>> {
    let key = |tail: &[u8]| [id.as_bytes(), &field.key[..], tail].concat();
    let mut index = |sub: &ResolvedField, parts: &[&[u8]]| {
        if sub.is_indexed() {
            expected.insert([&sub.key[..], &parts.concat()].concat(), Vec::new());
        }
    };
    match &field.kind {
        ResolvedKind::Simple(simple) => {
            let value = match own.get(&[][..]) {
                None => simple.default.clone()?.into_vec(),
                Some(bytes) => {
                    let value = canonical(field, bytes, ids)?;
                    if simple.is_default(&value) {
                        return None;
                    }
                    value
                }
            };
            index(field, &[&value, id.as_bytes()]);
            if !simple.is_default(&value) {
                expected.insert(key(&[]), value.clone());
            }
            (own.len() <= 1 && own.keys().all(Vec::is_empty)).then_some(Some(value))
        }
        ResolvedKind::Counter => {
            for (tail, value) in own {
                if !tail.is_empty() || value.len() != 8 {
                    return None;
                }
                expected.insert(key(&[]), value.clone());
            }
            Some(None)
        }
        ResolvedKind::Set { element } => {
            for tail in own.keys() {
                let value = canonical(element, tail, ids)?;
                index(element, &[&value, id.as_bytes()]);
            }
            for tail in own.keys() {
                expected.insert(key(tail), Vec::new());
            }
            Some(None)
        }
        ResolvedKind::List { element } => {
            for (n, value) in own.values().enumerate() {
                let mut position = Vec::new();
                uint::write(u32::try_from(n).ok()?, &mut position);
                let value = canonical(element, value, ids)?;
                if element.is_indexed() {
                    let parts = [&element.key[..], &value, id.as_bytes(), &position].concat();
                    expected.insert(parts, Vec::new());
                }
                expected.insert(key(&position), value);
            }
            Some(None)
        }
        ResolvedKind::Map { key: sub_key, value: sub_value } => {
            for (tail, value) in own {
                let map_key = canonical(sub_key, tail, ids)?;
                let value = canonical(sub_value, value, ids)?;
                index(sub_key, &[&map_key, id.as_bytes()]);
                index(sub_value, &[&value, id.as_bytes(), &map_key]);
            }
            for (tail, value) in own {
                expected.insert(key(tail), value.clone());
            }
            Some(None)
        }
    }
}

fn composites(
    id: ObjId,
    object_type: &ResolvedType,
    values: &BTreeMap<std::sync::Arc<str>, Vec<u8>>,
    expected: &mut Pairs,
) -> Option<()> {
    for index in &object_type.indexes {
        let mut key = index.key.to_vec();
        for field in &index.fields {
            key.extend_from_slice(values.get(&field.name)?);
        }
        key.extend_from_slice(id.as_bytes());
        expected.insert(key, Vec::new());
    }
    Some(())
}

/// The bytes, if their value is encoded as the same bytes and, for a reference, its target exists.
fn canonical(field: &ResolvedField, bytes: &[u8], ids: &BTreeSet<[u8; 8]>) -> Option<Vec<u8>> {
    let simple = field.simple()?;
    let encoding: &dyn Encoding = &*simple.encoding;
    let value = encoding.decode_all(bytes).ok()?;
    let written = encoding.encode_all(&value).ok()?;
    if written != bytes {
        return None;
    }
    if let (Some(reference), Value::Ref(target)) = (&simple.reference, &value)
        && !reference.allow_deleted
        && !ids.contains(&target.to_bytes())
    {
        return None;
    }
    Some(written)
}
