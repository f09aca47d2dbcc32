//! The counters of engines, and their events for `tracing`.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use crate::Counters;
use crate::store_parts::counts::{Waiting, Waits, target};

/// The counters of an [`Engine`](super::Engine): requests, waits for connections, and failovers.
/// Each of these is also an event of `tracing`, with the names that the guide lists, if a
/// subscriber wants it.
///
/// ```
/// use permazen_kv::remote::ServerCounts;
///
/// let counts = ServerCounts::default();
/// let request = counts.request("read");
/// // The answer comes.
/// request.answered(&"db://a,b/music", &"a");
/// counts.failover(&"db://a,b/music", &"a", &"b");
/// let counters = counts.counters();
/// assert_eq!((counters.requests, counters.failovers), (Some(1), Some(1)));
/// ```
#[derive(Debug, Default)]
pub struct ServerCounts {
    requests: AtomicU64,
    failovers: AtomicU64,
    waits: Waits,
}

/// A request that was sent.
#[derive(Debug, Clone, Copy)]
#[must_use = "its answer is to be told"]
pub struct Request {
    kind: &'static str,
    /// When it was sent, if a subscriber wants to know how long it takes.
    sent: Option<Instant>,
}

/// A wait for a connection that lasts as long as this exists.
#[derive(Debug)]
pub struct ConnectionWait<'w>(Waiting<'w>);

impl ServerCounts {
    /// Counts a request of this kind, which is sent now.
    pub fn request(&self, kind: &'static str) -> Request {
        self.requests.fetch_add(1, Relaxed);
        let is_told = tracing::event_enabled!(target: target::REQUEST, tracing::Level::TRACE);
        Request { kind, sent: is_told.then(Instant::now) }
    }

    /// Counts a failover: from now on the server `to` of a store answers, and no longer the server
    /// `from`.
    pub fn failover(&self, store: &dyn Display, from: &dyn Display, to: &dyn Display) {
        self.failovers.fetch_add(1, Relaxed);
        tracing::warn!(
            target: target::FAILOVER,
            store = %store,
            from = %from,
            to = %to,
            "another server answers"
        );
    }

    /// Counts that a transaction waits for a connection, until the returned value is dropped.
    pub fn wait(&self) -> ConnectionWait<'_> {
        ConnectionWait(self.waits.since(Instant::now()))
    }

    /// The counters.
    pub fn counters(&self) -> Counters {
        let of = |count: &AtomicU64| Some(count.load(Relaxed));
        let own = Counters {
            requests: of(&self.requests),
            failovers: of(&self.failovers),
            ..Counters::default()
        };
        own.or(self.waits.counters())
    }
}

impl Request {
    /// Tells that the answer to it has come, from this server of a store.
    pub fn answered(self, store: &dyn Display, host: &dyn Display) {
        self.tell(store, host, "answered");
    }

    /// Tells that no answer has come, or an error.
    pub fn failed(self, store: &dyn Display, host: &dyn Display) {
        self.tell(store, host, "failed");
    }

    fn tell(self, store: &dyn Display, host: &dyn Display, outcome: &'static str) {
        let Request { kind, sent } = self;
        let Some(sent) = sent else { return };
        // It is only told.
        let elapsed_us = u64::try_from(sent.elapsed().as_micros()).unwrap_or(u64::MAX);
        tracing::trace!(
            target: target::REQUEST,
            store = %store,
            host = %host,
            kind,
            outcome,
            elapsed_us,
            "a request"
        );
    }
}

impl ConnectionWait<'_> {
    /// The time to wait is over.
    pub fn is_in_vain(&mut self) {
        self.0.in_vain = true;
    }
}
