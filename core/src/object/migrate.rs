//! Moving objects to another schema (transactions §12).

use super::{Result, Transaction};
use crate::id::ObjId;

impl Transaction<'_> {
    pub fn migrate(&self, _id: ObjId) -> Result<bool> {
        Ok(false)
    }
}
