//! Something for each version of some types.

use permazen::StorageId;
use permazen::schema::SchemaIndex;

/// One version of a type: its storage ID, and the schema that defines it.
pub(crate) type Version = (StorageId, SchemaIndex);

/// Something for each of several versions of types.
#[derive(Debug, Clone)]
pub(crate) struct Versions<T>(Vec<(Version, T)>);

impl<T> FromIterator<(Version, T)> for Versions<T> {
    fn from_iter<I: IntoIterator<Item = (Version, T)>>(items: I) -> Self {
        let mut items: Vec<_> = items.into_iter().collect();
        items.sort_by_key(|(version, _)| *version);
        Versions(items)
    }
}

impl<T> Versions<T> {
    /// The item of a version.
    #[inline]
    pub(crate) fn get(&self, version: Version) -> Option<&T> {
        match self.0.as_slice() {
            [(only, item)] => (*only == version).then_some(item),
            items => {
                let at = items.binary_search_by_key(&version, |(version, _)| *version).ok()?;
                items.get(at).map(|(_, item)| item)
            }
        }
    }

    /// All of them, by ascending type and schema.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (Version, &T)> {
        self.0.iter().map(|(version, item)| (*version, item))
    }

    /// Changes each of them.
    pub(crate) fn set(&mut self, mut set: impl FnMut(&mut T, Version)) {
        self.0.iter_mut().for_each(|(version, item)| set(item, *version));
    }

    /// All of them, newer schemas first.
    pub(crate) fn newest_first(&self) -> Vec<(Version, &T)> {
        let mut items: Vec<_> = self.iter().collect();
        items.sort_by_key(|((object_type, schema), _)| (std::cmp::Reverse(*schema), *object_type));
        items
    }

    /// Whether there is nothing for any version.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the values for which `keep` returns true.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(Version, &T) -> bool) {
        self.0.retain(|(version, item)| keep(*version, item));
    }
}
