//! The order in which everything is checked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use permazen::__internal::layout::{
    OBJECT_SCHEMA_INDEX_END, OBJECT_SCHEMA_INDEX_SPAN, schema_table_key, storage_id_table_key,
};
use permazen::__internal::schema::SchemaBundle;
use permazen::StorageId;
use permazen::kv::{KeySpan, KvDatabase, KvRead, TxOptions};
use permazen::schema::SchemaIndex;

use crate::entries::entry_findings::Judge;
use crate::entries::fingerprint::{Differences, EntryHash, Pool};
use crate::entries::indexes::{self, IndexMerge};
use crate::entries::required::{CollectedEntries, RequiredFingerprint};
use crate::entries::sort::Sorter;
use crate::objects::known::{self, Known};
use crate::objects::scan::{ObjectScan, Seen};
use crate::report::changes::Changes;
use crate::report::finding::{Class, Finding};
use crate::report::kept_objects::KeptObjects;
use crate::report::output::{Checked, Halt, Output};
use crate::running::parts::{self, Part, PartContent};
use crate::running::workers::Readers;
use crate::selection::Selection;
use crate::tables::gaps;
use crate::tables::joint;
use crate::tables::metadata;
use crate::tables::ranges;
use crate::tables::ranges::Range;
use crate::{Error, Options, Progress, Report, Result};

/// Databases with fewer pairs are checked in one thread.
const WORTH_THREADS: u64 = 50_000;

/// Checks a database without changing it, and passes every finding to `sink`.
///
/// `kv` must be a consistent view: a transaction or a snapshot. A check costs a scan of the objects
/// and one of the indexes, and before that a scan of the objects of each type to which references
/// must not dangle. Where the indexes are damaged, it costs another scan of both, and a sort of the
/// entries near the damage. To read with several threads, use [`check_database`].
///
/// # Errors
/// If the store fails, or an option is impossible. Damage is a finding, not an error.
pub fn check(kv: &dyn KvRead, options: &Options, sink: &mut dyn FnMut(&Finding)) -> Result<Report> {
    check_with(kv, options, sink, &mut |_| {})
}

/// Does the same as [`check`], and calls `progress` from time to time.
///
/// # Errors
/// The errors of [`check`].
pub fn check_with(
    kv: &dyn KvRead,
    options: &Options,
    sink: &mut dyn FnMut(&Finding),
    progress: &mut dyn FnMut(&Progress),
) -> Result<Report> {
    run(Readers::one(kv), options, sink, progress, None).map(|(report, _)| report)
}

/// Checks the committed state of a database without changing it, as [`check_with`] does. It reads
/// with several threads if the store has transactions that read the same state at the same time.
/// The findings and their order do not depend on the number of threads.
///
/// # Errors
/// The errors of [`check`].
pub fn check_database(
    database: &dyn KvDatabase,
    options: &Options,
    sink: &mut dyn FnMut(&Finding),
    progress: &mut dyn FnMut(&Progress),
) -> Result<Report> {
    let kv = database.begin(&TxOptions::reading().with_certainty())?;
    let entries = database.statistics().ok().and_then(|statistics| statistics.entries);
    let threads = match entries {
        Some(entries) if entries < WORTH_THREADS => 1,
        _ => options.threads.get(),
    };
    let readers = Readers::several(&*kv, database, threads)?;
    let report = run(readers, options, sink, progress, None).map(|(report, _)| report);
    kv.rollback();
    report
}

/// Checks. If `changes` is given, collects in it the changes that a repair must make; then one
/// reader reads everything.
pub(crate) fn run(
    mut readers: Readers<'_>,
    options: &Options,
    sink: &mut dyn FnMut(&Finding),
    progress: &mut dyn FnMut(&Progress),
    changes: Option<Changes>,
) -> Result<(Report, Changes)> {
    if options.format_version.is_some_and(|version| version != 1) {
        return Err(Error::Option("the only format version there is is 1".to_owned()));
    }
    let mut out = output(readers.first, options, sink, progress, changes);
    let mut objects = 0;
    let complete = match phases(&mut readers, options, &mut out, &mut objects) {
        Ok(complete) => complete,
        Err(Halt::Limit) => false,
        Err(Halt::Interrupted) => {
            // The changes collected so far are only a part of a pass.
            out.changes = None;
            false
        }
        Err(Halt::Failed(e)) => return Err(e),
    };
    let report = Report {
        findings: out.findings,
        warnings: out.warnings,
        unrepairable: out.unrepairable,
        pairs: out.position.pairs,
        reads: out.position.reads,
        objects,
        complete,
    };
    Ok((report, out.changes.unwrap_or_default()))
}

/// An output that has reported nothing yet.
pub(crate) fn output<'a>(
    kv: &'a dyn KvRead,
    options: &'a Options,
    sink: &'a mut dyn FnMut(&Finding),
    progress: &'a mut dyn FnMut(&Progress),
    changes: Option<Changes>,
) -> Output<'a> {
    Output {
        stop: options.stop.as_deref(),
        limit: options.max_findings,
        scope: options.repair,
        kept: KeptObjects::new(options.sort_memory),
        changes,
        ..Output::quiet(kv, sink, progress)
    }
}

/// Runs all phases in order. Returns `false` if it ends before the last one.
fn phases(
    readers: &mut Readers<'_>,
    options: &Options,
    out: &mut Output<'_>,
    objects: &mut u64,
) -> Checked<bool> {
    let kv = readers.first;
    if out.limit == 0 {
        return Ok(false);
    }
    out.phase("meta-data")?;
    if !metadata::check_format_version(kv, options, out)? {
        return Ok(false);
    }
    let tables = metadata::read_tables(kv, options, out)?;
    let Some(bundle) = joint::check(kv, options, tables, out)? else { return Ok(false) };
    let bundle = Arc::new(bundle);
    let ranges = ranges::of_bundle(&bundle);
    out.schemas = Some(Arc::clone(&bundle));
    gaps::check(kv, &ranges, out)?;

    let selection = Selection::new(&bundle, options)?;
    let mut check = Check {
        bundle: &bundle,
        selection: &selection,
        known: Known::in_store(),
        seen: Seen::default(),
        options,
    };
    let done = check.objects_and_indexes(readers, &ranges, out);
    *objects = check.seen.objects;
    done?;
    if options.collect_schemas && !selection.is_partial() {
        report_obsolete(&bundle, &check.seen.schemas, out)?;
    }
    Ok(true)
}

/// The part of a check that comes after the meta-data: objects and indexes.
struct Check<'c> {
    bundle: &'c SchemaBundle,
    selection: &'c Selection,
    known: Known,
    seen: Seen,
    options: &'c Options,
}

impl Check<'_> {
    fn objects_and_indexes(
        &mut self,
        readers: &mut Readers<'_>,
        ranges: &BTreeMap<StorageId, Range>,
        out: &mut Output<'_>,
    ) -> Checked {
        let kv = readers.first;
        if self.selection.is_partial() {
            out.phase("objects")?;
            let sorter = self.required_by_objects(kv, None, out)?;
            out.phase("indexes")?;
            return self.merge(kv, ranges, None, sorter, out);
        }
        let objects = self.object_parts(readers)?;
        out.phase("which objects exist")?;
        let types = known::referents(self.bundle);
        let is_needed =
            |part: &&Part| matches!(part.content, PartContent::Objects(id) if types.contains(&id));
        let needed: Vec<Part> = objects.iter().filter(is_needed).cloned().collect();
        self.known = Known::scan(readers, self.bundle, types, &needed, out)?;
        out.phase("objects, indexes")?;
        let entries = self.entry_parts(readers, ranges)?;
        let Some(differences) = self.compare(readers, objects, entries, out)? else {
            return Ok(());
        };
        out.phase("where indexes differ")?;
        let (mut silent, mut quiet) = (|_: &Finding| {}, |_: &Progress| {});
        let mut again = Output::quiet(kv, &mut silent, &mut quiet);
        again.stop = self.options.stop.as_deref();
        // The objects were counted the first time: the counts of this second scan are thrown away.
        let seen = std::mem::take(&mut self.seen);
        let sorter = self.required_by_objects(kv, Some(&differences), &mut again);
        self.seen = seen;
        out.position.reads += again.position.reads;
        self.merge(kv, ranges, Some(&differences), sorter?, out)
    }

    fn object_parts(&self, readers: &Readers<'_>) -> Checked<Vec<Part>> {
        let mut all = Vec::new();
        for type_id in self.bundle.type_ids() {
            let (min, max) = type_id.key_range();
            let range = (&min[..], &max[..]);
            let kv = readers.first;
            all.extend(parts::cut(kv, PartContent::Objects(type_id), range, readers.parts())?);
        }
        Ok(all)
    }

    fn entry_parts(
        &self,
        readers: &Readers<'_>,
        ranges: &BTreeMap<StorageId, Range>,
    ) -> Checked<Vec<Part>> {
        let mut all = Vec::new();
        let mut cut = |min: &[u8], max: &[u8]| -> Checked {
            let kv = readers.first;
            all.extend(parts::cut(kv, PartContent::Entries, (min, max), readers.parts())?);
            Ok(())
        };
        let KeySpan { min, max } = OBJECT_SCHEMA_INDEX_SPAN;
        cut(min, max.unwrap_or(OBJECT_SCHEMA_INDEX_END))?;
        for (id, range) in ranges {
            if matches!(range, Range::Index(_)) {
                let (min, max) = id.key_range();
                cut(&min, &max)?;
            }
        }
        Ok(all)
    }

    /// Checks the objects, and finds where the index entries differ from those that the objects
    /// require. `None` if they are the same.
    fn compare(
        &mut self,
        readers: &mut Readers<'_>,
        objects: Vec<Part>,
        entries: Vec<Part>,
        out: &mut Output<'_>,
    ) -> Checked<Option<Differences>> {
        let hash = EntryHash::default();
        let (expected, found) = (Pool::new(hash.clone()), Pool::new(hash));
        let parts: Vec<Part> = objects.into_iter().chain(entries).collect();
        let (bundle, known, selection) = (self.bundle, &self.known, self.selection);
        let results = readers.run(&parts, out, &|part, kv, out| {
            let mut seen = Seen::default();
            match part.content {
                PartContent::Objects(type_id) => {
                    let mut required = RequiredFingerprint { fingerprint: expected.take() };
                    let mut scan = ObjectScan {
                        kv,
                        bundle,
                        known,
                        selection,
                        required: &mut required,
                        seen: &mut seen,
                        entry: Vec::new(),
                        out,
                    };
                    scan.check_span(type_id, part.span())?;
                    expected.give_back(required.fingerprint);
                }
                PartContent::Entries => {
                    let mut fingerprint = found.take();
                    indexes::fingerprint(kv, part, &mut fingerprint, out)?;
                    found.give_back(fingerprint);
                }
            }
            Ok(seen)
        })?;
        for seen in results {
            self.seen.objects += seen.objects;
            self.seen.schemas.extend(seen.schemas);
        }
        Ok(expected.sum().differences(&found.sum()))
    }

    /// Checks the objects and collects the index entries that they require: all of them, or those
    /// where there are differences.
    fn required_by_objects(
        &mut self,
        kv: &dyn KvRead,
        only: Option<&Differences>,
        out: &mut Output<'_>,
    ) -> Checked<Sorter> {
        let mut required = CollectedEntries::new(Sorter::new(self.options.sort_memory), only);
        for type_id in self.bundle.type_ids() {
            let Some((min, max)) = self.selection.span(type_id) else { continue };
            let mut scan = ObjectScan {
                kv,
                bundle: self.bundle,
                known: &self.known,
                selection: self.selection,
                required: &mut required,
                seen: &mut self.seen,
                entry: Vec::new(),
                out,
            };
            scan.check_span(type_id, KeySpan::new(&min, Some(&max)))?;
        }
        Ok(required.sorter)
    }

    fn merge(
        &self,
        kv: &dyn KvRead,
        ranges: &BTreeMap<StorageId, Range>,
        only: Option<&Differences>,
        sorter: Sorter,
        out: &mut Output<'_>,
    ) -> Checked {
        let expected = sorter.finish()?;
        let judge = Judge { kv, bundle: self.bundle, known: &self.known };
        IndexMerge::new(judge, self.selection, only, expected, out)?.run(ranges)
    }
}

/// Reports the schemas that no object uses, and the storage IDs that only they need.
fn report_obsolete(
    bundle: &SchemaBundle,
    used: &BTreeSet<SchemaIndex>,
    out: &mut Output<'_>,
) -> Checked {
    let mut needed: BTreeSet<StorageId> = BTreeSet::new();
    for schema in bundle.recorded().schemas().iter().filter(|s| used.contains(&s.index)) {
        needed.extend(schema.items.iter().map(|&(_, storage_id)| storage_id));
    }
    for schema in bundle.recorded().schemas().iter().filter(|s| !used.contains(&s.index)) {
        let detail = format!("no object uses schema {} ({})", schema.index, schema.id);
        let key = schema_table_key(schema.index);
        out.report(Finding::new(Class::ObsoleteSchema, &key, detail))?;
        for &(item, storage_id) in schema.items.iter() {
            if needed.insert(storage_id) {
                let detail = format!("only obsolete schemas use storage ID {storage_id} ({item})");
                let key = storage_id_table_key(storage_id);
                out.report(Finding::new(Class::ObsoleteSchema, &key, detail))?;
            }
        }
    }
    Ok(())
}
