//! The conformance suite with a subscriber of `tracing`: transactions with spans behave as all
//! others do.
#![cfg(all(feature = "lmdb", feature = "testsuite"))]
#![allow(clippy::unwrap_used)]

use std::sync::Once;

use permazen_kv::conformance;
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::remote::{RemoteDatabase, SimulatedServer};
use permazen_kv::testsuite::Fixture;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Listens to all of it, and keeps nothing.
struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Listener).unwrap());
}

conformance!(memory, || {
    listen();
    Fixture::new(MemoryStore::new())
});
conformance!(lmdb, || {
    listen();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let open = move || LmdbStore::open_or_create(&path).unwrap();
    Fixture::new(open()).reopening(open).keeping(dir)
});
conformance!(optimistic, || {
    listen();
    Fixture::new(OptimisticDatabase::new(MemoryStore::new()))
});
conformance!(remote, || {
    listen();
    Fixture::new(RemoteDatabase::new(SimulatedServer::checking_reads()))
});
