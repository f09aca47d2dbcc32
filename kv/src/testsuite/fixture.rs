//! Stores to test, and the first steps that most tests share.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use crate::{Direction, KeySpan, KvDatabase, KvError, KvRead, KvTransaction, Result, TxOptions};

/// A transaction.
pub type Tx = Box<dyn KvTransaction + Send>;

type Reopen = Box<dyn Fn() -> Box<dyn KvDatabase>>;

/// A new store to test.
pub struct Fixture {
    // Dropped in this order: the store is closed before its directory is removed.
    store: Option<Box<dyn KvDatabase>>,
    reopen: Option<Reopen>,
    kept: Vec<Box<dyn Any>>,
    pub(super) in_groups: bool,
}

impl Fixture {
    /// Tests `store`, which is empty.
    pub fn new(store: impl KvDatabase + 'static) -> Self {
        Fixture { store: Some(Box::new(store)), reopen: None, kept: Vec::new(), in_groups: false }
    }

    /// How to open the store again after it was closed; for stores that persist.
    #[must_use]
    pub fn reopening<D: KvDatabase + 'static>(mut self, open: impl Fn() -> D + 'static) -> Self {
        self.reopen = Some(Box::new(move || Box::new(open())));
        self
    }

    /// Keeps `value`, for example a temporary directory, until the store was closed.
    #[must_use]
    pub fn keeping(mut self, value: impl Any) -> Self {
        self.kept.push(Box::new(value));
        self
    }

    /// Says that each transaction that writes joins the group of another one
    /// ([`TxOptions::in_group`]), so it has no version.
    #[must_use]
    pub fn in_groups(mut self) -> Self {
        self.in_groups = true;
        self
    }

    /// The store.
    pub fn store(&self) -> &dyn KvDatabase {
        &**self.store.as_ref().expect("the store is open")
    }

    /// Drops the store. The code after this must not ask for it.
    pub(super) fn close(&mut self) {
        self.store = None;
    }

    /// Closes the store and opens it again, if that is possible.
    pub fn reopen(&mut self) -> bool {
        let Some(reopen) = &self.reopen else { return false };
        self.store = None;
        self.store = Some(reopen());
        true
    }
}

impl fmt::Debug for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixture").field("persistent", &self.reopen.is_some()).finish()
    }
}

/// Runs `change` in a transaction, again until it commits.
pub fn write<R>(store: &dyn KvDatabase, mut change: impl FnMut(&mut Tx) -> Result<R>) -> R {
    let mut pause = 1;
    loop {
        let done = store.begin(&TxOptions::writing()).and_then(|mut tx| {
            let result = change(&mut tx)?;
            tx.commit()?;
            Ok(result)
        });
        match done {
            Ok(result) => return result,
            Err(error) if error.is_retryable() => {
                std::thread::sleep(Duration::from_micros(pause));
                pause = (pause * 2).min(2000);
            }
            Err(error) => panic!("not retryable: {error}"),
        }
    }
}

/// Puts pairs in their own transaction.
pub fn put_all(store: &dyn KvDatabase, pairs: &[(&[u8], &[u8])]) {
    write(store, |tx| pairs.iter().try_for_each(|(key, value)| tx.put(key, value)));
}

/// Everything that a transaction or snapshot sees.
pub fn dump<K: KvRead + ?Sized>(source: &K) -> Vec<(Vec<u8>, Vec<u8>)> {
    source
        .scan(KeySpan::FULL, Direction::Forward)
        .unwrap()
        .map(|pair| pair.unwrap())
        .map(|(key, value)| (key.into_owned(), value.into_owned()))
        .collect()
}

/// Everything that is committed.
pub fn committed(store: &dyn KvDatabase) -> Vec<(Vec<u8>, Vec<u8>)> {
    dump(&*store.begin(&TxOptions::reading()).unwrap())
}

/// The committed value of a key.
pub fn get(store: &dyn KvDatabase, key: &[u8]) -> Option<Vec<u8>> {
    let tx = store.begin(&TxOptions::reading()).unwrap();
    tx.get(key).unwrap().map(|value| value.into_owned())
}

/// Begins a transaction that sees all commits until now.
pub fn begin(store: &dyn KvDatabase, options: &TxOptions) -> Result<Tx> {
    let tx = store.begin(options)?;
    if store.capabilities().lazy_begin {
        // No test uses this key.
        tx.get(&[0xff; 32])?;
    }
    Ok(tx)
}

/// Begins a transaction that writes. `None` if transactions take turns and another one has its
/// turn.
pub fn attempt(store: &dyn KvDatabase) -> Option<Tx> {
    match begin(store, &TxOptions::writing().with_wait(Duration::ZERO)) {
        Ok(tx) => Some(tx),
        Err(error) => {
            assert!(error.is_retryable(), "{error}");
            assert!(!store.capabilities().concurrent_writers, "cannot begin: {error}");
            None
        }
    }
}

/// A transaction that may fail because of another one.
pub(super) struct Rival(pub(super) Option<Tx>);

impl Rival {
    pub(super) fn begin(store: &dyn KvDatabase) -> Self {
        Rival(attempt(store))
    }

    /// A rival that has read nothing, also if the store fixes the state only with a read.
    pub(super) fn begin_unread(store: &dyn KvDatabase) -> Self {
        match store.capabilities().lazy_begin {
            true => Rival(Some(store.begin(&TxOptions::writing()).unwrap())),
            false => Self::begin(store),
        }
    }

    /// Makes a step if the transaction has not failed yet.
    pub(super) fn step<R>(&mut self, step: impl FnOnce(&mut Tx) -> Result<R>) -> Option<R> {
        match step(self.0.as_mut()?) {
            Ok(result) => Some(result),
            Err(error) => {
                assert!(error.is_retryable(), "lost with another error: {error}");
                self.0 = None;
                None
            }
        }
    }

    /// Reads a counter or another number of eight bytes; absent is zero.
    pub(super) fn read(&mut self, key: &[u8]) -> Option<i64> {
        self.step(|tx| {
            tx.get(key)?.map_or(Ok(0), |value| {
                <[u8; 8]>::try_from(&value[..])
                    .map(i64::from_be_bytes)
                    .map_err(|_| KvError::InvalidArgument("not a number".to_owned()))
            })
        })
    }

    pub(super) fn put(&mut self, key: &[u8], number: i64) {
        self.step(|tx| tx.put(key, &number.to_be_bytes()));
    }

    /// Whether it was committed.
    pub(super) fn commit(mut self) -> bool {
        let Some(tx) = self.0.take() else { return false };
        match tx.commit() {
            Ok(()) => true,
            Err(error) => {
                assert!(error.is_retryable(), "lost with another error: {error}");
                false
            }
        }
    }
}
