//! Checks of a database by its pairs alone.

use std::path::Path;

use permazen::StorageId;
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite as _, TxOptions, xml};
use permazen_ledger::MAIN;
use permazen_tests::digest::{self, Lines};
use permazen_tests::{files, hex, on_page};

use super::answers::{Answers, Index};
use super::forms::Form;
use crate::report::{Outcome, Report, Stop, fail, same, same_text};

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
    if ["xml", "page"].contains(&form.name) {
        report.case(group, &format!("{}: written again", form.name), || {
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

/// Copies the pairs to a page and, from an old commit of it, to LMDB.
pub fn copies(group: &str, form: &Form, report: &mut Report) {
    report.case(group, &format!("{}: copied to a page and back", form.name), || {
        let original = form.store()?.begin(&TxOptions::reading())?;
        let page = on_page::new_page()?;
        let branch = page.database(MAIN)?;
        copy(&*original, &branch)?;
        let commit = page.head(MAIN)?;
        let mut tx = branch.begin(&TxOptions::writing())?;
        tx.remove_span(KeySpan::FULL)?;
        tx.commit()?;
        same("what was removed", pairs(&*branch.begin(&TxOptions::reading())?)?, vec![])?;
        let old = page.snapshot(&commit)?;
        same("findings of an old commit", findings(&old)?, findings(&*original)?)?;
        let dir = tempfile::tempdir()?;
        let target = LmdbStore::open_or_create(dir.path().join("copy"))?;
        copy(&old, &target)?;
        let copied = pairs(&*target.begin(&TxOptions::reading())?)?;
        same("pairs", copied == pairs(&*original)?, true)?;
        let verified = page.verify()?.findings;
        same("findings of the ledger", verified.len(), 0)
    });
}

fn copy(from: &dyn KvRead, to: &dyn KvDatabase) -> Outcome {
    let mut tx = to.begin(&TxOptions::writing())?;
    for pair in from.scan(KeySpan::FULL, Direction::Forward)? {
        let (key, value) = pair?;
        tx.put(&key, &value)?;
    }
    Ok(tx.commit()?)
}

fn pairs(store: &dyn KvRead) -> Outcome<Vec<(Vec<u8>, Vec<u8>)>> {
    let pairs = store.scan(KeySpan::FULL, Direction::Forward)?;
    pairs
        .map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())).map_err(Stop::from))
        .collect()
}

/// The findings of `jsck`.
fn findings(store: &dyn KvRead) -> Outcome<Vec<String>> {
    let mut found = Vec::new();
    let mut sink = |finding: &permazen_jsck::Finding| found.push(finding.to_string());
    permazen_jsck::check(store, &permazen_jsck::Options::default(), &mut sink)?;
    Ok(found)
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
