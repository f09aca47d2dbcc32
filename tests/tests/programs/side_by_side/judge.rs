//! Whether what the programs see is right.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use permazen::kv::KvDatabase;
use permazen::{ObjId, Permazen, Tx};

use crate::side_by_side::program::{Answer, Case, Entry, NoRows, Program, Rows, Values, Wrote};

/// In one snapshot, the indexes say the same as the objects. Returns the indexes that are
/// incomplete.
pub fn check_snapshot(program: &Program, tx: &Tx) -> Vec<&'static str> {
    // Reading an object may move it in the snapshot. So the indexes are asked first.
    let answers = (program.query)(tx).unwrap();
    let objects = (program.see)(tx).unwrap();
    for answer in &answers {
        check_answer(program, answer, &objects);
    }
    let is_partial = |answer: &&Answer| matches!(answer.plain, Err(NoRows::Partial(_)));
    answers.iter().filter(is_partial).map(|answer| answer.what).collect()
}

fn check_answer(program: &Program, answer: &Answer, objects: &BTreeMap<ObjId, Values>) {
    let values = |(id, values): (&ObjId, &Values)| {
        let id = *id;
        let values = values[answer.what].clone().unwrap_or_default();
        values.into_iter().map(move |value| (value, id)).collect::<Vec<_>>()
    };
    let expected: BTreeSet<(String, ObjId)> = objects.iter().flat_map(values).collect();
    let unreadable: BTreeSet<ObjId> = objects
        .iter()
        .filter(|(_, values)| values[answer.what].is_none())
        .map(|(id, _)| *id)
        .collect();
    // An entry of an object that this program cannot read is neither right nor wrong.
    let readable = |rows: &BTreeSet<(String, ObjId)>| -> BTreeSet<(String, ObjId)> {
        rows.iter().filter(|(_, id)| !unreadable.contains(id)).cloned().collect()
    };
    let complete = |rows: &Rows| match rows {
        Ok(rows) => assert_eq!(readable(rows), expected, "{answer:?}"),
        Err(NoRows::Unknown) => assert!(!unreadable.is_empty(), "{answer:?}"),
        Err(NoRows::Partial(missing)) => {
            assert!(program.may_be_partial.contains(&answer.what), "{answer:?}");
            assert!((1..=objects.len()).contains(missing), "{answer:?}");
        }
    };
    complete(&answer.plain);
    assert!(!matches!(answer.scanned, Err(NoRows::Partial(_))), "{answer:?}");
    complete(&answer.scanned);
    let rows = answer.indexed.as_ref().unwrap();
    assert!(readable(rows).is_subset(&expected), "{answer:?}, expected {expected:?}");
}

/// The values that the programs have written to one field of one object.
#[derive(Debug, Default)]
struct Written {
    last: Option<Vec<String>>,
    added: Vec<String>,
}

impl Written {
    /// Whether these are the values.
    fn is(&self, values: &[String]) -> bool {
        let mut wanted = self.last.clone().unwrap_or_default();
        wanted.extend(self.added.iter().cloned());
        wanted.sort();
        let mut values = values.to_vec();
        values.sort();
        values == wanted
    }
}

/// Nothing that was committed is lost, each program reads what it knows, and the checker finds
/// nothing.
pub fn check_end(case: &Case, dbs: [&Permazen; 2], store: &Arc<dyn KvDatabase>, journal: &[Entry]) {
    let mut written: BTreeMap<(ObjId, &str), Written> = BTreeMap::new();
    for entry in journal {
        let id: ObjId = entry.id.parse().unwrap();
        for wrote in &entry.wrote {
            match wrote {
                Wrote::Set(what, values) => {
                    written.entry((id, what)).or_default().last = Some(values.clone());
                }
                Wrote::Added(what, value) => {
                    written.entry((id, what)).or_default().added.push(value.clone());
                }
                Wrote::Refused(_) => {}
            }
        }
    }
    let objects: BTreeSet<ObjId> = written.keys().map(|(id, _)| *id).collect();
    let seen: Vec<BTreeMap<ObjId, Values>> = case
        .programs()
        .into_iter()
        .zip(dbs)
        .map(|(program, db)| db.read(|tx| (program.see)(tx)).unwrap())
        .collect();
    for seen in &seen {
        assert_eq!(seen.keys().copied().collect::<BTreeSet<_>>(), objects, "{}", case.name);
    }
    for ((id, what), written) in &written {
        check_field(case, dbs, &seen, *id, what, written);
    }
    let mut found = Vec::new();
    let options = permazen_jsck::Options::default();
    let mut sink = |finding: &permazen_jsck::Finding| found.push(finding.to_string());
    permazen_jsck::check_database(&**store, &options, &mut sink, &mut |_| {}).unwrap();
    assert!(found.is_empty(), "{}: {found:?}", case.name);
}

fn check_field(
    case: &Case,
    dbs: [&Permazen; 2],
    seen: &[BTreeMap<ObjId, Values>],
    id: ObjId,
    what: &str,
    written: &Written,
) {
    let mut is_there = false;
    for (n, program) in case.programs().into_iter().enumerate() {
        let Some(Some(values)) = seen[n][&id].get(what) else { continue };
        if written.is(values) {
            is_there = true;
            continue;
        }
        // The other program has moved the object to a schema without the field.
        let schema = dbs[n].read(|tx| tx.any(id).schema_id()).unwrap();
        let default = program.defaults.iter().find(|(name, _)| *name == what);
        let is_elsewhere = schema != dbs[n].schema().schema_id()
            && default.is_some_and(|(_, default)| default == values);
        let may_be_lost = case.accepted.contains(&what);
        assert!(
            is_elsewhere || may_be_lost,
            "{}: program {n} sees {values:?} in {what} of {id}, expected {written:?}",
            case.name
        );
    }
    assert!(
        is_there || case.accepted.contains(&what),
        "{}: {what} of {id} is lost: {written:?}, {:?}",
        case.name,
        seen.iter().map(|seen| &seen[&id]).collect::<Vec<_>>()
    );
}
