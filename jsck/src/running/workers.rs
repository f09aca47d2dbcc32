//! Reads one state of a store with several threads.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use permazen::__internal::schema::SchemaBundle;
use permazen::kv::{Direction, KeySpan, KvDatabase, KvRead, KvTransaction, TxOptions};

use crate::report::finding::Finding;
use crate::report::output::{Checked, Halt, Output};
use crate::running::finding_queue::{Next, Queue};
use crate::running::parts::Part;
use crate::{Progress, Result};

/// Reads one state of a store, with one thread for each view in `others`, or in the caller's thread
/// if there are none.
pub(crate) struct Readers<'r> {
    pub(crate) first: &'r dyn KvRead,
    others: Vec<Box<dyn KvRead + Send + 'r>>,
}

/// The work on a part; findings go to the output.
type Work<'w, R> = dyn Fn(&Part, &dyn KvRead, &mut Output<'_>) -> Checked<R> + Sync + 'w;

/// How many parts there are for each thread. With several, all threads end at about the same time.
const PARTS_PER_THREAD: usize = 8;
/// How often to show progress and check whether to stop.
const BEAT: Duration = Duration::from_millis(50);

impl<'r> Readers<'r> {
    /// Reads everything in the caller's thread.
    pub(crate) fn one(first: &'r dyn KvRead) -> Self {
        Readers { first, others: Vec::new() }
    }

    /// Reads what `first` reads with this many threads, if the store supports it.
    pub(crate) fn several(
        first: &'r (dyn KvTransaction + Send),
        database: &'r dyn KvDatabase,
        threads: usize,
    ) -> Result<Self> {
        let mut readers = Readers::one(first);
        if threads < 2 {
            return Ok(readers);
        }
        match first.version() {
            Some(version) => {
                for _ in 0..threads {
                    let options = TxOptions::reading();
                    let same =
                        database.begin(&options).ok().filter(|kv| kv.version() == Some(version));
                    let Some(kv) = same else {
                        // There was a commit in between, or there are too many readers: read with
                        // one thread.
                        readers.others.clear();
                        break;
                    };
                    readers.others.push(kv);
                }
            }
            None => {
                if let Ok(snapshot) = first.snapshot() {
                    readers.others.extend((0..threads).map(|_| {
                        Box::new(std::sync::Arc::clone(&snapshot)) as Box<dyn KvRead + Send>
                    }));
                }
            }
        }
        Ok(readers)
    }

    /// Into how many parts to cut a range.
    pub(crate) fn parts(&self) -> usize {
        match self.others.len() {
            0 => 1,
            threads => threads * PARTS_PER_THREAD,
        }
    }

    /// Does some work on each part and returns the results in the order of the parts. Findings are
    /// passed on in that order too.
    pub(crate) fn run<R: Send>(
        &mut self,
        parts: &[Part],
        out: &mut Output<'_>,
        work: &Work<'_, R>,
    ) -> Checked<Vec<R>> {
        if self.others.is_empty() {
            return parts.iter().map(|part| work(part, self.first, out)).collect();
        }
        let shared = Shared {
            work,
            parts,
            findings: parts.iter().map(|_| Queue::default()).collect(),
            results: parts.iter().map(|_| Mutex::new(None)).collect(),
            next: AtomicUsize::new(0),
            pairs: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            schemas: out.schemas.clone(),
        };
        let delivered = thread::scope(|scope| {
            let shared = &shared;
            for kv in &mut self.others {
                let kv = &mut **kv;
                scope.spawn(move || shared.work_off(&*kv));
            }
            let delivered = shared.deliver(out);
            if delivered.is_err() {
                shared.stop.store(true, Ordering::Relaxed);
                // Threads may wait for room in a queue: without this they would wait forever.
                shared.findings.iter().for_each(Queue::abandon);
            }
            delivered
        });
        delivered?;
        let mut results = Vec::with_capacity(parts.len());
        let mut halt = None;
        for result in shared.results {
            match result.into_inner().unwrap_or_else(PoisonError::into_inner) {
                Some(Ok(result)) => results.push(result),
                // The other parts were stopped because of this error.
                Some(Err(failed @ Halt::Failed(_))) => return Err(failed),
                Some(Err(other)) => halt = Some(other),
                None => halt = Some(Halt::Interrupted),
            }
        }
        halt.map_or(Ok(results), Err)
    }
}

/// The state that the threads share.
struct Shared<'s, R> {
    work: &'s Work<'s, R>,
    parts: &'s [Part],
    /// The findings of each part.
    findings: Vec<Queue>,
    results: Vec<Mutex<Option<Checked<R>>>>,
    /// The next part to work on.
    next: AtomicUsize,
    /// The pairs that the threads have checked.
    pairs: AtomicU64,
    reads: AtomicU64,
    stop: AtomicBool,
    schemas: Option<Arc<SchemaBundle>>,
}

impl<R> Shared<'_, R> {
    /// Works on one part after the other.
    fn work_off(&self, kv: &dyn KvRead) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let (Some(part), Some(findings), Some(result)) =
                (self.parts.get(number), self.findings.get(number), self.results.get(number))
            else {
                return;
            };
            let done = match self.stop.load(Ordering::Relaxed) {
                true => Err(Halt::Interrupted),
                false => self.work_on(part, kv, findings),
            };
            if done.is_err() {
                self.stop.store(true, Ordering::Relaxed);
            }
            *result.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
            findings.end();
        }
    }

    fn work_on(&self, part: &Part, kv: &dyn KvRead, findings: &Queue) -> Checked<R> {
        let mut counted = Progress::default();
        let mut progress = |progress: &Progress| {
            self.pairs.fetch_add(progress.pairs - counted.pairs, Ordering::Relaxed);
            self.reads.fetch_add(progress.reads - counted.reads, Ordering::Relaxed);
            counted = *progress;
        };
        let mut sink = |finding: &Finding| {
            if !findings.push(finding.clone()) {
                // The receiver has stopped.
                self.stop.store(true, Ordering::Relaxed);
            }
        };
        let mut out = Output::quiet(kv, &mut sink, &mut progress);
        out.stop = Some(&self.stop);
        out.schemas = self.schemas.clone();
        let done = (self.work)(part, kv, &mut out);
        out.show_progress();
        done
    }

    /// Passes findings on as they come, in the order of the parts.
    fn deliver(&self, out: &mut Output<'_>) -> Checked {
        let before = out.position;
        let beat = |out: &mut Output<'_>| {
            out.position.pairs = before.pairs + self.pairs.load(Ordering::Relaxed);
            out.position.reads = before.reads + self.reads.load(Ordering::Relaxed);
            out.pause()
        };
        let mut delivered: u64 = 0;
        for findings in &self.findings {
            loop {
                match findings.next(BEAT) {
                    Next::Finding(finding) => {
                        out.deliver(finding)?;
                        delivered += 1;
                        // While findings come without a pause, show the progress and check whether
                        // to stop.
                        if delivered.is_multiple_of(1024) {
                            beat(out)?;
                        }
                    }
                    Next::Nothing => beat(out)?,
                    Next::End => break,
                }
            }
        }
        beat(out)
    }
}

/// Calls `look` with the pairs of a range, until it halts.
pub(crate) fn visit(
    kv: &dyn KvRead,
    span: KeySpan<'_>,
    mut look: impl FnMut(&[u8], &[u8]) -> Checked,
) -> Checked {
    let mut result = Ok(());
    kv.visit(span, Direction::Forward, &mut |key, value| match look(key, value) {
        Ok(()) => ControlFlow::Continue(()),
        Err(halt) => {
            result = Err(halt);
            ControlFlow::Break(())
        }
    })?;
    result
}
