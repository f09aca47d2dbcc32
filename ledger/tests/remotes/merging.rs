//! Merges of commits some of whose values are not here, or are lazy.

use std::sync::Arc;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions};
use permazen_ledger::{
    CommitId, Conflict, KeyClass, Kind, LastWriterWins, LedgerError, MAIN, Merger, Page, PageId,
    Priority, Repository, Resolution, Result, Retention, Secret, Status,
};

use super::setting::{
    assert_clean, attached, bring, copy, copy_in, follow, noise, put_lazy, value, write,
};
use crate::support::page::OlderWins;

/// Looks at both values.
struct Longer;

impl Merger for Longer {
    fn resolve(&mut self, conflict: &Conflict<'_>) -> Result<Resolution> {
        let len = |value: Option<&[u8]>| value.map_or(0, <[u8]>::len);
        match len(conflict.older) > len(conflict.newer) {
            true => Ok(Resolution::Older),
            false => Ok(Resolution::Newer),
        }
    }
}

fn put_lazy_on(page: &Page, branch: &str, key: &[u8], bytes: &[u8]) {
    let value = value(page, bytes);
    write(page, branch, |tx| tx.put(key, value.lazy().as_bytes()).unwrap());
}

#[test]
fn heads_that_need_what_is_not_here_delay_no_others() {
    let (there, here) = (copy(), attached(Arc::new(MemoryStore::new())));
    let base = put_lazy(&there, b"film", &noise(5_000, 1));
    follow(&there, &here);
    for (branch, key, seed) in [("a", "film", 2), ("b", "film", 3), ("c", "other", 4)] {
        there.create_branch(branch, &base).unwrap();
        put_lazy_on(&there, branch, key.as_bytes(), &noise(5_000, seed));
        let head = there.head(branch).unwrap();
        let mut receiver = here.remote().receive();
        bring(&there, &mut receiver, &head);
        receiver.add_head(MAIN, &head).unwrap();
    }
    assert_eq!(here.heads(MAIN).unwrap().len(), 3);
    let error = here.merge_heads(MAIN, &mut Longer).unwrap_err();
    assert!(matches!(error, LedgerError::NeedsFetch { .. }), "{error}");
    // The third one was merged with the first.
    assert_eq!(here.heads(MAIN).unwrap().len(), 2);
    assert_clean(&here);
    here.merge_heads(MAIN, &mut LastWriterWins).unwrap();
}

/// Counts the entries that begin with "film" under the key "films".
struct Counting;

impl Merger for Counting {
    fn class(&self, key: &[u8]) -> KeyClass {
        match key {
            b"films" => KeyClass::Derived,
            b"views" => KeyClass::Counter,
            _ => KeyClass::Value,
        }
    }

    fn has_derived(&self) -> bool {
        true
    }

    fn finish(&mut self, merged: &mut dyn KvWrite) -> Result<()> {
        assert_eq!(merged.get(b"film 1")?.map(|film| film.len()), Some(5_000));
        merged.put(b"film 3", b"made anew")?;
        Ok(merged.put(b"films", b"3")?)
    }
}

#[test]
fn what_is_lazy_stays_lazy_in_a_merge_with_derived_entries() {
    let page = copy();
    let base = write(&page, MAIN, |tx| tx.put(b"films", b"0").unwrap());
    page.create_branch("other", &base).unwrap();
    // The older side.
    for (key, bytes) in
        [("film 1", &noise(5_000, 1)[..]), ("film 2", b"short"), ("film 3", &noise(900, 2))]
    {
        put_lazy(&page, key.as_bytes(), bytes);
    }
    put_lazy_on(&page, "other", b"film 4", &noise(5_000, 3));
    let merge = page.merge(MAIN, &page.head("other").unwrap(), &mut Counting).unwrap();
    let snapshot = page.snapshot(&merge).unwrap();
    let priority = |key: &str| snapshot.priority(key.as_bytes()).unwrap().unwrap();
    for key in ["film 1", "film 2", "film 4"] {
        assert_eq!(priority(key), Priority::Lazy, "{key}");
    }
    // A value that is put is eager.
    assert_eq!((priority("film 3"), priority("films")), (Priority::Eager, Priority::Eager));
    assert_eq!(snapshot.get(b"film 1").unwrap().as_deref(), Some(&noise(5_000, 1)[..]));
    assert_clean(&page);
}

#[test]
fn lazy_counters_are_added_up() {
    struct Views;
    impl Merger for Views {
        fn class(&self, key: &[u8]) -> KeyClass {
            if key == b"views" { KeyClass::Counter } else { KeyClass::Value }
        }
    }
    for (mut merger, derived) in
        [(Box::new(Views) as Box<dyn Merger>, false), (Box::new(Counting), true)]
    {
        let page = copy();
        put_lazy(&page, b"film 1", &noise(5_000, 1));
        let base = put_lazy(&page, b"views", &10_i64.to_be_bytes());
        page.create_branch("lazy", &base).unwrap();
        page.create_branch("eager", &base).unwrap();
        put_lazy(&page, b"views", &15_i64.to_be_bytes());
        put_lazy_on(&page, "lazy", b"views", &12_i64.to_be_bytes());
        write(&page, "eager", |tx| tx.adjust_counter(b"views", 4).unwrap());
        for (branch, sum, priority) in
            [("lazy", 17_i64, Priority::Lazy), ("eager", 21, Priority::Eager)]
        {
            let merge = page.merge(MAIN, &page.head(branch).unwrap(), &mut *merger).unwrap();
            let snapshot = page.snapshot(&merge).unwrap();
            let views = snapshot.get(b"views").unwrap();
            assert_eq!(views.as_deref(), Some(&sum.to_be_bytes()[..]), "{branch}, {derived}");
            assert_eq!(snapshot.priority(b"views").unwrap(), Some(priority), "{branch}, {derived}");
        }
    }
}

#[test]
fn a_merge_that_came_from_the_remote_and_is_made_again_stays_as_it_is() {
    let (there, host) = (copy(), Arc::new(MemoryStore::new()));
    let here = attached(host.clone());
    let base = write(&there, MAIN, |tx| tx.put(b"base", &noise(3_000, 1)).unwrap());
    there.create_branch("other", &base).unwrap();
    let ours = write(&there, MAIN, |tx| tx.put(b"ours", &noise(3_000, 2)).unwrap());
    let other = write(&there, "other", |tx| tx.put(b"other", &noise(3_000, 3)).unwrap());
    let merge = there.merge(MAIN, &other, &mut LastWriterWins).unwrap();
    write(&there, MAIN, |tx| tx.put(b"last", b"").unwrap());
    let head = follow(&there, &here);
    let row = || {
        let tx = host.begin(&TxOptions::reading()).unwrap();
        tx.get(&[&[0x10, 1, 0x22][..], &merge.0.0].concat()).unwrap().unwrap().into_owned()
    };
    let before = row();
    here.create_branch("ours", &ours).unwrap();
    assert_eq!(here.merge("ours", &other, &mut LastWriterWins).unwrap(), merge);
    assert_eq!(here.head("ours").unwrap(), merge);
    assert_eq!(here.commit_status(&merge).unwrap(), Status::Synced);
    assert_eq!(row(), before);
    assert!(here.remote().unsynced_commits().unwrap().is_empty());
    // The commits after it are at the remote too.
    write(&there, MAIN, |tx| tx.put(b"last", b"1").unwrap());
    let last = follow(&there, &here);
    assert_ne!(last, head);
    assert_eq!(here.commit_status(&last).unwrap(), Status::Synced);
    assert_clean(&here);
}

/// Two branches of which each merges the former head of the other, again and again.
struct Ladder<'p> {
    page: &'p Page,
    former: [CommitId; 2],
    rungs: u32,
}

const BOTH: [&str; 2] = ["left", "right"];

impl<'p> Ladder<'p> {
    fn new(page: &'p Page) -> Self {
        let base = write(page, MAIN, |tx| tx.put(b"base", b"").unwrap());
        let former = BOTH.map(|branch| {
            page.create_branch(branch, &base).unwrap();
            write(page, branch, |tx| tx.put(branch.as_bytes(), b"").unwrap())
        });
        page.remove_branch(MAIN).unwrap();
        Ladder { page, former, rungs: 0 }
    }

    fn climb(&mut self) {
        self.rungs += 1;
        for (at, branch) in BOTH.into_iter().enumerate() {
            let rung = self.rungs.to_be_bytes();
            write(self.page, branch, |tx| tx.put(branch.as_bytes(), &rung).unwrap());
            self.page.merge(branch, &self.former[1 - at], &mut LastWriterWins).unwrap();
        }
        self.former = BOTH.map(|branch| self.page.head(branch).unwrap());
    }
}

#[test]
fn what_was_merged_as_a_base_is_not_merged_again() {
    let host = Arc::new(MemoryStore::new());
    let page = copy_in(host);
    let mut ladder = Ladder::new(&page);
    let mut commits = 0;
    for rung in 0..20 {
        ladder.climb();
        let before = page.verify().unwrap().commits;
        page.collect().unwrap();
        let verification = page.verify().unwrap();
        assert!(verification.is_clean(), "{:?}", verification.findings);
        let more = before - commits;
        // A change and a merge of each side, and one base, which is kept.
        assert!(rung < 2 || more == 5, "{more} commits of rung {rung}");
        assert_eq!(verification.commits, before);
        commits = before;
    }
    // Commits that branches can no longer have in common are removed.
    page.remove_branch("right").unwrap();
    page.set_retention(Retention::Heads).unwrap();
    page.collect().unwrap();
    assert_eq!(page.verify().unwrap().commits, 1);
}

#[test]
fn a_merge_that_was_taken_back_is_not_kept_as_a_base() {
    let page = copy();
    let base = write(&page, MAIN, |tx| tx.put(b"base", b"").unwrap());
    page.create_branch("other", &base).unwrap();
    let ours = write(&page, MAIN, |tx| tx.put(b"ours", b"").unwrap());
    let other = write(&page, "other", |tx| tx.put(b"other", b"").unwrap());
    let merge = page.merge(MAIN, &other, &mut LastWriterWins).unwrap();
    page.reset(MAIN, &ours).unwrap();
    page.collect().unwrap();
    assert!(matches!(page.commit(&merge), Err(LedgerError::NoCommit { .. })));
    assert_clean(&page);
}

#[test]
fn bases_do_not_hold_up_an_eviction() {
    let there = copy();
    let mut ladder = Ladder::new(&there);
    (0..3).for_each(|_| ladder.climb());
    let host: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
    let repository =
        Repository::shared_builder(host).exclusive().manual_maintenance().open_or_create().unwrap();
    let here = repository.create_page_with("test", PageId::ROOT, Secret::new([5; 32])).unwrap();
    here.remote().attach().unwrap();
    let mut receiver = here.remote().receive();
    for branch in BOTH {
        let head = there.head(branch).unwrap();
        bring(&there, &mut receiver, &head);
        receiver.add_head(MAIN, &head).unwrap();
    }
    drop(receiver);
    let received = here.verify().unwrap().commits;
    here.merge_heads(MAIN, &mut LastWriterWins).unwrap();
    here.collect().unwrap();
    assert!(here.verify().unwrap().commits > received + 1, "bases are kept");
    // The merge is brought to the remote, the bases are not.
    let remote = here.remote();
    let commits: Vec<_> = remote.unsynced_commits().unwrap().iter().map(|it| it.id).collect();
    assert_eq!(commits, [here.head(MAIN).unwrap()]);
    let pieces: Vec<_> =
        remote.local_pieces(None, 1_000).unwrap().iter().map(|it| it.digest).collect();
    remote.mark_synced(&commits, &pieces, &[]).unwrap();
    assert_clean(&here);
    drop((here, remote));
    repository.maintain().unwrap();
    assert_eq!(repository.eviction_obstacle("test", PageId::ROOT).unwrap(), None);
    assert!(repository.evict("test", PageId::ROOT).unwrap());
}

#[test]
fn a_base_can_need_hundreds_of_others() {
    let there = copy();
    let mut ladder = Ladder::new(&there);
    (0..600).for_each(|_| ladder.climb());
    let here = copy();
    let mut receiver = here.receive();
    for branch in BOTH {
        let head = there.head(branch).unwrap();
        bring(&there, &mut receiver, &head);
        here.create_branch(branch, &head).unwrap();
    }
    // Its bases have not come.
    let other = there.head("right").unwrap();
    let merge = {
        let here = here.clone();
        let merge = move || here.merge("left", &other, &mut LastWriterWins).unwrap();
        std::thread::Builder::new().stack_size(512 << 10).spawn(merge).unwrap().join().unwrap()
    };
    assert_eq!(merge, there.merge("left", &other, &mut LastWriterWins).unwrap());
    assert_clean(&here);
}

#[test]
fn a_merge_that_takes_a_content_unchanged_takes_its_conflicts() {
    let there = copy();
    let base = write(&there, MAIN, |tx| tx.put(b"key", b"base").unwrap());
    there.create_branch("other", &base).unwrap();
    let ours = write(&there, MAIN, |tx| tx.put(b"key", b"ours").unwrap());
    let other = write(&there, "other", |tx| tx.put(b"key", b"other").unwrap());
    let first = there.merge(MAIN, &other, &mut LastWriterWins).unwrap();
    let second = there.merge("other", &ours, &mut OlderWins).unwrap();
    assert_ne!(first, second);
    // A change with a tree of conflicts: nothing here makes one yet.
    let change = write(&there, "other", |tx| tx.put(b"more", b"1").unwrap());
    let conflicts = write(&there, "other", |tx| {
        (0..500_u32).for_each(|n| tx.put(&n.to_be_bytes(), b"conflict").unwrap());
    });
    let conflicts = there.commit(&conflicts).unwrap().unwrap().root;
    let mut bytes = there.remote().commit_bytes(&change).unwrap().unwrap();
    bytes[1] |= 2;
    bytes.splice(50..50, conflicts.0);
    let change = CommitId(Kind::Commit.digest(&bytes));
    for has_references in [false, true] {
        let here = copy();
        here.set_reference_rows(has_references).unwrap();
        let mut receiver = here.receive();
        bring(&there, &mut receiver, &first);
        bring(&there, &mut receiver, &second);
        loop {
            let wanted = receiver.wanted(&bytes).unwrap();
            if wanted.is_empty() {
                break;
            }
            for (kind, digest) in wanted {
                let piece = there.remote().piece_bytes(&digest).unwrap().unwrap();
                receiver.add_piece(kind, piece).unwrap();
            }
        }
        receiver.add_commit(&change, &bytes).unwrap();
        let of = |id: &CommitId| here.commit(id).unwrap().unwrap();
        assert_eq!(of(&change).conflicts, Some(conflicts));
        // The one side has nothing of its own, from whichever side it is merged.
        for (number, (one, other)) in [(&first, &change), (&change, &first)].into_iter().enumerate()
        {
            let branch = number.to_string();
            here.create_branch(&branch, one).unwrap();
            let merge = here.merge(&branch, other, &mut LastWriterWins).unwrap();
            let (merge, change) = (of(&merge), of(&change));
            assert_eq!((merge.root, merge.conflicts), (change.root, Some(conflicts)));
        }
        // A merge of two contents has no conflicts.
        here.create_branch("own", &first).unwrap();
        write(&here, "own", |tx| tx.put(b"own", b"1").unwrap());
        let merge = here.merge("own", &change, &mut LastWriterWins).unwrap();
        assert_eq!(of(&merge).conflicts, None);
        // Each keeps the tree, and the last one that goes lets it go.
        drop(receiver);
        here.remove_branch("1").unwrap();
        here.remove_branch("own").unwrap();
        let squashed = here.squash("0", &CommitId::FIRST, None).unwrap();
        assert_eq!(of(&squashed).conflicts, Some(conflicts));
        here.collect().unwrap();
        assert_clean(&here);
        assert!(here.remote().piece_bytes(&conflicts).unwrap().is_some());
        here.reset("0", &CommitId::FIRST).unwrap();
        here.collect().unwrap();
        assert_clean(&here);
        assert!(here.remote().piece_bytes(&conflicts).unwrap().is_none());
    }
}
