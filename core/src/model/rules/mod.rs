//! The rules of models: what must be unique, singletons, required values, own validation
//! (docs/src/rules.md).
//!
//! The object layer notes which objects have changed (`object/dirty_set.rs`). `check` checks the
//! rules for them before the transaction commits, or at the end of each operation; `scan` checks
//! them for all objects. `required` finds null where there must be values. `unique` has what a model
//! says about uniqueness, with the exempt values (`excluded`) as bytes.

mod check;
mod commit_error;
mod excluded;
mod model_rules;
mod new_content;
mod required;
mod scan;
mod singleton;
mod unique;
pub(crate) mod validating;
mod validation;
mod violation;

pub(super) use check::check;
pub use commit_error::CommitError;
pub(super) use model_rules::{Rules, watched};
pub(super) use new_content::check_content;
pub use scan::RulesReport;
pub(super) use scan::check_together;
pub(super) use validation::RuleOptions;
pub use validation::Validation;
pub use violation::{Rule, Violation, Violations};
