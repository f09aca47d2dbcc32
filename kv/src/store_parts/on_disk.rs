//! Code that the stores on disk have in common.

use std::path::Path;

use crate::{Capabilities, KvError};

/// Their capabilities.
pub(crate) fn offered() -> Capabilities {
    Capabilities {
        serializable: true,
        timeouts: true,
        read_only_switch: true,
        persistent: true,
        ..Capabilities::none()
    }
}

/// The error for a write transaction on a store that is open for reading only.
pub(crate) fn read_only(path: &Path) -> KvError {
    KvError::IllegalState(format!(
        "{}: open for reading only, so only read-only transactions can begin",
        path.display()
    ))
}
