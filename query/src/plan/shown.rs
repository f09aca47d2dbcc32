//! Conditions as they are written.

use crate::check::CheckedCondition;

/// A condition as it is written.
pub(super) fn shown(condition: &CheckedCondition) -> String {
    let join = |parts: &[CheckedCondition], word: &str| {
        parts.iter().map(grouped).collect::<Vec<_>>().join(word)
    };
    match condition {
        CheckedCondition::And(parts) => join(parts, " and "),
        CheckedCondition::Or(parts) => join(parts, " or "),
        CheckedCondition::Not(inner) => format!("not {}", grouped(inner)),
        CheckedCondition::Test(test) => test.text.clone(),
    }
}

fn grouped(condition: &CheckedCondition) -> String {
    match condition {
        CheckedCondition::And(_) | CheckedCondition::Or(_) => format!("({})", shown(condition)),
        _ => shown(condition),
    }
}
