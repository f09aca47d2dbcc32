//! Output for programs: one JSON object a line, findings first, a summary last.

use std::io::Write;

use permazen::kv::Hex;
use permazen_jsck::{Finding, Fix, Report};
use serde::Serialize;

use crate::End;
use crate::args::Args;
use crate::mend::Change;

/// The JSON schema of a line.
pub(crate) const SCHEMA: &str = include_str!("output.schema.json");

/// Prints JSON lines.
pub(crate) struct Json;

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
    },
    /// With `--dry-run`, after the findings: what repair would change.
    Change { key: String, old_value: Option<String>, new_value: Option<String> },
    /// The store below the database is damaged.
    Store { problem: &'l str },
    Summary {
        findings: u64,
        warnings: u64,
        unrepairable: u64,
        complete: bool,
        objects: u64,
        entries: u64,
        seconds: f64,
        position: Option<String>,
        repair: Option<Repair>,
    },
}

#[derive(Serialize)]
struct Repair {
    changes: u64,
    passes: u32,
    findings_left: u64,
    dry_run: bool,
    undo_file: Option<String>,
}

impl Json {
    pub(crate) fn new(_: &Args) -> Json {
        Json
    }

    pub(crate) fn store_damage(&self, problem: &str) {
        print(&Line::Store { problem });
    }

    pub(crate) fn finding(&self, finding: &Finding) {
        let (fix, new_value) = match &finding.fix {
            Fix::Remove => ("remove", None),
            Fix::Put(value) => ("put", Some(Hex(value).to_string())),
            Fix::None => ("none", None),
        };
        print(&Line::Finding {
            class: finding.class.as_str(),
            warning: finding.class.is_warning(),
            beyond_reference: finding.class.is_beyond_reference(),
            detail: &finding.detail,
            key: Hex(&finding.key).to_string(),
            decoded_key: finding.decoded_key.as_deref(),
            value: finding.value.as_deref().map(|value| Hex(value).to_string()),
            object: finding.object.map(|id| id.to_string()),
            item: finding.item.as_deref(),
            fix,
            new_value,
        });
    }

    pub(crate) fn change(&self, change: &Change) {
        let hex = |value: &Option<Vec<u8>>| value.as_deref().map(|value| Hex(value).to_string());
        print(&Line::Change {
            key: Hex(&change.key).to_string(),
            old_value: hex(&change.old),
            new_value: hex(&change.new),
        });
    }

    pub(crate) fn summary(&self, report: &Report, end: &End<'_>) {
        print(&Line::Summary {
            findings: report.findings,
            warnings: report.warnings,
            unrepairable: report.unrepairable,
            complete: report.complete,
            objects: report.objects,
            entries: report.entries,
            seconds: end.seconds,
            position: end.position.map(|position| Hex(position).to_string()),
            repair: end.mended.map(|mended| Repair {
                changes: mended.changes,
                passes: mended.passes,
                findings_left: mended.left,
                dry_run: mended.dry_run,
                undo_file: mended.undo.as_ref().map(|path| path.display().to_string()),
            }),
        });
    }
}

fn print(line: &Line<'_>) {
    if let Ok(text) = serde_json::to_string(line) {
        let _ = writeln!(std::io::stdout(), "{text}");
    }
}
