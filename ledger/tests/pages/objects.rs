//! An object database on a page.

use std::error::Error;

use permazen::{Permazen, PermazenObject, Ref};
use permazen_jsck::Options;
use permazen_kv::fault::FaultStore;
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::{Direction, Durability, KeySpan, KvDatabase, KvError, KvRead, TxOptions};
use permazen_ledger::{CommitId, LedgerError, MAIN, Page, PageId, Repository, Retention};

use crate::support::faults;

#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
struct Person {
    #[permazen(indexed, unique)]
    name: String,
    #[permazen(element(indexed))]
    tags: Vec<String>,
    #[permazen(inverse_delete = "nullify")]
    boss: Option<Ref<Person>>,
}

fn open(page: &Page, branch: &str) -> Permazen {
    Permazen::builder(page.database(branch).unwrap()).model::<Person>().build().unwrap()
}

fn names(db: &Permazen) -> Vec<String> {
    let names = |tx: &permazen::Tx| {
        let mut names = Vec::new();
        for person in tx.index(Person::NAME)?.iter() {
            names.push(person?.0);
        }
        Ok(names)
    };
    db.read(names).unwrap()
}

/// The findings of `jsck` at the head of a branch.
fn findings(page: &Page, branch: &str) -> Vec<String> {
    let db = page.database(branch).unwrap();
    let tx = db.begin(&TxOptions::reading()).unwrap();
    let mut found = Vec::new();
    let note = &mut |finding: &permazen_jsck::Finding| found.push(finding.to_string());
    permazen_jsck::check(&*tx, &Options::default(), note).unwrap();
    found
}

#[test]
fn objects_have_history() {
    let dir = tempfile::tempdir().unwrap();
    let host = LmdbStore::builder()
        .create(true)
        .durability(Durability::MayLoseEverything)
        .open(dir.path())
        .unwrap();
    let repository = Repository::open_or_create(host.clone()).unwrap();
    let page = repository.create_page("people", PageId::ROOT).unwrap();
    let db = open(&page, MAIN);
    let ann = db
        .write(|tx| {
            let ann = tx.create(Person { name: "Ann".into(), ..Person::default() })?;
            for at in 0..500 {
                let name = format!("Person {at}");
                let tags = vec!["new".to_owned(), format!("tag {}", at % 7)];
                tx.create(Person { name, tags, boss: Some(ann.to_ref()) })?;
            }
            Ok(ann.to_ref())
        })
        .unwrap();
    let before = page.head(MAIN).unwrap();
    db.write(|tx| tx.get(ann)?.delete()).unwrap();
    assert_eq!(names(&db).len(), 500);

    // A branch at an old commit is the database as it was, and goes its own way.
    page.create_branch("before", &before).unwrap();
    let old = open(&page, "before");
    assert_eq!(names(&old).len(), 501);
    old.write(|tx| tx.get(ann)?.set_name("Anna")).unwrap();
    assert_eq!(names(&old)[0], "Anna");
    let twice =
        old.write(|tx| tx.create(Person { name: "Anna".into(), ..Person::default() }).map(drop));
    assert!(twice.is_err());
    assert_eq!(names(&db)[0], "Person 0");

    // Every state is consistent.
    for (id, _) in page.log(page.head(MAIN).unwrap()).unwrap().map(|commit| commit.unwrap()) {
        page.create_branch("check", &id).unwrap();
        assert_eq!(findings(&page, "check"), [""; 0], "commit {id}");
        page.remove_branch("check").unwrap();
    }
    assert_eq!(findings(&page, "before"), [""; 0]);

    // All of it is there after it was opened again.
    drop((db, old, page, repository));
    let page = Repository::open(host).unwrap().page("people", PageId::ROOT).unwrap();
    assert_eq!((names(&open(&page, MAIN)).len(), names(&open(&page, "before")).len()), (500, 501));
}

#[test]
fn a_page_has_the_pairs_of_any_other_store() {
    let dir = tempfile::tempdir().unwrap();
    let lmdb = LmdbStore::builder()
        .create(true)
        .durability(Durability::MayLoseEverything)
        .open(dir.path())
        .unwrap();
    let repository = Repository::open_or_create(permazen_kv::memory::MemoryStore::new()).unwrap();
    let page = repository.create_page("people", PageId::ROOT).unwrap();
    let db = Permazen::builder(lmdb.clone()).model::<Person>().build().unwrap();
    db.write(|tx| {
        for at in 0..100 {
            tx.create(Person { name: format!("Person {at}"), ..Person::default() })?;
        }
        Ok(())
    })
    .unwrap();
    let all = KeySpan::new(b"", None);
    let pairs = |read: &dyn KvRead| -> Vec<(Vec<u8>, Vec<u8>)> {
        let pairs = read.scan(all, Direction::Forward).unwrap().map(|pair| pair.unwrap());
        pairs.map(|(key, value)| (key.into_owned(), value.into_owned())).collect()
    };
    let expected = pairs(&lmdb.begin(&TxOptions::reading()).unwrap());
    let target = page.database(MAIN).unwrap();
    let mut tx = target.begin(&TxOptions::writing()).unwrap();
    for (key, value) in &expected {
        permazen_kv::KvWrite::put(&mut *tx, key, value).unwrap();
    }
    permazen_kv::KvTransaction::commit(tx).unwrap();
    assert_eq!(pairs(&page.snapshot(&page.head(MAIN).unwrap()).unwrap()), expected);
    assert_eq!(names(&open(&page, MAIN)).len(), 100);
    assert_eq!(findings(&page, MAIN), [""; 0]);
}

/// One change of objects after the other. The names whose commits were acknowledged.
fn object_script(
    host: impl KvDatabase + 'static,
    told: &mut Vec<Vec<String>>,
) -> Result<(), Box<dyn Error>> {
    let repository = Repository::builder(host).manual_maintenance().open_or_create()?;
    let page = repository.create_page("people", PageId::ROOT)?;
    page.set_retention(Retention::Last(2))?;
    let db = Permazen::builder(page.database(MAIN)?).model::<Person>().build()?;
    let mut names = Vec::new();
    for step in 0..4 {
        let boss = db.write(|tx| {
            let name = format!("Boss {step}");
            let boss = tx.create(Person { name, ..Person::default() })?.to_ref();
            for at in 0..6 {
                let name = format!("Person {step} {at}");
                tx.create(Person { name, tags: vec!["new".into()], boss: Some(boss) })?;
            }
            Ok(boss)
        })?;
        names.extend((0..6).map(|at| format!("Person {step} {at}")));
        names.push(format!("Boss {step}"));
        names.sort();
        told.push(names.clone());
        db.write(|tx| tx.get(boss)?.delete())?;
        names.retain(|name| !name.starts_with("Boss"));
        told.push(names.clone());
        page.collect()?;
    }
    Ok(())
}

/// Whichever operation fails below the page, its objects are sound, and the acknowledged commits
/// are there.
#[test]
fn objects_survive_each_failure_of_the_host() {
    let errors: [(fn() -> KvError, bool); 3] = [
        (|| KvError::Stale("broken".into()), false),
        (|| KvError::OutcomeUnknown("cut".into()), false),
        (|| KvError::OutcomeUnknown("cut".into()), true),
    ];
    let mut all = Vec::new();
    object_script(MemoryStore::new(), &mut all).unwrap();
    for (row, (error, loses)) in (0..).zip(errors) {
        // The outcome of commits alone can be unknown, and few of the operations are commits.
        let distance = faults::distance(if row == 0 { 29 } else { 11 });
        let mut early = 0;
        for n in faults::failing(4 * row, distance) {
            let host = MemoryStore::new();
            let failing = FaultStore::new(host.clone());
            let faults = failing.faults();
            faults.lose_commits(loses);
            faults.fail_from(n, error);
            let mut told = Vec::new();
            let result = object_script(failing, &mut told);
            let what = format!("operation {n}, commits are lost: {loses}");
            let hits = faults.hits();
            let opened = Repository::builder(host).manual_maintenance().open();
            let opened = opened.and_then(|repository| {
                let page = repository.page("people", PageId::ROOT)?;
                Ok((repository, page))
            });
            let (repository, page) = match opened {
                Err(LedgerError::NoRepository { .. } | LedgerError::NoSuch { .. })
                    if told.is_empty() =>
                {
                    early += 1;
                    continue;
                }
                opened => opened.unwrap_or_else(|error| panic!("{what}: {error}")),
            };
            assert_eq!(repository.verify().unwrap().findings, [], "{what}");
            if page.head(MAIN).unwrap() != CommitId::FIRST {
                assert_eq!(findings(&page, MAIN), Vec::<String>::new(), "{what}");
            }
            let (found, last) = (names(&open(&page, MAIN)), told.last().cloned());
            // One step more may have been made than was acknowledged.
            let is_last = found == last.unwrap_or_default();
            assert!(is_last || all.get(told.len()) == Some(&found), "{what}: {found:?}");
            if hits == 0 {
                result.unwrap();
                assert!(n > 300, "{n} operations are too few for this script");
                break;
            }
        }
        assert!(early < 50 / distance + 2, "after {early} failures there was no page to check");
    }
}
