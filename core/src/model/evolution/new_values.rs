//! The output of own conversions: the values an object gets, and new objects.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;

use super::old_values::OldValues;
use crate::encoding::FieldType;
use crate::model::error::{Error, Result};
use crate::model::fields::{CounterField, Field, ListField, MapField, SetField};
use crate::model::load::ObjectWriter;
use crate::model::object_type::Model;
use crate::model::reference::Ref;
use crate::model::values::EncodeAs;

impl OldValues<'_> {
    /// Creates another object, for values that leave this one. If the move fails, the new object
    /// goes too.
    ///
    /// # Errors
    /// [`Error::NotRegistered`]; the errors of [`Tx::create`](crate::model::Tx::create).
    pub fn create<M: Model>(&self, value: &M) -> Result<Ref<M>> {
        let missing = Error::NotRegistered { type_name: M::TYPE_NAME };
        let fields = self.models.of(TypeId::of::<M>()).ok_or(missing)?;
        let data = ObjectWriter::content(fields, value)?;
        Ok(Ref::new(self.objects.create(&data)?))
    }
}

/// The values that an object of model `M` gets when it moves to the schema of the models. An own
/// conversion sets some of them. They are not converted then.
pub struct NewValues<'a, 'w, M> {
    to: &'a mut ObjectWriter<'w>,
    model: PhantomData<fn() -> M>,
}

impl<M: Model> fmt::Debug for NewValues<'_, '_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NewValues<{}>", M::TYPE_NAME)
    }
}

impl<'a, 'w, M: Model> NewValues<'a, 'w, M> {
    /// For generated code.
    #[doc(hidden)]
    pub fn new(to: &'a mut ObjectWriter<'w>) -> Self {
        NewValues { to, model: PhantomData }
    }

    /// Sets a simple field.
    ///
    /// # Errors
    /// If the field cannot hold the value.
    pub fn set<V, I>(&mut self, field: Field<M, V, I>, value: impl EncodeAs<V>) -> Result<()> {
        self.to.rewrite(field.position, |to| to.encoded(field.position, |out| value.encode_as(out)))
    }

    /// Sets a counter.
    ///
    /// # Errors
    /// If the struct has no such field.
    pub fn set_counter(&mut self, field: CounterField<M>, count: i64) -> Result<()> {
        self.to.rewrite(field.position, |to| to.counter(field.position, count.into()))
    }

    /// Sets all elements of a set.
    ///
    /// # Errors
    /// If the field cannot hold an element.
    pub fn set_elements<E: FieldType, I>(
        &mut self,
        field: SetField<M, E, I>,
        elements: impl IntoIterator<Item = E>,
    ) -> Result<()> {
        // The iterator of the caller runs before anything is written.
        let elements: Vec<E> = elements.into_iter().collect();
        self.to.rewrite(field.position, |to| to.elements(field.position, elements.iter()))
    }

    /// Sets all elements of a list.
    ///
    /// # Errors
    /// If the field cannot hold an element.
    pub fn set_list<E: FieldType, I>(
        &mut self,
        field: ListField<M, E, I>,
        elements: impl IntoIterator<Item = E>,
    ) -> Result<()> {
        // The iterator of the caller runs before anything is written.
        let elements: Vec<E> = elements.into_iter().collect();
        self.to.rewrite(field.position, |to| to.elements(field.position, elements.iter()))
    }

    /// Sets all entries of a map.
    ///
    /// # Errors
    /// If the field cannot hold a key or a value.
    pub fn set_entries<K: FieldType, V: FieldType, KI, VI>(
        &mut self,
        field: MapField<M, K, V, KI, VI>,
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<()> {
        // The iterator of the caller runs before anything is written.
        let entries: Vec<(K, V)> = entries.into_iter().collect();
        self.to.rewrite(field.position, |to| to.entries(field.position, &mut entries.iter()))
    }
}
