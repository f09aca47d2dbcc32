//! Key arithmetic, ranges, sets of ranges, filters and serialized changes (kv §1, §4.1, §7).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use permazen_kv::filter::{Intersection, KeyFilter, Union};
use permazen_kv::key::{after_prefix, is_next_key, next_key, parse_hex};
use permazen_kv::{
    Change, Changes, Hex, KeyRange, KeyRanges, KeySpan, KvError, PairList, Writes, encode_pairs,
};
use proptest::prelude::*;

fn hex(text: &str) -> Vec<u8> {
    parse_hex(text).unwrap()
}

/// `min,max` in hexadecimal, `max` possibly missing.
fn range(text: &str) -> KeyRange {
    let (min, max) = text.split_once(',').unwrap();
    KeyRange::new(hex(min), (!max.is_empty()).then(|| hex(max))).unwrap()
}

fn ranges(texts: &[&str]) -> KeyRanges {
    let list: Vec<KeyRange> = texts.iter().map(|text| range(text)).collect();
    list.iter().map(KeyRange::span).collect()
}

#[test]
fn keys_that_follow() {
    assert_eq!(next_key(&[]), [0]);
    assert!(is_next_key(&[7], &[7, 0]));
    assert!(!is_next_key(&[7], &[7, 1]) && !is_next_key(&[7], &[8]) && !is_next_key(&[7], &[7]));
    assert_eq!(after_prefix(&hex("12ff")), Some(hex("13")));
    assert_eq!(after_prefix(&hex("1200")), Some(hex("1201")));
    assert_eq!(after_prefix(&hex("12ffff")), Some(hex("13")));
    for none in ["", "ff", "ffff"] {
        assert_eq!(after_prefix(&hex(none)), None);
    }
}

#[test]
fn hexadecimal_text() {
    assert_eq!(parse_hex("00aBCdef").unwrap(), [0, 0xab, 0xcd, 0xef]);
    for bad in ["0", "012", "0g", "0x01", " 01", "01 ", "-1", "é", "0é0"] {
        assert!(matches!(parse_hex(bad), Err(KvError::InvalidArgument(_))), "{bad:?}");
    }
}

#[test]
fn range_members() {
    assert!(KeyRange::new(hex("02"), Some(hex("01"))).is_err());
    let r = range("10,20");
    assert!(r.contains(&hex("10")) && r.contains(&hex("1fff")) && !r.contains(&hex("20")));
    assert!(r.contains_range(&range("20,20")) && !r.contains_range(&range("21,21")));
    assert!(r.contains_range(&range("10,20")) && !r.contains_range(&range("10,")));
    assert!(r.overlaps(&range("15,15")) && !r.overlaps(&range("10,10")));
    assert!(!r.overlaps(&range("20,")) && r.overlaps(&range("1fff,")));
    let orders: Vec<_> = ["0f", "10", "1f", "20"].map(|k| r.compare_key(&hex(k)) as i8).into();
    assert_eq!(orders, [1, 0, 0, -1]);
    assert!(KeyRange::single(&[1]).is_single_key() && range("01,01").is_empty());
    assert!(KeyRange::full().is_full() && KeyRange::full().is_prefix_range());
    assert!(range("ff,").is_prefix_range() && !range("01,").is_prefix_range());
    assert_eq!(KeyRange::with_prefix(&[]), KeyRange::full());
    assert_eq!(KeyRange::with_prefix(&hex("ffff")), range("ffff,"));
    assert_eq!(KeyRange::with_prefix(&hex("12ff")), range("12ff,13"));
}

#[test]
fn ranges_with_a_prefix_put_before() {
    assert_eq!(range("20,").prefixed_by(&hex("30")), range("3020,31"));
    assert_eq!(KeyRange::full().prefixed_by(&hex("ff")), range("ff,"));
    assert_eq!(range("20,21").prefixed_by(&hex("30")), range("3020,3021"));
    assert_eq!(KeyRanges::full().prefixed_by(&hex("30")), ranges(&["30,31"]));
}

#[test]
fn range_text() {
    let rows = [
        (KeyRange::single(&[1]), "[01]"),
        (range("01,02"), "[01*]"),
        (range("01,"), "[01,)"),
        (range("01,0105"), "[01,0105)"),
        (KeyRange::full(), "[*]"),
        (range("05,05"), "[05,05)"),
    ];
    for (range, text) in rows {
        assert_eq!(range.to_string(), text);
    }
}

#[test]
fn range_orders() {
    let (a, b, c) = (range("01,03"), range("01,"), range("02,03"));
    assert!(a < b && b < c);
    assert!(a.cmp_by_max(&c).is_lt() && c.cmp_by_max(&b).is_lt());
}

#[test]
fn sets_are_normalised() {
    assert_eq!(ranges(&["0101,", "01,0100"]).len(), 2);
    assert_eq!(ranges(&["03,05", "05,07"]), ranges(&["03,07"]));
    assert!(ranges(&[",02", "01,"]).is_full());
    let mut set = ranges(&["01,02", "03,04", "0400,06", "09,0a", "0b,"]);
    set.remove(range("0100,0b").span());
    assert_eq!(set, ranges(&["01,0100", "0b,"]));
}

#[test]
fn sets_answer_about_ranges() {
    let set = ranges(&["10,20", "30,40"]);
    assert!(set.contains_span(range("12,20").span()) && !set.contains_span(range("12,31").span()));
    assert!(!set.contains_span(range("20,20").span()) && set.contains_span(range("10,10").span()));
    assert!(set.intersects(range("15,15").span()) && !set.intersects(range("10,10").span()));
    assert!(!set.intersects(range("20,30").span()) && set.intersects(range("20,").span()));
    let at = |min, max| Some((hex(min), Some(hex(max))));
    let own = |span: Option<KeySpan<'_>>| span.map(|s| (s.min.to_vec(), s.max.map(<[u8]>::to_vec)));
    assert_eq!(own(set.find(&hex("15"))), at("10", "20"));
    let (left, right) = set.neighbours(&hex("25"));
    assert_eq!((own(left), own(right)), (at("10", "20"), at("30", "40")));
    let (left, right) = set.neighbours(&hex("15"));
    assert_eq!((own(left), own(right)), (None, at("30", "40")));
    assert_eq!((set.min(), set.max()), (Some(&[0x10][..]), Some(&[0x40][..])));
    assert!(KeyRanges::new().inverse().is_full() && KeyRanges::full().inverse().is_empty());
    assert_eq!(set.to_string(), "[[10,20),[30,40)]");
    let many: KeyRanges = (0..40).map(|i| range(&format!("{i:02x},{i:02x}01"))).fold(
        KeyRanges::new(),
        |mut set, range| {
            set.add(range.span());
            set
        },
    );
    assert!(many.to_string().ends_with("[1f,1f01)...]"));
}

#[test]
fn t086_serialized_changes() {
    let sets = [
        (KeyRanges::new(), "00"),
        (KeyRanges::full(), "017f7f"),
        (ranges(&["0123,0124", "33,34"]), "0281012381012480338034"),
        (ranges(&[",ffff", "ffffff,"]), "027f81ffff7e01ff7d00"),
        (KeyRange::single(&hex("01020304")).into(), "0183010203047c0100"),
    ];
    for (set, text) in sets {
        let mut out = Vec::new();
        set.encode(&mut out).unwrap();
        assert_eq!(Hex(&out).to_string(), text);
        assert_eq!(KeyRanges::decode(&mut &out[..]).unwrap(), set);
    }
    let writes = Writes {
        removes: ranges(&["003333,004444", "6666,6667"]),
        puts: [("1234", "5678"), ("3333", "4444")].map(|(k, v)| (hex(k), hex(v))).into(),
        adjusts: [(hex("77777777"), 1_234_567_890), (hex("99999999"), i64::MIN)].into(),
    };
    let bytes = writes.to_bytes().unwrap();
    let text = "02820033338200444481666681666702811234815678813333814444028377777777fa4996025a8399999999018000000000000076";
    assert_eq!(Hex(&bytes).to_string(), text);
    assert_eq!(bytes.len(), 53);
    assert_eq!(Writes::default().to_bytes().unwrap(), [0, 0, 0]);

    let twice = [&bytes[..], &bytes[..]].concat();
    let mut input = &twice[..];
    assert_eq!(Writes::decode(&mut input).unwrap(), writes);
    assert_eq!(input, bytes);
    for end in 0..bytes.len() {
        let mut cut = &bytes[..end];
        assert!(matches!(Writes::decode(&mut cut), Err(KvError::InvalidArgument(_))), "{end}");
        assert_eq!(cut.len(), end, "input moved by a failure");
    }
}

#[test]
fn t086_serialized_changes_one_at_a_time() {
    let text = "02820033338200444481666681666702811234815678813333814444028377777777fa4996025a8399999999018000000000000076";
    let bytes = hex(text);
    let read = |bytes: &[u8]| Changes::new(bytes).collect::<Result<Vec<_>, _>>();
    let remove =
        |min: &str, max: &str| Change::Remove(KeyRange::new(hex(min), Some(hex(max))).unwrap());
    let put = |key: &str, value: &str| Change::Put { key: hex(key), value: hex(value) };
    let adjust = |key: &str, by| Change::Adjust { key: hex(key), by };
    let expected = [
        remove("003333", "004444"),
        remove("6666", "6667"),
        put("1234", "5678"),
        put("3333", "4444"),
        adjust("77777777", 1_234_567_890),
        adjust("99999999", i64::MIN),
    ];
    assert_eq!(read(&bytes).unwrap(), expected);
    assert_eq!(read(&hex("00 00 00".replace(' ', "").as_str())).unwrap(), []);
    let followed = [&bytes[..], b"rest"].concat();
    let mut changes = Changes::new(&followed);
    assert_eq!(changes.by_ref().count(), 6);
    assert_eq!(changes.rest(), b"rest");
    for end in 0..bytes.len() {
        let mut changes = Changes::new(&bytes[..end]);
        let found = changes.by_ref().take_while(Result::is_ok).count();
        assert!(found < 7, "{end}");
        assert!(changes.next().is_none(), "goes on after an error");
        assert!(read(&bytes[..end]).is_err(), "{end}");
    }
}

/// `KeyListEncoder.writePairs` of Java.
#[test]
fn lists_of_pairs() {
    let pairs = [("0100", "aa"), ("010002", ""), ("02", "bbcc")].map(|(k, v)| (hex(k), hex(v)));
    let encoded = |pairs: &[(Vec<u8>, Vec<u8>)]| {
        let mut out = Vec::new();
        let borrowed =
            pairs.iter().map(|(k, v)| Ok((Cow::Borrowed(&k[..]), Cow::Borrowed(&v[..]))));
        assert_eq!(encode_pairs(borrowed, &mut out).unwrap(), pairs.len() as u64);
        out
    };
    let bytes = encoded(&pairs);
    assert_eq!(Hex(&bytes).to_string(), "81010080aa7e01027f800281bbccff");
    assert_eq!(encoded(&[]), [0xff]);
    let followed = [&bytes[..], &bytes[..]].concat();
    let mut list = PairList::new(&followed);
    assert_eq!(list.by_ref().collect::<Result<Vec<_>, _>>().unwrap(), pairs);
    assert_eq!(list.rest(), bytes);
    assert!(list.next().is_none());
    for end in 0..bytes.len() {
        let mut list = PairList::new(&bytes[..end]);
        assert!(list.by_ref().any(|pair| pair.is_err()), "{end}");
        assert!(list.next().is_none());
    }
    let failing = [Err(KvError::Retry(String::new()))];
    assert!(encode_pairs(failing, &mut Vec::new()).is_err());
}

#[test]
fn t087_serialized_ranges_out_of_order_are_refused() {
    let bad = [
        ("touching", "02800180028002 8003"),
        ("overlapping", "0280018003 80028004"),
        ("descending", "0280038004 80018002"),
        ("after one without end", "0280018001 80028003"),
        ("ends before it starts", "0180028001"),
        ("more promised than there are", "02800180 02"),
        ("shares bytes with nothing", "017e00"),
        ("absurd number", "fe7fffff04"),
        ("absurd length", "01fe7fffffffffffff87"),
        ("bad first byte", "ff"),
    ];
    for (what, text) in bad {
        let bytes = hex(&text.replace(' ', ""));
        assert!(KeyRanges::decode(&mut &bytes[..]).is_err(), "{what}");
    }
    for text in ["0002800180028001 8003 00", "0002800180028000 800300", "000002800180800180"] {
        let bytes = hex(&text.replace(' ', ""));
        assert!(Writes::decode(&mut &bytes[..]).is_err(), "{text}");
    }
}

#[test]
fn t089_seeking_in_a_filter() {
    let set = ranges(&["10,20", "30,40"]);
    let keys = ["", "05", "10", "15", "20", "25", "30", "40", "50"];
    let higher = ["10", "10", "10", "15", "30", "30", "30", "-", "-"];
    let lower = ["40", "-", "10", "15", "20", "20", "30", "40", "40"];
    let show = |found: Option<std::borrow::Cow<'_, [u8]>>| {
        found.map_or("-".to_owned(), |key| Hex(&key).to_string())
    };
    for ((key, higher), lower) in keys.into_iter().zip(higher).zip(lower) {
        assert_eq!(show(set.seek_higher(&hex(key))), higher, "higher than {key}");
        assert_eq!(show(set.seek_lower(&hex(key))), lower, "lower than {key}");
    }
    assert_eq!(show(KeyRanges::full().seek_lower(&[])), "");
    assert_eq!(show(KeyRanges::new().seek_higher(&[])), "-");
}

/// Short keys over few bytes, so that bounds meet often.
fn any_key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec![0, 1, 0xff]), 0..4)
}

fn any_range() -> impl Strategy<Value = KeyRange> {
    (any_key(), prop::option::weighted(0.9, any_key())).prop_map(|(a, b)| match b {
        Some(b) if b < a => KeyRange::new(b, Some(a)).unwrap(),
        b => KeyRange::new(a, b).unwrap(),
    })
}

fn any_ranges() -> impl Strategy<Value = KeyRanges> {
    prop::collection::vec(any_range(), 0..6)
        .prop_map(|list| list.iter().map(KeyRange::span).collect())
}

/// Every key of up to four bytes over a few values; between any two possible bounds there is one.
fn universe() -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..4 {
        last = last
            .iter()
            .flat_map(|key| [0, 1, 0xff].map(|byte| [&key[..], &[byte]].concat()))
            .collect();
        all.extend(last.iter().cloned());
    }
    all
}

fn any_in(set: &BTreeSet<&[u8]>, min: &[u8], max: Option<&[u8]>) -> bool {
    let bounds = (Bound::Included(min), max.map_or(Bound::Unbounded, Bound::Excluded));
    set.range::<[u8], _>(bounds).next().is_some()
}

fn assert_minimal(set: &KeyRanges) {
    let mut previous: Option<Option<Vec<u8>>> = None;
    for span in set.iter() {
        assert!(!span.is_empty());
        if let Some(end) = previous {
            assert!(end.is_some_and(|end| *end < *span.min), "{set}");
        }
        previous = Some(span.max.map(<[u8]>::to_vec));
    }
}

#[derive(Debug, Clone)]
enum SetChange {
    Add(KeyRange),
    AddKey(Vec<u8>),
    AddAll(KeyRanges),
    Remove(KeyRange),
    RemoveAll(KeyRanges),
    Intersect(KeyRange),
    IntersectAll(KeyRanges),
    Inverse,
}

fn any_change() -> impl Strategy<Value = SetChange> {
    prop_oneof![
        4 => any_range().prop_map(SetChange::Add),
        2 => any_key().prop_map(SetChange::AddKey),
        1 => any_ranges().prop_map(SetChange::AddAll),
        3 => any_range().prop_map(SetChange::Remove),
        1 => any_ranges().prop_map(SetChange::RemoveAll),
        1 => any_range().prop_map(SetChange::Intersect),
        1 => any_ranges().prop_map(SetChange::IntersectAll),
        1 => Just(SetChange::Inverse),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn t088_sets_agree_with_brute_force(
        changes in prop::collection::vec(any_change(), 1..12),
        probe in any_range(),
        other in any_ranges(),
    ) {
        let universe = universe();
        let mut set = KeyRanges::new();
        let mut model: BTreeSet<&[u8]> = BTreeSet::new();
        for change in changes {
            let all = universe.iter().map(Vec::as_slice);
            match change {
                SetChange::Add(range) => {
                    set.add(range.span());
                    model.extend(all.filter(|key| range.contains(key)));
                }
                SetChange::AddKey(added) => {
                    set.add_key(&added);
                    model.extend(all.filter(|key| **key == *added));
                }
                SetChange::AddAll(ranges) => {
                    set.add_all(&ranges);
                    model.extend(all.filter(|key| ranges.contains(key)));
                }
                SetChange::Remove(range) => {
                    set.remove(range.span());
                    model.retain(|key| !range.contains(key));
                }
                SetChange::RemoveAll(ranges) => {
                    set.remove_all(&ranges);
                    model.retain(|key| !ranges.contains(key));
                }
                SetChange::Intersect(range) => {
                    set.intersect(range.span());
                    model.retain(|key| range.contains(key));
                }
                SetChange::IntersectAll(ranges) => {
                    set.intersect_all(&ranges);
                    model.retain(|key| ranges.contains(key));
                }
                SetChange::Inverse => {
                    prop_assert_eq!(&set.inverse().inverse(), &set);
                    set = set.inverse();
                    model = all.filter(|key| !model.contains(key)).collect();
                }
            }
            assert_minimal(&set);
        }
        for key in &universe {
            prop_assert_eq!(set.contains(key), model.contains(&key[..]), "{:?} in {}", key, set);
            if let Some(higher) = set.seek_higher(key) {
                prop_assert!(*higher >= **key);
                prop_assert!(!any_in(&model, key, Some(&higher)));
            } else {
                prop_assert!(!any_in(&model, key, None));
            }
            if !key.is_empty() {
                let lower = set.seek_lower(key);
                let from = lower.as_deref().unwrap_or_default();
                prop_assert!(*from <= **key && lower.as_deref() != Some(&[]));
                prop_assert!(!any_in(&model, from, Some(key)));
            }
        }
        let inside = |key: &&Vec<u8>| probe.contains(key);
        if !probe.is_empty() {
            let keys: Vec<_> = universe.iter().filter(inside).collect();
            let all_in = keys.iter().all(|key| model.contains(&key[..]));
            // The universe is finite: a range without end may have no key of it beyond the last.
            prop_assert!(all_in || !set.contains_span(probe.span()));
            let some_in = keys.iter().any(|key| model.contains(&key[..]));
            prop_assert!(!some_in || set.intersects(probe.span()));
            let mut rest = KeyRanges::from(probe.clone());
            rest.remove_all(&set);
            prop_assert_eq!(rest.is_empty(), set.contains_span(probe.span()));
            let mut common = set.clone();
            common.intersect(probe.span());
            prop_assert_eq!(!common.is_empty(), set.intersects(probe.span()));
        }
        let mut joined = other.clone();
        joined.add_all(&set);
        prop_assert_eq!(joined == other, other.contains_all(&set));
        for key in &universe {
            let union = Union(vec![&set, &other]);
            let both = Intersection(vec![&set, &other]);
            prop_assert_eq!(union.contains(key), joined.contains(key));
            prop_assert_eq!(both.contains(key), set.contains(key) && other.contains(key));
            for filter in [&union as &dyn KeyFilter, &both] {
                match filter.seek_higher(key) {
                    Some(to) => prop_assert!(!universe.iter().any(|k| k >= key && **k < *to && filter.contains(k))),
                    None => prop_assert!(!universe.iter().any(|k| k >= key && filter.contains(k))),
                }
                match filter.seek_lower(key) {
                    Some(to) if to.is_empty() => prop_assert!(key.is_empty()),
                    Some(to) => {
                        let below = |k: &Vec<u8>| key.is_empty() || k < key;
                        prop_assert!(!universe.iter().any(|k| below(k) && **k >= *to && filter.contains(k)));
                    }
                    None => {
                        let below = |k: &Vec<u8>| key.is_empty() || k < key;
                        prop_assert!(!universe.iter().any(|k| below(k) && filter.contains(k)));
                    }
                }
            }
        }
        let mut bytes = Vec::new();
        set.encode(&mut bytes).unwrap();
        prop_assert_eq!(KeyRanges::decode(&mut &bytes[..]).unwrap(), set);
    }

    #[test]
    fn reading_arbitrary_bytes_is_an_error_or_gives_what_is_written(
        bytes in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut input = &bytes[..];
        if let Ok(writes) = Writes::decode(&mut input) {
            let written = writes.to_bytes().unwrap();
            prop_assert_eq!(Writes::decode(&mut &written[..]).unwrap(), writes);
        }
    }

    #[test]
    fn changes_survive_serialization(
        removes in any_ranges(),
        puts in prop::collection::btree_map(any_key(), prop::collection::vec(any::<u8>(), 0..200), 0..8),
        adjusts in prop::collection::btree_map(any_key(), any::<i64>(), 0..8),
    ) {
        let writes = Writes { removes, puts, adjusts };
        let bytes = writes.to_bytes().unwrap();
        let mut input = &bytes[..];
        prop_assert_eq!(&Writes::decode(&mut input).unwrap(), &writes);
        prop_assert!(input.is_empty());
        let mut list = Vec::new();
        let pairs = writes.puts.iter().map(|(k, v)| Ok((Cow::Borrowed(&k[..]), Cow::Borrowed(&v[..]))));
        encode_pairs(pairs, &mut list).unwrap();
        let read: BTreeMap<_, _> = PairList::new(&list).map(Result::unwrap).collect();
        prop_assert_eq!(read, writes.puts);
    }
}
