//! The rules of models: what must be unique, singletons, required values, own validation
//! (docs/src/rules.md).
//!
//! `model_rules` binds what models declare: the rules of a model are in `bound`, what it says about
//! uniqueness in `unique`, with the exempt values (`excluded`) as bytes.
//!
//! The object layer notes which objects have changed (`object/dirty_set.rs`). `check` checks the
//! rules for them before the transaction commits, or at the end of each operation, as
//! `in_transaction` sets it; `scan` checks them for all objects. `required` finds null where there
//! must be values.

mod bound;
mod check;
mod commit_error;
mod excluded;
mod in_transaction;
mod model_rules;
mod new_content;
mod required;
mod scan;
mod singleton;
mod unique;
pub(crate) mod validating;
mod validation;
mod violation;

pub(super) use bound::Rules;
pub(super) use check::check;
pub use commit_error::CommitError;
pub(super) use in_transaction::note_for;
pub(super) use model_rules::watched;
pub(super) use new_content::check_content;
pub use scan::RulesReport;
pub(super) use scan::check_together;
pub(super) use validation::RuleOptions;
pub use validation::Validation;
pub use violation::{Rule, Violation, Violations};
