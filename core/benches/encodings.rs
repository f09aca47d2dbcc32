//! How long values take to be written and read: `cargo bench -p permazen --bench encodings`.
//!
//! `dynamic` is by way of [`Value`] and a virtual call, as tools do it; `typed` is what derived code does.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use permazen::encoding::time::{Instant, LocalDate};
use permazen::encoding::{
    Encodable, EncodingRegistry, FieldType, Reader, Uuid, Value, long, string, uint,
};

/// A typical value of each built-in encoding.
const SAMPLES: &[(&str, &str)] = &[
    ("boolean", "true"),
    ("byte", "-100"),
    ("short", "1000"),
    ("int", "100000"),
    ("long", "1234567890123"),
    ("char", "A"),
    ("float", "3.14"),
    ("double", "3.14"),
    ("Integer", "42"),
    ("Double", "3.14"),
    ("String", "The quick brown fox"),
    ("boolean[]", r#"[ "true", "false", "true" ]"#),
    ("byte[]", r#"[ "1", "2", "-3", "100" ]"#),
    ("int[]", r#"[ "1", "2", "-3", "100000" ]"#),
    ("char[]", r#"[ "a", "b" ]"#),
    ("double[]", r#"[ "1.5", "-2.5" ]"#),
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

fn dynamic(c: &mut Criterion) {
    let registry = EncodingRegistry::new();
    for &(alias, text) in SAMPLES {
        let encoding = registry.find_alias(alias).unwrap().unwrap();
        let value = encoding.from_text(text).unwrap();
        let bytes = encoding.encode_all(&value).unwrap();
        let mut group = c.benchmark_group(format!("dynamic/{alias}"));
        let mut out = Vec::with_capacity(256);
        group.bench_function("encode", |b| {
            b.iter(|| {
                out.clear();
                encoding.encode(black_box(&value), &mut out).unwrap();
                black_box(out.len())
            });
        });
        group.bench_function("decode", |b| {
            b.iter(|| encoding.decode(&mut Reader::new(black_box(&bytes))).unwrap())
        });
        group.bench_function("skip", |b| {
            b.iter(|| encoding.skip(&mut Reader::new(black_box(&bytes))).unwrap())
        });
        group.bench_function("check", |b| {
            b.iter(|| encoding.check_canonical(black_box(&bytes)).unwrap())
        });
        group.finish();
    }
}

fn typed_value<T: FieldType>(c: &mut Criterion, name: &str, value: &T) {
    let mut out = Vec::with_capacity(256);
    value.encode_to(&mut out).unwrap();
    let bytes = out.clone();
    let mut group = c.benchmark_group(format!("typed/{name}"));
    group.bench_function("encode", |b| {
        b.iter(|| {
            out.clear();
            black_box(value).encode_to(&mut out).unwrap();
            black_box(out.len())
        });
    });
    group.bench_function("decode", |b| {
        b.iter(|| T::decode_from(&mut Reader::new(black_box(&bytes))).unwrap())
    });
    group.finish();
}

fn typed(c: &mut Criterion) {
    typed_value(c, "bool", &true);
    typed_value(c, "i32", &100_000);
    typed_value(c, "i64", &1_234_567_890_123i64);
    typed_value(c, "f64", &2.5);
    typed_value(c, "Option<i32>", &Some(42));
    typed_value(c, "String", &"The quick brown fox".to_owned());
    typed_value(c, "Uuid", &Uuid::from_u128(1 << 100));
    typed_value(c, "LocalDate", &LocalDate::from_text("2024-02-29").unwrap());
    typed_value(c, "Instant", &Instant::from_text("2024-02-29T12:34:56.789Z").unwrap());
    let ints: Box<[i32]> = (0..100).map(|number| number * 1000).collect();
    typed_value(c, "Box<[i32]> of 100", &ints);
}

fn codes(c: &mut Criterion) {
    let mut out = Vec::with_capacity(64);
    let mut group = c.benchmark_group("codes");
    for number in [5, 300, 100_000] {
        let mut bytes = Vec::new();
        uint::write(number, &mut bytes);
        group.bench_function(format!("uint/{number}/write"), |b| {
            b.iter(|| {
                out.clear();
                uint::write(black_box(number), &mut out);
                black_box(out.len())
            });
        });
        group.bench_function(format!("uint/{number}/read"), |b| {
            b.iter(|| uint::read(&mut Reader::new(black_box(&bytes))))
        });
        let mut bytes = Vec::new();
        long::write(number.into(), &mut bytes);
        group.bench_function(format!("long/{number}/write"), |b| {
            b.iter(|| {
                out.clear();
                long::write(black_box(number.into()), &mut out);
                black_box(out.len())
            });
        });
        group.bench_function(format!("long/{number}/read"), |b| {
            b.iter(|| long::read(&mut Reader::new(black_box(&bytes))))
        });
    }
    for (name, text) in [
        ("ascii", "The quick brown fox"),
        ("umlauts", "Füchse über Brücken"),
        ("cjk", "敏捷的棕色狐狸"),
    ] {
        let mut bytes = Vec::new();
        string::write(text, &mut bytes);
        group.bench_function(format!("string/{name}/read_cow"), |b| {
            b.iter(|| string::read_cow(&mut Reader::new(black_box(&bytes))).unwrap().len());
        });
        group.bench_function(format!("string/{name}/write"), |b| {
            b.iter(|| {
                out.clear();
                string::write(black_box(text), &mut out);
                black_box(out.len())
            });
        });
    }
    group.bench_function("value/compare", |b| {
        let (left, right) =
            (Value::from("The quick brown fox"), Value::from("The quick brown dog"));
        b.iter(|| black_box(&left).cmp(black_box(&right)));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300));
    targets = dynamic, typed, codes
}
criterion_main!(benches);
