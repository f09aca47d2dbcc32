//! What the stores of this crate are built of. All of them, and the optimistic engine, may use all of it:
//! how long a transaction may be used (`deadline.rs`), whose turn it is to write (`write_lock.rs`),
//! transactions that read a fixed state (`read_transaction.rs`), and which file a path leads to (`file_id.rs`).

pub(crate) mod deadline;
#[cfg(any(feature = "lmdb", feature = "sqlite"))]
pub(crate) mod file_id;
pub(crate) mod lock;
#[cfg(any(feature = "lmdb", feature = "sqlite"))]
pub(crate) mod read_transaction;
pub(crate) mod write_lock;
