//! Versioned pages over any sorted transactional byte map.
//!
//! The format is described in the guide page `ledger-format.md`.
#![deny(missing_docs)]

mod commit;
mod digest;
mod error;
mod node;
#[doc(hidden)]
pub mod parameters;
mod secret;
mod tree;
mod value;

pub use commit::encoding::{Commit, CommitId, Origin};
pub use commit::time::CommitTime;
pub use digest::{Digest, Kind};
pub use error::{LedgerError, Result};
pub use secret::Secret;
