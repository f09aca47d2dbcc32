//! The functions that generated accessors call: they read and write the fields of an object by
//! their positions in the struct. They decide when the object must move to the schema of the
//! models.

use std::fmt;

use super::binding::Binding;
use super::error::{Error, Result};
use super::reference::Ref;
use super::stored_as::StoredAs;
use super::target::{Handles, Target};
use super::tx::Tx;
use super::values::EncodeAs;
use crate::encoding::{Encodable, EncodingError, FieldType};
use crate::id::ObjId;
use crate::object::{self, Migrate, ObjectData};
use crate::schema::ResolvedField;

/// The generated accessors of one model: those of its own fields, or those of a mix-in before them.
pub trait Accessors<'t>: Copy + fmt::Debug + 't {
    /// How many fields the struct has up to here: its own, and those of the mix-ins whose accessors
    /// these are.
    const LEN: usize;

    /// The accessors of one object.
    fn bind(handle: Handle<'t>) -> Self;

    /// The object.
    fn handle(&self) -> Handle<'t>;
}

/// An object in a transaction, as generated accessors see it.
#[derive(Clone, Copy)]
pub struct Handle<'t> {
    pub(crate) tx: &'t Tx,
    pub(crate) binding: &'t Binding,
    pub(crate) id: ObjId,
}

impl fmt::Debug for Handle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.binding.info.name, self.id)
    }
}

/// The methods that generated accessors call. `position` is the position of the field in the
/// struct.
impl<'t> Handle<'t> {
    /// Reads a simple field. Cost: one get.
    ///
    /// # Errors
    /// If the object does not exist, or the stored value does not fit `V`. For an object of another
    /// schema that must move, the errors of [`Obj::migrate`](super::Obj::migrate).
    pub fn get<V: FieldType>(&self, position: usize) -> Result<V> {
        let field = self.binding.field(position)?;
        let found = self.tx.core.encoded().find(self.id, field, self.access(), V::decode_all);
        let read = match found {
            Ok(Some(read)) => read,
            Ok(None) => self.get_elsewhere(position, field)?,
            // A value that is too long for a new index keeps the object from moving, but not from
            // being read.
            Err(error) => {
                self.or_unmovable(Err(error), |data| Ok(V::decode_all(data.simple(field)?)))?
            }
        };
        read.map_err(|source| self.undecodable(field, source))
    }

    /// Reads a simple field of an object whose own schema lacks this definition of it.
    fn get_elsewhere<V: FieldType>(
        &self,
        position: usize,
        field: &ResolvedField,
    ) -> Result<Result<V, EncodingError>> {
        // A field that the object lacks reads as its default, so that reading does not move the
        // object.
        if self.is_missing(position)? {
            return Ok(V::decode_all(self.binding.default_of(position)?.simple(field)?));
        }
        let read = self.tx.core.encoded().get(self.id, field, Migrate::Yes, V::decode_all);
        self.or_unmovable(read, |data| Ok(V::decode_all(data.simple(field)?)))
    }

    /// Sets a simple field.
    ///
    /// # Errors
    /// If the object does not exist, or the field cannot hold the value. For an object of another
    /// schema that must move, the errors of [`Obj::migrate`](super::Obj::migrate).
    pub fn set<V>(&self, position: usize, value: impl EncodeAs<V>) -> Result<()> {
        let field = self.binding.field(position)?;
        self.tx.with_encoded(&value, |result, bytes| {
            result.map_err(|source| self.unencodable(field, source))?;
            let encoded = self.tx.core.encoded();
            let move_and_set = || Ok(encoded.set(self.id, field, bytes, Migrate::Yes)?);
            // By Java's rules every access moves the object, so its own schema is not tried first.
            if self.access() == Migrate::Yes {
                return move_and_set();
            }
            match encoded.set_defined(self.id, field, bytes) {
                // The object's own schema does not have this definition of the field.
                Ok(false) => move_and_set(),
                // The object's own schema refuses the new value, but the schema of the models may
                // allow it. So the object moves, and gets the new value with the move. The old
                // value cannot prevent the move, because it is replaced.
                Err(error) if self.may_depend_on_schema(&error)? => move_and_set(),
                set => Ok(set.map(drop)?),
            }
        })
    }

    /// Reads a simple field whose type in the struct is converted from `D`.
    ///
    /// # Errors
    /// If the object does not exist, the stored value does not fit `D`, or the conversion fails.
    pub fn get_converted<D: FieldType, V: StoredAs<D, H>, H>(&self, position: usize) -> Result<V> {
        let value: D = self.get(position)?;
        V::from_stored(value).map_err(|source| self.unconvertible(position, source))
    }

    /// Sets a simple field whose type in the struct is converted to `D`.
    ///
    /// # Errors
    /// If the object does not exist, the conversion fails, or the field cannot hold the value.
    pub fn set_converted<D: FieldType, V: StoredAs<D, H>, H>(
        &self,
        position: usize,
        value: V,
    ) -> Result<()> {
        let value = value.into_stored().map_err(|source| self.unconvertible(position, source))?;
        self.set::<D>(position, value)
    }

    /// Reads a simple field whose type in the struct is an `Option` of a type that is converted
    /// from `D`.
    ///
    /// # Errors
    /// The errors of [`get_converted`](Handle::get_converted).
    pub fn get_converted_inside<D: Encodable, V: StoredAs<D, H>, H>(
        &self,
        position: usize,
    ) -> Result<Option<V>> {
        let value: Option<D> = self.get(position)?;
        let value = value.map(V::from_stored).transpose();
        value.map_err(|source| self.unconvertible(position, source))
    }

    /// Sets a simple field whose type in the struct is an `Option` of a type that is converted to
    /// `D`.
    ///
    /// # Errors
    /// The errors of [`set_converted`](Handle::set_converted).
    pub fn set_converted_inside<D: Encodable, V: StoredAs<D, H>, H>(
        &self,
        position: usize,
        value: Option<V>,
    ) -> Result<()> {
        let value = value.map(V::into_stored).transpose();
        let value = value.map_err(|source| self.unconvertible(position, source))?;
        self.set::<Option<D>>(position, value)
    }

    /// Reads a reference.
    ///
    /// # Errors
    /// If the object does not exist, the stored value is no reference, or it refers to another type
    /// than `T`.
    pub fn reference<T: Target>(&self, position: usize) -> Result<Option<T::Live<'t>>> {
        let reference: Option<Ref<T>> = self.get(position)?;
        reference.map(|reference| self.follow(position, reference)).transpose()
    }

    /// Reads a reference that is never null.
    ///
    /// # Errors
    /// If the object does not exist, the stored value is null or no reference, or it refers to
    /// another type than `T`.
    pub fn required_reference<T: Target>(&self, position: usize) -> Result<T::Live<'t>> {
        let reference: Ref<T> = self.get(position)?;
        self.follow(position, reference)
    }

    /// The object to which a reference in a field refers.
    pub(crate) fn follow<T: Target>(
        &self,
        position: usize,
        reference: Ref<T>,
    ) -> Result<T::Live<'t>> {
        match T::live(Handles::one(self.tx), reference.id()) {
            Err(Error::WrongType { id: target, expected, .. }) => {
                Err(self.wrong_target(position, target, expected)?)
            }
            live => live,
        }
    }

    /// The error for a reference to an object of another type than the model allows.
    fn wrong_target(
        &self,
        position: usize,
        target: ObjId,
        expected: &'static str,
    ) -> Result<Error> {
        let core = &self.tx.core;
        let of = target.storage_id();
        let target_type = core.type_name(of).map_or_else(|_| format!("#{of}"), |it| it.to_string());
        Ok(Error::WrongTarget {
            field: self.binding.path(self.binding.field(position)?),
            // The caller may want to look for the object in the database, so the error has its
            // schema.
            id: self.id,
            schema: core.object_schema(self.id)?.id,
            target,
            target_type,
            expected,
        })
    }

    /// Returns `moved`, the result of moving an object to the transaction's schema and reading it.
    /// If the object could not be moved because an index entry would be too long, returns instead
    /// what `read` reads from the content that the object would have there.
    pub(crate) fn or_unmovable<R>(
        &self,
        moved: object::Result<R>,
        read: impl FnOnce(ObjectData) -> Result<R>,
    ) -> Result<R> {
        match moved {
            // A current object needs no move, so its error has another cause.
            Err(object::Error::KeyTooLong { .. }) if !self.tx.core.is_current(self.id)? => {
                read(self.tx.core.load_unmovable(self.id)?)
            }
            moved => Ok(moved?),
        }
    }

    /// Whether an access to the object moves it to the transaction's schema in any case.
    pub(crate) fn access(&self) -> Migrate {
        self.binding.access
    }

    /// Whether the object's own schema lacks the field, and a value need not be made from others.
    /// The field then reads as its default where the object is.
    pub(crate) fn is_missing(&self, position: usize) -> Result<bool> {
        let plan = self.binding.plan(&*self.tx.core.object_type(self.id)?);
        Ok(self.binding.is_missing(&plan, position))
    }

    /// Whether the object's own schema lacks the field, so that nothing is stored in it, and the
    /// model states no default for it.
    pub(crate) fn is_empty_there(&self, position: usize) -> Result<bool> {
        let field = self.binding.field(position)?;
        let decl = self.binding.info.fields.get(position);
        Ok(self.access() == Migrate::No
            && decl.is_some_and(|decl| !decl.has_default())
            && !self.tx.core.encoded().defines(self.id, field)?
            && self.is_missing(position)?)
    }

    /// Whether removing from a collection changes nothing, because the object has nothing for it:
    /// its own schema lacks the field, and no unknown field can have the values under a newer name.
    pub(crate) fn has_nothing_to_remove(&self, position: usize) -> Result<bool> {
        if !self.is_empty_there(position)? {
            // A field with a name that this program does not know may be this one, renamed by a
            // newer program.
            return Ok(false);
        }
        let plan = self.binding.plan(&*self.tx.core.object_type(self.id)?);
        Ok(!self.binding.has_unknown_fields(&plan))
    }

    /// Prepares an object for a look at a collection. The object moves if its own schema defines
    /// the field differently, or if the model states a default for a field that the schema lacks.
    pub(crate) fn prepare_to_read(&self, position: usize) -> Result<()> {
        self.prepare(position, object::Transaction::require_current)
    }

    /// Prepares an object for new content of a collection. By Java's rules the object moves at
    /// once, otherwise [with the change](Handle::change), if it must. In both cases its rules are
    /// checked.
    pub(crate) fn prepare_to_replace(&self, position: usize) -> Result<()> {
        match self.access() {
            Migrate::Yes => self.prepare(position, object::Transaction::migrate_to_change),
            Migrate::No => Ok(()),
        }
    }

    /// Lets `move_it` move the object, if the collection cannot be used where the object is.
    fn prepare(
        &self,
        position: usize,
        move_it: fn(&object::Transaction, ObjId) -> object::Result<()>,
    ) -> Result<()> {
        let core = &self.tx.core;
        let field = self.binding.field(position)?;
        // A collection of the same definition is used where it is, and one that the object lacks is
        // empty.
        let stays = || -> Result<bool> {
            Ok(core.encoded().defines(self.id, field)? || self.is_empty_there(position)?)
        };
        if self.access() == Migrate::No && stays()? {
            return Ok(());
        }
        match move_it(core, self.id) {
            // The object stays, because an index entry would be too long.
            Err(object::Error::KeyTooLong { .. }) if !core.is_current(self.id)? && stays()? => {
                Ok(())
            }
            moved => Ok(moved?),
        }
    }

    /// Changes a field. The object moves first if its own schema lacks this definition of the
    /// field, or refuses the change.
    pub(crate) fn change<R>(
        &self,
        position: usize,
        mut change: impl FnMut() -> object::Result<R>,
    ) -> Result<R> {
        let core = &self.tx.core;
        let field = self.binding.field(position)?;
        let changed = match core.encoded().defines(self.id, field)? {
            true => change(),
            false => self.moving_first(&mut change),
        };
        match changed {
            Err(error) => self.after_moving(error, change),
            changed => Ok(changed?),
        }
    }

    /// Moves the object to the schema of the transaction, then changes it. If the change fails, the
    /// object does not move.
    fn moving_first<R>(&self, change: impl FnOnce() -> object::Result<R>) -> object::Result<R> {
        let core = &self.tx.core;
        core.mutate(|| {
            // It moves to be changed, so all its rules are checked, as for a new object.
            core.migrate_to_change(self.id)?;
            change()
        })
    }

    /// Tries a change again that failed in the object's own schema, after the object has moved to
    /// that of the transaction: it may allow other references there, or have no index.
    fn after_moving<R>(
        &self,
        error: object::Error,
        change: impl FnOnce() -> object::Result<R>,
    ) -> Result<R> {
        if !self.may_depend_on_schema(&error)? {
            return Err(error.into());
        }
        match self.moving_first(change) {
            // Most programs do not allow such references, so this error says what is wrong.
            Err(object::Error::MoveRefused(_) | object::Error::KeyTooLong { .. })
                if matches!(error, object::Error::DeletedObject { .. }) =>
            {
                Err(error.into())
            }
            moved => Ok(moved?),
        }
    }

    /// Whether a change that failed in the object's own schema may succeed in that of the
    /// transaction.
    pub(super) fn may_depend_on_schema(&self, error: &object::Error) -> Result<bool> {
        let may_depend = match error {
            object::Error::InvalidValue { .. } | object::Error::KeyTooLong { .. } => true,
            // A reference to an object that does not exist may be allowed there.
            object::Error::DeletedObject { id, .. } => *id != self.id,
            _ => false,
        };
        Ok(may_depend && !self.tx.core.is_current(self.id)?)
    }

    pub(crate) fn undecodable(&self, field: &ResolvedField, source: EncodingError) -> Error {
        // The object may be gone or damaged. Then the error is told without its schema.
        let schema = self.tx.core.object_schema(self.id).map(|schema| schema.id);
        self.binding.fields.undecodable(self.id, schema.ok(), field, source)
    }

    pub(crate) fn unencodable(&self, field: &ResolvedField, source: EncodingError) -> Error {
        Error::Encode { field: self.binding.path(field), source }
    }

    fn unconvertible(
        &self,
        position: usize,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Error {
        match self.binding.field(position) {
            Ok(field) => Error::Convert { field: self.binding.path(field), source: source.into() },
            Err(error) => error,
        }
    }
}
