//! Models as one value.

use super::kind::Kind;
use super::target::{Model, ModelInfo};

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
/// A model that is in several sets counts once.
#[derive(Debug, Clone, Default)]
#[must_use = "a set does nothing until a builder gets it"]
pub struct ModelSet {
    models: Vec<ModelInfo>,
}

impl ModelSet {
    /// A set without models.
    pub fn new() -> Self {
        ModelSet::default()
    }

    /// This set with one more model.
    pub fn model<M: Model>(mut self) -> Self {
        self.add(ModelInfo::of::<M>());
        self
    }

    /// This set with the models of a kind.
    pub fn kind<K: Kind>(self) -> Self {
        K::register(self)
    }

    /// This set with those of another one.
    pub fn models(mut self, others: ModelSet) -> Self {
        others.models.into_iter().for_each(|model| self.add(model));
        self
    }

    fn add(&mut self, model: ModelInfo) {
        if !self.models.iter().any(|other| other.type_id == model.type_id) {
            self.models.push(model);
        }
    }

    pub(super) fn as_slice(&self) -> &[ModelInfo] {
        &self.models
    }
}
