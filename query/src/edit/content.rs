//! Replacing the whole content of a field. Content that is there already is left alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use permazen::__internal::object::MAX_LIST_LEN;
use permazen::ObjId;
use permazen::object::{Error, ListView, MapView, Migrate, Result, SetView, Transaction};
use permazen::schema::ResolvedField;

use crate::check::Content;

pub(super) fn assign(
    tx: &Transaction,
    id: ObjId,
    field: &Arc<ResolvedField>,
    content: &Content,
) -> Result<()> {
    match content {
        Content::Simple(value) => tx.encoded().set(id, field, value, Migrate::No),
        Content::Counter(count) => tx.encoded().set_counter(id, field, *count, Migrate::No),
        Content::Set(elements) => set(&tx.encoded().set_view(id, field)?, elements),
        Content::List(elements) => list(&tx.encoded().list_view(id, field)?, elements),
        Content::Map(entries) => map(&tx.encoded().map_view(id, field)?, entries),
    }
}

/// `elements` are in order, each once.
fn set(view: &SetView<'_>, elements: &[Vec<u8>]) -> Result<()> {
    for old in view.encoded().to_vec()? {
        // Elements that stay are left alone, so that listeners are told only of differences.
        if elements.binary_search(&old).is_err() {
            view.encoded().remove(&old)?;
        }
    }
    for element in elements {
        view.encoded().add(element)?;
    }
    Ok(())
}

/// Elements that both lists have at the beginning and at the end stay.
fn list(view: &ListView<'_>, elements: &[Vec<u8>]) -> Result<()> {
    let old: Vec<Vec<u8>> =
        view.encoded().iter(|_, element| Ok(element.to_vec())).collect::<Result<_>>()?;
    let same = |pairs: &mut dyn Iterator<Item = (&Vec<u8>, &Vec<u8>)>| {
        pairs.take_while(|(old, new)| old == new).count()
    };
    let first = same(&mut old.iter().zip(elements));
    let shortest = old.len().min(elements.len());
    // An element must not count at both ends, as it would with [1] and [1, 1].
    let last = same(&mut old.iter().rev().zip(elements.iter().rev())).min(shortest - first);
    let position = |at: usize| {
        let (id, len) = (view.id(), elements.len());
        let what = || format!("a list of {id} cannot get {len} elements: {MAX_LIST_LEN} at most");
        u32::try_from(at).map_err(|_| Error::InvalidArgument { what: what() })
    };
    let middle = elements.get(first..elements.len() - last).unwrap_or_default();
    let removed = old.len() - last - first;
    let replaced = removed.min(middle.len());
    // Elements that others replace need not be moved.
    for (at, element) in (first..).zip(middle.iter().take(replaced)) {
        view.encoded().set(position(at)?, element)?;
    }
    if removed > replaced {
        view.remove_range(position(first + replaced)?, position(old.len() - last)?)?;
    }
    let added: Vec<&[u8]> = middle.iter().skip(replaced).map(Vec::as_slice).collect();
    if !added.is_empty() {
        view.encoded().insert_all(position(first + replaced)?, &added)?;
    }
    Ok(())
}

/// `entries` are in the order of their keys, each key once.
fn map(view: &MapView<'_>, entries: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
    let pairs = view.encoded().iter(|key, value| Ok((key.to_vec(), value.to_vec())));
    let old: BTreeMap<Vec<u8>, Vec<u8>> = pairs.collect::<Result<_>>()?;
    for key in old.keys() {
        if entries.binary_search_by(|(new, _)| new.cmp(key)).is_err() {
            view.encoded().remove(key)?;
        }
    }
    for (key, value) in entries {
        if old.get(key) != Some(value) {
            view.encoded().put(key, value)?;
        }
    }
    Ok(())
}
