//! Watches of keys on a store that tells on one connection what others commit.

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

/// Why nobody listens.
pub type NoNews = Box<dyn Error + Send + Sync>;

/// The longest pauses before a store is tried again that could not be reached, and one that has refused this program:
/// a password stays wrong until somebody mends it.
const UNREACHABLE: Duration = Duration::from_millis(500);
const REFUSED: Duration = Duration::from_secs(60);

fn longest_pause(failure: &NoNews) -> Duration {
    match failure.downcast_ref::<KvError>() {
        Some(error) if !error.is_retryable() => REFUSED,
        _ => UNREACHABLE,
    }
}

/// What a store tells.
#[derive(Debug)]
pub enum Heard {
    /// Nothing was changed.
    Nothing,
    /// These writes were made. Values and what was there before do not matter.
    Writes(Writes),
    /// Something was changed, and nobody knows what.
    Anything,
}

/// A store that tells what others commit: what a [`WatchListener`] needs.
pub trait News: Send + Sync + 'static {
    /// A connection on which the store tells.
    type Connection;

    /// What messages call the store.
    fn name(&self) -> String;

    /// A connection on which the store tells of all commits from now on, and how another thread ends it.
    ///
    /// # Errors
    /// If the store cannot be reached. It is tried again, after a pause.
    fn connect(&self) -> std::result::Result<(Self::Connection, Closer), NoNews>;

    /// Waits for what the store tells next. Now and then it has to ask whether the store is still there.
    ///
    /// # Errors
    /// If the connection is lost. Then all watches end, and another connection is made.
    fn hear(&self, connection: &mut Self::Connection) -> std::result::Result<Heard, NoNews>;
}

/// The watches of a store. The first one starts a thread that listens; it ends when this is dropped, and so do they.
pub struct WatchListener<N> {
    shared: Arc<Shared<N>>,
    wait: Duration,
}

struct Shared<N> {
    news: N,
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

impl<N> fmt::Debug for WatchListener<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = lock(&self.shared.state).phase;
        f.debug_struct("WatchListener").field("phase", &phase).finish_non_exhaustive()
    }
}

impl<N: News> WatchListener<N> {
    /// The watches of a store. Each waits at most so long until somebody listens.
    pub fn new(news: N, wait: Duration) -> Self {
        let (tracker, state) = (WatchTracker::default(), Mutex::default());
        WatchListener {
            shared: Arc::new(Shared { news, tracker, state, changed: Condvar::new() }),
            wait,
        }
    }

    /// Begins to watch a key. Waits until somebody listens.
    ///
    /// # Errors
    /// Retryable if nobody can listen in time.
    pub fn watch(&self, key: &[u8]) -> Result<KeyWatch> {
        // It is there before it is known that somebody listens: whatever comes after that ends it.
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

impl<N: News> Shared<N> {
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
                    tracing::debug!(server = self.news.name(), %failure, "nobody listens");
                    // Nobody knows what was changed meanwhile.
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

    /// Says that somebody listens. False if the store was dropped.
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

    /// Tells what comes, until the connection is lost.
    fn follow(&self, connection: &mut N::Connection) -> NoNews {
        loop {
            match self.news.hear(connection) {
                Ok(heard) => self.tell(&heard),
                Err(failure) => return failure,
            }
        }
    }

    /// Ends the watches of what was written.
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
        assert_eq!(of(KvError::Retry("nobody answers".to_owned()).into()), Some(UNREACHABLE));
        assert_eq!(of("lost".into()), Some(UNREACHABLE));
        // Who is reached again, and lost, is soon tried again.
        let mut pauses = Pauses::new();
        assert_eq!((0..20).map(|_| pauses.next_up_to(REFUSED)).last(), Some(REFUSED));
        assert_eq!(pauses.next_up_to(UNREACHABLE), UNREACHABLE);
    }
}
