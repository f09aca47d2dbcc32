//! Singletons: types with at most one object.

use crate::model::error::{Error, Result};
use crate::model::obj::Obj;
use crate::model::object_type::Model;
use crate::model::tx::Tx;
use crate::object;

/// Singletons.
impl Tx {
    /// The object of a singleton type. If there is none, it is made as by
    /// [`create_default`](Tx::create_default), so required fields should state a default
    /// (`default = …`).
    ///
    /// If two transactions make it at the same time, one of them is refused, or waits for the other
    /// and finds its object.
    ///
    /// ```
    /// # use permazen::{Permazen, PermazenObject, kv::memory::MemoryStore};
    /// #[derive(PermazenObject)]
    /// #[permazen(singleton)]
    /// struct Settings {
    ///     #[permazen(default = "light".to_owned())]
    ///     theme: String,
    /// }
    /// # let db = Permazen::builder(MemoryStore::new()).model::<Settings>().build()?;
    /// db.write(|tx| tx.singleton::<Settings>()?.set_theme("dark"))?;
    /// assert_eq!(db.read(|tx| tx.singleton::<Settings>()?.theme())?, "dark");
    /// # Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// Cost: one seek; to make it, what `create_default` costs.
    ///
    /// # Errors
    /// [`Error::NotRegistered`]. Without the object, [`Error::NoSingleton`] in a transaction for
    /// reading, and the errors of `create_default`.
    pub fn singleton<M: Model>(&self) -> Result<Obj<'_, M>> {
        match self.find_singleton()? {
            Some(found) => Ok(found),
            None => self.create_default().map_err(not_made::<M>),
        }
    }

    /// The object of a singleton type. If there is none, it is created with the values that `make`
    /// returns.
    ///
    /// # Errors
    /// The errors of [`singleton`](Tx::singleton) and [`create`](Tx::create).
    pub fn singleton_or<M: Model>(&self, make: impl FnOnce() -> M) -> Result<Obj<'_, M>> {
        match self.find_singleton()? {
            Some(found) => Ok(found),
            None => self.create(make()).map_err(not_made::<M>),
        }
    }

    /// The object of a singleton type, if there is one. Cost: one seek.
    ///
    /// # Errors
    /// [`Error::NotRegistered`].
    pub fn find_singleton<M: Model>(&self) -> Result<Option<Obj<'_, M>>> {
        const { assert!(M::SINGLETON, "add `#[permazen(singleton)]` to the struct") };
        self.all::<M>()?.iter().next().transpose()
    }
}

/// Says of a singleton that cannot be made that only looking for it is possible.
fn not_made<M: Model>(error: Error) -> Error {
    match error {
        // The caller asked for the object, not for a change, so the error says that there is none.
        Error::Object(object::Error::ReadOnly) => Error::NoSingleton { type_name: M::TYPE_NAME },
        error => error,
    }
}
