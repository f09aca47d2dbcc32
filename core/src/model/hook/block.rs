//! A type that has hooks, and the hooks of its block.

use super::declare::HookDecl;
use crate::model::declare::UpgradeWith;
use crate::model::evolution::NewValues;
use crate::model::load::ObjectWriter;
use crate::model::object_type::Model;

/// A model, mix-in or kind that says that it has hooks.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say that it has hooks",
    label = "add `#[permazen(hooks)]` to the struct or enum",
    note = "`#[permazen(hooks)]` stands beside `#[derive(PermazenObject)]`, `#[derive(PermazenFields)]` or \
            `#[derive(PermazenKind)]`; without it, nothing would call these functions"
)]
pub trait HasHooks {}

/// The hooks of a model, mix-in or kind.
#[diagnostic::on_unimplemented(
    message = "`{Self}` says `#[permazen(hooks)]`, but has no block of hooks",
    label = "no hooks",
    note = "add a block `#[permazen::hooks] impl {Self} {{ … }}`, or leave out `#[permazen(hooks)]`"
)]
pub trait Hooks: HasHooks {
    /// In the order of the block.
    #[doc(hidden)]
    const DECLS: &'static [HookDecl];

    /// Calls the functions with `#[on_schema_change]`.
    #[doc(hidden)]
    const UPGRADE_WITH: Option<UpgradeWith>;
}

/// A model with hooks. Only a model has `#[on_schema_change]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no model, so its hooks cannot have `#[on_schema_change]`",
    label = "`#[on_schema_change]` belongs to a model",
    note = "an object moves to the schema of its model: write the function in the block of hooks of each model"
)]
pub trait HooksOfModel: Model {
    /// Where the functions write.
    #[doc(hidden)]
    fn new_values<'a, 'w>(to: &'a mut ObjectWriter<'w>) -> NewValues<'a, 'w, Self> {
        NewValues::new(to)
    }
}
