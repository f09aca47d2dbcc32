//! Temporary files that go also if the program ends without dropping anything.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The files that are open. They belong to the process, which a second Ctrl-C ends at once.
static OPEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file that is removed if the program ends at once while this lives.
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    pub(crate) fn new(path: &Path) -> Temporary {
        open().push(path.to_path_buf());
        Temporary(path.to_path_buf())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        open().retain(|path| *path != self.0);
    }
}

/// Removes the files that are open.
pub(crate) fn remove_all() {
    for path in open().drain(..) {
        // The program ends, so an error would have no effect.
        let _ = std::fs::remove_file(path);
    }
}

fn open() -> MutexGuard<'static, Vec<PathBuf>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_open_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (kept, open) = (folder.path().join("kept"), folder.path().join("open"));
        std::fs::write(&kept, "").unwrap();
        std::fs::write(&open, "").unwrap();
        drop(Temporary::new(&kept));
        let _open = Temporary::new(&open);
        remove_all();
        assert!(kept.exists() && !open.exists());
    }
}
