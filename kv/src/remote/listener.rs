//! Watches of keys on a store that reports the commits of others on one connection.

use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::pauses::Pauses;
use crate::contract::WatchTracker;
use crate::store_parts::lock::lock;
use crate::{KeyWatch, KvError, Result, Writes};

/// Ends a connection that another thread waits on.
pub type Closer = Box<dyn FnOnce() + Send>;

/// Why the store cannot be listened to.
pub type NoNews = Box<dyn Error + Send + Sync>;

/// The longest pauses before a store is tried again: one that could not be reached, and one that
/// has refused this program. (A wrong password stays wrong until a person changes it.)
const UNREACHABLE: Duration = Duration::from_millis(500);
const REFUSED: Duration = Duration::from_secs(60);

fn longest_pause(failure: &NoNews) -> Duration {
    match failure.downcast_ref::<KvError>() {
        Some(error) if !error.is_retryable() => REFUSED,
        _ => UNREACHABLE,
    }
}

/// A report of a store.
#[derive(Debug)]
pub enum Heard {
    /// Nothing was changed.
    Nothing,
    /// These writes were made. The values, and the pairs from before, do not matter.
    Writes(Writes),
    /// Something was changed, and it is not known what.
    Anything,
}

/// A store that reports the commits of others, which a [`WatchListener`] needs.
pub trait News: Send + Sync + 'static {
    /// A connection on which the store tells.
    type Connection;

    /// The name of the store in messages.
    fn name(&self) -> String;

    /// A connection on which the store tells of all commits from now on, and how another thread
    /// ends it.
    ///
    /// # Errors
    /// If the store cannot be reached. It is tried again, after a pause.
    fn connect(&self) -> std::result::Result<(Self::Connection, Closer), NoNews>;

    /// Waits for the next report of the store. Now and then it has to ask whether the store is
    /// still there.
    ///
    /// # Errors
    /// If the connection is lost. Then all watches end, and another connection is made.
    fn hear(&self, connection: &mut Self::Connection) -> std::result::Result<Heard, NoNews>;
}

/// The watches of a store. The first watch starts a thread that listens. The thread and the watches
/// end when this is dropped.
pub struct WatchListener<N> {
    shared: Arc<SharedListener<N>>,
    wait: Duration,
}

struct SharedListener<N> {
    news: N,
    tracker: WatchTracker,
    state: Mutex<ListenerState>,
    changed: Condvar,
}

#[derive(Default)]
struct ListenerState {
    phase: Phase,
    /// Why the store cannot be listened to.
    failure: Option<String>,
    closer: Option<Closer>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// There was no watch yet.
    #[default]
    Off,
    Connecting,
    Listening,
    Over,
}

impl<N> fmt::Debug for WatchListener<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = lock(&self.shared.state).phase;
        f.debug_struct("WatchListener").field("phase", &phase).finish_non_exhaustive()
    }
}

impl<N: News> WatchListener<N> {
    /// The watches of a store. Each new watch waits for at most `wait` until the thread listens.
    pub fn new(news: N, wait: Duration) -> Self {
        let (tracker, state) = (WatchTracker::default(), Mutex::default());
        WatchListener {
            shared: Arc::new(SharedListener { news, tracker, state, changed: Condvar::new() }),
            wait,
        }
    }

    /// Begins to watch a key. Waits until the thread listens.
    ///
    /// # Errors
    /// Retryable if the thread cannot listen in time.
    pub fn watch(&self, key: &[u8]) -> Result<KeyWatch> {
        // The watch is made before the thread is known to listen, so that every change from then on
        // ends it.
        let watch = self.shared.tracker.watch(key);
        let until = Instant::now() + self.wait;
        let mut state = lock(&self.shared.state);
        if state.phase == Phase::Off {
            let shared = Arc::clone(&self.shared);
            let listener = thread::Builder::new().name("permazen-watches".to_owned());
            listener.spawn(move || shared.listen()).map_err(|error| KvError::Store {
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
                    self.shared.news.name()
                )));
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(watch)
    }
}

impl<N> Drop for WatchListener<N> {
    fn drop(&mut self) {
        let mut state = lock(&self.shared.state);
        state.phase = Phase::Over;
        let closer = state.closer.take();
        drop(state);
        if let Some(close) = closer {
            close();
        }
        self.shared.changed.notify_all();
        self.shared.tracker.close();
    }
}

impl<N: News> SharedListener<N> {
    /// Listens until the store is dropped.
    fn listen(&self) {
        let mut pauses = Pauses::new();
        loop {
            let mut longest = UNREACHABLE;
            match self.news.connect() {
                Ok((mut connection, closer)) => {
                    if !self.begin(closer) {
                        return;
                    }
                    pauses = Pauses::new();
                    let failure = self.follow(&mut connection);
                    let mut state = lock(&self.state);
                    if state.phase == Phase::Over {
                        return;
                    }
                    state.phase = Phase::Connecting;
                    state.failure = Some(failure.to_string());
                    drop(state);
                    tracing::debug!(server = self.news.name(), %failure, "the connection for watches is lost");
                    // It is not known which keys are changed meanwhile.
                    self.tell(&Heard::Anything);
                }
                Err(failure) => {
                    longest = longest_pause(&failure);
                    lock(&self.state).failure = Some(failure.to_string());
                }
            }
            let state = lock(&self.state);
            if state.phase == Phase::Over {
                return;
            }
            drop(self.changed.wait_timeout(state, pauses.next_up_to(longest)));
        }
    }

    /// Notes that the thread listens. False if the store was dropped.
    fn begin(&self, closer: Closer) -> bool {
        let mut state = lock(&self.state);
        if state.phase == Phase::Over {
            return false;
        }
        (state.phase, state.closer) = (Phase::Listening, Some(closer));
        drop(state);
        self.changed.notify_all();
        true
    }

    /// Ends watches as the store tells of changes, until the connection is lost.
    fn follow(&self, connection: &mut N::Connection) -> NoNews {
        loop {
            match self.news.hear(connection) {
                Ok(heard) => self.tell(&heard),
                Err(failure) => return failure,
            }
        }
    }

    /// Ends the watches of the written keys.
    fn tell(&self, heard: &Heard) {
        let woken = catch_unwind(AssertUnwindSafe(|| match heard {
            Heard::Nothing => {}
            Heard::Writes(writes) => self.tracker.notify(writes),
            Heard::Anything => self.tracker.notify_where(|_| true),
        }));
        if woken.is_err() {
            tracing::warn!("a program has panicked when a watch woke it");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_refuses_is_asked_less_and_less_often() {
        let of = |failure: NoNews| {
            let mut pauses = Pauses::new();
            (0..20).map(|_| pauses.next_up_to(longest_pause(&failure))).last()
        };
        let refused = KvError::Unsupported("this password");
        assert_eq!(of(refused.into()), Some(REFUSED));
        assert_eq!(of(KvError::Retry("no server answers".to_owned()).into()), Some(UNREACHABLE));
        assert_eq!(of("lost".into()), Some(UNREACHABLE));
        // A server that was reached again, and then lost, is soon tried again.
        let mut pauses = Pauses::new();
        assert_eq!((0..20).map(|_| pauses.next_up_to(REFUSED)).last(), Some(REFUSED));
        assert_eq!(pauses.next_up_to(UNREACHABLE), UNREACHABLE);
    }
}
