//! The overlay, its record of reads, and the test for conflicts.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use permazen_kv::key::parse_hex;
use permazen_kv::memory::{MemorySnapshot, MemoryStore};
use permazen_kv::overlay::MutableView;
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, KvWrite, SharedRead, TxOptions, Writes};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

type View = MutableView<MemorySnapshot>;

fn snapshot<'a>(pairs: impl IntoIterator<Item = (&'a Vec<u8>, &'a Vec<u8>)>) -> MemorySnapshot {
    let store = MemoryStore::new();
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    for (key, value) in pairs {
        tx.put(key, value).unwrap();
    }
    tx.commit().unwrap();
    store.snapshot()
}

/// A view of a base with the keys 10, 20, 30 and 40. The value of 20 is a counter.
fn view() -> View {
    let one = 1_i64.to_be_bytes().to_vec();
    let base: BTreeMap<_, _> = [0x10, 0x20, 0x30, 0x40].map(|key| (vec![key], one.clone())).into();
    MutableView::new(snapshot(&base))
}

fn hex(text: &str) -> Vec<u8> {
    parse_hex(text).unwrap()
}

fn span_of<'a>(min: &'a [u8], max: &'a [u8]) -> KeySpan<'a> {
    KeySpan::new(min, Some(max).filter(|max| !max.is_empty()))
}

fn at_least(view: &View, min: &str, max: &str) -> Option<u8> {
    let (min, max) = (hex(min), hex(max));
    let span = span_of(&min, &max);
    view.at_least(span.min, span.max).unwrap().map(|(key, _)| key[0])
}

fn at_most(view: &View, max: &str, min: &str) -> Option<u8> {
    let (min, max) = (hex(min), hex(max));
    let span = span_of(&min, &max);
    view.at_most(span.min, span.max).unwrap().map(|(key, _)| key[0])
}

fn scan(view: &View, direction: Direction) -> Vec<u8> {
    let scan = view.scan(KeySpan::new(&[0x15], Some(&[0x35])), direction).unwrap();
    scan.map(|pair| pair.unwrap().0[0]).collect()
}

fn remove_span(view: &mut View, min: u8, max: u8) {
    view.remove_span(KeySpan::new(&[min], Some(&[max]))).unwrap();
}

#[track_caller]
fn assert_reads(view: &View, expected: &str) {
    assert_eq!(view.reads().to_string(), format!("[{expected}]"));
}

#[test]
fn scans_that_take_turns_are_recorded_each_as_far_as_it_came() {
    let full = |view: &View, direction| -> Vec<u8> {
        view.scan(KeySpan::FULL, direction).unwrap().map(|pair| pair.unwrap().0[0]).collect()
    };
    let view1 = view();
    let mut up = view1.scan(KeySpan::new(&[0x05], Some(&[0x38])), Direction::Forward).unwrap();
    let mut down = view1.scan(KeySpan::new(&[0x12], None), Direction::Reverse).unwrap();
    let key =
        |pair: Option<permazen_kv::Result<permazen_kv::Pair<'_>>>| pair.unwrap().unwrap().0[0];
    assert_eq!((key(up.next()), key(down.next())), (0x10, 0x40));
    assert_reads(&view1, "[05,1000),[40,)");
    assert_eq!(key(up.next()), 0x20);
    assert_reads(&view1, "[05,2000),[40,)");
    assert_eq!(key(down.next()), 0x30);
    assert_reads(&view1, "[05,2000),[30,)");
    // One more that begins while these run, and one after one of them has ended.
    drop(view1.scan(KeySpan::new(&[0x01], Some(&[0x04])), Direction::Forward).unwrap());
    drop(down);
    let mut third = view1.scan(KeySpan::new(&[0x02], Some(&[0x04])), Direction::Forward).unwrap();
    assert!(third.next().is_none());
    assert!(third.next().is_none());
    assert_reads(&view1, "[02,04),[05,2000),[30,)");
    assert_eq!(key(up.next()), 0x30);
    assert!(up.next().is_none());
    assert_reads(&view1, "[02,04),[05,)");
    // A scan that is never dropped is recorded too, as long as the view exists.
    let view2 = view();
    let mut leaked = view2.scan(KeySpan::FULL, Direction::Reverse).unwrap();
    leaked.next();
    std::mem::forget(leaked);
    assert_reads(&view2, "[40,)");
    assert_eq!(view2.into_parts().1.to_string(), "[[40,)]");
    let view3 = view();
    assert_eq!(full(&view3, Direction::Reverse), [0x40, 0x30, 0x20, 0x10]);
    assert_reads(&view3, "[*]");
}

/// Where a row writes [a,b) for all keys of a prefix, the text form here is [a*].
#[test]
fn t090_what_is_recorded_as_read() {
    for (key, expected) in [("20", "[20]"), ("15", "[15]")] {
        let view = view();
        view.get(&hex(key)).unwrap();
        assert_reads(&view, expected);
    }
    for (min, max, found, expected) in [
        ("15", "", Some(0x20), "[15,2000)"),
        ("15", "18", None, "[15,18)"),
        ("", "", Some(0x10), "[,1000)"),
    ] {
        let view = view();
        assert_eq!(at_least(&view, min, max), found);
        assert_reads(&view, expected);
    }
    for (max, min, found, expected) in [
        ("35", "", Some(0x30), "[30,35)"),
        ("", "", Some(0x40), "[40,)"),
        ("35", "32", None, "[32,35)"),
    ] {
        let view = view();
        assert_eq!(at_most(&view, max, min), found);
        assert_reads(&view, expected);
    }
}

#[test]
fn t090_what_a_scan_records() {
    let view1 = view();
    let mut steps = view1.scan(KeySpan::new(&[0x15], Some(&[0x35])), Direction::Forward).unwrap();
    assert_reads(&view1, "");
    assert_eq!(steps.next().unwrap().unwrap().0[0], 0x20);
    assert_reads(&view1, "[15,2000)");
    drop(steps);
    assert_reads(&view1, "[15,2000)");
    let view2 = view();
    assert_eq!(scan(&view2, Direction::Forward), [0x20, 0x30]);
    assert_reads(&view2, "[15,35)");
    let view3 = view();
    assert_eq!(scan(&view3, Direction::Reverse), [0x30, 0x20]);
    assert_reads(&view3, "[15,35)");
    let mut view4 = view();
    let key = view4.at_least(&[0x10], Some(&[0x30])).unwrap().unwrap().0.into_owned();
    view4.remove(&key).unwrap();
    assert_reads(&view4, "[10]");
    assert_eq!(view4.writes().removes.to_string(), "[[10]]");
}

#[test]
fn t090_what_a_visit_records() {
    use ControlFlow::{Break, Continue};
    let (forward, reverse) = (Direction::Forward, Direction::Reverse);
    let span = KeySpan::new(&[0x15], Some(&[0x35]));
    for (direction, flow, expected) in [
        (forward, Continue(()), "[15,35)"),
        (reverse, Continue(()), "[15,35)"),
        (forward, Break(()), "[15,2000)"),
        (reverse, Break(()), "[30,35)"),
    ] {
        let view = view();
        view.visit(span, direction, &mut |_, _| flow).unwrap();
        assert_reads(&view, expected);
    }
    // A visitor may read, and the pairs that it saw count as read even if it panics.
    let view1 = view();
    view1
        .visit(span, forward, &mut |_, _| {
            view1.get(&[0x05]).unwrap();
            Break(())
        })
        .unwrap();
    assert_reads(&view1, "[05],[15,2000)");
    let view2 = view();
    let visit = || view2.visit(span, forward, &mut |_, _| panic!("in a visitor"));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(visit)).is_err());
    assert_reads(&view2, "[15,35)");
    let reversed = KeySpan::new(&[0x35], Some(&[0x15]));
    let view3 = view();
    assert!(view3.visit(reversed, forward, &mut |_, _| Continue(())).is_err());
    assert_reads(&view3, "");
}

#[test]
fn t090_what_own_changes_hide_is_not_recorded() {
    let mut hidden = view();
    hidden.put(&[0x20], &[]).unwrap();
    assert_eq!(hidden.get(&[0x20]).unwrap().as_deref(), Some(&[][..]));
    hidden.remove(&[0x20]).unwrap();
    assert_eq!(hidden.get(&[0x20]).unwrap(), None);
    assert_reads(&hidden, "");

    for (min, max, expected) in [(0x18, 0x25, "[15,3000)"), (0x12, 0x25, "[25,3000)")] {
        let mut view = view();
        remove_span(&mut view, min, max);
        assert_eq!(at_least(&view, "15", ""), Some(0x30));
        assert_reads(&view, expected);
    }
    for (min, max, expected) in [(0x18, 0x25, "[10,28)"), (0x18, 0x2a, "[10,18)")] {
        let mut view = view();
        remove_span(&mut view, min, max);
        assert_eq!(at_most(&view, "28", ""), Some(0x10));
        assert_reads(&view, expected);
    }
    for (min, expected) in [("12", "[12,1500)"), ("15", "")] {
        let mut view = view();
        view.put(&[0x15], &[]).unwrap();
        assert_eq!(at_least(&view, min, ""), Some(0x15));
        assert_reads(&view, expected);
    }
    let mut view = view();
    view.put(&[0x25], &[]).unwrap();
    assert_eq!(at_most(&view, "28", ""), Some(0x25));
    assert_reads(&view, "[2500,28)");
}

#[test]
fn t090_adjusting_reads_nothing() {
    let mut view = view();
    view.adjust_counter(&[0x20], 5).unwrap();
    assert_reads(&view, "");
    assert_eq!(view.writes().adjusts, BTreeMap::from([(vec![0x20], 5)]));
    assert_eq!(view.get(&[0x20]).unwrap().unwrap()[..], 6_i64.to_be_bytes());
    assert_reads(&view, "[20]");
    view.adjust_counter(&[0x20], -5).unwrap();
    assert!(view.writes().is_empty());
}

#[test]
fn changes_replace_each_other() {
    let mut view = view();
    view.adjust_counter(&[0x20], 5).unwrap();
    view.put(&[0x20], &7_i64.to_be_bytes()).unwrap();
    assert!(view.writes().adjusts.is_empty());
    view.adjust_counter(&[0x20], i64::MAX).unwrap();
    let expected = 7_i64.wrapping_add(i64::MAX).to_be_bytes();
    assert_eq!(view.writes().puts[&[0x20][..]], expected);
    view.put(&[0x21], b"no counter").unwrap();
    view.adjust_counter(&[0x21], 1).unwrap();
    assert_eq!(view.get(&[0x21]).unwrap().as_deref(), Some(&b"no counter"[..]));
    view.adjust_counter(&[0x30], 1).unwrap();
    view.remove_span(KeySpan::new(&[0x20], None)).unwrap();
    view.adjust_counter(&[0x40], 1).unwrap();
    assert!(view.writes().puts.is_empty() && view.writes().adjusts.is_empty());
    assert_eq!(view.writes().removes.to_string(), "[[20,)]");
    assert!(view.remove_span(KeySpan::new(&[2], Some(&[1]))).is_err());
}

#[test]
fn reading_without_a_record() {
    let mut view = view();
    view.put(&[0x15], &[]).unwrap();
    assert!(view.weak().get(&[0x20]).unwrap().is_some());
    assert_eq!(view.weak().at_least(&[0x11], None).unwrap().unwrap().0[..], [0x15]);
    assert_eq!(view.weak().scan(KeySpan::FULL, Direction::Reverse).unwrap().count(), 5);
    assert_reads(&view, "");
    view.get(&[0x20]).unwrap();
    view.disable_read_tracking();
    view.get(&[0x30]).unwrap();
    assert_reads(&view, "");
}

/// The writes of one transaction, the operations of another one, and whether that one fails if it
/// commits second.
#[test]
fn t091_what_conflicts_and_what_does_not() {
    type Act = fn(&mut View);
    let put_20: Act = |v| v.put(&[0x20], &[]).unwrap();
    let put_81: Act = |v| v.put(&[0x81], &[]).unwrap();
    let adjust: Act = |v| v.adjust_counter(&[0x20], 1).unwrap();
    let get_20: Act = |v| drop(v.get(&[0x20]).unwrap());
    let scan_80: Act = |v| {
        v.scan(KeySpan::new(&[0x80], Some(&[0x90])), Direction::Forward).unwrap().for_each(drop);
    };
    let rows: [(&str, Act, Act, bool); 13] = [
        (
            "get and put both",
            |v| {
                get_like(v, 0x20);
                put(v, 0x20)
            },
            |v| {
                get_like(v, 0x20);
                put(v, 0x20)
            },
            true,
        ),
        (
            "other key read",
            put_20,
            |v| {
                get_like(v, 0x10);
                put(v, 0x20)
            },
            false,
        ),
        ("phantom", put_81, scan_80, true),
        ("blind puts", put_81, put_81, false),
        ("empty range removed", |v| remove_span(v, 0x70, 0xa0), scan_80, true),
        ("reader first", get_20, |v| remove_span(v, 0x10, 0x30), false),
        ("two adjusts", adjust, adjust, false),
        ("adjust, remove", adjust, |v| v.remove(&[0x20]).unwrap(), false),
        ("adjust, get", adjust, get_20, true),
        ("remove, get", |v| v.remove(&[0x20]).unwrap(), get_20, true),
        ("put, get of absent", |v| put(v, 0x21), |v| get_like(v, 0x21), true),
        ("put, scan", put_81, scan_80, true),
        ("remove, scan over it", |v| v.remove(&[0x88]).unwrap(), scan_80, true),
    ];
    for (name, first, second, expected) in rows {
        let (mut one, mut two) = (view(), view());
        first(&mut one);
        second(&mut two);
        let conflict = two.conflict_with(one.writes());
        assert_eq!(conflict.is_some(), expected, "{name}: {conflict:?}");
    }
}

fn get_like(view: &mut View, key: u8) {
    view.get(&[key]).unwrap();
}

fn put(view: &mut View, key: u8) {
    view.put(&[key], &[]).unwrap();
}

#[derive(Debug, Clone)]
enum Op {
    Put(Vec<u8>, Vec<u8>),
    Remove(Vec<u8>),
    RemoveSpan(Vec<u8>, Option<Vec<u8>>),
    Adjust(Vec<u8>, i64),
    Get(Vec<u8>),
    AtLeast(Vec<u8>, Option<Vec<u8>>),
    AtMost(Vec<u8>, Option<Vec<u8>>),
    Scan(Vec<u8>, Option<Vec<u8>>, bool, usize),
    Visit(Vec<u8>, Option<Vec<u8>>, bool, usize),
}

fn any_key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec![0, 1, 0xff]), 0..3)
}

fn any_value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        2 => (-2..3_i64).prop_map(|count| count.to_be_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..3),
    ]
}

fn any_bound() -> impl Strategy<Value = Option<Vec<u8>>> {
    prop::option::weighted(0.8, any_key())
}

fn any_change() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (any_key(), any_value()).prop_map(|(key, value)| Op::Put(key, value)),
        2 => any_key().prop_map(Op::Remove),
        1 => (any_key(), any_bound()).prop_map(|(a, b)| Op::RemoveSpan(a, b)),
        2 => (any_key(), -2..3_i64).prop_map(|(key, by)| Op::Adjust(key, by)),
    ]
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => any_change(),
        2 => any_key().prop_map(Op::Get),
        1 => (any_key(), any_bound()).prop_map(|(a, b)| Op::AtLeast(a, b)),
        1 => (any_key(), any_bound()).prop_map(|(a, b)| Op::AtMost(a, b)),
        2 => (any_key(), any_bound(), any::<bool>(), 0..12_usize)
            .prop_map(|(a, b, reverse, steps)| Op::Scan(a, b, reverse, steps)),
        2 => (any_key(), any_bound(), any::<bool>(), 1..12_usize)
            .prop_map(|(a, b, reverse, pairs)| Op::Visit(a, b, reverse, pairs)),
    ]
}

fn any_content() -> impl Strategy<Value = BTreeMap<Vec<u8>, Vec<u8>>> {
    prop::collection::btree_map(any_key(), any_value(), 0..10)
}

type Answer = Vec<(Vec<u8>, Vec<u8>)>;

/// Performs an operation and returns its answer. Skips reversed bounds.
fn perform(store: &mut dyn KvWrite, op: &Op) -> Answer {
    let own = |(key, value): permazen_kv::Pair<'_>| (key.into_owned(), value.into_owned());
    match op {
        Op::Put(key, value) => store.put(key, value).unwrap(),
        Op::Remove(key) => store.remove(key).unwrap(),
        Op::RemoveSpan(min, max) => {
            let span = KeySpan::new(min, max.as_deref());
            assert_eq!(store.remove_span(span).is_err(), span.check().is_err());
        }
        Op::Adjust(key, by) => store.adjust_counter(key, *by).unwrap(),
        Op::Get(key) => {
            let value = store.get(key).unwrap();
            return value.map(|value| (key.clone(), value.into_owned())).into_iter().collect();
        }
        Op::AtLeast(min, max) => {
            return store.at_least(min, max.as_deref()).unwrap().map(own).into_iter().collect();
        }
        Op::AtMost(min, max) => {
            return store.at_most(min, max.as_deref()).unwrap().map(own).into_iter().collect();
        }
        Op::Scan(min, max, reverse, steps) => {
            let direction = if *reverse { Direction::Reverse } else { Direction::Forward };
            let span = KeySpan::new(min, max.as_deref());
            return match store.scan(span, direction) {
                Ok(scan) => scan.take(*steps).map(|pair| own(pair.unwrap())).collect(),
                Err(_) => {
                    assert!(span.check().is_err());
                    Vec::new()
                }
            };
        }
        Op::Visit(min, max, reverse, pairs) => {
            let direction = if *reverse { Direction::Reverse } else { Direction::Forward };
            let span = KeySpan::new(min, max.as_deref());
            let mut seen = Vec::new();
            let visited = store.visit(span, direction, &mut |key, value| {
                seen.push((key.to_vec(), value.to_vec()));
                if seen.len() < *pairs { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            assert_eq!(visited.is_err(), span.check().is_err());
            return seen;
        }
    }
    Vec::new()
}

fn content(store: &dyn KvRead) -> Answer {
    let scan = store.scan(KeySpan::FULL, Direction::Forward).unwrap();
    scan.map(|pair| pair.map(|(key, value)| (key.into_owned(), value.into_owned())).unwrap())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_view_behaves_like_the_store_it_pretends_to_be(
        base in any_content(),
        ops in prop::collection::vec(any_op(), 1..25),
    ) {
        let model = MemoryStore::new();
        let mut model_tx = model.begin(&TxOptions::writing()).unwrap();
        for (key, value) in &base {
            model_tx.put(key, value).unwrap();
        }
        let mut view = MutableView::new(snapshot(&base));
        let mut weak = MutableView::untracked(snapshot(&base));
        for op in &ops {
            let expected = perform(&mut *model_tx, op);
            prop_assert_eq!(&perform(&mut view, op), &expected, "{:?}", op);
            prop_assert_eq!(&perform(&mut weak, op), &expected, "{:?}", op);
        }
        let expected = content(&model_tx);
        prop_assert_eq!(content(&view), expected.clone());
        let mut reversed: Answer = view
            .scan(KeySpan::FULL, Direction::Reverse)
            .unwrap()
            .map(|pair| pair.map(|(key, value)| (key.into_owned(), value.into_owned())).unwrap())
            .collect();
        reversed.reverse();
        prop_assert_eq!(reversed, expected.clone());

        // The changes, made to the base, lead to the same content, also in serialized form.
        let writes = view.into_writes();
        prop_assert_eq!(&writes, &weak.into_writes());
        for key in writes.adjusts.keys() {
            prop_assert!(!writes.puts.contains_key(key) && !writes.removes.contains(key));
        }
        let writes = Writes::decode(&mut &writes.to_bytes().unwrap()[..]).unwrap();
        let store = MemoryStore::new();
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        for (key, value) in &base {
            tx.put(key, value).unwrap();
        }
        tx.apply(&writes).unwrap();
        prop_assert_eq!(content(&tx), expected);
    }

    /// Changes of others that are no conflict do not change any answer.
    #[test]
    fn what_is_not_recorded_does_not_matter(
        base in any_content(),
        ops in prop::collection::vec(any_op(), 1..12),
        changes in prop::collection::vec(any_change(), 1..4),
    ) {
        let mut view = MutableView::new(snapshot(&base));
        let answers: Vec<Answer> = ops.iter().map(|op| perform(&mut view, op)).collect();

        let mut other = MutableView::untracked(snapshot(&base));
        for change in &changes {
            perform(&mut other, change);
        }
        let changed: BTreeMap<_, _> = content(&other).into_iter().collect();
        let reads = view.reads();
        if view.conflict_with(other.writes()).is_none() {
            let mut again = MutableView::new(snapshot(&changed));
            for (op, answer) in ops.iter().zip(&answers) {
                prop_assert_eq!(&perform(&mut again, op), answer, "{:?}, reads {:?}", op, reads);
            }
        }
    }
}

/// One change at a time, each checked at once, on a view whose base is replaced by the content of
/// the view again and again.
fn change_one_by_one(steps: usize, keys: u16, prefix: usize, longest: usize, rng: &mut StdRng) {
    let store = MemoryStore::new();
    let new_view = || MutableView::new(Arc::new(store.snapshot()) as SharedRead);
    let (mut view, mut model) = (new_view(), BTreeMap::<Vec<u8>, Vec<u8>>::new());
    let mut held = Vec::new();
    for step in 0..steps {
        let number = rng.random_range(0..keys);
        let key_of = |number: u16| [vec![7; prefix], number.to_be_bytes().to_vec()].concat();
        let key = key_of(number);
        match rng.random_range(0..20) {
            0..8 => {
                let value = vec![rng.random(); rng.random_range(0..=longest)];
                view.put(&key, &value).unwrap();
                model.insert(key.clone(), value);
            }
            8..14 => {
                view.remove(&key).unwrap();
                model.remove(&key);
            }
            14 => {
                let max = key_of(number + rng.random_range(0..5));
                view.remove_span(KeySpan::new(&key, Some(&max))).unwrap();
                model.retain(|other, _| *other < key || *other >= max);
            }
            15..18 => {
                let by: i64 = rng.random_range(-2..3);
                view.adjust_counter(&key, by).unwrap();
                if let Some(value) = model.get_mut(&key)
                    && let Ok(count) = <[u8; 8]>::try_from(&value[..])
                {
                    *value = i64::from_be_bytes(count).wrapping_add(by).to_be_bytes().to_vec();
                }
            }
            _ => {
                let count: i64 = rng.random_range(-2..3);
                view.put(&key, &view.encode_counter(count)).unwrap();
                model.insert(key.clone(), count.to_be_bytes().to_vec());
            }
        }
        let scan = |direction| -> Answer {
            let span = match direction {
                Direction::Forward => KeySpan::new(&key, None),
                Direction::Reverse => KeySpan::new(&[], Some(&key)),
            };
            let pairs = view.scan(span, direction).unwrap().map(Result::unwrap).take(3);
            pairs.map(|(key, value)| (key.into_owned(), value.into_owned())).collect()
        };
        let own = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
        let above: Answer = model.range(key.clone()..).take(3).map(own).collect();
        let below: Answer = model.range(..key.clone()).rev().take(3).map(own).collect();
        assert_eq!(view.get(&key).unwrap().as_deref(), model.get(&key).map(|value| &value[..]));
        assert_eq!((scan(Direction::Forward), scan(Direction::Reverse)), (above, below), "{step}");
        // Twice a snapshot is held for a while; then the base gets all changes.
        let times = 3 * usize::from(keys) + 100;
        if step % times == times / 3 {
            held.push((view.snapshot(), model.clone()));
        }
        if step % times == times - 1 {
            let mut tx = store.begin(&TxOptions::writing()).unwrap();
            tx.apply(view.writes()).unwrap();
            tx.commit().unwrap();
            assert!(content(&view).into_iter().eq(model.clone()), "step {step}");
            view = new_view();
            assert!(content(&view).into_iter().eq(model.clone()), "step {step}");
            if held.len() > 2 {
                held.drain(..2).for_each(|(snapshot, model)| {
                    assert!(content(&*snapshot).into_iter().eq(model), "step {step}");
                });
            }
        }
    }
}

#[test]
fn a_view_equals_a_sorted_map_after_each_change() {
    let changes = std::env::var("PERMAZEN_CHANGES").map_or(100_000, |count| count.parse().unwrap());
    let mut rng = StdRng::seed_from_u64(1);
    for (keys, prefix, longest) in [(1, 0, 9), (5, 0, 130), (70, 30, 50), (2000, 2, 20)] {
        change_one_by_one(changes / 4, keys, prefix, longest, &mut rng);
    }
}
