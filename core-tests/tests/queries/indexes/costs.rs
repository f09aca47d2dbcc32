//! The costs of queries, in operations of the store.

use permazen::kv::counting::{Counter, CountingStore};

use super::*;

/// A hundred persons, and as many pets in the same index of names if `shared`.
fn hundred(shared: bool) -> (Permazen, Counter) {
    let store = CountingStore::new(MemoryStore::new());
    let counter = store.counter();
    let db = Permazen::builder(store).model::<Person>().model::<Pet>().build().unwrap();
    let filled: Result<()> = db.write(|tx| {
        for n in 0..100 {
            let name = Some(format!("{}{n:02}", if n < 50 { "a" } else { "b" }));
            let place = format!("{}", n % 10);
            tx.create(Person { name: name.clone(), place, rank: n, tags: vec!["t".into()] })?;
            if shared {
                tx.create(Pet { name, ..Default::default() })?;
            }
        }
        Ok(())
    });
    filled.unwrap();
    (db, counter)
}

/// The gets, seeks and steps of an operation.
fn cost<T>(counter: &Counter, operation: impl FnOnce() -> Result<T>) -> (T, [u64; 3]) {
    counter.take();
    let result = operation().unwrap();
    let cost = counter.take();
    (result, [cost.gets, cost.seeks, cost.steps])
}

#[test]
fn finding_is_one_seek() {
    let (db, counter) = hundred(false);
    let tx = db.begin().unwrap();
    let (found, spent) = cost(&counter, || tx.find(Person::NAME, "a07"));
    assert_eq!((found.is_some(), spent), (true, [0, 1, 0]));
    let (found, spent) = cost(&counter, || tx.find_ref(Person::NAME, "c"));
    assert_eq!((found.is_some(), spent), (false, [0, 1, 0]));
    let (found, spent) = cost(&counter, || tx.find(Person::RANK_NAME, (7, "a07")));
    assert_eq!((found.is_some(), spent), (true, [0, 1, 0]));
    // Of many objects only the first is read.
    let (found, spent) = cost(&counter, || tx.find(Person::TAGS, "t"));
    assert_eq!((found.is_some(), spent), (true, [0, 1, 0]));
}

#[test]
fn a_page_is_one_seek() {
    let (db, counter) = hundred(false);
    let tx = db.begin().unwrap();
    let names = tx.index(Person::NAME).unwrap();
    for (limit, pages) in [(1, 3), (20, 4), (49, 2), (99, 1)] {
        let (mut forward, mut backward) = (None, None);
        for _ in 0..pages {
            let (page, spent) = cost(&counter, || names.page(limit, forward.as_ref()));
            assert_eq!(spent, [0, 1, limit as u64 + 1]);
            forward = page.next;
            let (page, spent) = cost(&counter, || names.page_back(limit, backward.as_ref()));
            assert_eq!(spent, [0, 1, limit as u64 + 1]);
            backward = page.next;
        }
    }
    let (page, spent) = cost(&counter, || names.page(100, None));
    assert_eq!((page.next, spent), (None, [0, 1, 100]));
    // The part that begins with a text, and a column after a prefix: nothing else is read.
    let (page, spent) = cost(&counter, || names.starts_with("b")?.page(60, None));
    assert_eq!((page.entries.len(), spent), (50, [0, 1, 50]));
    let (page, spent) = cost(&counter, || names.starts_with("b")?.page_back(10, None));
    assert_eq!((page.entries.len(), spent), (10, [0, 1, 11]));
    let token = page.next;
    let (_, spent) = cost(&counter, || names.starts_with("b")?.page_back(10, token.as_ref()));
    assert_eq!(spent, [0, 1, 11]);
    let ranked = tx.index(Person::RANK_NAME).unwrap().prefix(7).unwrap();
    let (page, spent) = cost(&counter, || ranked.starts_with("a")?.page(10, None));
    assert_eq!((page.entries.len(), spent), (1, [0, 1, 1]));
    let (count, spent) = cost(&counter, || names.starts_with("a1")?.count());
    assert_eq!((count, spent), (10, [0, 1, 10]));
}

#[test]
fn a_later_page_costs_no_more_than_the_first() {
    let (db, counter) = hundred(true);
    let tx = db.begin().unwrap();
    let names = tx.index(Person::NAME).unwrap();
    let (page, first) = cost(&counter, || names.page(10, None));
    let (mut token, mut costs) = (page.next, Vec::new());
    for _ in 0..8 {
        let (page, spent) = cost(&counter, || names.page(10, token.as_ref()));
        token = page.next;
        costs.push(spent);
    }
    // Each value has one entry of another type, which is before or after that of the person.
    let no_more =
        |spent: &[u64; 3]| spent[0] == 0 && spent[1] <= first[1] + 1 && spent[2] <= first[2] + 2;
    assert!(costs.iter().all(no_more), "{first:?} {costs:?}");
}

#[test]
fn sets_are_read_when_they_are_used() {
    let (db, counter) = hundred(true);
    let tx = db.begin().unwrap();
    let (set, spent) = cost(&counter, || {
        let places = tx.index(Person::PLACE)?;
        let some = places.get("3")?.union(places.get("4")?);
        Ok(some.intersection(tx.index(Person::TAGS)?.get("t")?).difference(places.get("4")?))
    });
    assert_eq!(spent, [0; 3]);
    let (found, all @ [gets, seeks, steps]) = cost(&counter, || set.count());
    assert_eq!((found, gets), (10, 0));
    // Only as much as is needed, which depends on the random order of the objects.
    let (page, spent) = cost(&counter, || set.page(1, None));
    assert!(page.next.is_some() && spent[1] <= seeks && spent[2] < steps, "{spent:?} of {all:?}");
}
