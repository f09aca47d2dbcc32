//! Makes up texts and bytes that are values of an encoding, or almost.

use crate::random::Random;

/// Longer inputs are not made up.
pub const MAX_LENGTH: usize = 2000;

/// Characters that have a meaning in some encoding, or almost.
const ODD_CHARS: &str = " \t\n\r\u{b}\u{c}\0\u{1}\u{7f}\u{85}\u{a0}+-.,:;/%#?@&=_~()[]{}<>\"'\\|^$*!`0189aAbBdDeEfFhHiInNpPsStTuUwWxXyYzZ\
    \u{131}\u{130}\u{17f}\u{212a}\u{e9}\u{ff10}\u{ff19}\u{661}\u{966}\u{1d7ce}\u{1f600}\u{2028}\u{3000}\u{feff}\u{fffe}\u{ffff}\u{d7ff}";

/// Pieces that are at a limit, or are the beginning of another form.
const ODD_PIECES: [&str; 32] = [
    "null",
    "NaN",
    "Infinity",
    "0x",
    "#",
    "00",
    "07",
    "-0",
    "127",
    "128",
    "-128",
    "-129",
    "32767",
    "32768",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "999999999",
    "1000000000",
    "23:59:59",
    "24:00",
    "02-29",
    "02-30",
    "+18:00",
    "::",
    "[UTC]",
    "\\u0041",
    "\"",
];

/// Texts on which the sides once differed, and other odd forms, besides the recorded ones.
pub const ODD_TEXTS: [(&str, &[&str]); 6] = [
    (
        "Inet6Address",
        &[
            "::1%",
            "fe80::%0",
            "::1.2.3.4%1",
            "::1.2.3.4",
            "::0.0.0.0",
            "1:2:3:4:5:6:7::",
            "::ffff:1.2.3.4",
        ],
    ),
    ("Inet4Address", &["１.２.３.４", "1.2.3.０4"]),
    (
        "URI",
        &[
            "//[::01.2.3.4]",
            "//u@[fe80::1%eth0]:80/p?q#f",
            "mailto:a@b",
            "//a:b@c:1/",
            "///x",
            "//?",
            "a:#",
            "//[::1]:",
            "%41",
            "//h%41:x",
        ],
    ),
    ("Duration", &["P1Dt", "p-1dt-1h+1m-1,5s", "-PT1.S", "P106751991167300DT15H30M7.999999999S"]),
    ("byte[]", &["MTExMTExMTExMTExMTExMTExMTEx", "[ \"1\" ]", "AA=="]),
    (
        "Pattern",
        &[
            "(?<a1>x)\\k<a1>",
            "(?<=a{1,3}|b)c",
            "[a-c&&[^b]]",
            "\\Q[\\E",
            "(?x) a # b",
            "(?i-s:a)",
            "\\p{IsLatin}",
            "\\x{1F600}",
            "\\N{DIGIT ONE}",
            "[]a]",
            "a{2,3}+",
            "\\0377",
            "\\cA",
            "\\b{g}",
        ],
    ),
];

/// Texts of an encoding are made of these: a text that comes first, pieces separated by spaces, and
/// a text that comes last.
const PIECES: [(&str, &str, &str, &str); 18] = [
    (
        "Pattern",
        "",
        r#"(?<= (?<! (?= (?! (?: (?> ( ) ) ) ) [ [^ ] ] && - | * + ? ?? *+ +? {2} {1,} {0,1} {2,3}+ {, } a b ab c 0 . ^ $ \d \W \b \b{g} \B \R \X \G \z \1 \2 \k<n> (?<n> > \Q \E \p{L} \p{IsAlphabetic} \PL \p{sc=Latin} \x41 \x{1F600} \u0041 \uD83D \0 \0377 \08 \cA \N{DIGIT (?i) (?x) (?-x) (?i-m: # \  \e \h \y \_ é 😀"#,
        "",
    ),
    (
        "Pattern",
        "(?<=",
        r"(?: ) ( (?> (?= | * *? *+ + +? ++ ? ?? ?+ {0,1} {2} {2}? {2,3} {1,} {1,}? {0,2147483647} {1,1073741824} a b ab [ab] . \b \R \X \1",
        ")",
    ),
    (
        "URI",
        "",
        r#"http mailto: : / // ? # @ [ ] [::1] [1::2%e] [::01.2.3.4] %41 % %4 é . .. a B 0 :80 :99999999999 user user:pw@ host 1.2.3.4 256 - _ ~ ! $ & ' ( ) * + , ; = | ^ \\ \u0041"#,
        "",
    ),
    (
        "InternetAddress",
        "",
        r#"a b @ . .. x.example < > , ; : ( ) " " \\ [ ] [1.2.3.4] é \u0009 \u0020 group: a@b <a@b> "a\\b" (c) =?utf-8?q?J=C3=B6rg?= =?utf-8?b?w7Y=?= - _ '"#,
        "",
    ),
    (
        "ZoneId",
        "",
        "Z z + - 0 1 01 18 19 :00 :30 00 UTC GMT UT Europe/Berlin EST EST5EDT Etc/GMT+5 Etc/UTC America/New_York / SystemV/EST5 Asia/Calcutta",
        "",
    ),
    ("ZoneOffset", "", "Z z + - 0 1 01 18 19 :00 :30 :59 :60 00 59 : ", ""),
    (
        "Duration",
        "",
        "P P p T t - + 1 0 , . 5 D d H h M m S s 99999999999 W Y 106751991167300 2562047788015215 153722867280912930 9223372036854775807 9223372036854775808",
        "",
    ),
    (
        "Period",
        "P",
        "p - + 1 0 Y y M m W w D d 306783378 306783379 2147483647 2147483648 -2147483648 T .",
        "",
    ),
    (
        "Instant",
        "2024-0",
        "1 2 3 -29 -30 -31 T t 00 23 24 : :59 :60 . .5 .123456789 0 Z z + - +01:00 -00:00:01 +18:00 +18:01",
        "",
    ),
    (
        "LocalDateTime",
        "",
        "+ - 0 1 0000 1999 2024 999999999 1000000000 -02 -29 -12 -31 T t 00 23 24 : :59 :60 . .5 .123456789",
        "",
    ),
    (
        "OffsetDateTime",
        "2024-02-29T",
        "00 23 24 : :59 :60 . .5 .123456789 0 Z z + - +01 +01:00 -00:00:01 +18:00 +18:01 +1800",
        "",
    ),
    (
        "OffsetTime",
        "",
        "00 23 24 : :59 :60 . .5 .123456789 0 Z z + - +01 +01:00 -00:00:01 +18:00 +18:01 +1800",
        "",
    ),
    (
        "ZonedDateTime",
        "2001-02-03T04:05",
        ":06 . .7 Z z +01:00 - [ ] [ ] [UTC] [Z] [+01:00] [GMT+1] [Europe/Berlin] [europe/berlin] \\u005b \\[ America/New_York",
        "",
    ),
    (
        "BigDecimal",
        "",
        "- + 0 1 9 00 . . e E e+ E- 12 99 2147483647 2147483648 -2147483647 ٣ _ , d f",
        "",
    ),
    (
        "double",
        "",
        "- + 0 1 9 . e E e+ E- 12 99 308 324 0x 0X p p- P+1023 a.F f d D NaN Infinity inf  \t 1_0 ١ 4.9E-324 2.2250738585072012e-308 1.7976931348623159e308",
        "",
    ),
    ("int", "", "- + 0 1 7 8 9 00 0x 0X # 7fffffff 80000000 2147483647 2147483648 ٣ ｆ f L _", ""),
    (
        "UUID",
        "",
        "- - - - 1 f F 0 + ffffffff 123456789 7fffffffffffffff 8000000000000000 00000000 ｆ ٣",
        "",
    ),
    (
        "String[]",
        "[",
        r#"null "a" "" " \" \\ \u0041 \\u0041 , , ] nullx null1 NULL 'a' [ b \n \t"#,
        "]",
    ),
];

/// A text of an encoding with this alias: one of `texts` with some changes, or something new.
pub fn changed_text(alias: &str, texts: &[String], random: &mut Random) -> String {
    let pieces: Vec<_> = PIECES.iter().filter(|(of, ..)| *of == alias).collect();
    if let Some((_, before, pieces, after)) = random.of(&pieces)
        && random.chance(50)
    {
        let pieces: Vec<&str> = pieces.split(' ').collect();
        let some: String =
            (0..1 + random.below(8)).filter_map(|_| random.of(&pieces).copied()).collect();
        let text = format!("{before}{some}{after}");
        // The text form of strings has backslashes twice.
        return if alias == "Pattern" { text.replace('\\', "\\\\") } else { text };
    }
    let mut chars: Vec<char> = random.of(texts).map_or(vec![], |text| text.chars().collect());
    let odd: Vec<char> = ODD_CHARS.chars().collect();
    for _ in 0..1 + random.below(6) / 3 {
        let at = random.below(chars.len() + 1);
        let end = (at + 1 + random.below(3)).min(chars.len());
        let end = if random.chance(80) { end.min(at + 1) } else { end };
        let here = chars.get(at).copied();
        match random.below(8) {
            0 => drop(chars.drain(at..end)),
            1 => chars.splice(at..at, random.of(&odd).copied()).for_each(drop),
            2 => chars.splice(at..end, random.of(&odd).copied()).for_each(drop),
            3 => {
                let again = chars[at..end].to_vec();
                chars.splice(at..at, again).for_each(drop);
            }
            4 => {
                let swapped = here.map(|c| {
                    if c.is_uppercase() { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() }
                });
                chars.splice(at..(at + 1).min(chars.len()), swapped).for_each(drop);
            }
            5 => {
                let other: Vec<char> =
                    random.of(texts).map_or(vec![], |text| text.chars().collect());
                let from = random.below(other.len() + 1);
                chars.truncate(at);
                chars.extend_from_slice(&other[from..]);
            }
            6 => {
                let piece = random.of(&ODD_PIECES).copied().unwrap_or_default();
                chars.splice(at..end, piece.chars()).for_each(drop);
            }
            _ => {
                let from = random.below(chars.len() + 1);
                let one = chars.get(from).copied();
                chars.splice(at..end, one).for_each(drop);
            }
        }
    }
    chars.truncate(MAX_LENGTH);
    chars.into_iter().collect()
}

/// One of these byte strings with some changes.
pub fn changed_bytes(all: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = random.of(all).cloned().unwrap_or_default();
    for _ in 0..1 + random.below(6) / 3 {
        let at = random.below(bytes.len() + 1);
        let end = (at + 1).min(bytes.len());
        let odd =
            [0, 1, 2, 0x7e, 0x7f, 0x80, 0xf6, 0xf7, 0xfa, 0xfb, 0xfe, 0xff, random.next() as u8];
        match random.below(5) {
            0 => drop(bytes.drain(at..end)),
            1 => bytes.splice(at..at, random.of(&odd).copied()).for_each(drop),
            2 => bytes.splice(at..end, random.of(&odd).copied()).for_each(drop),
            3 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = byte.wrapping_add([1, 0xff][random.below(2)]);
                }
            }
            _ => {
                let other = random.of(all).cloned().unwrap_or_default();
                let from = random.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
    }
    bytes.truncate(MAX_LENGTH);
    bytes
}
