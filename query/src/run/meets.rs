//! Whether an object meets a condition.

use super::fail::Result;
use super::reader::Reader;
use super::subject::{Flow, Subject};
use super::values::{Got, each_value};
use crate::check::{CheckedCondition, Test};

/// Whether an object meets a condition.
pub(crate) fn meets(
    reader: &Reader<'_>,
    condition: &CheckedCondition,
    subject: &Subject<'_>,
) -> Result<bool> {
    match condition {
        CheckedCondition::And(parts) => {
            for part in parts {
                if !meets(reader, part, subject)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        CheckedCondition::Or(parts) => {
            for part in parts {
                if meets(reader, part, subject)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        CheckedCondition::Not(inner) => Ok(!meets(reader, inner, subject)?),
        CheckedCondition::Test(test) => passes(reader, test, subject),
    }
}

/// Whether one of the values of the path of a test matches.
fn passes(reader: &Reader<'_>, test: &Test, subject: &Subject<'_>) -> Result<bool> {
    let flow = each_value(reader, &test.path, subject, &mut |kind, got| {
        // A kind without a matcher has a value that cannot be compared, so it does not match.
        let matcher = test.matchers.get(kind).and_then(Option::as_ref);
        let accepted = match (got, matcher) {
            (Got::Value(bytes), Some(matcher)) => {
                // Other matchers compare bytes, and damaged bytes could lie within a range.
                matcher.accepts(bytes) && (matcher.is_exact() || is_value(test, kind, bytes))
            }
            _ => false,
        };
        // A path with many values matches if one of them does.
        Ok(if accepted { Flow::Enough } else { Flow::More })
    })?;
    Ok(flow.is_break())
}

/// Whether bytes can be decoded. Damaged bytes match nothing.
fn is_value(test: &Test, kind: usize, bytes: &[u8]) -> bool {
    let kind = test.path.kinds.get(kind);
    kind.is_some_and(|kind| kind.encoding.decode_all(bytes).is_ok())
}
