//! The declaration of the functions of a block of hooks. `#[permazen::hooks]` writes this constant
//! data.

use super::route::{Route, WatchedAt};
use super::told::{Outcome, Told};

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

    /// A hook that is called when the rules are checked for an object, after changes of these
    /// fields.
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
