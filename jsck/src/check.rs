//! The order in which everything is looked at.

use std::collections::BTreeSet;
use std::sync::Arc;

use permazen::StorageId;
use permazen::kv::{KeySpan, KvRead};
use permazen::layout::{SchemaIndex, schema_table_key, storage_id_table_key};
use permazen::schema::SchemaBundle;

use crate::describe::Describer;
use crate::finding::{Class, Finding};
use crate::indexes::IndexMerge;
use crate::known::Known;
use crate::objects::ObjectScan;
use crate::output::{Change, Checked, Halt, Output};
use crate::selection::Selection;
use crate::sort::Sorter;
use crate::{Error, Options, Progress, Report, Result, joint, metadata, ranges};

/// Checks a database without changing it, and hands every finding to `sink`.
///
/// `kv` must be a consistent view: a transaction or a snapshot. Costs two scans of the objects,
/// one of the indexes, and a sort of what the objects call for in the indexes.
///
/// # Errors
/// If the store fails, or an option is impossible. Damage is no error but a finding.
pub fn check(kv: &dyn KvRead, options: &Options, sink: &mut dyn FnMut(&Finding)) -> Result<Report> {
    check_with(kv, options, sink, &mut |_| {})
}

/// As [`check`], and tells from time to time how far it is.
///
/// # Errors
/// As [`check`].
pub fn check_with(
    kv: &dyn KvRead,
    options: &Options,
    sink: &mut dyn FnMut(&Finding),
    progress: &mut dyn FnMut(&Progress),
) -> Result<Report> {
    run(kv, options, sink, progress, None).map(|(report, _)| report)
}

/// Checks, and if `changes` is given collects in it what repair has to do.
pub(crate) fn run(
    kv: &dyn KvRead,
    options: &Options,
    sink: &mut dyn FnMut(&Finding),
    progress: &mut dyn FnMut(&Progress),
    changes: Option<Vec<Change>>,
) -> Result<(Report, Vec<Change>)> {
    if options.format_version.is_some_and(|version| version != 1) {
        return Err(Error::Option("the only format version there is is 1".to_owned()));
    }
    let mut out = output(kv, options, sink, progress, changes);
    let mut objects = 0;
    let complete = match phases(kv, options, &mut out, &mut objects) {
        Ok(complete) => complete,
        Err(Halt::Limit | Halt::Interrupted) => false,
        Err(Halt::Failed(e)) => return Err(e),
    };
    let report = Report {
        findings: out.findings,
        warnings: out.warnings,
        unrepairable: out.unrepairable,
        entries: out.position.entries,
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
    changes: Option<Vec<Change>>,
) -> Output<'a> {
    Output {
        sink,
        progress,
        stop: options.stop.as_deref(),
        limit: options.max_findings,
        position: Progress::default(),
        findings: 0,
        warnings: 0,
        unrepairable: 0,
        scope: options.repair,
        describer: None,
        kv,
        changes,
    }
}

fn phases(
    kv: &dyn KvRead,
    options: &Options,
    out: &mut Output<'_>,
    objects: &mut u64,
) -> Checked<bool> {
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
    let ranges = Arc::new(ranges::of_bundle(&bundle));
    out.describer = Some(Describer { bundle: Arc::clone(&bundle), ranges: Arc::clone(&ranges) });
    ranges::check_gaps(kv, &ranges, out)?;

    let selection = Selection::new(&bundle, options)?;
    let known = if selection.is_partial() {
        Known::in_store()
    } else {
        out.phase("which objects exist")?;
        Known::scan(kv, &bundle, out)?
    };
    out.phase("objects")?;
    let mut expected = Sorter::new(options.sort_memory);
    let mut used = BTreeSet::new();
    for type_id in bundle.type_ids() {
        let Some((min, max)) = selection.span(type_id) else { continue };
        let mut scan = ObjectScan {
            kv,
            bundle: &bundle,
            known: &known,
            selection: &selection,
            expected: &mut expected,
            used: &mut used,
            objects,
            out,
        };
        scan.check_span(type_id, KeySpan::new(&min, Some(&max)))?;
    }
    out.phase("indexes")?;
    IndexMerge::new(kv, &bundle, &known, &selection, expected.finish()?, out)?.run(&ranges)?;
    if options.collect_schemas && !selection.is_partial() {
        report_obsolete(&bundle, &used, out)?;
    }
    Ok(true)
}

/// Schemas no object uses, and the storage IDs only they need.
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
        for &(item, storage_id) in &schema.items {
            if needed.insert(storage_id) {
                let detail = format!("only obsolete schemas use storage ID {storage_id} ({item})");
                let key = storage_id_table_key(storage_id);
                out.report(Finding::new(Class::ObsoleteSchema, &key, detail))?;
            }
        }
    }
    Ok(())
}
