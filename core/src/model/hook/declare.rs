//! What a block of hooks says about its functions. `#[permazen::hooks]` writes this constant data.

use super::along::{Route, WatchedAt};
use super::told::{Outcome, Told};
use crate::model::declare::UpgradeWith;
use crate::model::evolution::NewValues;
use crate::model::load::ObjectWriter;
use crate::model::target::Model;

/// A hook as its block declares it.
#[derive(Debug, Clone, Copy)]
pub struct HookDecl {
    pub(crate) name: &'static str,
    pub(crate) on: On,
    pub(crate) run: RunHook,
}

/// Calls a hook.
pub(crate) type RunHook = fn(&Told<'_>) -> Outcome;

/// The position of a field among the fields of the struct.
pub(crate) type FieldPosition = fn() -> usize;

/// When a hook is called.
#[derive(Debug, Clone, Copy)]
pub(crate) enum On {
    Create,
    Delete,
    Change(Fields),
    /// After changes of these fields in objects to which a path leads; of all fields, if there are
    /// none.
    ChangeAlong(fn() -> Route, &'static [fn() -> WatchedAt]),
    DeleteAlong(fn() -> Route),
    /// When rules are checked; only after changes of these fields, if there are any.
    Validate(Option<&'static [FieldPosition]>),
}

/// Which fields a hook watches.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fields {
    These(&'static [FieldPosition]),
    AllBut(&'static [FieldPosition]),
}

impl HookDecl {
    /// A hook that is called for new objects.
    pub const fn on_create(name: &'static str, run: RunHook) -> Self {
        HookDecl { name, on: On::Create, run }
    }

    /// A hook that is called before objects are deleted.
    pub const fn on_delete(name: &'static str, run: RunHook) -> Self {
        HookDecl { name, on: On::Delete, run }
    }

    /// A hook that is called when the rules are checked for an object, after any change.
    pub const fn on_validate(name: &'static str, run: RunHook) -> Self {
        HookDecl { name, on: On::Validate(None), run }
    }

    /// A hook that is called when the rules are checked for an object, after changes of these fields.
    pub const fn on_validate_of(
        name: &'static str,
        fields: &'static [FieldPosition],
        run: RunHook,
    ) -> Self {
        HookDecl { name, on: On::Validate(Some(fields)), run }
    }

    /// A hook that is called after changes of these fields in objects to which a path leads; of all
    /// fields, if there are none.
    pub const fn on_change_along(
        name: &'static str,
        route: fn() -> Route,
        fields: &'static [fn() -> WatchedAt],
        run: RunHook,
    ) -> Self {
        HookDecl { name, on: On::ChangeAlong(route, fields), run }
    }

    /// A hook that is called before objects are deleted to which a path leads.
    pub const fn on_delete_along(name: &'static str, route: fn() -> Route, run: RunHook) -> Self {
        HookDecl { name, on: On::DeleteAlong(route), run }
    }

    /// A hook that is called after changes of these fields.
    pub const fn on_change(
        name: &'static str,
        fields: &'static [FieldPosition],
        run: RunHook,
    ) -> Self {
        HookDecl { name, on: On::Change(Fields::These(fields)), run }
    }

    /// A hook that is called after changes of all fields but these.
    pub const fn on_other_change(
        name: &'static str,
        except: &'static [FieldPosition],
        run: RunHook,
    ) -> Self {
        HookDecl { name, on: On::Change(Fields::AllBut(except)), run }
    }
}

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
