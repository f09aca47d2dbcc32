//! New environments whose pages are full: their pairs are put in the order of their keys.
//!
//! LMDB fills a page before it begins the next one if each pair comes after all that are there (`MDB_APPEND`).
//! Its own copy (`MDB_CP_COMPACT`) leaves out unused pages but copies the others as they are, and pages in
//! which pairs were put here and there are half to two thirds full.

use std::convert::Infallible;
use std::fs::File;
use std::path::Path;

use heed::types::Bytes;
use heed::{
    CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, MdbError, PutFlags, RwTxn, WithoutTls,
};

use crate::copy::{Copied, Watch};
use crate::lmdb::env::Pairs;
use crate::lmdb::error::failed;
use crate::lmdb::map::halved;
use crate::lmdb::opening::is_too_much;
use crate::store_parts::new_file::cannot;
use crate::{KvError, Result};

/// A transaction has about so many bytes of pairs. They, and their pages, are in memory until it ends.
const PORTION: usize = 16 << 20;

/// How many bytes a pair takes in a page besides its key and its value.
const PAIR_HEAD: u64 = 10;

/// Gets pairs as LMDB stores them, in the order of their keys.
pub(super) type Put<'p> = &'p mut dyn FnMut(&[u8], &[u8]) -> Result<()>;

/// Makes an environment in the empty file `at`, with the pairs that `each` gives in its database `name`, and brings it to
/// disk. The file records `map_size`, or less if the address space is limited. `target` is what errors name. Nobody else
/// may know the file.
pub(super) fn write<T>(
    at: &Path,
    name: &str,
    map_size: usize,
    target: &Path,
    each: impl FnOnce(Put<'_>) -> Result<T>,
) -> Result<T> {
    let failed = |error| failed(target, "cannot copy into it", error);
    let env = open(at, map_size).map_err(failed)?;
    let written = fill(&env, name, target, each);
    let synced = match written {
        Ok(written) => env.force_sync().map(|()| written).map_err(failed),
        Err(error) => Err(error),
    };
    env.prepare_for_closing().wait();
    synced
}

/// Copies an environment into the empty file `to`, which is called `at`, as [`write`] does. `None` if there is no room in a map
/// of `map_size` bytes, which can be if the source is packed already; then the file is empty again.
///
/// `watch` has begun, and is told how large the file becomes.
pub(super) fn copy(
    (to, at): (&File, &Path),
    name: &str,
    map_size: usize,
    target: &Path,
    watch: &mut Watch<'_>,
    each: impl FnOnce(Put<'_>) -> Result<()>,
) -> Result<Option<Copied>> {
    let file_failed = |error| cannot(target, "cannot copy into it", &error);
    let written = write(at, name, map_size, target, |put| {
        each(&mut |key, value| {
            put(key, value)?;
            watch.copied(0, (key.len() + value.len()) as u64 + PAIR_HEAD)
        })
    });
    match written {
        Ok(()) => {
            watch.set_bytes(to.metadata().map_err(file_failed)?.len());
            Ok(Some(watch.end()))
        }
        Err(KvError::Full { .. }) => to.set_len(0).map(|()| None).map_err(file_failed),
        Err(error) => Err(error),
    }
}

fn open(at: &Path, map_size: usize) -> heed::Result<Env<WithoutTls>> {
    let mut size = map_size;
    loop {
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.map_size(size).max_dbs(1);
        // SAFETY: Nobody else knows this file, so LMDB needs no locks, and nobody changes it while it is
        // mapped. If the process ends before the file is complete and synced, the file is not used.
        #[allow(unsafe_code)]
        let opened = unsafe {
            options.flags(EnvFlags::NO_SUB_DIR | EnvFlags::NO_LOCK | EnvFlags::NO_SYNC);
            options.open(at)
        };
        match opened {
            // The address space is limited: try less.
            Err(heed::Error::Io(error)) if is_too_much(&error) && size > 2 << 20 => {
                size = halved(size);
            }
            opened => return opened,
        }
    }
}

fn fill<T>(
    env: &Env<WithoutTls>,
    name: &str,
    target: &Path,
    each: impl FnOnce(Put<'_>) -> Result<T>,
) -> Result<T> {
    let failed = |error| match error {
        heed::Error::Mdb(MdbError::MapFull) => KvError::Full {
            path: target.into(),
            reason: "cannot copy into it: the map has no room".into(),
        },
        error => failed(target, "cannot copy into it", error),
    };
    let (mut portion, mut pairs) = (Portion::default(), None);
    let filled = each(&mut |key, value| {
        portion.add(key, value);
        if portion.bytes.len() < PORTION {
            return Ok(());
        }
        pairs = Some(portion.commit(env, pairs, name).map_err(failed)?);
        portion.clear();
        Ok(())
    })?;
    if pairs.is_none() || !portion.lengths.is_empty() {
        portion.commit(env, pairs, name).map_err(failed)?;
    }
    Ok(filled)
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

    /// Writes the pairs. The first portion makes the database too, so that its commit leaves no unused pages.
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
