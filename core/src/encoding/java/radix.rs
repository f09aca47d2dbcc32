//! Converts numbers between decimal and binary digits.
//!
//! Halves are converted separately and combined pairwise. Products use Karatsuba's method, so the
//! time grows with the length to the power of 1.6 and not of 2. A text of a million digits takes
//! less than a minute.

/// The number of digits that are converted one by one.
const LEAF: usize = 32;

/// If the shorter factor is not longer than this, products are computed digit by digit.
const SHORT: usize = 32;

/// Converts the digits of a number from the radix `FROM` to the radix `TO`. Digits are in ascending
/// order of significance, without leading zeros. Both radixes are at most 2³².
pub(crate) fn convert<const FROM: u64, const TO: u64>(digits: &[u32]) -> Vec<u32> {
    // A leaf is converted in quadratic time, which is cheap for its length.
    let mut parts: Vec<Vec<u32>> = digits.chunks(LEAF).map(convert_leaf::<FROM, TO>).collect();
    if parts.len() <= 1 {
        return parts.pop().unwrap_or_default();
    }
    // The factor between the upper and the lower of two parts.
    // A leaf is worth the radix to the power of its length, computed in the new radix.
    let mut leaf = vec![0; LEAF];
    leaf.push(1);
    let mut worth = convert_leaf::<FROM, TO>(&leaf);
    loop {
        parts = parts
            .chunks(2)
            .map(|pair| match pair {
                [low, high] => {
                    let mut sum = product::<TO>(high, &worth);
                    add::<TO>(&mut sum, low);
                    sum
                }
                // The last part has no partner, so it waits for the next round.
                _ => pair.concat(),
            })
            .collect();
        if parts.len() <= 1 {
            return trimmed(parts.pop().unwrap_or_default());
        }
        // Two parts joined are worth the square of one.
        worth = trimmed(product::<TO>(&worth, &worth));
    }
}

/// What stays at a place, and what is carried to the next one.
fn place_and_carry<const RADIX: u64>(value: u64) -> (u32, u64) {
    #[allow(clippy::cast_possible_truncation, reason = "it is less than the radix, which fits")]
    let place = (value % RADIX) as u32;
    (place, value / RADIX)
}

fn convert_leaf<const FROM: u64, const TO: u64>(digits: &[u32]) -> Vec<u32> {
    let mut result: Vec<u32> = Vec::with_capacity(digits.len() + 1);
    for &digit in digits.iter().rev() {
        let mut carry = u64::from(digit);
        for place in &mut result {
            let value = u64::from(*place) * FROM + carry;
            (*place, carry) = place_and_carry::<TO>(value);
        }
        while carry > 0 {
            let (place, rest) = place_and_carry::<TO>(carry);
            result.push(place);
            carry = rest;
        }
    }
    result
}

fn trimmed(mut digits: Vec<u32>) -> Vec<u32> {
    while digits.last() == Some(&0) {
        digits.pop();
    }
    digits
}

/// Adds `other` to a number, which grows if necessary.
fn add<const RADIX: u64>(sum: &mut Vec<u32>, other: &[u32]) {
    if sum.len() < other.len() {
        sum.resize(other.len(), 0);
    }
    let mut carry = 0;
    for (at, place) in sum.iter_mut().enumerate() {
        // The rest stays the same.
        if at >= other.len() && carry == 0 {
            return;
        }
        let value = u64::from(*place) + u64::from(other.get(at).copied().unwrap_or(0)) + carry;
        (*place, carry) = place_and_carry::<RADIX>(value);
    }
    if carry > 0 {
        sum.push(place_and_carry::<RADIX>(carry).0);
    }
}

/// Adds `other` to the digits of a number from `place` on. The sum must fit.
fn add_at<const RADIX: u64>(sum: &mut [u32], place: usize, other: &[u32]) {
    let mut carry = 0;
    for (at, digit) in sum.iter_mut().skip(place).enumerate() {
        if at >= other.len() && carry == 0 {
            return;
        }
        let value = u64::from(*digit) + u64::from(other.get(at).copied().unwrap_or(0)) + carry;
        (*digit, carry) = place_and_carry::<RADIX>(value);
    }
}

/// Subtracts a smaller number.
fn subtract<const RADIX: u64>(from: &mut [u32], other: &[u32]) {
    let mut borrow = 0;
    for (at, digit) in from.iter_mut().enumerate() {
        if at >= other.len() && borrow == 0 {
            return;
        }
        let value =
            // The radix is added first, so that the difference is never below zero.
            RADIX + u64::from(*digit) - u64::from(other.get(at).copied().unwrap_or(0)) - borrow;
        let (place, carry) = place_and_carry::<RADIX>(value);
        *digit = place;
        borrow = 1 - carry;
    }
}

/// The product. It may have leading zeros.
fn product<const RADIX: u64>(a: &[u32], b: &[u32]) -> Vec<u32> {
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let mut result = vec![0; long.len() + short.len()];
    // For short numbers the plain method is faster than the splitting.
    if short.len() <= SHORT {
        for (place, &factor) in short.iter().enumerate() {
            let mut carry = 0;
            let to = result.iter_mut().skip(place);
            for (to, &digit) in to.zip(long.iter().chain(std::iter::once(&0))) {
                let value = u64::from(*to) + u64::from(factor) * u64::from(digit) + carry;
                (*to, carry) = place_and_carry::<RADIX>(value);
            }
        }
        return result;
    }
    // Karatsuba's method needs factors of about the same length.
    if long.len() >= 2 * short.len() {
        for (number, part) in long.chunks(short.len()).enumerate() {
            add_at::<RADIX>(&mut result, number * short.len(), &product::<RADIX>(part, short));
        }
        return result;
    }
    let half = long.len().div_ceil(2);
    let (long_low, long_high) = long.split_at(half);
    let (short_low, short_high) = short.split_at(half);
    let low = product::<RADIX>(long_low, short_low);
    let high = product::<RADIX>(long_high, short_high);
    let (mut long_sum, mut short_sum) = (long_low.to_vec(), short_low.to_vec());
    add::<RADIX>(&mut long_sum, long_high);
    add::<RADIX>(&mut short_sum, short_high);
    // Three products in place of four: the middle one comes from the sums.
    let mut middle = product::<RADIX>(&long_sum, &short_sum);
    subtract::<RADIX>(&mut middle, &low);
    subtract::<RADIX>(&mut middle, &high);
    add_at::<RADIX>(&mut result, 0, &low);
    add_at::<RADIX>(&mut result, half, &trimmed(middle));
    add_at::<RADIX>(&mut result, 2 * half, &high);
    result
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DECIMAL: u64 = 1_000_000_000;
    const BINARY: u64 = 1 << 32;

    fn digits() -> impl Strategy<Value = Vec<u32>> {
        let digit = prop_oneof![Just(0), Just(DECIMAL as u32 - 1), 0..DECIMAL as u32, 0..10u32,];
        (0usize..1500)
            .prop_flat_map(move |length| proptest::collection::vec(digit.clone(), length..=length))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn in_parts_as_digit_by_digit(digits in digits()) {
            let binary = convert::<DECIMAL, BINARY>(&digits);
            prop_assert_eq!(&binary, &convert_leaf::<DECIMAL, BINARY>(&digits));
            prop_assert_ne!(binary.last(), Some(&0));
            let decimal = convert::<BINARY, DECIMAL>(&binary);
            prop_assert_eq!(&decimal, &convert_leaf::<BINARY, DECIMAL>(&binary));
            prop_assert_eq!(decimal, trimmed(digits));
        }
    }

    #[test]
    fn the_largest_digits() {
        let digits = vec![u32::MAX; 1000];
        let decimal = convert::<BINARY, DECIMAL>(&digits);
        assert_eq!(decimal, convert_leaf::<BINARY, DECIMAL>(&digits));
        assert_eq!(convert::<DECIMAL, BINARY>(&decimal), digits);
        assert!(convert::<DECIMAL, BINARY>(&[]).is_empty());
        assert!(convert::<DECIMAL, BINARY>(&[0; 100]).is_empty());
    }
}
