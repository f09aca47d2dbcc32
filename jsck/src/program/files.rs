//! The files that the program reads and writes. A file that it writes only gets its name when it is
//! complete and on disk.

use std::fs::{File, FileType, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use permazen::__internal::open::open_to_read;
use tempfile::NamedTempFile;

use super::host::Failure;
use super::terminal::path_text;

/// Opens what is read once, from its beginning to its end: a file, a pipe (such as `<(…)` of a
/// shell), or standard input for `-`.
pub(super) fn open_input(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if is_standard_input(path) {
        return Ok(Box::new(io::stdin()));
    }
    if !is_pipe(path) {
        must_be_file(path)?;
    }
    Ok(Box::new(open_to_read(path).map_err(|e| format!("{}: {e}", path_text(path)))?))
}

/// The name of what [`open_input`] opens, for messages.
pub(super) fn input_text(path: &Path) -> String {
    if is_standard_input(path) { "standard input".to_owned() } else { path_text(path) }
}

/// Whether no file can be kept in the place of what [`open_input`] opens.
pub(super) fn is_stream(path: &Path) -> bool {
    // The link of a file descriptor leads to an open file even after the name of that was removed.
    let has_no_name = || path.exists() && path.canonicalize().is_err();
    is_standard_input(path) || is_pipe(path) || has_no_name()
}

/// Refuses two `inputs`, each with its option, that are the same stream: the first reads
/// everything, and the second would find nothing.
pub(super) fn must_be_read_once<'a>(
    inputs: impl IntoIterator<Item = (&'static str, &'a Path)>,
) -> Result<(), Failure> {
    let mut streams: Vec<(&str, &Path)> = Vec::new();
    for (option, path) in inputs.into_iter().filter(|(_, path)| is_stream(path)) {
        if let Some((first, _)) = streams.iter().find(|(_, first)| are_same_stream(first, path)) {
            let name = input_text(path);
            return Err(format!(
                "{option} {}: {first} reads {name} already, which can be read only once",
                path_text(path)
            )
            .into());
        }
        streams.push((option, path));
    }
    Ok(())
}

fn are_same_stream(one: &Path, two: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let pipe = |path: &Path| {
            let path = if is_standard_input(path) { Path::new("/dev/stdin") } else { path };
            let found = is_pipe(path).then(|| std::fs::metadata(path).ok()).flatten()?;
            Some((found.dev(), found.ino()))
        };
        if pipe(one).is_some_and(|one| Some(one) == pipe(two)) {
            return true;
        }
    }
    is_standard_input(one) && is_standard_input(two)
}

fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

fn is_pipe(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// Refuses anything that is not a file, before it is opened: opening a named pipe would wait for a
/// program that writes to it.
pub(super) fn must_be_file(path: &Path) -> Result<(), Failure> {
    let found = std::fs::metadata(path).map_err(|e| format!("{}: {e}", path_text(path)))?;
    if found.is_file() {
        return Ok(());
    }
    let found = kind(found.file_type());
    Err(format!("{}: {found}, where a file is expected", path_text(path)).into())
}

/// The kind of something that is not a file, in words.
fn kind(found: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if found.is_fifo() {
            return "a named pipe";
        }
        if found.is_socket() {
            return "a socket";
        }
        if found.is_char_device() || found.is_block_device() {
            return "a device";
        }
    }
    if found.is_dir() { "a directory" } else { "something else" }
}

/// More links than any system follows.
const MOST_LINKS: usize = 256;

/// The file that `path` leads to after all links, even if there is none yet.
pub(super) fn after_links(path: &Path) -> Result<PathBuf, Failure> {
    let wrap = |e: io::Error| format!("{}: {e}", path_text(path));
    let mut file = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match file.canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return Ok(found.map_err(wrap)?),
        }
        // A link can lead to a place where there is no file yet.
        let Ok(target) = file.read_link() else { break };
        file.pop();
        file.push(target);
    }
    Ok(file)
}

/// A new file, under a name that was free. It is removed when dropped, unless `keep` is called.
pub(super) struct NewFile {
    path: PathBuf,
    file: NamedTempFile,
}

impl NewFile {
    /// Begins a file. Refuses a name that is taken, and a place where nothing can be written.
    pub(super) fn create(path: &Path) -> Result<NewFile, Failure> {
        if path.symlink_metadata().is_ok() {
            return Err(format!("{}: the file exists already", path_text(path)).into());
        }
        Ok(NewFile { path: path.to_path_buf(), file: temporary(path)? })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Gives the file its name. File and name are on disk then.
    pub(super) fn keep(self) -> io::Result<()> {
        let NewFile { path, file } = self;
        file.as_file().sync_all()?;
        file.persist_noclobber(&path).map_err(|e| e.error)?;
        sync_directory(&path)
    }
}

/// Replaces a file in one step by what `write` writes, or creates it. The group and the permissions
/// of a replaced file stay. `write` and [`sync_directory`] bring it to disk.
pub(super) fn replace(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let wrap = |e: io::Error| format!("{}: {e}", path_text(path));
    let mut file = temporary(path)?;
    if let Ok(replaced) = std::fs::metadata(path) {
        keep_permissions(file.as_file(), &replaced).map_err(wrap)?;
    }
    write(file.as_file_mut())?;
    file.persist(path).map_err(|e| wrap(e.error))?;
    Ok(())
}

/// Gives a file the group and the permissions of the one that it replaces.
#[cfg(unix)]
fn keep_permissions(file: &File, replaced: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

    let mode = replaced.mode() & 0o777;
    let has_group = file.metadata()?.gid() == replaced.gid()
        || fchown(file, None, Some(replaced.gid())).is_ok();
    let mode = if has_group { mode } else { for_another_group(mode) };
    file.set_permissions(PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
fn keep_permissions(file: &File, replaced: &Metadata) -> io::Result<()> {
    file.set_permissions(replaced.permissions())
}

/// The permissions of a file that cannot have the group of the one that it replaces. The members of
/// its group are other people: they get only the permissions that all have.
#[cfg(unix)]
fn for_another_group(mode: u32) -> u32 {
    let all = (mode >> 3) & mode & 0o007;
    (mode & 0o700) | (all << 3) | all
}

/// A temporary file in the directory of the file that it will become.
fn temporary(path: &Path) -> Result<NamedTempFile, Failure> {
    let directory = directory_of(path);
    // The error itself names the temporary file, which does not help the user.
    let file = tempfile::Builder::new().prefix(".jsck-").tempfile_in(directory);
    file.map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => {
            format!("{}: there is no directory {}", path_text(path), path_text(directory)).into()
        }
        kind => format!("{}: no file can be written there: {kind}", path_text(path)).into(),
    })
}

/// Makes sure that the name of a file is on disk.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory_of(path))?.sync_all() } else { Ok(()) }
}

/// The directory of a file.
fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(all(test, unix))]
mod tests {
    use super::for_another_group;

    #[test]
    fn another_group_gets_only_what_all_have() {
        for (mode, expected) in
            [(0o600, 0o600), (0o640, 0o600), (0o604, 0o600), (0o644, 0o644), (0o664, 0o644)]
        {
            assert_eq!(for_another_group(mode), expected, "{mode:o}");
        }
    }
}
