//! Hooks and observers of objects to which a reference path leads.

use std::fmt;

use super::observe::Watched;
use crate::model::binding::{Binding, Models};
use crate::model::error::Result;
use crate::model::kind::Member;
use crate::model::path::{Many, Path, Plurality};
use crate::model::target::{Any, Model, Target};
use crate::object::{IdFilter, Watch};

/// A path from the objects that observe to those that they observe.
#[derive(Debug, Clone)]
pub struct Route {
    path: Path<Any, Any, Many>,
    /// The types of the objects that are observed; `None` means all.
    ends: Option<&'static [&'static str]>,
}

impl Route {
    /// Along a path.
    pub fn of<A: Target, B: Target, N: Plurality>(path: &Path<A, B, N>) -> Self {
        Route { path: path.untyped(), ends: B::TYPES }
    }

    /// Who observes whom. If only objects of one model are observed, `end` is that model.
    pub(super) fn watch(&self, models: &Models, end: Option<&Binding>) -> Result<Watch> {
        let (steps, mut filters) = self.path.resolve_in(models)?;
        if let (Some(end), Some(last)) = (end, filters.last_mut()) {
            *last = Some(IdFilter::of_types([end.storage_id()]));
        }
        Ok(Watch::filtered(steps, filters)?)
    }

    /// The models whose objects are observed.
    pub(super) fn ends<'m>(&self, models: &'m Models) -> Result<Vec<&'m Binding>> {
        match self.ends {
            Some(names) => names.iter().map(|name| models.named(name)).collect(),
            None => Ok(models.iter().collect()),
        }
    }
}

/// A field of a model that is found when the models are bound.
#[derive(Clone, Copy)]
pub struct WatchedAt {
    pub(super) binding: for<'m> fn(&'m Models) -> Result<&'m Binding>,
    pub(super) position: usize,
}

impl fmt::Debug for WatchedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WatchedAt({})", self.position)
    }
}

impl WatchedAt {
    /// The field of a constant.
    pub fn of<W: Watched>(field: W) -> Self {
        WatchedAt { binding: Models::of::<W::Model>, position: Watched::position(field) }
    }
}

/// A path that begins at objects of `M`.
#[diagnostic::on_unimplemented(
    message = "the path of a hook of `{M}` begins at `{M}`, but this is a `{Self}`",
    label = "this path begins elsewhere",
    note = "write `Path::of::<{M}>()` and then its steps"
)]
pub trait BeginsAt<M> {}

impl<A, B, N> BeginsAt<A> for Path<A, B, N> {}

/// A path that leads to objects of `M`, perhaps among others.
#[diagnostic::on_unimplemented(
    message = "the hook is told of objects of `{M}`, but the path is a `{Self}`",
    label = "this path does not lead there",
    note = "the second type of a path is that of the objects to which it leads"
)]
pub trait LeadsTo<M> {}

impl<A, M: Model, N> LeadsTo<M> for Path<A, M, N> {}
impl<A, M: Model, N> LeadsTo<M> for Path<A, Any, N> {}

/// A path that leads to objects of just the type of `T`.
#[diagnostic::on_unimplemented(
    message = "the hook is told of objects of `{T}`, but the path is a `{Self}`",
    label = "this path does not lead there",
    note = "the second type of a path is that of the objects to which it leads"
)]
pub trait EndsAt<T> {}

impl<A, B, N> EndsAt<B> for Path<A, B, N> {}

/// Compiles for a path that begins at `M`.
pub fn begins_at<M>(_: &impl BeginsAt<M>) {}

/// Compiles for a path that leads to the model of the field.
pub fn leads_to<W: Watched>(_: &impl LeadsTo<W::Model>, _: W) {}

/// Compiles for a path that leads to the objects of this handle.
pub fn leads_to_handle<'t, L: Member<'t>>(_: &impl EndsAt<L::Of>) {}
