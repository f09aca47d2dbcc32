//! Watches of keys: one connection on which etcd says what is put.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use permazen_kv::remote::WatchTracker;
use permazen_kv::{KeyWatch, KvError, Result, Writes};

use crate::client::{FIRST_PAUSE, LONGEST_PAUSE, TXN, WATCH, encoded};
use crate::error::Failure;
use crate::http::{Closer, Connection};
use crate::shared::Shared;
use crate::wire::{Done, Events, Told, Txn, Watch, WatchRange};

/// If nothing is heard for so long, the member is asked whether it is still there.
const QUIET: Duration = Duration::from_secs(10);

/// How long a member has to answer.
const ATTEMPT: Duration = Duration::from_secs(5);

type Tried<T> = std::result::Result<T, Failure>;

/// The watches of a store. The first one starts to listen; it ends when this is dropped, and so do they.
pub(crate) struct Watching {
    inner: Arc<Inner>,
    wait: Duration,
}

struct Inner {
    shared: Arc<Shared>,
    tracker: WatchTracker,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    phase: Phase,
    /// Why nobody listens.
    failure: Option<String>,
    closer: Option<Closer>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nobody has watched yet.
    #[default]
    Off,
    Connecting,
    Listening,
    Over,
}

impl fmt::Debug for Watching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watching").field("phase", &self.inner.lock().phase).finish_non_exhaustive()
    }
}

impl Watching {
    pub(crate) fn new(shared: Arc<Shared>, wait: Duration) -> Self {
        let (tracker, state) = (WatchTracker::default(), Mutex::default());
        Watching {
            inner: Arc::new(Inner { shared, tracker, state, changed: Condvar::new() }),
            wait,
        }
    }

    /// Begins to watch a key. Waits until somebody listens.
    ///
    /// # Errors
    /// Retryable if nobody can listen in time.
    pub(crate) fn watch(&self, key: &[u8]) -> Result<KeyWatch> {
        // It is there before it is known that somebody listens: whatever comes after that ends it.
        let watch = self.inner.tracker.watch(key);
        let until = Instant::now() + self.wait;
        let mut state = self.inner.lock();
        if state.phase == Phase::Off {
            let inner = Arc::clone(&self.inner);
            let listener = thread::Builder::new().name("permazen-etcd-watches".to_owned());
            listener.spawn(move || inner.listen()).map_err(|error| KvError::Store {
                context: "cannot start the thread that listens to what others commit".into(),
                source: Box::new(error),
            })?;
            state.phase = Phase::Connecting;
        }
        while state.phase != Phase::Listening {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let why = state.failure.as_deref().unwrap_or("no answer in time");
                return Err(KvError::Retry(format!(
                    "cannot listen to what others commit on {}: {why}",
                    self.inner.shared.client.address
                )));
            }
            let waited = self.inner.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(watch)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut state = self.inner.lock();
        state.phase = Phase::Over;
        let closer = state.closer.take();
        drop(state);
        if let Some(close) = closer {
            close();
        }
        self.inner.changed.notify_all();
        self.inner.tracker.close();
    }
}

/// What etcd says, piece by piece.
struct Stream {
    connection: Connection,
    host: usize,
    /// What has come of the next message.
    text: Vec<u8>,
}

impl Stream {
    /// The next message, one line of JSON.
    fn next(&mut self, until: Instant) -> Tried<Events> {
        loop {
            if let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                let told: Told = serde_json::from_slice(&line)
                    .map_err(|error| Failure::garbled(error.to_string()))?;
                return match told {
                    Told { result: Some(events), .. } if !events.canceled => Ok(events),
                    Told { error: Some(error), .. } => Err(Failure::garbled(error.to_string())),
                    _ => Err(Failure::garbled("the watch was ended")),
                };
            }
            if !self.connection.chunk(&mut self.text, until)? {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Listens until the store is dropped.
    fn listen(&self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let host = self.shared.client.host();
            match self.connect(host) {
                Ok(Some(mut stream)) => {
                    pause = FIRST_PAUSE;
                    let failure = self.follow(&mut stream);
                    let mut state = self.lock();
                    if state.phase == Phase::Over {
                        return;
                    }
                    state.phase = Phase::Connecting;
                    state.failure = Some(failure.to_string());
                    drop(state);
                    tracing::debug!(server = %self.shared.client.address, %failure, "nobody listens");
                    self.shared.client.avoid(host);
                    // Nobody knows what was changed meanwhile.
                    self.tell(None);
                }
                Ok(None) => return,
                Err(failure) => {
                    self.shared.client.avoid(host);
                    self.lock().failure = Some(failure.to_string());
                }
            }
            let state = self.lock();
            if state.phase == Phase::Over {
                return;
            }
            drop(self.changed.wait_timeout(state, pause));
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    /// A connection on which a member tells. `None` if the store was dropped.
    fn connect(&self, host: usize) -> Tried<Option<Stream>> {
        let layout = &self.shared.layout;
        let create_request = WatchRange {
            key: layout.data(&[]),
            range_end: layout.data_end(None),
            // Tombstones are put. What is swept was removed before.
            filters: ["NODELETE"],
            progress_notify: true,
        };
        let body = encoded(&Watch { create_request })?;
        let until = Instant::now() + ATTEMPT;
        let connection = self.shared.client.stream(host, WATCH, &body, until)?;
        let mut stream = Stream { connection, host, text: Vec::new() };
        while !stream.next(until)?.created {}
        let closer = stream.connection.closer()?;
        let mut state = self.lock();
        if state.phase == Phase::Over {
            return Ok(None);
        }
        (state.phase, state.closer) = (Phase::Listening, Some(closer));
        drop(state);
        self.changed.notify_all();
        Ok(Some(stream))
    }

    /// Tells what comes, until the connection is lost.
    fn follow(&self, stream: &mut Stream) -> Failure {
        loop {
            match stream.next(Instant::now() + QUIET) {
                Ok(Events { events, .. }) => {
                    let layout = &self.shared.layout;
                    let key = |key| (layout.key_of(key).to_vec(), Vec::new());
                    let puts = events.iter().map(|event| key(&event.kv.key)).collect();
                    self.tell(Some(&Writes { puts, ..Writes::default() }));
                }
                Err(Failure::Lost(error)) if error.kind() == io::ErrorKind::TimedOut => {
                    if let Err(failure) = self.look(stream.host) {
                        return failure;
                    }
                }
                Err(failure) => return failure,
            }
        }
    }

    /// Whether a member is still part of the cluster.
    fn look(&self, host: usize) -> Tried<()> {
        let success = vec![self.shared.horizon()];
        let body = encoded(&Txn { success, ..Txn::default() })?;
        let until = Instant::now() + ATTEMPT;
        self.shared.client.ask_one::<Done>(host, TXN, &body, until).map(drop)
    }

    /// Ends the watches of what was written; `None` is everything.
    fn tell(&self, writes: Option<&Writes>) {
        let told = catch_unwind(AssertUnwindSafe(|| match writes {
            Some(writes) => self.tracker.notify(writes),
            None => self.tracker.notify_where(|_| true),
        }));
        if told.is_err() {
            tracing::warn!("a program has panicked when a watch woke it");
        }
    }
}
