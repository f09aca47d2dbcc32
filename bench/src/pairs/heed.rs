//! LMDB through heed.

use std::ops::Bound;
use std::path::Path;

use heed::types::Bytes;
use heed::{
    CommitOrAbort, Env, EnvFlags, EnvOpenOptions, MdbError, PutFlags, RoTxn, RwTxn, WithTls,
};

use super::{Read, Write};

type Database = heed::Database<'static, Bytes, Bytes>;

/// An environment that no other program uses.
pub struct Environment {
    env: Env,
    pairs: Database,
}

impl Environment {
    /// Opens or creates it. If not `durable`, commits do not flush.
    pub fn open(path: &Path, durable: bool) -> Environment {
        std::fs::create_dir_all(path).unwrap();
        let mut options = EnvOpenOptions::new();
        options.map_size(64 << 30).max_dbs(1);
        let flags = if durable { EnvFlags::empty() } else { EnvFlags::NO_SYNC };
        // SAFETY: no other program uses this file, and it is lost if the system crashes.
        let env = unsafe { options.flags(flags).open(path).unwrap() };
        let txn = env.write_txn().unwrap();
        let made = env.create_databases_and_commit(txn, |maker, txn| {
            let pairs = maker.create_database::<Bytes, Bytes>(txn, Some("permazen"))?;
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(pairs))
        });
        let pairs = made.unwrap().commit().unwrap();
        Environment { env, pairs }
    }

    pub fn read(&self) -> Reading<'_> {
        Reading { txn: self.env.read_txn().unwrap(), pairs: self.pairs }
    }

    pub fn write(&self) -> Writing<'_> {
        Writing { txn: self.env.write_txn().unwrap(), pairs: self.pairs }
    }

    /// All pairs, without what LMDB's keys start with.
    pub fn content(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let txn = self.env.read_txn().unwrap();
        let pairs = self.pairs.iter(&txn).unwrap().map(Result::unwrap);
        pairs.map(|(key, value)| (key[1..].to_vec(), value.to_vec())).collect()
    }
}

pub struct Reading<'e> {
    txn: RoTxn<'e, WithTls>,
    pairs: Database,
}

pub struct Writing<'e> {
    txn: RwTxn<'e>,
    pairs: Database,
}

impl Writing<'_> {
    /// Puts a pair after all others.
    #[inline]
    pub fn append(&mut self, key: &[u8], value: &[u8]) {
        self.pairs.put_with_flags(&mut self.txn, PutFlags::APPEND, key, value).unwrap();
    }

    pub fn commit(self) {
        self.txn.commit().unwrap();
    }

    pub fn abort(self) {
        self.txn.abort();
    }
}

macro_rules! reads {
    ($type:ident) => {
        impl Read for $type<'_> {
            const START: &'static [u8] = &[0];

            #[inline]
            fn get(&self, key: &[u8]) -> Option<&[u8]> {
                self.pairs.get(&self.txn, key).unwrap()
            }

            #[inline]
            fn visit(&self, min: &[u8], max: &[u8], mut visit: impl FnMut(&[u8], &[u8]) -> bool) {
                for pair in self.pairs.range(&self.txn, &bounds(min, max)).unwrap() {
                    let (key, value) = pair.unwrap();
                    if !visit(key, value) {
                        break;
                    }
                }
            }

            #[inline]
            fn last(&self, min: &[u8], max: &[u8]) -> Option<&[u8]> {
                let mut range = self.pairs.rev_range(&self.txn, &bounds(min, max)).unwrap();
                range.next().map(|pair| pair.unwrap().0)
            }
        }
    };
}

reads!(Reading);
reads!(Writing);

impl Write for Writing<'_> {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.pairs.put(&mut self.txn, key, value).unwrap();
    }

    #[inline]
    fn put_new(&mut self, key: &[u8], value: &[u8]) -> bool {
        match self.pairs.put_with_flags(&mut self.txn, PutFlags::NO_OVERWRITE, key, value) {
            Ok(()) => true,
            Err(heed::Error::Mdb(MdbError::KeyExist)) => false,
            Err(error) => panic!("{error}"),
        }
    }

    #[inline]
    fn remove(&mut self, key: &[u8]) {
        self.pairs.delete(&mut self.txn, key).unwrap();
    }

    #[inline]
    fn remove_range(&mut self, min: &[u8], max: &[u8]) {
        self.pairs.delete_range(&mut self.txn, &bounds(min, max)).unwrap();
    }
}

fn bounds<'k>(min: &'k [u8], max: &'k [u8]) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
    (Bound::Included(min), Bound::Excluded(max))
}
