//! The methods that wrappers pass on: a method that a wrapper forgets has the body of the trait,
//! which gives the same answers and can be much slower, or show less.

use std::collections::BTreeSet;
use std::mem::take;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use permazen_kv::counting::CountingStore;
use permazen_kv::fault::FaultStore;
use permazen_kv::memory::MemoryStore;
use permazen_kv::optimistic::OptimisticDatabase;
use permazen_kv::prefix::Prefixed;
use permazen_kv::read_only::ReadOnly;
use permazen_kv::{
    Blob, Conflict, Direction, KeyRanges, KeySpan, KeyWatch, KvDatabase, KvRead, KvTransaction,
    KvWrite, Near, Pair, Pending, Result, Scan, SharedRead, TxOptions, Verdict, Visitor, Writes,
};

/// The methods of transactions that were called, in order.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<&'static str>>>);

impl Calls {
    fn note(&self, method: &'static str) {
        self.0.lock().unwrap().push(method);
    }
}

/// A store that notes the methods of its transactions that are called.
struct Noting {
    store: OptimisticDatabase<MemoryStore>,
    calls: Calls,
}

impl KvDatabase for Noting {
    fn begin(&self, options: &TxOptions) -> Result<Box<dyn KvTransaction + Send>> {
        Ok(Box::new(Noted { tx: self.store.begin(options)?, calls: self.calls.clone() }))
    }
}

struct Noted {
    tx: Box<dyn KvTransaction + Send>,
    calls: Calls,
}

impl KvRead for Noted {
    fn get(&self, key: &[u8]) -> Result<Option<Blob<'_>>> {
        self.calls.note("get");
        self.tx.get(key)
    }

    fn get_near(&self, key: &[u8], near: &[u8]) -> Result<Option<Near<'_>>> {
        self.calls.note("get_near");
        self.tx.get_near(key, near)
    }

    fn scan<'a>(&'a self, span: KeySpan<'_>, direction: Direction) -> Result<Scan<'a>> {
        self.calls.note("scan");
        self.tx.scan(span, direction)
    }

    fn visit(
        &self,
        span: KeySpan<'_>,
        direction: Direction,
        visitor: &mut Visitor<'_>,
    ) -> Result<()> {
        self.calls.note("visit");
        self.tx.visit(span, direction, visitor)
    }

    fn at_least(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.calls.note("at_least");
        self.tx.at_least(min, max)
    }

    fn at_most(&self, min: &[u8], max: Option<&[u8]>) -> Result<Option<Pair<'_>>> {
        self.calls.note("at_most");
        self.tx.at_most(min, max)
    }

    fn content_name(&self) -> Option<[u8; 48]> {
        self.calls.note("content_name");
        self.tx.content_name()
    }

    fn first_difference(&self, now: &dyn KvRead, reads: &KeyRanges) -> Result<Option<Conflict>> {
        self.calls.note("first_difference");
        self.tx.first_difference(now, reads)
    }

    fn prefetch(&self, spans: &[KeySpan<'_>]) -> bool {
        self.calls.note("prefetch");
        self.tx.prefetch(spans)
    }

    fn max_key_len(&self) -> usize {
        self.calls.note("max_key_len");
        self.tx.max_key_len()
    }

    fn encode_counter(&self, count: i64) -> [u8; 8] {
        self.calls.note("encode_counter");
        self.tx.encode_counter(count)
    }

    fn decode_counter(&self, value: &[u8]) -> Result<i64> {
        self.calls.note("decode_counter");
        self.tx.decode_counter(value)
    }
}

impl KvWrite for Noted {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.calls.note("put");
        self.tx.put(key, value)
    }

    fn get_to_put(&mut self, key: &[u8], near: &[u8]) -> Result<Option<Near<'_>>> {
        self.calls.note("get_to_put");
        self.tx.get_to_put(key, near)
    }

    fn put_new(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.calls.note("put_new");
        self.tx.put_new(key, value)
    }

    fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.calls.note("put_if_absent");
        self.tx.put_if_absent(key, value)
    }

    fn get_or_put(&mut self, key: &[u8], value: &[u8]) -> Result<Option<Vec<u8>>> {
        self.calls.note("get_or_put");
        self.tx.get_or_put(key, value)
    }

    fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.calls.note("append");
        self.tx.append(key, value)
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.calls.note("remove");
        self.tx.remove(key)
    }

    fn remove_span(&mut self, span: KeySpan<'_>) -> Result<()> {
        self.calls.note("remove_span");
        self.tx.remove_span(span)
    }

    fn remove_where(
        &mut self,
        span: KeySpan<'_>,
        judge: &mut dyn FnMut(&[u8], &[u8]) -> Verdict,
    ) -> Result<()> {
        self.calls.note("remove_where");
        self.tx.remove_where(span, judge)
    }

    fn adjust_counter(&mut self, key: &[u8], by: i64) -> Result<()> {
        self.calls.note("adjust_counter");
        self.tx.adjust_counter(key, by)
    }

    fn apply(&mut self, writes: &Writes) -> Result<()> {
        self.calls.note("apply");
        self.tx.apply(writes)
    }
}

impl KvTransaction for Noted {
    fn is_read_only(&self) -> bool {
        self.calls.note("is_read_only");
        self.tx.is_read_only()
    }

    fn set_read_only(&mut self) -> Result<()> {
        self.calls.note("set_read_only");
        self.tx.set_read_only()
    }

    fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<()> {
        self.calls.note("set_timeout");
        self.tx.set_timeout(timeout)
    }

    fn snapshot(&self) -> Result<SharedRead> {
        self.calls.note("snapshot");
        self.tx.snapshot()
    }

    fn version(&self) -> Option<u64> {
        self.calls.note("version");
        self.tx.version()
    }

    fn watch(&mut self, key: &[u8]) -> Result<KeyWatch> {
        self.calls.note("watch");
        self.tx.watch(key)
    }

    fn untracked(&self) -> Option<&dyn KvRead> {
        self.calls.note("untracked");
        self.tx.untracked()
    }

    fn pending(&self) -> Option<Pending<'_>> {
        self.calls.note("pending");
        self.tx.pending()
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.calls.note("commit");
        self.tx.commit()
    }

    fn rollback(self: Box<Self>) {
        self.calls.note("rollback");
        self.tx.rollback();
    }
}

type Act = fn(&mut dyn KvTransaction);

/// Every method that does not end the transaction.
const ACTS: &[(&str, Act)] = &[
    ("get", |tx| drop(tx.get(b"k"))),
    ("get_near", |tx| drop(tx.get_near(b"k", b"l"))),
    ("scan", |tx| drop(tx.scan(KeySpan::FULL, Direction::Forward))),
    ("visit", |tx| {
        tx.visit(KeySpan::FULL, Direction::Reverse, &mut |_, _| ControlFlow::Break(())).unwrap();
    }),
    ("at_least", |tx| drop(tx.at_least(b"", None))),
    ("at_most", |tx| drop(tx.at_most(b"", None))),
    ("content_name", |tx| {
        let _ = tx.content_name();
    }),
    ("first_difference", |tx| {
        let nothing = MemoryStore::new().snapshot();
        drop(tx.first_difference(&nothing, &KeyRanges::new()));
    }),
    ("prefetch", |tx| {
        let _ = tx.prefetch(&[KeySpan::FULL]);
    }),
    ("max_key_len", |tx| {
        let _ = tx.max_key_len();
    }),
    ("encode_counter", |tx| {
        let _ = tx.encode_counter(1);
    }),
    ("decode_counter", |tx| drop(tx.decode_counter(&[0; 8]))),
    ("get_to_put", |tx| drop(tx.get_to_put(b"k", b"l"))),
    ("put", |tx| drop(tx.put(b"k", b""))),
    ("put_new", |tx| drop(tx.put_new(b"k", b""))),
    ("put_if_absent", |tx| drop(tx.put_if_absent(b"k", b""))),
    ("get_or_put", |tx| drop(tx.get_or_put(b"k", b""))),
    ("append", |tx| drop(tx.append(b"k", b""))),
    ("remove", |tx| drop(tx.remove(b"k"))),
    ("remove_span", |tx| drop(tx.remove_span(KeySpan::FULL))),
    ("remove_where", |tx| drop(tx.remove_where(KeySpan::FULL, &mut |_, _| Verdict::Remove))),
    ("adjust_counter", |tx| drop(tx.adjust_counter(b"k", 1))),
    ("apply", |tx| drop(tx.apply(&Writes::default()))),
    ("is_read_only", |tx| {
        let _ = tx.is_read_only();
    }),
    ("set_read_only", |tx| drop(tx.set_read_only())),
    ("set_timeout", |tx| drop(tx.set_timeout(None))),
    ("snapshot", |tx| drop(tx.snapshot())),
    ("version", |tx| {
        let _ = tx.version();
    }),
    ("watch", |tx| drop(tx.watch(b"k"))),
    ("untracked", |tx| drop(tx.untracked().map(|kv| kv.get(b"k").map(drop)))),
    ("pending", |tx| drop(tx.pending())),
];

/// The observer of these two sees the scans, gets and puts of which other methods are made. The
/// name and the differences of a content spare a caller the reads.
const OBSERVED: &[&str] = &[
    "visit",
    "content_name",
    "first_difference",
    "get_to_put",
    "get_or_put",
    "remove_where",
    "apply",
];

/// A store that may only be read answers reads for a put with its ordinary reads.
const REFUSED: &[&str] = &[
    "get_to_put",
    "put",
    "put_new",
    "put_if_absent",
    "get_or_put",
    "append",
    "remove",
    "remove_span",
    "remove_where",
    "adjust_counter",
    "apply",
    "is_read_only",
    "set_read_only",
];

#[test]
fn wrappers_pass_on_every_method() {
    let noting =
        Noting { store: OptimisticDatabase::new(MemoryStore::new()), calls: Calls::default() };
    let (counting, fault) = (CountingStore::new(&noting), FaultStore::new(&noting));
    let writing = TxOptions::writing();
    let begin = || noting.begin(&writing).unwrap();
    type Tx = Box<dyn KvTransaction + Send>;
    type Wrap<'w> = Box<dyn Fn() -> Tx + 'w>;
    let wrappers: [(&str, Wrap<'_>, &[&str]); 5] = [
        ("Box", Box::new(|| Box::new(begin())), &[]),
        // Facts about the whole content, or about all of its keys, do not hold for the part.
        (
            "Prefixed",
            Box::new(|| Box::new(Prefixed::new(begin(), b"p"))),
            &["content_name", "first_difference", "apply", "pending"],
        ),
        ("ReadOnly", Box::new(|| Box::new(ReadOnly(begin()))), REFUSED),
        ("CountingStore", Box::new(|| counting.begin(&writing).unwrap()), OBSERVED),
        ("FaultStore", Box::new(|| fault.begin(&writing).unwrap()), OBSERVED),
    ];
    let called = || take(&mut *noting.calls.0.lock().unwrap());
    for (wrapper, wrap, others) in &wrappers {
        for (method, act) in ACTS {
            let mut tx = wrap();
            called();
            act(&mut *tx);
            let passed_on = called().contains(method);
            assert_eq!(passed_on, !others.contains(method), "{method} of {wrapper}");
        }
        called();
        wrap().commit().unwrap();
        assert!(called().contains(&"commit"), "{wrapper}");
        wrap().rollback();
        // Dropping is a rollback.
        assert!(!called().contains(&"commit"), "{wrapper}");
    }
    for pointer in [&mut &mut begin() as &mut dyn KvWrite, &mut Box::new(begin())] {
        called();
        pointer.remove_where(KeySpan::FULL, &mut |_, _| Verdict::Keep).unwrap();
        pointer.get_or_put(b"k", b"").unwrap();
        assert_eq!(called(), ["remove_where", "get_or_put"]);
    }
}

/// A method that is added to a trait must be added here too.
#[test]
fn every_method_of_the_traits_is_tested() {
    let source = concat!(
        include_str!("../../src/contract/pairs.rs"),
        include_str!("../../src/contract/store.rs")
    );
    let mut known: BTreeSet<&str> = ACTS.iter().map(|(method, _)| *method).collect();
    known.extend(["commit", "rollback"]);
    let mut found = BTreeSet::new();
    for kind in ["KvRead {", "KvWrite: KvRead {", "KvTransaction: KvWrite {"] {
        let (_, rest) = source.split_once(&format!("pub trait {kind}")).unwrap();
        let (body, _) = rest.split_once("\n}\n").unwrap();
        let methods = body.lines().filter_map(|line| line.strip_prefix("    fn "));
        found.extend(methods.map(|line| line.split(['(', '<']).next().unwrap()));
    }
    assert_eq!(found, known);
    // A transaction with a span, which only the stores make.
    let traced = include_str!("../../src/store_parts/traced.rs");
    let words = ["max_key_len", "encode_counter", "decode_counter", "prefetch", "content_name"];
    for method in known {
        let passed_on = traced.contains(&format!("fn {method}"))
            || traced.contains(&format!(" {method},"))
            || traced.contains(&format!(" {method}\n"))
            || traced.contains(&format!(" {method})"))
            || words.contains(&method)
            || method == "first_difference";
        assert!(passed_on, "{method}");
    }
    assert!(traced.contains("self.tx; LIMITS, CONTENT"));
}
