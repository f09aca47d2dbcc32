//! Versioned pages over any sorted transactional byte map.
//!
//! A [`Repository`] keeps any number of [pages](Page) in one database, its host. A page is a sorted
//! map with all of its versions: each transaction makes a commit, and branches and tags name
//! commits. A branch of a page is a database again ([`Page::database`]), so an object database that
//! is opened on it has history.
//!
//! The guide page `ledger-format.md` has the format. It is frozen: each later version of this crate
//! reads the data of this one.
#![deny(missing_docs)]
#![cfg_attr(
    not(test),
    deny(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

mod collect;
mod commit;
#[doc(hidden)]
pub mod decoders;
mod digest;
mod error;
mod host;
mod ids;
mod lifecycle;
#[cfg(feature = "lmdb")]
mod lmdb_pages;
mod merge;
mod node;
mod page;
#[doc(hidden)]
pub mod parameters;
mod policy;
mod process;
mod random;
mod repository;
mod rows;
mod secret;
mod source;
mod statuses;
mod store;
mod tree;
mod value;
mod verify;
mod watch;

#[cfg(doctest)]
#[doc = include_str!("../../docs/src/ledger.md")]
mod guide {}

pub use collect::collector::Collected;
pub use collect::keep_reasons::KeepReason;
pub use commit::encoding::{Commit, Origin};
pub use commit::time::CommitTime;
pub use digest::{Digest, Kind};
pub use error::{LedgerError, NeededBy, Result};
pub use host::PageDatabases;
pub use ids::{CommitId, PageId};
pub use lifecycle::eviction_obstacle::EvictionObstacle;
pub use lifecycle::usage::{Evictions, PageUsage};
#[cfg(feature = "lmdb")]
pub use lmdb_pages::LmdbPages;
pub use merge::sides::{MergeChanges, MergeSides, SideChange};
pub use merge::whole_ranges::WholeRanges;
pub use merge::{Conflict, KeyClass, LastWriterWins, Merger, Resolution};
pub use node::items::Priority;
pub use page::Page;
pub use page::differences::{Change, Differences};
pub use page::entries::{ChangedEntries, ChangedEntry, Entries, Entry};
pub use page::entry_value::EntryValue;
pub use page::history::Log;
pub use page::receive::Receiver;
pub use page::snapshot::PageSnapshot;
pub use page::stream::{ValueRef, ValueWriter};
pub use page::value::ValueReader;
pub use policy::factory::{Fallback, MergeFactory, MergePolicy, TimeLimit};
pub use policy::merging::MergeWait;
pub use policy::registry::MergeFactoryRegistration;
pub use policy::resolver::{MergeResult, Merged, Resolver, ResolverChanges};
pub use process::clock::Clock;
pub use repository::builder::RepositoryBuilder;
pub use repository::{MAIN, Repository};
pub use rows::parameters::Retention;
pub use secret::Secret;
pub use source::PieceSource;
pub use statuses::remote::{PageRemote, RemoteState};
pub use statuses::status::Status;
pub use statuses::unsynced::{LocalPiece, UnsyncedCommit};
pub use store::at_commit::CommitDatabase;
pub use store::branching::BranchingDatabase;
pub use store::connection::Connection;
pub use store::linear::PageStore;
pub use verify::report::{Finding, Verification};
pub use watch::{NewValue, Notification, NotificationPart, Subscription, Update, Watcher};
