//! The `bigdecimal` crate.

use super::{encode_as, not_held};
use crate::encoding::EncodingError;
use crate::encoding::number::{BigDecimal, BigInteger};

/// Fails if the scale does not fit into 32 bits.
impl TryFrom<bigdecimal::BigDecimal> for BigDecimal {
    type Error = EncodingError;

    fn try_from(number: bigdecimal::BigDecimal) -> Result<Self, EncodingError> {
        let (unscaled, scale) = number.as_bigint_and_exponent();
        match i32::try_from(scale) {
            Ok(scale) => Ok(BigDecimal::new(
                &BigInteger::from_signed_bytes(&unscaled.to_signed_bytes_be()),
                scale,
            )),
            Err(_) => not_held(&number, "a decimal number with a scale of 32 bits"),
        }
    }
}

impl From<BigDecimal> for bigdecimal::BigDecimal {
    fn from(number: BigDecimal) -> Self {
        let unscaled = bigdecimal::num_bigint::BigInt::from_signed_bytes_be(
            number.unscaled().to_signed_bytes(),
        );
        bigdecimal::BigDecimal::from_bigint(unscaled, i64::from(number.scale()))
    }
}

encode_as!(bigdecimal::BigDecimal => BigDecimal);
