//! Checks `data.mdb` before LMDB maps it.
//!
//! LMDB reads the file through a memory map. There, a missing page causes a signal that ends the
//! process. So this reads the file in the ordinary way, to find out whether it is a complete file
//! of LMDB.

mod page;
mod space;
mod structure;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use super::error::{cannot_open, io_failed};
use super::page::{HEAD, KIND, number_at, u16_at, u32_at};
use super::tree_record::{self, TreeRecord};
use crate::{KeySpan, KvError, Result, Space};
use space::Counting;
use structure::{Structure, chosen_by_others, free_flags_fit};

const MAGIC: u32 = 0xBEEF_C0DE;
const VERSION: u32 = 1;
/// The head of a page, and the meta data after it.
const META_LEN: usize = HEAD + 136;
const META: u16 = 0x08;

/// How often to read a file again while others write to it, and how long to pause before.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(5);

/// The state of a data file before it is mapped.
#[derive(Debug)]
pub(super) enum DataFile {
    /// There is no file.
    Missing,
    /// The file is empty, for example because it has just been created.
    Empty,
    /// It looks sound.
    Sound,
}

/// Checks the data file of the environment in `directory`: the parts that LMDB uses to open the
/// database `name`. Reads a few pages, or the whole file if that is shorter than it was.
pub(super) fn check(directory: &Path, name: &str) -> Result<DataFile> {
    let path = directory.join("data.mdb");
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(DataFile::Missing),
        Err(error) => return Err(io_failed(directory, "cannot read data.mdb", error)),
    };
    let bad = |checked: &Result<DataFile>| matches!(checked, Err(KvError::Damaged { .. }));
    settled(directory, &file, || check_file(directory, name, &file), bad)
}

/// The result of `look` on a file to which others may be writing. If the result is bad, `look` runs
/// again until no other process has written to the file meanwhile.
fn settled<T>(
    directory: &Path,
    file: &File,
    look: impl Fn() -> Result<T>,
    is_bad: impl Fn(&Result<T>) -> bool,
) -> Result<T> {
    let heads = || heads(file).map_err(|error| io_failed(directory, "cannot read data.mdb", error));
    let mut found = look();
    for _ in 0..ATTEMPTS {
        if !is_bad(&found) {
            return found;
        }
        let before = heads()?;
        found = look();
        // A commit may have been seen half made.
        std::thread::sleep(PAUSE);
        if heads()? == before {
            return found;
        }
    }
    if is_bad(&found) { Err(raced(directory)) } else { found }
}

fn raced(directory: &Path) -> KvError {
    KvError::Retry(format!(
        "{}: cannot check data.mdb, because other processes commit too often; try again when they pause",
        directory.display()
    ))
}

/// The start of the file. Each commit changes something there.
fn heads(mut file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(1 << 17).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn check_file(directory: &Path, name: &str, file: &File) -> Result<DataFile> {
    let failed = |error| io_failed(directory, "cannot read data.mdb", error);
    let len = file.metadata().map_err(failed)?.len();
    if len == 0 {
        return Ok(DataFile::Empty);
    }
    let meta = Meta::newest(directory, file, len)?;
    let len = file.metadata().map_err(failed)?.len();
    // Unused pages at the end may never have been written, so a short file can be complete. It is
    // complete if every page that is referred to is there.
    let short = meta.last_page >= len / meta.page_len;
    let problems = meta.problems(file, len, name, short).map_err(failed)?;
    if !problems.is_empty()
        && let Some(flags) = meta.foreign_flags(file, len, name).map_err(failed)?
    {
        return Err(not_ours(directory, &format!("the database {name:?} in it"), &flags));
    }
    match problems.into_iter().next() {
        None => Ok(DataFile::Sound),
        Some(problem) if short => Err(damaged(
            directory,
            format!("data.mdb seems to be cut off: it has {len} bytes; {problem}"),
        )),
        Some(problem) => Err(damaged(directory, format!("data.mdb: {problem}"))),
    }
}

/// The error for a database that has flags which another program must have chosen.
fn not_ours(directory: &Path, what: &str, flags: &str) -> KvError {
    cannot_open(
        directory,
        format!(
            "not an environment of Permazen: {what} has the flags {flags}, and Permazen's databases have none, so \
             another program has made it (or a part of data.mdb was overwritten); nothing was changed"
        ),
    )
}

/// The defects in the structure of the data file in `directory`. Reads the whole file. A reader
/// must be open during the call: it keeps the pages of its version and of later ones as they are.
pub(super) fn verify(directory: &Path, name: &str) -> Result<Vec<String>> {
    verify_file(&directory.join("data.mdb"), directory, name)
}

/// The same for a file that may have another name.
pub(super) fn verify_file(path: &Path, directory: &Path, name: &str) -> Result<Vec<String>> {
    let failed = |error| io_failed(directory, "cannot read data.mdb", error);
    let file = File::open(path).map_err(failed)?;
    match newest(directory, &file) {
        Ok(meta) => {
            let len = file.metadata().map_err(failed)?.len();
            meta.problems(&file, len, name, true).map_err(failed)
        }
        Err(KvError::Damaged { reason, .. }) => Ok(vec![reason.into()]),
        Err(error) => Err(error),
    }
}

/// The defect of a page of the tree of pairs; `None` if LMDB could have written it.
pub(super) fn problem_of_page(bytes: &[u8], number: u64) -> Option<String> {
    page::problem_of_page(bytes, number)
}

/// The space that the pairs of `spans` take in the data file in `directory`. The spans ascend, and
/// no span overlaps another one. Reads all pages of the pairs. A reader must be open during the
/// call, as for [`verify`].
pub(super) fn space(directory: &Path, name: &str, spans: &[KeySpan<'_>]) -> Result<Vec<Space>> {
    let failed = |error| io_failed(directory, "cannot read data.mdb", error);
    let file = File::open(directory.join("data.mdb")).map_err(failed)?;
    let meta = newest(directory, &file)?;
    let len = file.metadata().map_err(failed)?.len();
    let mut structure = Structure::new(&file, meta.page_len, len, meta.last_page);
    let databases = structure.databases(meta.databases).map_err(failed)?;
    let mut counting = Counting::new(spans, meta.page_len, meta.last_page);
    for (_, tree) in databases.into_iter().filter(|(found, _)| found == name.as_bytes()) {
        let counted =
            counting.tree(tree, &|page, len| structure.read(page, len)).map_err(failed)?;
        counted.map_err(|reason| damaged(directory, reason))?;
    }
    match structure.problems().into_iter().next() {
        None => Ok(counting.end()),
        Some(problem) => Err(damaged(directory, problem)),
    }
}

/// The newest version. Commits can disturb only the choice of it: one that is read twice with the
/// same result was not just being written.
fn newest(directory: &Path, file: &File) -> Result<Meta> {
    let newest = || Meta::newest(directory, file, u64::MAX);
    let look = || {
        let meta = newest()?;
        if newest()? == meta { Ok(meta) } else { Err(raced(directory)) }
    };
    settled(directory, file, look, Result::is_err)
}

fn damaged(directory: &Path, reason: String) -> KvError {
    KvError::Damaged { path: directory.into(), reason: reason.into() }
}

/// The fields of a meta page that are used here.
#[derive(Debug, PartialEq, Eq)]
struct Meta {
    flags: u16,
    magic: u32,
    version: u32,
    page_len: u64,
    free: TreeRecord,
    databases: TreeRecord,
    last_page: u64,
    txn_id: u64,
}

impl Meta {
    fn read(bytes: &[u8; META_LEN]) -> Option<Self> {
        Some(Meta {
            flags: u16_at(bytes, KIND)?,
            magic: u32_at(bytes, 16)?,
            version: u32_at(bytes, 20)?,
            page_len: u32_at(bytes, 40)?.into(),
            free: TreeRecord::read(bytes, 40)?,
            databases: TreeRecord::read(bytes, 40 + tree_record::LEN)?,
            last_page: number_at(bytes, 136)?,
            txn_id: number_at(bytes, 144)?,
        })
    }

    /// The newer of the two meta pages, which LMDB will use. Both must be sound.
    fn newest(directory: &Path, file: &File, len: u64) -> Result<Meta> {
        let mut file = file;
        let failed = |error| io_failed(directory, "cannot read data.mdb", error);
        let foreign = |reason: String| Err(cannot_open(directory, reason));
        let damaged = |reason: String| Err(damaged(directory, reason));
        let mut newest: Option<Meta> = None;
        let mut page_len = 0;
        for number in 0..2 {
            let mut bytes = [0; META_LEN];
            let at = number * page_len;
            file.seek(SeekFrom::Start(at)).map_err(failed)?;
            if len < at + META_LEN as u64 {
                if number == 0 {
                    return foreign(format!(
                        "data.mdb is no LMDB data file: it has only {len} bytes"
                    ));
                }
                return damaged(format!("data.mdb is cut off after {len} bytes"));
            }
            file.read_exact(&mut bytes).map_err(failed)?;
            let Some(meta) = Meta::read(&bytes) else {
                return damaged("a meta page of data.mdb is cut off".into());
            };
            if meta.flags & META == 0 || meta.magic != MAGIC {
                if meta.magic == MAGIC.swap_bytes() {
                    return foreign(
                        "data.mdb was written on a machine with another byte order".into(),
                    );
                }
                if number == 0 {
                    return foreign("data.mdb is no LMDB data file".into());
                }
                return damaged("the second page of data.mdb is not a meta page".into());
            }
            if meta.version != VERSION {
                return foreign(format!(
                    "data.mdb has LMDB format version {}, supported is {VERSION}",
                    meta.version
                ));
            }
            if !meta.page_len.is_power_of_two() || !(256..=65536).contains(&meta.page_len) {
                return damaged(format!(
                    "impossible page size of {} bytes in data.mdb",
                    meta.page_len
                ));
            }
            if number == 1 && meta.page_len != page_len {
                return damaged("the meta pages of data.mdb give different page sizes".into());
            }
            // LMDB may use either of them one day. The flags decide how keys are compared, and
            // whether LMDB maps the file at an address that is stored in it.
            if free_flags_fit(meta.free.flags)
                && let Some(flags) = chosen_by_others(meta.databases.flags)
            {
                return Err(not_ours(directory, "its main database", &flags));
            }
            if !free_flags_fit(meta.free.flags) || meta.databases.flags != 0 {
                return damaged(format!(
                    "impossible flags {:#x} and {:#x} in meta page {number} of data.mdb",
                    meta.free.flags, meta.databases.flags
                ));
            }
            if !follow(newest.as_ref(), &meta) {
                return damaged(
                    "the meta pages of data.mdb are not of two successive commits".into(),
                );
            }
            page_len = meta.page_len;
            if newest.as_ref().is_none_or(|newest| meta.txn_id > newest.txn_id) {
                newest = Some(meta);
            }
        }
        newest.ok_or_else(|| cannot_open(directory, "data.mdb is no LMDB data file"))
    }

    /// The flags of the database `name`, if another program must have chosen them.
    fn foreign_flags(&self, file: &File, len: u64, name: &str) -> io::Result<Option<String>> {
        let mut structure = Structure::new(file, self.page_len, len, self.last_page);
        let databases = structure.databases(self.databases)?;
        let found = databases.iter().find(|(found, _)| found == name.as_bytes());
        Ok(found.and_then(|(_, tree)| chosen_by_others(tree.flags)))
    }

    /// The defects of the pages that LMDB needs to open the database `name`; with `all`, the
    /// defects of all pages.
    fn problems(&self, file: &File, len: u64, name: &str, all: bool) -> io::Result<Vec<String>> {
        let mut structure = Structure::new(file, self.page_len, len, self.last_page);
        for (found, tree) in structure.databases(self.databases)? {
            match (found == name.as_bytes(), all) {
                (true, true) => structure.pairs(tree)?,
                (true, false) => structure.root_of_pairs(tree)?,
                (false, true) => structure.other(&found, tree)?,
                (false, false) => {}
            }
        }
        if all {
            structure.free_pages(self.free, self.txn_id)?;
        }
        Ok(structure.problems())
    }
}

/// Whether the second meta page fits the first. Commits write them in turn, so the number of one
/// commit is even, that of the other is odd, and they differ by one. In a new file both are 0.
fn follow(first: Option<&Meta>, second: &Meta) -> bool {
    let Some(first) = first else { return true };
    let (even, odd) = (first.txn_id, second.txn_id);
    (even, odd) == (0, 0) || (even.abs_diff(odd) == 1 && even.is_multiple_of(2))
}
