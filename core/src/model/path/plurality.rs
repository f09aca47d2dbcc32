//! To how many objects a path leads.

use crate::model::error::Result;
use crate::model::objects::Objs;
use crate::model::target::Target;

/// The path leads from an object to at most one.
#[derive(Debug, Clone, Copy)]
pub enum One {}

/// The path leads from an object to any number of objects.
#[derive(Debug, Clone, Copy)]
pub enum Many {}

/// To how many objects a path leads: [`One`] or [`Many`].
pub trait Plurality: Sized + 'static {
    /// After a step of the other plurality.
    type Then<N: Plurality>: Plurality;

    /// The result of a path from one object.
    type Found<'t, T: Target>;

    #[doc(hidden)]
    fn found<T: Target>(objects: Objs<'_, T>) -> Result<Self::Found<'_, T>>;
}

impl Plurality for One {
    type Then<N: Plurality> = N;
    type Found<'t, T: Target> = Option<T::Live<'t>>;

    fn found<T: Target>(objects: Objs<'_, T>) -> Result<Option<T::Live<'_>>> {
        objects.first()
    }
}

impl Plurality for Many {
    type Then<N: Plurality> = Many;
    type Found<'t, T: Target> = Objs<'t, T>;

    fn found<T: Target>(objects: Objs<'_, T>) -> Result<Objs<'_, T>> {
        Ok(objects)
    }
}
