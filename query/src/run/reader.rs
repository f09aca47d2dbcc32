//! Reading pairs, with what is common to everything that reads: when to stop, what is damaged.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use permazen::__internal::layout;
use permazen::__internal::schema::SchemaBundle;
use permazen::kv::KvRead;
use permazen::{ObjId, StorageId};

use super::fail::{Fail, Result};
use crate::check::Version;

/// How many pairs may be read between two looks at whether to stop.
const LOOK_EVERY: u32 = 256;

/// Reads the pairs of a transaction.
pub(crate) struct Reader<'k> {
    pub(crate) kv: &'k dyn KvRead,
    pub(crate) bundle: &'k SchemaBundle,
    stop: Option<&'k AtomicBool>,
    // The counters are cells, because closures that read share the reader.
    since_look: Cell<u32>,
    damaged: Cell<u64>,
}

/// The result of looking up the ID of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// There is no such object.
    Missing,
    /// The object's schema or type is not known.
    Damaged,
    /// The object has this version of its type.
    Of(Version),
}

impl<'k> Reader<'k> {
    pub(crate) fn new(
        kv: &'k dyn KvRead,
        bundle: &'k SchemaBundle,
        stop: Option<&'k Arc<AtomicBool>>,
    ) -> Self {
        Reader {
            kv,
            bundle,
            stop: stop.map(|stop| &**stop),
            since_look: Cell::new(0),
            damaged: Cell::new(0),
        }
    }

    /// Is called for each pair. Fails if the statement is to stop.
    #[inline]
    pub(crate) fn look(&self) -> Result<()> {
        let count = self.since_look.get() + 1;
        if count < LOOK_EVERY {
            self.since_look.set(count);
            return Ok(());
        }
        self.since_look.set(0);
        match self.stop {
            // A stop that comes a little late does no harm, so no stronger order is needed.
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Fail::Stopped),
            _ => Ok(()),
        }
    }

    /// Notes that something is damaged.
    pub(crate) fn note_damage(&self) {
        self.damaged.set(self.damaged.get() + 1);
    }

    /// How much damage was noted.
    pub(crate) fn damaged(&self) -> u64 {
        self.damaged.get()
    }

    /// The version of an object. Cost: one get.
    pub(crate) fn find(&self, id: ObjId) -> Result<Lookup> {
        self.look()?;
        let info = self.kv.get(id.as_bytes())?;
        // The storage ID in the object ID says the type; the pair says only the schema.
        Ok(info.map_or(Lookup::Missing, |info| self.version_in(id.storage_id(), &info)))
    }

    /// The version that the value of an object's own pair tells.
    pub(crate) fn version_in(&self, object_type: StorageId, info: &[u8]) -> Lookup {
        let schema = layout::parse_object_info(info).ok().and_then(|at| self.bundle.schema(at));
        // A schema that is not recorded, or lacks the type, tells nothing about the object's
        // fields.
        match schema.and_then(|schema| schema.type_by_storage_id(object_type)) {
            Some(version) => Lookup::Of((object_type, version.schema)),
            None => Lookup::Damaged,
        }
    }
}
