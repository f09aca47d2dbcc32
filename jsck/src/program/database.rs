//! Opens the database that the user names.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use permazen::__internal::open::XmlDump;
use permazen::kv::{
    KeySpan, KvDatabase, KvError, KvRead, KvTransaction, TxOptions, Warning, WarningKind, xml,
};
use permazen::open::{OpenError, OpenStore, Opening, StoreKind};

use super::args::Kind;
use super::files;
use super::host::{Busy, Failure, Host, Subject};
use super::terminal::{TOLD_AFTER, Terminal, path_text};

/// How long to wait at a time before looking whether to stop.
const SLICE: Duration = Duration::from_millis(50);

/// An open database.
pub(super) struct Database {
    path: PathBuf,
    store: Store,
}

enum Store {
    /// A dump is changed in memory, and written as a whole by [`Database::commit`].
    Xml(XmlDump),
    Other(OpenStore),
}

impl<'s> Subject<'s> {
    /// The path or URL, as messages name it.
    pub(super) fn path(self) -> &'s Path {
        match self {
            Subject::Named(name) => Path::new(name),
            Subject::Open(store) => store.name(),
        }
    }

    /// The path beside which its files are: that of a URL is what comes after the kind. A store
    /// without files has them in the current directory.
    pub(super) fn place(self) -> PathBuf {
        let path = self.path();
        match Opening::new().locate(path) {
            Ok((kind, _)) if !path.exists() && !kind.has_path() => kind.scheme().into(),
            Ok((_, located)) if !path.exists() => located,
            _ => path.to_path_buf(),
        }
    }
}

/// Opens a database. A database that is only read is not changed in any way.
pub(super) fn open(
    subject: Subject<'_>,
    kind: Option<Kind>,
    write: bool,
    terminal: &Terminal<'_>,
) -> Result<Database, Failure> {
    let (name, kind) = match subject {
        Subject::Named(name) => (Path::new(name), kind),
        Subject::Open(store) => match store.path().filter(|_| store.kind() == StoreKind::Xml) {
            Some(path) => (path, Some(Kind::Xml)),
            None => {
                let path = subject.path().to_path_buf();
                return Ok(Database { path, store: Store::Other(store.clone()) });
            }
        },
    };
    let mut opening = Opening::new().write(write).checks(true);
    if let Some(wait) = terminal.host.wait() {
        opening = opening.wait(wait);
    }
    if let Some(kind) = kind {
        let kind = kind.of_store();
        if kind != StoreKind::Lmdb {
            files::must_be_file(name)?;
        }
        opening = opening.kind(kind);
    }
    let located = opening.locate(name).map_err(|error| match error {
        OpenError::Unrecognized { .. } => Failure::from(format!("{error}; --kind says what it is")),
        error => error.into(),
    })?;
    if located.0 != StoreKind::Xml {
        let open = || opening.open(name);
        let opened = match located.0.is_on_servers() {
            true => terminal
                .telling(format_args!("waiting for the server of {}", path_text(name)), open),
            false => open(),
        };
        let store = opened.map_err(unwrapped)?;
        for warning in dangers(&store) {
            terminal.complain(format_args!("{}: warning: {warning}", path_text(store.name())));
        }
        let path = store.name().to_path_buf();
        return Ok(Database { path, store: Store::Other(store) });
    }
    // A repair replaces the dump by a new file: replace the file itself, not a link to it.
    let dump = XmlDump::read(&located.1)?;
    if write {
        let opened = File::options().append(true).open(dump.path());
        opened.map_err(|e| format!("{}: {e}; it cannot be repaired", path_text(name)))?;
    }
    Ok(Database { path: dump.path().to_path_buf(), store: Store::Xml(dump) })
}

/// The warnings that every user should see. Warnings about speed alone always come, and would hide
/// the others.
fn dangers(store: &OpenStore) -> impl Iterator<Item = &Warning> {
    store.warnings().iter().filter(|warning| warning.kind() != WarningKind::Speed)
}

/// Why the changes of a repair were not committed.
pub(super) enum NotCommitted {
    /// The database is as it was.
    Unchanged(Failure),
    /// It is not known whether it is.
    PerhapsChanged(Failure),
}

impl From<NotCommitted> for Failure {
    fn from(not: NotCommitted) -> Failure {
        match not {
            NotCommitted::Unchanged(why) | NotCommitted::PerhapsChanged(why) => why,
        }
    }
}

const UNCHANGED: &str = "nothing was changed";

/// An error of the store in other words. If other programs are in the way, the exit code says so.
fn of_store(error: &KvError, what: String) -> Failure {
    if error.is_retryable() { Busy(what).into() } else { what.into() }
}

fn in_words(error: &crate::Error, what: String) -> Failure {
    match error {
        crate::Error::Store(error) => of_store(error, what),
        _ => what.into(),
    }
}

/// The error of the store itself, so that damage is recognized.
fn unwrapped(error: OpenError) -> Failure {
    match error {
        OpenError::Store(error) => error.into(),
        error => error.into(),
    }
}

impl Database {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its kind.
    pub(super) fn kind(&self) -> StoreKind {
        match &self.store {
            Store::Xml(_) => StoreKind::Xml,
            Store::Other(store) => store.kind(),
        }
    }

    pub(super) fn store(&self) -> &dyn KvDatabase {
        match &self.store {
            Store::Xml(dump) => dump.store(),
            Store::Other(store) => store,
        }
    }

    /// The warnings about settings of its server with which commits can be lost.
    pub(super) fn dangers(&self) -> impl Iterator<Item = &Warning> {
        let store = match &self.store {
            Store::Xml(_) => None,
            Store::Other(store) => Some(store),
        };
        store.into_iter().flat_map(dangers)
    }

    /// How many pairs the database has, if the store knows.
    pub(super) fn pairs(&self) -> Option<u64> {
        self.store().statistics().ok()?.entries
    }

    /// The defects in the structure of the store. Empty for stores that cannot check it.
    ///
    /// # Errors
    /// If the host wants to stop. The caller need not wait for the reader then: another thread
    /// reads the file, and continues until its end.
    pub(super) fn verify(&self, host: &dyn Host) -> Result<Vec<String>, Failure> {
        let verified = match &self.store {
            Store::Xml(dump) => dump.store().verify(),
            Store::Other(store) => {
                let (store, stop) = (store.clone(), host.stop());
                let (tell, told) = mpsc::channel();
                thread::spawn(move || {
                    let verified = store.verify();
                    // The process may end once the result is known. Before that, the store must be
                    // closed everywhere, or files stay that it would remove.
                    drop(store);
                    let _ = tell.send(verified);
                });
                loop {
                    match told.recv_timeout(SLICE) {
                        Ok(verified) => break verified,
                        Err(RecvTimeoutError::Timeout) if !stop.load(Ordering::Relaxed) => {}
                        Err(RecvTimeoutError::Timeout) => {
                            return Err("interrupted; nothing was checked".into());
                        }
                        Err(RecvTimeoutError::Disconnected) => {
                            return Err("the check of the store's structure has no result".into());
                        }
                    }
                }
            }
        };
        match verified {
            Err(KvError::Unsupported(_)) => Ok(Vec::new()),
            problems => Ok(problems?),
        }
    }

    /// Whether all pairs can perhaps be read although the structure of the store is damaged. A
    /// damaged page of LMDB is refused, and with it the pages after it.
    pub(super) fn can_be_read_damaged(&self) -> bool {
        self.kind() != StoreKind::Lmdb
    }

    /// Why it could not be checked.
    pub(super) fn failure(&self, error: &crate::Error) -> Failure {
        in_words(error, format!("{}: {error}", path_text(&self.path)))
    }

    /// Why it could not be checked for a repair.
    pub(super) fn unchanged(&self, error: &crate::Error) -> Failure {
        in_words(error, format!("{}: {error}; {UNCHANGED}", path_text(&self.path)))
    }

    /// Begins a transaction.
    pub(super) fn begin(&self, write: bool) -> Result<Box<dyn KvTransaction + Send>, Failure> {
        // Data that a server shows at first, and takes back at the end, is no finding.
        let reading = TxOptions::reading().with_certainty();
        let options = if write { TxOptions::writing() } else { reading };
        Ok(self.store().begin(&options)?)
    }

    /// Begins a transaction that writes. If the host says how long to wait for other programs, it
    /// can stop the wait, and a message says so if that takes long.
    pub(super) fn begin_writing(
        &self,
        terminal: &Terminal<'_>,
    ) -> Result<Box<dyn KvTransaction + Send>, Failure> {
        let Some(wait) = terminal.host.wait() else { return self.begin(true) };
        let (stop, start) = (terminal.host.stop(), Instant::now());
        let mut told = false;
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err("interrupted; nothing was changed".into());
            }
            let left = wait.saturating_sub(start.elapsed());
            // A store on a server does not wait when a transaction begins, but may have to ask
            // later how a commit ended.
            let slice = if self.store().capabilities().lazy_begin { left } else { left.min(SLICE) };
            match self.store().begin(&TxOptions::writing().with_wait(slice)) {
                Err(error) if error.is_retryable() && left.is_zero() => {
                    let what = format!(
                        "{}: another program is changing the database, and was waited for {wait:?}; \
                         nothing was changed",
                        path_text(&self.path)
                    );
                    return Err(Busy(what).into());
                }
                Err(error) if error.is_retryable() => {}
                begun => return Ok(begun?),
            }
            if !told && start.elapsed() >= TOLD_AFTER {
                terminal.complain("waiting for other programs that use the database");
                told = true;
            }
        }
    }

    /// Makes sure that the file to be replaced is still the one that was read.
    pub(super) fn is_as_opened(&self) -> Result<(), Failure> {
        match &self.store {
            Store::Xml(dump) if !dump.is_unchanged() => {
                let path = path_text(&self.path);
                Err(format!("{path}: another program has changed it; nothing is written").into())
            }
            _ => Ok(()),
        }
    }

    /// Does the same as [`commit`](Self::commit), and lets the host know.
    pub(super) fn commit_with(
        &self,
        host: &dyn Host,
        kv: Box<dyn KvTransaction + Send>,
    ) -> Result<(), NotCommitted> {
        let mut kv = Some(kv);
        let committed = host.commit(&mut || match kv.take() {
            Some(kv) => self.commit(kv),
            None => Ok(()),
        });
        match (kv, committed) {
            (None, Ok(())) => Ok(()),
            // The host has not called it.
            (Some(_), Ok(())) => {
                Err(NotCommitted::Unchanged("interrupted; nothing was changed".into()))
            }
            (Some(_), Err(why)) => Err(NotCommitted::Unchanged(why)),
            (None, Err(why)) => match why.downcast_ref::<KvError>() {
                Some(error) if !error.is_outcome_unknown() => {
                    Err(NotCommitted::Unchanged(of_store(error, format!("{error}; {UNCHANGED}"))))
                }
                _ => Err(NotCommitted::PerhapsChanged(why)),
            },
        }
    }

    /// Commits. An XML dump is then written again.
    fn commit(&self, kv: Box<dyn KvTransaction + Send>) -> Result<(), Failure> {
        self.is_as_opened()?;
        kv.commit()?;
        if self.kind() == StoreKind::Xml {
            let kv = self.begin(false)?;
            let wrap = |e: std::io::Error| format!("{}: {e}", path_text(&self.path));
            files::replace(&self.path, |file| {
                let written = dump(&*kv, &mut *file);
                written.map_err(|e| format!("{}: {e}", path_text(&self.path)))?;
                Ok(file.sync_all().map_err(wrap)?)
            })?;
            files::sync_directory(&self.path).map_err(wrap)?;
        }
        Ok(())
    }
}

/// Writes all pairs as XML.
pub(super) fn dump(kv: &dyn KvRead, out: impl Write) -> Result<(), xml::XmlError> {
    xml::dump(kv, KeySpan::FULL, xml::Style::Indented, out).map(drop)
}
