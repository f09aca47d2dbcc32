//! `copy` and `backup`.

use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use permazen::__internal::escape::path_text;
use permazen::kv::copy::{Copied, Watch, copy_pairs};
use permazen::kv::xml::{self, Style, XmlError};
use permazen::kv::{KeySpan, KvDatabase, KvError, KvRead, TxOptions};
use permazen::open::{OpenError, Opening, StoreKind};
use serde_json::json;

use super::kv::remove_span;
use super::{Command, Context, Scope, file};
use crate::failure::{Answer, Failure};
use crate::interrupt::Interrupt;
use crate::output::{Output, Progress};
use crate::secrets;
use crate::session::{Session, in_the_way, warn_of};

/// Copy all pairs to another store, of any kind.
///
/// They are of one state, although others write meanwhile. The copy is there as a whole or not at
/// all, and its pages are full.
#[derive(Debug, clap::Args)]
pub(crate) struct Copy {
    /// The other store: lmdb:PATH, sqlite:PATH, xml:PATH, postgres://USER@HOST/DATABASE or
    /// etcd://HOST/PREFIX, or the path of one that exists
    target: OsString,
    /// Replace what the other store has
    #[arg(long)]
    force: bool,
}

impl Command for Copy {
    fn scope(&self) -> Scope {
        Scope::OwnTransactions { edits: false }
    }

    fn writes_file(&self) -> bool {
        true
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let Context { session, out, .. } = context;
        secrets::refuse(&self.target)?;
        not_tried(session, "copy")?;
        let (kind, path) = Opening::new().create(true).locate(&self.target)?;
        if kind == StoreKind::Memory {
            return Err(Failure::new("memory: a copy in memory is lost when the program ends"));
        }
        if kind == StoreKind::Xml && file::is_stream(&path) {
            let message = "-: `copy` writes a file; `kv dump -` writes to standard output, and \
                           xml:./- is a file of that name";
            return Err(Failure::new(message));
        }
        if kind.has_path() {
            if is_same(session, &path) {
                let path = path_text(&path);
                return Err(Failure::new(format!("{path}: this is the database itself")));
            }
            file::refuse_own(&path, &path, session)?;
        }
        let source = session.begin_certain()?;
        // A directory alone is no environment: it may be left from a copy that was killed.
        let found = if kind == StoreKind::Lmdb { path.join("data.mdb") } else { path.clone() };
        // Whether a server has the table is found when the table is opened.
        let is_there = !kind.has_path() || found.symlink_metadata().is_ok();
        // The name of the other store in messages, with which it is also opened.
        let name = if kind.has_path() { path.as_os_str() } else { &*self.target };
        let copied = match (is_there, kind) {
            (false, _) => watched(&session.interrupt, |watch| {
                *watch = std::mem::take(watch).readers(session.store().readers());
                Ok(Opening::new().create_from(&self.target, &*source, watch)?)
            })?,
            (true, StoreKind::Xml) => self.replace_dump(&path, &*source, session, out)?,
            (true, _) => self.replace(kind, name, &*source, session)?,
        };
        session.interrupt.is_done();
        let path = path_text(Path::new(name));
        out.done(
            format_args!("Copied {} key/value pairs to {kind} {path}", copied.pairs),
            &json!({ "type": "written", "file": path, "pairs": copied.pairs }),
        )?;
        Ok(Answer::Yes)
    }

    fn reads_with_certainty(&self) -> bool {
        true
    }
}

impl Copy {
    fn must_force(&self, path: &Path) -> Result<(), Failure> {
        if self.force {
            return Ok(());
        }
        let path = path_text(path);
        Err(Failure::new(format!("{path}: there is something in it; --force replaces it")))
    }

    /// Replaces an XML dump in one step.
    fn replace_dump(
        &self,
        path: &Path,
        source: &dyn KvRead,
        session: &Session,
        out: &mut Output,
    ) -> Result<Copied, Failure> {
        self.must_force(path)?;
        let pairs = file::write(path, session, out, |to| {
            xml::dump(source, KeySpan::FULL, Style::Indented, to).map_err(|error| match error {
                XmlError::Store(error) => error.into(),
                error => Failure::new(error.to_string()),
            })
        })?;
        let mut copied = Copied::default();
        copied.pairs = pairs;
        Ok(copied)
    }

    /// Replaces the pairs of a store in one transaction.
    fn replace(
        &self,
        kind: StoreKind,
        name: &OsStr,
        source: &dyn KvRead,
        session: &Session,
    ) -> Result<Copied, Failure> {
        let opening = Opening::new().kind(kind).write(true).create(true).wait(session.options.wait);
        // The old database may be damaged: LMDB would follow its pages while it removes the old
        // pairs.
        let opening = opening.checks(true);
        let target = in_the_way::telling(kind.is_on_servers(), || opening.open(name));
        let target = target.map_err(|error| match error {
            OpenError::Store(error) => of_target(error),
            error => error.into(),
        })?;
        warn_of(&target);
        let mut kv = session.patiently_with(&target, |slice| {
            target.begin(&TxOptions::writing().with_wait(slice)).map_err(of_target)
        })?;
        let mut removed = 0;
        if kv.at_least(&[], None).map_err(of_target)?.is_some() {
            self.must_force(target.name())?;
            removed = remove_span(&mut *kv, KeySpan::FULL, &session.interrupt)?;
        }
        let copied = watched(&session.interrupt, |watch| Ok(copy_pairs(source, &mut *kv, watch)?))?;
        session.interrupt.commit(|| {
            kv.commit().map_err(|error| match too_large(&error, copied, removed) {
                Some(failure) => failure,
                None => error.into(),
            })
        })?;
        Ok(copied)
    }
}

/// Why nothing was replaced. The pairs of a damaged store are not needed, so it can be removed.
fn of_target(error: KvError) -> Failure {
    match error.is_damage() {
        true => Failure::from(error).but("nothing is replaced: remove it, or copy to another path"),
        false => error.into(),
    }
}

/// Names the settings with which etcd takes a copy that it refused because of its size.
#[cfg(feature = "etcd")]
fn too_large(error: &KvError, copied: Copied, removed: u64) -> Option<Failure> {
    let KvError::Store { source, .. } = error else { return None };
    let refused = source.downcast_ref::<permazen::etcd::TooLarge>()?;
    // The store itself has limits too, which no flag of a server raises.
    if !refused.flag.starts_with("--") {
        return None;
    }
    let operations = copied.pairs + removed + 8;
    // The keys of the store have a prefix there, and each pair is described.
    let bytes = copied.bytes + 128 * operations + (1 << 16);
    Some(Failure::new(format!(
        "the copy is too large for the limits of etcd: it {}, and {}; a copy is one transaction, of {} pairs and {} bytes, \
         that removes {removed} others: start each member with --max-txn-ops={operations} and --max-request-bytes={bytes}",
        refused.what, refused.limit, copied.pairs, copied.bytes
    )))
}

#[cfg(not(feature = "etcd"))]
fn too_large(_: &KvError, _: Copied, _: u64) -> Option<Failure> {
    None
}

/// Make a backup: a new store of the same kind, from the files of this one.
///
/// Others can read and write meanwhile. The backup is there as a whole or not at all.
#[derive(Debug, clap::Args)]
pub(crate) struct Backup {
    /// The path of the backup, at which there is nothing yet
    target: PathBuf,
}

impl Command for Backup {
    fn scope(&self) -> Scope {
        Scope::OwnTransactions { edits: false }
    }

    fn writes_file(&self) -> bool {
        true
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let session = context.session;
        not_tried(session, "backup")?;
        file::refuse_own(&self.target, &self.target, session)?;
        let copied = watched(&session.interrupt, |watch| {
            Ok(session.store().back_up(&self.target, watch)?)
        })?;
        session.interrupt.is_done();
        // A copy into XML counts the bytes of keys and values.
        let file = self.target.metadata().ok().filter(Metadata::is_file);
        let bytes = file.map_or(copied.bytes, |file| file.len());
        let path = path_text(&self.target);
        context.out.done(
            format_args!("Wrote {bytes} bytes to {path}"),
            &json!({ "type": "written", "file": path, "bytes": bytes }),
        )?;
        Ok(Answer::Yes)
    }
}

/// Refuses a command that writes somewhere else in a dry run.
fn not_tried(session: &Session, what: &str) -> Result<(), Failure> {
    match session.options.dry_run {
        true => Err(Failure::new(format!("`{what}` cannot be tried with --dry-run"))),
        false => Ok(()),
    }
}

/// Runs a copy that shows how far it is, and stops on Ctrl-C.
pub(super) fn watched<T>(
    interrupt: &Interrupt,
    copy: impl FnOnce(&mut Watch<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let progress = Progress::of("bytes");
    let stop = interrupt.flag();
    let mut tell = |copied: Copied| progress.at(copied.bytes);
    let mut watch = Watch::new().stop(&stop).progress(&mut tell);
    let copied = copy(&mut watch);
    // A copy that is complete stays, also after a Ctrl-C.
    if copied.is_err() {
        interrupt.check()?;
    }
    copied
}

/// Whether this is the path of the session's own database.
fn is_same(session: &Session, path: &Path) -> bool {
    let own = session.store().path().and_then(|own| own.canonicalize().ok());
    own.is_some() && own == path.canonicalize().ok()
}
