//! Summary statistics.

use std::cmp::Ordering;
use std::fmt;

use crate::bytes::invalid;
use crate::encoding::text::text_impls;
use crate::encoding::value::plain_value;
use crate::encoding::{Encodable, Reader, Result, Value, float, ids, long, text};

/// The four parts of the text form.
fn parts(text: &str) -> Result<[String; 4]> {
    let items: Option<Vec<String>> = text::split_items(text)?.into_iter().collect();
    match items.map(<[String; 4]>::try_from) {
        Some(Ok(parts)) => Ok(parts),
        _ => invalid(format!("not four numbers: {text:?}")),
    }
}

/// The text form of statistics.
macro_rules! statistics_text {
    ($sum:ty, $number:ty) => {
        fn to_text(&self) -> String {
            let (sum, count) = (self.sum.to_text(), self.count.to_text());
            text::join_items([sum, count, self.min.to_text(), self.max.to_text()].map(Some))
        }

        fn from_text(text: &str) -> Result<Self> {
            let [sum, count, min, max] = parts(text)?;
            Self::new(
                <$sum>::from_text(&sum)?,
                i64::from_text(&count)?,
                <$number>::from_text(&min)?,
                <$number>::from_text(&max)?,
            )
        }
    };
}

/// The sum, count and range of integers.
macro_rules! integer_statistics {
    ($type:ident, $number:ty, $id:expr, $what:literal) => {
        #[doc = $what]
        ///
        /// Sorts by sum, then count, smallest and largest.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type {
            sum: i64,
            count: i64,
            min: $number,
            max: $number,
        }

        impl $type {
            /// The statistics of no numbers.
            pub const EMPTY: $type =
                $type { sum: 0, count: 0, min: <$number>::MAX, max: <$number>::MIN };

            /// The statistics of `count` numbers. If `count` is 0, the other parts do not matter.
            ///
            /// # Errors
            /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) if `count` is
            /// negative or `min` is greater than `max`.
            pub fn new(sum: i64, count: i64, min: $number, max: $number) -> Result<Self> {
                match count {
                    ..0 => invalid(format!("negative count {count}")),
                    0 => Ok(Self::EMPTY),
                    _ if min > max => invalid(format!("minimum {min} greater than maximum {max}")),
                    _ => Ok($type { sum, count, min, max }),
                }
            }

            /// The sum of the numbers.
            pub fn sum(&self) -> i64 {
                self.sum
            }

            /// How many numbers there were.
            pub fn count(&self) -> i64 {
                self.count
            }

            /// The smallest number. If there was no number, the largest possible one.
            pub fn min(&self) -> $number {
                self.min
            }

            /// The largest number. If there was no number, the smallest possible one.
            pub fn max(&self) -> $number {
                self.max
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.to_text())
            }
        }

        impl Encodable for $type {
            const PREFIX_00: bool = false;
            const PREFIX_FF: bool = false;
            plain_value!($type, $id);

            fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
                [self.sum, self.count, i64::from(self.min), i64::from(self.max)]
                    .into_iter()
                    .for_each(|part| long::write(part, out));
                Ok(())
            }

            fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
                let (sum, count) = (long::read(reader)?, long::read(reader)?);
                let (min, max) = (long::read(reader)?, long::read(reader)?);
                #[allow(clippy::cast_possible_truncation, reason = "Java drops the upper bits too")]
                let (min, max) = (min as $number, max as $number);
                Self::new(sum, count, min, max)
            }

            fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
                (0..4).try_for_each(|_| long::skip(reader))
            }

            statistics_text!(i64, $number);
        }
    };
}

integer_statistics!(
    IntSummaryStatistics,
    i32,
    ids::INT_SUMMARY_STATISTICS,
    "Sum, count and range of `i32` numbers."
);
integer_statistics!(
    LongSummaryStatistics,
    i64,
    ids::LONG_SUMMARY_STATISTICS,
    "Sum, count and range of `i64` numbers."
);

/// The sum, count and range of `f64` numbers.
///
/// Sorts by sum, then count, smallest and largest.
#[derive(Debug, Clone, Copy)]
pub struct DoubleSummaryStatistics {
    sum: f64,
    count: i64,
    min: f64,
    max: f64,
}

impl DoubleSummaryStatistics {
    /// The statistics of no numbers.
    pub const EMPTY: DoubleSummaryStatistics =
        DoubleSummaryStatistics { sum: 0.0, count: 0, min: f64::INFINITY, max: f64::NEG_INFINITY };

    /// The statistics of `count` numbers. If `count` is 0, the other parts do not matter.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`](crate::encoding::EncodingError::Invalid) if `count` is negative,
    /// `min` is greater than `max`, or some but not all parts are NaN.
    pub fn new(sum: f64, count: i64, min: f64, max: f64) -> Result<Self> {
        let nans = [sum, min, max].into_iter().filter(|part| part.is_nan()).count();
        match count {
            ..0 => invalid(format!("negative count {count}")),
            0 => Ok(Self::EMPTY),
            _ if min > max => invalid(format!("minimum {min} greater than maximum {max}")),
            _ if nans == 1 || nans == 2 => {
                invalid("some, not all, of the minimum, maximum and sum are NaN")
            }
            _ => Ok(DoubleSummaryStatistics { sum, count, min, max }),
        }
    }

    /// The sum of the numbers.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// How many numbers there were.
    pub fn count(&self) -> i64 {
        self.count
    }

    /// The smallest number. If there was no number, infinity.
    pub fn min(&self) -> f64 {
        self.min
    }

    /// The largest number. If there was no number, negative infinity.
    pub fn max(&self) -> f64 {
        self.max
    }

    fn sort_key(&self) -> (u64, i64, u64, u64) {
        (
            float::sort_bits_f64(self.sum),
            self.count,
            float::sort_bits_f64(self.min),
            float::sort_bits_f64(self.max),
        )
    }
}

impl PartialEq for DoubleSummaryStatistics {
    fn eq(&self, other: &Self) -> bool {
        self.sort_key() == other.sort_key()
    }
}

impl Eq for DoubleSummaryStatistics {}

impl PartialOrd for DoubleSummaryStatistics {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DoubleSummaryStatistics {
    fn cmp(&self, other: &Self) -> Ordering {
        self.sort_key().cmp(&other.sort_key())
    }
}

impl std::hash::Hash for DoubleSummaryStatistics {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.sort_key().hash(state);
    }
}

impl fmt::Display for DoubleSummaryStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

impl Encodable for DoubleSummaryStatistics {
    plain_value!(DoubleSummaryStatistics, ids::DOUBLE_SUMMARY_STATISTICS);

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        self.sum.write_to(out)?;
        long::write(self.count, out);
        self.min.write_to(out)?;
        self.max.write_to(out)
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        let (sum, count) = (f64::read_from(reader)?, long::read(reader)?);
        let (min, max) = (f64::read_from(reader)?, f64::read_from(reader)?);
        Self::new(sum, count, min, max)
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        reader.take(8)?;
        long::skip(reader)?;
        reader.take(16).map(drop)
    }

    statistics_text!(f64, f64);
}

text_impls!(IntSummaryStatistics, LongSummaryStatistics, DoubleSummaryStatistics);
