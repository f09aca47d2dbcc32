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
use serde_json::Value as Json;

use crate::report::{Outcome, Report, fail};

/// Checks every row of one file, given as text. The group of the cases is the file's path,
/// `vectors/uint.json`.
type Run = fn(&str, &str, &mut Report);

/// A kind of vector files. The lists in a file show its kind.
struct Kind {
    /// A file that has one of these is of this kind, unless it has one of another kind.
    lists: &'static [&'static str],
    /// Whether a file with one of the lists is of this kind.
    is: fn(&Json) -> bool,
    run: Run,
}

/// The lists of number codes, which have the same names; 64-bit numbers are written as text.
const CODES: &[&str] = &["values", "bad_values", "decode", "skip", "length_by_first_byte"];

const KINDS: &[Kind] = &[
    Kind { lists: &["sequences"], is: any, run: bundles::run },
    Kind { lists: &["rows"], is: any, run: encodings::run_convert },
    Kind { lists: &["encodings"], is: any, run: encodings::run },
    Kind { lists: numbers::FIXED, is: any, run: numbers::run_fixed },
    Kind { lists: CODES, is: |file| has_texts(file) == Some(true), run: numbers::run_long },
    Kind { lists: CODES, is: |file| has_texts(file) == Some(false), run: numbers::run_uint },
    Kind { lists: &["names", "code_points"], is: any, run: names::run },
    Kind { lists: &["valid", "invalid"], is: any, run: schemas::run },
    Kind { lists: &["raw", "raw_written", "objects_written"], is: any, run: xml_kv::run },
];

fn any(_: &Json) -> bool {
    true
}

/// Whether the numbers of a number code are written as text.
fn has_texts(file: &Json) -> Option<bool> {
    let lists = ["values", "decode", "skip"].iter().filter_map(|list| file[*list].as_array());
    let value = lists.flatten().map(|row| &row["value"]).find(|value| !value.is_null())?;
    Some(value.is_string())
}

fn kind_of(content: &str) -> Outcome<&'static Kind> {
    let file: Json = serde_json::from_str(content)?;
    let members = file.as_object().ok_or_else(|| fail("the file holds no lists by name"))?;
    let fits =
        |kind: &&Kind| members.keys().any(|name| kind.lists.contains(&&**name)) && (kind.is)(&file);
    let mut kinds = KINDS.iter().filter(fits);
    match (kinds.next(), kinds.next()) {
        (Some(kind), None) => Ok(kind),
        _ => Err(fail(format!(
            "nothing here checks vectors with the lists {:?}",
            members.keys().collect::<Vec<_>>()
        ))),
    }
}

/// Checks every vector file below `dir`.
pub fn run(dir: &Path, report: &mut Report) {
    for name in files::all_below(dir) {
        let group = format!("vectors/{name}");
        if files::is_for_people(&name) {
            continue;
        }
        if !name.ends_with(".json") {
            report.case(&group, "the file", || Err(fail("vectors are in files called *.json")));
            continue;
        }
        let content = files::text(dir, &name).map_err(Into::into);
        let kind = content.and_then(|text| Ok((kind_of(&text)?, text)));
        let before = report.seen();
        match kind {
            Ok((kind, text)) => (kind.run)(&group, &text, report),
            Err(stop) => report.case(&group, "the file", || Err(stop)),
        }
        if report.seen() == before {
            report.case(&group, "the file", || Err(fail("there is no row in it")));
        }
    }
}
