//! Output for people.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};

use permazen::kv::Hex;
use permazen_jsck::{Class, Finding, Fix, RepairScope, Report};

use crate::End;
use crate::args::Args;
use crate::database::Database;
use crate::json::hex;
use crate::mend::Mended;
use crate::plan::Change;

/// Bytes of a key or value that are shown unless everything is asked for.
const SHOWN: usize = 48;

/// Why a finding is not mended with `--repair=derived`.
const NOT_DERIVED: &str =
    "left alone: it is not of an index, and --repair=derived touches nothing else";

/// Prints findings as they come and a summary at the end.
pub(crate) struct Text {
    style: Style,
    verbose: bool,
    scope: RepairScope,
    counts: BTreeMap<Class, u64>,
    /// The heading that the finding printed last is under.
    heading: String,
}

impl Text {
    pub(crate) fn new(args: &Args) -> Text {
        Text {
            style: Style::detect(),
            verbose: args.verbose,
            scope: args.scope(),
            counts: BTreeMap::new(),
            heading: String::new(),
        }
    }

    pub(crate) fn start(&self, database: &Database) {
        let entries = match database.entries() {
            Some(entries) => format!(", {entries} pairs"),
            None => String::new(),
        };
        say(&format!("Checking {} ({}{entries})", database.path().display(), database.kind()));
    }

    pub(crate) fn store_damage(&self, problem: &str) {
        let style = &self.style;
        say(&format!("{}store is damaged{}: {problem}", style.red, style.plain));
    }

    pub(crate) fn finding(&mut self, finding: &Finding) {
        *self.counts.entry(finding.class).or_default() += 1;
        let style = &self.style;
        let heading = heading(finding);
        if self.heading != heading {
            say(&format!("{}{heading}{}", style.bold, style.plain));
            self.heading = heading;
        }
        let colour = if finding.class.is_warning() { style.yellow } else { style.red };
        let mut head = format!("  {colour}{}{}", finding.class, style.plain);
        if finding.class.is_warning() {
            head.push_str(" (warning)");
        }
        if finding.class.is_beyond_reference() {
            head.push_str(" (beyond Java's checker)");
        }
        if let Some(item) = &finding.item {
            head.push_str(&format!("  {}{item}{}", style.bold, style.plain));
        }
        if let Some(object) = finding.object {
            head.push_str(&format!("  object {object}"));
        }
        say(&head);
        say(&format!("    {}", finding.detail));
        let decoded = finding.decoded_key.as_ref().map(|text| format!("  ({text})"));
        say(&format!("    key     {}{}", self.hex(&finding.key), decoded.unwrap_or_default()));
        if let Some(value) = &finding.value {
            say(&format!("    value   {}", self.hex(value)));
        }
        say(&format!(
            "    repair  {}",
            match &finding.fix {
                _ if !finding.is_in(self.scope) => NOT_DERIVED.to_owned(),
                Fix::Remove => "removes the pair".to_owned(),
                Fix::Put(value) if value.is_empty() =>
                    "puts the pair, with an empty value".to_owned(),
                Fix::Put(value) => format!("puts {}", self.hex(value)),
                Fix::None if finding.class.is_warning() => "nothing to do".to_owned(),
                Fix::None =>
                    "not possible by itself: say what is right with --schema, --storage-id or --format-version".to_owned(),
            }
        ));
    }

    pub(crate) fn phase(&self, phase: &str) {
        if self.verbose {
            say(&format!("Looking at: {phase}"));
        }
    }

    /// What was said before is void.
    pub(crate) fn again(&mut self) {
        say("The database has changed while this was asked: looking again");
        self.counts.clear();
        self.heading.clear();
    }

    /// `-` and `+` before a key: the pair goes, comes, or gets another value.
    pub(crate) fn change(&self, change: &Change) {
        let key = self.hex(&change.key);
        for (sign, value) in [("-", &change.old), ("+", &change.new)] {
            if let Some(value) = value {
                say(&format!("{sign} {key} = {}", self.hex(value)));
            }
        }
    }

    pub(crate) fn summary(&self, report: &Report, end: &End<'_>) {
        let style = &self.style;
        if !self.counts.is_empty() {
            say("");
            let width = self.counts.values().map(|n| n.to_string().len()).max().unwrap_or(1);
            for (class, count) in &self.counts {
                say(&format!("{count:>width$}  {class}"));
            }
        }
        let result = if report.findings == 0 && report.complete {
            format!("{}No findings{}", style.green, style.plain)
        } else {
            let noun = if report.findings == 1 { "finding" } else { "findings" };
            format!("{}{} {noun}{}", style.red, report.findings, style.plain)
        };
        let warnings = match report.warnings {
            0 => String::new(),
            n => format!(", {n} warnings"),
        };
        let partial = if report.complete { "" } else { "; not everything was looked at" };
        say(&format!(
            "{result}{warnings}: {} objects, {} pairs {} in {:.2} s{partial}",
            report.objects,
            report.entries,
            if end.online { "checked" } else { "read" },
            end.seconds,
        ));
        if let Some(position) = end.position {
            say(&format!("Stopped before the key {}", Hex(position)));
        }
        if let Some(mended) = end.mended {
            self.mended(report, mended);
        }
    }

    fn mended(&self, report: &Report, mended: &Mended) {
        if mended.left_alone > 0 {
            say(&format!(
                "Left alone: {} findings that are not of indexes; a --repair of everything mends them",
                mended.left_alone
            ));
        }
        if report.unrepairable > 0 {
            say(&format!(
                "Nothing was changed: {} findings cannot be repaired automatically",
                report.unrepairable
            ));
        } else if mended.dry_run {
            say(&format!("Nothing was changed: repair would make {} changes", mended.changes));
        } else if mended.changes == 0 {
            say("Nothing was changed");
        } else {
            let passes = if mended.passes == 1 { "pass" } else { "passes" };
            say(&format!(
                "Repaired: {} changes in {} {passes}, {} findings left",
                mended.changes, mended.passes, mended.left
            ));
            if mended.left > 0 {
                say("To see what is left, check again");
            }
            if let Some(undo) = &mended.undo {
                say(&format!("What was replaced is in {} (--apply-undo)", undo.display()));
            }
        }
    }

    fn hex(&self, bytes: &[u8]) -> String {
        let shown = if self.verbose { bytes.len() } else { SHOWN };
        let mut text = Hex(bytes.get(..shown).unwrap_or(bytes)).to_string();
        if bytes.is_empty() {
            text.push_str("(empty)");
        } else if bytes.len() > shown {
            text.push_str(&format!("… {} bytes", bytes.len()));
        }
        text
    }
}

/// What findings are grouped by: the object, the index, or where the key lies.
fn heading(finding: &Finding) -> String {
    let item = finding.item.as_deref();
    let type_name = item.and_then(|item| item.split(['.', '#']).next());
    match (finding.class, finding.object) {
        (class, _) if class.is_derived() => match item {
            Some(item) => format!("Index {item}"),
            None => "Object schema index".to_owned(),
        },
        (_, Some(object)) => format!("{} {object}", type_name.unwrap_or("Object")),
        (Class::ForeignKey | Class::ReservedKey, _) => "Keys that belong to nothing".to_owned(),
        (..) => match type_name.filter(|_| finding.key.first() != Some(&0)) {
            Some(type_name) => format!("Objects of {type_name}"),
            None => "Meta-data".to_owned(),
        },
    }
}

/// Says that a pair is not as a repair left it.
pub(crate) fn differing(change: &Change) {
    let value = |value: &Option<Vec<u8>>| match value.as_deref() {
        None => "absent".to_owned(),
        Some([]) => "(empty)".to_owned(),
        Some(value) => hex(value),
    };
    say(&format!(
        "{} has changed since the repair: it is {}, not {}",
        hex(&change.key),
        value(&change.old),
        value(&change.new)
    ));
}

/// Prints a line; a reader that went away is no reason to fail.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

struct Style {
    red: &'static str,
    green: &'static str,
    yellow: &'static str,
    bold: &'static str,
    plain: &'static str,
}

impl Style {
    /// Colours on a terminal, unless `NO_COLOR` is set.
    fn detect() -> Style {
        if std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
            Style {
                red: "\x1b[31m",
                green: "\x1b[32m",
                yellow: "\x1b[33m",
                bold: "\x1b[1m",
                plain: "\x1b[0m",
            }
        } else {
            Style { red: "", green: "", yellow: "", bold: "", plain: "" }
        }
    }
}
