//! The IDs that are made for the objects of a document.

use std::collections::{HashMap, HashSet};

use super::error::Result;
use crate::id::ObjId;
use crate::object::Transaction;
use crate::schema::ResolvedType;

/// The meaning of `generated:TYPE:SUFFIX`: an object of that type with a new random ID. The ID is
/// the same wherever the name occurs. Keep this value if more documents name the same objects and
/// will be read into the same database.
///
/// ```
/// use permazen::__internal::object_xml::GeneratedIds;
///
/// let mut ids = GeneratedIds::new();
/// // what the document calls generated:Person:ann is this object
/// ids.insert("Person", "ann", "1000000000000001".parse()?);
/// assert!(ids.get("Person", "ann").is_some());
/// # Ok::<(), permazen::encoding::EncodingError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct GeneratedIds {
    by_type: HashMap<String, HashMap<Box<str>, ObjId>>,
    taken: HashSet<ObjId>,
}

/// The TYPE and SUFFIX of `generated:TYPE:SUFFIX`.
pub(super) fn parse(text: &str) -> Option<(&str, &str)> {
    let (type_name, suffix) = text.strip_prefix("generated:")?.split_once(':')?;
    (!type_name.is_empty()).then_some((type_name, suffix))
}

impl GeneratedIds {
    /// No IDs yet.
    pub fn new() -> Self {
        GeneratedIds::default()
    }

    /// The ID of `generated:TYPE:SUFFIX`; `None` if it has not occurred.
    pub fn get(&self, type_name: &str, suffix: &str) -> Option<ObjId> {
        self.by_type.get(type_name)?.get(suffix).copied()
    }

    /// Says which object `generated:TYPE:SUFFIX` is. Returns the ID that it had before.
    pub fn insert(&mut self, type_name: &str, suffix: &str, id: ObjId) -> Option<ObjId> {
        self.taken.insert(id);
        let ids = match self.by_type.get_mut(type_name) {
            Some(ids) => ids,
            None => self.by_type.entry(type_name.to_owned()).or_default(),
        };
        ids.insert(suffix.into(), id)
    }

    /// All IDs in no particular order: type name, suffix, ID.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, ObjId)> {
        self.by_type.iter().flat_map(|(type_name, ids)| {
            ids.iter().map(move |(suffix, &id)| (type_name.as_str(), &**suffix, id))
        })
    }

    /// The ID for this name. Makes it if there is none yet.
    pub(super) fn get_or_make(
        &mut self,
        tx: &Transaction,
        type_name: &str,
        suffix: &str,
    ) -> Result<ObjId> {
        if let Some(id) = self.get(type_name, suffix) {
            return Ok(id);
        }
        let id = self.unused(tx, type_name)?;
        self.insert(type_name, suffix, id);
        Ok(id)
    }

    /// An ID for an object that the document gives no name.
    pub(super) fn nameless(&self, tx: &Transaction, object_type: &ResolvedType) -> Result<ObjId> {
        self.unused(tx, &object_type.name)
    }

    /// An ID that no object has and that was not made for another name. The transaction gives up if
    /// few IDs are left.
    fn unused(&self, tx: &Transaction, type_name: &str) -> Result<ObjId> {
        const ATTEMPTS: u32 = 64;
        for _ in 0..ATTEMPTS {
            let id = tx.generate_id(type_name)?;
            if !self.taken.contains(&id) {
                return Ok(id);
            }
        }
        let type_name = type_name.to_owned();
        Err(crate::object::Error::NoFreeId { type_name, attempts: ATTEMPTS }.into())
    }
}
