//! Conversions that lose nothing, between all pairs of encodings.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use permazen::__internal::encoding::{
    Conversion, EncodingKind, EnumArrayEncoding, EnumEncoding, Exactness, Inexact, UnknownEncoding,
};
use permazen::encoding::time::Date;
use permazen::encoding::{Encoding, EncodingId, FieldType, JavaChar, Value};
use proptest::collection::vec;
use proptest::prelude::*;

use super::samples::{self, colors, find, reference};
use super::support::{
    any_decimal, any_instant, any_integer, any_ints, any_ipv6, any_local_date, any_local_date_time,
    any_local_time, any_long, any_offset, any_offset_date_time, any_string, any_uuid, any_zone,
    any_zoned, cases,
};

type Sample = (Arc<dyn Encoding>, BTreeSet<Vec<u8>>);

/// Each encoding with encoded values of it, without null.
static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let with_values = |encoding: Arc<dyn Encoding>| {
        let values = samples::values_of(&*encoding);
        (encoding, values)
    };
    samples::encodings().into_iter().map(with_values).collect()
});

/// Calls `check` for each pair of encodings, with values of the first.
fn each_pair(
    mut check: impl FnMut(&Conversion<'_>, &dyn Encoding, &dyn Encoding, &BTreeSet<Vec<u8>>),
) {
    for (from, values) in &*SAMPLES {
        for (to, _) in &*SAMPLES {
            check(&Conversion::new(&**from, &**to), &**from, &**to, values);
        }
    }
}

const NULL: &[u8] = &[0xff];

/// Pairs of encodings for which the exact answer is not worked out: the answer is "some values",
/// although it may be all or none.
fn is_not_worked_out(from: &dyn Encoding, to: &dyn Encoding) -> bool {
    let is = |names: &[&str]| [from, to].iter().any(|encoding| names.contains(&&*encoding.name()));
    let is_array = [from, to].iter().any(|encoding| {
        matches!(encoding.kind(), EncodingKind::Array(_) | EncodingKind::PrimitiveArray(_))
    });
    // Almost every text is one of these.
    is(&["File", "URI", "Pattern", "InternetAddress"])
        // The text of statistics is a list of four numbers, and may be that of an array.
        || is_array
            && is(&["IntSummaryStatistics", "LongSummaryStatistics", "DoubleSummaryStatistics"])
}

/// Values of every registered encoding compare as their bytes do.
#[test]
fn values_sort_as_their_bytes_do() {
    let mut wrong = Vec::new();
    for (encoding, values) in &*SAMPLES {
        let decoded: Vec<_> = values
            .iter()
            .map(|bytes| (encoding.decode_all(bytes).expect("of this encoding"), bytes))
            .collect();
        for (a, a_bytes) in &decoded {
            for (b, b_bytes) in &decoded {
                if a.cmp(b) != a_bytes.cmp(b_bytes) {
                    wrong.push(format!("{}: {a:?} and {b:?}", encoding.name()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "`Ord for Value` (value.rs) says otherwise:\n{}", wrong.join("\n"));
}

#[test]
fn what_is_told_in_advance_is_true() {
    let mut wrong = Vec::new();
    each_pair(|conversion, from, to, values| {
        let told = conversion.exactness();
        if told == Exactness::Sometimes && is_not_worked_out(from, to) {
            return;
        }
        let (mut exact, mut inexact) = (0, 0);
        for value in values {
            *(if conversion.exact(value).is_ok() { &mut exact } else { &mut inexact }) += 1;
            // More values do not change that.
            if told == Exactness::Sometimes && exact > 0 && inexact > 0 {
                break;
            }
        }
        let null_is_lost = from.supports_null() && !to.supports_null();
        let all = inexact == 0 && !null_is_lost;
        let is_true = match told {
            Exactness::Always => all,
            Exactness::Sometimes => exact > 0 && !all,
            Exactness::Never => exact == 0,
        };
        if !is_true {
            let (from, to) = (from.name(), to.name());
            wrong.push(format!("{from} to {to}: {told:?}, but {exact} of {}", values.len()));
        }
    });
    assert!(
        wrong.is_empty(),
        "core/src/encoding/exactness.rs says otherwise, or samples.rs lacks a telling text:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn null_is_exact_where_both_have_it() {
    for (from, _) in SAMPLES.iter().filter(|(from, _)| from.supports_null()) {
        for (to, _) in &*SAMPLES {
            let conversion = Conversion::new(&**from, &**to);
            if to.supports_null() {
                assert_eq!(conversion.exact(NULL).as_deref(), Ok(NULL));
            } else {
                let refused = conversion.exact(NULL).expect_err("no null").to_string();
                assert_eq!(refused, format!("null is no value of {}", to.name()));
                assert_ne!(conversion.exactness(), Exactness::Always);
            }
        }
    }
}

fn is_reference(encoding: &dyn Encoding) -> bool {
    matches!(encoding.kind(), EncodingKind::Reference(_))
}

#[test]
fn an_exact_value_is_what_java_gives_and_comes_back() {
    for (from, values) in &*SAMPLES {
        for (to, _) in &*SAMPLES {
            let (there, back) = (Conversion::new(&**from, &**to), Conversion::new(&**to, &**from));
            // `what_is_told_in_advance_is_true` sees that no value is exact then.
            if there.exactness() == Exactness::Never {
                continue;
            }
            for value in values {
                let Ok(converted) = there.exact(value) else { continue };
                assert_eq!(there.lossy(value).as_ref(), Ok(&converted));
                to.check_canonical(&converted).expect("just written");
                assert_eq!(back.lossy(&converted).as_ref(), Ok(value));
                // A reference may be wider than what it came from allows, never another one.
                assert_eq!(back.exact(&converted).as_ref(), Ok(value));
                assert!(!is_reference(&**from) || *value == converted);
            }
        }
    }
}

fn refusal(from: &dyn Encoding, to: &dyn Encoding, value: impl Into<Value>) -> String {
    let bytes = from.encode_all(&value.into()).expect("a value of the encoding");
    Conversion::new(from, to).exact(&bytes).expect_err("refused").to_string()
}

#[test]
fn refusals_show_the_value_and_what_it_would_become() {
    let said = |from: &str, to: &str, value: Value| refusal(&*find(from), &*find(to), value);
    let long = said("long", "int", Value::Long(5_000_000_000));
    assert_eq!(long, "5000000000 does not fit int: it would become 705032704");
    let double = said("double", "Integer", Value::Double(1e20));
    assert_eq!(double, "1.0E20 does not fit Integer: it would become 2147483647");
    let zero = said("double", "int", Value::Double(-0.0));
    assert_eq!(zero, "-0.0 does not fit int: it would become 0");
    assert_eq!(said("String", "int", Value::from("7a")), "\"7a\" is no int");
    let octal = said("String", "int", Value::from("007"));
    assert_eq!(octal, "\"007\" does not fit int: it would become 7");
    let offset = find("OffsetDateTime").from_text("2024-02-29T12:30+02:00").expect("a time");
    assert_eq!(said("OffsetDateTime", "Instant", offset), "2024-02-29T12:30+02:00 is no Instant");
    let offset = find("OffsetDateTime").from_text("2024-02-29T12:30:45+02:00").expect("a time");
    assert_eq!(
        said("OffsetDateTime", "Instant", offset),
        "2024-02-29T12:30:45+02:00 does not fit Instant: it would become 2024-02-29T10:30:45Z"
    );
    let scaled = find("BigDecimal").from_text("1.00").expect("a number");
    let double = said("BigDecimal", "double", scaled);
    assert_eq!(double, "1.00 does not fit double: it would become 1.0");
    let uuid = find("UUID").from_text("00000000-0000-0000-0000-000000000001").expect("a UUID");
    assert_eq!(
        said("UUID", "LocalDate", uuid),
        "00000000-0000-0000-0000-000000000001 stays as it is: no value of UUID is converted \
         exactly to LocalDate"
    );
    // An instant is read in the Gregorian calendar, a date of that time is printed in the Julian.
    let julian = find("Date").from_text("1500-01-01T00:00:00Z").expect("a date");
    assert_eq!(
        said("Date", "Instant", julian),
        "1500-01-01T00:00:00Z does not fit Instant: it would become another value with the same text"
    );
    assert_eq!(
        refusal(&*find("String"), &*reference(None), "a"),
        "\"a\" stays as it is: no value of String is converted exactly to reference"
    );

    let (string, colors) = (find("String"), colors());
    assert_eq!(
        refusal(&*string, &colors, "LOW"),
        "\"LOW\" is no constant of enum [RED, GREEN, Blue]"
    );
    let other = EnumEncoding::new(["LOW"]).expect("an identifier");
    let low = (&other as &dyn Encoding).from_text("LOW").expect("a constant");
    assert_eq!(
        refusal(&other, &colors, low.clone()),
        "\"LOW\" is no constant of enum [RED, GREEN, Blue]"
    );
    assert_eq!(refusal(&other, &*find("int"), low), "\"LOW\" is no int");

    let long_text = refusal(&*string, &*find("int"), "line\n".repeat(100));
    assert_eq!(long_text, format!("\"{}line…\" is no int", "line\\n".repeat(12)));
}

/// Casting to the nearest number and back gives the same bytes here, but another number in between.
#[test]
fn numbers_at_the_ends_are_not_exact_if_they_become_others() {
    let refused = |from: &str, to: &str, value: Value| refusal(&*find(from), &*find(to), value);
    let changes = [
        ("long", "double", Value::Long(i64::MAX), "9.223372036854776E18"),
        ("int", "float", Value::Int(i32::MAX), "2.1474836E9"),
        ("float", "int", Value::Float(2_147_483_648.0), "2147483647"),
        ("double", "long", Value::Double(9_223_372_036_854_775_808.0), "9223372036854775807"),
    ];
    for (from, to, value, becomes) in changes {
        let message = refused(from, to, value);
        assert!(message.ends_with(&format!("would become {becomes}")), "{message}");
    }
    let array = refused("long[]", "double[]", Value::Longs([1, i64::MAX].into()));
    assert!(array.contains("does not fit double[]"), "{array}");
}

#[test]
fn a_zero_becomes_some_zero() {
    let (int, or_null) = (find("int"), find("Integer"));
    let zero = int.encode_all(&Value::Int(0)).expect("an int");
    let converted = Conversion::new(&*int, &*or_null).exact(&zero);
    assert_eq!(converted, Ok(or_null.encode_all(&Value::Int(0)).expect("an int")));
}

#[test]
fn references_follow_the_types_that_are_allowed_from_now_on() {
    let [any, ten, twenty, both, none] =
        [None, Some(&[10][..]), Some(&[20]), Some(&[10, 20]), Some(&[])].map(reference);
    let exactness = |from: &Arc<dyn Encoding>, to: &Arc<dyn Encoding>| {
        Conversion::new(&**from, &**to).exactness()
    };
    assert_eq!(exactness(&ten, &any), Exactness::Always);
    assert_eq!(exactness(&ten, &both), Exactness::Always);
    assert_eq!(exactness(&both, &ten), Exactness::Sometimes);
    assert_eq!(exactness(&any, &ten), Exactness::Sometimes);
    assert_eq!(exactness(&ten, &twenty), Exactness::Never);
    assert_eq!(exactness(&any, &none), Exactness::Never);
    assert_eq!(exactness(&none, &ten), Exactness::Always);
    for other in ["long", "String", "UUID"] {
        assert_eq!(exactness(&any, &find(other)), Exactness::Never);
        assert_eq!(exactness(&find(other), &any), Exactness::Never);
    }
    // The database may hold a reference that its own field does not allow.
    let stray = [20, 0, 0, 0, 0, 0, 0, 9];
    assert_eq!(Conversion::new(&*ten, &*both).exact(&stray), Ok(stray.to_vec()));
    assert!(matches!(
        Conversion::new(&*both, &*ten).exact(&stray),
        Err(Inexact::NoCounterpart { .. })
    ));
}

#[test]
fn unknown_encodings_are_exact_only_to_themselves() {
    let id = EncodingId::new("urn:fdc:example.com:2026:mystery").expect("a URN");
    let (unknown, string) = (UnknownEncoding::new(id), find("String"));
    let same = Conversion::new(&unknown, &unknown);
    assert_eq!((same.exactness(), same.exact(&[1, 2])), (Exactness::Always, Ok(vec![1, 2])));
    for conversion in [Conversion::new(&unknown, &*string), Conversion::new(&*string, &unknown)] {
        assert_eq!(conversion.exactness(), Exactness::Never);
        assert!(conversion.exact(b"a\0").is_err());
        assert!(conversion.lossy(b"a\0").is_err());
    }
}

/// The name in `to` of the constant of `from`, or `None`.
fn renamed(from: &[&str], to: &[&str], pairs: &[(&str, &str)], name: &str) -> Option<String> {
    let [from, to] =
        [from, to].map(|names| EnumEncoding::new(names.to_vec()).expect("identifiers"));
    let (from, to): (&dyn Encoding, &dyn Encoding) = (&from, &to);
    let value = from.encode_all(&from.from_text(name).expect("a constant")).expect("a constant");
    let conversion = Conversion::new(from, to).renaming(pairs);
    let converted = conversion.exact(&value).ok()?;
    assert_eq!(conversion.lossy(&value).as_ref(), Ok(&converted));
    let converted = to.decode_all(&converted).expect("just written");
    Some(to.to_text(&converted).expect("a constant"))
}

#[test]
fn renamed_constants() {
    let is = |name: &str| Some(name.to_owned());
    let pairs = [("MINOR", "LOW")];
    assert_eq!(renamed(&["LOW", "HIGH"], &["HIGH", "MINOR"], &pairs, "LOW"), is("MINOR"));
    assert_eq!(renamed(&["LOW", "HIGH"], &["HIGH", "MINOR"], &pairs, "HIGH"), is("HIGH"));
    // The name before now means something else.
    assert_eq!(renamed(&["LOW"], &["LOW", "MINOR"], &pairs, "LOW"), is("MINOR"));
    // The constant was renamed earlier, and the name before is in use again.
    assert_eq!(renamed(&["LOW", "MINOR"], &["LOW", "MINOR", "X"], &pairs, "LOW"), is("LOW"));
    assert_eq!(renamed(&["LOW", "MINOR"], &["LOW", "MINOR", "X"], &pairs, "MINOR"), is("MINOR"));
    // A pair whose name now does not exist counts for nothing.
    assert_eq!(renamed(&["LOW"], &["LOW", "X"], &pairs, "LOW"), is("LOW"));
    // Names of several earlier versions.
    let history = [("X", "A"), ("X", "B")];
    assert_eq!(renamed(&["A"], &["X"], &history, "A"), is("X"));
    assert_eq!(renamed(&["B"], &["X"], &history, "B"), is("X"));
    // Two constants that become one: the second could not be distinguished from the first.
    assert_eq!(renamed(&["A", "B"], &["X"], &history, "A"), is("X"));
    assert_eq!(renamed(&["A", "B"], &["X"], &history, "B"), None);
    assert_eq!(renamed(&["A", "X"], &["X"], &history, "A"), None);
}

#[test]
fn renamed_constants_in_arrays() {
    let array = |names: [&str; 2]| {
        let constants = EnumEncoding::new(names).expect("identifiers");
        EnumArrayEncoding::build(constants, 2).expect("two dimensions")
    };
    let (before, now) = (array(["LOW", "HIGH"]), array(["HIGH", "MINOR"]));
    let text = "[ \"[ \\\"LOW\\\", null, \\\"HIGH\\\" ]\", null ]";
    let value = before.encode_all(&before.from_text(text).expect("an array")).expect("an array");
    assert!(Conversion::new(&*before, &*now).exact(&value).is_err());
    let conversion = Conversion::new(&*before, &*now).renaming(&[("MINOR", "LOW")]);
    let converted = conversion.exact(&value).expect("both have counterparts");
    let converted = now.to_text(&now.decode_all(&converted).expect("just written"));
    assert_eq!(converted, Ok(text.replace("LOW", "MINOR")));
}

#[test]
fn bytes_that_are_not_in_their_proper_form_are_refused() {
    // An `int` with the bytes of a larger number is read without its upper bits.
    let too_large = find("long").encode_all(&Value::Long(5_000_000_000)).expect("a long");
    let (int, long) = (find("int"), find("long"));
    let refused = Conversion::new(&*int, &*long).exact(&too_large);
    assert!(matches!(refused, Err(Inexact::Damaged { .. })), "{refused:?}");
    // A NaN with other bits than those that are written.
    let (float, double) = (find("float"), find("double"));
    let nan = [0xff, 0xc0, 0, 1];
    assert!(matches!(Conversion::new(&*float, &*double).exact(&nan), Err(Inexact::Damaged { .. })));
}

/// All values of `short` and `char` if `PERMAZEN_ALL` is set, and otherwise those where something
/// changes, and some between them.
fn bits() -> Vec<u16> {
    let all = std::env::var_os("PERMAZEN_ALL").is_some();
    let ends = [0..=0x1ff, 0x7f00..=0x80ff, 0xd7f0..=0xe00f, 0xff00..=0xffff];
    let is_taken =
        |bits: &u16| all || bits.is_multiple_of(31) || ends.iter().any(|at| at.contains(bits));
    (0..=u16::MAX).filter(is_taken).collect()
}

/// Values of `short` and `char`, to the encodings that hold many of them.
#[test]
fn every_short_and_char() {
    let bits = bits();
    let targets = ["boolean", "Byte", "short", "char", "int", "long", "float", "Double", "String"];
    for (from, value) in [
        ("short", (|bits| Value::Short(bits as i16)) as fn(u16) -> Value),
        ("char", |bits| Value::Char(JavaChar(bits))),
    ] {
        let from = find(from);
        for to in targets.map(find) {
            let conversion = Conversion::new(&*from, &*to);
            let mut exact = 0;
            for &bits in &bits {
                let bytes = from.encode_all(&value(bits)).expect("of this type");
                exact += usize::from(conversion.exact(&bytes).is_ok());
            }
            let found = match exact {
                0 => Exactness::Never,
                exact if exact == bits.len() => Exactness::Always,
                _ => Exactness::Sometimes,
            };
            assert_eq!(conversion.exactness(), found, "{} to {}", from.name(), to.name());
        }
    }
}

/// A random value, and the name of its encoding.
fn any_value() -> impl Strategy<Value = (&'static str, Value)> {
    fn of<T: FieldType>(
        name: &'static str,
        values: impl Strategy<Value = T> + 'static,
    ) -> BoxedStrategy<(&'static str, Value)> {
        values.prop_map(move |value| (name, value.to_value())).boxed()
    }
    prop_oneof![
        of("short", any::<i16>()),
        of("int", any_long().prop_map(|number| number as i32)),
        of("long", any_long()),
        of("char", any::<u16>().prop_map(JavaChar)),
        of("float", any::<f32>()),
        of("double", any::<f64>()),
        of("String", any_string()),
        of("BigInteger", any_integer()),
        of("BigDecimal", any_decimal()),
        of("UUID", any_uuid()),
        of("Date", any_long().prop_map(Date::from_millis)),
        of("Instant", any_instant()),
        of("LocalDate", any_local_date()),
        of("LocalTime", any_local_time()),
        of("LocalDateTime", any_local_date_time()),
        of("OffsetDateTime", any_offset_date_time()),
        of("ZonedDateTime", any_zoned()),
        of("ZoneId", any_zone()),
        of("ZoneOffset", any_offset()),
        of("Inet6Address", any_ipv6()),
        of("int[]", any_ints()),
        of(
            "String[]",
            vec(proptest::option::of(any_string()), 0..3).prop_map(Vec::into_boxed_slice)
        ),
        of(
            "LocalDate[]",
            vec(proptest::option::of(any_local_date()), 0..3).prop_map(Vec::into_boxed_slice)
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]

    #[test]
    fn what_is_told_in_advance_is_true_of_random_values((name, value) in any_value()) {
        let from = find(name);
        let bytes = from.encode_all(&value).expect("of this encoding");
        for (to, _) in &*SAMPLES {
            let conversion = Conversion::new(&*from, &**to);
            let exact = conversion.exact(&bytes);
            match conversion.exactness() {
                Exactness::Always => prop_assert!(exact.is_ok(), "{}: {:?}", to.name(), exact),
                Exactness::Never => prop_assert!(exact.is_err(), "{}: {:?}", to.name(), exact),
                Exactness::Sometimes => {}
            }
            if let Ok(converted) = exact {
                let back = Conversion::new(&**to, &*from).exact(&converted);
                prop_assert_eq!(back.as_ref(), Ok(&bytes), "{}", to.name());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40)))]

    /// Whatever the bytes are, they are refused or converted.
    #[test]
    fn any_bytes_are_converted_or_refused(bytes in prop_oneof![
        vec(any::<u8>(), 0..24),
        vec(prop_oneof![Just(0u8), Just(1), Just(0x7f), Just(0xff), any::<u8>()], 0..12),
    ]) {
        for (from, _) in &*SAMPLES {
            let is_value = from.check_canonical(&bytes).is_ok();
            for (to, _) in &*SAMPLES {
                let conversion = Conversion::new(&**from, &**to);
                match conversion.exact(&bytes) {
                    Ok(converted) => {
                        prop_assert_eq!(conversion.lossy(&bytes), Ok(converted));
                        prop_assert!(is_value || from.is_same(&**to));
                    }
                    Err(refused) => prop_assert!(!refused.to_string().is_empty()),
                }
            }
        }
    }
}
