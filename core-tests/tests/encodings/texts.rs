//! Texts in odd forms. They are accepted and refused as by Permazen 5.2.0 on Java 17.

use permazen::encoding::textual::Pattern;
use permazen::encoding::{EncodingRegistry, Value};

/// The printed form of the value of a text; `None` if the text is refused.
fn read(alias: &str, text: &str) -> Option<String> {
    let encoding = EncodingRegistry::new().find_alias(alias).expect("an alias").expect("built in");
    let value = encoding.from_text(text).ok()?;
    Some(encoding.to_text(&value).expect("its own value"))
}

#[track_caller]
fn taken(alias: &str, texts: &[(&str, &str)]) {
    for (text, printed) in texts {
        assert_eq!(read(alias, text).as_deref(), Some(*printed), "{alias} {text:?}");
    }
}

#[track_caller]
fn refused(alias: &str, texts: &[&str]) {
    for text in texts {
        assert_eq!(read(alias, text), None, "{alias} {text:?}");
    }
}

#[test]
fn scopes_of_addresses() {
    taken(
        "Inet6Address",
        &[
            ("::1%", "::1"),
            ("fe80::1%0", "fe80::1"),
            ("fe80::1%eth0", "fe80::1"),
            ("::1.2.3.4", "::102:304"),
            ("::1.2.3.４", "::102:304"),
        ],
    );
    refused(
        "Inet6Address",
        &[
            "::1.2.3.4%1",
            "::1.2.3.4%",
            "::1% ",
            "::1%a%b",
            "::ffff:102:304%1",
            "::01.2.3.4",
            "1.2.3.4%1",
        ],
    );
}

/// Numbers as Java 25 prints them.
#[test]
fn of_two_equally_close_texts_the_one_with_the_even_digit_is_printed() {
    taken(
        "float",
        &[
            ("-452505.625", "-452505.62"),
            ("452505.375", "452505.38"),
            ("1048576.25", "1048576.2"),
            ("1048576.75", "1048576.8"),
            ("2097152.25", "2097152.2"),
            // Not halfway between two numbers.
            ("452505.6563", "452505.66"),
            ("16777216", "1.6777216E7"),
        ],
    );
    taken(
        "double",
        &[
            ("562949953421312.25", "5.629499534213122E14"),
            ("562949953421312.75", "5.629499534213128E14"),
            ("-1125899906842624.25", "-1.1258999068426242E15"),
            ("1000000000000000.25", "1.0000000000000002E15"),
            // 2⁻²⁵
            ("2.98023223876953125E-8", "2.9802322387695312E-8"),
            ("9007199254740993", "9.007199254740992E15"),
        ],
    );
}

#[test]
fn numbers_at_the_ends_of_their_range_and_of_few_digits() {
    taken(
        "float",
        &[
            ("1.4E-45", "1.4E-45"),
            ("2.8E-45", "2.8E-45"),
            ("1.1754944E-38", "1.1754944E-38"),
            ("3.4028235E38", "3.4028235E38"),
            ("2E-3", "0.002"),
            ("9.999999E-4", "9.999999E-4"),
            ("1E10", "1.0E10"),
            ("0.3", "0.3"),
        ],
    );
    taken(
        "double",
        &[
            ("4.9E-324", "4.9E-324"),
            ("1E-323", "9.9E-324"),
            ("2.2250738585072014E-308", "2.2250738585072014E-308"),
            ("1.7976931348623157E308", "1.7976931348623157E308"),
            ("2E-3", "0.002"),
            ("2E23", "2.0E23"),
            ("1E23", "1.0E23"),
            ("9007199254740992", "9.007199254740992E15"),
        ],
    );
}

#[test]
fn octets_may_begin_with_the_zero_of_another_script() {
    taken("Inet4Address", &[("０23.116.79.15", "23.116.79.15"), ("255.०55.0.0", "255.55.0.0")]);
    refused(
        "Inet4Address",
        &["023.1.1.1", "０255.1.1.1", "1.2.3", "1.2.3.4.5", "1..2.3", "256.1.1.1", "1.2.3.a"],
    );
}

#[test]
fn addresses_in_uris() {
    for text in ["//[::01.2.3.4]", "//[::0000000001.2.3.04]:80", "//u@[1::0.00.000.255%e]/p"] {
        taken("URI", &[(text, text)]);
    }
    refused(
        "URI",
        &["//[::256.2.3.4]", "//[::1..3.4]", "//[01.2.3.4]", "//[::1.2.3.4%]", "//[::00256.1.1.1]"],
    );
}

#[test]
fn a_small_t_may_end_a_duration() {
    taken("Duration", &[("P1Dt", "PT24H"), ("-p1dt", "PT-24H"), ("P1DT1H", "PT25H")]);
    refused("Duration", &["P1DT", "Pt", "PT", "P1Dt ", "P1Dtt", "P1Dt1"]);
    refused("Period", &["P1Dt", "P1DT"]);
}

/// Each part with each quantifier: whether Java accepts it in look-behind by itself, after a
/// character, and in a group that is repeated.
#[test]
fn look_behind_needs_a_longest_length_as_java_counts_it() {
    let quantifiers = [
        "",
        "?",
        "??",
        "?+",
        "*",
        "*?",
        "*+",
        "+",
        "+?",
        "++",
        "{0,1}",
        "{0,1}?",
        "{0,1}+",
        "{1}",
        "{2}",
        "{2}?",
        "{2,3}",
        "{2,3}?",
        "{2,3}+",
        "{0,2}",
        "{0,0}",
        "{1,1}",
        "{1,}",
        "{1,}?",
        "{1,}+",
        "{1,1073741824}",
    ];
    let answers = [
        (
            r"a",
            "+++ ++- ++- ++- ++- +-- +-- ++- +-- +-- ++- ++- ++- +++ +++ +++ ++- ++- ++- ++- +++ +++ ++- +-- +-- ++-",
        ),
        (
            r"(?:a|b)",
            "++- ++- ++- ++- --- --- +-- --- --- +-- ++- ++- ++- --- --- --- --- --- ++- --- --- --- --- --- +-- ---",
        ),
        (
            r"(ab?)",
            "++- ++- ++- ++- --- --- --- --- --- --- ++- ++- ++- --- --- --- --- --- ++- --- --- --- --- --- --- ---",
        ),
        (
            r"(?:ab)",
            "+++ ++- ++- ++- --- --- --- --- --- --- ++- ++- ++- +++ +++ +++ ++- ++- ++- ++- +++ +++ --- --- --- ---",
        ),
        (
            r"\R",
            "+++ ++- ++- ++- --- --- --- --- --- --- ++- ++- ++- +++ +++ +++ ++- ++- ++- ++- +++ +++ --- --- --- ---",
        ),
        (
            r"\X",
            "++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++-",
        ),
        (
            r"[ab]",
            "+++ ++- ++- ++- ++- +-- +-- ++- +-- +-- ++- ++- ++- +++ +++ +++ ++- ++- ++- ++- +++ +++ ++- +-- +-- ++-",
        ),
        (
            r"(?>a|b)",
            "++- ++- ++- ++- +-- +-- +-- +-- +-- +-- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- +-- +-- +-- ++-",
        ),
        (
            r"(?=a|b)",
            "+++ ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- +++ +++ +++ ++- ++- ++- ++- +++ +++ ++- ++- ++- ++-",
        ),
        (
            r"()",
            "+++ ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- +++ +++ +++ ++- ++- ++- ++- +++ +++ ++- ++- ++- ++-",
        ),
        (
            r"\b",
            "+++ ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- +++ +++ +++ ++- ++- ++- ++- +++ +++ ++- ++- ++- ++-",
        ),
        (
            r"(a+)",
            "++- ++- ++- ++- --- --- ++- --- --- ++- ++- ++- ++- --- --- --- --- --- ++- --- --- --- --- --- ++- ---",
        ),
        (
            r"(a)",
            "+++ ++- ++- ++- +-- +-- +-- +-- +-- +-- ++- ++- ++- +++ +++ +++ ++- ++- ++- ++- +++ +++ +-- +-- +-- ++-",
        ),
        (
            r"(?:a{2})",
            "+++ ++- ++- ++- --- --- --- --- --- --- ++- ++- ++- +++ +++ +++ ++- ++- ++- ++- +++ +++ --- --- --- ---",
        ),
        (
            r"(?:a?)",
            "++- ++- ++- ++- --- --- +-- --- --- +-- ++- ++- ++- --- --- --- --- --- ++- --- --- --- --- --- +-- ---",
        ),
        (
            r"(?:(?:a|b)?)",
            "++- ++- ++- ++- --- --- +-- --- --- +-- ++- ++- ++- --- --- --- --- --- ++- --- --- --- --- --- +-- ---",
        ),
        (
            r"(?i:ab)",
            "+++ ++- ++- ++- --- --- --- --- --- --- ++- ++- ++- +++ +++ +++ ++- ++- ++- ++- +++ +++ --- --- --- ---",
        ),
        (
            r"(?:)",
            "+++ ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- ++- +++ +++ +++ ++- ++- ++- ++- +++ +++ ++- ++- ++- ++-",
        ),
        (
            r"(|a)",
            "++- ++- ++- ++- --- --- +-- --- --- +-- ++- ++- ++- --- --- --- --- --- ++- --- --- --- --- --- +-- ---",
        ),
        (
            r"(?:a{2}){2}",
            "+++ +++ --- --- --- --- --- +++ --- --- ++- ++- ++- +++ +++ +++ ++- ++- ++- ++- +++ +++ ++- ++- ++- ++-",
        ),
        (
            r"\1",
            "--- --- --- --- --- --- --- --- --- --- --- --- --- --- --- --- --- --- --- --- --- --- --- --- --- ---",
        ),
    ];
    for (part, answers) in answers {
        for (quantifier, answers) in quantifiers.iter().zip(answers.split(' ')) {
            let patterns = [
                format!("(?<={part}{quantifier})"),
                format!("(?<!x{part}{quantifier})"),
                format!("(?<=(?:{part}{quantifier}){{2}})"),
            ];
            for (pattern, answer) in patterns.iter().zip(answers.chars()) {
                assert_eq!(Pattern::new(pattern).is_ok(), answer == '+', "{pattern}");
            }
        }
    }
}

#[test]
fn quotes_and_word_boundaries_in_patterns() {
    for text in ["\\\\b{2}", "x\\\\b{1,}?", "\\\\b{g}", "\\\\0\\\\Qa\\\\E1", "\\\\Q1\\\\E{2}"] {
        let is_octal = text.starts_with("\\\\0");
        assert_eq!(read("Pattern", text).is_some(), !is_octal, "{text}");
    }
    refused("Pattern", &["\\\\b{g", "\\\\b{x}", "\\\\0\\\\Q0", "\\\\x4\\\\Q1"]);
    taken(
        "Pattern",
        &[("\\\\x41\\\\Q1", "\\\\x41\\\\Q1"), ("\\\\01\\\\Q1\\\\E", "\\\\01\\\\Q1\\\\E")],
    );
}

#[test]
fn hex_digits_of_escapes() {
    taken("String", &[("\\u00４1", "A"), ("\\u004ｃ", "L")]);
    taken("String[]", &[("[\"\\u0041\"]", "[ \"A\" ]"), ("[\"\\\\u00４1\"]", "[ \"A\" ]")]);
    refused("String[]", &["[\"\\u00４1\"]", "[\"\\u004\"]", "[\"\\u"]);
}

/// Base64 without padding is a printed array and is read as one. Nothing is converted through it,
/// because a number or a word can look the same.
#[test]
fn base64_without_padding_is_for_reading_alone() {
    let registry = EncodingRegistry::new();
    let find = |alias: &str| registry.find_alias(alias).unwrap().unwrap();
    let (bytes, string, number) = (find("byte[]"), find("String"), find("BigInteger"));
    let word = "MTExMTExMTExMTExMTExMTEx";
    assert!(bytes.from_text(word).is_ok());
    let unpadded = Value::from(word);
    for (to, from, value) in [
        ("byte[]", &string, unpadded.clone()),
        ("byte[]", &number, number.from_text("111004559292638093474585").unwrap()),
        ("byte[][]", &string, Value::from(format!("[ null, \"{word}\" ]").as_str())),
        (
            "byte[][]",
            &find("String[]"),
            find("String[]").from_text(&format!("[ \"{word}\" ]")).unwrap(),
        ),
    ] {
        let error = find(to).convert(from.as_ref(), &value).unwrap_err().to_string();
        assert!(error.contains(word) || error.contains("111004559292638093474585"), "{error}");
    }
    for (to, text) in [
        ("byte[]", "MTExMTExMTExMTExMTExMTE="),
        ("byte[]", " [ \"1\" ] "),
        ("byte[][]", "[ \"AA==\" ]"),
    ] {
        let value = find(to).convert(string.as_ref(), &Value::from(text)).unwrap();
        assert_eq!(value, find(to).from_text(text).unwrap());
    }
}
