//! One object before and after: its stored content, by field.

use std::collections::{BTreeMap, VecDeque};
use std::mem::discriminant;
use std::sync::Arc;

use permazen_kv::{Direction, KeySpan};

use super::both::Both;
use super::change::{NetChange, NetContent, NetField, NetMapEntry, NetObject, NetPair};
use crate::encoding::string::compare as utf16_cmp;
use crate::id::{ObjId, StorageId};
use crate::layout;
use crate::object::Result;
use crate::schema::{ResolvedField, ResolvedKind, ResolvedType, SchemaBundle};

/// The state of an object, by the value of its own pair.
enum OwnPair {
    /// The object does not exist.
    Absent,
    /// One of this type.
    Of(Arc<ResolvedType>),
    /// The value is damaged, or its schema is not known.
    Unknown,
}

impl OwnPair {
    fn of(bundle: &SchemaBundle, id: ObjId, value: Option<&[u8]>) -> OwnPair {
        // An own pair that is missing means that there is no object, whatever other pairs there
        // are.
        let Some(value) = value else { return OwnPair::Absent };
        let known = layout::parse_object_info(value)
            .ok()
            .and_then(|index| bundle.schema(index)?.type_by_storage_id(id.storage_id()));
        known.map_or(OwnPair::Unknown, |known| OwnPair::Of(Arc::clone(known)))
    }
}

/// The changes that the writes make to an object.
pub(super) fn changes_of(of: &Both<'_>, id: ObjId) -> Result<VecDeque<NetChange>> {
    let end = layout::prefix_end(id.as_bytes());
    let mut touched = of.touched(KeySpan::new(id.as_bytes(), end.as_deref()))?;
    let own = &id.as_bytes()[..];
    // The writes may not touch the own pair, and then the snapshot has it.
    let old = match touched.get(own) {
        Some(old) => old.clone(),
        None => of.old_value(own)?,
    };
    // The same value is read with the schemas of then and of now.
    let new = of.new_value(own, old.as_deref());
    let before = OwnPair::of(of.former, id, old.as_deref());
    let after = OwnPair::of(of.now, id, new.as_deref());
    let (before, after) = match (before, after) {
        (OwnPair::Of(before), OwnPair::Of(after)) => (Some(before), Some(after)),
        (OwnPair::Of(before), OwnPair::Absent) => (Some(before), None),
        (OwnPair::Absent, OwnPair::Of(after)) => (None, Some(after)),
        // Without a type, it is not known what the pairs mean.
        _ => {
            let pairs = touched
                .iter()
                .filter_map(|(key, old)| of.pair(key, old.as_deref()).map(NetChange::Pair));
            return Ok(pairs.collect());
        }
    };
    // The own pair says what the object is. It is content of no field.
    touched.remove(own);
    let mut object = Object { of, id, before, after, fields: BTreeMap::new(), strays: Vec::new() };
    for (key, old) in touched {
        object.add(&key, old.as_deref());
    }
    object.finish()
}

/// The touched pairs of an object, by field.
struct Object<'a, 'w> {
    of: &'a Both<'w>,
    id: ObjId,
    before: Option<Arc<ResolvedType>>,
    after: Option<Arc<ResolvedType>>,
    fields: BTreeMap<StorageId, Touched>,
    /// Changed pairs that are content of no field.
    strays: Vec<NetPair>,
}

/// The rest of the key after the field, and the value.
type Pair = (Box<[u8]>, Box<[u8]>);

/// The pairs of a field that differ.
#[derive(Default)]
struct Touched {
    old: Vec<Pair>,
    new: Vec<Pair>,
}

/// Whether a pair can be content of a field.
fn is_content(field: &ResolvedField, rest: &[u8], value: &[u8], of: &Both<'_>) -> bool {
    match &field.kind {
        ResolvedKind::Simple(_) => rest.is_empty(),
        ResolvedKind::Counter => rest.is_empty() && of.before.decode_counter(value).is_ok(),
        ResolvedKind::List { .. } => layout::parse_list_position(rest).is_ok(),
        ResolvedKind::Set { .. } | ResolvedKind::Map { .. } => true,
    }
}

impl Object<'_, '_> {
    /// Adds a touched pair, if it is not as it was.
    fn add(&mut self, key: &[u8], old: Option<&[u8]>) {
        // A pair that was written with its old value is no change.
        let Some(changed) = self.of.pair(key, old) else { return };
        let new = changed.new.as_deref();
        let split = key.get(ObjId::LEN..).and_then(layout::split_field_key);
        // The same pair can be of a field before and of none after, or the other way.
        let side = |object_type: &Option<Arc<ResolvedType>>, value: Option<&[u8]>| {
            let (Some((field, rest)), Some(value)) = (split, value) else { return None };
            let field = object_type.as_ref()?.field_by_storage_id(field)?;
            is_content(field, rest, value, self.of).then(|| (rest.into(), value.into()))
        };
        let (was, is): (Option<Pair>, Option<Pair>) =
            (side(&self.before, old), side(&self.after, new));
        // Such a pair would otherwise be in no change at all.
        let is_stray = (old.is_some() && was.is_none()) || (new.is_some() && is.is_none());
        // A pair can be content on one side only, for example after a move. Then it is given both
        // as a pair and as content of its field.
        if is_stray {
            self.strays.push(changed.clone());
        }
        if let Some((field, _)) = split.filter(|_| was.is_some() || is.is_some()) {
            let touched = self.fields.entry(field).or_default();
            touched.old.extend(was);
            touched.new.extend(is);
        }
    }

    fn finish(mut self) -> Result<VecDeque<NetChange>> {
        // Each field is taken from the map once, with the field that follows it.
        let mut fields = Vec::new();
        while let Some((storage_id, mut touched)) = self.fields.pop_first() {
            let find = |object_type: &Option<Arc<ResolvedType>>| {
                object_type.as_ref()?.field_by_storage_id(storage_id).cloned()
            };
            let (mut before, mut after) = (find(&self.before), find(&self.after));
            // If the object was moved, a field can have another definition, with other pairs.
            match (&before, &after) {
                (Some(field), None) => after = successor(field, &self.after, &self.before),
                (None, Some(field)) => before = successor(field, &self.before, &self.after),
                _ => {}
            }
            // The pairs of the other definition are kept under its own storage ID.
            for field in [&before, &after].into_iter().flatten() {
                if let Some(other) = self.fields.remove(&field.storage_id) {
                    touched.old.extend(other.old);
                    touched.new.extend(other.new);
                }
            }
            if let Some(content) = self.content(before.as_deref(), after.as_deref(), touched)? {
                fields.push(NetField { before, after, content });
            }
        }
        let name = |field: &NetField| field.field().map(|field| Arc::clone(&field.name));
        fields.sort_by(|a, b| match (name(a), name(b)) {
            (Some(a), Some(b)) => utf16_cmp(&a, &b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        });
        let Object { id, before, after, strays, .. } = self;
        // An object that stays in its schema is a change only if a field is.
        let stays = before.as_ref().zip(after.as_ref());
        let is_same = stays.is_some_and(|(before, after)| before.schema_of == after.schema_of);
        let mut changes: VecDeque<NetChange> = strays.into_iter().map(NetChange::Pair).collect();
        // A created, deleted or moved object is a change even without a field.
        if !is_same || !fields.is_empty() {
            changes.push_front(NetChange::Object(NetObject { id, before, after, fields }));
        }
        Ok(changes)
    }

    /// The difference in a field; `None` if there is none.
    fn content(
        &self,
        before: Option<&ResolvedField>,
        after: Option<&ResolvedField>,
        touched: Touched,
    ) -> Result<Option<NetContent>> {
        let Some(kind) = after.or(before).map(|field| &field.kind) else { return Ok(None) };
        let Touched { old, new } = touched;
        let content = match kind {
            ResolvedKind::Simple(_) => {
                NetContent::Simple { old: value_of(before, old), new: value_of(after, new) }
            }
            ResolvedKind::Counter => {
                NetContent::Counter { old: self.count(&old), new: self.count(&new) }
            }
            // A set's pair has the element in its key and an empty value.
            ResolvedKind::Set { .. } => {
                let elements = |pairs: Vec<Pair>| pairs.into_iter().map(|(key, _)| key).collect();
                NetContent::Set { removed: elements(old), added: elements(new) }
            }
            ResolvedKind::List { .. } => match before.zip(after) {
                // Only the touched pairs are at hand here, but a list is given with all of its
                // elements.
                Some((before, after)) if before.storage_id == after.storage_id => {
                    self.lists(before)?
                }
                // The whole list has come or gone, so all of its pairs were touched.
                _ => NetContent::List { old: values(old), new: values(new) },
            },
            ResolvedKind::Map { .. } => {
                let is_same = before.zip(after).is_some_and(|(a, b)| a.storage_id == b.storage_id);
                maps(old, new, is_same)
            }
        };
        let differs = match &content {
            // The same value in another encoding is a difference.
            NetContent::Simple { old, new } => {
                old != new
                    || before.map(|field| field.storage_id) != after.map(|field| field.storage_id)
            }
            NetContent::Counter { old, new } => old != new,
            NetContent::Set { removed, added } => !removed.is_empty() || !added.is_empty(),
            NetContent::List { old, new } => old != new,
            NetContent::Map { entries } => !entries.is_empty(),
        };
        Ok(differs.then_some(content))
    }

    fn count(&self, pairs: &[Pair]) -> i64 {
        let stored = pairs.first().map(|(_, value)| self.of.before.decode_counter(value));
        stored.and_then(std::result::Result::ok).unwrap_or(0)
    }

    /// All elements of a list, before and after.
    fn lists(&self, field: &ResolvedField) -> Result<NetContent> {
        let prefix = layout::field_key(self.id, &field.key);
        let end = layout::prefix_end(&prefix);
        let span = KeySpan::new(&prefix, end.as_deref());
        let mut stored = BTreeMap::new();
        // Only touched pairs are at hand, so the others are read from the snapshot.
        for pair in self.of.before.scan(span, Direction::Forward)? {
            let (key, value) = pair?;
            stored.insert(key.into_owned(), Some(value.into_owned()));
        }
        let mut all = stored;
        // A new element has no pair in the snapshot.
        for key in self.of.written(span) {
            all.entry(key.clone()).or_default();
        }
        let is_element = |key: &[u8]| {
            let rest = key.get(prefix.len()..).unwrap_or_default();
            layout::parse_list_position(rest).is_ok()
        };
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for (key, value) in all.iter().filter(|(key, _)| is_element(key)) {
            new.extend(self.of.new_value(key, value.as_deref()).map(Vec::into_boxed_slice));
            old.extend(value.clone().map(Vec::into_boxed_slice));
        }
        Ok(NetContent::List { old, new })
    }
}

/// The field of the same name and kind in the other type. If the field's own definition is there,
/// it is no successor of another one.
fn successor(
    field: &ResolvedField,
    in_type: &Option<Arc<ResolvedType>>,
    own: &Option<Arc<ResolvedType>>,
) -> Option<Arc<ResolvedField>> {
    let other = in_type.as_ref()?.field(&field.name)?;
    // The field's own definition is in both types, so it has a content of its own.
    let is_taken = own.as_ref()?.field_by_storage_id(other.storage_id).is_some();
    let is_like = discriminant(&other.kind) == discriminant(&field.kind);
    (is_like && !is_taken).then(|| Arc::clone(other))
}

/// The value of a simple field; the default if nothing is stored.
fn value_of(field: Option<&ResolvedField>, pairs: Vec<Pair>) -> Option<Box<[u8]>> {
    // A missing pair means the default on this side.
    let default = || field?.simple()?.default.clone();
    pairs.into_iter().next().map(|(_, value)| value).or_else(default)
}

fn values(pairs: Vec<Pair>) -> Vec<Box<[u8]>> {
    pairs.into_iter().map(|(_, value)| value).collect()
}

/// The difference in a map. If it has become another one with the same name, that is all of it.
fn maps(old: Vec<Pair>, new: Vec<Pair>, is_same: bool) -> NetContent {
    let gone = old.into_iter().map(|(key, old)| NetMapEntry { key, old: Some(old), new: None });
    let mut entries: Vec<NetMapEntry> = gone.collect();
    let added = new.into_iter().map(|(key, new)| NetMapEntry { key, old: None, new: Some(new) });
    // Keys of two definitions can have the same bytes and mean different things.
    if !is_same {
        entries.extend(added);
        return NetContent::Map { entries };
    }
    let mut by_key: BTreeMap<Box<[u8]>, NetMapEntry> =
        entries.into_iter().map(|entry| (entry.key.clone(), entry)).collect();
    for entry in added {
        match by_key.get_mut(&entry.key) {
            Some(known) => known.new = entry.new,
            None => drop(by_key.insert(entry.key.clone(), entry)),
        }
    }
    NetContent::Map { entries: by_key.into_values().collect() }
}
