//! When rules are checked.

/// When the rules of models are checked: what must be unique, singletons, required values and own
/// validation. See [`Builder::validation`](crate::model::Builder::validation) and
/// [`Tx::set_validation`](crate::model::Tx::set_validation).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Validation {
    /// For all objects that have changed, when the transaction commits, before anything is written
    /// for good. Until then, objects may break rules.
    #[default]
    AtCommit,
    /// At the end of each operation, for the objects that it has changed. An operation that breaks
    /// a rule is undone, and fails. Put several operations in an
    /// [`atomic`](crate::object::Transaction::atomic) one to have them checked together.
    Early,
    /// When the transaction commits, but only for the objects that
    /// [`revalidate`](crate::model::Obj::revalidate) names.
    Manual,
    /// Never.
    Off,
}

/// How a database checks rules.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RuleOptions {
    pub(crate) validation: Validation,
    /// While an index is partial, uniqueness is checked among the objects in it.
    pub(crate) among_indexed: bool,
}
