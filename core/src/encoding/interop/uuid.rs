//! The `uuid` crate.

use super::encode_as;
use crate::encoding::Uuid;

impl From<uuid::Uuid> for Uuid {
    fn from(id: uuid::Uuid) -> Self {
        Uuid::from_bytes(id.into_bytes())
    }
}

impl From<Uuid> for uuid::Uuid {
    fn from(id: Uuid) -> Self {
        uuid::Uuid::from_bytes(id.to_bytes())
    }
}

encode_as!(uuid::Uuid => Uuid);
