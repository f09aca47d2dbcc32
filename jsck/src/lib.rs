//! Consistency checker and repairer of Permazen databases.
//!
//! [`check`] reads every pair of a database and reports whatever contradicts the format: damaged
//! meta-data, fields that cannot be read, references to missing objects, missing or surplus index
//! entries. [`repair`] does the same and repairs what it finds, by one rule: *an object is what its
//! own pairs say, everything derived follows*. It makes the index entries and the object schema
//! index right, and removes field pairs that cannot be used. Damage that it cannot repair safely,
//! it reports and leaves alone. The guide describes both, and the program `jsck`: docs/src/jsck.md.
//!
//! A check finds everything in one pass, because it judges everything as it will be after a repair.
//!
//! ```
//! use permazen::kv::{KvDatabase, TxOptions, memory::MemoryStore};
//! use permazen_jsck::{Options, check};
//!
//! let store = MemoryStore::new();
//! let kv = store.begin(&TxOptions::reading())?;
//! let report = check(&*kv, &Options::default(), &mut |finding| println!("{finding}"))?;
//! assert_eq!(report.findings, 1); // an empty store is no database yet
//! # Ok::<(), permazen_jsck::Error>(())
//! ```
#![deny(missing_docs)]
#![cfg_attr(
    not(test),
    deny(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod check;
mod entries;
mod objects;
mod online;
#[cfg(feature = "cli")]
pub mod program;
mod repair;
mod report;
mod running;
mod selection;
mod tables;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use permazen::encoding::EncodingRegistry;
use permazen::schema::{SchemaId, SchemaIndex, SchemaModel};
use permazen::{ObjId, StorageId};

pub use check::{check, check_database, check_with};
pub use online::{OnlineCheck, Slice};
pub use repair::{Intent, RepairReport, repair};
pub use report::finding::{Class, Finding, Fix};

/// How to check.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The encodings the recorded schemas may use.
    pub encodings: Arc<EncodingRegistry>,
    /// Stop after this many findings.
    pub max_findings: u64,
    /// Report schemas no object uses, and remove them when repairing.
    pub collect_schemas: bool,
    /// The format version to assume, whatever the database says; only 1 is known.
    pub format_version: Option<u32>,
    /// Schemas to record (`Some`) or to remove (`None`), whatever is recorded. `None` for a schema
    /// that is not recorded says that there is none: repair removes objects that claim to be of it.
    pub schemas: BTreeMap<SchemaIndex, Option<SchemaModel>>,
    /// Storage IDs to assign (`Some`) or to remove (`None`), whatever is recorded.
    pub storage_ids: BTreeMap<StorageId, Option<SchemaId>>,
    /// Names of the object types to check, with the index entries about their objects. Empty means
    /// everything.
    pub types: Vec<String>,
    /// Check only objects from the first object ID (included) to the second one (excluded).
    pub ids: (Option<ObjId>, Option<ObjId>),
    /// Check only about this share of the objects, above 0 and up to 1; always the same objects.
    pub sample: Option<f64>,
    /// The pairs that a repair may change.
    pub repair: RepairScope,
    /// About how many bytes of index entries, and of changes to be made, to keep in memory. The
    /// rest goes to temporary files, in the directory that the environment variable `TMPDIR` names.
    /// With [`RepairScope::Derived`], also of the IDs of objects whose index entries depend on the
    /// repair of their own pairs; if there are more, all index entries that are missing or surplus
    /// stay so.
    pub sort_memory: usize,
    /// How many threads may read the store, if it supports several.
    pub threads: NonZeroUsize,
    /// Set this to `true` from another thread to end the check early.
    pub stop: Option<Arc<AtomicBool>>,
}

/// How many threads a check uses at most, unless the caller asks for more. With more, the store is
/// the bottleneck.
const MOST_THREADS: NonZeroUsize = match NonZeroUsize::new(8) {
    Some(most) => most,
    None => NonZeroUsize::MIN,
};

impl Default for Options {
    fn default() -> Self {
        Options {
            encodings: Arc::new(EncodingRegistry::new()),
            max_findings: u64::MAX,
            collect_schemas: false,
            format_version: None,
            schemas: BTreeMap::new(),
            storage_ids: BTreeMap::new(),
            types: Vec::new(),
            ids: (None, None),
            sample: None,
            repair: RepairScope::All,
            sort_memory: 64 << 20,
            threads: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN).min(MOST_THREADS),
            stop: None,
        }
    }
}

impl Options {
    /// Whether only some of the objects are checked.
    pub fn is_partial(&self) -> bool {
        !self.types.is_empty() || self.ids != (None, None) || self.sample.is_some()
    }
}

/// The pairs that a repair may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RepairScope {
    /// Everything that is wrong.
    #[default]
    All,
    /// Only what follows from the objects: index entries and the object schema index. The pairs of
    /// objects stay as they are, and with them the entries that follow from a value that a repair
    /// would change: the checker knows what it requires once it is repaired, not what it requires
    /// now.
    Derived,
}

/// The progress of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Progress {
    /// The part of the database that is being checked.
    pub phase: &'static str,
    /// How many pairs were checked so far, each counted once.
    pub pairs: u64,
    /// How often pairs were read so far; the pairs of objects are read twice.
    pub reads: u64,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Report {
    /// How many findings there were, without warnings.
    pub findings: u64,
    /// How many warnings there were.
    pub warnings: u64,
    /// How many findings cannot be repaired automatically.
    pub unrepairable: u64,
    /// How many pairs were checked, each counted once. If everything was checked, these are all
    /// pairs except user meta-data (`00ff…`) and keys from `ff` up, which are not checked.
    pub pairs: u64,
    /// How often pairs were read in a scan: the pairs of objects twice, and all pairs once more
    /// where indexes are damaged. Pairs that are read one by one are not counted.
    pub reads: u64,
    /// How many objects the check has found.
    pub objects: u64,
    /// Whether everything was checked: the check was not stopped, did not reach the limit, and the
    /// meta-data was good enough to check the objects.
    pub complete: bool,
}

impl Report {
    /// Whether everything was checked and nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.complete && self.findings == 0
    }
}

/// Why a database could not be checked or repaired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] permazen::kv::KvError),
    /// A temporary file failed, or the function that gets the changes before they are made.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// A value was decoded differently the second time.
    #[error("decoding: {0}")]
    Encoding(permazen::encoding::EncodingError),
    /// An option is impossible.
    #[error("{0}")]
    Option(String),
    /// The store is a repository of the crate permazen-ledger. Nothing was changed.
    #[error(
        "this is a repository of permazen-ledger, and no database of objects, so nothing is checked or repaired. \
         A program with that crate checks it: Repository::verify checks the repository, and permazen_jsck::check a \
         branch (Page::database)"
    )]
    Ledger,
    /// Repeated repair passes did not come to an end. The caller's transaction holds the changes of
    /// the passes; roll it back.
    #[error("still {findings} findings after {passes} repair passes")]
    NotConverged {
        /// How many passes were made.
        passes: u32,
        /// How many findings were left.
        findings: u64,
    },
}

impl From<permazen::encoding::EncodingError> for Error {
    fn from(error: permazen::encoding::EncodingError) -> Self {
        Error::Encoding(error)
    }
}

/// Result of a check.
pub type Result<T> = std::result::Result<T, Error>;
