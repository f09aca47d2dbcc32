//! Hooks and observers of objects to which a reference path leads.

use super::change::Change;
use super::route::{Route, WatchedAt};
use super::subject::Subject;
use super::watched::Watched;
use crate::model::binding::{Binding, Models};
use crate::model::error::Result;
use crate::model::path::{Path, Plurality};
use crate::model::reference::Any;
use crate::model::target::Target;
use crate::object::{IdFilter, Watch};

impl Route {
    /// Along a path.
    pub fn of<A: Target, B: Target, N: Plurality>(path: &Path<A, B, N>) -> Self {
        Route { way: path.way().clone(), ends: B::TYPES }
    }

    /// Which objects are observed, and from which. If only objects of one model are observed, `end`
    /// is that model.
    pub(super) fn watch(&self, models: &Models, end: Option<&Binding>) -> Result<Watch> {
        let (steps, mut filters) = self.way.resolve(models)?;
        // A path to several models is narrowed to the one whose field is watched.
        if let (Some(end), Some(last)) = (end, filters.last_mut()) {
            *last = Some(IdFilter::of_types([end.storage_id()]));
        }
        Ok(Watch::filtered(steps, filters)?)
    }

    /// The models whose objects are observed.
    pub(super) fn ends<'m>(&self, models: &'m Models) -> Result<Vec<&'m Binding>> {
        match self.ends {
            Some(names) => names.iter().map(|name| models.named(name)).collect(),
            // Without a list, the path can lead to objects of any model.
            None => Ok(models.iter().collect()),
        }
    }
}

impl WatchedAt {
    /// The field of a constant.
    pub fn of<W: Watched>(field: W) -> Self {
        WatchedAt { among: W::Model::AMONG, position: Watched::position(field) }
    }
}

/// A path that begins at objects of `M`.
#[diagnostic::on_unimplemented(
    message = "the path of a hook of `{M}` begins at `{M}`, but this is a `{Self}`",
    label = "this path begins elsewhere",
    note = "write `Path::of::<{M}>()` and then its steps"
)]
pub trait BeginsAt<M> {
    #[doc(hidden)]
    fn route(&self) -> Route;
}

impl<A: Target, B: Target, N: Plurality> BeginsAt<A> for Path<A, B, N> {
    fn route(&self) -> Route {
        Route::of(self)
    }
}

/// A path that leads to objects of `M`, perhaps among others.
#[diagnostic::on_unimplemented(
    message = "what is observed is of `{M}`, but the path is a `{Self}`",
    label = "this path does not lead to `{M}`",
    note = "name a field of the model to which the path leads, or write a path that leads to `{M}`"
)]
pub trait LeadsTo<M> {}

impl<A, M: Subject, N> LeadsTo<M> for Path<A, M, N> {}
impl<A, M: Subject, N> LeadsTo<M> for Path<A, Any, N> {}

/// The end of a path at which objects of `M` can be: `M` itself, or [`Any`].
#[diagnostic::on_unimplemented(
    message = "this path leads to objects of `{Self}`, but the field is one of `{M}`",
    label = "this path does not lead to `{M}`",
    note = "name a field of `{Self}`, or write a path that leads to `{M}`"
)]
pub trait Includes<M> {}

impl<M: Subject> Includes<M> for M {}
impl<M: Subject> Includes<M> for Any {}

/// A path that leads to objects of just the type of `T`.
#[diagnostic::on_unimplemented(
    message = "the hook is told of objects of `{T}`, but the path is a `{Self}`",
    label = "this path does not lead there",
    note = "the second type of a path is that of the objects to which it leads"
)]
pub trait EndsAt<T> {
    #[doc(hidden)]
    fn ends(&self) {}
}

impl<A, B, N> EndsAt<B> for Path<A, B, N> {}

/// A path to objects whose changes a hook can get as `C`, whatever field has changed.
#[diagnostic::on_unimplemented(
    message = "`{C}` is not what all changes along this path are told as, which is a `{Self}`",
    label = "expected `&Change<'_, M>`, where `M` is the model to which the path leads",
    note = "a hook that names a field (`#[on_change(of = Account::BALANCE, path = …)]`) can have a narrower type"
)]
pub trait TellsAllChangesAs<C> {
    #[doc(hidden)]
    fn tells(&self) {}
}

impl<A, B, N> TellsAllChangesAs<Change<'_, B>> for Path<A, B, N> {}

/// A field of the objects to which a path of type `P` leads.
pub trait IsAtEndOf<P>: Sized {
    #[doc(hidden)]
    fn at_end(self, _: &P) {}
}

impl<A, B: Includes<W::Model>, N, W: Watched> IsAtEndOf<Path<A, B, N>> for W {}
