//! Checks a large database piece by piece while it is in use.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use permazen::__internal::layout::{
    KeyKind, OBJECT_SCHEMA_INDEX_END, OBJECT_SCHEMA_INDEX_SPAN, parse_key, prefix_end,
};
use permazen::__internal::schema::SchemaBundle;
use permazen::kv::{Direction, KeySpan, KvError, KvRead};
use permazen::{ObjId, StorageId};

use crate::check::output;
use crate::entries::entry_findings::{Judge, Kind};
use crate::entries::required::RequiredEntries;
use crate::entries::sort::Sorter;
use crate::objects::known::Known;
use crate::objects::scan::{ObjectScan, Seen};
use crate::report::finding::Finding;
use crate::report::output::{Checked, Halt, Output};
use crate::selection::Selection;
use crate::tables::gaps;
use crate::tables::joint;
use crate::tables::metadata;
use crate::tables::ranges::{self, Range};
use crate::{Error, Options, Progress, Result};

/// A check in slices. Each slice sees the database as it is at that moment.
///
/// For each object, it looks up the index entries that the object requires; for each index entry,
/// it looks up the object that the entry names. That reads several times as much as
/// [`check`](crate::check()), but no reader stays open for longer than a slice. A slice can begin
/// where another one ended, also in another process. This check only reports what is wrong; to
/// repair, use [`repair`](crate::repair()).
#[derive(Debug, Clone)]
pub struct OnlineCheck {
    options: Options,
}

/// The result of a slice.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slice {
    /// Where the next slice begins; `None` if the end was reached.
    pub next: Option<Vec<u8>>,
    /// How many pairs were checked, each counted once. The pairs of the meta-data are counted in
    /// the first slice.
    pub pairs: u64,
    /// How often pairs were read in a scan. Pairs that are read one by one are not counted.
    pub reads: u64,
    /// How many objects were checked.
    pub objects: u64,
    /// How many findings there were, without warnings.
    pub findings: u64,
    /// How many warnings there were.
    pub warnings: u64,
    /// How many findings cannot be repaired automatically.
    pub unrepairable: u64,
    /// Whether the slice is complete: it was not stopped, did not reach the limit, and the
    /// meta-data was good enough to check objects. If not, `next` is how far it came.
    pub complete: bool,
}

impl OnlineCheck {
    /// A check with these options. The options for partial checks, repair, obsolete schemas and
    /// threads have no effect.
    pub fn new(options: Options) -> OnlineCheck {
        OnlineCheck { options }
    }

    /// Checks about `pairs` pairs from the key `from` on; the empty key is the beginning. An object
    /// is never cut in two. The first slice reports what is wrong with the meta-data. A later slice
    /// reports it only if it prevents checking the objects.
    ///
    /// # Errors
    /// If the store fails, or an option is impossible.
    pub fn slice(
        &self,
        kv: &dyn KvRead,
        from: &[u8],
        pairs: u64,
        sink: &mut dyn FnMut(&Finding),
    ) -> Result<Slice> {
        let mut quiet = |_: &_| {};
        let mut out = output(kv, &self.options, sink, &mut quiet, None);
        let mut course = Course::new(from, pairs);
        let (next, complete) = match self.run(kv, &mut course, &mut out) {
            Ok(Walked::ToTheEnd) => (None, true),
            Ok(Walked::Enough) => (Some(course.position), true),
            Ok(Walked::Unreadable) | Err(Halt::Limit | Halt::Interrupted) => {
                (Some(course.position), false)
            }
            Err(Halt::Failed(e)) => return Err(e),
        };
        Ok(Slice {
            next,
            pairs: if from.is_empty() { out.position.pairs } else { course.passed },
            reads: course.meta_data_again + out.position.reads,
            objects: course.objects,
            findings: out.findings,
            warnings: out.warnings,
            unrepairable: out.unrepairable,
            complete,
        })
    }

    fn schemas(&self, kv: &dyn KvRead, out: &mut Output<'_>) -> Checked<Option<SchemaBundle>> {
        if !metadata::check_format_version(kv, &self.options, out)? {
            return Ok(None);
        }
        let tables = metadata::read_tables(kv, &self.options, out)?;
        joint::check(kv, &self.options, tables, out)
    }

    /// The schemas as they are now: there are few, and they may have changed since the last slice.
    /// Their problems are reported in the first slice, and in a later one if they end the check.
    fn usable_schemas(
        &self,
        kv: &dyn KvRead,
        course: &mut Course,
        out: &mut Output<'_>,
    ) -> Checked<Option<SchemaBundle>> {
        if course.position.is_empty() {
            return self.schemas(kv, out);
        }
        let (mut silent, mut quiet) = (|_: &Finding| {}, |_: &Progress| {});
        let options = Options { max_findings: u64::MAX, ..self.options.clone() };
        let mut aside = output(kv, &options, &mut silent, &mut quiet, None);
        let schemas = self.schemas(kv, &mut aside)?;
        course.meta_data_again = aside.position.reads;
        match schemas {
            Some(bundle) => Ok(Some(bundle)),
            // Read the meta-data again, this time to report what is wrong.
            None => self.schemas(kv, out),
        }
    }

    fn run(&self, kv: &dyn KvRead, course: &mut Course, out: &mut Output<'_>) -> Checked<Walked> {
        if out.limit == 0 {
            return Err(Halt::Limit);
        }
        let at_start = course.position.is_empty();
        let Some(bundle) = self.usable_schemas(kv, course, out)? else {
            return Ok(Walked::Unreadable);
        };
        let bundle = Arc::new(bundle);
        let ranges = ranges::of_bundle(&bundle);
        out.schemas = Some(Arc::clone(&bundle));
        if at_start {
            gaps::check(kv, &ranges, out)?;
        }
        let selection = Selection::new(&bundle, &Options::default())?;
        let known = Known::in_store();
        let judge = Judge { kv, bundle: &bundle, known: &known };
        let sort_memory = self.options.sort_memory;
        let mut walk =
            Walk { judge, ranges: &ranges, selection: &selection, sort_memory, course, out };
        let (min, max) = (OBJECT_SCHEMA_INDEX_SPAN.min, OBJECT_SCHEMA_INDEX_END);
        if walk.entries(&Kind::ObjectSchema, min, max)? {
            return Ok(Walked::Enough);
        }
        for (&id, range) in &ranges {
            let (min, max) = id.key_range();
            let enough = match range {
                Range::Objects => walk.objects(id, &min, &max)?,
                Range::Index(index) => walk.entries(&Kind::Index(index), &min, &max)?,
            };
            if enough {
                return Ok(Walked::Enough);
            }
        }
        Ok(Walked::ToTheEnd)
    }
}

/// How a slice ended.
enum Walked {
    ToTheEnd,
    Enough,
    /// The meta-data is so damaged that objects cannot be judged.
    Unreadable,
}

/// The progress of a slice.
struct Course {
    /// Everything before this key is checked.
    position: Vec<u8>,
    /// How many pairs the slice should check.
    pairs: u64,
    passed: u64,
    objects: u64,
    /// How many pairs were only read to know the schemas.
    meta_data_again: u64,
}

impl Course {
    fn new(from: &[u8], pairs: u64) -> Course {
        let position = from.to_vec();
        Course { position, pairs, passed: 0, objects: 0, meta_data_again: 0 }
    }

    /// Moves the position to `key`, unless it is already there or after it.
    fn reach(&mut self, key: &[u8]) {
        if &self.position[..] < key {
            self.position.clear();
            self.position.extend_from_slice(key);
        }
    }

    fn is_enough(&self) -> bool {
        self.passed >= self.pairs
    }
}

/// A slice being walked.
struct Walk<'a, 'o> {
    judge: Judge<'a>,
    ranges: &'a BTreeMap<StorageId, Range>,
    selection: &'a Selection,
    sort_memory: usize,
    course: &'a mut Course,
    out: &'a mut Output<'o>,
}

impl Walk<'_, '_> {
    /// Checks objects and the entries that they require. Returns whether the slice ends there.
    fn objects(&mut self, type_id: StorageId, min: &[u8], max: &[u8]) -> Checked<bool> {
        self.course.reach(min);
        while &self.course.position[..] < max {
            let Some((key, _)) = self.judge.kv.at_least(&self.course.position, Some(max))? else {
                break;
            };
            if self.course.is_enough() {
                self.course.reach(&key);
                return Ok(true);
            }
            let object = key.get(..ObjId::LEN).unwrap_or(&key).to_vec();
            let end = prefix_end(&object).unwrap_or_else(|| max.to_vec());
            self.object(type_id, KeySpan::new(&object, Some(&end)))?;
            self.course.reach(&end);
        }
        self.course.reach(max);
        Ok(false)
    }

    /// Checks an object, and whether the entries that it requires exist.
    fn object(&mut self, type_id: StorageId, span: KeySpan<'_>) -> Checked {
        let Judge { kv, bundle, known } = self.judge;
        let before = self.out.position.pairs;
        let missing = Sorter::new(self.sort_memory);
        let mut required = MissingEntries { kv, missing, failed: None };
        let mut seen = Seen::default();
        let mut scan = ObjectScan {
            kv,
            bundle,
            known,
            selection: self.selection,
            required: &mut required,
            seen: &mut seen,
            entry: Vec::new(),
            out: self.out,
        };
        let scanned = scan.check_span(type_id, span);
        self.course.objects += seen.objects;
        self.course.passed += self.out.position.pairs - before;
        if let Some(e) = required.failed {
            return Err(e.into());
        }
        scanned?;
        // An object can require the same entry twice; it is missing once.
        let mut missing = required.missing.finish()?;
        while let Some(entry) = missing.next().map_err(Error::from)? {
            let kind = match parse_key(entry) {
                KeyKind::Data(id, _) => match self.ranges.get(&id) {
                    Some(Range::Index(index)) => Kind::Index(index),
                    _ => continue,
                },
                _ => Kind::ObjectSchema,
            };
            self.out.report(kind.missing(entry))?;
        }
        Ok(())
    }

    /// Checks index entries against the objects that they name. Returns whether the slice ends
    /// there.
    fn entries(&mut self, kind: &Kind<'_>, min: &[u8], max: &[u8]) -> Checked<bool> {
        self.course.reach(min);
        if &self.course.position[..] >= max {
            return Ok(false);
        }
        let from = self.course.position.clone();
        let kv = self.judge.kv;
        for pair in kv.scan(KeySpan::new(&from, Some(max)), Direction::Forward)? {
            let (key, value) = pair?;
            self.course.reach(&key);
            if self.course.is_enough() {
                return Ok(true);
            }
            self.course.passed += 1;
            self.out.pair()?;
            let finding = if !self.judge.is_required(kind, &key)? {
                self.judge.surplus(kind, &key)?.map(|finding| finding.value(&value))
            } else if value.is_empty() {
                None
            } else {
                Some(kind.non_empty(&key, &value))
            };
            if let Some(finding) = finding {
                // The finding may end the slice: the next one begins after this key, and does not
                // report it again.
                self.course.reach(&[&key[..], &[0]].concat());
                self.out.report(finding)?;
            }
        }
        self.course.reach(max);
        Ok(false)
    }
}

/// Keeps the required entries that do not exist.
struct MissingEntries<'k> {
    kv: &'k dyn KvRead,
    missing: Sorter,
    failed: Option<KvError>,
}

impl RequiredEntries for MissingEntries<'_> {
    fn add(&mut self, entry: &[u8]) -> io::Result<()> {
        match self.kv.get(entry) {
            Ok(Some(_)) => Ok(()),
            Ok(None) => self.missing.push(entry),
            Err(e) => {
                self.failed = Some(e);
                Err(io::Error::other("the store failed"))
            }
        }
    }
}
