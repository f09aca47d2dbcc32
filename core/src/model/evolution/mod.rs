//! Objects that were stored with other models: what becomes of them under the models of the
//! program, and moving them (docs/src/evolution.md).
//!
//! A [`Plan`] says where each field of a model gets its value from in a type of another schema. The
//! report judges by plans and encodings, without values; moving one object, moving all, and seeing
//! an object where it is apply a plan to values. Own conversions are given the old values
//! (`old_values`) and write new ones (`new_values`). The rest of `model` asks for plans and
//! reports, and sees objects in place.

mod counted;
mod in_place;
mod mode;
mod moved;
mod never_called;
mod new_values;
mod old_values;
mod plan;
mod refused_move;
mod report;
mod stored_pairs;
mod upgrade;
mod upgrade_all;
mod verdict;

pub(super) use in_place::Seen;
pub use mode::Evolution;
pub(super) use never_called::warn_of_never_called;
pub use new_values::NewValues;
pub use old_values::OldValues;
pub(super) use plan::{FieldPlan, Plan};
pub use refused_move::{Loss, Refusal};
pub use report::{
    DeleteActionReport, EvolutionReport, EvolutionWarning, FieldReport, FieldVerdict, IndexReport,
    NeverCalled, ObjectCount, TypeReport, VersionReport,
};
pub(super) use stored_pairs::pairs_of;
pub(super) use upgrade::after_move;
pub use upgrade_all::{UpgradeAll, UpgradeReport};
pub(super) use verdict::{evolution_report, refuse_losses};
