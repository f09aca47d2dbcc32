//! Transactions of the typed layer: the models that are attached to one of the object layer, and
//! the data that is kept with it. The methods of a transaction stand in the file of their subject:
//! `create.rs`, `objects.rs`, `index/query.rs` and so on.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;

use ref_cast::{RefCastCustom, ref_cast_custom};

use super::binding::{Bindings, Models};
use super::error::{Error, Result};
use super::index::{KnownViews, SeenObjects};
use super::rules::{RuleOptions, Validation};
use super::values::EncodeAs;
use crate::encoding::EncodingError;
use crate::object;
use crate::schema::Schema;

/// An open transaction, as handles, queries and hooks see it. Objects are reached through it.
///
/// Every operation takes `&self`. A transaction can be sent to another thread, but not shared
/// between threads.
///
/// It is the transaction of the object layer, seen with the models.
#[derive(RefCastCustom)]
#[repr(transparent)]
pub struct Tx {
    pub(crate) core: object::Transaction,
}

/// The data that the typed layer keeps with a transaction of the object layer, beside the models.
#[derive(Default)]
struct TypedState {
    seen_objects: RefCell<SeenObjects>,
    known_views: KnownViews,
    /// How rules are checked, if not as in other transactions.
    validation: Cell<Option<Validation>>,
}

impl fmt::Debug for Tx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tx").field(&self.core).finish()
    }
}

impl Tx {
    /// A transaction of the object layer, seen with the models that are attached to it.
    #[ref_cast_custom]
    pub(super) fn of<'t>(core: &'t object::Transaction) -> &'t Tx;

    fn state(&self) -> Result<&TypedState> {
        self.core.kept().ok_or_else(without_models)
    }

    /// The transaction of the object layer, for access by name, storage ID and encoded value.
    pub fn core(&self) -> &object::Transaction {
        &self.core
    }

    /// The schema of the transaction.
    pub fn schema(&self) -> Arc<Schema> {
        self.core.schema()
    }

    pub(crate) fn models(&self) -> Result<&Models> {
        Ok(self.bindings()?.models())
    }

    pub(crate) fn bindings(&self) -> Result<&Bindings> {
        self.core.attached().ok_or_else(without_models)
    }

    pub(super) fn shared_bindings(&self) -> Result<Arc<Bindings>> {
        self.core.share_attached().ok_or_else(without_models)
    }

    pub(super) fn seen_objects(&self) -> Result<&RefCell<SeenObjects>> {
        Ok(&self.state()?.seen_objects)
    }

    pub(super) fn known_views(&self) -> Result<&KnownViews> {
        Ok(&self.state()?.known_views)
    }

    pub(crate) fn rule_options(&self) -> Result<RuleOptions> {
        let mut rules = self.bindings()?.rule_options();
        let changed = self.core.kept_so_far().and_then(|state: &TypedState| state.validation.get());
        rules.validation = changed.unwrap_or(rules.validation);
        Ok(rules)
    }

    /// Sets how rules are checked in this transaction.
    pub(super) fn validate_as(&self, validation: Validation) -> Result<()> {
        self.state()?.validation.set(Some(validation));
        Ok(())
    }

    /// Lends `body` the encoded form of a value, or the reason why it cannot be encoded.
    pub(crate) fn with_encoded<V, R>(
        &self,
        value: &impl EncodeAs<V>,
        body: impl FnOnce(Result<(), EncodingError>, &[u8]) -> R,
    ) -> R {
        let mut bytes = self.core.buffer();
        let result = value.encode_as(&mut bytes);
        body(result, &bytes)
    }
}

#[cold]
fn without_models() -> Error {
    Error::other("the transaction has no models")
}
