//! Models as one value.

use std::any::TypeId;

use super::hook::among::Among;
use super::hook::declare::HookDecl;
use super::hook::subject::Subject;
use super::model_info::ModelInfo;
use super::object_type::Model;

/// A set of models. A library offers its models as one value, and the program that uses it need not
/// list them:
///
/// ```
/// mod address_book {
///     use permazen::{ModelSet, PermazenObject, Ref};
///
///     #[derive(PermazenObject)]
///     pub struct Person { pub name: String, pub city: Option<Ref<City>> }
///
///     #[derive(PermazenObject)]
///     pub struct City { pub name: String }
///
///     /// The models of this library.
///     pub fn models() -> ModelSet {
///         ModelSet::new().model::<Person>().model::<City>()
///     }
/// }
///
/// use permazen::{Permazen, PermazenObject, kv::memory::MemoryStore};
///
/// #[derive(PermazenObject)]
/// struct Invoice { total: i64 }
///
/// let builder = Permazen::builder(MemoryStore::new()).models(address_book::models());
/// let db = builder.model::<Invoice>().build()?;
/// db.read(|tx| tx.all::<address_book::City>()?.count())?;
/// # Ok::<(), permazen::Error>(())
/// ```
///
/// A model that is in several sets counts once, and so do the hooks of a kind.
#[derive(Debug, Clone, Default)]
#[must_use = "a set does nothing until a builder gets it"]
pub struct ModelSet {
    models: Vec<Registered>,
    /// In the order in which they were added.
    kinds: Vec<HookedKind>,
}

/// A model with its hooks.
#[derive(Debug, Clone)]
pub(super) struct Registered {
    pub(super) info: ModelInfo,
    /// Its own, and then those of its mix-ins.
    pub(super) hooks: Vec<HooksAt>,
}

/// A block of hooks of a model or of one of its mix-ins.
#[derive(Debug, Clone, Copy)]
pub(super) struct HooksAt {
    /// Where the fields begin whose positions the hooks name.
    pub(super) start: usize,
    pub(super) hooks: &'static [HookDecl],
}

/// A kind that has hooks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HookedKind {
    type_id: TypeId,
    pub(crate) among: Among,
    pub(crate) hooks: &'static [HookDecl],
}

impl ModelSet {
    /// A set without models.
    pub fn new() -> Self {
        ModelSet::default()
    }

    /// This set with one more model.
    pub fn model<M: Model>(mut self) -> Self {
        let own = HooksAt { start: 0, hooks: M::HOOKS };
        let of_mixins = M::MIXINS.iter().map(|it| HooksAt { start: it.at.fields, hooks: it.hooks });
        let hooks = [own].into_iter().chain(of_mixins).filter(|at| !at.hooks.is_empty());
        self.add(Registered { info: ModelInfo::of::<M>(), hooks: hooks.collect() });
        self
    }

    /// This set with those of another one.
    pub fn models(mut self, others: ModelSet) -> Self {
        others.models.into_iter().for_each(|model| self.add(model));
        others.kinds.into_iter().for_each(|kind| self.add_kind(kind));
        self
    }

    /// This set with the hooks of kind `K`, for generated code.
    #[doc(hidden)]
    pub fn with_hooks_of<K: Subject>(mut self, hooks: &'static [HookDecl]) -> Self {
        self.add_kind(HookedKind { type_id: TypeId::of::<K>(), among: K::AMONG, hooks });
        self
    }

    fn add(&mut self, model: Registered) {
        if !self.models.iter().any(|other| other.info.type_id == model.info.type_id) {
            self.models.push(model);
        }
    }

    fn add_kind(&mut self, kind: HookedKind) {
        if !self.kinds.iter().any(|other| other.type_id == kind.type_id) {
            self.kinds.push(kind);
        }
    }

    /// The kinds that have hooks.
    pub(super) fn hooked_kinds(&self) -> &[HookedKind] {
        &self.kinds
    }

    /// The models with their hooks, in the order in which they were added.
    pub(super) fn registered(&self) -> &[Registered] {
        &self.models
    }

    /// The models, in the same order.
    pub(super) fn infos(&self) -> Vec<&ModelInfo> {
        self.models.iter().map(|model| &model.info).collect()
    }
}
