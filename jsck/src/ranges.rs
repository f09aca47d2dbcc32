//! Which key ranges the recorded schemas give a meaning.

use std::collections::BTreeMap;
use std::sync::Arc;

use permazen::StorageId;
use permazen::encoding::{Encoding, EncodingKind};
use permazen::kv::{Direction, KeySpan, KvRead};
use permazen::layout::{FORMAT_VERSION_KEY, StorageIdKey};
use permazen::schema::{ResolvedField, ResolvedKind, ResolvedType, SchemaBundle, SubFieldRole};

use crate::finding::{Class, Finding};
use crate::output::{Checked, Output};

/// What lies under a storage ID.
#[derive(Debug)]
pub(crate) enum Range {
    /// Objects of a type.
    Objects,
    /// Entries of an index.
    Index(IndexRange),
}

/// The entries of an index.
#[derive(Debug)]
pub(crate) struct IndexRange {
    /// The schema item: `Person.name`, `Person#nameAge`.
    pub(crate) item: String,
    pub(crate) key: StorageIdKey,
    pub(crate) columns: Vec<Arc<dyn Encoding>>,
    pub(crate) tail: Tail,
    /// Storage IDs of the indexed fields whose encoding is not registered, so that nothing tells
    /// which entry an object without a stored value calls for. Elements, keys and values of
    /// collections are always stored.
    pub(crate) opaque_fields: Vec<StorageId>,
}

impl IndexRange {
    /// Whether an indexed value is of an encoding that is not registered, so that nothing tells
    /// where it ends.
    pub(crate) fn is_opaque(&self) -> bool {
        self.columns.iter().any(|column| matches!(column.kind(), EncodingKind::Unknown))
    }
}

/// What follows the object ID in an index entry.
#[derive(Debug)]
pub(crate) enum Tail {
    Nothing,
    ListPosition,
    /// A key of a map; maps of the same name may have keys of different encodings.
    MapKey(Vec<Arc<dyn Encoding>>),
}

/// Every storage ID that has a key range, ascending.
pub(crate) fn of_bundle(bundle: &SchemaBundle) -> BTreeMap<StorageId, Range> {
    let mut ranges = BTreeMap::new();
    for schema in bundle.schemas() {
        for object_type in &schema.types {
            ranges.insert(object_type.storage_id, Range::Objects);
            for field in object_type.all_fields().filter(|field| field.is_indexed()) {
                add_field(&mut ranges, object_type, field);
            }
            for index in &object_type.indexes {
                let columns = index.fields.iter().filter_map(|f| f.simple());
                let opaque = |field: &&Arc<ResolvedField>| {
                    field.simple().is_some_and(|simple| simple.is_opaque())
                };
                let opaque_fields = index.fields.iter().filter(opaque).map(|f| f.storage_id);
                ranges.entry(index.storage_id).or_insert_with(|| {
                    Range::Index(IndexRange {
                        item: format!("{}#{}", object_type.name, index.name),
                        key: index.key,
                        columns: columns.map(|simple| Arc::clone(&simple.encoding)).collect(),
                        tail: Tail::Nothing,
                        opaque_fields: opaque_fields.collect(),
                    })
                });
            }
        }
    }
    ranges
}

fn add_field(
    ranges: &mut BTreeMap<StorageId, Range>,
    object_type: &ResolvedType,
    field: &ResolvedField,
) {
    let Some(simple) = field.simple() else { return };
    let map_key = map_key_encoding(object_type, field);
    let range = ranges.entry(field.storage_id).or_insert_with(|| {
        Range::Index(IndexRange {
            item: format!("{}.{}", object_type.name, field.full_name),
            key: field.key,
            columns: vec![Arc::clone(&simple.encoding)],
            tail: match field.parent.as_ref().map(|parent| parent.role) {
                Some(SubFieldRole::ListElement) => Tail::ListPosition,
                Some(SubFieldRole::MapValue) => Tail::MapKey(Vec::new()),
                _ => Tail::Nothing,
            },
            opaque_fields: match field.parent {
                None if simple.is_opaque() => vec![field.storage_id],
                _ => Vec::new(),
            },
        })
    });
    if let (Range::Index(IndexRange { tail: Tail::MapKey(keys), .. }), Some(key)) = (range, map_key)
        && !keys.iter().any(|known| known.is_same(&*key))
    {
        keys.push(key);
    }
}

/// The encoding of the keys, if `field` is the value of a map.
fn map_key_encoding(
    object_type: &ResolvedType,
    field: &ResolvedField,
) -> Option<Arc<dyn Encoding>> {
    let parent = field.parent.as_ref()?;
    match &object_type.field(&parent.name)?.kind {
        ResolvedKind::Map { key, .. } => Some(Arc::clone(&key.simple()?.encoding)),
        _ => None,
    }
}

/// Reports every pair outside the ranges that have a meaning.
pub(crate) fn check_gaps(
    kv: &dyn KvRead,
    ranges: &BTreeMap<StorageId, Range>,
    out: &mut Output<'_>,
) -> Checked {
    let mut format_version_end = FORMAT_VERSION_KEY.to_vec();
    format_version_end.push(0);
    let mut gaps = Gaps { kv, out };
    gaps.check(&[], FORMAT_VERSION_KEY, "before the format version")?;
    gaps.check(&format_version_end, &[0, 1], "between format version and schema table")?;
    gaps.check(&[0, 3], &[0, 0x80], "between storage ID table and object schema index")?;
    gaps.check(&[0, 0x81], &[0, 0xff], "between object schema index and user meta-data")?;
    let mut min = vec![1];
    for id in ranges.keys() {
        let (start, end) = id.key_range();
        gaps.check(&min, &start, "of no object type and no index")?;
        min = end;
    }
    gaps.check(&min, &[0xff], "of no object type and no index")?;
    gaps.reserved()
}

struct Gaps<'a, 'o> {
    kv: &'a dyn KvRead,
    out: &'a mut Output<'o>,
}

impl Gaps<'_, '_> {
    fn check(&mut self, min: &[u8], max: &[u8], place: &str) -> Checked {
        if min >= max {
            return Ok(());
        }
        for pair in self.kv.scan(KeySpan::new(min, Some(max)), Direction::Forward)? {
            let (key, value) = pair?;
            self.out.pair()?;
            let detail = format!("the key lies in a range {place}, which must be empty");
            self.out.report(Finding::new(Class::ForeignKey, &key, detail).value(&value))?;
        }
        Ok(())
    }

    /// Keys from `ff` up are not Permazen's; they are legal, but nobody else should write them.
    fn reserved(&mut self) -> Checked {
        if let Some((key, value)) = self.kv.at_least(&[0xff], None)? {
            let finding = Finding::new(
                Class::ReservedKey,
                &key,
                "keys from ff up are reserved and not checked; this is the first",
            );
            self.out.report(finding.value(&value).unrepairable())?;
        }
        Ok(())
    }
}
