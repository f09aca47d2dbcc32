//! Rows 71 to 96: heads, policies and resolvers.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{Capabilities, KvDatabase, KvRead, KvTransaction, KvWrite, TxOptions};
use permazen_ledger::{
    Clock, CommitId, Conflict, EntryValue, LastWriterWins, LedgerError, MAIN, MergeFactory,
    MergeFactoryRegistration, MergePolicy, MergeResult, MergeWait, Merged, Merger, Origin, Page,
    PageId, PageSnapshot, Repository, Resolution, Resolver, Result, Secret,
};

use super::setting::{Map, content};
use crate::support::clock::TestClock;
use crate::support::page::OlderWins;

/// A page whose commits are made by hand.
struct Heads {
    host: MemoryStore,
    repository: Repository,
    page: Page,
    clock: Arc<TestClock>,
    names: AtomicU64,
}

impl Heads {
    fn new() -> Self {
        let (host, clock) = (MemoryStore::new(), TestClock::at(1_000));
        let builder = Repository::builder(host.clone()).manual_maintenance();
        let repository =
            builder.clock(Arc::clone(&clock) as Arc<dyn Clock>).open_or_create().unwrap();
        let secret = Secret::new([1; 32]);
        let page = repository.create_page_with("test", PageId::ROOT, secret).unwrap();
        Heads { host, repository, page, clock, names: AtomicU64::default() }
    }

    /// The page as another process with the same clock has it.
    fn elsewhere(&self) -> Page {
        let builder = Repository::builder(self.host.clone()).manual_maintenance();
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        builder.clock(clock).open_or_create().unwrap().page("test", PageId::ROOT).unwrap()
    }

    fn wait(&self, millis: u64) {
        self.clock.advance(Duration::from_millis(millis));
    }

    /// A branch that begins at a commit.
    fn branch(&self, at: &CommitId) -> String {
        let name = format!("branch {}", self.names.fetch_add(1, Ordering::Relaxed));
        self.page.create_branch(&name, at).unwrap();
        name
    }

    /// A change of a commit, one millisecond later than the last one.
    fn change(&self, base: &CommitId, change: impl FnOnce(&mut dyn KvWrite)) -> CommitId {
        self.wait(1);
        self.change_now(base, change)
    }

    fn change_now(&self, base: &CommitId, change: impl FnOnce(&mut dyn KvWrite)) -> CommitId {
        self.change_on(&self.page, base, change)
    }

    /// The same, made through this handle of the page.
    fn change_on(
        &self,
        page: &Page,
        base: &CommitId,
        change: impl FnOnce(&mut dyn KvWrite),
    ) -> CommitId {
        let branch = self.branch(base);
        let db = page.database(&branch).unwrap();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        change(&mut *tx);
        tx.commit().unwrap();
        self.page.head(&branch).unwrap()
    }

    fn put(&self, base: &CommitId, key: &str, value: &str) -> CommitId {
        self.change(base, |tx| tx.put(key.as_bytes(), value.as_bytes()).unwrap())
    }

    fn remove(&self, base: &CommitId, key: &str) -> CommitId {
        self.change(base, |tx| tx.remove(key.as_bytes()).unwrap())
    }

    /// A base with these keys, each with the value "base".
    fn base(&self, keys: &[&str]) -> CommitId {
        self.change(&CommitId::FIRST, |tx| {
            keys.iter().for_each(|key| tx.put(key.as_bytes(), b"base").unwrap());
        })
    }

    /// The merge of two commits.
    fn merge(&self, one: &CommitId, other: &CommitId, merger: &mut dyn Merger) -> CommitId {
        self.page.merge(&self.branch(one), other, merger).unwrap()
    }

    /// Makes these commits the heads.
    fn show(&self, heads: &[CommitId]) {
        heads.iter().for_each(|head| self.page.add_head(MAIN, head).unwrap());
        let mut heads_now = self.heads();
        let mut heads = heads.to_vec();
        heads_now.sort();
        heads.sort();
        assert_eq!(heads_now, heads);
    }

    fn heads(&self) -> Vec<CommitId> {
        self.page.heads(MAIN).unwrap()
    }

    /// The content of the one head.
    fn merged(&self) -> Vec<(String, String)> {
        let [head] = self.heads()[..] else { panic!("{:?}", self.heads()) };
        strings(&content(&self.page, &head))
    }

    fn follow(&self, policy: MergePolicy, resolver: Arc<Recorder>) -> MergeFactoryRegistration {
        self.repository.add_merge_factory(Arc::new(Says { policy, resolver }))
    }
}

fn strings(map: &Map) -> Vec<(String, String)> {
    let string = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
    map.iter().map(|(key, value)| (string(key), string(value))).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

type Decide =
    dyn Fn(&PageSnapshot, &PageSnapshot, &PageSnapshot, &MergeResult) -> Result<()> + Send + Sync;

/// Decides as a function says, and counts.
struct Recorder {
    calls: AtomicU64,
    given: AtomicU64,
    asked: Mutex<Vec<String>>,
    decide: Box<Decide>,
}

impl Recorder {
    fn new(
        decide: impl Fn(&PageSnapshot, &PageSnapshot, &PageSnapshot, &MergeResult) -> Result<()>
        + Send
        + Sync
        + 'static,
    ) -> Arc<Self> {
        let (calls, given, asked) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::default());
        Arc::new(Recorder { calls, given, asked, decide: Box::new(decide) })
    }

    /// A resolver that must not be called.
    fn never() -> Arc<Self> {
        Self::new(|_, _, _, _| panic!("no resolver is to be called"))
    }

    fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

impl Resolver for Recorder {
    fn resolve(
        &self,
        left: &PageSnapshot,
        right: &PageSnapshot,
        common: &PageSnapshot,
        result: &MergeResult,
    ) -> Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        (self.decide)(left, right, common, result)
    }
}

struct Says {
    policy: MergePolicy,
    resolver: Arc<Recorder>,
}

impl MergeFactory for Says {
    fn policy(&self, ledger: &str, page: &PageId) -> MergePolicy {
        self.resolver.asked.lock().unwrap().push(format!("{ledger} {page}"));
        self.policy
    }

    fn resolver(&self, _: &str, _: &PageId) -> Result<Arc<dyn Resolver>> {
        self.resolver.given.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::clone(&self.resolver) as Arc<dyn Resolver>)
    }
}

fn get(read: &PageSnapshot, key: &str) -> Option<String> {
    let value = read.get(key.as_bytes()).unwrap();
    value.map(|value| String::from_utf8(value.into_owned()).unwrap())
}

#[test]
fn t071_two_heads_with_other_keys_become_one_with_both_changes() {
    let heads = Heads::new();
    let (ann, bob) = (
        heads.page.branching_database(MAIN).unwrap(),
        heads.page.branching_database(MAIN).unwrap(),
    );
    let mut of_ann = ann.begin(&TxOptions::writing()).unwrap();
    let mut of_bob = bob.begin(&TxOptions::writing()).unwrap();
    of_ann.put(b"ann", b"1").unwrap();
    of_bob.put(b"bob", b"2").unwrap();
    of_ann.commit().unwrap();
    of_bob.commit().unwrap();
    assert!(heads.page.has_unfinished_merges().unwrap());
    // No factory has said how, so the last writer wins.
    heads.repository.maintain().unwrap();
    assert_eq!(heads.merged(), pairs(&[("ann", "1"), ("bob", "2")]));
    assert!(!heads.page.has_unfinished_merges().unwrap());
    assert!(heads.page.verify().unwrap().findings.is_empty());
}

#[test]
fn t072_the_later_value_wins() {
    for newer_first in [false, true] {
        let heads = Heads::new();
        let base = heads.base(&["key"]);
        let older = heads.put(&base, "key", "older");
        let newer = heads.put(&base, "key", "newer");
        heads.show(&if newer_first { [newer, older] } else { [older, newer] });
        assert!(heads.page.merge_by_policy().unwrap());
        assert_eq!(heads.merged(), pairs(&[("key", "newer")]));
    }
}

#[test]
fn t073_of_two_at_one_time_the_larger_id_wins() {
    let heads = Heads::new();
    let base = heads.base(&["key"]);
    heads.wait(1);
    let put = |page: &Page, value: &str| {
        heads.change_on(page, &base, |tx| tx.put(b"key", value.as_bytes()).unwrap())
    };
    let both = [put(&heads.page, "one"), put(&heads.elsewhere(), "two")];
    let times = both.map(|id| heads.page.commit(&id).unwrap().unwrap().time);
    assert_eq!(times[0], times[1]);
    heads.show(&both);
    assert!(heads.page.merge_by_policy().unwrap());
    let winner = if both[0] > both[1] { "one" } else { "two" };
    assert_eq!(heads.merged(), pairs(&[("key", winner)]));
}

#[test]
fn t074_a_later_removal_wins_over_a_change() {
    let heads = Heads::new();
    let base = heads.base(&["key", "other"]);
    heads.show(&[heads.put(&base, "key", "changed"), heads.remove(&base, "key")]);
    assert!(heads.page.merge_by_policy().unwrap());
    assert_eq!(heads.merged(), pairs(&[("other", "base")]));
}

#[test]
fn t075_what_the_older_side_has_removed_is_gone() {
    let heads = Heads::new();
    let base = heads.base(&["key", "other"]);
    heads.show(&[heads.remove(&base, "key"), heads.put(&base, "other", "changed")]);
    assert!(heads.page.merge_by_policy().unwrap());
    assert_eq!(heads.merged(), pairs(&[("other", "changed")]));
}

#[test]
fn t076_the_same_change_on_both_sides_asks_no_resolver() {
    let heads = Heads::new();
    let base = heads.base(&["key", "gone"]);
    let both = [(); 2].map(|()| {
        heads.change(&base, |tx| {
            tx.put(b"key", b"same").unwrap();
            tx.put(b"new", &[7; 3_000]).unwrap();
            tx.remove(b"gone").unwrap();
        })
    });
    heads.show(&both);
    let _factory = heads.follow(MergePolicy::AutomaticWithFallback, Recorder::never());
    assert!(heads.page.merge_by_policy().unwrap());
    let seven = "\u{7}".repeat(3_000);
    assert_eq!(heads.merged(), pairs(&[("key", "same"), ("new", &seven)]));
}

#[test]
fn t077_one_conflict_asks_about_the_whole_merge() {
    let heads = Heads::new();
    let base = heads.base(&["a", "b", "c", "d"]);
    let older = heads.put(&heads.put(&base, "a", "older"), "c", "older");
    let newer = heads.put(&heads.remove(&heads.put(&base, "b", "newer"), "d"), "c", "newer");
    heads.show(&[older, newer]);
    let resolver = Recorder::new(|left, right, common, result| {
        assert_eq!(get(left, "c").as_deref(), Some("newer"));
        assert_eq!(get(right, "c").as_deref(), Some("older"));
        assert_eq!(get(common, "c").as_deref(), Some("base"));
        let all: Vec<_> = result.changes(b"")?.collect::<Result<_>>()?;
        let keys: Vec<_> = all.iter().map(|change| change.key.as_slice()).collect();
        assert_eq!(keys, [b"a", b"b", b"c", b"d"]);
        let sides = |at: usize| {
            let change = &all[at];
            let string = |side: &Option<EntryValue>| {
                side.clone().map(|it| String::from_utf8(it.bytes.unwrap()).unwrap())
            };
            (string(&change.base), string(&change.newer), string(&change.older))
        };
        let some = |string: &str| Some(string.to_owned());
        assert_eq!(sides(0), (some("base"), some("base"), some("older")));
        assert_eq!(sides(3), (some("base"), None, some("base")));
        let found: Vec<_> = result.conflicts(b"")?.collect::<Result<_>>()?;
        assert_eq!(found, [all[2].clone()]);
        // In portions.
        assert_eq!(result.changes(b"c")?.count(), 2);
        assert_eq!(result.conflicts(b"d")?.count(), 0);
        for change in &all {
            let decided = match &*change.key {
                b"a" => Merged::Older,
                b"b" => Merged::Delete,
                b"c" => Merged::New(b"both"),
                _ => continue,
            };
            result.set(&change.key, decided)?;
        }
        result.set(b"new", Merged::New(b"outside"))?;
        result.done()
    });
    let _factory = heads.follow(MergePolicy::AutomaticWithFallback, Arc::clone(&resolver));
    assert!(heads.page.merge_by_policy().unwrap());
    assert_eq!(resolver.calls(), 1);
    assert_eq!(heads.merged(), pairs(&[("a", "older"), ("c", "both"), ("new", "outside")]));
}

/// Takes the entries of both sides.
fn union() -> Arc<Recorder> {
    Recorder::new(|_, _, _, result| {
        result.take_rest()?;
        result.done()
    })
}

#[test]
fn t078_custom_asks_for_other_keys_too() {
    let heads = Heads::new();
    let base = heads.base(&[]);
    heads.show(&[heads.put(&base, "a", "1"), heads.put(&base, "b", "2")]);
    let resolver = union();
    let _factory = heads.follow(MergePolicy::Custom, Arc::clone(&resolver));
    assert!(heads.page.merge_by_policy().unwrap());
    assert_eq!(resolver.calls(), 1);
    assert_eq!(heads.merged(), pairs(&[("a", "1"), ("b", "2")]));
}

#[test]
fn t079_changes_that_were_taken_back_are_no_conflict() {
    let heads = Heads::new();
    let base = heads.base(&["key"]);
    let reverted = heads.put(&heads.put(&base, "key", "changed"), "key", "base");
    heads.show(&[reverted, heads.put(&base, "key", "other")]);
    let _factory = heads.follow(MergePolicy::AutomaticWithFallback, Recorder::never());
    assert!(heads.page.merge_by_policy().unwrap());
    assert_eq!(heads.merged(), pairs(&[("key", "other")]));
}

#[test]
fn t080_a_side_without_changes_of_its_own_asks_no_resolver() {
    let heads = Heads::new();
    let base = heads.base(&["key"]);
    let (a, b) = (heads.put(&base, "key", "a"), heads.put(&base, "key", "b"));
    let d = heads.merge(&a, &b, &mut LastWriterWins);
    let f = heads.put(&heads.merge(&a, &b, &mut OlderWins), "c", "c");
    assert_eq!(strings(&content(&heads.page, &d)), pairs(&[("key", "b")]));
    heads.show(&[d, f]);
    let _factory = heads.follow(MergePolicy::Custom, Recorder::never());
    assert!(heads.page.merge_by_policy().unwrap());
    assert_eq!(heads.merged(), pairs(&[("c", "c"), ("key", "a")]));
    let merge = heads.page.commit(&heads.heads()[0]).unwrap().unwrap();
    assert!(matches!(merge.origin, Origin::Merge { .. }));
}

#[test]
fn t081_two_merges_of_the_same_commits_become_one_of_them() {
    let heads = Heads::new();
    let base = heads.base(&["key"]);
    let (a, b) = (heads.put(&base, "key", "a"), heads.put(&base, "key", "b"));
    let merges = [heads.merge(&a, &b, &mut LastWriterWins), heads.merge(&a, &b, &mut OlderWins)];
    assert_ne!(merges[0], merges[1]);
    heads.show(&merges);
    let _factory = heads.follow(MergePolicy::Custom, Recorder::never());
    let oldest = strings(&content(&heads.page, &heads.heads()[0]));
    assert!(heads.page.merge_by_policy().unwrap());
    assert_eq!(heads.merged(), oldest);
}

#[test]
fn t082_two_commits_with_one_content_are_a_merge_like_any_other() {
    let heads = Heads::new();
    let base = heads.base(&[]);
    let both = [heads.put(&base, "key", "same"), heads.put(&base, "key", "same")];
    let roots = both.map(|id| heads.page.snapshot(&id).unwrap().root());
    assert_eq!(roots[0], roots[1]);
    heads.show(&both);
    let resolver = union();
    let _factory = heads.follow(MergePolicy::Custom, Arc::clone(&resolver));
    assert!(heads.page.merge_by_policy().unwrap());
    assert_eq!(resolver.calls(), 1);
    assert_eq!(heads.merged(), pairs(&[("key", "same")]));
}

/// Makes the set of the letters of both sides, in the order of the alphabet.
fn letters(left: &PageSnapshot, right: &PageSnapshot, result: &MergeResult) -> Result<()> {
    let both = get(left, "set").unwrap_or_default() + &get(right, "set").unwrap_or_default();
    let all: BTreeSet<char> = both.chars().collect();
    result.take_rest()?;
    result.set(b"set", Merged::New(all.into_iter().collect::<String>().as_bytes()))?;
    result.done()
}

/// Two heads that have three commits in common, of which none leads to another. The pairs that were
/// merged are the first and the third, and the second and the third.
fn criss_cross(heads: &Heads, merger: &mut dyn Merger) -> [CommitId; 3] {
    let base = heads.base(&[]);
    let bases = ["a", "b", "c"].map(|letter| heads.put(&base, "set", letter));
    let [a, b, c] = &bases;
    let left = heads.merge(&heads.merge(a, c, merger), b, merger);
    let right = heads.merge(&heads.merge(b, c, merger), a, merger);
    let letters = |at: &CommitId, letter: &str| {
        let set = get(&heads.page.snapshot(at).unwrap(), "set").unwrap();
        heads.put(at, "set", &(set + letter))
    };
    heads.show(&[letters(&left, "l"), letters(&right, "r")]);
    bases
}

/// Makes the set of the letters of both sides.
struct Union;

impl Merger for Union {
    fn resolve(&mut self, conflict: &Conflict<'_>) -> Result<Resolution> {
        let sides = [conflict.older, conflict.newer];
        let all: BTreeSet<u8> = sides.iter().flatten().copied().flatten().copied().collect();
        Ok(Resolution::Value(all.into_iter().collect()))
    }
}

#[test]
fn t083_three_common_commits_are_merged_first() {
    let heads = Heads::new();
    criss_cross(&heads, &mut Union);
    let commons: Arc<Mutex<Vec<_>>> = Arc::default();
    let seen = Arc::clone(&commons);
    let resolver = Recorder::new(move |left, right, common, result| {
        seen.lock().unwrap().push(get(common, "set").unwrap_or_default());
        letters(left, right, result)
    });
    let _factory = heads.follow(MergePolicy::Custom, Arc::clone(&resolver));
    assert!(heads.page.merge_by_policy().unwrap());
    assert_eq!(resolver.calls(), 3);
    assert_eq!(*commons.lock().unwrap(), ["", "", "abc"]);
    assert_eq!(heads.merged(), pairs(&[("set", "abclr")]));
    assert!(heads.page.verify().unwrap().findings.is_empty());
}

#[test]
fn t084_a_merge_that_is_there_is_taken_as_the_base() {
    let heads = Heads::new();
    let [a, b, _] = criss_cross(&heads, &mut Union);
    // A merge of two of them that no other code would make.
    struct Marked;
    impl Merger for Marked {
        fn resolve(&mut self, _: &Conflict<'_>) -> Result<Resolution> {
            Ok(Resolution::Value(b"abx".to_vec()))
        }
    }
    heads.merge(&a, &b, &mut Marked);
    let commons: Arc<Mutex<Vec<_>>> = Arc::default();
    let seen = Arc::clone(&commons);
    let resolver = Recorder::new(move |left, right, common, result| {
        seen.lock().unwrap().push(get(common, "set").unwrap_or_default());
        letters(left, right, result)
    });
    let _factory = heads.follow(MergePolicy::Custom, Arc::clone(&resolver));
    assert!(heads.page.merge_by_policy().unwrap());
    assert_eq!(resolver.calls(), 2);
    assert_eq!(*commons.lock().unwrap(), ["", "abcx"]);
}

#[test]
fn t085_in_a_base_that_is_merged_the_newest_wins() {
    let heads = Heads::new();
    let base = heads.base(&[]);
    let [a, b, c] = ["a", "b", "c"].map(|letter| heads.put(&base, "key", letter));
    // One side has the entry of the base, the other one does not.
    let left = heads.merge(&heads.merge(&a, &c, &mut OlderWins), &b, &mut OlderWins);
    let right = heads.merge(&heads.merge(&b, &c, &mut LastWriterWins), &a, &mut LastWriterWins);
    assert_eq!(strings(&content(&heads.page, &left)), pairs(&[("key", "b")]));
    assert_eq!(strings(&content(&heads.page, &right)), pairs(&[("key", "c")]));
    // If the value of the newest is that of the base, only the left side has changed it.
    heads.show(&[heads.put(&left, "left", ""), heads.put(&right, "right", "")]);
    assert!(heads.page.merge_by_policy().unwrap());
    assert_eq!(heads.merged(), pairs(&[("key", "b"), ("left", ""), ("right", "")]));
}

#[test]
fn t086_another_pair_is_tried_if_something_is_missing() {
    let heads = Heads::new();
    let first = heads.base(&["a", "b", "c"]);
    let second = heads.put(&first, "a", "second");
    let zero = heads.put(&second, "a", "zero");
    let one = heads.put(&second, "b", "one");
    let two = heads.put(&first, "c", "two");
    heads.show(&[zero, one, two]);
    // The base of the two oldest is not here.
    let root = heads.page.snapshot(&second).unwrap().root();
    let mut tx = heads.host.begin(&TxOptions::writing()).unwrap();
    tx.remove(&[&[0x10, 1, 0x23][..], &root.0].concat()).unwrap();
    tx.commit().unwrap();
    // A handle that has nothing in memory.
    let cold = Repository::builder(heads.host.clone()).manual_maintenance().open().unwrap();
    let page = cold.page("test", PageId::ROOT).unwrap();
    let error = page.merge_by_policy().unwrap_err();
    assert!(matches!(error, LedgerError::Missing { digest, .. } if digest == root), "{error}");
    let left = page.heads(MAIN).unwrap();
    assert_eq!(left.len(), 2);
    assert!(left.contains(&one), "the first and the third are merged");
    let merge = left.iter().find(|head| **head != one).unwrap();
    let mut parents = [zero, two];
    parents.sort();
    let merge = page.commit(merge).unwrap().unwrap();
    assert_eq!(merge.origin, Origin::Merge { parents });
    assert!(page.has_unfinished_merges().unwrap());
    // Nothing changes until something else is committed.
    cold.maintain().unwrap();
    assert_eq!(page.heads(MAIN).unwrap(), left);
    let Err(error) = page.merge_heads(MAIN, &mut LastWriterWins) else { panic!("it is missing") };
    assert!(matches!(error, LedgerError::Missing { .. }), "{error}");
}

/// Two heads, both of which are merges.
fn merges_of_both(heads: &Heads, base: &CommitId) -> [CommitId; 2] {
    let value = |side: &str| format!("{side} {}", heads.names.load(Ordering::Relaxed));
    let [a, b] = ["a", "b"].map(|side| heads.put(base, "key", &value(side)));
    [heads.merge(&a, &b, &mut LastWriterWins), heads.merge(&a, &b, &mut OlderWins)]
}

#[test]
fn t087_merges_of_others_are_merged_after_a_while() {
    let heads = Heads::new();
    let base = heads.base(&[]);
    heads.show(&merges_of_both(&heads, &base));
    let mut delays = Vec::new();
    for _ in 0..3 {
        let mut waited = 0;
        heads.repository.maintain().unwrap();
        while heads.heads().len() > 1 {
            heads.wait(1);
            waited += 1;
            heads.repository.maintain().unwrap();
        }
        delays.push(waited);
        let last = heads.heads()[0];
        let [one, other] = merges_of_both(&heads, &last);
        heads.page.add_head(MAIN, &one).unwrap();
        heads.page.add_head(MAIN, &other).unwrap();
    }
    assert_eq!(delays, [10, 20, 40]);
    // A caller that asks for a merge does not wait.
    assert!(heads.page.merge_by_policy().unwrap());
    // A head that is a change sets it back.
    let last = heads.heads()[0];
    heads.page.add_head(MAIN, &heads.put(&last, "one", "")).unwrap();
    heads.page.add_head(MAIN, &heads.put(&last, "two", "")).unwrap();
    heads.repository.maintain().unwrap();
    let last = heads.heads()[0];
    let [one, other] = merges_of_both(&heads, &last);
    heads.page.add_head(MAIN, &one).unwrap();
    heads.page.add_head(MAIN, &other).unwrap();
    heads.repository.maintain().unwrap();
    heads.wait(9);
    heads.repository.maintain().unwrap();
    assert_eq!(heads.heads().len(), 2);
    heads.wait(1);
    heads.repository.maintain().unwrap();
    assert_eq!(heads.heads().len(), 1);
}

#[test]
fn t088_without_a_policy_heads_stay() {
    let heads = Heads::new();
    let base = heads.base(&["key"]);
    let _factory = heads.follow(MergePolicy::None, Recorder::never());
    heads.show(&[heads.put(&base, "key", "a"), heads.put(&base, "key", "b")]);
    let before = heads.heads();
    heads.repository.maintain().unwrap();
    assert!(!heads.page.merge_by_policy().unwrap());
    assert_eq!(heads.heads(), before);
}

#[test]
fn t089_right_without_a_right_side_ends_the_merge() {
    let heads = Heads::new();
    let base = heads.base(&["key"]);
    let older = heads.remove(&base, "key");
    heads.show(&[older, heads.put(&base, "key", "newer")]);
    let resolver = Recorder::new(|_, _, _, result| {
        let error = result.set(b"key", Merged::Older).unwrap_err();
        assert!(matches!(error, LedgerError::InvalidArgument(_)), "{error}");
        // It is closed: every call fails.
        let ended = |result: Result<()>| {
            assert!(matches!(result, Err(LedgerError::MergeEnded { .. })), "{result:?}");
        };
        ended(result.set(b"key", Merged::Delete));
        ended(result.take_rest());
        ended(result.changes(b"").map(drop));
        ended(result.done());
        Ok(())
    });
    let _factory = heads.follow(MergePolicy::Custom, Arc::clone(&resolver));
    let before = heads.heads();
    let error = heads.page.merge_by_policy().unwrap_err();
    assert!(matches!(error, LedgerError::InvalidArgument(_)), "{error}");
    assert_eq!(heads.heads(), before);
    assert_eq!(resolver.calls(), 1);
    // It is tried again, after 10 ms.
    heads.repository.maintain().unwrap();
    assert_eq!(resolver.calls(), 1);
    heads.wait(10);
    heads.repository.maintain().unwrap();
    assert_eq!(resolver.calls(), 2);
}

#[test]
fn t090_the_last_call_for_a_key_counts() {
    let heads = Heads::new();
    let base = heads.base(&["key"]);
    heads.show(&[heads.put(&base, "key", "older"), heads.put(&base, "key", "newer")]);
    let resolver = Recorder::new(|_, _, _, result| {
        result.set(b"key", Merged::Delete)?;
        result.set(b"key", Merged::Older)?;
        result.set(b"key", Merged::New(b"last"))?;
        result.done()
    });
    let _factory = heads.follow(MergePolicy::Custom, resolver);
    assert!(heads.page.merge_by_policy().unwrap());
    assert_eq!(heads.merged(), pairs(&[("key", "last")]));
}

#[test]
fn t091_done_without_decisions_is_the_newer_head() {
    let heads = Heads::new();
    let base = heads.base(&["a", "b"]);
    let older = heads.put(&base, "a", "older");
    let newer = heads.put(&heads.remove(&base, "b"), "a", "newer");
    heads.show(&[older, newer]);
    let _factory =
        heads.follow(MergePolicy::Custom, Recorder::new(|_, _, _, result| result.done()));
    assert!(heads.page.merge_by_policy().unwrap());
    let roots = [newer, heads.heads()[0]].map(|id| heads.page.snapshot(&id).unwrap().root());
    assert_eq!(roots[0], roots[1]);
}

#[test]
fn t092_the_rest_is_what_is_no_conflict() {
    let heads = Heads::new();
    let base = heads.base(&["a", "b", "c", "d", "e"]);
    let older = heads.remove(&heads.put(&heads.put(&base, "a", "older"), "c", "older"), "d");
    let newer = heads.put(&heads.put(&heads.put(&base, "b", "newer"), "c", "newer"), "e", "newer");
    heads.show(&[older, newer]);
    let resolver = Recorder::new(|_, _, _, result| {
        // A value that is set for a key counts, whether it is set before or after.
        result.set(b"e", Merged::Older)?;
        result.take_rest()?;
        result.done()
    });
    let _factory = heads.follow(MergePolicy::Custom, resolver);
    assert!(heads.page.merge_by_policy().unwrap());
    let expected = [("a", "older"), ("b", "newer"), ("c", "newer"), ("e", "base")];
    assert_eq!(heads.merged(), pairs(&expected));
}

#[test]
fn t093_the_next_factory_takes_over() {
    let heads = Heads::new();
    let second = heads.repository.create_page("second", PageId([2; 16])).unwrap();
    let (first_says, then_says) = (union(), union());
    let asked = |recorder: &Recorder| recorder.asked.lock().unwrap().clone();
    let first = heads.follow(MergePolicy::Custom, Arc::clone(&first_says));
    assert_eq!(asked(&first_says).len(), 2);
    let then = heads.follow(MergePolicy::Custom, Arc::clone(&then_says));
    assert_eq!(asked(&then_says), [""; 0]);
    drop(first);
    let pages = [format!("test {}", PageId::ROOT), format!("second {}", PageId([2; 16]))];
    let mut found = asked(&then_says);
    found.sort();
    let mut expected = pages.to_vec();
    expected.sort();
    assert_eq!(found, expected);
    // From here on it decides.
    let base = heads.base(&[]);
    heads.show(&[heads.put(&base, "a", ""), heads.put(&base, "b", "")]);
    assert!(heads.page.merge_by_policy().unwrap());
    assert_eq!((first_says.calls(), then_says.calls()), (0, 1));
    drop((then, second));
}

#[test]
fn t094_without_a_factory_known_pages_are_merged_and_new_ones_are_not() {
    let heads = Heads::new();
    let resolver = union();
    drop(heads.follow(MergePolicy::Custom, Arc::clone(&resolver)));
    // The page was open, so it is merged as it was.
    let base = heads.base(&[]);
    heads.show(&[heads.put(&base, "a", ""), heads.put(&base, "b", "")]);
    heads.repository.maintain().unwrap();
    assert_eq!((heads.heads().len(), resolver.calls()), (1, 1));
    // Another page is opened while no factory is registered.
    let page = heads.repository.create_page("late", PageId::ROOT).unwrap();
    let both = [page.branching_database(MAIN).unwrap(), page.branching_database(MAIN).unwrap()];
    let mut open: Vec<_> = both.iter().map(|db| db.begin(&TxOptions::writing()).unwrap()).collect();
    for (n, mut tx) in open.drain(..).enumerate() {
        tx.put(b"key", &[n as u8]).unwrap();
        tx.commit().unwrap();
    }
    heads.repository.maintain().unwrap();
    assert!(!page.merge_by_policy().unwrap());
    assert_eq!(page.heads(MAIN).unwrap().len(), 2);
    // Until a factory comes.
    let _factory = heads.follow(MergePolicy::LastWriterWins, Recorder::never());
    heads.repository.maintain().unwrap();
    assert_eq!(page.heads(MAIN).unwrap().len(), 1);
}

#[test]
fn t095_when_a_resolver_dies_another_one_is_asked_for() {
    let heads = Heads::new();
    let base = heads.base(&[]);
    heads.show(&[heads.put(&base, "a", ""), heads.put(&base, "b", "")]);
    let before = heads.heads();
    let tries = AtomicU64::new(0);
    let resolver = Recorder::new(move |_, _, _, result| {
        match tries.fetch_add(1, Ordering::Relaxed) {
            0 => panic!("this is part of the test"),
            1 => return Err(LedgerError::InvalidArgument("no".to_owned())),
            // It gives up.
            2 => return Ok(()),
            _ => {}
        }
        result.take_rest()?;
        result.done()
    });
    let _factory = heads.follow(MergePolicy::Custom, Arc::clone(&resolver));
    assert_eq!(resolver.given.load(Ordering::Relaxed), 1);
    for given in [1, 2, 3] {
        let error = heads.page.merge_by_policy().unwrap_err();
        assert!(matches!(error, LedgerError::Resolver { .. }), "{error}");
        assert_eq!(heads.heads(), before);
        assert_eq!(resolver.given.load(Ordering::Relaxed), given);
    }
    assert!(heads.page.merge_by_policy().unwrap());
    assert_eq!(resolver.given.load(Ordering::Relaxed), 4);
    assert_eq!(heads.merged(), pairs(&[("a", ""), ("b", "")]));
    // It is the resolver from here on.
    for round in ["c", "d"] {
        let base = heads.heads()[0];
        heads.page.add_head(MAIN, &heads.put(&base, round, "1")).unwrap();
        heads.page.add_head(MAIN, &heads.put(&base, "other", round)).unwrap();
        assert!(heads.page.merge_by_policy().unwrap());
    }
    assert_eq!(resolver.given.load(Ordering::Relaxed), 4);
}

#[test]
fn t096_a_caller_that_waits_for_merges_is_told() {
    let heads = Heads::new();
    let long = Duration::from_secs(60);
    assert_eq!(heads.page.wait_for_merges(long).unwrap(), MergeWait::NothingToMerge);
    let base = heads.base(&[]);
    heads.show(&[heads.put(&base, "a", ""), heads.put(&base, "b", "")]);
    assert_eq!(heads.page.wait_for_merges(Duration::ZERO).unwrap(), MergeWait::TimedOut);
    assert!(heads.page.has_unfinished_merges().unwrap());
    // The same page. Its heads are merged just after the waiting call has seen them.
    let hook = Hook { host: heads.host.clone(), after: Arc::default() };
    let builder = Repository::builder(hook.clone()).manual_maintenance();
    let page = builder.open().unwrap().page("test", PageId::ROOT).unwrap();
    let merging = heads.page.clone();
    let merge = move || assert!(merging.merge_by_policy().unwrap());
    *hook.after.lock().unwrap() = Some(Box::new(merge));
    assert_eq!(page.wait_for_merges(long).unwrap(), MergeWait::Resolved);
    assert!(!heads.page.has_unfinished_merges().unwrap());
    assert_eq!(page.wait_for_merges(long).unwrap(), MergeWait::NothingToMerge);
}

type After = Box<dyn FnOnce() + Send>;

/// A host in which something happens after the next transaction that reads has begun.
#[derive(Clone)]
struct Hook {
    host: MemoryStore,
    after: Arc<Mutex<Option<After>>>,
}

impl KvDatabase for Hook {
    fn begin(&self, options: &TxOptions) -> permazen_kv::Result<Box<dyn KvTransaction + Send>> {
        let tx = self.host.begin(options)?;
        let after = self.after.lock().unwrap().take_if(|_| options.read_only);
        after.into_iter().for_each(|after| after());
        Ok(tx)
    }

    fn capabilities(&self) -> Capabilities {
        self.host.capabilities()
    }
}
