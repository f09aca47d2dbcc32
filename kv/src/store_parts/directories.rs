//! The directories above a store.

use std::path::{Path, PathBuf};

/// The first directory of a path that is missing, without the last part of the path.
pub(crate) fn missing_above(path: &Path) -> Option<PathBuf> {
    let above = path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
    above
        .take_while(|parent| matches!(parent.try_exists(), Ok(false)))
        .last()
        .map(Path::to_path_buf)
}

/// The message if it is missing.
pub(crate) fn is_missing(directory: &Path) -> String {
    format!(
        "there is no directory {}; check the path, or make that directory first",
        directory.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_one_that_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let missing = |path: &str| missing_above(&folder.path().join(path));
        assert_eq!(missing("store"), None);
        assert_eq!(missing("a/store"), Some(folder.path().join("a")));
        assert_eq!(missing("a/b/c/store"), Some(folder.path().join("a")));
        assert_eq!(missing_above(Path::new("store")), None);
        assert_eq!(missing_above(Path::new("/")), None);
    }
}
