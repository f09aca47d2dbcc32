//! Values and IDs that are there.

use std::ops::Bound;
use std::sync::Arc;

use permazen::__internal::encoding::{EncodingKind, Primitive};
use permazen::__internal::schema::ResolvedSimple;
use permazen::encoding::{Encoding, Value};
use permazen::object::Transaction;
use permazen::schema::ResolvedField;
use permazen::{ObjId, StorageId};
use permazen_query::parse_literal;
use permazen_query::text::{literal, quoted_name, value_of};

/// How many entries or objects are read.
const MOST_STEPS: usize = 50;

/// The IDs of the first objects that begin with the digits typed after `@`.
pub(super) fn ids(typed: &str, transaction: &Transaction) -> Vec<String> {
    let digits = typed.strip_prefix('@').unwrap_or(typed);
    let from = format!("{digits:0<16}").parse::<ObjId>();
    let Ok(objects) = transaction.all_objects() else { return Vec::new() };
    let objects = match from {
        Ok(from) => objects.range(from..),
        // No ID is that small.
        Err(_) => objects,
    };
    let ids = objects.iter().take(MOST_STEPS).map_while(|id| id.ok());
    ids.map(|id| format!("@{id}")).collect()
}

/// Values of these fields: constants of enums, objects that can be referred to, and the first
/// indexed values that begin with the typed text. `types` are those of the objects; all types if it
/// is empty.
pub(super) fn of(
    fields: &[Arc<ResolvedField>],
    types: &[StorageId],
    typed: &str,
    transaction: &Transaction,
) -> Vec<String> {
    let mut values = Vec::new();
    for field in fields {
        let Some(simple) = field.simple() else { continue };
        if simple.encoding.supports_null() {
            values.push("null".to_owned());
        }
        if let Some(identifiers) = &simple.identifiers {
            values.extend(identifiers.iter().map(|name| quoted_name(name)));
        } else if let Some(reference) = &simple.reference {
            let Ok(objects) = transaction.all_objects() else { continue };
            let objects = match &reference.allowed {
                Some(allowed) => objects.of_types(allowed.iter().copied()),
                None => objects,
            };
            let ids = objects.iter().take(MOST_STEPS).map_while(|id| id.ok());
            values.extend(ids.map(|id| format!("@{id}")));
        } else if is_boolean(&*simple.encoding) {
            values.extend(["true".to_owned(), "false".to_owned()]);
        } else if simple.indexed {
            values.extend(indexed(field, simple, types, typed, transaction));
        }
    }
    values
}

fn is_boolean(encoding: &dyn Encoding) -> bool {
    use EncodingKind::{Primitive as Plain, Wrapper};
    matches!(encoding.kind(), Plain(Primitive::Boolean) | Wrapper(Primitive::Boolean))
}

/// The first values in an index that objects of these types have, from the typed text on. Other
/// types can have the same index.
fn indexed(
    field: &ResolvedField,
    simple: &ResolvedSimple,
    types: &[StorageId],
    typed: &str,
    transaction: &Transaction,
) -> Vec<String> {
    let encoding = &*simple.encoding;
    let Ok(index) = transaction.index(field.storage_id) else { return Vec::new() };
    // In the index, the texts that begin with the typed one come right after it. For other
    // encodings, the order says nothing about the typed text.
    let from = typed.starts_with('"').then(|| parse_literal(&format!("{typed}\"")).ok()).flatten();
    let from = from.filter(|_| matches!(encoding.kind(), EncodingKind::String));
    let from = from.and_then(|literal| value_of(&literal, encoding).ok());
    let index = match &from {
        Some(from) => match index.with_bounds(0, Bound::Included(from), Bound::Unbounded) {
            Ok(index) => index,
            Err(_) => return Vec::new(),
        },
        None => index,
    };
    // Objects with equal values are passed over.
    let values = index.distinct(1);
    let entries = values.entries().take(MOST_STEPS).map_while(|entry| entry.ok());
    let values = entries.map_while(|entry| entry.value(0).ok());
    let is_there = |value: &Value| {
        types.is_empty()
            || index.with_value(0, value).is_ok_and(|of_value| {
                of_value.of_types(types.iter().copied()).first().is_ok_and(|first| first.is_some())
            })
    };
    values.filter(is_there).map(|value| literal(&value, encoding)).collect()
}
