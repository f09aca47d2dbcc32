//! Pairs that are removed while they are shown, also in trees with many pages and with values that
//! are longer than a page; gets or puts there.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Fixture, Tx, committed, dump, write};
use crate::{Direction, KeySpan, KvError, KvRead, TxOptions, Verdict};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Numbers that look random.
struct Numbers(u32);

impl Numbers {
    fn any(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0
    }

    fn below(&mut self, below: u32) -> u32 {
        (self.any() >> 8) % below
    }
}

/// Removes pairs in the store and in the model. `judge` also gets how many were shown before.
fn remove_where(
    tx: &mut Tx,
    model: &mut Model,
    span: KeySpan<'_>,
    mut judge: impl FnMut(usize, &[u8], &[u8]) -> Verdict,
) {
    let max = span.max.map_or(Bound::Unbounded, |max| Bound::Excluded(max.to_vec()));
    let mut expected = model.range((Bound::Included(span.min.to_vec()), max)).enumerate();
    let (mut unwanted, mut stopped) = (Vec::new(), false);
    tx.remove_where(span, &mut |key, value| {
        assert!(!stopped, "a pair is shown after the last one");
        let (before, pair) = expected.next().expect("a pair that is not there is shown");
        assert!(pair.0 == key && pair.1 == value, "{:?} and not {:?} is shown", key, pair.0);
        let verdict = judge(before, key, value);
        match verdict {
            Verdict::Remove => unwanted.push(key.to_vec()),
            Verdict::Keep => {}
            Verdict::Stop => stopped = true,
        }
        verdict
    })
    .unwrap();
    let not_shown = expected.next();
    assert!(stopped || not_shown.is_none(), "not shown: {not_shown:?}");
    for key in unwanted {
        model.remove(&key);
    }
}

/// Fails unless the store has the pairs of the model, in both directions.
fn check<K: KvRead + ?Sized>(source: &K, model: &Model) {
    assert!(dump(source).iter().map(|(key, value)| (key, value)).eq(model));
    let mut pairs = source.scan(KeySpan::FULL, Direction::Reverse).unwrap();
    for (key, value) in model.iter().rev() {
        let found = pairs.next().unwrap().unwrap();
        assert!(found.0 == &key[..] && found.1 == &value[..], "{key:?}");
    }
    assert!(pairs.next().is_none());
}

/// `remove_where` removes the same pairs as a scan and single removals.
pub fn remove_where_is_its_parts(fixture: &mut Fixture) {
    let store = fixture.store();
    let mut numbers = Numbers(3);
    let mut model = Model::new();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    for round in 0..30_u32 {
        // Values of all lengths, so that pages empty at different times.
        for _ in 0..60 {
            let key = [numbers.below(3) as u8, numbers.below(200) as u8].to_vec();
            let value = vec![key[1]; numbers.below(90) as usize];
            tx.put(&key, &value).unwrap();
            model.insert(key, value);
        }
        let mut bound = |kinds| [numbers.below(kinds) as u8, numbers.below(200) as u8];
        let bounds = [bound(3), bound(4)];
        let (min, max) = (bounds[0].min(bounds[1]), bounds[0].max(bounds[1]));
        let max = (numbers.below(4) > 0).then_some(&max[..]);
        let last = numbers.below(150) as usize;
        let judge = |before: usize, key: &[u8], _: &[u8]| match round % 4 {
            0 => Verdict::Remove,
            _ if before == last => Verdict::Stop,
            1 => Verdict::Remove,
            2 if key[1] % 5 < 3 => Verdict::Remove,
            3 if key[1] % 16 > 11 => Verdict::Remove,
            _ => Verdict::Keep,
        };
        remove_where(&mut tx, &mut model, KeySpan::new(&min, max), judge);
        check(&*tx, &model);
    }
    let reversed = tx.remove_where(KeySpan::new(b"b", Some(b"a")), &mut |_, _| Verdict::Remove);
    assert!(matches!(reversed, Err(KvError::InvalidArgument(_))));
    tx.remove_where(KeySpan::new(b"b", Some(b"b")), &mut |_, _| unreachable!()).unwrap();
    tx.remove_where(KeySpan::FULL, &mut |_, _| Verdict::Remove).unwrap();
    assert!(tx.at_least(b"", None).unwrap().is_none());
    tx.put(b"a", b"1").unwrap();
    tx.commit().unwrap();
    assert_eq!(committed(store).len(), 1);
}

/// A key anywhere among the others, of one of several lengths.
fn far_key(numbers: &mut Numbers) -> Vec<u8> {
    let mut key = numbers.any().to_be_bytes().to_vec();
    key.resize(4 + numbers.below(40) as usize, b'k');
    key
}

/// Empty, short, about half as long as a page, or longer than one.
fn far_value(numbers: &mut Numbers) -> Vec<u8> {
    let len = match numbers.below(200) {
        0..60 => 0,
        60..197 => numbers.below(60),
        197 => 1900 + numbers.below(250),
        198 => 4000 + numbers.below(150),
        _ => 4000 + numbers.below(9000),
    };
    vec![numbers.below(256) as u8; len as usize]
}

/// Gets or puts of keys that are there and of others.
fn get_or_put(tx: &mut Tx, model: &mut Model, numbers: &mut Numbers, times: usize) {
    for _ in 0..times {
        let (mut key, value) = (far_key(numbers), far_value(numbers));
        if numbers.below(2) == 0 {
            key = model.range(key.clone()..).next().map_or(key, |(key, _)| key.clone());
        }
        assert!(tx.get_or_put(&key, &value).unwrap().as_ref() == model.get(&key), "{key:?}");
        model.entry(key).or_insert(value);
    }
}

/// As with few pairs: most of a tree of three levels goes in one removal, or every third pair of
/// it, or all values that have pages of their own, or everything.
pub fn remove_where_in_a_deep_tree(fixture: &mut Fixture) {
    let store = fixture.store();
    // A server is asked for each page of pairs.
    let many = if store.capabilities().lazy_begin { 2000 } else { 12_000 };
    let mut numbers = Numbers(5);
    let mut model = Model::new();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    while model.len() < many {
        let (key, value) = (far_key(&mut numbers), far_value(&mut numbers));
        tx.put(&key, &value).unwrap();
        model.insert(key, value);
    }
    tx.commit().unwrap();

    // From pages that are committed, and then from pages that the transaction has written.
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    let third = |before: usize, _: &[u8], _: &[u8]| match before % 3 {
        0 => Verdict::Remove,
        _ => Verdict::Keep,
    };
    remove_where(&mut tx, &mut model, KeySpan::new(&[0x10], Some(&[0x40])), third);
    check(&*tx, &model);
    let all = |_: usize, _: &[u8], _: &[u8]| Verdict::Remove;
    remove_where(&mut tx, &mut model, KeySpan::new(&[0x30], Some(&[0x70])), all);
    check(&*tx, &model);
    get_or_put(&mut tx, &mut model, &mut numbers, many / 10);
    let stop = |before: usize, _: &[u8], _: &[u8]| match before {
        before if before == many / 5 => Verdict::Stop,
        _ => Verdict::Remove,
    };
    remove_where(&mut tx, &mut model, KeySpan::new(&[0x60], None), stop);
    check(&*tx, &model);
    tx.commit().unwrap();

    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    let long = |_: usize, _: &[u8], value: &[u8]| match value.len() {
        1000.. => Verdict::Remove,
        _ => Verdict::Keep,
    };
    remove_where(&mut tx, &mut model, KeySpan::FULL, long);
    check(&*tx, &model);
    get_or_put(&mut tx, &mut model, &mut numbers, many / 10);
    let empty = |_: usize, _: &[u8], value: &[u8]| match value.len() {
        0 => Verdict::Remove,
        _ => Verdict::Keep,
    };
    remove_where(&mut tx, &mut model, KeySpan::FULL, empty);
    check(&*tx, &model);
    tx.commit().unwrap();
    check(&*store.begin(&TxOptions::reading()).unwrap(), &model);

    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    let ends = (0, model.len() - 1);
    let inner = |before: usize, _: &[u8], _: &[u8]| match before {
        before if before == ends.0 || before == ends.1 => Verdict::Keep,
        _ => Verdict::Remove,
    };
    remove_where(&mut tx, &mut model, KeySpan::FULL, inner);
    assert_eq!(model.len(), 2);
    check(&*tx, &model);
    get_or_put(&mut tx, &mut model, &mut numbers, many / 5);
    check(&*tx, &model);
    tx.commit().unwrap();

    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    remove_where(&mut tx, &mut model, KeySpan::FULL, all);
    assert!(model.is_empty());
    check(&*tx, &model);
    get_or_put(&mut tx, &mut model, &mut numbers, 10);
    check(&*tx, &model);
    tx.commit().unwrap();
    check(&*store.begin(&TxOptions::reading()).unwrap(), &model);
}

/// If `judge` panics, pairs that it has judged are removed or not, and all others are there. The
/// transaction can be used on, or rolled back.
pub fn remove_where_whose_judge_panics(fixture: &mut Fixture) {
    let store = fixture.store();
    write(store, |tx| {
        (0..600_u16).try_for_each(|n| tx.put(&n.to_be_bytes(), &vec![1; usize::from(n) * 7]))
    });
    let before = committed(store);
    for (removes_all, commits) in [(true, false), (false, false), (false, true)] {
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        let (mut shown, mut unwanted) = (0, Vec::new());
        let removed = catch_unwind(AssertUnwindSafe(|| {
            tx.remove_where(KeySpan::new(&[0, 9], None), &mut |key, _| {
                shown += 1;
                assert!(shown < 400, "this judge panics");
                if !removes_all && shown % 3 > 0 {
                    return Verdict::Keep;
                }
                unwanted.push(key.to_vec());
                Verdict::Remove
            })
        }));
        assert!(removed.is_err() && shown == 400);
        let left = dump(&*tx);
        let is_left = |pair| left.contains(pair) || unwanted.contains(&pair.0);
        assert!(before.iter().all(is_left), "pairs that were not judged are gone");
        assert!(left.iter().all(|pair| before.contains(pair)));
        check(&*tx, &left.iter().cloned().collect());
        tx.put(&[0xff], b"new").unwrap();
        assert_eq!(tx.at_most(b"", None).unwrap().unwrap().1[..], *b"new");
        if commits {
            tx.commit().unwrap();
            let now = committed(store);
            assert!(now.len() == left.len() + 1 && now[..left.len()] == left);
        } else {
            drop(tx);
            assert!(committed(store) == before);
        }
    }
}
