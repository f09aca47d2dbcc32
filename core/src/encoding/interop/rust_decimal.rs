//! The `rust_decimal` crate.

use rust_decimal::Decimal;

use super::{encode_as, not_held};
use crate::encoding::EncodingError;
use crate::encoding::number::{BigDecimal, BigInteger};

impl From<Decimal> for BigDecimal {
    fn from(number: Decimal) -> Self {
        // The scale is at most 28, so it fits.
        BigDecimal::new(&BigInteger::from(number.mantissa()), number.scale().cast_signed())
    }
}

/// Fails if there are more than 28 digits after the point, or more than 96 bits in all.
impl TryFrom<BigDecimal> for Decimal {
    type Error = EncodingError;

    fn try_from(number: BigDecimal) -> Result<Self, EncodingError> {
        // The crate has no negative scale, so the zeros become digits.
        let zeros = number.scale().min(0).unsigned_abs();
        let mantissa = number.unscaled().to_i128().and_then(|unscaled| {
            // Zero has no digits to shift, and its scale could be so large that the power
            // overflows.
            if unscaled == 0 { Some(0) } else { 10i128.checked_pow(zeros)?.checked_mul(unscaled) }
        });
        let decimal = mantissa.and_then(|mantissa| {
            Decimal::try_from_i128_with_scale(mantissa, number.scale().max(0).unsigned_abs()).ok()
        });
        decimal.map_or_else(|| not_held(&number, "a decimal number of the rust_decimal crate"), Ok)
    }
}

encode_as!(Decimal => BigDecimal);
