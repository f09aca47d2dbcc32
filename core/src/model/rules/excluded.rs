//! The values of a column that need not be unique.

use std::ops::Bound;

use crate::encoding::{Encoding, Value};
use crate::model::declare::{Exclude, ExcludeBound};
use crate::object::EncodedRange;

/// Values of one column, as they are encoded.
#[derive(Debug, Default)]
pub(super) struct ExcludedValues {
    /// The encoded form of null, if the column can be null.
    null: Option<Vec<u8>>,
    nulls: bool,
    non_nulls: bool,
    values: Vec<Vec<u8>>,
    ranges: Vec<EncodedRange>,
}

impl ExcludedValues {
    /// The values that `list` names, for a column with this encoding. Everything that is wrong with
    /// the list is added to `problems`.
    pub(super) fn parse(
        list: &[Exclude],
        encoding: &dyn Encoding,
        problems: &mut dyn FnMut(String),
    ) -> Self {
        let null = encoding.supports_null().then(|| encoding.encode_all(&Value::Null).ok());
        let mut excluded = ExcludedValues { null: null.flatten(), ..Self::default() };
        let mut complete = true;
        for exclude in list {
            match exclude {
                Exclude::Nulls => excluded.nulls = true,
                Exclude::NonNulls => excluded.non_nulls = true,
                Exclude::Value(text) => match parse(text, encoding) {
                    // One wrong value hides no other problem of the list.
                    Ok(value) => excluded.values.push(value),
                    Err(problem) => {
                        complete = false;
                        problems(problem);
                    }
                },
                Exclude::Range { lower, upper } => match range(lower, upper, encoding) {
                    Ok(range) => excluded.ranges.push(range),
                    Err(problem) => {
                        complete = false;
                        problems(problem);
                    }
                },
            }
        }
        // A list that says more than it means is likely a mistake of the model.
        if excluded.non_nulls && !(excluded.values.is_empty() && excluded.ranges.is_empty()) {
            problems("`non_nulls` exempts all values but null: drop the others".to_owned());
        }
        // A list with other mistakes may only seem to be empty.
        if complete && excluded.is_empty() {
            problems("no value is exempt: the field is never null; drop `exclude`".to_owned());
        }
        excluded
    }

    /// Whether no value is among them.
    fn is_empty(&self) -> bool {
        let nulls = self.nulls && self.null.is_some();
        !nulls && !self.non_nulls && self.values.is_empty() && self.ranges.is_empty()
    }

    /// Whether every value is among them.
    pub(super) fn is_everything(&self) -> bool {
        self.non_nulls && (self.nulls || self.null.is_none())
    }

    /// Whether an encoded value is among them.
    pub(super) fn contains(&self, value: &[u8]) -> bool {
        // Null is in no range, although it sorts after all values, so it is decided first.
        if self.null.as_deref() == Some(value) {
            return self.nulls;
        }
        let is_above = |lower: &Bound<Vec<u8>>| match lower {
            Bound::Unbounded => true,
            Bound::Included(lower) => value >= &**lower,
            Bound::Excluded(lower) => value > &**lower,
        };
        let is_below = |upper: &Bound<Vec<u8>>| match upper {
            Bound::Unbounded => true,
            Bound::Included(upper) => value <= &**upper,
            Bound::Excluded(upper) => value < &**upper,
        };
        self.non_nulls
            || self.values.iter().any(|excluded| excluded == value)
            || self.ranges.iter().any(|(lower, upper)| is_above(lower) && is_below(upper))
    }
}

/// The encoded form of the value with this text form.
fn parse(text: &str, encoding: &dyn Encoding) -> Result<Vec<u8>, String> {
    let value = encoding.from_text(text).and_then(|value| encoding.encode_all(&value));
    value.map_err(|error| format!("exempt value {text:?}: {error}"))
}

fn range(
    lower: &Option<ExcludeBound>,
    upper: &Option<ExcludeBound>,
    encoding: &dyn Encoding,
) -> Result<EncodedRange, String> {
    let bound = |bound: &Option<ExcludeBound>| -> Result<_, String> {
        let Some(bound) = bound else { return Ok(Bound::Unbounded) };
        let value = parse(bound.value, encoding)?;
        Ok(if bound.inclusive { Bound::Included(value) } else { Bound::Excluded(value) })
    };
    let range = (bound(lower)?, bound(upper)?);
    // A range with one bound always contains something.
    let (Some(lower), Some(upper)) = (lower, upper) else { return Ok(range) };
    let is_empty = match &range {
        (Bound::Included(min), Bound::Included(max)) => min > max,
        (
            Bound::Included(min) | Bound::Excluded(min),
            Bound::Included(max) | Bound::Excluded(max),
        ) => min >= max,
        _ => false,
    };
    if is_empty {
        let (lower, upper) = (lower.value, upper.value);
        return Err(format!("the exempt range from {lower:?} to {upper:?} contains nothing"));
    }
    Ok(range)
}
