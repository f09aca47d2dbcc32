//! Traces: recorded histories of operations, replayed step by step.

mod events;
mod replay;

use std::path::Path;

use permazen_tests::files;

use crate::report::{Outcome, Report, fail, same};
use permazen_tests::trace::step::{Header, Step};

/// The deletions of the repository's own traces that Java refuses and that are another case here:
/// the trace, what comes of them here, and the steps.
const DIFFERING: &[(&str, &str, &[u32])] = &[
    ("delete-random-03", "done and undone", &[28]),
    ("delete-random-03", "refused for another reference", &[1350, 1461, 1495, 2489, 2943]),
    (
        "notifications-random-02",
        "more listeners",
        &[643, 679, 695, 712, 754, 817, 938, 972, 1154, 1433],
    ),
    ("notifications-random-03", "more listeners", &[406, 471, 505, 524, 590, 674, 743, 761]),
];

/// Replays every trace in `dir`.
pub fn run(dir: &Path, report: &mut Report) {
    let (mut steps, mut found, mut replayed) = (0, 0, 0);
    let mut differing = Vec::new();
    for file in files::all_below(dir) {
        let of_trace = file.strip_suffix(".kv.xml").map(|name| format!("{name}.jsonl"));
        if files::is_for_people(&file) || of_trace.is_some_and(|of| files::find(dir, &of).is_some())
        {
            continue;
        }
        let Some(name) = file.strip_suffix(".jsonl") else {
            report.case("traces", &file, || Err(fail("no trace, nor the pairs of one")));
            continue;
        };
        found += 1;
        report.case("traces", name, || {
            replayed += 1;
            let (header, lines) = read(dir, &file)?;
            if lines.is_empty() {
                return Err(fail("there is no step in it"));
            }
            steps += lines.len();
            let mut found = Vec::new();
            let outcome = replay::replay(dir, name, &header, &lines, &mut found);
            differing.extend(found.into_iter().map(|text| format!("{name}, {text}")));
            outcome
        });
    }
    if steps > 0 {
        report.note(&format!("traces: {steps} steps"));
    }
    if dir.parent() == Some(files::data_dir().as_path()) && replayed == found {
        report.case("traces", "what differs by the rule of deletions", || {
            let expected = DIFFERING.iter().flat_map(|(trace, what, steps)| {
                steps.iter().map(move |step| format!("{trace}, step {step}: {what}"))
            });
            let found = differing.iter().map(|text| text.splitn(3, ": ").take(2));
            let found = found.map(|parts| parts.collect::<Vec<_>>().join(": "));
            same("deletions", found.collect::<Vec<_>>(), expected.collect::<Vec<_>>())
        });
    }
    if !differing.is_empty() {
        let count = differing.len();
        report.note(&format!("traces: {count} deletions refused by Java are another case here"));
        differing.iter().for_each(|text| report.remark(format!("traces: {text}")));
    }
}

fn read(dir: &Path, file: &str) -> Outcome<(Header, Vec<Step>)> {
    let text = files::text(dir, file)?;
    let mut lines = text.lines();
    let header: Header = serde_json::from_str(lines.next().unwrap_or_default())?;
    if header.format != "permazen-trace" || header.version != 1 {
        return Err(fail(format!("{} version {} is unknown", header.format, header.version)));
    }
    let steps: Vec<Step> = lines.map(Step::parse).collect::<Outcome<_>>()?;
    same("number of steps", steps.len(), header.steps)?;
    Ok((header, steps))
}
