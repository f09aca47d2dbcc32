//! Vectors: recorded inputs and outputs of codecs, encodings, schemas and XML.

mod bundles;
mod encodings;
mod names;
mod numbers;
mod object_xml;
mod schemas;
mod xml_kv;

use std::path::Path;

use permazen_tests::files;

use crate::report::{Report, skip};

/// Checks every row of one file, given as text. The group of the cases is the file's name below the
/// data directory, `vectors/uint.json`.
type Run = fn(&str, &mut Report);

/// The files of this kind and what checks them.
const FILES: &[(&str, Run)] = &[
    ("bundles.json", bundles::run),
    ("convert.json", encodings::run_convert),
    ("encodings.json", encodings::run),
    ("fixed.json", numbers::run_fixed),
    ("long.json", numbers::run_long),
    ("names.json", names::run),
    ("schemas.json", schemas::run),
    ("uint.json", numbers::run_uint),
    ("xml-kv.json", xml_kv::run),
];

/// Checks every vector file in `dir`.
pub fn run(dir: &Path, report: &mut Report) {
    for name in files::names(dir, ".json") {
        let run = FILES.iter().find(|(known, _)| *known == name).map(|(_, run)| *run);
        match (run, files::text(dir, &name)) {
            (Some(run), Ok(text)) => run(&text, report),
            (None, _) => report
                .case("vectors", &name, || Err(skip("nothing here checks this kind of vectors"))),
            (_, Err(error)) => report.case("vectors", &name, || Err(error.into())),
        }
    }
}
