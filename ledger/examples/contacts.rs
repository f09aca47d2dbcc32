//! A contact list with history: two branches of it are changed, compared and merged, and every
//! version can still be read.
//!
//! Run it with `cargo run -p permazen-ledger --example contacts`. It works in a new directory,
//! which is removed at the end. With a path as its argument, the repository is made there and
//! stays.

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use permazen::schema::TABLES_SPAN;
use permazen::{Permazen, PermazenObject};
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::{KvDatabase, TxOptions};
use permazen_ledger::{LastWriterWins, MAIN, Origin, Page, PageId, Repository, WholeRanges};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A person in the list.
#[derive(PermazenObject, Debug, Default)]
struct Contact {
    #[permazen(indexed)]
    name: String,
    phone: Option<String>,
}

fn main() -> Result<()> {
    let mut out = io::stdout();
    match std::env::args_os().nth(1) {
        Some(path) => show(&PathBuf::from(path), &mut out),
        None => show(tempfile::tempdir()?.path(), &mut out),
    }
}

/// A branch as a database of contacts.
fn open(page: &Page, branch: &str) -> Result<Permazen> {
    Ok(Permazen::builder(page.database(branch)?).model::<Contact>().build()?)
}

/// The contacts of a branch in one line, by name.
fn contacts(page: &Page, branch: &str) -> Result<String> {
    list(&open(page, branch)?)
}

/// The contacts of a database in one line, by name.
fn list(db: &Permazen) -> Result<String> {
    let list = |tx: &permazen::Tx| {
        let mut list = Vec::new();
        for contact in tx.index(Contact::NAME)?.iter() {
            let (name, contact) = contact?;
            list.push(match contact.phone()? {
                Some(phone) => format!("{name} {phone}"),
                None => name,
            });
        }
        Ok(list.join(", "))
    };
    Ok(db.read(list)?)
}

/// The number of findings of the checker on a branch.
fn findings(page: &Page, branch: &str) -> Result<usize> {
    let db = page.database(branch)?;
    let tx = db.begin(&TxOptions::reading())?;
    let mut found = 0;
    permazen_jsck::check(&*tx, &permazen_jsck::Options::default(), &mut |_| found += 1)?;
    Ok(found)
}

/// Makes all steps in a new repository in this directory, and prints the results.
pub(crate) fn show(path: &Path, out: &mut impl Write) -> Result<()> {
    let repository = Repository::open_or_create(LmdbStore::open_or_create(path)?)?;
    let page = repository.create_page("contacts", PageId::ROOT)?;

    // Each transaction that changes something makes a commit. The commit can have an author and a
    // message.
    let office = open(&page, MAIN)?;
    let (ann, bob) = page.with_author_and_message("Ann", "the first two", || {
        office.write(|tx| {
            let ann = tx.create(Contact { name: "Ann".into(), phone: None })?;
            let bob = tx.create(Contact { name: "Bob".into(), phone: Some("555-0100".into()) })?;
            Ok((ann.to_ref(), bob.to_ref()))
        })
    })??;
    writeln!(out, "main: {}", contacts(&page, MAIN)?)?;

    // A branch costs two rows, however long the list is.
    let before = page.head(MAIN)?;
    page.create_branch("travel", &before)?;
    page.set_tag("before the journey", &before)?;
    let travel = open(&page, "travel")?;

    // Both go their own ways. Both change the number of Bob.
    page.with_author_and_message("Ann", "numbers", || {
        office.write(|tx| {
            tx.get(ann)?.set_phone("555-0101")?;
            tx.get(bob)?.set_phone("555-0102")
        })
    })??;
    page.with_author_and_message("Bob", "people on the way", || {
        travel.write(|tx| {
            tx.create(Contact { name: "Cleo".into(), phone: Some("555-0103".into()) })?;
            tx.get(bob)?.set_phone("555-0104")
        })
    })??;
    writeln!(out, "main: {}", contacts(&page, MAIN)?)?;
    writeln!(out, "travel: {}", contacts(&page, "travel")?)?;

    // The differences are found without reading the parts that both have in common.
    let (ours, theirs) = (page.head(MAIN)?, page.head("travel")?);
    let all = permazen_kv::KeySpan::new(b"", None);
    let differences = page.diff(&ours, &theirs, all, permazen_kv::Direction::Forward)?;
    writeln!(out, "{} entries differ", differences.count())?;

    // The merge has the changes of both. Where both have changed the same, the later one wins. It
    // fails if both have recorded other schemas, which a merge must not mix. It knows nothing of
    // objects, so it is made on a branch of its own and checked there. Here neither side has
    // changed data on which an index or a rule of the other one depends.
    page.create_branch("merge", &ours)?;
    let reason = "record a new schema on one branch, and merge it before the other one records it";
    let mut merger = WholeRanges::new(LastWriterWins, &[TABLES_SPAN], reason);
    let merge = page.merge("merge", &theirs, &mut merger)?;
    writeln!(out, "merged: {}", contacts(&page, "merge")?)?;
    let found = findings(&page, "merge")?;
    writeln!(out, "the checker finds {found} mistakes")?;
    if found > 0 || !open(&page, "merge")?.check_rules()?.is_clean() {
        return Err("the merge is not what it should be: main stays as it is".into());
    }
    // Main goes forward to it.
    page.merge(MAIN, &merge, &mut merger)?;
    page.remove_branch("merge")?;
    writeln!(out, "main: {}", contacts(&page, MAIN)?)?;

    writeln!(out, "history:")?;
    for commit in page.log(merge)? {
        let (_, commit) = commit?;
        match commit.origin {
            Origin::Change { author, message, .. } if !author.is_empty() => {
                writeln!(out, "  {}: {author}: {message}", commit.generation)?;
            }
            // The schema was recorded.
            Origin::Change { .. } => writeln!(out, "  {}: a change", commit.generation)?,
            _ => writeln!(out, "  {}: a merge", commit.generation)?,
        }
    }

    // Every version is still there.
    let then = page.database_at(&page.tag("before the journey")?)?;
    let then = Permazen::builder(then).model::<Contact>().build()?;
    writeln!(out, "before the journey: {}", list(&then)?)?;
    let report = repository.verify()?;
    writeln!(
        out,
        "{} commits, {} pieces, {} findings of verify",
        report.commits,
        report.pieces,
        report.findings.len()
    )?;
    Ok(())
}
