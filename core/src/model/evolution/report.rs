//! The report on stored objects under a set of models, as data and in words.

use std::fmt;

use super::refused_move::WaysOn;
use crate::schema::SchemaId;

/// The report on objects that were stored with other models, from the recorded schemas alone. No
/// value is read, so nothing here says what a single object holds. It displays as text for people,
/// with a line for each field that is not the same.
///
/// [`Permazen::evolution_report`](crate::model::Permazen::evolution_report) makes it. With the
/// feature `serde` it can be serialized.
///
/// ```
/// use permazen::kv::KvDatabase;
/// use permazen::kv::memory::MemoryStore;
/// use permazen::{Permazen, PermazenObject};
/// # use std::sync::Arc;
/// mod before {
///     #[derive(permazen::PermazenObject, Default)]
///     pub struct Person {
///         pub age: i32,
///         pub nickname: String,
///     }
/// }
///
/// #[derive(PermazenObject)]
/// struct Person {
///     age: i64,
/// }
///
/// let store: Arc<dyn KvDatabase> = Arc::new(MemoryStore::new());
/// let db = Permazen::builder_shared(store.clone()).model::<before::Person>().build()?;
/// db.write(|tx| tx.create(before::Person::default()).map(drop))?;
///
/// let db = Permazen::builder_shared(store).model::<Person>().build()?;
/// let report = db.evolution_report()?;
/// let lost: Vec<_> = report.warnings().map(|warning| &*warning.field.name).collect();
/// assert_eq!(lost, ["nickname"]);
/// assert!(report.to_string().contains("age: every value is converted exactly, from int to long"));
/// # Ok::<(), permazen::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct EvolutionReport {
    /// The schema of the models.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_text"))]
    pub schema: SchemaId,
    /// The other recorded schemas, by ascending number.
    pub versions: Vec<VersionReport>,
    /// Conversions that the models state, and that are never called for a recorded schema.
    pub never_called: Vec<NeverCalled>,
}

/// The report on the objects of one recorded schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct VersionReport {
    /// The recorded schema.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_text"))]
    pub schema: SchemaId,
    /// The number under which it is recorded.
    pub number: u32,
    /// Its object types, in name order.
    pub types: Vec<TypeReport>,
}

/// The report on the objects of one type of a recorded schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TypeReport {
    /// The name of the type.
    pub name: String,
    /// How many objects of the type are in this schema.
    #[doc(hidden)]
    pub objects: ObjectCount,
    /// Whether the models have the type. If they do not, its objects stay as they are.
    pub in_models: bool,
    /// First the fields of the model, in their order, then the fields that the model lacks. The
    /// text lists these apart.
    pub fields: Vec<FieldReport>,
    /// The indexes of the model: those of its fields, then its composite indexes.
    #[doc(hidden)]
    pub indexes: Vec<IndexReport>,
}

/// A number of objects, counted up to [`ObjectCount::LIMIT`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ObjectCount {
    /// How many were counted.
    pub counted: u32,
    /// Whether there may be more.
    pub or_more: bool,
}

impl ObjectCount {
    /// Where counting stops.
    pub const LIMIT: u32 = 1_000;
}

/// The report on one field.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct FieldReport {
    /// Its name in the model, or in the recorded schema if the model lacks it.
    pub name: String,
    /// Its name in the recorded schema, if it had another one there.
    pub was: Option<String>,
    /// The verdict on its values, for an object that moves to the schema of the models.
    pub verdict: FieldVerdict,
    /// The delete actions that differ between the two schemas, for the field and its sub-fields. An
    /// object obeys its own schema until it moves.
    #[doc(hidden)]
    pub delete_actions: Vec<DeleteActionReport>,
}

/// The delete actions of a reference before and after its object moves to the schema of the models.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DeleteActionReport {
    /// The full name of the field or sub-field in the model, `friends.element`.
    pub name: String,
    /// The action that applies in the recorded schema, as the attributes of a field would name it:
    /// `inverse_delete = "exception", forward_delete`.
    pub from: String,
    /// The action in the model.
    pub to: String,
}

/// The verdict on the values of a field, for an object that moves to the schema of the models.
/// Until then the object keeps its values.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(tag = "is", rename_all = "snake_case")
)]
#[non_exhaustive]
pub enum FieldVerdict {
    /// They are used where they are.
    Same,
    /// They are used where they are. The field of the model can refer to objects of more types.
    SameAndMore {
        /// The content of the field in the recorded schema.
        from: String,
        /// Its content in the model.
        to: String,
    },
    /// The objects lack the field. It has its default there.
    Added,
    /// The objects have no value for the field, because they lack it or because it is reset, and
    /// the model requires one and states no default. Reading such an object fails until the field
    /// is set.
    Required,
    /// All of them are converted exactly.
    Exact {
        /// The content of the field in the recorded schema.
        from: String,
        /// Its content in the model.
        to: String,
    },
    /// All of them are converted exactly. Null is too, but the model requires a value. Reading an
    /// object that had null fails until the field is set.
    ExactOrNull {
        /// The content of the field in the recorded schema.
        from: String,
        /// Its content in the model.
        to: String,
    },
    /// Some of them may have no exact counterpart. An object with such a value does not move.
    Look {
        /// The content of the field in the recorded schema.
        from: String,
        /// Its content in the model.
        to: String,
    },
    /// The `upgrade_with` of the field converts them.
    OwnCode,
    /// The objects lack the field, and its `upgrade_with` makes its value.
    OwnCodeMakes,
    /// The `on_schema_change` of the type may set the field. If it does not, values would be lost,
    /// so the object does not move, or a required value is missing.
    OwnCodeMaySet,
    /// The model lacks the field. Code of the program, `upgrade_with` of any field or
    /// `on_schema_change` of the type, may take the value. Whether it does is only known when it
    /// runs: an object that has a value that is not taken does not move.
    OwnCodeMayTake,
    /// They are converted as well as possible, as the model accepts (`upgrade = "lossy"`), or as
    /// [`Evolution::AsJava`](crate::model::Evolution::AsJava) does. Values without a counterpart
    /// are lost.
    Lossy {
        /// The content of the field in the recorded schema.
        from: String,
        /// Its content in the model.
        to: String,
    },
    /// The same, but values without a counterpart become null, and the model requires a value and
    /// states no default. Reading such an object fails until the field is set.
    LossyOrNull {
        /// The content of the field in the recorded schema.
        from: String,
        /// Its content in the model.
        to: String,
    },
    /// They are dropped and the field starts at its default, as the model accepts
    /// (`upgrade = "reset"`), or as [`Evolution::AsJava`](crate::model::Evolution::AsJava) does.
    Reset,
    /// The model lacks the field, and accepts that its values are dropped (`removed`), or
    /// [`Evolution::AsJava`](crate::model::Evolution::AsJava) drops them.
    Dropped,
    /// They would be lost, so an object that has any does not move. Null and empty collections are
    /// nothing that is lost.
    WouldLose {
        /// Why.
        reason: String,
        /// Whether the model lacks the field.
        removed: bool,
    },
}

/// Whether an index of the model has the objects of a recorded schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct IndexReport {
    /// The field or sub-field that is indexed, or the name of the composite index.
    pub name: String,
    /// Whether it has them all, also where their entries are in an older index that means the same.
    /// If not, it has none of them until they move, and queries of it fail with
    /// [`Error::PartialIndex`](crate::model::Error::PartialIndex) if there are any. By [Java's
    /// rules](crate::model::Evolution::AsJava) they do not fail, and find the indexed objects.
    pub is_complete: bool,
    /// Whether it also has them for queries with the keys of map values (`with_keys()`). They need
    /// keys of the same definition. The same as `is_complete` for other indexes.
    pub is_complete_with_keys: bool,
}

/// A conversion that a model states for a field (`upgrade_with`, or `upgrade = "reset"`), and a
/// recorded schema for whose objects it is never called: the field has the same name and type
/// there, so its value is used where it is.
///
/// If the value means something else now, give the field a new name, and make the new value of the
/// old one: `#[permazen(upgrade_with = to_cents)] cents: i32`, where `to_cents` takes the old
/// `price`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct NeverCalled {
    /// The name of the object type.
    pub object_type: String,
    /// The name of the field.
    pub field: String,
    /// The attribute of the model: `upgrade_with` or `upgrade = "reset"`.
    pub stated: String,
    /// The recorded schema. That of the models is named only if the conversion is called for no
    /// recorded schema.
    #[cfg_attr(feature = "serde", serde(serialize_with = "as_text"))]
    pub schema: SchemaId,
    /// The number under which it is recorded.
    pub number: u32,
    /// How many objects of the type are in this schema.
    #[doc(hidden)]
    pub objects: ObjectCount,
    /// Whether the conversion is called for another recorded schema, in which the field has another
    /// definition.
    pub called_for_others: bool,
}

/// A field whose values would be lost, or whose required value is missing, in a type with objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct EvolutionWarning<'r> {
    /// The recorded schema.
    pub version: &'r VersionReport,
    /// The type.
    pub object_type: &'r TypeReport,
    /// The field.
    pub field: &'r FieldReport,
}

impl EvolutionReport {
    /// The findings that [`Builder::strict`](crate::model::Builder::strict) refuses: fields whose
    /// values would be lost, and required values that are missing, where they concern at least one
    /// object.
    pub fn warnings(&self) -> impl Iterator<Item = EvolutionWarning<'_>> {
        let types = self.versions.iter().flat_map(|version| {
            let with_objects = version.types.iter().filter(|report| report.objects.counted > 0);
            with_objects.map(move |object_type| (version, object_type))
        });
        types.flat_map(|(version, object_type)| {
            let fields = object_type.fields.iter().filter(|field| field.verdict.is_warning());
            fields.map(move |field| EvolutionWarning { version, object_type, field })
        })
    }
}

impl FieldReport {
    fn is_the_same(&self) -> bool {
        self.verdict == FieldVerdict::Same && self.delete_actions.is_empty()
    }
}

impl FieldVerdict {
    /// Whether it is about a field that the model lacks.
    fn is_of_lacking_field(&self) -> bool {
        matches!(
            self,
            FieldVerdict::Dropped
                | FieldVerdict::OwnCodeMayTake
                | FieldVerdict::WouldLose { removed: true, .. }
        )
    }

    /// Whether values would be lost, or a required value is missing, also in place of one that has
    /// no counterpart.
    pub fn is_warning(&self) -> bool {
        matches!(
            self,
            FieldVerdict::Required
                | FieldVerdict::LossyOrNull { .. }
                | FieldVerdict::WouldLose { .. }
        )
    }
}

#[cfg(feature = "serde")]
fn as_text<S: serde::Serializer>(id: &SchemaId, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(id)
}

impl fmt::Display for EvolutionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.versions.is_empty() {
            f.write_str("no other schema is recorded")?;
        }
        for (at, version) in self.versions.iter().enumerate() {
            let newline = if at > 0 { "\n" } else { "" };
            write!(f, "{newline}{version}")?;
        }
        self.never_called.iter().try_for_each(|it| write!(f, "\n{it}"))
    }
}

impl fmt::Display for VersionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "schema {}, recorded as number {}:", self.schema, self.number)?;
        self.types.iter().try_for_each(|object_type| write!(f, "\n{object_type}"))
    }
}

impl fmt::Display for TypeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {}: {}", self.name, self.objects)?;
        if !self.in_models {
            return f.write_str("; the models have no such type, so they stay as they are");
        }
        let differ = self.fields.iter().filter(|field| !field.is_the_same());
        // No objects lack nothing.
        let indexes = self.indexes.iter().filter(|_| self.objects.counted > 0);
        let partial = indexes.filter(|index| !index.is_complete_with_keys);
        if differ.clone().next().is_none() && partial.clone().next().is_none() {
            return f.write_str("; all its fields and indexes have the same values");
        }
        let (lacking, own): (Vec<_>, Vec<_>) =
            differ.partition(|field| field.verdict.is_of_lacking_field());
        for field in own {
            write!(f, "\n    {field}")?;
            field.delete_actions.iter().try_for_each(|action| write!(f, "; {action}"))?;
        }
        if !lacking.is_empty() {
            f.write_str("\n    fields of that schema that the models lack:")?;
        }
        lacking.iter().try_for_each(|field| write!(f, "\n      {field}"))?;
        for index in partial {
            match index.is_complete {
                false => {
                    write!(
                        f,
                        "\n    index {}: partial, these objects are not in it yet",
                        index.name
                    )?;
                }
                true => write!(
                    f,
                    "\n    index {}: partial for queries with keys, which have another definition",
                    index.name
                )?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for ObjectCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.counted, self.or_more) {
            (0, _) => f.write_str("no objects"),
            (1, false) => f.write_str("1 object"),
            (counted, false) => write!(f, "{counted} objects"),
            (counted, true) => write!(f, "at least {counted} objects"),
        }
    }
}

impl fmt::Display for DeleteActionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DeleteActionReport { name, from, to } = self;
        write!(
            f,
            "deletions: {from} applies to {name} until an object moves (`migrate`, `upgrade_all`), then {to}"
        )
    }
}

impl fmt::Display for FieldReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        if let Some(was) = &self.was {
            write!(
                f,
                "renamed from {was}, so programs of that schema do not find it in newer objects; "
            )?;
        }
        match &self.verdict {
            FieldVerdict::Same => f.write_str("the same"),
            FieldVerdict::SameAndMore { from, to } => {
                write!(f, "every value is kept; more types are allowed: {from} becomes {to}")
            }
            FieldVerdict::Added => f.write_str("added, with its default"),
            FieldVerdict::Required => f.write_str(
                "no value for a field that requires one and has no default: reading such an object fails \
                 until the field is set; give it `default = …`, or make it an `Option`",
            ),
            FieldVerdict::Exact { from, to } if from == to => f.write_str("every value is kept"),
            FieldVerdict::Exact { from, to } => {
                write!(f, "every value is converted exactly, from {from} to {to}")
            }
            FieldVerdict::ExactOrNull { from, to } => write!(
                f,
                "every value is converted exactly, from {from} to {to}, but null is no value there: \
                 reading an object that had null fails until the field is set; make a value of it \
                 (`upgrade_with`), or make the field an `Option`"
            ),
            FieldVerdict::Look { from, to } => write!(
                f,
                "not every value can be converted exactly, from {from} to {to}; an object with a \
                 value that cannot stays as it is"
            ),
            FieldVerdict::LossyOrNull { from, to } => write!(
                f,
                "converted as well as possible, from {from} to {to}; what has no counterpart is null, and \
                 the model requires a value: reading such an object fails until the field is set; give it \
                 `default = …`, make it an `Option`, or convert it yourself (`upgrade_with`)"
            ),
            FieldVerdict::OwnCode => f.write_str("own code converts it"),
            FieldVerdict::OwnCodeMakes => f.write_str(
                "new, and own code makes it; programs of that schema do not find it in newer objects: where they \
                 look for the fields it is made of, they read 0 or another default",
            ),
            FieldVerdict::OwnCodeMaySet => f.write_str(
                "own code of the type may set it; if it does not, an object with a value that would be lost stays as \
                 it is, and reading a required value that is missing fails",
            ),
            FieldVerdict::OwnCodeMayTake => f.write_str(
                "own code may take it; an object whose value it does not take stays as it is; programs of that schema \
                 do not find it in newer objects: they read 0 or another default",
            ),
            FieldVerdict::Lossy { from, to } => write!(
                f,
                "converted as well as possible, from {from} to {to}; what has no counterpart is \
                 lost"
            ),
            FieldVerdict::Reset => f.write_str("dropped; it starts at its default"),
            FieldVerdict::Dropped => f.write_str("dropped"),
            FieldVerdict::WouldLose { reason, removed } => {
                let field = self.was.as_ref().unwrap_or(&self.name);
                let ways_on = WaysOn { field, removed: *removed };
                write!(
                    f,
                    "would be lost, so an object with such a value stays as it is: {reason}; {ways_on}"
                )
            }
        }
    }
}

impl fmt::Display for NeverCalled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NeverCalled { object_type, field, stated, number, objects, .. } = self;
        write!(
            f,
            "{object_type}.{field}: `{stated}` is never called for schema {number} ({objects}): same \
             definition; if the value means something else now, give the field a new name with \
             `upgrade_with`"
        )
    }
}

impl fmt::Display for EvolutionWarning<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EvolutionWarning { version, object_type, field } = self;
        let (name, count) = (&object_type.name, object_type.objects);
        write!(f, "{name}.{field} ({count} of schema {})", version.schema)
    }
}
