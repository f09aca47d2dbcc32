//! The rules of single encodings and of the registry.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use permazen::__internal::encoding::{
    EnumArrayEncoding, EnumEncoding, ReferenceEncoding, TupleEncoding, TypedEncoding,
    UnknownEncoding, UnsignedIntEncoding,
};
use permazen::encoding::number::{BigDecimal, BigInteger};
use permazen::encoding::textual::{InternetAddress, Pattern};
use permazen::encoding::time::{Instant, ZoneId};
use permazen::encoding::{
    Encodable, Encoding, EncodingError, EncodingId, EncodingRegistry, EnumValue, FieldType,
    JavaChar, JavaString, Reader, Result, Uuid, Value, Void, string, uint,
};
use permazen::{ObjId, ObjIdGenerator, StorageId};

use super::support::{check_text, check_value, encoded};

#[test]
fn mail_addresses_equal_what_is_read_of_them() {
    for text in ["\" a \" <x@y>", "a@b (c)", "Fred.X <f@x>", "<a@b>", "g: a@b;"] {
        let address = InternetAddress::new(text).expect("an address");
        check_value(&address);
        check_text(&address);
    }
}

#[test]
fn domains_are_of_letters_and_decimal_digits() {
    for domain in ["b", "é", "ß", "ʰ", "中", "٣", "३", "ﬁ"] {
        assert!(InternetAddress::new(&format!("a@{domain}")).is_ok(), "{domain}");
    }
    for domain in ["b¼", "b²", "bⅣ", "b\u{345}", "bⓐ", "b\u{903}", "b①", "𝒳", "b_"] {
        assert!(InternetAddress::new(&format!("a@{domain}")).is_err(), "{domain}");
    }
}

#[test]
fn white_space_in_lists_is_that_of_java() {
    let ints = EncodingRegistry::new().find_alias("int[]").expect("an alias").expect("built in");
    let [nested, bytes] = ["String[]", "byte[]"].map(|alias| {
        EncodingRegistry::new().find_alias(alias).expect("an alias").expect("built in")
    });
    let tuple = TupleEncoding::new([nested.clone(), ints.clone()]).expect("two");
    let lists = |space: &str| {
        let plain = |encoding: &dyn Encoding| {
            let text = format!("{space}[{space}\"1\"{space},{space}\"2\"{space}]{space}");
            encoding.from_text(&text).is_ok()
        };
        let in_tuple = format!("{space}[{space}\"[]\"{space},{space}\"[]\"{space}]{space}");
        let found = [
            plain(ints.as_ref()),
            plain(nested.as_ref()),
            plain(bytes.as_ref()),
            tuple.from_text(&in_tuple).is_ok(),
        ];
        assert!(found.iter().all(|&one| one == found[0]), "{space:?}: {found:?}");
        found[0]
    };
    for space in "\t\n\u{b}\u{c}\r\u{1c}\u{1d}\u{1e}\u{1f} \u{1680}\u{2000}\u{2006}\u{2008}\u{200a}\u{2028}\u{2029}\u{205f}\u{3000}"
        .chars()
    {
        assert!(lists(&space.to_string()), "{space:?}");
    }
    for other in "\u{85}\u{a0}\u{2007}\u{202f}\u{200b}\u{180e}\u{feff}".chars() {
        assert!(!lists(&other.to_string()), "{other:?}");
    }
    // Base64 text allows other spaces than lists do.
    assert!(bytes.from_text("AAAA\nAA==").is_ok());
    assert!(bytes.from_text("AAAA\u{1680}AA==").is_err());
    assert!(bytes.from_text("AAAA\u{1c}AA==").is_err());
}

#[test]
fn cut_values_are_refused() {
    for (alias, text) in [
        ("float", "1.5"),
        ("UUID", "1-2-3-4-5"),
        ("Inet4Address", "1.2.3.4"),
        ("BigInteger", "123456789"),
        ("long", "1234567890123"),
    ] {
        let encoding =
            EncodingRegistry::new().find_alias(alias).expect("an alias").expect("built in");
        let bytes =
            encoding.encode_all(&encoding.from_text(text).expect("valid")).expect("storable");
        for end in 0..bytes.len() {
            assert_eq!(
                encoding.decode(&mut Reader::new(&bytes[..end])),
                Err(EncodingError::Truncated),
                "{alias}"
            );
            assert_eq!(
                encoding.skip(&mut Reader::new(&bytes[..end])),
                Err(EncodingError::Truncated),
                "{alias}"
            );
        }
    }
}

#[test]
fn a_zoned_time_has_the_offset_of_its_zone_if_that_is_fixed() {
    let registry = EncodingRegistry::new();
    let zoned = registry.find_alias("ZonedDateTime").expect("an alias").expect("built in");
    let offsets = registry.find_alias("OffsetDateTime").expect("an alias").expect("built in");
    let bytes = |date_time: &str, zone: &str| {
        let date_time = offsets.from_text(date_time).expect("valid");
        let mut bytes = offsets.encode_all(&date_time).expect("storable");
        string::write(zone, &mut bytes);
        bytes
    };
    let accepted = |date_time, zone| zoned.check_canonical(&bytes(date_time, zone)).is_ok();
    assert!(accepted("2024-01-01T00:00Z", "Z"));
    assert!(accepted("2024-01-01T00:00+01:00", "+01:00"));
    assert!(!accepted("2024-01-01T00:00+01:00", "Z"));
    assert!(!accepted("2024-01-01T00:00Z", "+01:00"));
    assert!(!accepted("2024-01-01T00:00Z", "UTC"));
    // The rules of regions change, and the offset of a time changes with them.
    assert!(accepted("2024-01-01T00:00-05:00", "America/New_York"));
    assert!(accepted("2024-01-01T00:00-04:00", "America/New_York"));
    let elsewhere = bytes("2024-01-01T00:00+01:00", "Z");
    assert!(zoned.decode_all(&elsewhere).is_ok());
}

#[test]
fn the_zones_of_system_v_are_known() {
    let offset = |name: &str, time: &str| {
        let zone = ZoneId::new(name).expect("a zone");
        zone.offset_at(Instant::from_text(time).expect("an instant")).to_string()
    };
    for (zone, hours) in [
        ("AST4ADT", 4),
        ("EST5EDT", 5),
        ("CST6CDT", 6),
        ("MST7MDT", 7),
        ("PST8PDT", 8),
        ("YST9YDT", 9),
    ] {
        let name = format!("SystemV/{zone}");
        assert_eq!(ZoneId::new(&name).expect("a zone").region(), Some(&*name));
        check_value(&ZoneId::new(&name).expect("a zone"));
        check_text(&ZoneId::new(&name).expect("a zone"));
        let (standard, saving) = (format!("-{hours:02}:00"), format!("-{:02}:00", hours - 1));
        // The last second of standard time, which ends at 02:00, and the last second of summer
        // time.
        for (day, night) in [
            ("1900-04-29", "1900-10-28"),
            ("1973-04-29", "1973-10-28"),
            ("1974-01-06", "1974-11-24"),
            ("1975-02-23", "1975-10-26"),
            ("1976-04-25", "1976-10-31"),
            ("2023-04-30", "2023-10-29"),
        ] {
            let (start, end) = (hours + 1, hours);
            assert_eq!(offset(&name, &format!("{day}T{start:02}:59:59Z")), standard, "{day}");
            assert_eq!(offset(&name, &format!("{day}T{:02}:00:00Z", start + 1)), saving, "{day}");
            assert_eq!(offset(&name, &format!("{night}T{end:02}:59:59Z")), saving, "{night}");
            assert_eq!(
                offset(&name, &format!("{night}T{:02}:00:00Z", end + 1)),
                standard,
                "{night}"
            );
        }
        assert_eq!(offset(&name, "1899-07-01T00:00:00Z"), standard);
    }
    for (zone, offset) in [
        ("AST4", "-04:00"),
        ("EST5", "-05:00"),
        ("CST6", "-06:00"),
        ("MST7", "-07:00"),
        ("PST8", "-08:00"),
        ("YST9", "-09:00"),
        ("HST10", "-10:00"),
    ] {
        assert_eq!(ZoneId::new(&format!("SystemV/{zone}")), ZoneId::new(offset));
    }
    for name in
        ["SystemV", "SystemV/", "SystemV/EST6", "SystemV/HST10HDT", "SystemV/est5", "EST5EDT5"]
    {
        assert!(ZoneId::new(name).is_err(), "{name}");
    }
}

#[test]
fn long_numbers_are_printed_and_parsed() {
    let digits = "1234567890".repeat(3000);
    let number = BigInteger::from_text(&digits).expect("digits");
    assert_eq!(number.to_text(), digits);
    let negative = BigInteger::from_text(&format!("-{digits}")).expect("digits");
    assert_eq!(negative.to_text(), format!("-{digits}"));
    assert_eq!(BigInteger::from_text(&"0".repeat(1000)), Ok(0i64.into()));
    for scale in [70_000, 70_003] {
        let number = BigDecimal::from_text(&format!("{}E-{scale}", "7".repeat(70_000)));
        let number = number.expect("a decimal number");
        assert_eq!(BigDecimal::decode_all(&encoded(&number)), Ok(number.clone()));
        check_text(&number);
    }
}

#[test]
fn mapped_addresses() {
    let mapped: Ipv6Addr = "::ffff:1.2.3.4".parse().expect("an address");
    let mut out = vec![7];
    assert!(mapped.encode_to(&mut out).is_err());
    assert_eq!(out, [7]);
    assert_eq!(encoded(&IpAddr::V6(mapped)), [4, 1, 2, 3, 4]);
}

#[test]
fn unknown_properties_pass() {
    for pattern in [
        "\\p{IsNewScript}",
        "\\p{InNewBlock}",
        "\\p{javaNewMethod}",
        "\\p{sc=NewScript}",
        "\\p{Lu}",
        "\\pL",
        "[\\p{Alpha}&&[^a-c]]",
    ] {
        assert!(Pattern::new(pattern).is_ok(), "{pattern}");
    }
    for pattern in [
        "\\p{Nothing}",
        "\\p{}",
        "\\p",
        "\\p{Lu",
        "(?<n>a)(?<n>b)",
        "(?<=(?:ab)*)b",
        "\\k<x>",
        "a{2,1}",
        "[b-a]",
        "(?z)",
        "x{,3}",
        "\\",
        "\\y",
    ] {
        assert!(Pattern::new(pattern).is_err(), "{pattern}");
    }
    for pattern in [
        "(?<n>a)\\k<n>",
        "(?<=a{1,3})b",
        "\\Q[*\\E]",
        "(?x) a b # comment (",
        "a{2}{3}",
        "[]a]",
        "[^]]",
        "[a&&b]",
        "\\x{1F600}",
        "\\07",
        "}",
        "]",
    ] {
        assert!(Pattern::new(pattern).is_ok(), "{pattern}");
    }
}

#[test]
fn deeply_nested_patterns_pass() {
    for depth in [150, 1000, 100_000] {
        for (open, close) in [("(", ")"), ("(?:", ")"), ("(?=", ")"), ("[a", "]")] {
            let pattern = format!("{}b{}", open.repeat(depth), close.repeat(depth));
            let pattern = Pattern::new(&pattern).expect("valid in Java");
            assert_eq!(Pattern::decode_all(&encoded(&pattern)), Ok(pattern));
            let unclosed = format!("{}b{}", open.repeat(150), close.repeat(149));
            assert!(Pattern::new(&unclosed).is_err());
        }
    }
    assert!(Pattern::new("(?x)( ?:a)( #c\n ?<n>a)").is_ok());
    assert!(Pattern::new("(?x)(? :a)").is_err());
}

#[test]
fn errors_say_what_to_do() {
    let int = EncodingRegistry::new().find_alias("int").expect("an alias").expect("built in");
    let told = [
        int.decode_all(&[0xf8]).expect_err("cut off"),
        int.encode_all(&Value::Null).expect_err("null"),
        int.encode_all(&Value::from("1")).expect_err("a string"),
    ];
    assert_eq!(
        told.map(|error| error.to_string()),
        [
            "the bytes end inside a value: they were cut off, or written by another encoding",
            "null is no value of int: give a value, or use an encoding or an `Option` that has null",
            "int takes no value of type String: give one of its own type, or convert it first",
        ]
    );
}

#[test]
fn null_needs_an_option() {
    assert!(matches!(String::decode_all(&[0xff]), Err(EncodingError::NullValue(_))));
    assert_eq!(Option::<String>::decode_all(&[0xff]), Ok(None));
    assert!(matches!(Uuid::decode_all(&[0xff]), Err(EncodingError::NullValue(_))));
    assert!(matches!(String::from_value(&Value::Null), Err(EncodingError::NullValue(_))));
    assert!(i32::decode_all(&[0xff]).is_err());
    assert_eq!(Option::<i32>::decode_all(&[0xff]), Ok(None));
    assert_eq!(<i32 as FieldType>::encoding_id(), EncodingId::from_alias("int").expect("an alias"));
    assert_eq!(Option::<i32>::encoding_id(), EncodingId::from_alias("Integer").expect("an alias"));
    assert_eq!(
        Option::<Box<[Option<String>]>>::encoding_id(),
        EncodingId::from_alias("String[]").expect("an alias")
    );
    assert_eq!(i32::field_default(), Some(0));
    assert_eq!(String::field_default(), None);
    assert_eq!(Option::<i32>::field_default(), Some(None));
    assert_eq!(encoded(&None::<Void>), [0xff]);
    assert!(Box::<[String]>::decode_all(&[1, 0xff, 0]).is_err());
}

#[test]
fn unpaired_surrogates() {
    let lone = JavaString::from_units(&[0x61, 0xd800]);
    let bytes = encoded(&lone);
    assert!(matches!(String::decode_all(&bytes), Err(EncodingError::Invalid(_))));
    assert_eq!(JavaString::decode_all(&bytes), Ok(lone.clone()));
    assert_eq!(lone.to_value(), Value::Utf16(lone.clone()));
    assert_eq!(Value::Utf16("abc".into()), Value::from("abc"));
    // U+FFFF sorts after U+1F600, whose units are surrogates.
    assert!(JavaString::from("\u{1f600}") < JavaString::from("\u{ffff}"));
}

#[test]
fn widening_is_for_primitives_without_null() {
    let registry = EncodingRegistry::new();
    let encode = |alias: &str, value: Value| {
        registry.find_alias(alias).expect("an alias").expect("built in").encode_all(&value)
    };
    assert_eq!(encode("int", Value::Byte(5)), Ok(vec![0x84]));
    assert_eq!(encode("int", Value::Char(JavaChar(5))), Ok(vec![0x84]));
    assert_eq!(encode("long", Value::Short(5)), Ok(vec![0x84]));
    assert_eq!(encode("double", Value::Float(1.0)), Ok(vec![0xbf, 0xf0, 0, 0, 0, 0, 0, 0]));
    assert!(encode("int", Value::Long(5)).is_err());
    assert!(encode("Integer", Value::Byte(5)).is_err());
    assert!(matches!(encode("int", Value::Null), Err(EncodingError::NullValue(_))));
}

#[test]
fn a_converted_value_is_of_the_encoding_it_was_converted_to() {
    let double = EncodingRegistry::new().find_alias("double").expect("an alias").expect("built in");
    let number = UnsignedIntEncoding;
    assert_eq!(double.convert(&number, &Value::Int(1)), Ok(Value::Double(1.0)));
    assert_eq!((&number as &dyn Encoding).convert(&*double, &Value::Double(1.0)).ok(), None);
    let string = EncodingRegistry::new().find_alias("String").expect("an alias").expect("built in");
    assert_eq!(string.convert(&number, &Value::Int(1)), Ok(Value::from("1")));
}

/// A string type that is stored as a string. This is the usual base of an encoding of one's own
/// (encodings X33).
#[derive(Debug, Clone, PartialEq)]
struct Tag(String);

impl Encodable for Tag {
    const PREFIX_FF: bool = false;

    fn encoding_id() -> EncodingId {
        EncodingId::new("urn:fdc:example.com:2026:tag").expect("a URN")
    }

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        string::write(&self.0, out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        string::read(reader).map(Tag)
    }

    fn to_text(&self) -> String {
        self.0.to_text()
    }

    fn from_text(text: &str) -> Result<Self> {
        String::from_text(text).map(Tag)
    }
}

/// Another type that claims the ID of [`Tag`].
#[derive(Debug, Clone, PartialEq)]
struct OtherTag(String);

impl Encodable for OtherTag {
    fn encoding_id() -> EncodingId {
        <Tag as Encodable>::encoding_id()
    }

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        self.0.write_to(out)
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        String::read_from(reader).map(OtherTag)
    }

    fn to_text(&self) -> String {
        self.0.to_text()
    }

    fn from_text(text: &str) -> Result<Self> {
        String::from_text(text).map(OtherTag)
    }
}

/// A type without null, which therefore has a default (encodings X34).
#[derive(Debug, Clone, PartialEq)]
struct Level(u32);

impl Encodable for Level {
    const PREFIX_FF: bool = false;
    const NULLABLE: bool = false;

    fn encoding_id() -> EncodingId {
        EncodingId::new("urn:fdc:example.com:2026:level").expect("a URN")
    }

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        uint::write(self.0, out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        uint::read(reader).map(Level)
    }

    fn to_text(&self) -> String {
        self.0.to_string()
    }

    fn from_text(text: &str) -> Result<Self> {
        text.parse()
            .map(Level)
            .map_err(|_| EncodingError::Invalid(format!("invalid level {text:?}")))
    }

    fn default_value() -> Option<Self> {
        Some(Level(0))
    }
}

#[test]
fn own_encodings() {
    let registry = EncodingRegistry::new();
    assert_eq!(registry.add::<Tag>(), Ok(true));
    assert_eq!(registry.add::<Tag>(), Ok(false));
    assert_eq!(registry.add::<Level>(), Ok(true));
    assert_eq!(encoded(&Tag("x".into())), [0x78, 0]);
    assert_eq!(encoded(&None::<Tag>), [0xff]);
    check_value(&Tag("é".into()));
    check_value(&Level(7));
    assert_eq!(Level::encoding().default_bytes(), Some(&[0][..]));
    assert_eq!(Level::encoding().default_value(), Some(Level(0).to_value()));
    assert!(Level::encoding().encode_all(&Value::Null).is_err());
    let tags: Box<[Option<Tag>]> = Box::new([None, Some(Tag("x".into()))]);
    check_value(&tags);
    let found = registry
        .get(&Option::<Box<[Option<Tag>]>>::encoding_id())
        .expect("arrays of what is registered");
    assert_eq!(found.encode_all(&tags.to_value()), Ok(encoded(&tags)));
    let levels: Box<[Level]> = Box::new([Level(0), Level(300)]);
    assert_eq!(encoded(&levels), [1, 0, 1, 0xfb, 49, 0]);
    check_value(&levels);

    // Another type with the same ID is refused, not taken for the same type.
    assert!(registry.add::<OtherTag>().is_err());
    assert_eq!(registry.add::<Uuid>(), Ok(false));

    // A value of one encoding is no value of another. An encoding without ID or of arrays is not
    // registered.
    assert!(Tag::encoding().encode_all(&Level(1).to_value()).is_err());
    assert!(registry.add_encoding(Arc::new(ReferenceEncoding::new(None))).is_err());
    assert!(registry.add_encoding(Arc::new(TypedEncoding::<Box<[i32]>>::nullable())).is_err());
}

#[test]
fn unknown_encodings_are_carried() {
    let id = EncodingId::new("urn:fdc:example.com:2026:other").expect("a URN");
    assert!(EncodingRegistry::new().get(&id).is_none());
    let unknown = UnknownEncoding::new(id.clone());
    let encoding: &dyn Encoding = &unknown;
    let value = encoding.decode_all(&[1, 0xff, 3]).expect("any bytes");
    assert_eq!(encoding.encode_all(&value), Ok(vec![1, 0xff, 3]));
    assert_eq!(encoding.to_text(&value), Ok("01ff03".into()));
    assert_eq!(encoding.from_text("01ff03"), Ok(value));
    assert!(encoding.decode_all(&[]).is_err());
}

#[test]
fn enums_check_name_and_ordinal() {
    let colours = EnumEncoding::new(["RED", "GREEN", "BLUE"]).expect("identifiers");
    let encoding: &dyn Encoding = &colours;
    assert_eq!(encoding.encode_all(&Value::Enum(EnumValue::new("BLUE", 2))), Ok(vec![2]));
    let wrong =
        encoding.encode_all(&Value::Enum(EnumValue::new("BLUE", 1))).expect_err("wrong ordinal");
    assert_eq!(wrong.to_string(), "enum value BLUE#1 has incorrect ordinal value 1 != 2");
    let unknown =
        encoding.encode_all(&Value::Enum(EnumValue::new("PINK", 3))).expect_err("unknown");
    assert_eq!(unknown.to_string(), "unknown enum value PINK#3");
    let beyond = encoding.decode_all(&[3]).expect_err("beyond the list");
    assert_eq!(beyond.to_string(), "enum ordinal 3 not in the range [0..3)");
    for bad in [&["null"][..], &["A", "A"], &["1a"], &[""]] {
        assert!(EnumEncoding::new(bad.iter().copied()).is_err(), "{bad:?}");
    }
    assert!(EnumArrayEncoding::build(colours.clone(), 0).is_err());
    assert!(EnumArrayEncoding::build(colours, 256).is_err());
}

#[test]
fn references_are_restricted_when_written() {
    let id: ObjId = "0b00000000000001".parse().expect("an id");
    let allowed = [10, 300].into_iter().filter_map(StorageId::new).collect();
    let restricted = ReferenceEncoding::new(Some(allowed));
    let encoding: &dyn Encoding = &restricted;
    assert!(matches!(
        encoding.encode_all(&Value::Ref(id)),
        Err(EncodingError::InvalidReference { .. })
    ));
    assert_eq!(encoding.decode_all(id.as_bytes()), Ok(Value::Ref(id)));
    let generic = restricted.generic();
    assert_eq!((&generic as &dyn Encoding).encode_all(&Value::Ref(id)), Ok(id.to_bytes().to_vec()));
    assert!(!encoding.is_same(&generic));
}

#[test]
fn object_ids_are_of_their_type() {
    let mut ids = ObjIdGenerator::new().expect("random numbers");
    for number in [1, 250, 251, 506, 507, 65_786, 65_787, 16_777_466, 16_777_467, StorageId::MAX] {
        let storage_id = StorageId::new(number).expect("a storage id");
        let id = ids.next_id(storage_id);
        assert_eq!(id.storage_id(), storage_id);
        assert!((ObjId::min(storage_id)..=ObjId::max(storage_id)).contains(&id));
        assert_eq!(id.to_string().parse(), Ok(id));
    }
    let storage_id = StorageId::new(10).expect("a storage id");
    assert_ne!(ids.next_id(storage_id), ids.next_id(storage_id));
    let of_seed = |seed| ObjIdGenerator::from_seed(seed).next_id(storage_id);
    assert_eq!(of_seed(1), of_seed(1));
}

#[test]
fn ordered_object_ids_ascend() {
    let mut ids = ObjIdGenerator::ordered().expect("random numbers");
    let storage_id = |number| StorageId::new(number).expect("a storage id");
    for number in [1, 250] {
        let made: Vec<ObjId> = (0..2000).map(|_| ids.next_id(storage_id(number))).collect();
        assert!(made.is_sorted_by(|a, b| a < b));
        assert!(made.iter().all(|id| id.storage_id() == storage_id(number)));
    }
    // IDs begin with the time in milliseconds, so a generator made later continues after them.
    let now = || {
        let since = std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_millis();
        u64::try_from(since).expect("before 2109")
    };
    let before = now();
    let first = ObjIdGenerator::ordered().expect("random numbers").next_id(storage_id(1));
    let millis = (u64::from_be_bytes(first.to_bytes()) & 0xff_ffff_ffff_ffff) >> 14;
    assert!((before..=now()).contains(&millis), "{first}");
    // After a longer storage ID there is no room for the time.
    let made: Vec<ObjId> = (0..100).map(|_| ids.next_id(storage_id(251))).collect();
    assert!(!made.is_sorted());
    assert!(made.iter().all(|id| id.storage_id() == storage_id(251)));
}

#[test]
fn deep_arrays() {
    let mut id = EncodingId::from_alias("String").expect("an alias");
    for _ in 0..255 {
        id = id.array().expect("up to 255 dimensions");
    }
    assert!(id.array().is_err());
    let encoding = EncodingRegistry::new().get(&id).expect("arrays of any dimension");
    assert!(encoding.decode_all(&[1; 300]).is_err());
    let mut bytes = vec![1; 254];
    bytes.extend([0; 255]);
    let value = encoding.decode_all(&bytes).expect("one array in the other");
    assert_eq!(encoding.encode_all(&value), Ok(bytes));
}
