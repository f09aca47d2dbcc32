//! A store of another machine, in memory, for tests of which questions are asked and how often.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::engine::{Changes, Engine, RangePage, RangeRead, Session, Siblings};
use crate::memory::MemoryStore;
use crate::overlay::MutableView;
use crate::store_parts::lock::lock;
use crate::{Capabilities, KvDatabase, KvError, KvRead, KvWrite, Result, SharedRead, TxOptions};

/// An [`Engine`] over a store in memory. It counts the requests, and can answer late and fail.
/// Clones are the same server.
///
/// ```
/// use permazen_kv::remote::{RemoteDatabase, SimulatedServer};
/// use permazen_kv::{KvDatabase, KvRead, KvWrite, TxOptions};
///
/// let server = SimulatedServer::new();
/// let db = RemoteDatabase::new(server.clone());
/// let mut tx = db.begin(&TxOptions::writing())?;
/// tx.put(b"a", b"1")?;
/// tx.put(b"b", b"2")?;
/// tx.commit()?;
/// assert_eq!(server.take_requests(), 1);
/// let tx = db.begin(&TxOptions::reading())?;
/// assert!(tx.get(b"a")?.is_some() && tx.get(b"a")?.is_some());
/// assert_eq!(server.take_requests(), 1);
/// # Ok::<(), permazen_kv::KvError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct SimulatedServer {
    state: Arc<ServerState>,
}

#[derive(Debug, Default)]
struct ServerState {
    store: MemoryStore,
    requests: AtomicU64,
    delay: Mutex<Duration>,
    /// How many requests succeed before one fails.
    faults: Mutex<Option<u64>>,
    checks_reads: bool,
}

impl SimulatedServer {
    /// A server without pairs. It finds conflicts itself.
    pub fn new() -> Self {
        SimulatedServer::default()
    }

    /// A server that gets the reads with a commit, and finds conflicts with them.
    pub fn checking_reads() -> Self {
        SimulatedServer {
            state: Arc::new(ServerState { checks_reads: true, ..ServerState::default() }),
        }
    }

    /// The store, as the server has it.
    pub fn store(&self) -> &MemoryStore {
        &self.state.store
    }

    /// How many requests there were since the last call.
    pub fn take_requests(&self) -> u64 {
        self.state.requests.swap(0, Ordering::Relaxed)
    }

    /// From now on, each answer comes `delay` later than its request.
    pub fn set_delay(&self, delay: Duration) {
        *lock(&self.state.delay) = delay;
    }

    /// After `requests` more requests, one fails as if the connection were lost before it arrives.
    pub fn fail_after(&self, requests: u64) {
        *lock(&self.state.faults) = Some(requests);
    }

    /// Notes a request, and says when its answer comes.
    fn request(&self) -> Result<Instant> {
        self.state.requests.fetch_add(1, Ordering::Relaxed);
        let mut faults = lock(&self.state.faults);
        match &mut *faults {
            Some(0) => {
                *faults = None;
                return Err(KvError::Retry("the connection is lost".to_owned()));
            }
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(Instant::now() + *lock(&self.state.delay))
    }
}

fn wait(until: Instant) {
    thread::sleep(until.saturating_duration_since(Instant::now()));
}

impl Engine for SimulatedServer {
    fn begin(&self, _: &TxOptions) -> Result<Box<dyn Session>> {
        let server = self.clone();
        Ok(Box::new(SimulatedSession { server, view: None, answers: VecDeque::new() }))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { serializable: true, concurrent_writers: true, ..Capabilities::none() }
    }

    fn max_key_len(&self) -> usize {
        2_692
    }

    fn checks_reads(&self) -> bool {
        self.state.checks_reads
    }
}

struct SimulatedSession {
    server: SimulatedServer,
    /// The state, the own writes that were flushed, and the reads. `None` before the first
    /// question.
    view: Option<MutableView<SharedRead>>,
    answers: VecDeque<(Instant, Vec<RangePage>)>,
}

impl SimulatedSession {
    fn view(&mut self) -> &mut MutableView<SharedRead> {
        let server = &self.server;
        self.view.get_or_insert_with(|| MutableView::new(Arc::new(server.store().snapshot())))
    }
}

impl Session for SimulatedSession {
    fn ask(&mut self, reads: &[RangeRead]) -> Result<()> {
        let due = self.server.request()?;
        let view = &*self.view();
        let pages = reads.iter().map(|read| page(view, read)).collect::<Result<_>>()?;
        self.answers.push_back((due, pages));
        Ok(())
    }

    fn answer(&mut self) -> Result<Vec<RangePage>> {
        let Some((due, pages)) = self.answers.pop_front() else {
            return Err(KvError::IllegalState("nothing was asked".to_owned()));
        };
        wait(due);
        Ok(pages)
    }

    fn is_begun(&self) -> bool {
        self.view.is_some()
    }

    fn share(&mut self) -> Result<()> {
        self.view();
        Ok(())
    }

    fn siblings(&self) -> Option<Siblings> {
        let (server, state) = (self.server.clone(), self.view.as_ref()?.base().clone());
        Some(Box::new(move || {
            let view = Some(MutableView::new(Arc::clone(&state)));
            let server = server.clone();
            Some(Box::new(SimulatedSession { server, view, answers: VecDeque::new() }))
        }))
    }

    fn flush(&mut self, changes: &Changes) -> Result<bool> {
        wait(self.server.request()?);
        let view = self.view();
        for key in &changes.absent {
            if view.get(key)?.is_some() {
                return Err(KvError::is_not_new(key));
            }
        }
        view.apply(&changes.writes)?;
        Ok(true)
    }

    fn commit(mut self: Box<Self>, changes: Changes) -> Result<()> {
        let due = self.server.request()?;
        self.view();
        let Some((base, seen, flushed)) = self.view.take().map(MutableView::into_parts) else {
            return Ok(());
        };
        if changes.is_empty() && flushed.is_empty() {
            // It takes place at the state that it has read.
            wait(due);
            return Ok(());
        }
        let mut tx = self.server.store().begin(&TxOptions::writing())?;
        if let Some(conflict) =
            base.first_difference(&tx, changes.reads.as_ref().unwrap_or(&seen))?
        {
            return Err(conflict.into());
        }
        tx.apply(&flushed)?;
        for key in &changes.absent {
            if tx.get(key)?.is_some() {
                return Err(KvError::is_not_new(key));
            }
        }
        tx.apply(&changes.writes)?;
        tx.commit()?;
        wait(due);
        Ok(())
    }
}

/// The answer to a question.
fn page(content: &dyn KvRead, read: &RangeRead) -> Result<RangePage> {
    let (mut pairs, mut bytes, mut is_last) = (Vec::new(), 0, true);
    for pair in content.scan(read.span(), read.direction)? {
        if pairs.len() == read.pairs || (bytes >= read.bytes && !pairs.is_empty()) {
            is_last = false;
            break;
        }
        let (key, value) = pair?;
        bytes += key.len() + value.len();
        pairs.push((Bytes::copy_from_slice(&key), Bytes::copy_from_slice(&value)));
    }
    Ok(RangePage { pairs, is_last })
}
