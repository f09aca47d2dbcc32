//! The house is in order: the public items, the features and the map are those that are written
//! down, the guide is true, and no test is forgotten.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};

mod api;
mod comments;
mod features;
mod forgotten;
mod format;
mod guide;
mod handle_methods;
mod tidy;

/// The folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
