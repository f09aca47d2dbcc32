//! The values at the ends of each built-in encoding, and those that are written in a form of their
//! own; and a database that has them all in fields of each kind. The tests of other packages use
//! them too.

use std::collections::BTreeMap;
use std::sync::Arc;

use permazen::__internal::encoding::{EncodingKind, Primitive};
use permazen::ObjId;
use permazen::encoding::number::{BigDecimal, BigInteger};
use permazen::encoding::time::{
    Date, Duration, Instant, LocalDateTime, OffsetDateTime, Year, YearMonth, ZoneId, ZonedDateTime,
};
use permazen::encoding::{Encoding, EncodingRegistry, JavaChar, JavaString, Value};
use permazen::object::{ObjectBuilder, Transaction};
use permazen::schema::{Field, FieldKind, ObjectType, SchemaModel, Simple, SubField};

/// All built-in encodings with their extremes.
pub(crate) fn built_in() -> Vec<(Arc<dyn Encoding>, Vec<Value>)> {
    let registry = EncodingRegistry::new();
    let found = registry.ids();
    let encodings = found.iter().map(|id| registry.get(id).expect("an encoding"));
    encodings.map(|encoding| (Arc::clone(&encoding), extremes(&*encoding))).collect()
}

/// The dates at and around the ends of what Java's text says. The text can say the second and the
/// third of these, and all dates between them.
pub(crate) const DATES: [i64; 4] = [DATE_FIRST - 1, DATE_FIRST, DATE_LAST, DATE_LAST + 1];

/// `0000-00-00T00:00:00Z`, which is 2 BC, 30 November of the Julian calendar.
pub(crate) const DATE_FIRST: i64 = -62_170_156_800_000;

/// `9999-99-99T99:99:99.999Z`, which is in June of 10007.
pub(crate) const DATE_LAST: i64 = 253_637_152_839_999;

/// A type for each encoding, which has its name and a field of each kind.
pub(crate) fn schema() -> SchemaModel {
    let registry = EncodingRegistry::new();
    let types = registry.ids().into_iter().map(|id| {
        let part = || SubField::new(Simple::of(id.clone()));
        let object_type = ObjectType::new(type_name(id.alias()))
            .field(Field::new("value", FieldKind::Simple(Simple::of(id.clone()))))
            .field(Field::set("set", part()))
            .field(Field::list("list", part()))
            .field(Field::map("map", part(), part()));
        match id.array().ok().filter(|array| array_of(&registry, array.alias()).is_some()) {
            Some(array) => {
                object_type.field(Field::new("array", FieldKind::Simple(Simple::of(array))))
            }
            None => object_type,
        }
    });
    types.fold(SchemaModel::new(), SchemaModel::object_type)
}

fn array_of(registry: &EncodingRegistry, alias: &str) -> Option<Arc<dyn Encoding>> {
    let found = registry.find_alias(alias).ok().flatten();
    found.filter(|found| matches!(found.kind(), EncodingKind::Array(_)))
}

fn type_name(alias: &str) -> String {
    format!("T{}", alias.replace("[]", "Array"))
}

/// For each extreme of each encoding an object that has it as a value and in an array, one in a
/// set, one in a list and one in a map. The name of the encoding and the value of each object. Java
/// fails to copy some objects that have several collections.
pub(crate) fn fill(tx: &Transaction) -> BTreeMap<ObjId, (String, Value)> {
    tx.add_schemas(&[schema()]).expect("a database without the types");
    let bundle = tx.bundle();
    let schema = bundle
        .schemas()
        .iter()
        .find(|it| it.object_type("Tint").is_some())
        .expect("a database without the types");
    let encodings = built_in();
    assert_eq!(encodings.len(), 55);
    let mut all = BTreeMap::new();
    for (encoding, values) in encodings {
        let object_type = schema.object_type(&type_name(&encoding.name())).expect("a type");
        let field = |name: &str| object_type.field(name);
        for value in values {
            let bytes = encoding.encode_all(&value).expect("a value");
            let array = field("array").map(|array| {
                let items = Value::Array([value.clone(), Value::Null, value.clone()].into());
                let encoding = &array.simple().expect("an array").encoding;
                (array, encoding.encode_all(&items).expect("a value"))
            });
            for (name, field) in ["value", "set", "list", "map"].map(|name| (name, field(name))) {
                let field = field.expect("a field");
                let mut object = ObjectBuilder::new(object_type.clone());
                let filled = match name {
                    "set" => object.write_set_element(field, given(&bytes)),
                    "list" => (0..2)
                        .try_for_each(|at| object.write_list_element(field, at, given(&bytes))),
                    "map" => object.write_map_entry(field, given(&bytes), given(&bytes)),
                    _ => object.write_simple(field, given(&bytes)).and_then(|()| {
                        array
                            .iter()
                            .try_for_each(|(field, bytes)| object.write_simple(field, given(bytes)))
                    }),
                };
                filled.expect("values of the fields");
                let id = tx.create_with(None, &object.finish()).expect("a database");
                all.insert(
                    id.expect("a new object"),
                    (encoding.name().into_owned(), value.clone()),
                );
            }
        }
    }
    all
}

/// Appends a value that is encoded already.
fn given(bytes: &[u8]) -> impl FnOnce(&mut Vec<u8>) -> permazen::encoding::Result<()> {
    move |out| {
        out.extend_from_slice(bytes);
        Ok(())
    }
}

fn extremes(encoding: &dyn Encoding) -> Vec<Value> {
    let texts = |texts: &[&str]| -> Vec<Value> {
        let value = |text: &&str| {
            encoding.from_text(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
        };
        texts.iter().map(value).collect()
    };
    let mut values = match encoding.kind() {
        EncodingKind::Primitive(primitive) | EncodingKind::Wrapper(primitive) => {
            primitives(primitive)
        }
        EncodingKind::PrimitiveArray(primitive) => {
            let some = primitives(primitive);
            [0, 1, some.len(), 16, 17, 18, 19, 60]
                .map(|length| array(primitive, some.iter().cycle().take(length)))
                .into()
        }
        EncodingKind::String => strings().into_iter().map(Value::from).collect(),
        _ => match &*encoding.name() {
            "Void" => vec![],
            "BigInteger" => {
                let long = [[0x7f; 1].as_slice(), &[0x5a; 299]].concat();
                let mut values = texts(&["0", "-1", "255", "-256", "9223372036854775808"]);
                values.extend([BigInteger::from_signed_bytes(&long)].map(Value::BigInteger));
                values.push(Value::BigInteger(BigInteger::from_signed_bytes(&[0x80; 300])));
                values
            }
            "BigDecimal" => {
                let mut values = texts(&[
                    "0",
                    "0.00",
                    "1.0",
                    "1.00",
                    "-1.00",
                    "100",
                    "1E+2",
                    "-0.001",
                    "1E-300",
                    "123456789012345678901234567890.123456789",
                ]);
                for (unscaled, scale) in
                    [(1, i32::MAX), (-1, i32::MAX), (9, -i32::MAX + 9), (-9, -i32::MAX + 9)]
                {
                    let unscaled =
                        BigInteger::from_signed_bytes(&[(unscaled as i8).to_be_bytes()[0]]);
                    values.push(Value::BigDecimal(BigDecimal::new(&unscaled, scale)));
                }
                values
            }
            "BitSet" => texts(&["[]", "[01]", "[8000]", "[ffffffffffffffffffffffff]"]),
            "Date" => {
                let more = [i64::MIN, -1, 0, 1, i64::MAX, -62_135_769_600_001, -62_135_769_600_000];
                let more = more.into_iter().chain([253_402_300_799_999, 253_402_300_800_000]);
                let start_of_gregorian = [-12_219_292_800_001, -12_219_292_800_000];
                let all = more.chain(DATES).chain(start_of_gregorian);
                all.map(|millis| Value::Date(Date::from_millis(millis))).collect()
            }
            "UUID" => texts(&[
                "00000000-0000-0000-0000-000000000000",
                "7fffffff-ffff-ffff-7fff-ffffffffffff",
                "80000000-0000-0000-8000-000000000000",
                "ffffffff-ffff-ffff-ffff-ffffffffffff",
            ]),
            "IntSummaryStatistics" => texts(&[
                "[ \"0\", \"0\", \"2147483647\", \"-2147483648\" ]",
                "[ \"-9223372036854775808\", \"9223372036854775807\", \"-2147483648\", \"2147483647\" ]",
            ]),
            "LongSummaryStatistics" => texts(&[
                "[ \"0\", \"0\", \"9223372036854775807\", \"-9223372036854775808\" ]",
                "[ \"9223372036854775807\", \"1\", \"-9223372036854775808\", \"9223372036854775807\" ]",
            ]),
            "DoubleSummaryStatistics" => texts(&[
                "[ \"0.0\", \"0\", \"Infinity\", \"-Infinity\" ]",
                "[ \"NaN\", \"2\", \"NaN\", \"NaN\" ]",
                "[ \"-0.0\", \"9223372036854775807\", \"-1.7976931348623157E308\", \"4.9E-324\" ]",
            ]),
            "File" => texts(&["", "/", "a/../b", "\\u0000", "\\ud800", " a\n\\t"]),
            "URI" => texts(&["", "http://[::1]:80/a%20b?c#d", "a:b", "ä/\\ud83d\\ude00"]),
            "Pattern" => texts(&["", "a|\\\\u0000", "[a-z]+\n", " \\u0001"]),
            "InternetAddress" => texts(&[
                "a",
                "a@b.c",
                "\"Fred.Example\" <f@x>",
                "Jo <j@x>",
                "=?utf-8?q?=C3=B6?= <j@x>",
            ]),
            "Inet4Address" => texts(&["0.0.0.0", "127.0.0.1", "255.255.255.255"]),
            "Inet6Address" => {
                texts(&["::", "::1.2.3.4", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"])
            }
            "InetAddress" => texts(&["0.0.0.0", "255.255.255.255", "::", "fe80::1"]),
            "Duration" => {
                let ends =
                    [(i64::MIN, 0), (i64::MIN, 1), (i64::MAX, 999_999_999), (-1, 999_999_999)];
                let ends =
                    ends.map(|(second, nano)| Duration::new(second, nano).expect("a duration"));
                [texts(&["PT0S", "PT-0.5S", "PT-1M-0.5S"]), ends.map(Value::Duration).into()]
                    .concat()
            }
            "Instant" => {
                let far = Instant::new(-1, 999_999_999).expect("an instant");
                let mut values: Vec<_> =
                    [Instant::MIN, Instant::EPOCH, far, Instant::MAX].map(Value::Instant).into();
                values.extend(texts(&["-0001-01-01T00:00:00Z", "+10000-01-01T00:00:00.000001Z"]));
                values
            }
            "LocalDate" => texts(&[
                "-999999999-01-01",
                "-10000-12-31",
                "-0001-12-31",
                "0000-01-01",
                "9999-12-31",
                "+10000-01-01",
                "+999999999-12-31",
            ]),
            "LocalTime" => texts(&["00:00", "00:00:00.000000001", "23:59:59.999999999"]),
            "LocalDateTime" => [
                vec![
                    Value::LocalDateTime(LocalDateTime::MIN),
                    Value::LocalDateTime(LocalDateTime::MAX),
                ],
                texts(&["-0001-01-01T00:00", "+10000-01-01T00:00:00.1"]),
            ]
            .concat(),
            "OffsetDateTime" => {
                let last = OffsetDateTime::from_local(
                    LocalDateTime::MAX,
                    permazen::encoding::time::ZoneOffset::from_seconds(-64_800).expect("an offset"),
                );
                let mut values = texts(&[
                    "-999999999-01-01T00:00+18:00",
                    "-0001-01-01T00:00Z",
                    "+10000-01-01T00:00-01:02:03",
                ]);
                values.push(Value::OffsetDateTime(last));
                values
            }
            "OffsetTime" => texts(&["00:00+18:00", "23:59:59.999999999-18:00", "12:30Z"]),
            "MonthDay" => texts(&["--01-01", "--02-29", "--08-28", "--12-31"]),
            "Period" => texts(&[
                "P0D",
                "P-2147483648Y-2147483648M-2147483648D",
                "P2147483647Y2147483647M2147483647D",
            ]),
            "Year" => [-999_999_999, -10_000, -9999, -1, 0, 9999, 10_000, 999_999_999]
                .map(|year| Value::Year(Year::new(year).expect("a year")))
                .into(),
            "YearMonth" => [-999_999_999, -10_000, -9999, -1, 0, 9999, 10_000, 999_999_999]
                .map(|year| Value::YearMonth(YearMonth::new(year, 12).expect("a month")))
                .into(),
            "ZoneOffset" => texts(&["Z", "+18:00", "-18:00", "+00:00:01"]),
            "ZoneId" => texts(&["Z", "+18:00", "Europe/Vienna", "Etc/GMT+5"]),
            "ZonedDateTime" => {
                let mut values = texts(&[
                    "-999999999-01-01T00:00+18:00",
                    "+999999999-12-31T23:59:59.999999999-18:00",
                    "2024-10-27T02:30+01:00[Europe/Vienna]",
                    "2024-10-27T02:30+02:00[Europe/Vienna]",
                    "-10000-01-01T00:00+01:05:21[Europe/Vienna]",
                ]);
                let second = 31_556_889_864_403_199 - 367 * 86_400;
                let late = Instant::new(second, 0).expect("an instant");
                let zone = ZoneId::new("America/New_York").expect("a zone");
                values.push(Value::ZonedDateTime(ZonedDateTime::new(late, zone).expect("a time")));
                values
            }
            other => panic!("{other} has no extremes in this table"),
        },
    };
    if encoding.supports_null() {
        values.push(Value::Null);
    }
    for value in &values {
        encoding.encode_all(value).unwrap_or_else(|error| panic!("{value:?}: {error}"));
    }
    values
}

fn primitives(primitive: Primitive) -> Vec<Value> {
    match primitive {
        Primitive::Boolean => [false, true].map(Value::Bool).into(),
        Primitive::Byte => [i8::MIN, -1, 0, 120, i8::MAX].map(Value::Byte).into(),
        Primitive::Short => [i16::MIN, 0, i16::MAX].map(Value::Short).into(),
        Primitive::Int => [i32::MIN, 0, 8, i32::MAX].map(Value::Int).into(),
        Primitive::Long => {
            [i64::MIN, -(1 << 53) - 1, 0, (1 << 53) + 1, i64::MAX].map(Value::Long).into()
        }
        Primitive::Char => [0, 1, 9, 10, 13, 32, 34, 92, 0xd800, 0xdfff, 0xfffe, 0xffff]
            .map(|unit| Value::Char(JavaChar(unit)))
            .into(),
        Primitive::Float => {
            let least = f32::from_bits(1);
            [f32::MIN, f32::MAX, -0.0, 0.0, least, f32::NAN, f32::INFINITY, -f32::INFINITY, 0.1]
                .map(Value::Float)
                .into()
        }
        Primitive::Double => {
            let least = f64::from_bits(1);
            [f64::MIN, f64::MAX, -0.0, 0.0, least, f64::NAN, f64::INFINITY, -f64::INFINITY, 0.1]
                .map(Value::Double)
                .into()
        }
    }
}

fn array<'v>(primitive: Primitive, items: impl Iterator<Item = &'v Value>) -> Value {
    macro_rules! items {
        ($array:ident, $item:ident) => {
            Value::$array(
                items
                    .map(|item| match item {
                        Value::$item(item) => *item,
                        other => panic!("{other:?}"),
                    })
                    .collect(),
            )
        };
    }
    match primitive {
        Primitive::Boolean => items!(Bools, Bool),
        Primitive::Byte => items!(Bytes, Byte),
        Primitive::Short => items!(Shorts, Short),
        Primitive::Int => items!(Ints, Int),
        Primitive::Long => items!(Longs, Long),
        Primitive::Char => items!(Chars, Char),
        Primitive::Float => items!(Floats, Float),
        Primitive::Double => items!(Doubles, Double),
    }
}

fn strings() -> Vec<JavaString> {
    let texts = [
        "",
        " ",
        " a ",
        "\0",
        "\u{1}",
        "\t\r\n",
        "\u{7f}\u{85}\u{a0}",
        "\u{202e}",
        "\u{fffe}\u{ffff}",
        "😀",
        "]]>&<",
        "\"'",
        "\\",
        "\\u{d800}",
        "\\ud800",
        "null",
        "x'00'",
        "@1000000000000001",
        "NaN",
    ];
    let mut strings: Vec<JavaString> = texts.iter().map(|&text| text.into()).collect();
    strings.push(JavaString::from_units(&[0xd800]));
    strings.push(JavaString::from_units(&[0xdc00, 0xd800, 0x61]));
    strings.push("ä".repeat(300).as_str().into());
    strings
}
