//! Checking a large database piece by piece while it is in use.

use std::collections::BTreeSet;
use std::sync::Arc;

use permazen::kv::{Direction, KeySpan, KvRead};
use permazen::layout::{KeyKind, OBJECT_SCHEMA_INDEX_SPAN, parse_key, prefix_end};
use permazen::schema::SchemaBundle;
use permazen::{ObjId, StorageId};

use crate::calls::EntryCalls;
use crate::check::output;
use crate::finding::{Class, Finding};
use crate::indexes::may_be_of_default;
use crate::known::Known;
use crate::objects::{ObjectScan, Seen};
use crate::output::{Checked, Halt, Output};
use crate::ranges::{self, IndexRange, Range};
use crate::selection::Selection;
use crate::sort::Sorter;
use crate::{Error, Options, Progress, Result, joint, metadata};

/// A check in slices, each of which sees the database as it is at that moment.
///
/// Objects are checked with the index entries they call for, and index entries with the object
/// they name, by looking up one from the other. That reads several times as much as
/// [`check`](crate::check()) does, but no reader stays open for longer than a slice, and a slice
/// can begin where another ended, also in another process. It reports what is wrong; to repair,
/// use [`repair`](crate::repair()).
#[derive(Debug, Clone)]
pub struct OnlineCheck {
    options: Options,
}

/// What one slice came to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slice {
    /// Where the next slice begins; none if the end was reached.
    pub next: Option<Vec<u8>>,
    /// How many pairs were passed.
    pub entries: u64,
    /// How many objects were checked.
    pub objects: u64,
    /// How many findings there were, warnings not counted.
    pub findings: u64,
}

impl OnlineCheck {
    /// A check with these options; those of partial checks and of repair have no effect.
    pub fn new(options: Options) -> OnlineCheck {
        OnlineCheck { options }
    }

    /// Checks from the key `from` on (the empty key is the beginning), about `entries` pairs; an
    /// object is never cut in two.
    ///
    /// # Errors
    /// If the store fails, or an option is impossible.
    pub fn slice(
        &self,
        kv: &dyn KvRead,
        from: &[u8],
        entries: u64,
        sink: &mut dyn FnMut(&Finding),
    ) -> Result<Slice> {
        let mut quiet = |_: &_| {};
        let mut out = output(kv, &self.options, sink, &mut quiet, None);
        let (mut passed, mut objects) = (0, 0);
        let next = match self.run(kv, from, entries, &mut passed, &mut objects, &mut out) {
            Ok(position) => position,
            Err(Halt::Limit | Halt::Interrupted) => Some(from.to_vec()),
            Err(Halt::Failed(e)) => return Err(e),
        };
        Ok(Slice { next, entries: passed, objects, findings: out.findings })
    }

    fn schemas(&self, kv: &dyn KvRead, out: &mut Output<'_>) -> Checked<Option<SchemaBundle>> {
        if !metadata::check_format_version(kv, &self.options, out)? {
            return Ok(None);
        }
        let tables = metadata::read_tables(kv, &self.options, out)?;
        joint::check(kv, &self.options, tables, out)
    }

    fn run(
        &self,
        kv: &dyn KvRead,
        from: &[u8],
        entries: u64,
        passed: &mut u64,
        objects: &mut u64,
        out: &mut Output<'_>,
    ) -> Checked<Option<Vec<u8>>> {
        // The meta-data is small and may have changed since the last slice; what is wrong with it
        // is reported once.
        let bundle = if from.is_empty() {
            self.schemas(kv, out)?
        } else {
            let (mut silent, mut quiet) = (|_: &Finding| {}, |_: &Progress| {});
            self.schemas(kv, &mut output(kv, &self.options, &mut silent, &mut quiet, None))?
        };
        let Some(bundle) = bundle else { return Ok(None) };
        let bundle = Arc::new(bundle);
        let ranges = Arc::new(ranges::of_bundle(&bundle));
        if from.is_empty() {
            ranges::check_gaps(kv, &ranges, out)?;
        }
        let selection = Selection::new(&bundle, &Options::default())?;
        let mut walk =
            Walk { kv, bundle: &bundle, selection: &selection, last: None, passed, objects, out };
        let mut position = from.to_vec();
        let (schema_min, schema_max) = (OBJECT_SCHEMA_INDEX_SPAN.min, [0, 0x81]);
        if let Some(stop) = walk.entries(schema_min, &schema_max, &position, entries, None)? {
            return Ok(Some(stop));
        }
        position = position.max(schema_max.to_vec());
        for (&id, range) in &*ranges {
            let (min, max) = id.key_range();
            let stop = match range {
                Range::Objects => walk.objects(id, &min, &max, &position, entries)?,
                Range::Index(index) => walk.entries(&min, &max, &position, entries, Some(index))?,
            };
            if let Some(stop) = stop {
                return Ok(Some(stop));
            }
            position = position.max(max);
        }
        Ok(None)
    }
}

/// A slice being walked.
struct Walk<'a, 'o> {
    kv: &'a dyn KvRead,
    bundle: &'a Arc<SchemaBundle>,
    selection: &'a Selection,
    /// The object looked up last and the index entries it calls for.
    last: Option<(ObjId, BTreeSet<Vec<u8>>)>,
    passed: &'a mut u64,
    objects: &'a mut u64,
    out: &'a mut Output<'o>,
}

impl Walk<'_, '_> {
    /// Checks objects with the entries they call for; gives the position to stop at.
    fn objects(
        &mut self,
        type_id: StorageId,
        min: &[u8],
        max: &[u8],
        position: &[u8],
        entries: u64,
    ) -> Checked<Option<Vec<u8>>> {
        let mut from = min.max(position).to_vec();
        while let Some((key, _)) = self.kv.at_least(&from, Some(max))? {
            if *self.passed >= entries {
                return Ok(Some(key.into_owned()));
            }
            let object = key.get(..8).unwrap_or(&key).to_vec();
            let end = prefix_end(&object).unwrap_or_else(|| max.to_vec());
            for entry in self.expected(type_id, &object, &end, true)? {
                if self.kv.get(&entry)?.is_none() {
                    let class = match parse_key(&entry) {
                        KeyKind::ObjectSchema(..) => Class::MissingSchemaIndexEntry,
                        _ => Class::MissingIndexEntry,
                    };
                    let detail = "an index lacks the entry an object calls for";
                    let finding = Finding::new(class, &entry, detail).put(&[]);
                    self.out.report(match ObjId::from_slice(&object) {
                        Ok(id) => finding.object(id),
                        Err(_) => finding,
                    })?;
                }
            }
            from = end;
        }
        Ok(None)
    }

    /// Checks index entries with the objects they name; gives the position to stop at.
    fn entries(
        &mut self,
        min: &[u8],
        max: &[u8],
        position: &[u8],
        entries: u64,
        index: Option<&IndexRange>,
    ) -> Checked<Option<Vec<u8>>> {
        let from = min.max(position);
        if from >= max {
            return Ok(None);
        }
        for pair in self.kv.scan(KeySpan::new(from, Some(max)), Direction::Forward)? {
            let (key, value) = pair?;
            if *self.passed >= entries {
                return Ok(Some(key.into_owned()));
            }
            *self.passed += 1;
            let called_for = self.is_called_for(&key)?
                || match index {
                    Some(index) => self.may_be_called_for(index, &key)?,
                    None => false,
                };
            if !called_for {
                let class = match index {
                    Some(_) => Class::DanglingIndexEntry,
                    None => Class::DanglingSchemaIndexEntry,
                };
                let finding = Finding::new(class, &key, "no object calls for this entry");
                let finding = finding.value(&value);
                self.out.report(match index {
                    Some(index) => finding.item(index.item.clone()),
                    None => finding,
                })?;
            } else if !value.is_empty() {
                let class = match index {
                    Some(_) => Class::NonEmptyIndexValue,
                    None => Class::NonEmptySchemaIndexValue,
                };
                let finding = Finding::new(class, &key, "the value of an entry is always empty");
                self.out.report(finding.value(&value).put(&[]))?;
            }
        }
        Ok(None)
    }

    /// Whether nothing tells if an object calls for the entry, because the default value of an
    /// encoding that is not registered is not known.
    fn may_be_called_for(&self, index: &IndexRange, key: &[u8]) -> Checked<bool> {
        match index.parse(key) {
            Ok((id, _)) => may_be_of_default(self.kv, self.bundle, index, id),
            Err(_) => Ok(false),
        }
    }

    /// Whether some object whose id occurs in the entry calls for it.
    fn is_called_for(&mut self, key: &[u8]) -> Checked<bool> {
        if let Some((_, expected)) = &self.last
            && expected.contains(key)
        {
            return Ok(true);
        }
        // Where the object id stands depends on the values before it; an existing object whose
        // own entries include this very key settles it.
        for window in key.windows(ObjId::LEN).rev() {
            let Ok(id) = ObjId::from_slice(window) else { continue };
            if self.bundle.type_name(id.storage_id()).is_none()
                || self.kv.get(id.as_bytes())?.is_none()
            {
                continue;
            }
            let start = id.as_bytes().to_vec();
            let Some(end) = prefix_end(&start) else { continue };
            let expected = self.expected(id.storage_id(), &start, &end, false)?;
            let found = expected.contains(key);
            self.last = Some((id, expected));
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The entries the object in a span of keys calls for; checks it on the way if asked to.
    fn expected(
        &mut self,
        type_id: StorageId,
        start: &[u8],
        end: &[u8],
        report: bool,
    ) -> Checked<BTreeSet<Vec<u8>>> {
        let span = KeySpan::new(start, Some(end));
        if !report {
            let (mut silent, mut quiet) = (|_: &Finding| {}, |_: &Progress| {});
            let options = Options::default();
            let mut aside = output(self.kv, &options, &mut silent, &mut quiet, None);
            let (bundle, selection) = (self.bundle, self.selection);
            return called_for(self.kv, bundle, selection, type_id, span, &mut 0, &mut aside);
        }
        let before = self.out.position.entries;
        let (bundle, selection) = (self.bundle, self.selection);
        let found = called_for(self.kv, bundle, selection, type_id, span, self.objects, self.out)?;
        *self.passed += self.out.position.entries - before;
        Ok(found)
    }
}

/// The index entries that the objects of a type in a span of keys call for.
fn called_for(
    kv: &dyn KvRead,
    bundle: &SchemaBundle,
    selection: &Selection,
    type_id: StorageId,
    span: KeySpan<'_>,
    objects: &mut u64,
    out: &mut Output<'_>,
) -> Checked<BTreeSet<Vec<u8>>> {
    let mut calls = EntryCalls::new(Sorter::new(usize::MAX), None);
    let mut seen = Seen::default();
    let mut scan = ObjectScan {
        kv,
        bundle,
        known: &Known::in_store(),
        selection,
        calls: &mut calls,
        seen: &mut seen,
        out,
    };
    scan.check_span(type_id, span)?;
    *objects += seen.objects;
    let mut sorted = calls.sorter.finish()?;
    let mut entries = BTreeSet::new();
    while let Some(entry) = sorted.next().map_err(Error::from)? {
        entries.insert(entry.to_vec());
    }
    Ok(entries)
}
