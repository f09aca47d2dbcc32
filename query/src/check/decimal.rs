//! Decimal numbers by their value. The order of their encoding is that of the values, and of equal
//! values that of their scales (docs/src/encodings.md): 1, 1.0, 1.00, 1.01. So all forms of a
//! number are next to each other, but no bytes stand just after the last one: there can always be
//! another zero.

use std::ops::Bound;

use permazen::encoding::long;

const NEGATIVE: u8 = 1;
const ZERO: u8 = 2;
const POSITIVE: u8 = 3;

/// The encoded number 0.
pub(super) const NOTHING: [u8; 2] = [ZERO, 0];

/// The form of an encoded number without zeros at its end, in which equal numbers have equal bytes
/// and the order is that of the values. Bytes that are no number are left as they are.
pub(super) fn shortest(number: &[u8]) -> Vec<u8> {
    match number.first() {
        Some(&ZERO) => NOTHING.to_vec(),
        Some(&sign @ (NEGATIVE | POSITIVE)) => match digits(number) {
            Some((_, digits)) if digits.is_empty() => NOTHING.to_vec(),
            Some((head, mut digits)) => {
                let end = inverted(sign, 0);
                digits.push(end);
                if digits.len() % 2 == 1 {
                    digits.push(end);
                }
                packed(head, &digits)
            }
            None => number.to_vec(),
        },
        _ => number.to_vec(),
    }
}

/// A range of encoded numbers that has all those whose shortest form is within these bounds, which
/// are shortest forms themselves. It may have others next to its ends.
pub(super) fn around(
    lower: &Bound<Vec<u8>>,
    upper: &Bound<Vec<u8>>,
) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let lower = match lower {
        // Zeros at the end make a negative number come earlier.
        Bound::Included(number) if number.first() == Some(&NEGATIVE) => {
            past(number, inverted(NEGATIVE, 1)).map_or(Bound::Unbounded, Bound::Included)
        }
        lower => lower.clone(),
    };
    let upper = match upper {
        Bound::Included(number) if number.first() == Some(&POSITIVE) => {
            past(number, 2).map_or(Bound::Unbounded, Bound::Excluded)
        }
        // All forms of 0 come before the positive numbers.
        Bound::Included(number) if number.first() == Some(&ZERO) => Bound::Excluded(vec![POSITIVE]),
        upper => upper.clone(),
    };
    (lower, upper)
}

/// A number with another digit at its end, as a half byte.
fn past(number: &[u8], digit: u8) -> Option<Vec<u8>> {
    let (head, mut digits) = digits(number)?;
    digits.push(digit);
    if digits.len() % 2 == 1 {
        digits.push(0);
    }
    Some(packed(head, &digits))
}

/// The sign and exponent of an encoded number that is not 0, and its digits as half bytes, without
/// zeros at their end.
fn digits(number: &[u8]) -> Option<(&[u8], Vec<u8>)> {
    let (&sign, rest) = number.split_first()?;
    let exponent = long::len_from_first(*rest.first()?).ok()?;
    let (head, packed) = number.split_at_checked(1 + exponent)?;
    let halves = packed.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]);
    let mut digits: Vec<u8> = halves.take_while(|half| *half != inverted(sign, 0)).collect();
    while digits.pop_if(|digit| *digit == inverted(sign, 1)).is_some() {}
    Some((head, digits))
}

/// The half byte for a code of a digit: 1 for 0, 2 for 1, and so on; 0 ends the digits.
fn inverted(sign: u8, code: u8) -> u8 {
    if sign == NEGATIVE { 0x0f - code } else { code }
}

fn packed(head: &[u8], halves: &[u8]) -> Vec<u8> {
    let bytes = halves.chunks(2).map(|pair| pair.iter().fold(0, |byte, half| byte << 4 | half));
    head.iter().copied().chain(bytes).collect()
}

#[cfg(test)]
mod tests {
    use permazen::encoding::number::BigDecimal;
    use permazen::encoding::{EncodingRegistry, Value, ids};

    use super::*;

    fn encoded(text: &str) -> Vec<u8> {
        let encoding = EncodingRegistry::new().get(&ids::BIG_DECIMAL).unwrap();
        let number: BigDecimal = text.parse().unwrap();
        encoding.encode_all(&Value::BigDecimal(number)).unwrap()
    }

    #[test]
    fn equal_numbers_have_one_shortest_form() {
        let rows: [&[&str]; 6] = [
            &["100", "1E+2", "100.00", "100.000"],
            &["-7", "-7.0", "-7.00"],
            &["0", "0.0", "0.000"],
            &["1.01", "1.010"],
            &["-120", "-1.2E+2", "-120.0"],
            &["1E-7", "1.0E-7"],
        ];
        for row in rows {
            let forms: Vec<_> = row.iter().map(|text| shortest(&encoded(text))).collect();
            assert!(forms.iter().all(|form| *form == forms[0]), "{row:?}: {forms:x?}");
            assert!(row.iter().any(|text| encoded(text) == forms[0]), "{row:?}");
            let (lower, upper) =
                around(&Bound::Included(forms[0].clone()), &Bound::Included(forms[0].clone()));
            for number in row.iter().map(|text| encoded(text)) {
                let is_above = match &lower {
                    Bound::Included(lower) => number >= *lower,
                    _ => true,
                };
                let is_below = match &upper {
                    Bound::Included(upper) => number <= *upper,
                    Bound::Excluded(upper) => number < *upper,
                    Bound::Unbounded => true,
                };
                assert!(is_above && is_below, "{row:?}: {number:x?}");
            }
        }
        assert_eq!(shortest(&[0xff]), [0xff]);
        assert_eq!(shortest(&[3, 0x7f]), NOTHING);
        assert_eq!(shortest(&[3]), [3]);
    }
}
