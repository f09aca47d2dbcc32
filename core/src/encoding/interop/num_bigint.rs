//! The `num-bigint` crate.

use super::encode_as;
use crate::encoding::number::BigInteger;

impl From<num_bigint::BigInt> for BigInteger {
    fn from(number: num_bigint::BigInt) -> Self {
        BigInteger::from_signed_bytes(&number.to_signed_bytes_be())
    }
}

impl From<BigInteger> for num_bigint::BigInt {
    fn from(number: BigInteger) -> Self {
        num_bigint::BigInt::from_signed_bytes_be(number.to_signed_bytes())
    }
}

encode_as!(num_bigint::BigInt => BigInteger);
