//! Files the program writes: each appears under its name only when it is whole and on disk.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::Failure;

/// A file under a name that was free. It goes by itself unless it is kept.
pub(crate) struct NewFile {
    path: PathBuf,
    file: NamedTempFile,
}

impl NewFile {
    /// Begins a file; refuses a name that is taken, and a place where nothing can be written.
    pub(crate) fn create(path: &Path) -> Result<NewFile, Failure> {
        if path.symlink_metadata().is_ok() {
            return Err(format!("{}: the file exists already", path.display()).into());
        }
        Ok(NewFile { path: path.to_path_buf(), file: temporary(path)? })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Gives the file its name; both are on disk then.
    pub(crate) fn keep(self) -> io::Result<()> {
        let NewFile { path, file } = self;
        file.as_file().sync_all()?;
        file.persist_noclobber(&path).map_err(|e| e.error)?;
        sync_directory(&path)
    }
}

/// Replaces a file, if there is one, in one step by what `write` writes; its permissions stay. It
/// is on disk as far as `write` and [`sync_directory`] see to that.
pub(crate) fn replace(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let wrap = |e: io::Error| format!("{}: {e}", path.display());
    let mut file = temporary(path)?;
    if let Ok(replaced) = std::fs::metadata(path) {
        file.as_file().set_permissions(replaced.permissions()).map_err(wrap)?;
    }
    write(file.as_file_mut())?;
    file.persist(path).map_err(|e| wrap(e.error))?;
    Ok(())
}

/// A file in the directory of the one that it is to become.
fn temporary(path: &Path) -> Result<NamedTempFile, Failure> {
    let directory = directory_of(path);
    // The error itself names the temporary file, which would tell nobody anything.
    let file = tempfile::Builder::new().prefix(".jsck-").tempfile_in(directory);
    file.map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => {
            format!("{}: there is no directory {}", path.display(), directory.display()).into()
        }
        kind => format!("{}: no file can be written there: {kind}", path.display()).into(),
    })
}

/// Makes sure that the name of a file is on disk too.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory_of(path))?.sync_all() } else { Ok(()) }
}

/// Where a file lies.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
