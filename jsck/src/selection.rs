//! The objects that a partial check checks.

use std::collections::BTreeSet;

use permazen::__internal::schema::SchemaBundle;
use permazen::{ObjId, StorageId};

use crate::{Error, Options, Result};

/// The objects to check: all, or the objects of some types, in a range of object IDs, in a sample.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    types: BTreeSet<StorageId>,
    min: [u8; 8],
    max: Option<[u8; 8]>,
    /// An object is in the sample if its scattered object ID is not above this.
    below: u64,
    partial: bool,
}

impl Selection {
    pub(crate) fn new(bundle: &SchemaBundle, options: &Options) -> Result<Selection> {
        let find = |name: &String| {
            bundle.type_storage_id(name).ok_or_else(|| {
                Error::Option(format!("no recorded schema has an object type {name}"))
            })
        };
        let types = match &options.types[..] {
            [] => bundle.type_ids().collect(),
            names => names.iter().map(find).collect::<Result<_>>()?,
        };
        let share = options.sample.unwrap_or(1.0);
        if !(share > 0.0 && share <= 1.0) {
            return Err(Error::Option("a sample is a share above 0 and up to 1".to_owned()));
        }
        let (min, max) = options.ids;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the share is above 0 and below 1"
        )]
        let below = if share < 1.0 { (share * u64::MAX as f64) as u64 } else { u64::MAX };
        Ok(Selection {
            types,
            min: min.map_or([0; 8], ObjId::to_bytes),
            max: max.map(ObjId::to_bytes),
            below,
            partial: options.is_partial(),
        })
    }

    /// Whether some objects are skipped.
    pub(crate) fn is_partial(&self) -> bool {
        self.partial
    }

    /// The part of a type's key range that must be read; `None` if it is empty.
    pub(crate) fn span(&self, type_id: StorageId) -> Option<(Vec<u8>, Vec<u8>)> {
        if !self.types.contains(&type_id) {
            return None;
        }
        let (min, max) = type_id.key_range();
        let min = min.max(self.min.to_vec());
        let max = match self.max {
            Some(end) => max.min(end.to_vec()),
            None => max,
        };
        (min < max).then_some((min, max))
    }

    /// Whether the object is to be checked.
    pub(crate) fn includes(&self, id: &[u8; 8]) -> bool {
        if !self.partial {
            return true;
        }
        // Not a valid object ID: this is damage, which every partial check reports.
        let Ok(object) = ObjId::from_bytes(*id) else { return true };
        self.types.contains(&object.storage_id())
            && *id >= self.min
            && self.max.is_none_or(|max| *id < max)
            && scatter(u64::from_be_bytes(*id)) <= self.below
    }
}

/// Spreads numbers evenly, so that a range of results is a fair sample.
fn scatter(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
