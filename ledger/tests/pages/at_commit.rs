//! Old states: as databases that can only be read, and as new commits.

use permazen::{Permazen, PermazenObject};
use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvError, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    CommitId, LastWriterWins, LedgerError, MAIN, Origin, Page, PageId, Repository, Retention,
};

use crate::support::page::{assert_clean, put};

#[derive(PermazenObject, Debug, Default)]
struct Note {
    #[permazen(indexed)]
    title: String,
}

#[derive(PermazenObject, Debug, Default)]
struct Tag {
    name: String,
}

fn page() -> Page {
    let repository = Repository::builder(MemoryStore::new()).exclusive().manual_maintenance();
    repository.open_or_create().unwrap().create_page("notes", PageId::ROOT).unwrap()
}

fn set(page: &Page, value: &[u8]) -> CommitId {
    put(page, MAIN, b"key", value)
}

#[test]
fn an_object_database_opens_on_an_old_commit_and_writes_nothing() {
    let page = page();
    let db = Permazen::builder(page.database(MAIN).unwrap()).model::<Note>().build().unwrap();
    let note = db.write(|tx| Ok(tx.create(Note { title: "old".into() })?.to_ref())).unwrap();
    let old = page.head(MAIN).unwrap();
    db.write(|tx| tx.get(note)?.set_title("new")).unwrap();
    let (branches, commits) = (page.branches().unwrap(), page.verify().unwrap().commits);

    let kv = page.database_at(&old).unwrap();
    let then = Permazen::builder(kv.clone()).model::<Note>().build().unwrap();
    assert_eq!(then.read(|tx| tx.get(note)?.title()).unwrap(), "old");
    let found = then.read(|tx| tx.index(Note::TITLE)?.get("old")?.count()).unwrap();
    assert_eq!(found, 1);
    assert_eq!(then.write(|tx| tx.get(note)?.set_title("other")).ok(), None);
    // A schema that was recorded later is not there.
    let later = Permazen::builder(kv.clone()).model::<Note>().model::<Tag>();
    assert!(later.build().is_err());

    let (mut found, options) = (0, permazen_jsck::Options::default());
    let mut count = |_: &_| found += 1;
    let report = permazen_jsck::check_database(&kv, &options, &mut count, &mut |_| {}).unwrap();
    assert!(report.is_clean() && report.objects == 1 && found == 0);
    assert_eq!((page.branches().unwrap(), page.verify().unwrap().commits), (branches, commits));
}

#[test]
fn transactions_on_a_commit_read_it_and_discard_what_they_write() {
    let page = page();
    let (old, _) = (set(&page, b"1"), set(&page, b"2"));
    let db = page.database_at(&old).unwrap();
    assert!(matches!(db.begin(&TxOptions::writing()).err(), Some(KvError::Unsupported(_))));
    let mut tx = db.begin(&TxOptions::reading()).unwrap();
    assert!(tx.is_read_only());
    assert_eq!(tx.get(b"key").unwrap().as_deref(), Some(&b"1"[..]));
    let before = tx.snapshot().unwrap();
    tx.put(b"key", b"3").unwrap();
    assert_eq!(tx.get(b"key").unwrap().as_deref(), Some(&b"3"[..]));
    assert_eq!(tx.snapshot().unwrap().get(b"key").unwrap().as_deref(), Some(&b"3"[..]));
    assert_eq!(before.get(b"key").unwrap().as_deref(), Some(&b"1"[..]));
    tx.commit().unwrap();
    let tx = db.begin(&TxOptions::reading()).unwrap();
    assert_eq!(tx.get(b"key").unwrap().as_deref(), Some(&b"1"[..]));
    drop(tx);
    // The commit is there as long as the database.
    page.set_retention(Retention::Heads).unwrap();
    page.collect().unwrap();
    assert_eq!(
        db.begin(&TxOptions::reading()).unwrap().get(b"key").unwrap().as_deref(),
        Some(&b"1"[..])
    );
    assert_eq!(db.statistics().unwrap().entries, Some(1));
    drop((db, before));
    page.collect().unwrap();
    assert!(matches!(page.database_at(&old), Err(LedgerError::NoCommit { .. })));
}

#[test]
fn an_old_content_becomes_a_commit() {
    for with_references in [false, true] {
        let page = page();
        page.set_reference_rows(with_references).unwrap();
        let long = vec![7; 300_000];
        let old = set(&page, &long);
        let last = set(&page, b"2");
        let restored = page
            .with_author_and_message("Ann", "back", || page.restore(MAIN, &old))
            .unwrap()
            .unwrap();
        assert_eq!(page.head(MAIN).unwrap(), restored);
        assert_eq!(page.snapshot(&restored).unwrap().root(), page.snapshot(&old).unwrap().root());
        let commit = page.commit(&restored).unwrap().unwrap();
        assert_eq!(commit.parents(), [last]);
        let expected = ("Ann", "back");
        assert!(
            matches!(&commit.origin, Origin::Change { author, message, .. } if (&**author, &**message) == expected)
        );
        // Once more is no commit.
        assert_eq!(page.restore(MAIN, &old).unwrap(), restored);
        assert_clean(&page);
        // Its entries stay when the old commit is removed.
        page.set_retention(Retention::Heads).unwrap();
        page.collect().unwrap();
        assert!(page.commit(&old).is_err());
        let now = page.snapshot(&restored).unwrap();
        assert_eq!(now.get(b"key").unwrap().as_deref(), Some(&long[..]));
        assert_clean(&page);
        // Nothing at all is a content too.
        let empty = page.restore(MAIN, &CommitId::FIRST).unwrap();
        assert!(page.snapshot(&empty).unwrap().get(b"key").unwrap().is_none());
        assert!(matches!(page.restore(MAIN, &old), Err(LedgerError::NoCommit { .. })));
        assert!(matches!(page.restore("none", &empty), Err(LedgerError::NoSuch { .. })));
        assert_clean(&page);
    }
}

#[test]
fn what_was_open_when_an_old_content_comes_back_runs_again() {
    let page = page();
    let old = set(&page, b"1");
    set(&page, b"2");
    let db = page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    assert!(tx.get(b"key").unwrap().is_some());
    tx.put(b"other", b"").unwrap();
    page.restore(MAIN, &old).unwrap();
    assert!(tx.commit().unwrap_err().is_retryable());
    // A merge of the branch has the restored entries.
    page.create_branch("other", &old).unwrap();
    let merge = page.merge("other", &page.head(MAIN).unwrap(), &mut LastWriterWins).unwrap();
    assert_eq!(merge, page.head(MAIN).unwrap());
}
