//! Watches of keys: each commit notifies what it has changed, and one connection listens.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use permazen_kv::remote::WatchTracker;
use permazen_kv::{KeyWatch, KvError, Result, Writes};

use crate::connection::{Closer, Connection};
use crate::error::Failure;
use crate::pool::{FIRST_PAUSE, LONGEST_PAUSE, Pool};
use crate::sql::CLOCK;

/// If the listener hears nothing for so long, it asks whether the server is still there.
const QUIET: Duration = Duration::from_secs(10);

/// A notification has less than 8,000 bytes.
const MOST: usize = 7_900;

/// That everything may have changed.
const EVERYTHING: &str = "*";

/// The watches of a store. The first one starts to listen; it ends when this is dropped, and so do they.
pub(crate) struct Watching {
    shared: Arc<Shared>,
    wait: Duration,
}

struct Shared {
    pool: Arc<Pool>,
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
        f.debug_struct("Watching").field("phase", &self.shared.lock().phase).finish_non_exhaustive()
    }
}

impl Watching {
    /// The watches of the store that has these connections.
    pub(crate) fn new(pool: Arc<Pool>, wait: Duration) -> Self {
        let (tracker, state) = (WatchTracker::default(), Mutex::default());
        Watching {
            shared: Arc::new(Shared { pool, tracker, state, changed: Condvar::new() }),
            wait,
        }
    }

    /// Begins to watch a key. Waits until somebody listens.
    ///
    /// # Errors
    /// Retryable if nobody can listen in time.
    pub(crate) fn watch(&self, key: &[u8]) -> Result<KeyWatch> {
        // It is there before it is known that somebody listens: whatever comes after that ends it.
        let watch = self.shared.tracker.watch(key);
        let until = Instant::now() + self.wait;
        let mut state = self.shared.lock();
        if state.phase == Phase::Off {
            let shared = Arc::clone(&self.shared);
            let listener = thread::Builder::new().name("permazen-postgres-watches".to_owned());
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
                    self.shared.pool.address
                )));
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(watch)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
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

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Listens until the store is dropped.
    fn listen(&self) {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.connect() {
                Ok(Some(mut connection)) => {
                    pause = FIRST_PAUSE;
                    let failure = self.follow(&mut connection);
                    let mut state = self.lock();
                    if state.phase == Phase::Over {
                        return;
                    }
                    state.phase = Phase::Connecting;
                    state.failure = Some(failure.to_string());
                    drop(state);
                    tracing::debug!(server = %self.pool.address, %failure, "nobody listens");
                    // Nobody knows what was changed meanwhile.
                    self.tell(None);
                }
                Ok(None) => return,
                Err(error) => self.lock().failure = Some(error.to_string()),
            }
            let state = self.lock();
            if state.phase == Phase::Over {
                return;
            }
            drop(self.changed.wait_timeout(state, pause));
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    /// A connection that listens. `None` if the store was dropped.
    fn connect(&self) -> Result<Option<Connection>> {
        let mut connection = self.pool.open(Instant::now())?.connection;
        let listening =
            connection.run(self.pool.statements.listen(), &[]).and_then(|_| connection.closer());
        let closer = listening.map_err(|failure| {
            // Another host may be the one that writes.
            self.pool.forget_server();
            failure.to_kv("cannot listen to what others commit", &self.pool.path())
        })?;
        let mut state = self.lock();
        if state.phase == Phase::Over {
            return Ok(None);
        }
        (state.phase, state.closer) = (Phase::Listening, Some(closer));
        drop(state);
        self.changed.notify_all();
        Ok(Some(connection))
    }

    /// Tells what comes, until the connection is lost.
    fn follow(&self, connection: &mut Connection) -> Failure {
        loop {
            let heard = match connection.notification(QUIET) {
                Ok(None) => connection.run(CLOCK, &[]).map(|_| None),
                heard => heard,
            };
            match heard {
                Ok(None) => {}
                Ok(Some(payload)) => self.tell(parse(&payload).as_ref()),
                Err(failure) => return failure,
            }
        }
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

/// What was changed, in words that fit into a notification: `=6b` is the key `k`, `61-63` a range of keys, `61-` one
/// without an end. More than fits is `*`.
pub(crate) fn describe(writes: &Writes) -> String {
    let mut text = String::new();
    let spans = writes.removes.iter().map(|span| match span.max {
        _ if span.is_single_key() => format!("={}", hex(span.min)),
        Some(max) => format!("{}-{}", hex(span.min), hex(max)),
        None => format!("{}-", hex(span.min)),
    });
    let puts = writes.puts.keys().map(|key| format!("={}", hex(key)));
    for change in spans.chain(puts) {
        if text.len() + 1 + change.len() > MOST {
            return EVERYTHING.to_owned();
        }
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&change);
    }
    text
}

/// What a notification says was changed; the values are not known. `None` is everything.
fn parse(text: &str) -> Option<Writes> {
    let mut writes = Writes::default();
    for change in text.split(',') {
        if let Some(key) = change.strip_prefix('=') {
            writes.puts.insert(bytes(key)?, Vec::new());
            continue;
        }
        let (min, max) = change.split_once('-')?;
        let (min, max) = (bytes(min)?, if max.is_empty() { None } else { Some(bytes(max)?) });
        writes.removes.add(permazen_kv::KeySpan::new(&min, max.as_deref()));
    }
    Some(writes)
}

fn hex(bytes: &[u8]) -> String {
    permazen_kv::Hex(bytes).to_string()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = hex.as_bytes().chunks(2);
    let byte = |pair: &[u8]| match *pair {
        [high, low] => Some((digit(high)? * 16 + digit(low)?) as u8),
        _ => None,
    };
    pairs.map(byte).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use permazen_kv::KeySpan;

    fn put(keys: &[&[u8]]) -> Writes {
        let puts = keys.iter().map(|key| (key.to_vec(), b"value".to_vec())).collect();
        Writes { puts, ..Writes::default() }
    }

    #[test]
    fn what_was_changed_is_told_in_words() {
        let mut writes = put(&[b"", b"k", &[0, 0xff]]);
        writes.removes.add(KeySpan::new(b"a", Some(b"c")));
        writes.removes.add(KeySpan::new(b"d", Some(b"d\0")));
        writes.removes.add(KeySpan::new(b"x", None));
        let text = describe(&writes);
        assert_eq!(text, "61-63,=64,78-,=,=00ff,=6b");
        let told = parse(&text).unwrap();
        for key in [&b""[..], b"k", &[0, 0xff], b"a", b"bbb", b"d", b"x", b"zz"] {
            assert!(told.touches(key), "{key:?}");
        }
        for key in [&[0][..], b"c", b"d\0", b"k\0", b"w"] {
            assert!(!told.touches(key), "{key:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_everything() {
        let long = vec![7; 2_600];
        assert!(parse(&describe(&put(&[&long]))).unwrap().touches(&long));
        for many in [put(&[&long, &[8; 2_600]]), put(&[&[1; 4_000]])] {
            let text = describe(&many);
            assert!(text.len() < 8_000 && parse(&text).is_none(), "{text}");
        }
        let mut writes = put(&[]);
        writes.removes.add(KeySpan::new(&[1; 4_000], None));
        assert!(parse(&describe(&writes)).is_none());
        // So is what nobody understands.
        for text in ["", "6b", "=6", "=zz", "61-6", "61-63,"] {
            assert!(parse(text).is_none(), "{text}");
        }
    }
}
