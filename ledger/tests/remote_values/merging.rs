//! Merges of commits some of whose values are not here, or are lazy.

use std::sync::Arc;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvRead, KvWrite};
use permazen_ledger::{
    Conflict, KeyClass, LastOneWins, LedgerError, MAIN, Merger, Page, Priority, Resolution, Result,
};

use super::setting::{assert_clean, attached, bring, copy, follow, noise, put_lazy, value, write};

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
fn heads_that_need_what_is_not_here_hold_up_no_others() {
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
    here.merge_heads(MAIN, &mut LastOneWins).unwrap();
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
    // What is put is eager.
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
