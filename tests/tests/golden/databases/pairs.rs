//! What the pairs alone say about a database.

use std::path::Path;

use permazen::StorageId;
use permazen::kv::{Direction, KeySpan, KvRead, TxOptions, xml};
use permazen_tests::digest::{self, Lines};
use permazen_tests::{files, hex};

use super::answers::{Answers, Index};
use super::forms::Form;
use crate::report::{Outcome, Report, fail, same, same_text};

/// Compares counts and digests of the pairs of `form`.
pub fn check(group: &str, folder: &Path, form: &Form, answers: &Answers, report: &mut Report) {
    report.case(group, &format!("{}: pairs", form.name), || {
        let tx = form.store()?.begin(&TxOptions::reading())?;
        let found = digest::state_digest(&*tx)?;
        same_text("state digest", &found.sha256, &answers.state_digest)?;
        same("pairs", found.pairs, answers.pairs)?;
        same("pairs in digest", found.pairs_in_digest, answers.pairs_in_digest)
    });
    for index in &answers.indexes {
        let name = format!("{}: keys of index {}", form.name, index.storage_id);
        report.case(group, &name, || {
            index_keys(&*form.store()?.begin(&TxOptions::reading())?, index)
        });
    }
    if form.name == "xml" {
        report.case(group, "xml: written again", || {
            let recorded = files::text(folder, "kv.xml")?;
            let style =
                if recorded.contains("?>\n") { xml::Style::Indented } else { xml::Style::Plain };
            let mut written = Vec::new();
            let tx = form.store()?.begin(&TxOptions::reading())?;
            xml::dump(&*tx, KeySpan::FULL, style, &mut written)?;
            same_text("kv.xml", &String::from_utf8(written)?, recorded.trim_end_matches('\n'))
        });
    }
}

/// Compares the pairs again after everything has been read through the object layer.
pub fn unchanged(group: &str, form: &Form, answers: &Answers, report: &mut Report) {
    report.case(group, &format!("{}: unchanged by reading", form.name), || {
        let tx = form.store()?.begin(&TxOptions::reading())?;
        let found = digest::state_digest(&*tx)?;
        same_text("state digest", &found.sha256, &answers.state_digest)?;
        same("pairs", found.pairs, answers.pairs)
    });
}

fn index_keys(store: &dyn KvRead, index: &Index) -> Outcome {
    let storage_id =
        StorageId::new(index.storage_id).ok_or_else(|| fail("the storage id is out of range"))?;
    let (min, max) = storage_id.key_range();
    let (mut keys, mut entries) = (Lines::default(), 0);
    for pair in store.scan(KeySpan::new(&min, Some(&max)), Direction::Forward)? {
        keys.add(&hex::encode(&pair?.0));
        entries += 1;
    }
    same("entries", entries, index.entries)?;
    same_text("digest of the keys", &keys.finish(), &index.keys_digest)
}
