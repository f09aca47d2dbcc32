//! Merges of object databases whose sides have recorded other schemas, and repositories that are
//! taken for object databases.

use std::sync::Arc;

use permazen::__internal::layout::TABLES_SPAN;
use permazen::object::Error as ObjectError;
use permazen::{ObjId, Permazen, PermazenObject, Ref};
use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, TxOptions};
use permazen_ledger::{
    LastWriterWins, LedgerError, MAIN, MergeFactory, MergePolicy, Merger, Page, PageId, Repository,
    WholeRanges,
};

use crate::support::page::pairs;

#[derive(PermazenObject, Debug, Default)]
struct Note {
    #[permazen(indexed)]
    title: String,
}

#[derive(PermazenObject, Debug, Default)]
struct Tag {
    #[permazen(indexed)]
    name: String,
}

#[derive(PermazenObject, Debug, Default)]
struct Alarm {
    #[permazen(indexed)]
    at: i64,
}

fn notes(page: &Page, branch: &str) -> Permazen {
    Permazen::builder(page.database(branch).unwrap()).model::<Note>().build().unwrap()
}

fn tags(page: &Page, branch: &str) -> Permazen {
    let builder = Permazen::builder(page.database(branch).unwrap()).model::<Note>();
    builder.model::<Tag>().build().unwrap()
}

fn alarms(page: &Page, branch: &str) -> Permazen {
    let builder = Permazen::builder(page.database(branch).unwrap()).model::<Note>();
    builder.model::<Alarm>().build().unwrap()
}

fn both(page: &Page, branch: &str) -> Permazen {
    let builder = Permazen::builder(page.database(branch).unwrap()).model::<Note>();
    builder.model::<Tag>().model::<Alarm>().build().unwrap()
}

/// A page with a note on two branches.
fn two_branches() -> Page {
    let repository =
        Repository::builder(MemoryStore::new()).manual_maintenance().open_or_create().unwrap();
    let page = repository.create_page("notes", PageId::ROOT).unwrap();
    let create = |tx: &permazen::Tx| tx.create(Note { title: "first".into() }).map(drop);
    notes(&page, MAIN).write(create).unwrap();
    page.create_branch("phone", &page.head(MAIN).unwrap()).unwrap();
    page
}

fn merger() -> impl Merger {
    WholeRanges::new(LastWriterWins, &[TABLES_SPAN], "record a new schema on one side first")
}

/// Neither branch changes, and the error says why.
fn assert_refused(page: &Page) {
    let heads = page.branches().unwrap();
    for (to, from) in [(MAIN, "phone"), ("phone", MAIN)] {
        let from = page.head(from).unwrap();
        let error = page.merge(to, &from, &mut merger()).unwrap_err();
        let LedgerError::CannotMerge { commits, key, .. } = &error else { panic!("{error}") };
        assert!(commits.contains(&from) && key.starts_with(&[0, 1]), "{error}");
        assert!(error.to_string().ends_with("record a new schema on one side first"), "{error}");
        assert!(!error.is_retryable());
    }
    assert_eq!(page.branches().unwrap(), heads);
}

fn assert_clean(page: &Page, objects: u64) {
    let db = page.database(MAIN).unwrap();
    let (mut text, options) = (Vec::new(), permazen_jsck::Options::default());
    let mut note = |found: &permazen_jsck::Finding| text.push(found.to_string());
    let report = permazen_jsck::check_database(&db, &options, &mut note, &mut |_| {}).unwrap();
    assert!(report.is_clean(), "{text:?}");
    assert_eq!(report.objects, objects);
}

#[test]
fn two_new_schemas_with_one_number_are_not_mixed() {
    let page = two_branches();
    tags(&page, MAIN).write(|tx| tx.create(Tag { name: "red".into() }).map(drop)).unwrap();
    alarms(&page, "phone").write(|tx| tx.create(Alarm { at: 1 }).map(drop)).unwrap();
    assert_refused(&page);
    // This is the reason for the refusal: a merge without the rule loses a schema that objects
    // have.
    page.merge(MAIN, &page.head("phone").unwrap(), &mut LastWriterWins).unwrap();
    let db = page.database(MAIN).unwrap();
    let options = permazen_jsck::Options::default();
    let report = permazen_jsck::check_database(&db, &options, &mut |_| {}, &mut |_| {}).unwrap();
    assert!(!report.is_clean());
}

#[test]
fn one_schema_with_two_numbers_is_not_mixed() {
    let page = two_branches();
    tags(&page, MAIN).write(|tx| tx.create(Tag { name: "red".into() }).map(drop)).unwrap();
    both(&page, MAIN).write(|tx| tx.create(Alarm { at: 1 }).map(drop)).unwrap();
    both(&page, "phone").write(|tx| tx.create(Alarm { at: 2 }).map(drop)).unwrap();
    assert_refused(&page);
}

#[test]
fn a_schema_that_one_side_has_alone_is_merged() {
    let page = two_branches();
    tags(&page, MAIN).write(|tx| tx.create(Tag { name: "red".into() }).map(drop)).unwrap();
    let more = |tx: &permazen::Tx| tx.create(Note { title: "more".into() }).map(drop);
    notes(&page, "phone").write(more).unwrap();
    page.merge(MAIN, &page.head("phone").unwrap(), &mut merger()).unwrap();
    assert_clean(&page, 3);
    // The same schema on both sides, and one that only one of them has.
    tags(&page, "phone").write(|tx| tx.create(Tag { name: "blue".into() }).map(drop)).unwrap();
    both(&page, MAIN).write(|tx| tx.create(Alarm { at: 1 }).map(drop)).unwrap();
    page.merge(MAIN, &page.head("phone").unwrap(), &mut merger()).unwrap();
    assert_clean(&page, 5);
    assert_eq!(both(&page, MAIN).read(|tx| tx.all::<Tag>()?.count()).unwrap(), 2);
}

#[derive(PermazenObject, Debug, Default)]
struct File {
    #[permazen(inverse_delete = "delete")]
    within: Option<Ref<File>>,
    /// Forbids that the other one goes, unless this one goes too.
    about: Option<Ref<File>>,
}

/// One side changes the files, and the other side forbids a deletion: the merged objects are judged
/// together, whatever IDs they have.
#[test]
fn a_merged_page_judges_deletions_by_what_is_left() {
    let files = |page: &Page, branch: &str| {
        Permazen::builder(page.database(branch).unwrap()).model::<File>().build().unwrap()
    };
    for order in 0..24_usize {
        let (mut numbers, mut rest) = (vec![1, 2, 3, 4], order);
        let numbers: Vec<u8> = (1..=4)
            .rev()
            .map(|left| {
                let at = rest % left;
                rest /= left;
                numbers.remove(at)
            })
            .collect();
        let repository =
            Repository::builder(MemoryStore::new()).manual_maintenance().open_or_create().unwrap();
        let page = repository.create_page("files", PageId::ROOT).unwrap();
        let ids = files(&page, MAIN)
            .write(|tx| {
                let mut ids = Vec::new();
                for number in &numbers {
                    let mut bytes = *tx.core().generate_id("File")?.as_bytes();
                    bytes[1..].copy_from_slice(&[0, 0, 0, 0, 0, 0, *number]);
                    let id = ObjId::from_bytes(bytes)?;
                    ids.push(tx.create_with_id(id, File::default())?.unwrap().to_ref());
                }
                Ok(ids)
            })
            .unwrap();
        let [root, one, two, stays] = ids[..] else { panic!("{ids:?}") };
        for name in ["phone", "strict"] {
            page.create_branch(name, &page.head(MAIN).unwrap()).unwrap();
        }
        // Two files go with the root; elsewhere they forbid that each other and the root go.
        let goes = |tx: &permazen::Tx| {
            tx.get(one)?.set_within(Some(root))?;
            tx.get(two)?.set_within(Some(one))
        };
        files(&page, MAIN).write(goes).unwrap();
        let forbids = |tx: &permazen::Tx| {
            tx.get(one)?.set_about(Some(two))?;
            tx.get(two)?.set_about(Some(root))
        };
        let phone = files(&page, "phone");
        phone.write(forbids).unwrap();
        assert!(phone.write(|tx| tx.get(root)?.delete()).is_err());
        // And one that is left forbids that one of them goes.
        files(&page, "strict").write(|tx| tx.get(stays)?.set_about(Some(two))).unwrap();
        let left = |branch: &str| -> Vec<bool> {
            let left = |tx: &permazen::Tx| ids.iter().map(|id| tx.get(*id)?.exists()).collect();
            files(&page, branch).read(left).unwrap()
        };
        page.merge("strict", &page.head(MAIN).unwrap(), &mut merger()).unwrap();
        page.merge("strict", &page.head("phone").unwrap(), &mut merger()).unwrap();
        let refused = files(&page, "strict").write(|tx| tx.get(root)?.delete()).unwrap_err();
        let permazen::Error::Object(ObjectError::ReferencedObject { id, referrer, .. }) = refused
        else {
            panic!("{numbers:?}: {refused:?}")
        };
        assert_eq!((id, referrer), (two.id(), stays.id()), "{numbers:?}");
        assert_eq!(left("strict"), [true; 4]);
        page.merge(MAIN, &page.head("phone").unwrap(), &mut merger()).unwrap();
        assert!(files(&page, MAIN).write(|tx| tx.get(root)?.delete()).unwrap(), "{numbers:?}");
        assert_eq!(left(MAIN), [false, false, false, true], "{numbers:?}");
        assert_clean(&page, 1);
    }
}

struct Factory(MergePolicy);

impl MergeFactory for Factory {
    fn policy(&self, _: &str, _: &PageId) -> MergePolicy {
        self.0
    }

    fn merger(&self, _: &str, _: &PageId) -> Box<dyn Merger> {
        Box::new(merger())
    }
}

#[test]
fn no_policy_mixes_schemas() {
    let policies = [MergePolicy::LastWriterWins, MergePolicy::Merger];
    for policy in policies.into_iter().chain([MergePolicy::AutomaticWithFallback]) {
        let repository =
            Repository::builder(MemoryStore::new()).manual_maintenance().open_or_create().unwrap();
        let _registered = repository.add_merge_factory(Arc::new(Factory(policy)));
        let page = repository.create_page("notes", PageId::ROOT).unwrap();
        let create = |tx: &permazen::Tx| tx.create(Note { title: "first".into() }).map(drop);
        notes(&page, MAIN).write(create).unwrap();
        page.create_branch("phone", &page.head(MAIN).unwrap()).unwrap();
        tags(&page, MAIN).write(|tx| tx.create(Tag::default()).map(drop)).unwrap();
        alarms(&page, "phone").write(|tx| tx.create(Alarm::default()).map(drop)).unwrap();
        page.add_head(MAIN, &page.head("phone").unwrap()).unwrap();
        let error = page.merge_by_policy().unwrap_err();
        let is_refused = matches!(error, LedgerError::CannotMerge { .. });
        // A resolver that there is not is asked for before.
        assert!(is_refused || matches!(error, LedgerError::Resolver { .. }), "{error}");
        assert_eq!(is_refused, policy != MergePolicy::AutomaticWithFallback);
        assert_eq!(page.heads(MAIN).unwrap().len(), 2);
    }
}

#[test]
fn a_repository_is_not_taken_for_an_object_database() {
    let store = MemoryStore::new();
    let repository =
        Repository::builder(store.clone()).manual_maintenance().open_or_create().unwrap();
    let page = repository.create_page("notes", PageId::ROOT).unwrap();
    notes(&page, MAIN).write(|tx| tx.create(Note::default()).map(drop)).unwrap();
    let before = pairs(&store.snapshot());

    let mut options = permazen_jsck::Options::default();
    options.format_version = Some(1);
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    let repaired =
        permazen_jsck::repair(&mut *tx, &options, &mut |_| {}, &mut |_| {}, &mut |_| Ok(()));
    assert!(matches!(repaired, Err(permazen_jsck::Error::Ledger)), "{repaired:?}");
    tx.commit().unwrap();
    for options in [options, permazen_jsck::Options::default()] {
        let tx = store.begin(&TxOptions::reading()).unwrap();
        let checked = permazen_jsck::check(&*tx, &options, &mut |_| {});
        assert!(matches!(checked, Err(permazen_jsck::Error::Ledger)), "{checked:?}");
    }

    let opened = Permazen::builder(store.clone()).model::<Note>().build();
    let text = opened.unwrap_err().to_string();
    assert!(text.contains("repository of permazen-ledger"), "{text}");
    assert_eq!(pairs(&store.snapshot()), before);
}
