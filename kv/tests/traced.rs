//! The events of stores for `tracing`, and the conformance suite with a subscriber: transactions
//! with spans behave as all others do.
//!
//! Each test of this program sets the subscriber first. In a program with threads that have none,
//! `tracing` can note of a place in the code that no subscriber hears it, although one is set at
//! that moment.
#![cfg(all(feature = "lmdb", feature = "sqlite", feature = "testsuite"))]
#![allow(clippy::panic, clippy::unwrap_used)]

mod support;

use std::sync::Once;

use permazen_kv::conformance;
use permazen_kv::lmdb::LmdbStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::remote::{RemoteDatabase, SimulatedServer};
use permazen_kv::testsuite::Fixture;
use permazen_kv::{KvDatabase, KvDatabaseExt, KvRead, KvWrite, TxOptions};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::support::conflict::conflict_once;
use crate::support::each_store::stores;
use crate::support::told::{Collector, Told};

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

#[test]
fn a_closure_that_conflicts_once_is_told() {
    listen();
    for (name, store) in [
        (
            "an optimistic database",
            Box::new(OptimisticDatabase::new(MemoryStore::new())) as Box<dyn KvDatabase>,
        ),
        ("a store on a server", Box::new(RemoteDatabase::new(SimulatedServer::new()))),
    ] {
        let heard = Collector::default();
        heard.hears(|| conflict_once(&store));
        let of_store = |told: Vec<Told>| -> Vec<Told> {
            told.into_iter().filter(|told| told.field("store") == name).collect()
        };
        let spans = of_store(heard.of("permazen::transaction"));
        let modes: Vec<_> =
            spans.iter().map(|span| (span.field("mode"), span.field("failed"))).collect();
        // The first attempt, the other one within it, and the second attempt.
        assert_eq!(modes, [("write", "0"), ("write", "0"), ("write", "1")]);
        assert!(spans.iter().all(|span| span.level == "DEBUG"));
        let commits = of_store(heard.of("permazen::commit"));
        let outcomes: Vec<_> = commits.iter().map(|commit| commit.field("outcome")).collect();
        assert_eq!(outcomes, ["committed", "conflict", "committed"]);
        // The event of each commit is within the span of its transaction.
        let of = |at: usize| spans[at].span.unwrap();
        let within: Vec<_> = commits.iter().map(|told| *told.within.last().unwrap()).collect();
        assert_eq!(within, [of(1), of(0), of(2)]);
        let retries = heard.of("permazen::retry");
        let [retry] = &retries[..] else { panic!("{retries:?}") };
        assert_eq!((retry.field("failed"), retry.field("reason")), ("1", "conflict"));
        assert!(retry.field("pause_us").parse::<u64>().unwrap() >= 100);
        assert!(heard.all_spans_have_ended());
    }
}

/// No event contains keys or values, also if something fails.
#[test]
fn the_content_of_keys_and_values_is_not_told() {
    listen();
    const SECRET: &[u8] = b"secret";
    let heard = Collector::default();
    heard.hears(|| {
        let (stores, _dir) = stores();
        for (name, store, has_conflicts) in stores {
            store.write(|tx| tx.put(SECRET, SECRET)).unwrap();
            store.read(|tx| tx.get(SECRET).map(drop)).unwrap();
            let long = [SECRET, &[0; 1000]].concat();
            let _ = store.write(|tx| tx.put(&long, SECRET));
            let _ = store.write(|tx| tx.put_new(SECRET, SECRET));
            if has_conflicts {
                // One store gives up. The pauses before it does take two seconds.
                let conflicts = if name == "remote" { u32::MAX } else { 2 };
                let mut attempts = 0;
                let _ = store.write(|tx| {
                    attempts += 1;
                    tx.get(SECRET)?;
                    if attempts <= conflicts {
                        let mut other = store.begin(&TxOptions::writing())?;
                        other.put(SECRET, SECRET)?;
                        other.commit()?;
                    }
                    tx.put(SECRET, SECRET)
                });
            }
        }
    });
    let told = format!("{:?}", heard.all());
    assert!(told.contains("conflict") && told.contains("too often"));
    let hex: String = SECRET.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(!told.contains("secret") && !told.contains(&hex), "{told}");
}
