//! How a query is written whose condition goes through references, so that indexes serve it:
//! `Order where customer.city = "Rome"` is `(Customer where city = "Rome")<-Order.customer`.

use permazen::__internal::object::IndexKind;
use permazen::StorageId;

use super::shown::shown;
use crate::catalog::{Catalog, TypeEntry};
use crate::check::{Access, CheckedCondition, Read, Test};
use crate::text::quoted_name;

/// Comparisons that an index serves, as they come after a path.
const SERVED: [&str; 7] = [" = ", " < ", " <= ", " > ", " >= ", " in ", " starts "];

/// The objects of a query written so that indexes find them, if one condition allows it.
pub(super) fn other_way(
    catalog: &Catalog,
    entry: &TypeEntry,
    conditions: &[&CheckedCondition],
) -> Option<String> {
    // One condition becomes the start of the set; the others stay as they are written.
    let (at, written) = conditions.iter().enumerate().find_map(|(at, condition)| {
        let CheckedCondition::Test(test) = condition else { return None };
        Some((at, back_from(catalog, entry, test)?))
    })?;
    let others = conditions.iter().enumerate().filter(|(other, _)| *other != at);
    let others: Vec<_> = others
        .map(|(_, condition)| match condition {
            // `and` binds closer than `or`, so an `or` among the others needs parentheses.
            CheckedCondition::Or(_) => format!("({})", shown(condition)),
            _ => shown(condition),
        })
        .collect();
    Some(match others.is_empty() {
        true => written,
        false => format!("{written} where {}", others.join(" and ")),
    })
}

/// The one type to whose objects a field refers, if it is a reference that an object has.
fn only_target(access: &Access) -> Option<StorageId> {
    // A version without the field has no reference to go back along.
    let is_field = access.read == Read::Simple && access.stored;
    let simple = access.field.simple().filter(|_| is_field)?;
    let mut allowed = simple.reference.as_ref()?.allowed.as_ref()?.iter().copied();
    // A set starts at the objects of one type, so a reference to several has no other way.
    allowed.next().filter(|_| allowed.next().is_none())
}

/// The objects from which the path of a test leads to what it finds.
fn back_from(catalog: &Catalog, entry: &TypeEntry, test: &Test) -> Option<String> {
    let path = &test.path;
    // A test that is not written as a path and a comparison has no other way.
    let comparison = test.text.strip_prefix(&*path.text)?;
    let is_served = SERVED.iter().any(|served| comparison.starts_with(served));
    // Null is found differently where a reference is null.
    if !is_served || comparison.contains("null") || path.special.is_some() {
        return None;
    }
    let names: Vec<&str> = path.text.split('.').collect();
    // The text is split at dots, so names with marks or quotes in them are left alone.
    let is_plain = !path.text.contains(['`', '[', '#', '"']);
    if !is_plain || names.len() != path.hops.len() {
        return None;
    }
    let (last, references) = names.split_last()?;
    let (mut steps, mut from) = (Vec::new(), entry);
    for (name, hop) in references.iter().zip(&path.hops) {
        // The last reference is the first step back.
        steps.insert(0, format!("<-{}.{name}", quoted_name(&from.name)));
        let mut targets = hop.iter().map(|(_, access)| only_target(access));
        let target = targets.next()??;
        // The versions of a field can refer to different types, and a set starts at one.
        if !targets.all(|other| other == Some(target)) {
            return None;
        }
        from = catalog.type_with_id(target)?;
    }
    let mut indexes = from.indexes().into_iter();
    // Without a step back the statement would be the same as before.
    let is_served =
        |kind: IndexKind, of: &str| kind == IndexKind::Field && of == *last && !steps.is_empty();
    // The other way only pays if its start has an index.
    indexes.find(|index| is_served(index.kind, &index.name))?;
    let name = quoted_name(&from.name);
    Some(format!("({name} where {last}{comparison}){}", steps.concat()))
}
