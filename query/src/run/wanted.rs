//! Which fields of objects are read together, and reading them.

use permazen::__internal::layout::{StorageIdKey, prefix_end};
use permazen::__internal::schema::ResolvedKind;
use permazen::kv::{Direction, KeySpan};
use permazen::schema::ResolvedField;
use permazen::{ObjId, StorageId};

use super::fail::Result;
use super::reader::{Lookup, Reader};
use super::subject::{Flow, Pairs, Subject, visit};
use crate::catalog::Catalog;
use crate::check::{CheckedCondition, CheckedPath, Version, Versions};

/// After this many pairs that are not wanted, the next wanted one is sought.
const PASSED_BEFORE_SEEK: u32 = 16;

/// The fields that are read of objects, for each version.
#[derive(Debug)]
pub(crate) struct WantedFields(Versions<Vec<Wanted>>);

#[derive(Debug)]
struct Wanted {
    id: StorageId,
    key: StorageIdKey,
    /// Whether the field has one pair.
    single: bool,
}

impl Wanted {
    fn of(field: &ResolvedField) -> Self {
        // A collection has a pair for each element, so its field is not done after the first pair.
        let single = matches!(field.kind, ResolvedKind::Simple(_) | ResolvedKind::Counter);
        Wanted { id: field.storage_id, key: field.key, single }
    }
}

fn in_order(mut fields: Vec<Wanted>) -> Vec<Wanted> {
    fields.sort_by_key(|field| field.id);
    // Several paths can read one field, whose pairs must be kept once.
    fields.dedup_by_key(|field| field.id);
    fields
}

impl WantedFields {
    /// The fields that a condition and some paths read.
    pub(crate) fn of(condition: Option<&CheckedCondition>, paths: &[&CheckedPath]) -> Self {
        let mut all: Vec<&CheckedPath> = paths.to_vec();
        if let Some(condition) = condition {
            add_paths(condition, &mut all);
        }
        let mut fields: std::collections::BTreeMap<Version, Vec<Wanted>> = Default::default();
        // Only the first hop reads this object; later hops read others.
        for (version, access) in
            all.iter().filter_map(|path| path.hops.first()).flat_map(|h| h.iter())
        {
            // A version from which nothing is read still has an entry, so that it is known.
            let of_version = fields.entry(version).or_default();
            // A version without the field has its default, for which nothing need be read.
            if access.stored {
                of_version.push(Wanted::of(&access.field));
            }
        }
        WantedFields(fields.into_iter().map(|(version, of)| (version, in_order(of))).collect())
    }

    /// All fields of these types.
    pub(crate) fn all(catalog: &Catalog, types: &[StorageId]) -> Self {
        let entries = types.iter().filter_map(|id| catalog.type_with_id(*id));
        let versions = entries.flat_map(|entry| &entry.versions);
        WantedFields(
            versions
                .map(|version| {
                    let fields = version.fields.iter().map(|field| Wanted::of(field)).collect();
                    ((version.storage_id, version.schema), in_order(fields))
                })
                .collect(),
        )
    }

    fn of_version(&self, found: Lookup) -> &[Wanted] {
        match found {
            Lookup::Of(version) => self.0.get(version).map_or(&[], Vec::as_slice),
            // Nothing is known of the fields of such an object.
            Lookup::Missing | Lookup::Damaged => &[],
        }
    }
}

fn add_paths<'c>(condition: &'c CheckedCondition, paths: &mut Vec<&'c CheckedPath>) {
    match condition {
        CheckedCondition::And(parts) | CheckedCondition::Or(parts) => {
            parts.iter().for_each(|part| add_paths(part, paths));
        }
        CheckedCondition::Not(inner) => add_paths(inner, paths),
        CheckedCondition::Test(test) => paths.push(&test.path),
    }
}

/// The object whose pairs are being read.
struct Current<'w> {
    id: ObjId,
    found: Lookup,
    fields: &'w [Wanted],
    /// The first field whose pairs were not passed yet.
    at: usize,
}

/// The use of a pair of the current object.
enum Pair {
    Kept,
    Unwanted,
    /// It is after all wanted fields.
    After,
}

impl Current<'_> {
    fn take(&mut self, key: &[u8], value: &[u8], pairs: &mut Pairs) -> Pair {
        let content = key.get(ObjId::LEN..).unwrap_or_default();
        while let Some(field) = self.fields.get(self.at) {
            if let Some(rest) = content.strip_prefix(&field.key[..]) {
                // A key that is longer than the field's own is not part of the object.
                // For a collection, what follows the field is the element, the position or the key.
                if field.single && !rest.is_empty() {
                    return Pair::Unwanted;
                }
                pairs.push(field.id, rest, value);
                return Pair::Kept;
            }
            // The pair lies between two wanted fields.
            if content < &field.key[..] {
                return Pair::Unwanted;
            }
            // The pair is behind this field, so it can belong to the next wanted one.
            self.at += 1;
        }
        Pair::After
    }

    /// The next key that can be wanted.
    fn next_key(&self) -> Option<Vec<u8>> {
        match self.fields.get(self.at) {
            // The seek goes to the next wanted field, or behind the object if there is none.
            Some(field) => Some([&self.id.as_bytes()[..], &field.key].concat()),
            None => prefix_end(self.id.as_bytes()),
        }
    }
}

/// Reads the wanted fields of one object. Cost: one seek, and a step for each pair up to the last
/// wanted one; another seek after 16 pairs that are not wanted.
pub(crate) fn load(
    reader: &Reader<'_>,
    id: ObjId,
    wanted: &WantedFields,
    pairs: &mut Pairs,
) -> Result<Lookup> {
    pairs.clear();
    let mut current: Option<Current<'_>> = None;
    let end = prefix_end(id.as_bytes());
    let mut min = id.as_bytes().to_vec();
    loop {
        let mut passed = 0;
        let mut next = None;
        let span = KeySpan::new(&min, end.as_deref());
        visit(reader, span, Direction::Forward, &mut |key, value| {
            let Some(current) = &mut current else {
                // The first pair must be the object's own; without it there is no object.
                if *key != *id.as_bytes() {
                    return Ok(Flow::Enough);
                }
                let found = reader.version_in(id.storage_id(), value);
                let fields = wanted.of_version(found);
                current = Some(Current { id, found, fields, at: 0 });
                // The own pair has said all that is needed.
                return Ok(if fields.is_empty() { Flow::Enough } else { Flow::More });
            };
            match current.take(key, value, pairs) {
                // The count is about pairs in a row: a wanted pair starts it again.
                Pair::Kept => passed = 0,
                Pair::After => return Ok(Flow::Enough),
                Pair::Unwanted => {
                    passed += 1;
                    if passed >= PASSED_BEFORE_SEEK {
                        next = current.next_key();
                        return Ok(Flow::Enough);
                    }
                }
            }
            Ok(Flow::More)
        })?;
        match next {
            // The seek goes on in the same object, so what was found is kept.
            Some(next) => min = next,
            None => return Ok(current.map_or(Lookup::Missing, |current| current.found)),
        }
    }
}

/// Reads the wanted fields of all objects in a range of keys, which is that of whole objects. Cost:
/// one seek, and a step for each pair; another seek after 16 pairs that are not wanted.
pub(crate) fn scan(
    reader: &Reader<'_>,
    (min, max): (&[u8], Option<&[u8]>),
    wanted: &WantedFields,
    each: &mut dyn FnMut(&Subject<'_>) -> Result<Flow>,
) -> Result<Flow> {
    let mut pairs = Pairs::default();
    let mut current: Option<Current<'_>> = None;
    let mut min = min.to_vec();
    loop {
        let mut passed = 0;
        let mut next = None;
        let mut ended = false;
        visit(reader, KeySpan::new(&min, max), Direction::Forward, &mut |key, value| {
            let is_same =
                current.as_ref().is_some_and(|current| key.starts_with(current.id.as_bytes()));
            if let Some(current) = current.as_mut().filter(|_| is_same) {
                match current.take(key, value, &mut pairs) {
                    Pair::Kept => passed = 0,
                    // Pairs behind the last wanted field are passed like the others, until a seek
                    // pays.
                    Pair::Unwanted | Pair::After => {
                        passed += 1;
                        if passed >= PASSED_BEFORE_SEEK {
                            next = current.next_key();
                            return Ok(Flow::Enough);
                        }
                    }
                }
                return Ok(Flow::More);
            }
            // An object is given when the next one begins: only then are all its pairs read.
            if let Some(done) = current.take() {
                let flow = each(&Subject::with_pairs(done.id, done.found, &pairs))?;
                pairs.clear();
                if flow.is_break() {
                    ended = true;
                    return Ok(flow);
                }
            }
            // The count is about pairs of one object.
            passed = 0;
            // Other pairs belong to no object.
            if let Ok(id) = ObjId::from_slice(key) {
                let found = reader.version_in(id.storage_id(), value);
                current = Some(Current { id, found, fields: wanted.of_version(found), at: 0 });
            }
            Ok(Flow::More)
        })?;
        if ended {
            return Ok(Flow::Enough);
        }
        match next {
            // Behind the range there is nothing to read.
            Some(next) if max.is_none_or(|max| *next < *max) => min = next,
            _ => break,
        }
    }
    // The last object has no pair after it that would show its end.
    match current {
        Some(done) => each(&Subject::with_pairs(done.id, done.found, &pairs)),
        None => Ok(Flow::More),
    }
}
