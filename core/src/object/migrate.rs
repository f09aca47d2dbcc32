//! Moving objects to another schema (transactions §12).

use super::{Error, Result, Transaction};
use crate::id::ObjId;

impl Transaction<'_> {
    pub(crate) fn migrate(&self, _id: ObjId) -> Result<bool> {
        Err(Error::Unsupported("to migrate an object"))
    }
}
