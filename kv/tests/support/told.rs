//! A subscriber of `tracing` that keeps its events.
#![allow(dead_code, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};

/// A span or an event.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    pub(crate) target: String,
    pub(crate) level: String,
    fields: BTreeMap<String, String>,
    /// The spans around it, from the outside.
    pub(crate) within: Vec<u64>,
    /// Its number, if it is a span.
    pub(crate) span: Option<u64>,
}

impl Told {
    pub(crate) fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}").trim_matches('"').to_owned();
        self.fields.insert(field.name().to_owned(), text);
    }
}

#[derive(Default)]
struct Collected {
    told: Mutex<Vec<Told>>,
    closed: Mutex<Vec<u64>>,
    within: Mutex<Vec<u64>>,
    spans: AtomicU64,
}

/// Gets all events on the threads for which it is set.
#[derive(Clone, Default)]
pub(crate) struct Collector(Arc<Collected>);

impl Collector {
    fn add(&self, metadata: &Metadata<'_>, span: Option<u64>, record: impl FnOnce(&mut Told)) {
        let mut told = Told {
            target: metadata.target().to_owned(),
            level: metadata.level().to_string(),
            within: self.0.within.lock().unwrap().clone(),
            span,
            ..Told::default()
        };
        record(&mut told);
        self.0.told.lock().unwrap().push(told);
    }

    /// Runs a function whose thread tells this collector everything.
    pub(crate) fn hears<R>(&self, body: impl FnOnce() -> R) -> R {
        // As long as there is one subscriber alone, `tracing` asks only the thread that comes to a
        // place of the code first whether that place is heard. This may be a thread of another
        // test.
        static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Collector::default()));
        LazyLock::force(&ANOTHER);
        tracing::subscriber::with_default(self.clone(), body)
    }

    pub(crate) fn of(&self, target: &str) -> Vec<Told> {
        self.all().into_iter().filter(|told| told.target == target).collect()
    }
}

impl Collector {
    /// All events so far.
    pub(crate) fn all(&self) -> Vec<Told> {
        self.0.told.lock().unwrap().clone()
    }

    /// Whether each span that has begun has ended.
    pub(crate) fn all_spans_have_ended(&self) -> bool {
        let mut closed = self.0.closed.lock().unwrap().clone();
        closed.sort_unstable();
        closed == (1..=self.0.spans.load(Ordering::Relaxed)).collect::<Vec<u64>>()
    }
}

impl Subscriber for Collector {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let span = self.0.spans.fetch_add(1, Ordering::Relaxed) + 1;
        self.add(attributes.metadata(), Some(span), |told| attributes.record(told));
        Id::from_u64(span)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.add(event.metadata(), None, |told| event.record(told));
    }

    fn enter(&self, span: &Id) {
        self.0.within.lock().unwrap().push(span.into_u64());
    }

    fn exit(&self, span: &Id) {
        assert_eq!(self.0.within.lock().unwrap().pop(), Some(span.into_u64()));
    }

    fn try_close(&self, span: Id) -> bool {
        self.0.closed.lock().unwrap().push(span.into_u64());
        true
    }
}
