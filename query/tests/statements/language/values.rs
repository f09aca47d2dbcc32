//! Values and names as text.

use std::sync::Arc;

use permazen::__internal::encoding::{
    EncodingKind, EnumArrayEncoding, EnumEncoding, Primitive, ReferenceEncoding, UnknownEncoding,
};
use permazen::encoding::{Encoding, EncodingRegistry, JavaChar, JavaString, Value};
use permazen_query::syntax::{Literal, LiteralKind, Name};
use permazen_query::text::{
    Mismatch, encoded, escaped, is_hidden, json, json_string, literal, quoted, quoted_name, raw,
    shown, value_of,
};
use permazen_query::{parse_literal, parse_objects};

use super::random::Random;

#[path = "../../../../core-tests/tests/bulk/copies/extremes.rs"]
#[allow(dead_code, clippy::expect_used, clippy::panic, reason = "the table of other tests")]
mod extremes;

fn encodings() -> Vec<Arc<dyn Encoding>> {
    let registry = EncodingRegistry::new();
    let mut all: Vec<_> = registry.ids().iter().filter_map(|id| registry.get(id)).collect();
    for alias in ["String[]", "UUID[][]", "byte[][]", "URI[]", "char[][]", "double[][]"] {
        all.push(registry.find_alias(alias).unwrap().unwrap());
    }
    let constants =
        || EnumEncoding::new(["RED", "where", "größe", "a\u{1}b"].map(String::from)).unwrap();
    all.push(Arc::new(constants()));
    all.push(EnumArrayEncoding::build(constants(), 2).unwrap());
    all.push(Arc::new(ReferenceEncoding::new(None)));
    all.push(Arc::new(UnknownEncoding::new("urn:fdc:example.com:2026:odd".parse().unwrap())));
    all
}

/// Random values: decoded from random bytes, and the default.
fn values(encoding: &dyn Encoding, random: &mut Random) -> Vec<Value> {
    let mut values: Vec<_> = encoding.default_value().into_iter().collect();
    for _ in 0..400 {
        let mut bytes: Vec<u8> = (0..random.below(24))
            .map(|_| match random.below(3) {
                0 => random.below(256) as u8,
                1 => 0x60 + random.below(26) as u8,
                _ => [0, 1, 2, 0x7f, 0x80, 0x81, 0xff, 0x10][random.below(8) as usize],
            })
            .collect();
        bytes.extend([0; 12]);
        let mut reader = permazen::encoding::Reader::new(&bytes);
        if let Ok(value) = encoding.decode(&mut reader)
            && encoding.encode_all(&value).is_ok()
        {
            values.push(value);
        }
    }
    values
}

#[test]
fn a_value_can_be_typed_as_it_is_shown() {
    let mut random = Random::new(1);
    for encoding in encodings() {
        let values = values(&*encoding, &mut random);
        assert!(!values.is_empty() || encoding.name().contains("odd"), "{}", encoding.name());
        for value in values {
            let text = literal(&value, &*encoding);
            assert!(!text.contains(is_hidden), "{text:?}");
            let parsed = parse_literal(&text).unwrap_or_else(|m| panic!("{}", m.shown_in(&text)));
            let again = encoded(&parsed, &*encoding)
                .unwrap_or_else(|error| panic!("{} {text}: {error}", encoding.name()));
            assert_eq!(again, encoding.encode_all(&value).unwrap(), "{} {text}", encoding.name());
        }
    }
}

/// The value of an encoding that a cell of a CSV file stands for.
fn of_cell(cell: &str, encoding: &dyn Encoding) -> Option<Vec<u8>> {
    let text = JavaString::from_units(&units_of_cell(cell));
    let typed = parse_literal(cell).ok().and_then(|literal| encoded(&literal, encoding).ok());
    let as_text = || encoded(&Literal::of(LiteralKind::Text(text.clone())), encoding).ok();
    let is_text = matches!(
        encoding.kind(),
        EncodingKind::String
            | EncodingKind::Primitive(Primitive::Char)
            | EncodingKind::Wrapper(Primitive::Char)
    ) || ["File", "URI", "Pattern", "InternetAddress"].contains(&&*encoding.name());
    match is_text {
        true => as_text(),
        false => typed.or_else(as_text),
    }
}

/// The UTF-16 units of a cell: `\u{…}` stands for those that UTF-8 does not have.
fn units_of_cell(cell: &str) -> Vec<u16> {
    let mut units = Vec::new();
    let mut rest = cell;
    while let Some(next) = rest.chars().next() {
        let code = rest.strip_prefix("\\u{").and_then(|after| after.split_once('}'));
        let unit = code.and_then(|(code, after)| {
            let unit = u16::from_str_radix(code, 16).ok()?;
            (code == "5c" || (0xd800..0xe000).contains(&unit)).then_some((unit, after))
        });
        match unit {
            Some((unit, after)) => {
                units.push(unit);
                rest = after;
            }
            None => {
                units.extend_from_slice(next.encode_utf16(&mut [0; 2]));
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    units
}

#[test]
fn the_extremes_of_every_encoding_read_back_in_every_form() {
    for (encoding, values) in extremes::built_in() {
        let array = encoding.id().and_then(|id| id.array().ok());
        let array = array.and_then(|id| EncodingRegistry::new().find(&id).ok().flatten());
        let array = array.filter(|array| matches!(array.kind(), EncodingKind::Array(_)));
        let mut cases: Vec<_> = values.iter().map(|value| (&encoding, value.clone())).collect();
        if let Some(array) = &array {
            cases.extend(values.iter().map(|value| {
                (array, Value::Array([value.clone(), Value::Null, value.clone()].into()))
            }));
        }
        for (encoding, value) in cases {
            let name = encoding.name();
            let stored = encoding.encode_all(&value).unwrap();
            let typed = literal(&value, &**encoding);
            let again = encoded(&parse_literal(&typed).unwrap(), &**encoding);
            assert_eq!(again.as_ref(), Ok(&stored), "{name} {typed}");
            if !value.is_null() {
                let cell = raw(&value, &**encoding);
                assert_eq!(of_cell(&cell, &**encoding), Some(stored), "{name} {cell:?}");
            }
        }
    }
}

#[test]
fn json_holds_values_exactly() {
    let mut random = Random::new(2);
    for encoding in encodings() {
        for value in values(&*encoding, &mut random) {
            let text = json(&value, &*encoding);
            assert!(!text.contains(is_hidden), "{text:?}");
            // serde_json refuses unpaired surrogates, which JSON allows.
            if !text.contains("\\ud") {
                serde_json::from_str::<serde_json::Value>(&text)
                    .unwrap_or_else(|error| panic!("{text}: {error}"));
            }
            let parsed = parse_literal(&text).unwrap_or_else(|m| panic!("{}", m.shown_in(&text)));
            let again = encoded(&parsed, &*encoding)
                .unwrap_or_else(|error| panic!("{} {text}: {error}", encoding.name()));
            assert_eq!(again, encoding.encode_all(&value).unwrap(), "{} {text}", encoding.name());
        }
    }
}

#[test]
fn what_is_shown_has_nothing_hidden() {
    let mut random = Random::new(3);
    for encoding in encodings() {
        for value in values(&*encoding, &mut random) {
            assert!(!shown(&value, &*encoding).contains(is_hidden));
        }
    }
}

/// The characters that Unicode calls control or format characters, and its line separators.
const CONTROL_AND_FORMAT: [std::ops::RangeInclusive<u32>; 24] = [
    0..=0x1f,
    0x7f..=0x9f,
    0xad..=0xad,
    0x600..=0x605,
    0x61c..=0x61c,
    0x6dd..=0x6dd,
    0x70f..=0x70f,
    0x890..=0x891,
    0x8e2..=0x8e2,
    0x180e..=0x180e,
    0x200b..=0x200f,
    0x2028..=0x202e,
    0x2060..=0x2064,
    0x2066..=0x206f,
    0xfeff..=0xfeff,
    0xfff9..=0xfffb,
    0x110bd..=0x110bd,
    0x110cd..=0x110cd,
    0x13430..=0x1343f,
    0x1bca0..=0x1bca3,
    0x1d173..=0x1d17a,
    0xe0001..=0xe0001,
    0xe0020..=0xe007f,
    0x200e..=0x200f,
];

/// All characters that are hidden: those above, and invisible ones.
fn odd_characters() -> impl Iterator<Item = char> {
    (0..=0x10ffff).filter_map(char::from_u32).filter(|c| is_hidden(*c))
}

#[test]
fn no_control_or_format_character_is_shown_in_any_form() {
    let registry = EncodingRegistry::new();
    let string = registry.find_alias("String").unwrap().unwrap();
    let constants = EnumEncoding::new(["A"].map(String::from)).unwrap();
    assert!(odd_characters().count() > 4000);
    for range in CONTROL_AND_FORMAT {
        assert!(range.into_iter().filter_map(char::from_u32).all(is_hidden));
    }
    for c in odd_characters() {
        let text = format!("P{c}31m");
        let value = Value::String(text.clone());
        let shown_forms = [
            escaped(&text).into_owned(),
            quoted(&text.as_str().into()),
            quoted_name(&text),
            Name::of(text.clone()).to_string(),
            json_string(&text.as_str().into()),
            literal(&value, &*string),
            json(&value, &*string),
            shown(&value, &*string),
            Mismatch::NoSuchConstant { word: text.clone(), constants: vec![] }.to_string(),
            value_of(&parse_literal(&quoted_name(&text)).unwrap(), &constants)
                .unwrap_err()
                .to_string(),
        ];
        for form in shown_forms {
            assert!(!form.contains(is_hidden), "{form:?}");
        }
        assert_eq!(raw(&value, &*string), text);
        // An escaped text reads back.
        assert_eq!(parse_objects(&quoted_name(&text)).unwrap().to_string(), quoted_name(&text));
        let again = parse_literal(&quoted(&text.as_str().into())).unwrap();
        assert_eq!(again.kind, LiteralKind::Text(text.as_str().into()));
    }
}

/// The texts of these values are not read back each time, because that always gives the same value.
#[test]
fn values_that_always_read_back() {
    let registry = EncodingRegistry::new();
    let mut random = Random::new(5);
    for name in [
        "UUID",
        "Instant",
        "LocalDate",
        "LocalTime",
        "LocalDateTime",
        "Duration",
        "float",
        "double",
        "Float",
        "Double",
    ] {
        let encoding = registry.find_alias(name).unwrap().unwrap();
        let mut count = 0;
        for _ in 0..10 {
            for value in values(&*encoding, &mut random) {
                let stored = encoding.encode_all(&value);
                let again = parse_literal(&literal(&value, &*encoding)).unwrap();
                assert_eq!(encoded(&again, &*encoding).ok(), stored.clone().ok(), "{value:?}");
                let text = raw(&value, &*encoding);
                if value != Value::Null {
                    let again = encoding.from_text(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
                    assert_eq!(encoding.encode_all(&again), stored, "{text}");
                }
                count += 1;
            }
        }
        assert!(count > 200, "{name}: {count}");
    }
}

#[test]
fn strings_with_unpaired_surrogates_are_kept() {
    let registry = EncodingRegistry::new();
    let string = registry.find_alias("String").unwrap().unwrap();
    let text = JavaString::from_units(&[0x61, 0xd83d, 0x62, 0xdc00, 0xdc01, 0xd800]);
    let value = Value::Utf16(text.clone());
    assert_eq!(literal(&value, &*string), r#""a\u{d83d}b\u{dc00}\u{dc01}\u{d800}""#);
    assert_eq!(json(&value, &*string), r#""a\ud83db\udc00\udc01\ud800""#);
    assert_eq!(raw(&value, &*string), r"a\u{d83d}b\u{dc00}\u{dc01}\u{d800}");
    // Another text does not look the same.
    let rows = [
        (r"a\u{d83d}", r"a\u{5c}u{d83d}"),
        (r"\\u{dfff}\", r"\\u{5c}u{dfff}\"),
        (r"\u{5c}u{d83d}", r"\u{5c}u{5c}u{d83d}"),
        // These are no escapes.
        (r"\u{1f600}\u{e000}\u{d83\u{", r"\u{1f600}\u{e000}\u{d83\u{"),
        (r"C:\users\n", r"C:\users\n"),
    ];
    for (text, shown) in rows {
        assert_eq!(raw(&text.into(), &*string), shown);
    }
    let mixed = JavaString::from_units(&[0x5c, 0x75, 0x7b, 0xd83d, 0x7d, 0x5c, 0xd83d]);
    assert_eq!(raw(&Value::Utf16(mixed), &*string), r"\u{\u{d83d}}\\u{d83d}");
    let emoji: Value = "😀".into();
    assert_eq!(literal(&emoji, &*string), "\"😀\"");
    assert_eq!(shown(&emoji, &*string), "😀");
    let char = registry.find_alias("char").unwrap().unwrap();
    assert_eq!(literal(&Value::Char(JavaChar(0xd83d)), &*char), r#""\u{d83d}""#);
}

#[test]
fn literals_of_the_wrong_type_are_refused() {
    let registry = EncodingRegistry::new();
    for (alias, text, message) in [
        ("int", "\"x\"", "a text is no value of type int; expected a number"),
        ("int", "3000000000", "3000000000 is out of range for type int"),
        ("byte", "128", "128 is out of range for type byte"),
        ("long", "9223372036854775808", "9223372036854775808 is out of range for type long"),
        ("int", "1.5", "no value of type int: 1.5 is no whole number"),
        ("int", "null", "null is no value of type int"),
        ("double", "1e999", "1e999 is out of range for type double"),
        ("String", "3", "a number is no value of type String; expected a text in double quotes"),
        (
            "String",
            "x",
            "a name without quotes is no value of type String; expected a text in double quotes",
        ),
        ("boolean", "1", "a number is no value of type boolean; expected true or false"),
        ("char", "\"ab\"", "no value of type char: it must have exactly one UTF-16 unit"),
        ("UUID", "3", "a number is no value of type UUID; expected a text in double quotes"),
        (
            "String[]",
            "[3]",
            "a number is no value of type String; expected a text in double quotes",
        ),
    ] {
        let encoding = registry.find_alias(alias).unwrap().unwrap();
        let error = value_of(&parse_literal(text).unwrap(), &*encoding).unwrap_err();
        assert_eq!(error.to_string(), message, "{alias} {text}");
    }
    let uuid = registry.find_alias("UUID").unwrap().unwrap();
    let error = value_of(&parse_literal("\"nonsense\"").unwrap(), &*uuid).unwrap_err();
    assert!(matches!(error, Mismatch::Invalid { .. }));
    let red = EnumEncoding::new(["RED", "GREEN"].map(String::from)).unwrap();
    let error = value_of(&parse_literal("BLUE").unwrap(), &red).unwrap_err();
    assert_eq!(error.to_string(), "\"BLUE\" is not one of the constants RED, GREEN");
}
