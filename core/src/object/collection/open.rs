//! How to get views of the sets, lists and maps of objects.

use std::sync::Arc;

use super::list::ListView;
use super::map::MapView;
use super::set::SetView;
use crate::id::ObjId;
use crate::object::encoded::Encoded;
use crate::object::error::{Error, Result};
use crate::object::info::Migrate;
use crate::object::transaction::Transaction;
use crate::schema::{ResolvedField, ResolvedType};

/// Views of collections. Cost of making one: nothing if the object is known in this transaction,
/// otherwise one get.
impl Transaction {
    /// The set with that name in an object, as the object's own schema defines it.
    ///
    /// # Errors
    /// [`Error::Ended`]; [`Error::UnknownType`]; [`Error::DeletedObject`]; [`Error::UnknownField`]
    /// if the object has no set with that name. If the object is to be migrated:
    /// [`Error::TypeNotInSchema`], and errors of listeners.
    pub fn set_view(&self, id: ObjId, name: &str, migrate: Migrate) -> Result<SetView<'_>> {
        self.collection(id, name, migrate, |field| SetView::new(self, id, field))
    }

    /// The list with that name in an object, as the object's own schema defines it.
    ///
    /// # Errors
    /// The errors of [`set_view`](Transaction::set_view).
    pub fn list_view(&self, id: ObjId, name: &str, migrate: Migrate) -> Result<ListView<'_>> {
        self.collection(id, name, migrate, |field| ListView::new(self, id, field))
    }

    /// The map with that name in an object, as the object's own schema defines it.
    ///
    /// # Errors
    /// The errors of [`set_view`](Transaction::set_view).
    pub fn map_view(&self, id: ObjId, name: &str, migrate: Migrate) -> Result<MapView<'_>> {
        self.collection(id, name, migrate, |field| MapView::new(self, id, field))
    }

    fn collection<V>(
        &self,
        id: ObjId,
        name: &str,
        migrate: Migrate,
        view: impl FnOnce(&Arc<ResolvedField>) -> Option<V>,
    ) -> Result<V> {
        let object_type = self.type_for_reading(id, migrate)?;
        object_type.field(name).and_then(view).ok_or_else(|| unknown(Some(&object_type), name))
    }
}

/// Views of collections. Making one reads nothing and does not check that the object exists. Each
/// change finds the field again by its storage ID, in the schema that the object then has.
impl<'a> Encoded<'a, Transaction> {
    /// The set in this field of an object.
    ///
    /// # Errors
    /// [`Error::UnknownField`] if the field is not a set.
    pub fn set_view(self, id: ObjId, field: &Arc<ResolvedField>) -> Result<SetView<'a>> {
        SetView::new(self.0, id, field).ok_or_else(|| unknown(None, &field.name))
    }

    /// The list in this field of an object.
    ///
    /// # Errors
    /// [`Error::UnknownField`] if the field is not a list.
    pub fn list_view(self, id: ObjId, field: &Arc<ResolvedField>) -> Result<ListView<'a>> {
        ListView::new(self.0, id, field).ok_or_else(|| unknown(None, &field.name))
    }

    /// The map in this field of an object.
    ///
    /// # Errors
    /// [`Error::UnknownField`] if the field is not a map.
    pub fn map_view(self, id: ObjId, field: &Arc<ResolvedField>) -> Result<MapView<'a>> {
        MapView::new(self.0, id, field).ok_or_else(|| unknown(None, &field.name))
    }
}

fn unknown(object_type: Option<&ResolvedType>, name: &str) -> Error {
    Error::UnknownField {
        type_name: object_type.map(|object_type| object_type.name.to_string()),
        field: name.to_owned(),
    }
}
