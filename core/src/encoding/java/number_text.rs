//! Numbers as text, as Java prints and reads them.

use crate::bytes::{Result, invalid};
use crate::encoding::text::java_digit;

/// Parses an integer: a sign, and then `0x`, `0X` or `#` with hex digits, `0` with octal digits, or
/// decimal digits.
pub(crate) fn parse_integer(text: &str, min: i64, max: i64) -> Result<i64> {
    let (negative, body) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match body.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &body[2..]),
        [b'#', ..] => (16, &body[1..]),
        // A leading zero means octal in `Integer.decode`, which Java uses here.
        [b'0', _, ..] => (8, &body[1..]),
        _ => (10, body),
    };
    let magnitude = parse_digits(digits, radix);
    match magnitude.map(|number| if negative { -number } else { number }) {
        Some(number) => match i64::try_from(number) {
            Ok(number) if (min..=max).contains(&number) => Ok(number),
            _ => invalid(format!("number {text} is out of range")),
        },
        None => invalid(format!("invalid number {text:?}")),
    }
}

/// The number with these digits. If it is too large for any integer type, the result is the largest
/// number.
fn parse_digits(digits: &str, radix: u32) -> Option<i128> {
    if digits.is_empty() {
        return None;
    }
    // Anything from here on is out of every range, and the product cannot overflow.
    let limit = 1i128 << 64;
    digits.chars().try_fold(0i128, |number, digit| {
        let digit = java_digit(digit, radix)?;
        Some((number * i128::from(radix) + i128::from(digit)).min(limit))
    })
}

/// If the shortest text of an `f64` has fewer significant digits than this, no other text of that
/// length is equally close to the number. Two such texts would be no farther apart than two
/// neighboring numbers, so they would have at least as many digits as the smallest mantissa, 2⁵².
const TIE_DIGITS_F64: usize = 16;

/// The same limit for an `f32`, whose smallest mantissa is 2²³.
const TIE_DIGITS_F32: usize = 7;

/// Prints a number as Java 19 and later versions do.
pub(crate) fn print_f64(value: f64) -> String {
    match special(value.is_nan(), value.is_infinite(), value == 0.0, value.is_sign_negative()) {
        Some(text) => text.to_owned(),
        None => layout(&closest(
            format!("{value:e}"),
            TIE_DIGITS_F64,
            |places| format!("{value:.places$e}"),
            |text| text.parse() == Ok(value),
        )),
    }
}

/// Prints a number as Java 19 and later versions do.
pub(crate) fn print_f32(value: f32) -> String {
    match special(value.is_nan(), value.is_infinite(), value == 0.0, value.is_sign_negative()) {
        Some(text) => text.to_owned(),
        None => layout(&closest(
            format!("{value:e}"),
            TIE_DIGITS_F32,
            |places| format!("{value:.places$e}"),
            |text| text.parse() == Ok(value),
        )),
    }
}

fn special(nan: bool, infinite: bool, zero: bool, negative: bool) -> Option<&'static str> {
    match (nan, infinite, zero, negative) {
        (true, ..) => Some("NaN"),
        (_, true, _, false) => Some("Infinity"),
        (_, true, _, true) => Some("-Infinity"),
        (_, _, true, false) => Some("0.0"),
        (_, _, true, true) => Some("-0.0"),
        _ => None,
    }
}

/// The text in scientific form that is closest to the number. It has as many digits as `shortest`,
/// but at least two. If two texts are equally close, it is the one whose last digit is even.
/// `rounded` prints the number with a given number of digits after the point.
fn closest(
    shortest: String,
    tie_digits: usize,
    rounded: impl Fn(usize) -> String,
    reads_back: impl Fn(&str) -> bool,
) -> String {
    let digits =
        shortest.bytes().take_while(|&byte| byte != b'e').filter(u8::is_ascii_digit).count();
    // With one digit Java prints a second one, and with many digits two texts can be equally close.
    if (2..tie_digits).contains(&digits) {
        return shortest;
    }
    // Below a power of two, numbers lie closer together. There, the closest text can stand for a
    // neighboring number.
    let closest = rounded(digits.max(2) - 1);
    if reads_back(&closest) { closest } else { shortest }
}

/// Formats the digits of `[-]d[.ddd]e[-]x` as Java does: without an exponent from 10⁻³ to below
/// 10⁷, otherwise with one.
fn layout(scientific: &str) -> String {
    let (sign, magnitude) = match scientific.strip_prefix('-') {
        Some(magnitude) => ("-", magnitude),
        None => ("", scientific),
    };
    let (mantissa, exponent) = magnitude.split_once('e').unwrap_or((magnitude, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = mantissa.replace('.', "");
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        digits => digits,
    };
    let point = |before: &str, after: &str| {
        format!("{sign}{before}.{}", if after.is_empty() { "0" } else { after })
    };
    match exponent {
        0..=6 => {
            let before = exponent.unsigned_abs() as usize + 1;
            let padded = format!("{digits:0<before$}");
            point(&padded[..before], &padded[before..])
        }
        // Java writes small numbers without an exponent down to a thousandth.
        -3..=-1 => {
            point("0", &format!("{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1)))
        }
        _ => format!("{}E{exponent}", point(&digits[..1], &digits[1..])),
    }
}

/// Parses the texts that Java's `Double.parseDouble` accepts.
pub(crate) fn parse_f64(text: &str) -> Result<f64> {
    match split_float(text) {
        Some(Float::Decimal { text: decimal, .. }) => decimal.parse().or_else(|_| bad_float(text)),
        Some(Float::Hex { negative, digits, exponent }) => {
            let value = f64::from_bits(round_binary(digits, exponent, 53, -1022, 1023));
            Ok(if negative { -value } else { value })
        }
        Some(Float::Special(value)) => Ok(value),
        None => bad_float(text),
    }
}

/// Parses the texts that Java's `Float.parseFloat` accepts.
pub(crate) fn parse_f32(text: &str) -> Result<f32> {
    match split_float(text) {
        Some(Float::Decimal { text: decimal, .. }) => decimal.parse().or_else(|_| bad_float(text)),
        Some(Float::Hex { negative, digits, exponent }) => {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "with 24 bits of precision, the bits are those of an f32"
            )]
            let bits = round_binary(digits, exponent, 24, -126, 127) as u32;
            let value = f32::from_bits(bits);
            Ok(if negative { -value } else { value })
        }
        #[allow(clippy::cast_possible_truncation, reason = "NaN and infinities stay what they are")]
        Some(Float::Special(value)) => Ok(value as f32),
        None => bad_float(text),
    }
}

fn bad_float<T>(text: &str) -> Result<T> {
    invalid(format!("invalid number {text:?}"))
}

enum Float<'t> {
    Special(f64),
    /// A number in the syntax that Rust reads.
    Decimal {
        text: &'t str,
    },
    /// The number is digits · 2^exponent. If the lowest bit is 1, it may stand for more digits.
    Hex {
        negative: bool,
        digits: u128,
        exponent: i64,
    },
}

fn split_float(text: &str) -> Option<Float<'_>> {
    // Java trims all characters up to the space, not only white space.
    let text = text.trim_matches(|char| char <= ' ');
    let (negative, body) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    match body {
        "NaN" => return Some(Float::Special(f64::NAN)),
        "Infinity" => {
            return Some(Float::Special(if negative { f64::NEG_INFINITY } else { f64::INFINITY }));
        }
        _ => {}
    }
    if let [b'0', b'x' | b'X', ..] = body.as_bytes() {
        return split_hex(negative, &body[2..]);
    }
    // Java allows the letters of its literals after a decimal number.
    let number = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
    let body = number.strip_prefix(['+', '-']).unwrap_or(number);
    let (mantissa, exponent) = match body.find(['e', 'E']) {
        Some(at) => (&body[..at], Some(&body[at + 1..])),
        None => (body, None),
    };
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    let valid =
        all_digits(before) && all_digits(after) && before.len() + after.len() > 0 && exponent_fits;
    valid.then_some(Float::Decimal { text: number })
}

/// Hex digits with an optional point, then `p` and the exponent of two in decimal.
fn split_hex(negative: bool, body: &str) -> Option<Float<'static>> {
    // In a hex number without an exponent, `f` and `d` are digits.
    let body = body
        .strip_suffix(['f', 'F', 'd', 'D'])
        .filter(|rest| rest.contains(['p', 'P']))
        .unwrap_or(body);
    let (mantissa, exponent) = body.split_once(['p', 'P'])?;
    let exponent_digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if exponent_digits.is_empty() || !exponent_digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // A larger exponent is always an overflow or underflow, because no text has that many digits.
    let limit = i64::MAX / 4;
    let magnitude = exponent_digits.parse::<i64>().map_or(limit, |exponent| exponent.min(limit));
    let mut exponent = if exponent.starts_with('-') { -magnitude } else { magnitude };
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if before.len() + after.len() == 0 {
        return None;
    }
    let mut digits = 0u128;
    for (index, digit) in before.chars().chain(after.chars()).enumerate() {
        let digit = u128::from(digit.to_digit(16)?);
        if digits >> 120 == 0 {
            digits = digits << 4 | digit;
            exponent -= if index >= before.len() { 4 } else { 0 };
        } else {
            // The digit is too far right to be kept, but it decides whether the number is above a
            // half.
            digits |= u128::from(digit != 0);
            exponent += if index < before.len() { 4 } else { 0 };
        }
    }
    Some(Float::Hex { negative, digits, exponent })
}

/// The IEEE bits of digits · 2^exponent, rounded to the nearest number. If two are equally near,
/// the even one is taken.
fn round_binary(
    digits: u128,
    exponent: i64,
    precision: i64,
    min_exponent: i64,
    max_exponent: i64,
) -> u64 {
    // Zero has no leading bit.
    if digits == 0 {
        return 0;
    }
    let length = 128 - i64::from(digits.leading_zeros());
    let top = exponent + length - 1;
    let infinity = (max_exponent * 2 + 1).cast_unsigned() << (precision - 1);
    if top > max_exponent {
        return infinity;
    }
    // The exponent of the last bit that is kept. It is higher for numbers below the normal range.
    let last = top.max(min_exponent) - (precision - 1);
    let shift = last - exponent;
    let kept = if shift <= 0 {
        digits << -shift
    } else if shift > 127 {
        // All bits are beyond the last one that is kept, and below its half.
        0
    } else {
        let (kept, rest, half) =
            (digits >> shift, digits & ((1 << shift) - 1), 1u128 << (shift - 1));
        kept + u128::from(rest > half || (rest == half && kept & 1 == 1))
    };
    // The hidden bit is added to the exponent, so a carry gives the next exponent, up to infinity.
    let biased = (last + precision - 1 - min_exponent).cast_unsigned();
    #[allow(
        clippy::cast_possible_truncation,
        reason = "it has as many bits as the precision, and perhaps a carry"
    )]
    let kept = kept as u64;
    (biased << (precision - 1)) + kept
}
