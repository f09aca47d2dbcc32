//! The entries that an index must contain.

use std::collections::BTreeSet;

use permazen::ObjId;

use crate::evolutions::naive::{
    Cell, Contents, Index, Policy, Source, Stays, Type, Version, columns, convert,
    has_unknown_fields, source,
};
use crate::evolutions::rules::{Known, Rules};

/// The entries that a query must find.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) entries: BTreeSet<(Vec<Cell>, ObjId)>,
    /// How many objects lack entries.
    pub(crate) lacking: usize,
    /// The entries that these would have.
    pub(crate) scanned: BTreeSet<(Vec<Cell>, ObjId)>,
    /// Why some of these have none.
    pub(crate) stays: Vec<Stays>,
    /// Whether there are entries whose values the program does not know.
    pub(crate) has_unknown: bool,
}

impl Rules {
    /// The entries that a query of an index must find.
    pub(crate) fn find<'k>(
        &self,
        version: usize,
        of_type: &str,
        index: Index,
        objects: impl Iterator<Item = (&'k ObjId, &'k Known)>,
    ) -> Found {
        let to = self.version(version, of_type);
        let mut found = Found::default();
        for (id, old) in objects.filter(|(_, old)| old.of_type == of_type) {
            let from = self.version(old.version, of_type);
            if index.is_in(to, from) {
                // Fields of the same definition mean the same, whatever the others are.
                let entries = index.entries(&old.contents).into_iter();
                found.entries.extend(entries.map(|entry| (entry, *id)));
            } else if index.is_alike_in(to, from) {
                for entry in index.entries(&old.contents) {
                    let columns = entry.iter().zip(index.types(to, from));
                    let known = |(cell, (from, to)): (&Cell, (Type, Type))| {
                        convert(cell, from, to, &self.type_of())
                    };
                    match columns.map(known).collect::<Option<Vec<Cell>>>() {
                        Some(entry) => drop(found.entries.insert((entry, *id))),
                        None => found.has_unknown = true,
                    }
                }
            } else if !index.starts_empty(to, from) {
                found.lacking += 1;
                match columns(to, from, &old.contents, index.means(), &self.type_of()) {
                    Ok(contents) => {
                        let entries = index.entries(&contents).into_iter();
                        found.scanned.extend(entries.map(|entry| (entry, *id)));
                    }
                    Err(stays) => found.stays.push(stays),
                }
            }
        }
        found
    }

    /// Whether `build_indexes` of a program moves the object.
    pub(crate) fn lacks_index(&self, version: usize, old: &Known) -> bool {
        let to = self.version(version, old.of_type);
        let from = self.version(old.version, old.of_type);
        to.indexes.iter().any(|(_, index)| {
            let is_complete = index.is_alike_in(to, from) || index.starts_empty(to, from);
            !index.is_in(to, from) && !is_complete
        })
    }
}

impl Index {
    /// The entries of an object with these contents.
    pub(crate) fn entries(self, contents: &Contents) -> Vec<Vec<Cell>> {
        let of = |means: &[&str]| contents[means[0]].clone();
        match self {
            Index::Field(means) | Index::Keys(means) => {
                of(means).into_iter().map(|(cell, _)| vec![cell]).collect()
            }
            Index::Values(means) => of(means).into_iter().map(|(_, value)| vec![value]).collect(),
            Index::Entries(means) => {
                of(means).into_iter().map(|(key, value)| vec![value, key]).collect()
            }
            Index::Composite(means) => {
                vec![means.iter().map(|means| contents[means][0].0.clone()).collect()]
            }
        }
    }

    fn means(self) -> &'static [&'static str] {
        match self {
            Index::Field(means)
            | Index::Keys(means)
            | Index::Values(means)
            | Index::Entries(means)
            | Index::Composite(means) => means,
        }
    }

    /// The types of the columns, before and after.
    fn types(self, to: &Version, from: &Version) -> Vec<(Type, Type)> {
        let mut types = Vec::new();
        for means in self.means() {
            let (Some(before), Some(after)) = (from.field(means), to.field(means)) else {
                continue;
            };
            let of = (before.shape.of, after.shape.of);
            let values = (before.shape.values, after.shape.values);
            match self {
                Index::Values(_) => types.push(values),
                Index::Entries(_) => types.extend([values, of]),
                _ => types.push(of),
            }
        }
        types
    }

    /// Whether another version keeps an index of this kind on the same fields, whatever their
    /// definitions.
    fn is_kept(self, from: &Version) -> bool {
        let values = |index: Index| match index {
            Index::Entries(means) => Index::Values(means),
            index => index,
        };
        from.indexes.iter().any(|(_, index)| values(*index) == values(self))
    }

    /// Whether an object of another version has entries in the index itself. A map with other
    /// values has the same index of its keys, and the other way round.
    fn is_in(self, to: &Version, from: &Version) -> bool {
        let is_same = |means: &&str| {
            let after = to.field(means).unwrap();
            let Some(before) = from.field(means).filter(|before| before.name == after.name) else {
                return false;
            };
            let stays = before.shape.is_same(&after.shape)
                || after.policy == Policy::Exact && !to.makes(after);
            stays
                && before.shape.kind == after.shape.kind
                && self.types(to, from).iter().all(|(before, after)| before.is_same(*after))
        };
        self.is_kept(from) && self.means().iter().all(is_same)
    }

    /// Whether a collection of an object of another version is empty for this one.
    fn starts_empty(self, to: &Version, from: &Version) -> bool {
        let is_empty = |means: &&str| {
            let after = to.field(means).unwrap();
            let starts_anew = match source(to, after, from) {
                Source::Same(_) => false,
                // The values may be in a field that this version does not know.
                Source::Missing => !has_unknown_fields(to, from),
                Source::Differs(_) => after.policy == Policy::Reset,
            };
            starts_anew && !to.makes(after) && after.initial().is_empty()
        };
        self.means().iter().all(is_empty)
    }

    /// Whether an object of another version has entries in another index that mean the same.
    fn is_alike_in(self, to: &Version, from: &Version) -> bool {
        let is_alike = |means: &&str| {
            let after = to.field(means).unwrap();
            match source(to, after, from) {
                Source::Same(_) => true,
                Source::Missing => false,
                Source::Differs(before) => {
                    before.means == *means
                        && before.shape.kind == after.shape.kind
                        && !to.makes(after)
                        && after.policy == Policy::Exact
                }
            }
        };
        self.is_kept(from)
            && self.means().iter().all(is_alike)
            && self.types(to, from).into_iter().all(|(before, after)| before.is_alike(after))
    }
}
