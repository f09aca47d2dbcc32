//! An open database, the options of its user, and transactions.

mod counted;
pub(crate) mod in_the_way;
mod open;
mod parameters;
mod readers;
mod transactions;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use permazen::kv::KvDatabase;
use permazen::object::{Database, Transaction};
use permazen::open::OpenStore;
use permazen::schema::SchemaIndex;
use permazen_query::syntax::Literal;
use permazen_query::{Catalog, Limits};

pub(crate) use counted::{Counted, counter_of};
pub(crate) use open::warn_of;

use crate::failure::{Answer, Failure};
use crate::interrupt::Interrupt;

/// The message at the end of a dry run.
pub(crate) const ONLY_TRIED: &str = "this was only tried: nothing is changed";

/// An open database.
pub(crate) struct Session {
    store: Arc<OpenStore>,
    /// Where transactions of pairs begin.
    kv: Arc<dyn KvDatabase>,
    database: Database,
    /// The same for transactions that change something, and for the statements of `explain run`.
    counted: Counted,
    /// Ctrl-C.
    pub(crate) interrupt: Interrupt,
    /// The choices of the user.
    pub(crate) options: Options,
    /// The catalog of the last statement. It stays right until another schema is recorded.
    catalog: RefCell<Option<Catalog>>,
    /// The damage that was found when the last transaction began that met damage.
    damage: RefCell<Option<Rc<Damage>>>,
    /// Whether something was read that cannot be read again.
    read_once: Cell<bool>,
}

/// Recorded schemas that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Their numbers.
    pub(crate) schemas: Vec<SchemaIndex>,
    /// The problems, in words.
    pub(crate) problems: Vec<String>,
}

/// The choices of the user.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Whether changes are allowed.
    pub(crate) write: bool,
    /// Whether changes are made without asking.
    pub(crate) yes: bool,
    /// Whether nothing is committed.
    pub(crate) dry_run: bool,
    /// How long to wait for others.
    pub(crate) wait: Duration,
    /// The values of `$name`.
    parameters: Vec<(String, Literal)>,
    /// The schema of objects that are created: its number or its ID.
    schema: Option<String>,
}

impl Session {
    /// The key/value store.
    pub(crate) fn store(&self) -> &OpenStore {
        &self.store
    }

    /// The objects in it.
    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// The recorded schemas that the last transaction of this session could not read.
    pub(crate) fn damaged_schemas(&self) -> Vec<SchemaIndex> {
        self.damage.borrow().as_ref().map_or_else(Vec::new, |damage| damage.schemas.clone())
    }

    /// Whether the last transaction of this session has met recorded schemas that are damaged.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damage.borrow().is_some()
    }

    /// The answer with damaged schemas taken into account: it may lack something then.
    pub(crate) fn perhaps_lacking(&self, answer: Answer) -> Answer {
        answer.max(Answer::yes_if(!self.is_damaged()))
    }

    /// Remembers that something was read that can only be read once, such as a pipe.
    pub(crate) fn has_read_once(&self) {
        self.read_once.set(true);
    }

    /// Whether a script or statement that began at `begun` and has failed can be run again: other
    /// programs were in the way, there is time left, Ctrl-C has not come, and its input can be read
    /// again.
    pub(crate) fn is_run_again(&self, failure: &Failure, begun: Instant) -> bool {
        failure.is_retryable
            && begun.elapsed() < self.options.wait
            && self.interrupt.check().is_ok()
            && !self.read_once.get()
    }

    /// The limits of a statement.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.stop = Some(self.interrupt.flag());
        limits
    }

    /// The names that statements in this transaction can use.
    pub(crate) fn catalog(&self, transaction: &Transaction) -> Catalog {
        let mut known = self.catalog.borrow_mut();
        let bundle = transaction.bundle();
        match &*known {
            Some(catalog) if Arc::ptr_eq(catalog.schemas(), &bundle) => catalog.clone(),
            _ => known.insert(Catalog::new(bundle)).clone(),
        }
    }
}
