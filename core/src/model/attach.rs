//! The functions that the object layer calls on the models during a transaction: they call hooks,
//! check rules, and decide how objects are converted.

use std::sync::Arc;

use super::binding::Bindings;
use super::error::Error;
use super::hook;
use super::rules::{self, Validation, note_for};
use super::tx::Tx;
use crate::object::{self, WatchedFields};
use crate::schema::SchemaBundle;

impl Tx {
    pub(super) fn new(core: object::Transaction, bindings: Arc<Bindings>) -> Self {
        Tx::attach(&core, bindings);
        Tx { core }
    }

    /// Lets a transaction of the object layer be seen with these models.
    pub(super) fn attach(core: &object::Transaction, bindings: Arc<Bindings>) {
        core.dirty_set.watch(bindings.watched());
        note_for(core, bindings.rule_options().validation);
        core.attach(
            bindings,
            |core, hook, event| hook::call(Tx::of(core), hook, event),
            |core| check_rules(Tx::of(core)),
            |core, bundle| watched_with(Tx::of(core), bundle),
            |core| Some(Arc::clone(Tx::of(core).bindings().ok()?.models()) as _),
        );
    }
}

/// Checks the rules of the models.
fn check_rules(tx: &Tx) -> object::Result<()> {
    let checked = match tx.rule_options() {
        Ok(rules) if rules.validation == Validation::Off => Ok(()),
        _ => rules::check(tx),
    };
    checked.map_err(in_object_layer)
}

/// The fields whose changes must be noted for the rules of the models, with these recorded schemas.
fn watched_with(tx: &Tx, bundle: &SchemaBundle) -> object::Result<WatchedFields> {
    tx.bindings().and_then(|bindings| bindings.watched_with(bundle)).map_err(in_object_layer)
}

/// An error of the rules that passes through the object layer. After broken rules, the transaction
/// can go on.
fn in_object_layer(error: Error) -> object::Error {
    match error {
        Error::Object(error) => error,
        // The transaction may still move or change objects that another version has stored.
        error if error.is_about_versions() => object::Error::RulesBroken(Box::new(error)),
        error @ Error::Hook { .. } => object::Error::Hook(Box::new(error)),
        error => object::Error::RulesBroken(Box::new(error)),
    }
}
