//! Sums of numbers of any size.

use std::cmp::Ordering;

use permazen::encoding::number::{BigDecimal, BigInteger};

/// How many zeros are appended at most so that two numbers have the same scale.
const MOST_ZEROS: usize = 100_000;

/// The sum of two integers.
pub(super) fn integers(a: &BigInteger, b: &BigInteger) -> Option<BigInteger> {
    sum(&a.to_string(), &b.to_string()).parse().ok()
}

/// The negative number.
pub(super) fn negative_integer(a: &BigInteger) -> Option<BigInteger> {
    negated(&a.to_string()).parse().ok()
}

/// The sum of two decimal numbers, with the larger scale of the two. `None` if the scales differ
/// too much.
pub(super) fn decimals(a: &BigDecimal, b: &BigDecimal) -> Option<BigDecimal> {
    let scale = a.scale().max(b.scale());
    let at_scale = |number: &BigDecimal| {
        let zeros = usize::try_from(i64::from(scale) - i64::from(number.scale())).ok()?;
        (zeros <= MOST_ZEROS).then(|| format!("{}{}", number.unscaled(), "0".repeat(zeros)))
    };
    let unscaled: BigInteger = sum(&at_scale(a)?, &at_scale(b)?).parse().ok()?;
    Some(BigDecimal::new(&unscaled, scale))
}

/// The negative number.
pub(super) fn negative_decimal(a: &BigDecimal) -> Option<BigDecimal> {
    Some(BigDecimal::new(&negative_integer(&a.unscaled())?, a.scale()))
}

/// The number with the other sign, in decimal digits.
fn negated(number: &str) -> String {
    match number.strip_prefix('-') {
        Some(positive) => positive.to_owned(),
        None => format!("-{number}"),
    }
}

/// The sum of two numbers in decimal digits.
fn sum(a: &str, b: &str) -> String {
    let parts = |number: &'_ str| {
        let negative = number.starts_with('-');
        let digits: Vec<u8> =
            number.bytes().rev().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
        (negative, digits)
    };
    let ((a_negative, a), (b_negative, b)) = (parts(a), parts(b));
    let (negative, digits) = if a_negative == b_negative {
        (a_negative, add(&a, &b))
    } else if is_less(&a, &b) {
        (b_negative, subtract(&b, &a))
    } else {
        (a_negative, subtract(&a, &b))
    };
    let text: String = digits.iter().rev().map(|digit| char::from(b'0' + digit)).collect();
    if negative { format!("-{text}") } else { text }
}

/// The sum of two numbers. All digits here are in ascending order of their weights.
fn add(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut carry = 0;
    let mut digits: Vec<u8> = (0..a.len().max(b.len()))
        .map(|at| {
            let digit = digit(a, at) + digit(b, at) + carry;
            carry = digit / 10;
            digit % 10
        })
        .collect();
    digits.push(carry);
    digits
}

/// The difference of two numbers of which the second is not greater.
fn subtract(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut borrowed = 0;
    (0..a.len())
        .map(|at| {
            let digit = digit(a, at) + 10 - digit(b, at) - borrowed;
            borrowed = u8::from(digit < 10);
            digit % 10
        })
        .collect()
}

fn digit(digits: &[u8], at: usize) -> u8 {
    digits.get(at).copied().unwrap_or(0)
}

fn is_less(a: &[u8], b: &[u8]) -> bool {
    let orders = (0..a.len().max(b.len())).rev().map(|at| digit(a, at).cmp(&digit(b, at)));
    orders.into_iter().find(|order| order.is_ne()) == Some(Ordering::Less)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_128_bits() {
        let numbers = [0, 1, -1, 9, 10, -10, 99, 12_345, -99_999, i128::from(u64::MAX), -(1 << 70)];
        for a in numbers {
            for b in numbers {
                let of = |number: i128| number.to_string().parse::<BigInteger>().unwrap();
                assert_eq!(integers(&of(a), &of(b)), Some(of(a + b)), "{a} + {b}");
                assert_eq!(negative_integer(&of(a)), Some(of(-a)), "{a}");
            }
        }
    }

    #[test]
    fn decimals_keep_the_larger_scale() {
        let of = |unscaled: i64, scale| BigDecimal::new(&unscaled.into(), scale);
        assert_eq!(decimals(&of(15, 1), &of(250, 2)), Some(of(400, 2)));
        assert_eq!(decimals(&of(-15, 1), &of(15, 1)), Some(of(0, 1)));
        assert_eq!(decimals(&of(1, -3), &of(1, 0)), Some(of(1001, 0)));
        assert_eq!(decimals(&of(1, 2_000_000_000), &of(1, 0)), None);
        assert_eq!(decimals(&of(1, i32::MAX), &of(1, i32::MIN)), None);
        assert_eq!(negative_decimal(&of(15, 1)), Some(of(-15, 1)));
    }
}
