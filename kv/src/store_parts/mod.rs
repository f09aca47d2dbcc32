//! Parts that the stores, the optimistic engine and other modules of this crate share. All of them
//! may use: what is counted and told (`counts.rs`, with the spans of `traced.rs`), how long a
//! transaction may be used (`deadline.rs`), why it can only be dropped (`earlier_failure.rs`), the
//! right to write (`write_lock.rs`, with a way to wait without sleep, `awake.rs`, and for
//! transactions of another layer, `upper_transaction.rs`), transactions that read a fixed state
//! (`read_transaction.rs`), whether two paths or open files are the same file (`file_identity.rs`),
//! which directory above a store is missing (`directories.rs`), files that get their names when
//! they are complete (`new_file.rs`), their permissions (`permissions.rs`), what the stores on disk
//! have in common (`on_disk.rs`), which process has made something (`process.rs`), and locks that
//! survive a panic (`lock.rs`).

// Only stores on disk make groups.
#[cfg_attr(not(any(feature = "lmdb", feature = "sqlite")), allow(dead_code))]
pub(crate) mod awake;
pub(crate) mod counts;
pub(crate) mod deadline;
#[cfg(any(feature = "lmdb", feature = "sqlite"))]
pub(crate) mod directories;
pub(crate) mod earlier_failure;
#[cfg(any(feature = "lmdb", feature = "sqlite", feature = "xml"))]
pub(crate) mod file_identity;
pub(crate) mod lock;
#[cfg(any(feature = "lmdb", feature = "sqlite", feature = "xml"))]
pub(crate) mod new_file;
#[cfg(any(feature = "lmdb", feature = "sqlite"))]
pub(crate) mod on_disk;
#[cfg(all(unix, any(feature = "lmdb", feature = "sqlite", feature = "xml")))]
pub(crate) mod permissions;
pub(crate) mod process;
#[cfg(any(feature = "lmdb", feature = "sqlite"))]
pub(crate) mod read_transaction;
mod traced;
pub(crate) mod upper_transaction;
// Only stores on disk make groups.
#[cfg_attr(not(any(feature = "lmdb", feature = "sqlite")), allow(dead_code))]
pub(crate) mod write_lock;
