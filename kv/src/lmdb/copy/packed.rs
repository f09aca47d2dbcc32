//! New environments whose pages are full: their pairs are put in the order of their keys.
//!
//! LMDB fills a page before it begins the next one if each pair comes after all that are there
//! (`MDB_APPEND`). Its own copy (`MDB_CP_COMPACT`) leaves out unused pages but copies the others as
//! they are, and pages in which pairs were put here and there are half to two thirds full.

use std::cell::Cell;
use std::convert::Infallible;
use std::fs::File;
use std::path::Path;

use heed::types::Bytes;
use heed::{
    CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, MdbError, PutFlags, RwTxn, WithoutTls,
};

use crate::copy::Watch;
use crate::lmdb::env::Pairs;
use crate::lmdb::error::failed;
use crate::lmdb::opening::is_too_much;
use crate::lmdb::reserve::halved;
use crate::store_parts::new_file::cannot;
use crate::{KvError, Result};

/// A transaction writes about this many bytes of pairs. They, and their pages, are in memory until
/// it ends.
const PORTION: usize = 16 << 20;

/// How many bytes a pair takes in a page besides its key and its value.
const PAIR_HEAD: u64 = 10;

const WHAT: &str = "cannot copy into it";

/// Gets pairs as LMDB stores them, in the order of their keys.
pub(super) type Put<'p> = &'p mut dyn FnMut(&[u8], &[u8]) -> Result<()>;

/// Makes an environment in the empty file `at`, with the pairs that `each` gives in its database
/// `name`, and brings it to disk. The file records `map_size`, or less if the address space is
/// limited. `target` is the path in errors. No other code may use the file.
pub(super) fn write<T>(
    at: &Path,
    name: &str,
    map_size: usize,
    target: &Path,
    each: impl FnOnce(Put<'_>) -> Result<T>,
) -> Result<T> {
    let mut size = map_size;
    let env = loop {
        match open(at, size) {
            // The address space is limited: try less.
            Err(heed::Error::Io(error)) if is_too_much(&error) && size > 2 << 20 => {
                size = halved(size);
            }
            opened => break opened.map_err(|error| failed(target, WHAT, error))?,
        }
    };
    fill(env, name, target, &Cell::default(), each)
}

/// Copies an environment with `pairs` pairs into the empty file `to`, which is called `at`, as
/// [`write`] does. `None` if a map of `map_size` bytes has no room, which can happen if the source
/// is packed already, or if the address space has no room for a second map; then the file is empty
/// again.
///
/// `watch` has begun, and gets the size of the file as it grows.
pub(super) fn copy(
    (to, at): (&File, &Path),
    (name, pairs): (&str, u64),
    map_size: usize,
    target: &Path,
    watch: &mut Watch<'_>,
    each: impl FnOnce(Put<'_>) -> Result<()>,
) -> Result<Option<()>> {
    let file_failed = |error| cannot(target, WHAT, &error);
    let has_no_room = Cell::new(false);
    let mut copied = 0;
    let written = match open(at, map_size) {
        Err(heed::Error::Io(error)) if is_too_much(&error) => {
            has_no_room.set(true);
            Ok(())
        }
        Err(error) => Err(failed(target, WHAT, error)),
        Ok(env) => fill(env, name, target, &has_no_room, |put| {
            each(&mut |key, value| {
                put(key, value)?;
                copied += 1;
                watch.copied(0, (key.len() + value.len()) as u64 + PAIR_HEAD)
            })
        }),
    };
    if has_no_room.get() {
        return to.set_len(0).map(|()| None).map_err(file_failed);
    }
    written?;
    // The copy may take the place of the source.
    if copied != pairs {
        let reason = format!("{copied} pairs were found in it, where {pairs} are recorded").into();
        return Err(KvError::Damaged { path: target.into(), reason });
    }
    watch.set_bytes(to.metadata().map_err(file_failed)?.len());
    Ok(Some(()))
}

fn open(at: &Path, map_size: usize) -> heed::Result<Env<WithoutTls>> {
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(map_size).max_dbs(1);
    // SAFETY: No other code knows this file, so LMDB needs no locks, and nothing else changes the
    // file while it is mapped. If the process ends before the file is complete and synced, the file
    // is not used.
    #[allow(unsafe_code)]
    unsafe {
        options.flags(EnvFlags::NO_SUB_DIR | EnvFlags::NO_LOCK | EnvFlags::NO_SYNC);
        options.open(at)
    }
}

/// Puts the pairs, and closes the environment. Notes if the map has no room for them.
fn fill<T>(
    env: Env<WithoutTls>,
    name: &str,
    target: &Path,
    has_no_room: &Cell<bool>,
    each: impl FnOnce(Put<'_>) -> Result<T>,
) -> Result<T> {
    let failed = |error| {
        if matches!(error, heed::Error::Mdb(MdbError::MapFull)) {
            has_no_room.set(true);
        }
        failed(target, WHAT, error)
    };
    let (mut portion, mut pairs) = (Portion::default(), None);
    let filled = each(&mut |key, value| {
        portion.add(key, value);
        if portion.bytes.len() < PORTION {
            return Ok(());
        }
        pairs = Some(portion.commit(&env, pairs, name).map_err(failed)?);
        portion.clear();
        Ok(())
    });
    let filled = filled.and_then(|filled| {
        if pairs.is_none() || !portion.lengths.is_empty() {
            portion.commit(&env, pairs, name).map_err(failed)?;
        }
        env.force_sync().map(|()| filled).map_err(failed)
    });
    env.prepare_for_closing().wait();
    filled
}

/// Pairs that one transaction writes, in the order of their keys.
#[derive(Default)]
struct Portion {
    /// Each key with its value after it.
    bytes: Vec<u8>,
    /// The lengths of each key and its value.
    lengths: Vec<(usize, usize)>,
}

impl Portion {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.lengths.push((key.len(), value.len()));
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.lengths.clear();
    }

    /// Writes the pairs. The first portion makes the database too, so that its commit leaves no
    /// unused pages.
    fn commit(
        &self,
        env: &Env<WithoutTls>,
        pairs: Option<Pairs>,
        name: &str,
    ) -> heed::Result<Pairs> {
        let mut tx = env.write_txn()?;
        if let Some(pairs) = pairs {
            self.put(pairs, &mut tx)?;
            return tx.commit().map(|()| pairs);
        }
        let committed = env.create_databases_and_commit(tx, |opener, tx| {
            let created = opener.create_database::<Bytes, Bytes>(tx, Some(name))?;
            self.put(created, tx)?;
            heed::Result::Ok(CommitOrAbort::<_, Infallible>::Commit(created))
        })?;
        match committed {
            CommitOrAbort::Commit(pairs) => Ok(pairs),
            CommitOrAbort::Abort(never) => match never {},
        }
    }

    fn put(&self, pairs: Database<'_, Bytes, Bytes>, tx: &mut RwTxn<'_>) -> heed::Result<()> {
        let mut rest = &*self.bytes;
        for (key, value) in &self.lengths {
            let (pair, after) = rest.split_at(key + value);
            let (key, value) = pair.split_at(*key);
            pairs.put_with_flags(tx, PutFlags::APPEND, key, value)?;
            rest = after;
        }
        Ok(())
    }
}
