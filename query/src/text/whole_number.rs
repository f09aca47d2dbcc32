//! Whole numbers, however they are written: 5, 5.0, 1e3.

/// How many digits of a number of any size are written out.
pub(crate) const MOST_DIGITS: usize = 1000;

/// Why a number is not written as a whole one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotWhole {
    /// It has a part after the point.
    Fraction,
    /// It has too many digits.
    TooLong,
}

/// A number with only its sign and its digits, of which there are at most `most`.
pub(crate) fn whole(number: &str, most: usize) -> Result<String, NotWhole> {
    let (sign, rest) = match number.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", number),
    };
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{before}{after}");
    let digits = all.trim_start_matches('0');
    if digits.is_empty() {
        return Ok("0".to_owned());
    }
    let kept = digits.trim_end_matches('0');
    // An exponent that has too many digits leaves no number that can be written.
    let Ok(exponent) = exponent.parse::<i64>() else {
        let is_small = exponent.starts_with('-');
        return Err(if is_small { NotWhole::Fraction } else { NotWhole::TooLong });
    };
    let zeros = i128::from(exponent) - after.len() as i128 + (digits.len() - kept.len()) as i128;
    let Ok(zeros) = u64::try_from(zeros) else { return Err(NotWhole::Fraction) };
    match usize::try_from(zeros) {
        Ok(zeros) if zeros <= most && kept.len() + zeros <= most => {
            Ok(format!("{sign}{kept}{}", "0".repeat(zeros)))
        }
        _ => Err(NotWhole::TooLong),
    }
}

/// The whole number that a number is, however it is written; `None` if it is none of 64 bits.
///
/// ```
/// use permazen_query::text::whole_number;
///
/// assert_eq!(whole_number("1.5e3"), Some(1500));
/// assert_eq!(whole_number("1.5"), None);
/// ```
pub fn whole_number(number: &str) -> Option<i64> {
    whole(number, 19).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_whole_numbers() {
        for (number, expected) in [
            ("5", Some(5)),
            ("5.0", Some(5)),
            ("-5.00", Some(-5)),
            ("1e3", Some(1000)),
            ("1E+3", Some(1000)),
            ("1.25e2", Some(125)),
            ("120e-1", Some(12)),
            ("0.0e999999999999999999999", Some(0)),
            ("-0", Some(0)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("-9.223372036854775808e18", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("1e19", None),
            ("1e99999999999999999999", None),
            ("1e-99999999999999999999", None),
            ("5.5", None),
            ("125e-1", None),
        ] {
            assert_eq!(whole_number(number), expected, "{number}");
        }
        assert_eq!(whole("12e3", 5).unwrap(), "12000");
        assert_eq!(whole("12e3", 4), Err(NotWhole::TooLong));
        assert_eq!(whole("1e-99999999999999999999", 4), Err(NotWhole::Fraction));
    }
}
