//! The schema model: what the objects of a database look like (docs/src/schemas.md#models).

use crate::encoding::EncodingId;
use crate::encoding::string::compare as utf16_cmp;
use crate::id::StorageId;

/// The object types of a schema, by name. It is immutable: each step of building takes a model and
/// returns a new one.
///
/// A model may break the rules of [`validate`](SchemaModel::validate) until it is used.
///
/// ```
/// use permazen::encoding::EncodingId;
/// use permazen::schema::{DeleteAction, Field, ObjectType, SchemaModel, Simple};
///
/// let string: EncodingId = "urn:fdc:permazen.io:2020:String".parse()?;
/// let year: EncodingId = "urn:fdc:permazen.io:2020:int".parse()?;
/// let model = SchemaModel::new()
///     .object_type(ObjectType::new("Artist").field(Field::new("name", Simple::of(string.clone()).indexed())))
///     .object_type(
///         ObjectType::new("Album")
///             .field(Field::new("artist", Simple::reference().to(["Artist"]).on_delete(DeleteAction::Delete)))
///             .field(Field::new("year", Simple::of(year)))
///             .field(Field::set("labels", Simple::of(string).indexed()))
///             .index("byArtistYear", ["artist", "year"]),
///     );
/// model.validate()?;
/// assert_eq!(model.object_types()[0].name(), "Album"); // in name order
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaModel {
    types: Vec<ObjectType>,
}

impl SchemaModel {
    /// The empty schema.
    pub fn new() -> Self {
        SchemaModel::default()
    }

    /// Adds an object type. A second type with the same name makes the model invalid.
    #[must_use]
    pub fn object_type(mut self, object_type: ObjectType) -> Self {
        // A second type of the same name is kept, so that validation can report it.
        insert_sorted(&mut self.types, object_type, |t| &t.name);
        self
    }

    /// A model of these object types, which may be in any order. Faster than adding many types one
    /// by one.
    pub(super) fn of_types(mut types: Vec<ObjectType>) -> Self {
        types.sort_by(|a, b| utf16_cmp(&a.name, &b.name));
        SchemaModel { types }
    }

    /// The object types in name order.
    pub fn object_types(&self) -> &[ObjectType] {
        &self.types
    }

    /// The object type of that name.
    pub fn find_type(&self, name: &str) -> Option<&ObjectType> {
        find_sorted(&self.types, name, |t| &t.name)
    }

    /// Whether the model has no object types. This empty schema is never recorded.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    /// Gives every item a storage ID. `ids` are in the order of [`items`](SchemaModel::items).
    pub(super) fn set_storage_ids(&mut self, ids: Vec<Option<StorageId>>) {
        let mut ids = ids.into_iter();
        let mut next = || ids.next().flatten();
        for object_type in &mut self.types {
            object_type.storage_id = next();
            for field in &mut object_type.fields {
                field.storage_id = next();
                match &mut field.kind {
                    FieldKind::Set(element) | FieldKind::List(element) => {
                        element.storage_id = next();
                    }
                    FieldKind::Map { key, value } => {
                        key.storage_id = next();
                        value.storage_id = next();
                    }
                    FieldKind::Simple(_) | FieldKind::Counter => {}
                }
            }
            for index in &mut object_type.indexes {
                index.storage_id = next();
            }
        }
    }
}

/// An object type: its fields and composite indexes, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectType {
    name: String,
    storage_id: Option<StorageId>,
    fields: Vec<Field>,
    indexes: Vec<CompositeIndex>,
}

impl ObjectType {
    /// An object type without fields.
    pub fn new(name: impl Into<String>) -> Self {
        ObjectType { name: name.into(), storage_id: None, fields: Vec::new(), indexes: Vec::new() }
    }

    /// Asks for this storage ID instead of an assigned one. The largest ID, 2147483647, cannot be
    /// recorded for an object type, because Java could not list its objects.
    #[must_use]
    pub fn with_storage_id(mut self, id: impl Into<Option<StorageId>>) -> Self {
        self.storage_id = id.into();
        self
    }

    /// Adds a field. A second field with the same name makes the model invalid.
    #[must_use]
    pub fn field(mut self, field: Field) -> Self {
        insert_sorted(&mut self.fields, field, |f| &f.name);
        self
    }

    /// The type with these fields and indexes, which may be in any order. Faster than adding many
    /// one by one.
    pub(super) fn of_parts(
        mut self,
        mut fields: Vec<Field>,
        mut indexes: Vec<CompositeIndex>,
    ) -> Self {
        fields.sort_by(|a, b| utf16_cmp(&a.name, &b.name));
        indexes.sort_by(|a, b| utf16_cmp(&a.name, &b.name));
        self.fields = fields;
        self.indexes = indexes;
        self
    }

    /// Adds a composite index on 2 to 4 fields.
    #[must_use]
    pub fn index<S: Into<String>>(
        self,
        name: impl Into<String>,
        fields: impl IntoIterator<Item = S>,
    ) -> Self {
        self.composite_index(CompositeIndex::new(name, fields))
    }

    /// Adds a composite index.
    #[must_use]
    pub fn composite_index(mut self, index: CompositeIndex) -> Self {
        insert_sorted(&mut self.indexes, index, |i| &i.name);
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The storage ID that the type asks for; `None` if the database assigns one.
    pub fn storage_id(&self) -> Option<StorageId> {
        self.storage_id
    }

    /// The fields in name order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The field of that name.
    pub fn find_field(&self, name: &str) -> Option<&Field> {
        find_sorted(&self.fields, name, |f| &f.name)
    }

    /// The composite indexes in name order.
    pub fn indexes(&self) -> &[CompositeIndex] {
        &self.indexes
    }

    /// The composite index of that name.
    pub fn find_index(&self, name: &str) -> Option<&CompositeIndex> {
        find_sorted(&self.indexes, name, |i| &i.name)
    }
}

/// A field of an object type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    name: String,
    storage_id: Option<StorageId>,
    kind: FieldKind,
}

impl Field {
    /// A field of any kind. The kind may be a [`Simple`].
    pub fn new(name: impl Into<String>, kind: impl Into<FieldKind>) -> Self {
        Field { name: name.into(), storage_id: None, kind: kind.into() }
    }

    /// A counter.
    pub fn counter(name: impl Into<String>) -> Self {
        Field::new(name, FieldKind::Counter)
    }

    /// A set. Its elements are distinct, and in the order of their encoding.
    pub fn set(name: impl Into<String>, element: impl Into<SubField>) -> Self {
        Field::new(name, FieldKind::Set(element.into()))
    }

    /// A list.
    pub fn list(name: impl Into<String>, element: impl Into<SubField>) -> Self {
        Field::new(name, FieldKind::List(element.into()))
    }

    /// A map. Its entries are in the order of the keys' encoding.
    pub fn map(
        name: impl Into<String>,
        key: impl Into<SubField>,
        value: impl Into<SubField>,
    ) -> Self {
        Field::new(name, FieldKind::Map { key: key.into(), value: value.into() })
    }

    /// Asks for this storage ID instead of an assigned one.
    #[must_use]
    pub fn with_storage_id(mut self, id: impl Into<Option<StorageId>>) -> Self {
        self.storage_id = id.into();
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The storage ID that the field asks for; `None` if the database assigns one.
    pub fn storage_id(&self) -> Option<StorageId> {
        self.storage_id
    }

    /// The kind of the field, with its properties.
    pub fn kind(&self) -> &FieldKind {
        &self.kind
    }

    /// The value of a simple field; `None` for counters and collections.
    pub fn simple(&self) -> Option<&Simple> {
        match &self.kind {
            FieldKind::Simple(simple) => Some(simple),
            _ => None,
        }
    }

    /// The sub-fields in name order, each with its name.
    pub fn sub_fields(&self) -> impl Iterator<Item = (&'static str, &SubField)> {
        let (first, second) = match &self.kind {
            FieldKind::Set(element) | FieldKind::List(element) => (Some((ELEMENT, element)), None),
            FieldKind::Map { key, value } => (Some((KEY, key)), Some((VALUE, value))),
            FieldKind::Simple(_) | FieldKind::Counter => (None, None),
        };
        first.into_iter().chain(second)
    }
}

/// Name of the sub-field of sets and lists.
pub const ELEMENT: &str = "element";
/// Name of the key sub-field of maps.
pub const KEY: &str = "key";
/// Name of the value sub-field of maps.
pub const VALUE: &str = "value";

/// The kind of a field, with its properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldKind {
    /// One value.
    Simple(Simple),
    /// A 64-bit number. Transactions can adjust it without conflicts.
    Counter,
    /// A set.
    Set(SubField),
    /// A list.
    List(SubField),
    /// A map.
    Map {
        /// The keys.
        key: SubField,
        /// The values.
        value: SubField,
    },
}

impl From<Simple> for FieldKind {
    fn from(simple: Simple) -> Self {
        FieldKind::Simple(simple)
    }
}

/// The elements of a set or list, or the keys or values of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubField {
    storage_id: Option<StorageId>,
    simple: Simple,
}

impl SubField {
    /// A sub-field that does not ask for a storage ID.
    pub fn new(simple: Simple) -> Self {
        SubField { storage_id: None, simple }
    }

    /// Asks for this storage ID instead of an assigned one.
    #[must_use]
    pub fn with_storage_id(mut self, id: impl Into<Option<StorageId>>) -> Self {
        self.storage_id = id.into();
        self
    }

    /// The storage ID that the sub-field asks for; `None` if the database assigns one.
    pub fn storage_id(&self) -> Option<StorageId> {
        self.storage_id
    }

    /// The type of its values.
    pub fn simple(&self) -> &Simple {
        &self.simple
    }
}

impl From<Simple> for SubField {
    fn from(simple: Simple) -> Self {
        SubField::new(simple)
    }
}

/// A value of a simple kind, and whether it is indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simple {
    kind: SimpleKind,
    indexed: bool,
}

impl Simple {
    /// A value with that encoding.
    pub fn of(encoding: EncodingId) -> Self {
        Simple { kind: SimpleKind::Plain(encoding), indexed: false }
    }

    /// A reference to objects of any type. An object cannot be deleted while it is referred to.
    pub fn reference() -> Self {
        Simple { kind: SimpleKind::Reference(Reference::default()), indexed: true }
    }

    /// One of these constants. Their order matters.
    pub fn enumeration<S: Into<String>>(identifiers: impl IntoIterator<Item = S>) -> Self {
        let identifiers = identifiers.into_iter().map(Into::into).collect();
        Simple { kind: SimpleKind::Enum { identifiers }, indexed: false }
    }

    /// An array of constants with 1 to 255 dimensions.
    pub fn enum_array<S: Into<String>>(
        dimensions: u8,
        identifiers: impl IntoIterator<Item = S>,
    ) -> Self {
        let identifiers = identifiers.into_iter().map(Into::into).collect();
        Simple { kind: SimpleKind::EnumArray { identifiers, dimensions }, indexed: false }
    }

    /// Adds an index. References always have one.
    #[must_use]
    pub fn indexed(mut self) -> Self {
        self.indexed = true;
        self
    }

    /// Sets the action on a referring object when the object it refers to is deleted.
    /// [`DeleteAction::Ignore`] also allows references to deleted objects, and the other actions
    /// forbid them. No effect on other kinds of values.
    #[must_use]
    pub fn on_delete(self, action: DeleteAction) -> Self {
        self.change_reference(|reference| {
            reference.inverse_delete = action;
            // As in Java, only a field that ignores deletions may refer to deleted objects by
            // default.
            reference.allow_deleted = action == DeleteAction::Ignore;
        })
    }

    /// When the referring object is deleted, the object it refers to is deleted too. No effect on
    /// other kinds of values.
    #[must_use]
    pub fn forward_delete(self) -> Self {
        self.change_reference(|reference| reference.forward_delete = true)
    }

    /// Whether the reference may be set to an object that does not exist. No effect on other kinds
    /// of values.
    #[must_use]
    pub fn allow_deleted(self, allow: bool) -> Self {
        self.change_reference(|reference| reference.allow_deleted = allow)
    }

    /// Restricts the reference to objects of these types. No effect on other kinds of values.
    #[must_use]
    pub fn to<S: Into<String>>(self, types: impl IntoIterator<Item = S>) -> Self {
        self.change_reference(|reference| {
            let mut names: Vec<String> = types.into_iter().map(Into::into).collect();
            // The order does not matter, and the schema ID is made of the sorted names.
            names.sort_unstable_by(|a, b| utf16_cmp(a, b));
            names.dedup();
            reference.object_types = Some(names);
        })
    }

    fn change_reference(mut self, change: impl FnOnce(&mut Reference)) -> Self {
        if let SimpleKind::Reference(reference) = &mut self.kind {
            change(reference);
        }
        self
    }

    /// Which of the four simple kinds it is.
    pub fn kind(&self) -> &SimpleKind {
        &self.kind
    }

    /// Whether it has an index.
    pub fn is_indexed(&self) -> bool {
        self.indexed
    }

    /// The options of the reference, if it is one.
    pub fn as_reference(&self) -> Option<&Reference> {
        match &self.kind {
            SimpleKind::Reference(reference) => Some(reference),
            _ => None,
        }
    }
}

/// The four simple kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SimpleKind {
    /// A value with a registered encoding.
    Plain(EncodingId),
    /// A reference to an object.
    Reference(Reference),
    /// One of the identifiers.
    Enum {
        /// The identifiers in order.
        identifiers: Vec<String>,
    },
    /// An array of identifiers.
    EnumArray {
        /// The identifiers in order.
        identifiers: Vec<String>,
        /// Dimensions of the array, 1 to 255.
        dimensions: u8,
    },
}

/// Options of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    inverse_delete: DeleteAction,
    forward_delete: bool,
    allow_deleted: bool,
    object_types: Option<Vec<String>>,
}

impl Default for Reference {
    fn default() -> Self {
        Reference {
            inverse_delete: DeleteAction::Exception,
            forward_delete: false,
            allow_deleted: false,
            object_types: None,
        }
    }
}

impl Reference {
    /// The action on a referring object when the object it refers to is deleted.
    pub fn inverse_delete(&self) -> DeleteAction {
        self.inverse_delete
    }

    /// Whether the object that is referred to is deleted with the referring object.
    pub fn forward_delete(&self) -> bool {
        self.forward_delete
    }

    /// Whether the reference may be set to an object that does not exist.
    pub fn allow_deleted(&self) -> bool {
        self.allow_deleted
    }

    /// The names of the types it may refer to, in name order and each once. `None` allows every
    /// type; an empty list allows no type.
    pub fn object_types(&self) -> Option<&[String]> {
        self.object_types.as_deref()
    }
}

/// The action on referring objects when an object is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeleteAction {
    /// Nothing: the reference stays and refers to no object.
    Ignore,
    /// The deletion is refused.
    Exception,
    /// The reference becomes null.
    Nullify,
    /// The element or entry is removed from its collection. Only sub-fields can have this action.
    Remove,
    /// The referring object is deleted too.
    Delete,
}

impl DeleteAction {
    /// All actions, in the order of declaration.
    pub const ALL: [DeleteAction; 5] = [
        DeleteAction::Ignore,
        DeleteAction::Exception,
        DeleteAction::Nullify,
        DeleteAction::Remove,
        DeleteAction::Delete,
    ];

    /// The name used in schema XML: `IGNORE`, `EXCEPTION`, …
    pub fn as_str(self) -> &'static str {
        match self {
            DeleteAction::Ignore => "IGNORE",
            DeleteAction::Exception => "EXCEPTION",
            DeleteAction::Nullify => "NULLIFY",
            DeleteAction::Remove => "REMOVE",
            DeleteAction::Delete => "DELETE",
        }
    }

    /// The action with that name.
    pub fn from_name(name: &str) -> Option<DeleteAction> {
        Self::ALL.into_iter().find(|action| action.as_str() == name)
    }
}

/// An index on the combined values of 2 to 4 simple fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompositeIndex {
    name: String,
    storage_id: Option<StorageId>,
    fields: Vec<String>,
}

impl CompositeIndex {
    /// An index on these fields, in this order.
    pub fn new<S: Into<String>>(
        name: impl Into<String>,
        fields: impl IntoIterator<Item = S>,
    ) -> Self {
        let fields = fields.into_iter().map(Into::into).collect();
        CompositeIndex { name: name.into(), storage_id: None, fields }
    }

    /// Asks for this storage ID instead of an assigned one.
    #[must_use]
    pub fn with_storage_id(mut self, id: impl Into<Option<StorageId>>) -> Self {
        self.storage_id = id.into();
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The storage ID that the index asks for; `None` if the database assigns one.
    pub fn storage_id(&self) -> Option<StorageId> {
        self.storage_id
    }

    /// The names of the indexed fields, in index order.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }
}

fn insert_sorted<T>(items: &mut Vec<T>, item: T, name: impl Fn(&T) -> &String) {
    let at = items.partition_point(|other| utf16_cmp(name(other), name(&item)).is_le());
    items.insert(at, item);
}

fn find_sorted<'a, T>(items: &'a [T], wanted: &str, name: impl Fn(&T) -> &String) -> Option<&'a T> {
    let at = items.binary_search_by(|item| utf16_cmp(name(item), wanted)).ok()?;
    items.get(at)
}
