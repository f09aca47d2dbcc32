//! A process that is stopped for hours while it takes commits from elsewhere. Others take it for
//! dead meanwhile.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvTransaction, TxOptions};
use permazen_ledger::{
    Clock, LedgerError, MAIN, Page, PageId, Repository, Result, Retention, Secret,
};

use super::setting::{attached, noise, put_lazy, write};
use super::sources::Remote;
use crate::support::clock::TestClock;

const HOUR: u64 = 60 * 60 * 1_000;

type Hook = Box<dyn FnOnce() + Send>;

/// A host in which a process is stopped before one of its transactions.
#[derive(Default)]
struct Stops {
    store: MemoryStore,
    /// After how many transactions it is stopped, and the hook that runs then.
    before: Mutex<Option<(usize, Hook)>>,
}

impl KvDatabase for Stops {
    fn begin(&self, options: &TxOptions) -> permazen_kv::Result<Box<dyn KvTransaction + Send>> {
        let hook = match &mut *self.before.lock().unwrap() {
            Some((left @ 1.., _)) => {
                *left -= 1;
                None
            }
            other => other.take(),
        };
        if let Some((_, hook)) = hook {
            hook();
        }
        self.store.begin(options)
    }
}

fn open(host: Arc<dyn KvDatabase>, clock: &Arc<TestClock>) -> (Repository, Page) {
    let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
    let builder = Repository::shared_builder(host).manual_maintenance().clock(clock).cache_bytes(1);
    let repository = builder.open_or_create().unwrap();
    let page = repository
        .page("test", PageId::ROOT)
        .or_else(|_| repository.create_page_with("test", PageId::ROOT, Secret::new([5; 32])));
    (repository, page.unwrap())
}

/// The work of the process.
type Script = fn(&Page, &Page) -> Result<()>;

/// Takes the head with the commits before it.
fn receive(there: &Page, here: &Page) -> Result<()> {
    let mut receiver = here.remote().receive();
    let head = there.head(MAIN)?;
    let mut log = there.log(head)?.collect::<Result<Vec<_>>>()?;
    log.reverse();
    for (id, _) in log {
        let commit = there.remote().commit_bytes(&id)?.unwrap();
        loop {
            let wanted = receiver.wanted(&commit)?;
            if wanted.is_empty() {
                break;
            }
            for (kind, digest) in wanted {
                receiver.add_piece(kind, there.remote().piece_bytes(&digest)?.unwrap())?;
            }
        }
        receiver.add_commit(&id, &commit)?;
    }
    receiver.add_head(MAIN, &head)
}

/// Fetches a value of a commit that nothing keeps but that it is read.
fn fetch(there: &Page, here: &Page) -> Result<()> {
    receive(there, here)?;
    let snapshot = here.snapshot(&here.head(MAIN)?)?;
    write(here, MAIN, |tx| tx.put(b"key", b"later").unwrap());
    let found = snapshot.fetch(b"film")?;
    assert!(found == Some(noise(200_000, 1)));
    Ok(())
}

/// Runs the script with a stop after this many transactions. `false` if there were fewer.
fn stopped_after(count: usize, script: Script) -> bool {
    let there = attached(Arc::new(MemoryStore::new()));
    write(&there, MAIN, |tx| tx.put(b"eager", &noise(20_000, 2)).unwrap());
    put_lazy(&there, b"film", &noise(200_000, 1));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let clock = TestClock::at(now.as_millis() as u64);
    let host = Arc::new(Stops::default());
    let (stopped, here) = open(Arc::clone(&host) as _, &clock);
    here.remote().attach().unwrap();
    here.set_retention(Retention::Heads).unwrap();
    here.set_source(Remote::of(&there), Duration::from_secs(600));
    let (other, of_other) = open(Arc::new(host.store.clone()), &clock);
    let (its_clock, its_page) = (Arc::clone(&clock), of_other.clone());
    let hook = move || {
        for _ in 0..4 {
            its_clock.advance(Duration::from_millis(HOUR));
            other.maintain().unwrap();
            its_page.collect().unwrap();
        }
    };
    *host.before.lock().unwrap() = Some((count, Box::new(hook)));
    let what = format!("stopped after {count} transactions");
    match script(&there, &here) {
        Ok(()) => {}
        Err(
            LedgerError::NoCommit { .. }
            | LedgerError::SnapshotExpired { .. }
            | LedgerError::BaseMissing { .. },
        ) => {}
        Err(error) => panic!("{what}: {error}"),
    }
    let was_stopped = host.before.lock().unwrap().take().is_none();
    stopped.maintain().unwrap();
    for _ in 0..3 {
        let found = of_other.verify().unwrap().findings;
        assert!(found.is_empty(), "{what}: {found:#?}");
        clock.advance(Duration::from_millis(HOUR / 20));
        of_other.collect().unwrap();
    }
    // It is done again.
    script(&there, &here).unwrap();
    was_stopped
}

fn stopped_everywhere(script: Script) {
    let count = (0..1_000).take_while(|count| stopped_after(*count, script)).count();
    assert!(count > 20, "{count} transactions");
}

#[test]
fn a_process_that_was_stopped_takes_all_of_a_commit_or_nothing() {
    stopped_everywhere(receive);
}

#[test]
fn a_process_that_was_stopped_fetches_all_of_a_value_or_says_that_it_is_gone() {
    stopped_everywhere(fetch);
}
