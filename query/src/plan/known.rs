//! The truth of a condition for all objects of one version of a type, where no object need be read.

use permazen::__internal::schema::ResolvedKind;

use crate::check::{Access, CheckedCondition, Read, Test, Version};

/// Whether all objects of a version meet a condition, or none does. `None` if that depends on the
/// object.
pub(super) fn known(condition: &CheckedCondition, version: Version) -> Option<bool> {
    match condition {
        CheckedCondition::And(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| known(part, version)).collect();
            // One part that is never met decides, even if others depend on the object.
            if parts.contains(&Some(false)) {
                return Some(false);
            }
            parts.iter().all(Option::is_some).then_some(true)
        }
        CheckedCondition::Or(parts) => {
            let parts: Vec<_> = parts.iter().map(|part| known(part, version)).collect();
            // One part that is always met decides.
            if parts.contains(&Some(true)) {
                return Some(true);
            }
            parts.iter().all(Option::is_some).then_some(false)
        }
        CheckedCondition::Not(inner) => known(inner, version).map(|met| !met),
        CheckedCondition::Test(test) => known_test(test, version),
    }
}

fn known_test(test: &Test, version: Version) -> Option<bool> {
    let first = test.path.hops.first()?;
    // A version without the field has no value there, so nothing matches.
    let Some(access) = first.get(version) else { return Some(false) };
    if access.stored {
        // No value of the kind matches.
        // A longer path ends at another object, whose version is not known here.
        let is_last = test.path.hops.len() == 1 && test.path.special.is_none();
        let matcher = test.matchers.get(access.kind).and_then(Option::as_ref);
        return (is_last && matcher.is_none()).then_some(false);
    }
    // The collection is empty, or its default is not known. Neither matches.
    let Some(default) = default_of(access) else { return Some(false) };
    if test.path.hops.len() > 1 || test.path.special.is_some() {
        // The default of a reference is null, which leads nowhere.
        return Some(false);
    }
    let matcher = test.matchers.get(access.kind).and_then(Option::as_ref);
    Some(matcher.is_some_and(|matcher| matcher.accepts(&default)))
}

/// The value that a field has in a version without it; `None` if it has none.
fn default_of(access: &Access) -> Option<Vec<u8>> {
    match (&access.read, &access.field.kind) {
        (Read::Simple, ResolvedKind::Simple(simple)) => {
            simple.default.as_deref().map(<[u8]>::to_vec)
        }
        (Read::Counter, _) => {
            let mut zero = Vec::new();
            // A counter that a version lacks counts as 0, as for an object of the version that has
            // none yet.
            permazen::encoding::long::write(0, &mut zero);
            Some(zero)
        }
        _ => None,
    }
}
