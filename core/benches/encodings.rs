//! How many nanoseconds it takes to write and read values:
//! `cargo bench -p permazen --bench encodings [-- NAME…]`.
//!
//! The first table uses [`Value`] and a virtual call, as tools do; the second does what derived
//! code does. Each number is the median of 41 rounds. The output buffer already exists.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use comfy_table::{CellAlignment, Table, presets};
use permazen::__internal::encoding::{
    EnumArrayEncoding, EnumEncoding, NullSafe, ObjIdEncoding, ReferenceEncoding, StringEncoding,
    TupleEncoding, UnknownEncoding, UnsignedIntEncoding,
};
use permazen::ObjId;
use permazen::encoding::number::BigDecimal;
use permazen::encoding::time::{Instant, LocalDate};
use permazen::encoding::{
    Encodable, Encoding, EncodingRegistry, FieldType, JavaString, Reader, Uuid, Value, long,
    string, uint,
};

const ROUNDS: usize = 41;
const ROUND: Duration = Duration::from_micros(400);

/// A typical value of each built-in encoding, except `Void`, which has no text, and of some arrays.
const SAMPLES: &[(&str, &str)] = &[
    ("boolean", "true"),
    ("byte", "-100"),
    ("short", "1000"),
    ("int", "100000"),
    ("long", "1234567890123"),
    ("char", "A"),
    ("float", "3.14"),
    ("double", "3.14"),
    ("Boolean", "true"),
    ("Byte", "-100"),
    ("Short", "1000"),
    ("Integer", "42"),
    ("Long", "1234567890123"),
    ("Character", "A"),
    ("Float", "3.14"),
    ("Double", "3.14"),
    ("String", "The quick brown fox"),
    ("boolean[]", r#"[ "true", "false", "true" ]"#),
    ("byte[]", r#"[ "1", "2", "-3", "100" ]"#),
    ("short[]", r#"[ "1", "2", "-3", "1000" ]"#),
    ("int[]", r#"[ "1", "2", "-3", "100000" ]"#),
    ("long[]", r#"[ "1", "2", "-3", "1234567890123" ]"#),
    ("char[]", r#"[ "a", "b" ]"#),
    ("float[]", r#"[ "1.5", "-2.5" ]"#),
    ("double[]", r#"[ "1.5", "-2.5" ]"#),
    ("int[][]", r#"[ "[ \"1\", \"2\" ]", null ]"#),
    ("String[]", r#"[ "a", null, "bc" ]"#),
    ("Date[]", r#"[ "2024-02-29T12:34:56Z", null ]"#),
    ("BigDecimal", "123.456"),
    ("BigInteger", "123456789012345678901234567890"),
    ("BitSet", "[1234]"),
    ("Date", "2024-02-29T12:34:56Z"),
    ("UUID", "89b3ed7f-5a7e-4604-9d42-2072248c91e7"),
    ("IntSummaryStatistics", r#"[ "8", "2", "3", "5" ]"#),
    ("LongSummaryStatistics", r#"[ "8", "2", "3", "5" ]"#),
    ("DoubleSummaryStatistics", r#"[ "8.0", "2", "3.0", "5.0" ]"#),
    ("File", "/usr/share/doc"),
    ("URI", "https://example.com/a?b=c"),
    ("Pattern", "[a-z]+\\\\d*"),
    ("InternetAddress", "Fred Example <fred@example.com>"),
    ("Inet4Address", "192.168.1.10"),
    ("Inet6Address", "2001:db8::1"),
    ("InetAddress", "192.168.1.10"),
    ("Duration", "PT1H0.5S"),
    ("Instant", "2024-02-29T12:34:56.789Z"),
    ("LocalDate", "2024-02-29"),
    ("LocalDateTime", "2024-02-29T12:34:56.789"),
    ("LocalTime", "12:34:56.789"),
    ("MonthDay", "--08-28"),
    ("OffsetDateTime", "2024-02-29T12:34:56.789+05:30"),
    ("OffsetTime", "12:34:56+05:30"),
    ("Period", "P1Y2M3D"),
    ("Year", "2024"),
    ("YearMonth", "2024-12"),
    ("ZoneOffset", "+05:30"),
    ("ZoneId", "America/New_York"),
    ("ZonedDateTime", "2024-02-29T12:34:56.789-05:00[America/New_York]"),
];

/// The median time of a call.
fn nanoseconds(mut call: impl FnMut()) -> f64 {
    let mut count = 1u32;
    let time = |count: u32, call: &mut dyn FnMut()| {
        let start = Clock::now();
        (0..count).for_each(|_| call());
        start.elapsed()
    };
    while time(count, &mut call) < ROUND {
        count *= 2;
    }
    let mut rounds: Vec<Duration> = (0..ROUNDS).map(|_| time(count, &mut call)).collect();
    rounds.sort();
    rounds[ROUNDS / 2].as_nanos() as f64 / f64::from(count)
}

/// A table of measurements.
struct Times {
    table: Table,
    wanted: Vec<String>,
}

impl Times {
    fn new(columns: &[&str]) -> Self {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN).set_header(columns.iter().copied());
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let wanted = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
        Times { table, wanted }
    }

    fn wants(&self, name: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| name.contains(wanted.as_str()))
    }

    fn row(&mut self, name: &str, length: usize, times: &[f64]) {
        let mut row = vec![name.to_owned(), length.to_string()];
        row.extend(times.iter().map(|time| format!("{time:.1}")));
        self.table.add_row(row);
    }

    fn dynamic(&mut self, name: &str, encoding: &dyn Encoding, value: &Value) {
        if !self.wants(name) {
            return;
        }
        let bytes = encoding.encode_all(value).unwrap();
        let mut out = Vec::with_capacity(1024);
        let times = [
            nanoseconds(|| {
                out.clear();
                encoding.encode(black_box(value), &mut out).unwrap();
                black_box(out.len());
            }),
            nanoseconds(|| drop(black_box(encoding.decode(&mut Reader::new(black_box(&bytes)))))),
            nanoseconds(|| encoding.skip(&mut Reader::new(black_box(&bytes))).unwrap()),
            nanoseconds(|| encoding.check_canonical(black_box(&bytes)).unwrap()),
        ];
        self.row(name, bytes.len(), &times);
    }

    fn typed<T: FieldType>(&mut self, name: &str, value: &T) {
        if !self.wants(name) {
            return;
        }
        let mut out = Vec::with_capacity(1024);
        value.encode_to(&mut out).unwrap();
        let bytes = out.clone();
        let times = [
            nanoseconds(|| {
                out.clear();
                black_box(value).encode_to(&mut out).unwrap();
                black_box(out.len());
            }),
            nanoseconds(|| drop(black_box(T::decode_from(&mut Reader::new(black_box(&bytes)))))),
            nanoseconds(|| T::skip_encoded(&mut Reader::new(black_box(&bytes))).unwrap()),
        ];
        self.row(name, bytes.len(), &times);
    }

    /// A code that encodings consist of.
    fn code<R>(
        &mut self,
        name: &str,
        write: impl Fn(&mut Vec<u8>),
        read: impl Fn(&mut Reader<'_>) -> R,
        skip: impl Fn(&mut Reader<'_>) -> permazen::encoding::Result<()>,
    ) {
        if !self.wants(name) {
            return;
        }
        let mut out = Vec::with_capacity(1024);
        write(&mut out);
        let bytes = out.clone();
        let times = [
            nanoseconds(|| {
                out.clear();
                write(&mut out);
                black_box(out.len());
            }),
            nanoseconds(|| drop(black_box(read(&mut Reader::new(black_box(&bytes)))))),
            nanoseconds(|| skip(&mut Reader::new(black_box(&bytes))).unwrap()),
        ];
        self.row(name, bytes.len(), &times);
    }
}

fn dynamic() -> Times {
    let mut times = Times::new(&["encoding", "bytes", "encode", "decode", "skip", "check"]);
    let registry = EncodingRegistry::new();
    let find = |alias: &str| registry.find_alias(alias).unwrap().unwrap();
    for &(alias, text) in SAMPLES {
        let encoding = find(alias);
        times.dynamic(alias, &*encoding, &encoding.from_text(text).unwrap());
    }
    for alias in ["Void", "Integer", "UUID"] {
        times.dynamic(&format!("{alias}, null"), &*find(alias), &Value::Null);
    }
    let ints: Box<[i32]> = (0..100).map(|number| number * 1000).collect();
    times.dynamic("int[] of 100", &*find("int[]"), &Value::Ints(ints));
    let strings: Box<[Value]> = (0..100).map(|number| Value::from(format!("{number}"))).collect();
    times.dynamic("String[] of 100", &*find("String[]"), &Value::Array(strings));

    let colours = || EnumEncoding::new(["RED", "GREEN", "BLUE"]).unwrap();
    let value = colours().from_text("BLUE").unwrap();
    times.dynamic("enum", &colours(), &value);
    let array = EnumArrayEncoding::build(colours(), 1).unwrap();
    let value = array.from_text(r#"[ "RED", null, "BLUE" ]"#).unwrap();
    times.dynamic("enum array", &*array, &value);
    let id: ObjId = "0a00000000000001".parse().unwrap();
    times.dynamic("reference", &ReferenceEncoding::new(None), &Value::Ref(id));
    let restricted = ReferenceEncoding::new(Some([id.storage_id()].into_iter().collect()));
    times.dynamic("reference, restricted", &restricted, &Value::Ref(id));
    times.dynamic("object id", &ObjIdEncoding, &Value::Ref(id));
    times.dynamic("unsigned int", &UnsignedIntEncoding, &Value::Int(300));
    times.dynamic("string, not null", &StringEncoding::not_null(), &Value::from("name"));
    let tuple = TupleEncoding::new([find("int"), find("String")]).unwrap();
    let value = Value::Tuple([Value::Int(5), Value::from("name")].into());
    times.dynamic("tuple (int, String)", &tuple, &value);
    let four = ["UUID", "Instant", "BigDecimal", "boolean"].map(find);
    let texts = r#"[ "1-2-3-4-5", "2024-02-29T12:34:56Z", "123.456", "true" ]"#;
    let four = TupleEncoding::new(four).unwrap();
    let value = four.from_text(texts).unwrap();
    times.dynamic("tuple of four", &four, &value);
    let value = Value::Int(300);
    let nullable = NullSafe::new(None, Arc::new(UnsignedIntEncoding)).unwrap();
    times.dynamic("null added, inline", &nullable, &value);
    times.dynamic("null added, null", &nullable, &Value::Null);
    let prefixed = TupleEncoding::new([find("String"), find("int")]).unwrap();
    let prefixed = NullSafe::new(None, Arc::new(prefixed)).unwrap();
    let value = Value::Tuple([Value::from("name"), Value::Int(5)].into());
    times.dynamic("null added, prefixed", &prefixed, &value);
    let unknown = UnknownEncoding::new("urn:example:unknown".parse().unwrap());
    let value = unknown.decode(&mut Reader::new(b"opaque bytes")).unwrap();
    times.dynamic("unknown", &unknown, &value);
    times
}

fn typed() -> Times {
    let mut times = Times::new(&["type", "bytes", "encode", "decode", "skip"]);
    times.typed("bool", &true);
    times.typed("i32", &100_000);
    times.typed("i64", &1_234_567_890_123i64);
    times.typed("f64", &2.5);
    times.typed("Option<i32>", &Some(42));
    times.typed("String", &"The quick brown fox".to_owned());
    times.typed("JavaString", &JavaString::from("The quick brown fox"));
    times.typed("Uuid", &Uuid::from_u128(1 << 100));
    times.typed("BigDecimal", &BigDecimal::from_text("123.456").unwrap());
    times.typed("LocalDate", &LocalDate::from_text("2024-02-29").unwrap());
    times.typed("Instant", &Instant::from_text("2024-02-29T12:34:56.789Z").unwrap());
    let ints: Box<[i32]> = (0..100).map(|number| number * 1000).collect();
    times.typed("Box<[i32]> of 100", &ints);
    let strings: Box<[Option<String>]> = [Some("a".to_owned()), None, Some("bc".to_owned())].into();
    times.typed("Box<[Option<String>]>", &strings);
    for number in [5u32, 300, 100_000] {
        let name = format!("uint {number}");
        times.code(&name, |out| uint::write(black_box(number), out), uint::read, uint::skip);
        let name = format!("long {number}");
        let write = |out: &mut Vec<u8>| long::write(black_box(number.into()), out);
        times.code(&name, write, long::read, long::skip);
    }
    for (name, text) in [
        ("text, ascii", "The quick brown fox"),
        ("text, umlauts", "Füchse über Brücken"),
        ("text, cjk", "敏捷的棕色狐狸"),
    ] {
        let read = |reader: &mut Reader<'_>| string::read_cow(reader).unwrap().len();
        times.code(name, |out| string::write(black_box(text), out), read, string::skip);
    }
    times
}

fn main() {
    println!("dynamic, in ns\n{}\n", dynamic().table);
    println!("typed, and the codes encodings are made of, in ns\n{}", typed().table);
}
