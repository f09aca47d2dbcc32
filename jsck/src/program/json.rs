//! Output for programs: one JSON object per line, findings first, a summary last.

use crate::{Finding, Fix, RepairScope, Report};
use permazen::kv::Hex;
use serde::Serialize;

use super::args::CheckArgs;
use super::database::Database;
use super::plan::Change;
use super::presenter::{End, Presenter};
use super::terminal::{Terminal, path_text};

/// The JSON schema of a line that `--json` prints.
pub const SCHEMA: &str = include_str!("output.schema.json");

/// Prints JSON lines.
pub(super) struct Json<'t, 'o> {
    terminal: &'t Terminal<'o>,
    scope: RepairScope,
    store_problems: u64,
    /// The findings so far.
    found: Report,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line<'l> {
    Finding {
        class: &'static str,
        warning: bool,
        beyond_reference: bool,
        detail: &'l str,
        key: String,
        decoded_key: Option<&'l str>,
        value: Option<String>,
        object: Option<String>,
        item: Option<&'l str>,
        /// `remove`, `put` or `none`.
        fix: &'static str,
        new_value: Option<String>,
        in_scope: bool,
    },
    /// With `--dry-run`, after the findings: a change that a repair would make.
    Change { key: String, old_value: Option<String>, new_value: Option<String> },
    /// The database changed while the program asked: everything before is void.
    Again,
    /// A setting of the server because of which commits can be lost.
    Setting { warning: &'l str },
    /// The underlying store is damaged.
    Store { problem: &'l str },
    Summary {
        findings: u64,
        warnings: u64,
        unrepairable: u64,
        store_problems: u64,
        complete: bool,
        /// This and the next three are `None` if the check failed.
        objects: Option<u64>,
        /// How many pairs were checked, and how often pairs were read.
        pairs: Option<u64>,
        reads: Option<u64>,
        seconds: Option<f64>,
        /// Where an online check continued, and where it stopped before its end.
        from: Option<String>,
        position: Option<String>,
        repair: Option<Repair>,
    },
}

#[derive(Serialize)]
struct Repair {
    changes: u64,
    passes: u32,
    findings_left: u64,
    left_alone: u64,
    dry_run: bool,
    undo_file: Option<String>,
}

impl<'t, 'o> Json<'t, 'o> {
    pub(super) fn new(args: &CheckArgs, terminal: &'t Terminal<'o>) -> Self {
        Json { terminal, scope: args.scope(), store_problems: 0, found: Report::default() }
    }
}

impl Presenter for Json<'_, '_> {
    fn start(&mut self, database: &Database) {
        for warning in database.dangers() {
            self.terminal.json(&Line::Setting { warning: warning.text() });
        }
    }

    fn store_damage(&mut self, problem: &str) {
        self.store_problems += 1;
        self.terminal.json(&Line::Store { problem });
    }

    fn finding(&mut self, finding: &Finding) {
        if finding.class.is_warning() {
            self.found.warnings += 1;
        } else {
            self.found.findings += 1;
            self.found.unrepairable += u64::from(finding.fix == Fix::None);
        }
        let (fix, new_value) = match &finding.fix {
            Fix::Remove => ("remove", None),
            Fix::Put(value) => ("put", Some(hex(value))),
            Fix::None => ("none", None),
        };
        self.terminal.json(&Line::Finding {
            class: finding.class.as_str(),
            warning: finding.class.is_warning(),
            beyond_reference: finding.class.is_beyond_reference(),
            detail: &finding.detail,
            key: hex(&finding.key),
            decoded_key: finding.decoded_key.as_deref(),
            value: hex_or_null(finding.value.as_deref()),
            object: finding.object.map(|id| id.to_string()),
            item: finding.item.as_deref(),
            fix,
            new_value,
            in_scope: finding.is_in(self.scope),
        });
    }

    fn change(&mut self, change: &Change) {
        self.terminal.json(&Line::Change {
            key: hex(&change.key),
            old_value: hex_or_null(change.old.as_deref()),
            new_value: hex_or_null(change.new.as_deref()),
        });
    }

    fn again(&mut self) {
        self.found = Report::default();
        self.terminal.json(&Line::Again);
    }

    /// The end, with the findings before the check failed.
    fn failed(&mut self) {
        self.end(&self.found, &End::default(), None);
    }

    fn summary(&mut self, report: &Report, end: &End<'_>) {
        self.end(report, end, Some(report));
    }
}

impl Json<'_, '_> {
    fn end(&self, report: &Report, end: &End<'_>, read: Option<&Report>) {
        self.terminal.json(&Line::Summary {
            findings: report.findings,
            warnings: report.warnings,
            unrepairable: report.unrepairable,
            store_problems: self.store_problems,
            complete: report.complete,
            objects: read.map(|read| read.objects),
            pairs: read.map(|read| read.pairs),
            reads: read.map(|read| read.reads),
            seconds: read.map(|_| end.seconds),
            from: hex_or_null(end.from),
            position: hex_or_null(end.position),
            repair: end.mended.map(|mended| Repair {
                changes: mended.changes,
                passes: mended.passes,
                findings_left: mended.left,
                left_alone: mended.left_alone,
                dry_run: mended.dry_run,
                undo_file: mended.undo.as_ref().map(|path| path_text(path)),
            }),
        });
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    Hex(bytes).to_string()
}

pub(super) fn hex_or_null(bytes: Option<&[u8]>) -> Option<String> {
    bytes.map(hex)
}
