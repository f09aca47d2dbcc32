//! The standard library: `u64` is stored as Java's `BigInteger`, which has all its values in their
//! order, and a duration as Java's `Duration`.

use super::{encode_as, not_held};
use crate::encoding::EncodingError;
use crate::encoding::number::BigInteger;
use crate::encoding::time::Duration;

impl From<u64> for BigInteger {
    fn from(number: u64) -> Self {
        // Without this byte, the first bit of the number would be its sign.
        let mut bytes = vec![0];
        bytes.extend(number.to_be_bytes());
        BigInteger::from_signed_bytes(&bytes)
    }
}

/// Fails for negative numbers and for 2⁶⁴ and above.
impl TryFrom<BigInteger> for u64 {
    type Error = EncodingError;

    fn try_from(number: BigInteger) -> Result<Self, EncodingError> {
        let bytes = match number.to_signed_bytes() {
            // The first byte is the sign if the number has 64 bits.
            [0, bytes @ ..] | bytes => bytes,
        };
        // A negative number of eight bytes would look like a large one.
        if number.is_negative() || bytes.len() > size_of::<u64>() {
            return not_held(&number, "u64");
        }
        Ok(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

/// Fails for 2⁶³ seconds and above.
impl TryFrom<std::time::Duration> for Duration {
    type Error = EncodingError;

    fn try_from(duration: std::time::Duration) -> Result<Self, EncodingError> {
        match i64::try_from(duration.as_secs()) {
            Ok(seconds) => Self::new(seconds, duration.subsec_nanos().into()),
            Err(_) => not_held(&format_args!("{duration:?}"), "a duration of Java"),
        }
    }
}

/// Fails for negative durations.
impl TryFrom<Duration> for std::time::Duration {
    type Error = EncodingError;

    fn try_from(duration: Duration) -> Result<Self, EncodingError> {
        match u64::try_from(duration.seconds()) {
            Ok(seconds) => Ok(Self::new(seconds, duration.nanos())),
            Err(_) => not_held(&duration, "a duration of the standard library"),
        }
    }
}

encode_as! {
    u64 => BigInteger,
    std::time::Duration => Duration,
}
