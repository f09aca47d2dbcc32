//! Ids that are made for objects of a document (tools §4.5).

use std::collections::{HashMap, HashSet};

use super::error::Result;
use crate::id::ObjId;
use crate::object::Transaction;
use crate::schema::ResolvedType;

/// What `generated:TYPE:SUFFIX` stands for: an object of that type with a new random id, the same
/// wherever the name occurs. Can be kept for further documents that name the same objects, read into
/// the same database.
///
/// ```
/// use permazen::object_xml::GeneratedIds;
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

/// The parts of `generated:TYPE:SUFFIX`.
pub(super) fn parse(text: &str) -> Option<(&str, &str)> {
    let (type_name, suffix) = text.strip_prefix("generated:")?.split_once(':')?;
    (!type_name.is_empty()).then_some((type_name, suffix))
}

impl GeneratedIds {
    /// None yet.
    pub fn new() -> Self {
        GeneratedIds::default()
    }

    /// The id of `generated:TYPE:SUFFIX`, if it has occurred.
    pub fn get(&self, type_name: &str, suffix: &str) -> Option<ObjId> {
        self.by_type.get(type_name)?.get(suffix).copied()
    }

    /// Says which object `generated:TYPE:SUFFIX` is. Returns the id it had so far.
    pub fn insert(&mut self, type_name: &str, suffix: &str, id: ObjId) -> Option<ObjId> {
        self.taken.insert(id);
        let ids = match self.by_type.get_mut(type_name) {
            Some(ids) => ids,
            None => self.by_type.entry(type_name.to_owned()).or_default(),
        };
        ids.insert(suffix.into(), id)
    }

    /// All there are, in no particular order: type name, suffix, id.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, ObjId)> {
        self.by_type.iter().flat_map(|(type_name, ids)| {
            ids.iter().map(move |(suffix, &id)| (type_name.as_str(), &**suffix, id))
        })
    }

    /// The id of an object of this type, made now if there is none yet.
    pub(super) fn get_or_make(
        &mut self,
        tx: &Transaction<'_>,
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

    /// An id for an object the document has no name for.
    pub(super) fn nameless(
        &self,
        tx: &Transaction<'_>,
        object_type: &ResolvedType,
    ) -> Result<ObjId> {
        self.unused(tx, &object_type.name)
    }

    /// An id no object has and none of these is. The transaction gives up if few are left.
    fn unused(&self, tx: &Transaction<'_>, type_name: &str) -> Result<ObjId> {
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
