//! Numbers of any size, sets of bits, and statistics.

mod big_decimal;
mod big_integer;
mod bit_set;
mod statistics;

pub use big_decimal::BigDecimal;
pub use big_integer::BigInteger;
pub use bit_set::BitSet;
pub use statistics::{DoubleSummaryStatistics, IntSummaryStatistics, LongSummaryStatistics};
