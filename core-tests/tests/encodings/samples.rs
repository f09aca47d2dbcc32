//! Telling values of encodings, for tests that convert between all of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use permazen::__internal::encoding::{
    EncodingKind, EnumArrayEncoding, EnumEncoding, NullSafe, Primitive, ReferenceEncoding,
    StringEncoding,
};
use permazen::encoding::time::Date;
use permazen::encoding::{Encoding, EncodingRegistry, JavaChar, JavaString, Value, ids};
use permazen::{ObjId, StorageId};

/// Texts. Each encoding reads those that are texts of its values.
const TEXTS: &[&str] = &[
    // Words, characters, constants
    "",
    " ",
    "a",
    "true",
    "false",
    "TRUE",
    "RED",
    "GREEN",
    "Blue",
    "null",
    "a b",
    "\\\\",
    "\\n",
    "ä",
    "\\ud800",
    "\\u0001",
    "[",
    "(a",
    "a*[b-c]+",
    "%",
    "a%20b",
    "\\t",
    "\"",
    "/",
    "//",
    "a//b",
    "a/b/",
    // Numbers
    "0",
    "1",
    "-1",
    "7",
    "+7",
    "007",
    "0x7",
    "10",
    "2024",
    "0005",
    "-5",
    "12345",
    "127",
    "128",
    "-128",
    "-129",
    "255",
    "256",
    "32767",
    "32768",
    "-32768",
    "65535",
    "65536",
    "16777216",
    "16777217",
    "2147483647",
    "2147483648",
    "-2147483648",
    "5000000000",
    "9007199254740992",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "123456789012345678901234567890",
    "0.0",
    "-0.0",
    "1.0",
    "1.00",
    "0.1",
    "-2.5",
    "1.0E10",
    "1E+2",
    "1e20",
    "1.0E20",
    "1.0E300",
    "4.9E-324",
    "1.4E-45",
    "3.4028235E38",
    "3.4028234663852886E38",
    "1.7976931348623157E308",
    "2.147483648E9",
    "9.223372036854775807E18",
    "NaN",
    "Infinity",
    "-Infinity",
    "65.0",
    // Bit sets, UUIDs, statistics
    "ff",
    "{}",
    "{1}",
    "[ 1, 5 ]",
    "0f",
    "3d4a1f2e-0a1b-4c2d-8e3f-000000000000",
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "OTHER",
    "[ \"-1\" ]",
    "[ \"1970-01-01T00:00:00Z\" ]",
    "[0f]",
    "[01ff]",
    "[ \"0\", \"0\", \"2147483647\", \"-2147483648\" ]",
    "[ \"0\", \"0\", \"9223372036854775807\", \"-9223372036854775808\" ]",
    "[ \"5\", \"1\", \"5\", \"5\" ]",
    "[ \"5.0\", \"1\", \"5.0\", \"5.0\" ]",
    "\\ud83d\\ude00",
    "[ \"\\\\ud800\" ]",
    // Arrays
    "[]",
    "[ \"1\" ]",
    "[ \"1\", null ]",
    "[ null ]",
    "[ \"1\", \"2\", \"300\" ]",
    "[ \"true\" ]",
    "[ \"a\", \"b\" ]",
    "[ \"-1.5\" ]",
    "[ \"RED\" ]",
    "[ \"ab\" ]",
    "[ \"2024-02-29\" ]",
    "[ \"[]\" ]",
    "[ \"[ \\\"1\\\" ]\" ]",
    "[ \"9223372036854775807\" ]",
    "[ \"2147483648\" ]",
    "[ \"NaN\" ]",
    "[ \"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\", \"10\", \"11\", \"12\", \"13\", \"14\", \"15\", \"16\", \"17\" ]",
    "[ \"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\", \"10\", \"11\", \"12\", \"13\", \"14\", \"15\", \"16\", \"17\", \"18\" ]",
    "AAAA",
    "AA==",
    "AQ==",
    "AAE=",
    // Net
    "0.0.0.0",
    "1.2.3.4",
    "255.255.255.255",
    "::",
    "::1",
    "2001:db8::1",
    "fe80::1",
    "1:2:3:4:5:6:7:8",
    "a@b.c",
    "Ann <a@b.c>",
    "http://a.b/c?d#e",
    "mailto:a@b.c",
    "a:b",
    "file:/a/b",
    "/a/b",
    "a.txt",
    // Times
    "2024-02-29",
    "-0001-01-01",
    "+12024-01-01",
    "0000-01-01",
    "1970-01-01",
    "9999-12-31",
    "1500-02-29T00:00:00Z",
    "1500-01-01T00:00:00Z",
    "1582-10-14T00:00:00Z",
    "1582-10-15T00:00:00Z",
    "-999999999-01-01",
    "+999999999-12-31",
    "2024-02-29T12:30",
    "2024-02-29T12:30:00",
    "2024-02-29T12:30:45",
    "2024-02-29T12:30:45.123456789",
    "2024-02-29T00:00",
    "1970-01-01T00:00",
    "2024-02-29T12:30Z",
    "2024-02-29T12:30:45Z",
    "2024-02-29T12:30:00Z",
    "2024-02-29T12:30:45.123Z",
    "1970-01-01T00:00:00Z",
    "2024-02-29T12:30+02:00",
    "2024-02-29T12:30:45+02:00",
    "2024-02-29T12:30:45.5-18:00",
    "2024-02-29T12:30+02:00[Europe/Vienna]",
    "2024-02-29T12:30+01:00[Europe/Vienna]",
    "2024-02-29T12:30Z[UTC]",
    "2024-10-27T02:30+01:00[Europe/Vienna]",
    "2024-10-27T02:30+02:00[Europe/Vienna]",
    "1970-01-01T01:00+01:00[Europe/Vienna]",
    "-999999999-01-01T00:00+18:00",
    "+999999999-12-31T23:59:59.999999999-18:00",
    "12:30",
    "12:30:00",
    "12:30:45",
    "12:30:45.5",
    "00:00",
    "23:59:59.999999999",
    "12:30Z",
    "12:30+02:00",
    "12:30:45+02:00",
    "--02-29",
    "--12-01",
    "2024-02",
    "-0001-12",
    "+12024-01",
    "PT0S",
    "PT1H",
    "PT24H",
    "P1D",
    "P0D",
    "P1M",
    "PT-0.5S",
    "PT36H1.5S",
    "P1Y2M3D",
    "P7D",
    "Z",
    "+02:00",
    "-18:00",
    "+01:02:03",
    "UTC",
    "Europe/Vienna",
    "Etc/GMT+5",
    "GMT0",
    "GMT",
    "EST",
    "UTC+01:00",
    "-0005",
    "-999999999",
    "999999999",
    "999",
    "1999-12-31T23:59:59.999Z",
    "-1000000000-01-01T00:00:00Z",
    "+1000000000-12-31T23:59:59.999999999Z",
];

pub(crate) fn find(alias: &str) -> Arc<dyn Encoding> {
    let found = EncodingRegistry::new().find_alias(alias).expect("a proper name");
    found.expect("a known encoding")
}

pub(crate) fn colors() -> EnumEncoding {
    EnumEncoding::new(["RED", "GREEN", "Blue"]).expect("identifiers")
}

/// References to objects of types 10 and 20 (or `None`: of any type).
pub(crate) fn reference(types: Option<&[u32]>) -> Arc<dyn Encoding> {
    let storage_id = |&id: &u32| StorageId::new(id).expect("small");
    let allowed = types.map(|types| types.iter().map(storage_id).collect::<BTreeSet<_>>());
    Arc::new(ReferenceEncoding::new(allowed))
}

/// Every built-in encoding, arrays of some, and encodings that schemas build.
pub(crate) fn encodings() -> Vec<Arc<dyn Encoding>> {
    let registry = EncodingRegistry::new();
    let mut all: Vec<_> = registry.ids().iter().filter_map(|id| registry.get(id)).collect();
    for alias in ["String[]", "LocalDate[]", "BigInteger[]", "int[][]", "Date[]"] {
        all.push(find(alias));
    }
    all.push(Arc::new(StringEncoding::not_null()));
    all.push(Arc::new(NullSafe::new(None, find("int")).expect("no null yet")));
    all.push(Arc::new(NullSafe::new(None, find("double")).expect("no null yet")));
    all.push(Arc::new(colors()));
    all.push(Arc::new(EnumEncoding::new(["Blue", "RED", "UTC", "a"]).expect("identifiers")));
    all.push(Arc::new(EnumEncoding::new(["OTHER"]).expect("identifiers")));
    all.push(Arc::new(EnumEncoding::new([""; 0]).expect("no identifiers")));
    all.push(EnumArrayEncoding::build(colors(), 1).expect("one dimension"));
    all.extend([None, Some(&[10][..]), Some(&[20]), Some(&[10, 20]), Some(&[])].map(reference));
    all
}

/// Encoded values of an encoding, without null and without repetition.
pub(crate) fn values_of(encoding: &dyn Encoding) -> BTreeSet<Vec<u8>> {
    let mut values: Vec<Value> =
        TEXTS.iter().filter_map(|text| encoding.from_text(text).ok()).collect();
    match encoding.kind() {
        EncodingKind::Primitive(Primitive::Char) | EncodingKind::Wrapper(Primitive::Char) => {
            values.extend(
                [0, 1, 0x7f, 0x80, 0xd800, 0xdfff, 0xffff].map(|c| Value::Char(JavaChar(c))),
            );
        }
        EncodingKind::PrimitiveArray(Primitive::Char) => {
            values.push(Value::Chars([JavaChar(0xd800), JavaChar(0)].into()));
        }
        EncodingKind::String => {
            values.extend(TEXTS.iter().map(|text| Value::from(*text)));
            values.push(Value::from(JavaString::from_units(&[0xd800, 0x61])));
            values.push(Value::from("😀"));
        }
        EncodingKind::Array(element) if element.id() == Some(&ids::DATE) => {
            values.push(Value::Array([Value::Date(Date::from_millis(i64::MAX))].into()));
        }
        EncodingKind::Array(element) if element.id() == Some(&ids::INT_ARRAY) => {
            values.push(Value::Array([Value::Ints(vec![7; 18].into())].into()));
        }
        EncodingKind::PrimitiveArray(Primitive::Byte) => {
            values.extend([17, 18].map(|length| Value::Bytes(vec![7; length].into())));
        }
        EncodingKind::Plain if encoding.id() == Some(&ids::DATE) => {
            values.extend(
                [i64::MIN, -62_200_000_000_000, 253_500_000_000_000, i64::MAX]
                    .map(|millis| Value::Date(Date::from_millis(millis))),
            );
        }
        EncodingKind::Reference(_) => {
            for storage_id in [10, 20] {
                let mut id = [0; 8];
                id[0] = storage_id;
                id[7] = 9;
                values.push(Value::Ref(ObjId::from_bytes(id).expect("an object id")));
            }
        }
        _ => {}
    }
    let encoded = values.iter().filter_map(|value| encoding.encode_all(value).ok());
    encoded.filter(|bytes| encoding.check_canonical(bytes).is_ok()).collect()
}
