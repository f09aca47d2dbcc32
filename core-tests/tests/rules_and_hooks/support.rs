//! Functions that several tests of rules and hooks need.

use std::sync::Arc;

use permazen::kv::KvDatabase;
use permazen::model::{Builder, Rule};
use permazen::{Error, Model, Permazen, Result, Violations};

/// The violations, if an operation was refused because of rules.
pub(crate) fn violations<T: std::fmt::Debug>(refused: Result<T>) -> Violations {
    match refused {
        Err(Error::Invalid(violations)) => violations,
        other => panic!("{other:?}"),
    }
}

/// Path and message of each violation, which all come from checks of the program.
pub(crate) fn messages(violations: &Violations) -> Vec<(&str, &str)> {
    assert!(violations.iter().all(|it| it.rule == Rule::Valid));
    violations.iter().map(|it| (it.path.as_str(), it.message.as_deref().unwrap())).collect()
}

/// A program with one model on a store that others use too.
pub(crate) fn open<M: Model>(store: &Arc<dyn KvDatabase>) -> Builder {
    Permazen::builder_shared(Arc::clone(store)).model::<M>()
}
