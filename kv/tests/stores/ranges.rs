//! Key arithmetic, sets of ranges and serialized changes.

use std::collections::BTreeSet;

use permazen_kv::key::{after_prefix, is_next_key, next_key, parse_hex};
use permazen_kv::{Hex, KeyRanges, KeySpan, KvError, Writes};
use proptest::prelude::*;

fn hex(text: &str) -> Vec<u8> {
    parse_hex(text).unwrap()
}

/// An owned span.
#[derive(Debug, Clone)]
struct Range {
    min: Vec<u8>,
    max: Option<Vec<u8>>,
}

impl Range {
    fn span(&self) -> KeySpan<'_> {
        KeySpan::new(&self.min, self.max.as_deref())
    }
}

/// `min,max` in hexadecimal; `max` may be missing.
fn range(text: &str) -> Range {
    let (min, max) = text.split_once(',').unwrap();
    Range { min: hex(min), max: (!max.is_empty()).then(|| hex(max)) }
}

fn ranges(texts: &[&str]) -> KeyRanges {
    let list: Vec<Range> = texts.iter().map(|text| range(text)).collect();
    list.iter().map(Range::span).collect()
}

/// The serialized form of a set of ranges: that of changes that only remove these.
fn serialized(removes: &KeyRanges) -> Vec<u8> {
    let mut bytes = Writes { removes: removes.clone(), ..Writes::default() }.to_bytes().unwrap();
    assert_eq!(bytes.split_off(bytes.len() - 2), [0, 0]);
    bytes
}

fn read(bytes: &[u8]) -> Result<KeyRanges, KvError> {
    Writes::decode(&mut &[bytes, &[0, 0]].concat()[..]).map(|writes| writes.removes)
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
fn sets_are_normalised() {
    assert_eq!(ranges(&["0101,", "01,0100"]).len(), 2);
    assert_eq!(ranges(&["03,05", "05,07"]), ranges(&["03,07"]));
    assert_eq!(ranges(&[",02", "01,"]), ranges(&[","]));
}

#[test]
fn sets_answer_about_ranges() {
    let set = ranges(&["10,20", "30,40"]);
    assert!(set.intersects(range("15,15").span()) && !set.intersects(range("10,10").span()));
    assert!(!set.intersects(range("20,30").span()) && set.intersects(range("20,").span()));
    assert_eq!(set.to_string(), "[[10,20),[30,40)]");
    let many: Vec<String> = (0..40).map(|i| format!("{i:02x},{i:02x}01")).collect();
    let many = ranges(&many.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(many.to_string().ends_with("[1f,1f01)...]"));
}

#[test]
fn t086_serialized_changes() {
    let sets = [
        (KeyRanges::new(), "00"),
        (ranges(&[","]), "017f7f"),
        (ranges(&["0123,0124", "33,34"]), "0281012381012480338034"),
        (ranges(&[",ffff", "ffffff,"]), "027f81ffff7e01ff7d00"),
        (ranges(&["01020304,0102030400"]), "0183010203047c0100"),
    ];
    for (set, text) in sets {
        let bytes = serialized(&set);
        assert_eq!(Hex(&bytes).to_string(), text);
        assert_eq!(read(&bytes).unwrap(), set);
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
        assert!(read(&bytes).is_err(), "{what}");
    }
    for text in ["0002800180028001 8003 00", "0002800180028000 800300", "000002800180800180"] {
        let bytes = hex(&text.replace(' ', ""));
        assert!(Writes::decode(&mut &bytes[..]).is_err(), "{text}");
    }
}

/// Short keys of a few different bytes, so that bounds often meet.
fn any_key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec![0, 1, 0xff]), 0..4)
}

fn any_range() -> impl Strategy<Value = Range> {
    (any_key(), prop::option::weighted(0.9, any_key())).prop_map(|(min, max)| match max {
        Some(max) if max < min => Range { min: max, max: Some(min) },
        max => Range { min, max },
    })
}

fn any_ranges() -> impl Strategy<Value = KeyRanges> {
    prop::collection::vec(any_range(), 0..6).prop_map(|list| list.iter().map(Range::span).collect())
}

/// Every key of up to four bytes of a few values. Between any two possible bounds there is one.
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
    Add(Range),
    AddKey(Vec<u8>),
}

fn any_change() -> impl Strategy<Value = SetChange> {
    prop_oneof![
        2 => any_range().prop_map(SetChange::Add),
        1 => any_key().prop_map(SetChange::AddKey),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn t088_sets_agree_with_brute_force(
        changes in prop::collection::vec(any_change(), 1..12),
        probe in any_range(),
    ) {
        let universe = universe();
        let mut set = KeyRanges::new();
        let mut model: BTreeSet<&[u8]> = BTreeSet::new();
        for change in changes {
            let all = universe.iter().map(Vec::as_slice);
            match change {
                SetChange::Add(range) => {
                    set.add(range.span());
                    model.extend(all.filter(|key| range.span().contains(key)));
                }
                SetChange::AddKey(added) => {
                    set.add_key(&added);
                    model.extend(all.filter(|key| **key == *added));
                }
            }
            assert_minimal(&set);
        }
        for key in &universe {
            prop_assert_eq!(set.contains(key), model.contains(&key[..]), "{:?} in {}", key, set);
        }
        if !probe.span().is_empty() {
            let some_in = universe.iter().any(|key| probe.span().contains(key) && model.contains(&key[..]));
            // The universe is finite: it contains no key of a range that begins after all of it.
            prop_assert!(!some_in || set.intersects(probe.span()));
            let apart = |span: KeySpan<'_>| {
                span.max.is_some_and(|max| max <= &probe.min[..])
                    || probe.max.as_ref().is_some_and(|max| &max[..] <= span.min)
            };
            prop_assert_eq!(set.intersects(probe.span()), !set.iter().all(apart));
        }
        prop_assert_eq!(read(&serialized(&set)).unwrap(), set);
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
    }
}
