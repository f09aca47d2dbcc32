//! Finding one object by its values in an index.

use super::composite::Tuple;
use super::open_as::{IndexOn, OpenAs, WhenPartial};
use crate::encoding::FieldType;
use crate::model::error::Result;
use crate::model::fields::{Composite, Field, Indexed, ListField, MapKey, MapValue, SetField};
use crate::model::kind::Source;
use crate::model::objects::Objs;
use crate::model::reference::Ref;
use crate::model::target::Target;
use crate::model::tx::Tx;
use crate::model::values::EncodeAs;

/// An index in which objects are found by a value of type `Q`: of an indexed field; of the
/// elements, keys or values of a collection; or a composite index, with a tuple of values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no index in which an object could be found",
    label = "not indexed",
    note = "add `#[permazen(indexed)]` to the field, or to its `element`, `key` or `value`; find the objects of a \
            composite index by a tuple of all its values"
)]
pub trait FindBy<Q>: Sized {
    /// The type of the objects.
    type Found: Target;

    /// The objects that have the value, by object ID.
    ///
    /// # Errors
    /// Those of [`Tx::index`]; [`Error::Encode`](crate::Error::Encode) if the field cannot hold the
    /// value.
    #[doc(hidden)]
    fn objects(self, tx: &Tx, how: OpenAs, value: Q) -> Result<Objs<'_, Self::Found>>;
}

macro_rules! find_by {
    ($value:ident; [$($parameter:ident),*] $field:ty) => {
        impl<M: Source, $($parameter: FieldType,)* Q: EncodeAs<$value>> FindBy<Q> for $field {
            type Found = M::Found;

            fn objects(self, tx: &Tx, how: OpenAs, value: Q) -> Result<Objs<'_, M::Found>> {
                self.open_as(tx, how)?.get(value)
            }
        }
    };
}

find_by!(V; [V] Field<M, V, Indexed>);
find_by!(E; [E] SetField<M, E, Indexed>);
find_by!(E; [E] ListField<M, E, Indexed>);
find_by!(K; [K] MapKey<M, K, Indexed>);
find_by!(V; [K, V] MapValue<M, K, V, Indexed>);

impl<M: Source, V: Tuple, Q: EncodeAs<V>> FindBy<Q> for Composite<M, V> {
    type Found = M::Found;

    fn objects(self, tx: &Tx, how: OpenAs, values: Q) -> Result<Objs<'_, M::Found>> {
        self.open_as(tx, how)?.get(values)
    }
}

impl<Q, I: FindBy<Q>> FindBy<Q> for WhenPartial<I> {
    type Found = I::Found;

    fn objects(self, tx: &Tx, _: OpenAs, value: Q) -> Result<Objs<'_, I::Found>> {
        let (index, how) = self.parts();
        index.objects(tx, how, value)
    }
}

impl Tx {
    /// The object that has a value in an index: `tx.find(User::EMAIL, "ann@example.org")?`. In a
    /// composite index, it is found by all its values: `tx.find(Person::NAME_AGE, ("Ann", 30))?`;
    /// in that of a collection, by an element, key or value.
    ///
    /// If several objects have the value, it is the one with the smallest object ID. To see all,
    /// [`index`](Tx::index) and `get`.
    ///
    /// ```
    /// # use permazen::{Permazen, PermazenObject, kv::memory::MemoryStore};
    /// #[derive(PermazenObject)]
    /// #[permazen(composite(name = "nameAge", fields(name, age)))]
    /// struct User {
    ///     #[permazen(indexed)]
    ///     email: Option<String>,
    ///     name: String,
    ///     age: i32,
    /// }
    ///
    /// # let db = Permazen::builder(MemoryStore::new()).model::<User>().build()?;
    /// db.write(|tx| {
    ///     let email = Some("ann@example.org".to_owned());
    ///     let ann = tx.create(User { email, name: "Ann".into(), age: 30 })?;
    ///     assert_eq!(tx.find(User::EMAIL, "ann@example.org")?, Some(ann));
    ///     assert_eq!(tx.find(User::EMAIL, "bob@example.org")?, None);
    ///     assert_eq!(tx.find_ref(User::NAME_AGE, ("Ann", 30))?, Some(ann.to_ref()));
    ///     Ok(())
    /// })?;
    /// # Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// Cost: that of [`index`](Tx::index), then one seek.
    ///
    /// # Errors
    /// Those of [`index`](Tx::index); [`Error::Encode`](crate::Error::Encode) if the field cannot
    /// hold the value.
    pub fn find<Q, I: FindBy<Q>>(
        &self,
        on: I,
        value: Q,
    ) -> Result<Option<<I::Found as Target>::Live<'_>>> {
        on.objects(self, OpenAs::default(), value)?.first()
    }

    /// A reference to the object that has a value in an index. See [`find`](Tx::find).
    ///
    /// # Errors
    /// The errors of [`find`](Tx::find).
    pub fn find_ref<Q, I: FindBy<Q>>(&self, on: I, value: Q) -> Result<Option<Ref<I::Found>>> {
        let objects = on.objects(self, OpenAs::default(), value)?;
        Ok(objects.ids().first()?.map(Ref::new))
    }
}
