//! Files that commands read and write. A file that is written appears when it is complete and on
//! disk, or not at all.

use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use permazen::__internal::escape::path_text;
use permazen::__internal::open::open_to_read;
use permazen::kv::copy::Readers;
use permazen::open::StoreKind;
use tempfile::NamedTempFile;

use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::session::Session;
use crate::temporary::Temporary;

/// The name of a file for messages.
pub(crate) fn file_text(path: &Path) -> String {
    if is_stream(path) { "-".to_owned() } else { path_text(path) }
}

/// Whether `path` stands for standard input or output.
pub(crate) fn is_stream(path: &Path) -> bool {
    path == Path::new("-")
}

/// Writes an XML file with the output of `write`, and gives it its name when it is complete and on
/// disk. An XML file of that name is replaced in one step, and its permissions stay. `-` is
/// standard output. If its reader goes away, that is no failure: the default is returned.
///
/// # Errors
/// Also for the open database, for a file of that name that is no XML, and in a dry run.
pub(crate) fn write<T: Default>(
    path: &Path,
    session: &Session,
    out: &mut Output,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let interrupt = &session.interrupt;
    // Writing fails when Ctrl-C has come, and only the flag tells why.
    let stopped = |failure| interrupt.check().err().unwrap_or(failure);
    if is_stream(path) {
        let written = write(&mut Stoppable { inner: out.document(), interrupt });
        return match written.map_err(stopped) {
            Err(failure) if out.is_gone() && failure.exit == Exit::Failed => Ok(T::default()),
            written => written,
        };
    }
    let failed = |error| failed(path, error);
    if session.options.dry_run {
        let shown = path_text(path);
        let message = format!("{shown}: --dry-run writes no file; - is standard output");
        return Err(Failure::new(message));
    }
    // A device, or anything else that is no file, is written to directly. A link stays, and leads
    // to the new file.
    let known = path.metadata().ok();
    if known.as_ref().is_some_and(|known| !known.is_file()) {
        let mut file = File::options().write(true).open(path).map_err(failed)?;
        return write(&mut Stoppable { inner: &mut file, interrupt }).map_err(stopped);
    }
    let target = match known {
        Some(_) => path.canonicalize().map_err(failed)?,
        None => after_links(path).map_err(failed)?,
    };
    refuse_own(&target, path, session)?;
    if known.is_some() {
        refuse_other(&target, path)?;
    }
    let mut file = temporary(&target, path, session.store().readers())?;
    let _removed = Temporary::new(file.path());
    let done = write(&mut Stoppable { inner: file.as_file_mut(), interrupt }).map_err(stopped)?;
    if let Some(known) = known {
        keep_permissions(file.as_file(), &known).map_err(failed)?;
    }
    file.as_file().sync_all().map_err(failed)?;
    interrupt.check()?;
    file.persist(&target).map_err(|error| failed(error.error))?;
    interrupt.is_done();
    sync_directory(&target).map_err(failed)?;
    Ok(done)
}

/// Gives a file the group and the permissions of the one that it replaces. If the group cannot be
/// set, the members of the new group are other people: they get only the permissions that all have.
#[cfg(unix)]
fn keep_permissions(file: &File, known: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

    let mut mode = known.mode() & 0o777;
    if file.metadata()?.gid() != known.gid() && fchown(file, None, Some(known.gid())).is_err() {
        let all = (mode >> 3) & mode & 0o007;
        mode = (mode & 0o700) | (all << 3) | all;
    }
    file.set_permissions(PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
fn keep_permissions(file: &File, known: &Metadata) -> io::Result<()> {
    file.set_permissions(known.permissions())
}

/// Where a path leads to at which there is nothing: the last of its links.
fn after_links(path: &Path) -> io::Result<PathBuf> {
    const MOST_LINKS: usize = 40;
    let mut file = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let Ok(target) = file.read_link() else { return Ok(file) };
        file.pop();
        file.push(target);
    }
    Err(io::Error::other("it is a link that leads to itself"))
}

/// Refuses a file that belongs to the open database, whether it is there yet or not. `shown` is the
/// name that the user gave.
pub(super) fn refuse_own(target: &Path, shown: &Path, session: &Session) -> Result<(), Failure> {
    match is_own(target, session) {
        true => Err(Failure::new(format!(
            "{}: this is a file of the open database; write to another one",
            path_text(shown)
        ))),
        false => Ok(()),
    }
}

/// Whether a file belongs to the open database, by its name.
fn is_own(target: &Path, session: &Session) -> bool {
    let own = session.store().path().and_then(|own| own.canonicalize().ok());
    let (Some(own), Some(name)) = (own, target.file_name()) else { return false };
    let Ok(directory) = directory_of(target).canonicalize() else { return false };
    match session.store().kind() {
        StoreKind::Lmdb => directory == own && (name == "data.mdb" || name == "lock.mdb"),
        _ => ["", "-wal", "-shm", "-journal"].iter().any(|end| {
            let mut own = own.clone().into_os_string();
            own.push(end);
            directory.join(name) == Path::new(&own)
        }),
    }
}

/// Refuses to replace a file that is neither empty nor XML: it was not made by such a command.
fn refuse_other(target: &Path, shown: &Path) -> Result<(), Failure> {
    match begin_of(target).map_err(|error| failed(shown, error))? {
        begin if begin.is_empty() || is_xml(&begin) => Ok(()),
        _ => Err(Failure::new(format!(
            "{}: there is a file already, and it is no XML; remove it first, or write to another one",
            path_text(shown)
        ))),
    }
}

/// The first bytes of a file.
fn begin_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut begin = Vec::new();
    open_to_read(path)?.take(4096).read_to_end(&mut begin)?;
    Ok(begin)
}

fn is_xml(begin: &[u8]) -> bool {
    let begin = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin);
    begin.trim_ascii_start().starts_with(b"<")
}

fn failed(path: &Path, error: io::Error) -> Failure {
    Failure::new(format!("{}: {}", path_text(path), Failure::from(error).message))
}

/// A temporary file in the directory of the file that it will become, which can be read by
/// `readers`.
fn temporary(target: &Path, shown: &Path, readers: Readers) -> Result<NamedTempFile, Failure> {
    let directory = directory_of(target);
    // The error itself names the temporary file, which does not help the user.
    temporary_in(&directory, readers).map_err(|error| {
        Failure::new(match error.kind() {
            io::ErrorKind::NotFound => {
                format!("{}: there is no directory {}", path_text(shown), path_text(&directory))
            }
            kind => format!("{}: no file can be written there: {kind}", path_text(shown)),
        })
    })
}

#[cfg(unix)]
fn temporary_in(directory: &Path, readers: Readers) -> io::Result<NamedTempFile> {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    let mut mode = 0o600;
    loop {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".permazen-").permissions(Permissions::from_mode(mode));
        let file = builder.tempfile_in(directory)?;
        // Which group it has, only the file itself tells. Only a new one gets the permissions that
        // the umask leaves.
        let wanted = readers.file_mode(file.as_file().metadata()?.gid());
        if mode == wanted {
            return Ok(file);
        }
        mode = wanted;
    }
}

/// The permissions are those of the folder.
#[cfg(not(unix))]
fn temporary_in(directory: &Path, _: Readers) -> io::Result<NamedTempFile> {
    tempfile::Builder::new().prefix(".permazen-").tempfile_in(directory)
}

fn directory_of(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_path_buf()
}

/// Makes sure that the name of a file is on disk.
fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory_of(path))?.sync_all() } else { Ok(()) }
}

/// Opens an input that is read once, from its beginning to its end: a file, a pipe, or standard
/// input for `-`. Reading fails when Ctrl-C has come.
///
/// # Errors
/// Also for a file of the open database.
pub(crate) fn read(path: &Path, session: &Session) -> Result<Box<dyn Read>, Failure> {
    let failed = |error| failed(path, error);
    let interrupt = session.interrupt.clone();
    if is_stream(path) {
        session.has_read_once();
        return Ok(Box::new(StoppableRead { inner: io::stdin(), interrupt }));
    }
    let known = path.metadata().map_err(failed)?;
    if known.is_dir() {
        let message = format!("{}: a directory, where a file is expected", path_text(path));
        return Err(Failure::new(message));
    }
    if !known.is_file() {
        session.has_read_once();
    } else if session.store().kind() == StoreKind::Lmdb
        && path.canonicalize().is_ok_and(|path| is_own(&path, session))
    {
        // Closing `lock.mdb` would give up LMDB's locks.
        let message = format!("{}: this is a file of the open database", path_text(path));
        return Err(Failure::new(message));
    }
    Ok(Box::new(StoppableRead { inner: open_to_read(path).map_err(failed)?, interrupt }))
}

/// Why reading and writing ends when Ctrl-C has come. The error of the system with this name would
/// mean that it should be tried again.
fn interrupted() -> io::Error {
    io::Error::other("interrupted")
}

struct Stoppable<'i, W> {
    inner: W,
    interrupt: &'i Interrupt,
}

impl<W: Write> Write for Stoppable<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.interrupt.check().map_err(|_| interrupted())?;
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

struct StoppableRead<R> {
    inner: R,
    interrupt: Interrupt,
}

impl<R: Read> Read for StoppableRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.interrupt.check().map_err(|_| interrupted())?;
        self.inner.read(buffer)
    }
}
