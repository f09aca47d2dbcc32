//! Output for people.

use std::collections::BTreeMap;

use crate::{Class, Finding, Fix, RepairScope, Report};
use permazen::kv::Hex;

use super::args::CheckArgs;
use super::database::Database;
use super::json::hex;
use super::plan::Change;
use super::presenter::Mended;
use super::presenter::{End, Presenter};
use super::terminal::{Line, Terminal, path_text};

/// How many bytes of a key or value are shown without `--verbose`.
const SHOWN: usize = 48;

/// Why a finding is not repaired with `--repair=derived`.
const NOT_DERIVED: &str =
    "left alone: it is not of an index, and --repair=derived touches nothing else";
/// The same for an index entry. Which object it belongs to may not be known for sure.
const OF_KEPT_OBJECT: &str =
    "left alone: it may belong to an object with damaged pairs, which stay as they are";

/// Prints findings as they come and a summary at the end.
pub(super) struct Text<'t, 'o> {
    terminal: &'t Terminal<'o>,
    style: Style,
    verbose: bool,
    scope: RepairScope,
    counts: BTreeMap<Class, u64>,
    /// The heading above the last finding.
    heading: String,
}

impl<'t, 'o> Text<'t, 'o> {
    pub(super) fn new(args: &CheckArgs, terminal: &'t Terminal<'o>) -> Self {
        Text {
            terminal,
            style: Style::new(terminal.host.shows_colours()),
            verbose: args.verbose,
            scope: args.scope(),
            counts: BTreeMap::new(),
            heading: String::new(),
        }
    }
}

impl Presenter for Text<'_, '_> {
    fn start(&mut self, database: &Database) {
        let pairs = match database.pairs() {
            Some(pairs) => format!(", {pairs} pairs"),
            None => String::new(),
        };
        self.terminal.say(format_args!(
            "Checking {} ({}{pairs})",
            path_text(database.path()),
            database.kind()
        ));
    }

    fn store_damage(&mut self, problem: &str) {
        let line = Line::default().styled(self.style.red, "store is damaged");
        self.terminal.print(line.text(format_args!(": {problem}")));
    }

    fn finding(&mut self, finding: &Finding) {
        *self.counts.entry(finding.class).or_default() += 1;
        let style = &self.style;
        let heading = heading(finding);
        // Findings about one object mostly follow each other, and one heading serves them all.
        if self.heading != heading {
            self.terminal.print(Line::default().styled(style.bold, &heading));
            self.heading = heading;
        }
        let colour = if finding.class.is_warning() { style.yellow } else { style.red };
        let mut head = Line::default().text("  ").styled(colour, finding.class);
        if finding.class.is_warning() {
            head = head.text(" (warning)");
        }
        if finding.class.is_beyond_reference() {
            head = head.text(" (beyond Java's checker)");
        }
        if let Some(item) = &finding.item {
            head = head.text("  ").styled(style.bold, item);
        }
        if let Some(object) = finding.object {
            head = head.text(format_args!("  object {object}"));
        }
        self.terminal.print(head);
        self.terminal.say(format_args!("    {}", finding.detail));
        let decoded = finding.decoded_key.as_ref().map(|text| format!("  ({text})"));
        self.terminal.say(format_args!(
            "    key     {}{}",
            self.hex(&finding.key),
            decoded.unwrap_or_default()
        ));
        if let Some(value) = &finding.value {
            self.terminal.say(format_args!("    value   {}", self.hex(value)));
        }
        self.terminal.say(format_args!(
            "    repair  {}",
            match &finding.fix {
                // Asked first: the fix exists, but this repair does not make it.
                _ if finding.is_of_kept_object => OF_KEPT_OBJECT.to_owned(),
                _ if !finding.is_in(self.scope) => NOT_DERIVED.to_owned(),
                Fix::Remove => "removes the pair".to_owned(),
                Fix::Put(value) if value.is_empty() =>
                    "puts the pair, with an empty value".to_owned(),
                Fix::Put(value) => format!("puts {}", self.hex(value)),
                // A warning is about something that a healthy database can have.
                Fix::None if finding.class.is_warning() => "nothing to do".to_owned(),
                Fix::None =>
                    "not possible by itself: say what is right with --schema, --storage-id or --format-version".to_owned(),
            }
        ));
    }

    fn phase(&mut self, phase: &str) {
        if self.verbose {
            self.terminal.say(format_args!("Looking at: {phase}"));
        }
    }

    /// Everything said before is void.
    fn again(&mut self) {
        self.terminal.say("The database has changed while this was asked: looking again");
        // All findings come again, and would be counted twice.
        self.counts.clear();
        self.heading.clear();
    }

    /// Prints a change with `-` for the old pair and `+` for the new pair.
    fn change(&mut self, change: &Change) {
        let key = self.hex(&change.key);
        for (sign, value) in [("-", &change.old), ("+", &change.new)] {
            if let Some(value) = value {
                self.terminal.say(format_args!("{sign} {key} = {}", self.hex(value)));
            }
        }
    }

    fn summary(&mut self, report: &Report, end: &End<'_>) {
        let style = &self.style;
        if !self.counts.is_empty() {
            self.terminal.say("");
            let width = self.counts.values().map(|n| n.to_string().len()).max().unwrap_or(1);
            for (class, count) in &self.counts {
                self.terminal.say(format_args!("{count:>width$}  {class}"));
            }
        }
        // A check that was stopped proves nothing about the rest, so it is not shown in green.
        let result = if report.findings == 0 && report.complete {
            Line::default().styled(style.green, "No findings")
        } else {
            let noun = if report.findings == 1 { "finding" } else { "findings" };
            Line::default().styled(style.red, format_args!("{} {noun}", report.findings))
        };
        let warnings = match report.warnings {
            0 => String::new(),
            n => format!(", {n} warnings"),
        };
        let partial = if report.complete { "" } else { "; not everything was checked" };
        let checked = format_args!(
            "{warnings}: {} objects, {} pairs checked with {} reads in {:.2} s{partial}",
            report.objects, report.pairs, report.reads, end.seconds,
        );
        self.terminal.print(result.text(checked));
        if let Some(from) = end.from {
            self.terminal.say(format_args!(
                "Continued from the key {}: earlier keys are not counted",
                Hex(from)
            ));
        }
        if let Some(position) = end.position {
            self.terminal.say(format_args!("Stopped before the key {}", Hex(position)));
        }
        if let Some(mended) = end.mended {
            self.mended(report, mended);
        }
    }
}

impl Text<'_, '_> {
    fn mended(&self, report: &Report, mended: &Mended) {
        if mended.left_alone > 0 {
            self.terminal.say(format_args!(
                "Left alone: {} findings that are not of indexes, or that may belong to objects with \
                 damaged pairs; a --repair of everything mends them",
                mended.left_alone
            ));
        }
        // A repair is made as a whole or not at all.
        if report.unrepairable > 0 {
            self.terminal.say(format_args!(
                "Nothing was changed: {} findings cannot be repaired automatically",
                report.unrepairable
            ));
        } else if mended.dry_run {
            self.terminal.say(format_args!(
                "Nothing was changed: repair would make {} changes",
                mended.changes
            ));
        } else if mended.changes == 0 {
            self.terminal.say("Nothing was changed");
        } else {
            let passes = if mended.passes == 1 { "pass" } else { "passes" };
            self.terminal.say(format_args!(
                "Repaired: {} changes in {} {passes}, {} findings left",
                mended.changes, mended.passes, mended.left
            ));
            if mended.left > 0 {
                self.terminal.say("To see what is left, check again");
            }
            if let Some(undo) = &mended.undo {
                self.terminal.say(format_args!(
                    "What was replaced is in {} (--apply-undo)",
                    path_text(undo)
                ));
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

/// The heading of a finding: the object, the index, or the range of the key.
fn heading(finding: &Finding) -> String {
    let item = finding.item.as_deref();
    let type_name = item.and_then(|item| item.split(['.', '#']).next());
    match (finding.class, finding.object) {
        // Entries of an index have objects too, but are repaired by what the objects say, so the
        // index is the heading.
        (class, _) if class.is_derived() => match item {
            Some(item) => format!("Index {item}"),
            None => "Object schema index".to_owned(),
        },
        (_, Some(object)) => format!("{} {object}", type_name.unwrap_or("Object")),
        (Class::ForeignKey | Class::ReservedKey, _) => "Keys that belong to nothing".to_owned(),
        // Keys of meta-data begin with a zero. A finding there can name an item, but is about no
        // object.
        (..) => match type_name.filter(|_| finding.key.first() != Some(&0)) {
            Some(type_name) => format!("Objects of {type_name}"),
            None => "Meta-data".to_owned(),
        },
    }
}

/// Reports that a pair is not as a repair left it.
pub(super) fn differing(change: &Change, terminal: &Terminal<'_>) {
    let value = |value: &Option<Vec<u8>>| match value.as_deref() {
        None => "absent".to_owned(),
        Some([]) => "(empty)".to_owned(),
        Some(value) => hex(value),
    };
    terminal.say(format_args!(
        "{} has changed since the repair: it is {}, not {}",
        hex(&change.key),
        value(&change.old),
        value(&change.new)
    ));
}

/// The sequences that begin and end each style of text.
struct Style {
    red: [&'static str; 2],
    green: [&'static str; 2],
    yellow: [&'static str; 2],
    bold: [&'static str; 2],
}

impl Style {
    fn new(coloured: bool) -> Style {
        const PLAIN: &str = "\x1b[0m";
        if coloured {
            Style {
                red: ["\x1b[31m", PLAIN],
                green: ["\x1b[32m", PLAIN],
                yellow: ["\x1b[33m", PLAIN],
                bold: ["\x1b[1m", PLAIN],
            }
        } else {
            Style { red: [""; 2], green: [""; 2], yellow: [""; 2], bold: [""; 2] }
        }
    }
}
