//! Resolvers of merges with values that are lazy, not here, or written in parts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvRead, KvWrite};
use permazen_ledger::{
    CommitId, EntryValue, KeyClass, LastWriterWins, LedgerError, MAIN, MergeFactory, MergePolicy,
    MergeResult, Merged, Merger, Page, PageId, PageSnapshot, Priority, Repository, Resolver,
    Result, Retention, Secret, ValueRef,
};

use super::setting::{assert_clean, bring, copy, noise, value, write};
use super::sources::Remote;

type Decide = dyn Fn(&PageSnapshot, &PageSnapshot, &MergeResult) -> Result<()> + Send + Sync;

/// Decides as a function says: of the left and the right side, and the result.
#[derive(Clone)]
struct Decides {
    decide: Arc<Decide>,
    merger: fn() -> Box<dyn Merger>,
}

impl Resolver for Decides {
    fn resolve(
        &self,
        left: &PageSnapshot,
        right: &PageSnapshot,
        _: &PageSnapshot,
        result: &MergeResult,
    ) -> Result<()> {
        (self.decide)(left, right, result)
    }
}

impl MergeFactory for Decides {
    fn policy(&self, _: &str, _: &PageId) -> MergePolicy {
        MergePolicy::AutomaticWithFallback
    }

    fn resolver(&self, _: &str, _: &PageId) -> Result<Arc<dyn Resolver>> {
        Ok(Arc::new(self.clone()))
    }

    fn merger(&self, _: &str, _: &PageId) -> Box<dyn Merger> {
        (self.merger)()
    }
}

/// A copy of the page, and its repository.
fn here() -> (Repository, Page) {
    let repository = Repository::builder(MemoryStore::new()).exclusive().manual_maintenance();
    let repository = repository.open_or_create().unwrap();
    let page = repository.create_page_with("test", PageId::ROOT, Secret::new([5; 32])).unwrap();
    (repository, page)
}

/// Merges the heads of the page as a function decides.
fn merge(
    (repository, page): &(Repository, Page),
    merger: fn() -> Box<dyn Merger>,
    decide: impl Fn(&PageSnapshot, &PageSnapshot, &MergeResult) -> Result<()> + Send + Sync + 'static,
) -> Result<PageSnapshot> {
    let decides = Decides { decide: Arc::new(decide), merger };
    let _factory = repository.add_merge_factory(Arc::new(decides));
    page.merge_by_policy()?;
    page.snapshot(&page.head(MAIN)?)
}

fn put(page: &Page, branch: &str, key: &[u8], value: &ValueRef) -> CommitId {
    write(page, branch, |tx| tx.put(key, value.as_bytes()).unwrap())
}

/// Makes the head of another branch one of the main branch.
fn show(page: &Page) {
    page.add_head(MAIN, &page.head("other").unwrap()).unwrap();
    page.remove_branch("other").unwrap();
}

#[test]
fn a_resolver_is_told_of_priorities_and_of_values_that_are_not_here() {
    let there = copy();
    let [first, second, third] = [1, 2, 3].map(|seed| value(&there, &noise(5_000, seed)));
    put(&there, MAIN, b"film", &first.lazy());
    let base = write(&there, MAIN, |tx| tx.put(b"title", b"same").unwrap());
    there.create_branch("other", &base).unwrap();
    // One entry has other values on both sides, of the other one only the priority differs.
    put(&there, MAIN, b"film", &second.lazy());
    put(&there, "other", b"film", &third.lazy());
    let title = value(&there, b"title");
    put(&there, MAIN, b"title", &title.lazy());
    put(&there, "other", b"title", &title);
    let here = here();
    let page = &here.1;
    page.remote().attach().unwrap();
    page.set_source(Remote::of(&there), Duration::from_secs(60));
    let mut receiver = page.remote().receive();
    for branch in [MAIN, "other"] {
        let head = there.head(branch).unwrap();
        bring(&there, &mut receiver, &head);
        receiver.add_head(MAIN, &head).unwrap();
    }

    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    let merged = merge(
        &here,
        || Box::new(LastWriterWins),
        move |left, right, result| {
            for changes in [result.changes(b"")?, result.conflicts(b"")?] {
                seen.lock().unwrap().push(changes.collect::<Result<Vec<_>>>()?);
            }
            // Reading asks no source, fetching does.
            let error = LedgerError::from(right.get(b"film").unwrap_err());
            assert!(matches!(error, LedgerError::NeedsFetch { .. }), "{error}");
            assert_eq!(left.fetch(b"film")?.map(|film| film.len()), Some(5_000));
            result.set(b"film", Merged::Older)?;
            result.set(b"title", Merged::NewLazy(b"decided"))?;
            result.done()
        },
    );
    let merged = merged.unwrap();
    let told = told.lock().unwrap();
    let [changes, conflicts] = &told[..] else { panic!("{told:?}") };
    assert_eq!(changes, conflicts);
    let [film, title] = &conflicts[..] else { panic!("{conflicts:?}") };
    let of = |side: &Option<EntryValue>| {
        let EntryValue { priority, len, bytes, .. } = side.clone().unwrap();
        (priority, len, bytes)
    };
    for side in [&film.base, &film.newer, &film.older] {
        assert_eq!(of(side), (Priority::Lazy, 5_000, None));
    }
    let digests = [&film.base, &film.newer, &film.older].map(|side| side.clone().unwrap().digest);
    assert!(digests[0] != digests[1] && digests[1] != digests[2]);
    let bytes = Some(b"title".to_vec());
    assert_eq!(of(&title.base), (Priority::Eager, 4, Some(b"same".to_vec())));
    let sides = [of(&title.newer), of(&title.older)];
    assert!(sides.contains(&(Priority::Lazy, 5, bytes.clone())), "{sides:?}");
    assert!(sides.contains(&(Priority::Eager, 5, bytes)), "{sides:?}");
    assert_eq!(merged.get(b"title").unwrap().as_deref(), Some(&b"decided"[..]));
    assert_eq!(merged.priority(b"title").unwrap(), Some(Priority::Lazy));
    assert!(!merged.has(b"film").unwrap());
    assert_clean(page);
}

/// Writes how many entries there are.
struct Counting;

impl Merger for Counting {
    fn class(&self, key: &[u8]) -> KeyClass {
        if key == b"count" { KeyClass::Derived } else { KeyClass::Value }
    }

    fn has_derived(&self) -> bool {
        true
    }

    fn finish(&mut self, merged: &mut dyn KvWrite) -> Result<()> {
        // The decisions can be read.
        let mut len = 0;
        for pair in merged.scan(permazen_kv::KeySpan::FULL, permazen_kv::Direction::Forward)? {
            len += pair?.1.len();
        }
        Ok(merged.put(b"count", &len.to_be_bytes())?)
    }
}

#[test]
fn a_resolver_gives_values_of_any_kind() {
    for (merger, has_derived) in [
        ((|| Box::new(LastWriterWins) as Box<dyn Merger>) as fn() -> _, false),
        (|| Box::new(Counting), true),
    ] {
        let here = here();
        let page = here.1.clone();
        let base = write(&page, MAIN, |tx| tx.put(b"key", b"base").unwrap());
        page.create_branch("other", &base).unwrap();
        write(&page, MAIN, |tx| tx.put(b"key", b"1").unwrap());
        write(&page, "other", |tx| tx.put(b"key", b"2").unwrap());
        show(&page);
        let (bytes, parts) = (noise(9_000, 1), noise(300_000, 2));
        let stream = value(&page, &parts);
        let (long, of_stream) = (bytes.clone(), stream.clone());
        let merged = merge(&here, merger, move |_, _, result| {
            for (key, becomes) in [
                ("eager", Merged::New(b"short")),
                ("lazy", Merged::NewLazy(b"short")),
                ("long", Merged::New(&long)),
                ("long and lazy", Merged::NewLazy(&long)),
                ("parts", Merged::New(of_stream.as_bytes())),
                ("parts 2", Merged::New(of_stream.lazy().as_bytes())),
                ("parts 3", Merged::NewLazy(of_stream.as_bytes())),
            ] {
                result.set(key.as_bytes(), becomes)?;
            }
            result.set(b"key", Merged::Delete)?;
            result.done()
        });
        let merged = merged.unwrap();
        let priority = |key: &str| merged.priority(key.as_bytes()).unwrap().unwrap();
        for key in ["eager", "long", "parts"] {
            assert_eq!(priority(key), Priority::Eager, "{key}");
        }
        for key in ["lazy", "long and lazy", "parts 2", "parts 3"] {
            assert_eq!(priority(key), Priority::Lazy, "{key}");
        }
        for key in ["parts", "parts 2", "parts 3"] {
            assert!(merged.get(key.as_bytes()).unwrap().unwrap() == parts);
        }
        for key in ["long", "long and lazy"] {
            assert!(merged.get(key.as_bytes()).unwrap().unwrap() == bytes);
        }
        let len = 2 * 5 + 2 * 9_000 + 3 * 300_000_u64;
        let count = merged.get(b"count").unwrap().map(|count| count.into_owned());
        assert_eq!(count, has_derived.then(|| len.to_be_bytes().to_vec()));
        // It is as if a transaction had put all of it.
        let root = merged.root();
        let other = copy();
        let stream = value(&other, &parts);
        let lazy = |bytes: &[u8]| value(&other, bytes).lazy();
        let (short, long) = (lazy(b"short"), lazy(&bytes));
        let head = write(&other, MAIN, |tx| {
            for (key, value) in [
                ("eager", &b"short"[..]),
                ("lazy", short.as_bytes()),
                ("long", &bytes),
                ("long and lazy", long.as_bytes()),
                ("parts", stream.as_bytes()),
                ("parts 2", stream.lazy().as_bytes()),
                ("parts 3", stream.lazy().as_bytes()),
            ] {
                tx.put(key.as_bytes(), value).unwrap();
            }
            if has_derived {
                tx.put(b"count", &len.to_be_bytes()).unwrap();
            }
        });
        assert_eq!(other.snapshot(&head).unwrap().root(), root);
        // Nothing is left over.
        assert_clean(&page);
        drop(merged);
        page.set_retention(Retention::Heads).unwrap();
        page.collect().unwrap();
        let verification = page.verify().unwrap();
        assert!(verification.is_clean(), "{:?}", verification.findings);
        assert_eq!(verification.unreachable_pieces, 0);
        assert!(page.snapshot(&page.head(MAIN).unwrap()).unwrap().get(b"parts").unwrap().is_some());
    }
}

#[test]
fn references_that_cannot_be_end_the_merge() {
    let elsewhere = copy();
    let foreign = value(&elsewhere, &noise(1_000, 1));
    for cut in [false, true] {
        let here = here();
        let page = here.1.clone();
        let base = write(&page, MAIN, |tx| tx.put(b"key", b"base").unwrap());
        page.create_branch("other", &base).unwrap();
        write(&page, MAIN, |tx| tx.put(b"key", b"1").unwrap());
        write(&page, "other", |tx| tx.put(b"key", b"2").unwrap());
        show(&page);
        let before = page.heads(MAIN).unwrap();
        let bytes = foreign.as_bytes()[..if cut { 39 } else { 40 }].to_vec();
        let error = merge(
            &here,
            || Box::new(LastWriterWins),
            move |_, _, result| {
                let error = result.set(b"key", Merged::New(&bytes)).unwrap_err();
                match cut {
                    false => assert!(matches!(error, LedgerError::WrongPage { .. }), "{error}"),
                    true => assert!(matches!(error, LedgerError::InvalidArgument(_)), "{error}"),
                }
                let error = result.done().unwrap_err();
                assert!(matches!(error, LedgerError::MergeEnded { .. }), "{error}");
                Ok(())
            },
        );
        let error = error.unwrap_err();
        assert!(matches!(error, LedgerError::InvalidArgument(_)), "{error}");
        assert_eq!(page.heads(MAIN).unwrap(), before);
        assert_clean(&page);
    }
}

/// Replaces the merged entries.
struct Replacing;

impl Merger for Replacing {
    fn has_derived(&self) -> bool {
        true
    }

    fn finish(&mut self, merged: &mut dyn KvWrite) -> Result<()> {
        assert!(merged.get(b"film")?.is_some());
        merged.put(b"film", b"none")?;
        merged.remove(b"key")?;
        (0..500_u32).try_for_each(|n| merged.put(&n.to_be_bytes(), &[7; 30]))?;
        Ok(())
    }
}

#[test]
fn what_the_merger_replaces_at_the_end_is_not_stored() {
    let here = here();
    let page = here.1.clone();
    let base = write(&page, MAIN, |tx| {
        (0..500_u32).for_each(|n| tx.put(&n.to_be_bytes(), &[1; 30]).unwrap());
    });
    page.create_branch("other", &base).unwrap();
    write(&page, MAIN, |tx| tx.put(b"key", b"1").unwrap());
    write(&page, "other", |tx| {
        (0..250_u32).for_each(|n| tx.put(&n.to_be_bytes(), &[2; 30]).unwrap());
        tx.put(b"key", b"2").unwrap();
    });
    show(&page);
    let film = value(&page, &noise(100_000, 1));
    let bytes = noise(80_000, 2);
    let merged = merge(
        &here,
        || Box::new(Replacing),
        move |_, _, result| {
            result.take_rest()?;
            result.set(b"film", Merged::New(film.as_bytes()))?;
            result.set(b"key", Merged::New(&bytes))?;
            result.done()
        },
    );
    assert_eq!(merged.unwrap().get(b"film").unwrap().as_deref(), Some(&b"none"[..]));
    // The value that was written in parts was not put; it goes once there is no reference to it.
    let verification = page.verify().unwrap();
    assert!(verification.is_clean(), "{:?}", verification.findings);
    let streamed = page.verify().unwrap().unreachable_bytes;
    assert!((100_000..110_000).contains(&streamed), "{streamed}");
}

/// Reads the value of a key at the end of a merge.
struct ReadsAtEnd(&'static [u8]);

impl Merger for ReadsAtEnd {
    fn needs_values(&self) -> bool {
        false
    }

    fn has_derived(&self) -> bool {
        true
    }

    fn finish(&mut self, merged: &mut dyn KvWrite) -> Result<()> {
        let len = merged.get(self.0)?.map_or(0, |value| value.len());
        Ok(merged.put(b"len", &len.to_be_bytes())?)
    }
}

#[test]
fn a_merger_with_derived_entries_needs_the_values_that_it_reads() {
    let there = copy();
    let base = write(&there, MAIN, |tx| tx.put(b"key", b"1").unwrap());
    there.create_branch("other", &base).unwrap();
    put(&there, MAIN, b"older film", &value(&there, &noise(5_000, 1)).lazy());
    put(&there, "other", b"newer film", &value(&there, &noise(6_000, 2)).lazy());
    let heads = [MAIN, "other"].map(|branch| there.head(branch).unwrap());
    let (_repository, page) = here();
    page.remote().attach().unwrap();
    page.set_source(Remote::of(&there), Duration::from_secs(60));
    let mut receiver = page.remote().receive();
    heads.iter().for_each(|head| bring(&there, &mut receiver, head));
    for (name, key, head, len) in
        [("a", &b"older film"[..], heads[0], 5_000_u64), ("b", b"newer film", heads[1], 6_000)]
    {
        page.create_branch(name, &heads[0]).unwrap();
        let merge = || page.merge(name, &heads[1], &mut ReadsAtEnd(key));
        let error = merge().unwrap_err();
        match error {
            LedgerError::NeedsFetch { commit, key: of, .. } => {
                assert_eq!((commit, &*of), (head, key));
            }
            other => panic!("{other}"),
        }
        assert_eq!(page.head(name).unwrap(), heads[0]);
        page.snapshot(&head).unwrap().fetch(key).unwrap().unwrap();
        let merged = page.snapshot(&merge().unwrap()).unwrap();
        assert_eq!(merged.get(b"len").unwrap().as_deref(), Some(&len.to_be_bytes()[..]));
        assert_eq!(merged.priority(b"older film").unwrap(), Some(Priority::Lazy));
    }
    // Values that it does not read need not be here.
    let (_repository, page) = here();
    page.remote().attach().unwrap();
    let mut receiver = page.remote().receive();
    heads.iter().for_each(|head| bring(&there, &mut receiver, head));
    page.create_branch("c", &heads[0]).unwrap();
    let merge = page.merge("c", &heads[1], &mut ReadsAtEnd(b"key")).unwrap();
    let merged = page.snapshot(&merge).unwrap();
    assert!(!merged.has(b"older film").unwrap() && !merged.has(b"newer film").unwrap());
    assert_clean(&page);
}
