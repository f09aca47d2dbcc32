//! Observers: closures that are called like hooks, in one transaction or in all of a database.

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::along::LeadsTo;
use super::call::hook;
use super::change::Change;
use super::committed::{AfterCommit, Committed, Tell, ToldOfCommits};
use super::compile::{itself, watch, watch_along, watchable};
use super::route::{Route, WatchedAt};
use super::subject::Subject;
use super::told::Told;
use super::watched::Watched;
use crate::id::{ObjId, StorageId};
use crate::model::binding::{Binding, Bindings, Models};
use crate::model::error::Result;
use crate::model::object_type::Model;
use crate::model::path::{Path, Plurality};
use crate::model::reference::Ref;
use crate::model::target::Target;
use crate::model::tx::Tx;
use crate::object::{self, Happened, Hook, ListenerSet};
use crate::schema::SchemaBundle;

/// Events that can be observed: the changes of a field (`Person::AGE`), or [`creations`],
/// [`deletions`] and [`changes`] of a model, mix-in or kind.
pub trait Observed: Clone + Send + Sync + 'static {
    /// The model, mix-in or kind whose objects are observed.
    type Model: Subject;

    /// The data that an observer gets beside the object.
    type Event<'a>;

    /// Registers a hook for this.
    #[doc(hidden)]
    fn register(self, to: &mut Listeners<'_>) -> Result<()>;

    /// The data that an observer gets.
    #[doc(hidden)]
    fn event<'a>(told: &Told<'a>) -> Result<Self::Event<'a>>;
}

/// Where an observer is registered.
pub struct Listeners<'a> {
    set: &'a mut ListenerSet,
    models: &'a Models,
    bundle: &'a SchemaBundle,
    /// The models whose objects are observed, and where in them the fields begin whose positions
    /// are given.
    places: Vec<(&'a Binding, usize)>,
    hook: Hook,
}

impl fmt::Debug for Listeners<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Listeners").field(&self.hook).finish()
    }
}

impl Listeners<'_> {
    fn along(&mut self, route: &Route, fields: &[WatchedAt]) -> Result<()> {
        let listener = object::changed(Arc::clone(&self.hook));
        watch_along(self.set, (self.models, self.bundle), route, fields, &listener)
    }

    /// After changes of the field at a position; of all fields, if it is `None`.
    fn field(&mut self, position: Option<usize>) -> Result<()> {
        let listener = object::changed(Arc::clone(&self.hook));
        for (binding, start) in &self.places {
            let positions = position.map_or_else(|| watchable(binding), |it| vec![start + it]);
            watch(self.set, self.bundle, binding, &positions, &listener)?;
        }
        Ok(())
    }
}

impl<W: Watched> Observed for W {
    type Model = W::Model;
    type Event<'a> = W::Change<'a>;

    fn register(self, to: &mut Listeners<'_>) -> Result<()> {
        to.field(Some(Watched::position(self)))
    }

    fn event<'a>(told: &Told<'a>) -> Result<W::Change<'a>> {
        Ok(W::told(told.tx, told.field_change()?))
    }
}

macro_rules! events_of_models {
    ($($(#[$doc:meta])* $name:ident from $(#[$function_doc:meta])* $function:ident;)*) => {$(
        $(#[$doc])*
        pub struct $name<M>(PhantomData<fn() -> M>);

        $(#[$function_doc])*
        pub const fn $function<M: Subject>() -> $name<M> {
            $name(PhantomData)
        }

        impl<M> Clone for $name<M> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<M> Copy for $name<M> {}

        impl<M: Subject> fmt::Debug for $name<M> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), M::AMONG.name())
            }
        }
    )*};
}

events_of_models! {
    /// The creation of objects of `M`, for [`Tx::observe`].
    Creation from
    /// The creation of objects of a model, of a kind, or of any model with a mix-in. The observer
    /// is called when the object has default values; its other values follow as changes.
    creations;
    /// The deletion of objects of `M`, for [`Tx::observe`].
    Deletion from
    /// The deletion of objects of a model, of a kind, or of any model with a mix-in. The observer
    /// is called before the deletion, while the object can be read.
    deletions;
    /// Changes of objects of `M`, for [`Tx::observe`].
    AnyChange from
    /// Changes of any field of the objects of a model, of a kind, or of any model with a mix-in,
    /// except counters.
    changes;
}

impl<M: Subject> Observed for Creation<M> {
    type Model = M;
    type Event<'a> = ();

    fn register(self, to: &mut Listeners<'_>) -> Result<()> {
        let listener = object::created(Arc::clone(&to.hook));
        for (binding, _) in &to.places {
            to.set.on_create(binding.storage_id(), Arc::clone(&listener))?;
        }
        Ok(())
    }

    fn event(_: &Told<'_>) -> Result<()> {
        Ok(())
    }
}

impl<M: Subject> Observed for Deletion<M> {
    type Model = M;
    type Event<'a> = ();

    fn register(self, to: &mut Listeners<'_>) -> Result<()> {
        let listener = object::deleting(Arc::clone(&to.hook));
        for (binding, _) in &to.places {
            to.set.on_delete(itself(binding)?, Arc::clone(&listener))?;
        }
        Ok(())
    }

    fn event(_: &Told<'_>) -> Result<()> {
        Ok(())
    }
}

impl<M: Subject> Observed for AnyChange<M> {
    type Model = M;
    type Event<'a> = Change<'a, M>;

    fn register(self, to: &mut Listeners<'_>) -> Result<()> {
        to.field(None)
    }

    fn event<'a>(told: &Told<'a>) -> Result<Change<'a, M>> {
        told.change()
    }
}

/// Events of the objects to which a path leads; see [`along`].
#[derive(Debug)]
pub struct Along<A, B, N, O> {
    path: Path<A, B, N>,
    on: O,
}

impl<A, B, N, O: Clone> Clone for Along<A, B, N, O> {
    fn clone(&self) -> Self {
        Along { path: self.path.clone(), on: self.on.clone() }
    }
}

/// Events of the objects to which a path leads, for [`Tx::observe`]: the observer gets each object
/// from which the path leads there at that time. `on` is a field constant or [`changes`] of the
/// model at the end of the path.
///
/// ```
/// # use permazen::{PermazenObject, Permazen, Ref, kv::memory::MemoryStore};
/// use permazen::model::{Path, along};
///
/// #[derive(PermazenObject, Default)]
/// struct Account { balance: i64 }
///
/// #[derive(PermazenObject, Default)]
/// struct Person { account: Option<Ref<Account>>, told: i64 }
///
/// # let db = Permazen::builder(MemoryStore::new()).model::<Account>().model::<Person>().build()?;
/// let accounts = Path::of::<Person>().to(Person::ACCOUNT);
/// db.observe(along(&accounts, Account::BALANCE), |person, balance| {
///     person.set_told(balance.new()?)
/// })?;
/// db.write(|tx| {
///     let account = tx.create(Account { balance: 5 })?;
///     let ann = tx.create(Person { account: Some(account.to_ref()), told: 0 })?;
///     account.set_balance(7)?;
///     assert_eq!(ann.told()?, 7);
///     Ok(())
/// })?;
/// # Ok::<(), permazen::Error>(())
/// ```
///
/// Cost: after each change, the path is followed back, with one get for each object on the way, or
/// one seek and a step per object.
pub fn along<A: Model, B: Target, N: Plurality, O: Observed>(
    path: &Path<A, B, N>,
    on: O,
) -> Along<A, B, N, O>
where
    Path<A, B, N>: LeadsTo<O::Model>,
{
    Along { path: path.clone(), on }
}

impl<A: Model, B: Target, N: Plurality, W: Watched> Observed for Along<A, B, N, W> {
    type Model = A;
    type Event<'a> = W::Change<'a>;

    fn register(self, to: &mut Listeners<'_>) -> Result<()> {
        to.along(&Route::of(&self.path), &[WatchedAt::of(self.on)])
    }

    fn event<'a>(told: &Told<'a>) -> Result<W::Change<'a>> {
        Ok(W::told(told.tx, told.field_change()?))
    }
}

impl<A: Model, M: Target + Subject, N: Plurality> Observed for Along<A, M, N, AnyChange<M>> {
    type Model = A;
    type Event<'a> = Change<'a, M>;

    fn register(self, to: &mut Listeners<'_>) -> Result<()> {
        to.along(&Route::of(&self.path), &[])
    }

    fn event<'a>(told: &Told<'a>) -> Result<Change<'a, M>> {
        told.change()
    }
}

/// The name of an observer of a database; see [`Permazen::observe`](crate::Permazen::observe).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObserverId(u64);

/// Adds an observer to listeners.
type Register = dyn Fn(&Bindings, &mut ListenerSet) -> Result<()> + Send + Sync;

fn register_fn<O: Observed>(
    on: O,
    observer: impl for<'a> Fn(<O::Model as Subject>::This<'a>, &O::Event<'a>) -> Result<()>
    + Send
    + Sync
    + 'static,
) -> Box<Register> {
    let name = format!("observer of {}", O::Model::AMONG.name());
    let run = move |told: &Told<'_>| Ok(observer(told.this::<O::Model>()?, &O::event(told)?)?);
    let hook = hook(name, Box::new(run));
    Box::new(move |bindings, set| {
        // The places are found for each set of bindings, since types can get other storage IDs.
        let places = O::Model::AMONG.places(bindings.models())?;
        on.clone().register(&mut Listeners {
            set,
            models: bindings.models(),
            bundle: bindings.bundle(),
            places,
            hook: Arc::clone(&hook),
        })
    })
}

/// Notes the changes of objects of a model, for observers of commits. Creations and deletions are
/// noted where they are written, because other hooks may act before this one is called.
fn noting<M: Subject>() -> Box<Register> {
    let run = |told: &Told<'_>| {
        told.tx.core.note_happened(told.observer, Happened::Changed);
        Ok(())
    };
    let hook = hook(format!("observer of commits of {}", M::AMONG.name()), Box::new(run));
    Box::new(move |bindings, set| {
        let places = M::AMONG.places(bindings.models())?;
        let mut to = Listeners {
            set,
            models: bindings.models(),
            bundle: bindings.bundle(),
            places,
            hook: Arc::clone(&hook),
        };
        changes::<M>().register(&mut to)
    })
}

fn next_id() -> ObserverId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    ObserverId(NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Tx {
    /// Calls `observer` for what happens from now on until the end of this transaction, as if it
    /// were a hook: after the hooks of the models and the observers that were added before. If it
    /// fails, the operation that caused its call is undone. An observer that is added in an
    /// operation that is undone is removed with it.
    ///
    /// ```
    /// # use permazen::{PermazenObject, Permazen, kv::memory::MemoryStore};
    /// use permazen::model::deletions;
    /// # #[derive(PermazenObject, Default)]
    /// # struct Person { age: i32 }
    /// # let db = Permazen::builder(MemoryStore::new()).model::<Person>().build()?;
    /// db.write(|tx| {
    ///     tx.observe(Person::AGE, |person, change| {
    ///         println!("{person:?}: {} -> {}", change.old()?, change.new()?);
    ///         Ok(())
    ///     })?;
    ///     tx.observe(deletions::<Person>(), |person, _| {
    ///         println!("{person:?} goes, at {} years", person.age()?);
    ///         Ok(())
    ///     })?;
    ///     let ann = tx.create(Person { age: 30 })?;
    ///     ann.set_age(31)?;
    ///     ann.delete().map(drop)
    /// })?;
    /// # Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// Cost: time proportional to the number of all hooks. Each call costs what a hook costs.
    ///
    /// # Errors
    /// [`Error::NotRegistered`](crate::Error::NotRegistered); if the transaction has ended.
    pub fn observe<O: Observed>(
        &self,
        on: O,
        observer: impl for<'a> Fn(<O::Model as Subject>::This<'a>, &O::Event<'a>) -> Result<()>
        + Send
        + Sync
        + 'static,
    ) -> Result<()> {
        let register = register_fn(on, observer);
        let bindings = self.bindings()?;
        let mut registered = Ok(());
        self.core.change_hooks(|set| {
            // A copy, because the registration may fail after a part of it is done.
            let mut with_observer = set.clone();
            registered = register(bindings, &mut with_observer);
            // An observer that cannot be registered everywhere is registered nowhere.
            if registered.is_ok() {
                *set = with_observer;
            }
            Ok(())
        })?;
        registered
    }
}

/// The observers of a database.
#[derive(Default)]
pub(crate) struct Observers {
    state: Mutex<ObserversState>,
    /// Whether there are any. Most programs have none, and then threads do not wait for each other
    /// here.
    any: AtomicBool,
}

#[derive(Default)]
struct ObserversState {
    observers: Vec<(ObserverId, Box<Register>)>,
    committed: Vec<(ObserverId, CommittedObserver)>,
    /// The hooks of the models and the observers, as far as they were asked for.
    together: Option<(Arc<Bindings>, Together)>,
}

/// The listeners of a transaction, and the observers that are called after its commit.
#[derive(Clone)]
struct Together {
    listeners: Arc<ListenerSet>,
    told: Arc<[ToldOfCommits]>,
}

impl Observers {
    pub(crate) fn add<O: Observed>(
        &self,
        on: O,
        observer: impl for<'a> Fn(<O::Model as Subject>::This<'a>, &O::Event<'a>) -> Result<()>
        + Send
        + Sync
        + 'static,
        bindings: &Bindings,
    ) -> Result<ObserverId> {
        let register = register_fn(on, observer);
        // Refuses here an observer that would make each later transaction fail.
        register(bindings, &mut ListenerSet::clone(bindings.hooks()))?;
        Ok(self.add_to(&mut self.state(), register))
    }

    fn add_to(&self, state: &mut ObserversState, register: Box<Register>) -> ObserverId {
        let id = next_id();
        state.observers.push((id, register));
        // The sets that were made lack the observer.
        state.together = None;
        self.any.store(true, Ordering::Release);
        id
    }

    pub(crate) fn add_committed<M: Subject>(
        &self,
        observer: impl Fn(Ref<M>, Committed) + Send + Sync + 'static,
    ) -> ObserverId {
        let observer = CommittedObserver::new::<M>(move |id, done| observer(Ref::new(id), done));
        let mut state = self.state();
        // The changes are noted by a hook of their own, and told after the commit.
        let id = self.add_to(&mut state, noting::<M>());
        state.committed.push((id, observer));
        id
    }

    pub(crate) fn remove(&self, id: ObserverId) -> bool {
        let mut state = self.state();
        let before = state.observers.len();
        let removed: Vec<_> = state.observers.extract_if(.., |(other, _)| *other == id).collect();
        let told: Vec<_> = state.committed.extract_if(.., |(other, _)| *other == id).collect();
        state.together = None;
        let found = state.observers.len() < before;
        self.any.store(!state.observers.is_empty(), Ordering::Release);
        // Dropped without the lock, because the destructor of an observer may use the database.
        drop(state);
        drop((removed, told));
        found
    }

    /// Lets a transaction call the hooks of the models, and the observers after them, and tell the
    /// observers of commits.
    pub(crate) fn begin(&self, tx: &object::Transaction, bindings: &Arc<Bindings>) -> Result<()> {
        // Most programs have no observers, and then the lock is not taken.
        if !self.any.load(Ordering::Acquire) {
            bindings.hook(tx);
            return Ok(());
        }
        let Together { listeners, told } = self.state().together(bindings)?;
        if !listeners.is_empty() {
            tx.set_hooks(listeners);
        }
        if !told.is_empty() {
            tx.note_happened_to(told.iter().flat_map(|it| it.types.iter().copied()).collect());
            tx.add_callback(Arc::new(AfterCommit::new(told)))?;
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, ObserversState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An observer of the objects of some models.
struct CommittedObserver {
    types: fn(&Models) -> Result<Vec<StorageId>>,
    tell: Tell,
}

impl CommittedObserver {
    fn new<M: Subject>(tell: impl Fn(ObjId, Committed) + Send + Sync + 'static) -> Self {
        CommittedObserver { types: types_of::<M>, tell: Arc::new(tell) }
    }

    /// The observers to call after transactions with these models. Their storage IDs are those of
    /// the database as it is: a type whose last object was deleted can get another one.
    fn of(&self, models: &Models) -> Result<ToldOfCommits> {
        Ok(ToldOfCommits { types: (self.types)(models)?, tell: Arc::clone(&self.tell) })
    }
}

/// The storage IDs of the types of a subject.
fn types_of<M: Subject>(models: &Models) -> Result<Vec<StorageId>> {
    let places = M::AMONG.places(models)?;
    Ok(places.into_iter().map(|(binding, _)| binding.storage_id()).collect())
}

impl ObserversState {
    /// The hooks of the models, and the observers after them.
    fn together(&mut self, bindings: &Arc<Bindings>) -> Result<Together> {
        // The last observer may have gone after `any` was asked.
        if self.observers.is_empty() {
            return Ok(Together { listeners: Arc::clone(bindings.hooks()), told: Arc::default() });
        }
        if let Some((known, together)) = &self.together
            // Other bindings have other storage IDs, so their listeners are others too.
            && Arc::ptr_eq(known, bindings)
        {
            return Ok(together.clone());
        }
        let mut set = ListenerSet::clone(bindings.hooks());
        for (_, register) in &self.observers {
            register(bindings, &mut set)?;
        }
        let told = self.committed.iter().map(|(_, observer)| observer.of(bindings.models()));
        let told = told.collect::<Result<_>>()?;
        let together = Together { listeners: Arc::new(set), told };
        self.together = Some((Arc::clone(bindings), together.clone()));
        Ok(together)
    }
}
