//! Scalars are written, read and skipped without allocation. Strings are borrowed where their bytes
//! allow it. Reading takes no more memory than the bytes justify. This program's own allocator
//! counts, for the thread that asks.
#![allow(missing_docs, clippy::expect_used, unsafe_code)]

#[path = "encodings/catalogue.rs"]
mod catalogue;

use std::alloc::{GlobalAlloc, Layout, System};
use std::borrow::Cow;
use std::cell::Cell;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use permazen::__internal::encoding::{
    EnumEncoding, NullSafe, ObjIdEncoding, ReferenceEncoding, TupleEncoding, UnknownEncoding,
    UnsignedIntEncoding,
};
use permazen::ObjId;
use permazen::encoding::number::{
    DoubleSummaryStatistics, IntSummaryStatistics, LongSummaryStatistics,
};
use permazen::encoding::time::{
    Date, Duration, Instant, LocalDate, LocalDateTime, LocalTime, MonthDay, OffsetDateTime,
    OffsetTime, Period, Year, YearMonth, ZoneId, ZoneOffset, ZonedDateTime,
};
use permazen::encoding::{
    Encodable, Encoding, EncodingRegistry, EnumValue, FieldType, JavaChar, Reader, Uuid, Value,
    Void, long, string, uint,
};
use permazen::schema::SchemaModel;

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    /// Bytes held now, and the maximum since this was last set.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn held(change: isize) {
    HELD.with(|held| {
        held.set(held.get() + change);
        MOST.with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: everything is left to the system's allocator. Counting allocates nothing itself, since
// the counter is a thread-local constant without destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        held(layout.size() as isize);
        // SAFETY: as for the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        held(-(layout.size() as isize));
        // SAFETY: as for the caller; the pointer came from the same allocator.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        held(size as isize - layout.size() as isize);
        // SAFETY: as for the caller; the pointer came from the same allocator.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[track_caller]
fn without_allocation<R>(what: &str, body: impl FnOnce() -> R) -> R {
    let before = COUNT.get();
    let result = black_box(body());
    let count = COUNT.get() - before;
    assert_eq!(count, 0, "{what}: {count} allocations");
    result
}

/// The typed side: a value and the `Option` of it.
fn check<T: FieldType>(value: T) {
    let name = std::any::type_name::<T>();
    let mut out = Vec::with_capacity(256);
    without_allocation(&format!("write {name}"), || {
        black_box(&value).encode_to(&mut out).expect("storable");
    });
    without_allocation(&format!("read {name}"), || {
        T::decode_all(black_box(&out)).expect("written")
    });
    without_allocation(&format!("skip {name}"), || {
        T::skip_encoded(&mut Reader::new(black_box(&out))).expect("written");
    });
    check_dynamic(&*T::encoding(), &value.to_value());
}

fn check_both<T: Encodable>(value: T) {
    check(Some(value.clone()));
    check(None::<T>);
    check(value);
}

/// The dynamic side, as tools use it.
fn check_dynamic(encoding: &dyn Encoding, value: &Value) {
    let name = encoding.name().into_owned();
    let mut out = Vec::with_capacity(256);
    without_allocation(&format!("write {name}"), || {
        encoding.encode(black_box(value), &mut out).expect("storable");
    });
    without_allocation(&format!("read {name}"), || {
        encoding.decode_all(black_box(&out)).expect("written")
    });
    check_bytes(encoding, &out);
}

fn check_bytes(encoding: &dyn Encoding, bytes: &[u8]) {
    let name = encoding.name().into_owned();
    without_allocation(&format!("skip {name}"), || {
        encoding.skip(&mut Reader::new(black_box(bytes))).expect("written");
    });
}

#[test]
fn the_allocator_counts() {
    let before = COUNT.get();
    drop(black_box(Box::new(5)));
    assert_eq!(COUNT.get() - before, 1);
}

#[test]
fn number_codes() {
    let mut out = Vec::with_capacity(64);
    without_allocation("codes", || {
        for number in [0, 250, 251, 65_787, uint::MAX] {
            out.clear();
            uint::write(number, &mut out);
            assert_eq!(uint::decode(&out), Ok(number));
        }
        for number in [0, -119, 120, i64::MIN, i64::MAX] {
            out.clear();
            long::write(number, &mut out);
            assert_eq!(long::decode(&out), Ok(number));
        }
    });
}

#[test]
fn scalars() {
    check_both(true);
    check_both(-5i8);
    check_both(-500i16);
    check_both(100_000i32);
    check_both(1_234_567_890_123i64);
    check_both(JavaChar(0x20ac));
    check_both(1.5f32);
    check_both(-0.0f64);
    check(None::<Void>);
    check_both(Uuid::from_u128(1 << 100));
    check_both(Ipv4Addr::new(1, 2, 3, 4));
    check_both(Ipv6Addr::LOCALHOST);
    check_both(IpAddr::V6(Ipv6Addr::LOCALHOST));
    check_both(IntSummaryStatistics::new(8, 2, 3, 5).expect("valid"));
    check_both(LongSummaryStatistics::new(8, 2, 3, 5).expect("valid"));
    check_both(DoubleSummaryStatistics::new(8.0, 2, 3.0, 5.0).expect("valid"));
}

#[test]
fn times() {
    fn parsed<T: Encodable>(text: &str) {
        check_both(T::from_text(text).expect("valid"));
    }
    parsed::<Date>("2024-02-29T12:34:56.789Z");
    parsed::<Duration>("PT-1M-0.5S");
    parsed::<Instant>("2024-02-29T12:34:56.789Z");
    parsed::<LocalDate>("-999999999-01-01");
    parsed::<LocalDateTime>("2024-02-29T12:34:56.789");
    parsed::<LocalTime>("12:34:56.789");
    parsed::<MonthDay>("--02-29");
    parsed::<OffsetDateTime>("2024-02-29T12:34:56.789+05:30");
    parsed::<OffsetTime>("12:34:56+05:30");
    parsed::<Period>("P1Y2M3D");
    parsed::<Year>("2024");
    parsed::<YearMonth>("2024-02");
    parsed::<ZoneOffset>("-08:00");
    parsed::<ZoneId>("-08:00");
    parsed::<ZoneId>("Europe/Vienna");
    parsed::<ZonedDateTime>("2024-02-29T12:34:56.789-05:00[America/New_York]");
    parsed::<ZonedDateTime>("2024-02-29T12:34:56.789-05:00");
}

#[test]
fn what_schemas_and_layers_build() {
    let colours = EnumEncoding::new(["RED", "GREEN"]).expect("identifiers");
    check_dynamic(&colours, &Value::Enum(EnumValue::new("GREEN", 1)));
    check_dynamic(&colours, &Value::Null);
    let id: ObjId = "0a00000000000001".parse().expect("an id");
    let allowed = [id.storage_id()].into_iter().collect();
    for encoding in [ReferenceEncoding::new(None), ReferenceEncoding::new(Some(allowed))] {
        check_dynamic(&encoding, &Value::Ref(id));
        check_dynamic(&encoding, &Value::Null);
    }
    check_dynamic(&ObjIdEncoding, &Value::Ref(id));
    check_dynamic(&UnsignedIntEncoding, &Value::Int(300));
    let nullable = NullSafe::new(None, Arc::new(ObjIdEncoding)).expect("without null");
    check_dynamic(&nullable, &Value::Ref(id));
}

/// Values of every encoding and of any length are skipped without being built.
#[test]
fn everything_is_skipped() {
    let registry = EncodingRegistry::new();
    for (alias, text) in [
        ("String", "Füchse"),
        ("BigInteger", "-123456789012345678901234567890"),
        ("BigDecimal", "-123456789012345678901234567890.5"),
        ("BitSet", "[123456]"),
        ("URI", "https://example.com/a?b=c"),
        ("Pattern", "[a-z]+"),
        ("File", "/usr/share"),
        ("InternetAddress", "Fred <fred@example.com>"),
        ("boolean[]", r#"[ "true", "false" ]"#),
        ("int[]", r#"[ "1", "-1000" ]"#),
        ("char[]", r#"[ "a", "€" ]"#),
        ("double[]", r#"[ "1.5" ]"#),
        ("String[]", r#"[ "a", null ]"#),
        ("UUID[][]", r#"[ "[ \"1-2-3-4-5\", null ]", null ]"#),
    ] {
        let encoding = registry.find_alias(alias).expect("an alias").expect("known");
        let value = encoding.from_text(text).expect("valid");
        check_bytes(&*encoding, &encoding.encode_all(&value).expect("storable"));
    }
    check_bytes(&UnknownEncoding::new("urn:example:unknown".parse().expect("a URN")), b"opaque");
}

/// The maximum of the memory that `body` holds, beyond the memory that was held before.
fn most_held(body: impl FnOnce()) -> isize {
    let before = HELD.get();
    MOST.set(before);
    body();
    MOST.get() - before
}

/// Encodings of all kinds, and tuples.
fn encodings() -> Vec<Arc<dyn Encoding>> {
    let registry = EncodingRegistry::new();
    let columns: Vec<_> = ["BitSet", "BigInteger", "String"]
        .iter()
        .filter_map(|a| registry.find_alias(a).ok()?)
        .collect();
    let mut all = catalogue::all_encodings();
    all.push(Arc::new(TupleEncoding::new(columns).expect("three columns")));
    all
}

/// Lengths that promise more than follows, as many values as a byte can stand for, and noise.
fn hostile_bytes() -> Vec<Vec<u8>> {
    let mut inputs = vec![
        b"\xfa\x0f\xff\xff\xff\x7f".to_vec(),
        b"\x05\xf0\x00\x00\x00\x80".to_vec(),
        b"\xfe\x7f\xff\xff\x04\x01".to_vec(),
        b"\x03\xfb\x7f\xff\xff\xff\x22".to_vec(),
    ];
    for byte in [0x00, 0x01, 0x11, 0x55, 0x7f, 0x80, 0xaa, 0xfa, 0xff] {
        inputs.push(vec![byte; 2000]);
        inputs.push([vec![1], vec![byte; 2000]].concat());
        inputs.push([byte, 0xff].repeat(1000));
        inputs.push([0x01, byte].repeat(1000));
    }
    let mut seed = 7u64;
    for length in [3, 20, 200, 3000] {
        for _ in 0..40 {
            let noise = std::iter::repeat_with(|| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 56) as u8
            });
            inputs.push(noise.take(length).collect());
        }
    }
    inputs
}

#[test]
fn what_is_read_takes_no_more_than_its_bytes_justify() {
    // A value of an array takes this much memory: twice while the array grows, and once more when
    // it is complete.
    let per_byte = 4 * size_of::<Value>() as isize;
    for encoding in encodings() {
        for bytes in hostile_bytes() {
            let limit = bytes.len() as isize * per_byte + 1000;
            let most = most_held(|| {
                let _ = black_box(encoding.decode(&mut Reader::new(&bytes)));
                let _ = black_box(encoding.skip(&mut Reader::new(&bytes)));
                let _ = black_box(encoding.check_canonical(&bytes));
            });
            assert!(most <= limit, "{} of {} bytes: {most}", encoding.name(), bytes.len());
            let Ok(text) = std::str::from_utf8(&bytes) else { continue };
            let most = most_held(|| drop(black_box(encoding.from_text(text))));
            assert!(most <= limit, "{} from a text of {}: {most}", encoding.name(), bytes.len());
        }
        for text in ["1E+2147483647", "1E-2147483647", "[ffffffff]", "P999999999Y", "+999999999"] {
            let most = most_held(|| {
                let value = encoding.from_text(text);
                let _ = black_box(value.and_then(|value| encoding.to_text(&value)));
            });
            assert!(most <= 10_000, "{} of {text}: {most}", encoding.name());
        }
    }
}

#[test]
fn a_document_takes_no_more_than_its_size_justifies() {
    let element = r#"<CounterField name="a"/>"#;
    let wide = format!("<Schema><ObjectType name='T'>{}", element.repeat(2000));
    let attributes = format!("<Schema {}/>", "a='' ".repeat(20_000));
    let deep = "<Schema><ObjectType name='T'>".repeat(2000);
    let references = format!("<Schema><ObjectType name='{}'/></Schema>", "&#x10ffff;".repeat(5000));
    let comment = format!("<Schema><!--{}--></Schema>", "-x".repeat(50_000));
    for document in [wide, attributes, deep, references, comment] {
        let most = most_held(|| drop(black_box(SchemaModel::from_xml(document.as_bytes()))));
        let limit = 32 * document.len() as isize + 100_000;
        assert!(most <= limit, "{} bytes: {most}", document.len());
    }
}

#[test]
fn strings_are_borrowed_where_bytes_allow() {
    let mut out = Vec::with_capacity(256);
    for text in ["", "The quick brown fox", "~ to the last of ASCII \u{7f}", "line\nbreak\t"] {
        without_allocation("string", || {
            out.clear();
            string::write(text, &mut out);
            let read = string::read_cow(&mut Reader::new(&out)).expect("written");
            assert!(matches!(read, Cow::Borrowed(_)));
            assert_eq!(read, text);
        });
    }
    for text in ["Füchse", "€", "\u{1f600}", "\0\u{1}"] {
        out.clear();
        without_allocation("written string", || string::write(text, &mut out));
        assert_eq!(string::read_cow(&mut Reader::new(&out)).expect("written"), text);
    }
}

/// A query that reads the entries of another schema too.
mod merged {
    use permazen::kv::memory::MemoryStore;
    use permazen::{Permazen, PermazenEnum, PermazenObject};

    use super::{Arc, COUNT};

    mod before {
        use super::*;

        #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
        pub(super) enum State {
            Open,
        }

        #[derive(PermazenObject)]
        pub(super) struct Task {
            #[permazen(indexed)]
            pub(super) state: State,
        }
    }

    mod now {
        use super::*;

        #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq)]
        pub(super) enum State {
            Open,
            Done,
        }

        #[derive(PermazenObject)]
        pub(super) struct Task {
            #[permazen(indexed)]
            pub(super) state: State,
        }
    }

    #[test]
    fn an_entry_of_another_schema_takes_no_allocation() {
        let store = Arc::new(MemoryStore::new());
        let old = Permazen::builder_shared(store.clone()).model::<before::Task>().build();
        let old = old.expect("a database");
        let filled = old.write(|tx| {
            for _ in 0..2000 {
                tx.create(before::Task { state: before::State::Open })?;
            }
            Ok::<_, permazen::Error>(())
        });
        filled.expect("objects");
        let db = Permazen::builder_shared(store).model::<now::Task>().build().expect("a database");
        let read = db.read(|tx| {
            let before = COUNT.with(std::cell::Cell::get);
            assert_eq!(tx.index(now::Task::STATE)?.count()?, 2000);
            Ok(COUNT.with(std::cell::Cell::get) - before)
        });
        let allocations = read.expect("a query");
        assert!(allocations < 500, "{allocations}");
    }
}
