//! Makes a schema model from the declarations of model structs.

use std::any::TypeId;
use std::fmt;

use super::declare::{CompositeDecl, FieldDecl, Shape, ValueDecl, ValueKind};
use super::error::{ModelError, ModelErrors};
use super::model_info::ModelInfo;
use crate::encoding::EncodingId;
use crate::id::StorageId;
use crate::schema::{
    CompositeIndex, DeleteAction, Field, ObjectType, SchemaModel, Simple, SubField,
};

/// Collects problems.
#[derive(Default)]
struct Problems(Vec<ModelError>);

impl Problems {
    fn add(&mut self, path: &str, problem: impl fmt::Display) {
        self.0.push(ModelError { path: path.to_owned(), problem: problem.to_string() });
    }
}

/// The schema model of `models`, or everything that is wrong with them.
pub(crate) fn schema_model(models: &[&ModelInfo]) -> Result<SchemaModel, ModelErrors> {
    let mut problems = Problems::default();
    let mut schema = SchemaModel::new();
    for (at, model) in models.iter().enumerate() {
        if models.iter().take(at).any(|other| other.name == model.name) {
            problems.add(model.name, "two structs are registered under this name");
            continue;
        }
        schema = schema.object_type(object_type(model, models, &mut problems));
    }
    if models.is_empty() {
        problems.add("models", "no model is registered: call `.model::<T>()` for each struct");
    }
    if problems.0.is_empty()
        && let Err(error) = schema.validate()
    {
        problems.add("schema", error);
    }
    if problems.0.is_empty() { Ok(schema) } else { Err(ModelErrors(problems.0)) }
}

fn object_type(model: &ModelInfo, models: &[&ModelInfo], problems: &mut Problems) -> ObjectType {
    let mut object_type = ObjectType::new(model.name).with_storage_id(storage_id(
        model.storage_id,
        model.name,
        problems,
    ));
    clashes(model, problems);
    former_names(model, problems);
    for field in model.fields {
        object_type = object_type.field(schema_field(model, field, models, problems));
    }
    for index in model.composites {
        object_type = object_type.composite_index(composite_index(model, index, problems));
    }
    object_type
}

/// Reports names that occur twice among the fields and indexes of a model and of its mix-ins. The
/// derive has compared the names within one struct.
fn clashes(model: &ModelInfo, problems: &mut Problems) {
    if model.mixins.is_empty() {
        return;
    }
    let twice = |what: &str, one, other| {
        let (one, other) = (declared_in(model, one), declared_in(model, other));
        format!("{what} in `{one}` and in `{other}`: rename one of them")
    };
    for (at, field) in model.fields.iter().enumerate() {
        let path = format!("{}.{}", model.name, field.name);
        let mut earlier = model.fields.iter().take(at);
        if let Some(other) = earlier.clone().find(|other| other.name == field.name) {
            let problem = twice("there is such a field", other.declared_in, field.declared_in);
            problems.add(&path, problem);
        } else if let Some(other) = earlier.find(|other| other.accessor == field.accessor) {
            let what = format!("there is an accessor `{}`", field.accessor);
            problems.add(&path, twice(&what, other.declared_in, field.declared_in));
        }
    }
    for (at, index) in model.composites.iter().enumerate() {
        let path = format!("{}#{}", model.name, index.name);
        let mut earlier = model.composites.iter().take(at);
        if let Some(other) = earlier.find(|other| other.name == index.name) {
            let what = "there is such a composite index";
            problems.add(&path, twice(what, other.declared_in, index.declared_in));
        }
        if let Some(field) = model.fields.iter().find(|field| field.name == index.name) {
            let what = "there is a field or composite index of this name";
            problems.add(&path, twice(what, field.declared_in, index.declared_in));
        }
    }
}

/// The name of the model, or of the one of its mix-ins that declares a field or index.
fn declared_in(model: &ModelInfo, of: Option<fn() -> TypeId>) -> &'static str {
    of.and_then(|of| model.mixin(of())).map_or(model.name, |mixin| mixin.path)
}

/// Reports names in `was` and `removed` that fields of the model or of its mix-ins have. The derive
/// has compared the names within one struct.
fn former_names(model: &ModelInfo, problems: &mut Problems) {
    if model.mixins.is_empty() {
        return;
    }
    let with_name = |name: &str| model.fields.iter().find(|field| field.name == name);
    for name in model.removed {
        if let Some(field) = with_name(name) {
            let problem = format!(
                "`{}` has this field: `removed` is for fields that the model no longer has",
                declared_in(model, field.declared_in)
            );
            problems.add(&format!("{}.{name}", model.name), problem);
        }
    }
    for (at, field) in model.fields.iter().enumerate() {
        let path = format!("{}.{}", model.name, field.name);
        for name in field.was {
            let earlier = model.fields.iter().take(at);
            if let Some(other) = with_name(name) {
                let other = declared_in(model, other.declared_in);
                problems.add(
                    &path,
                    format!(
                        "`{other}` has a field {name:?}: `was` is for names that no field has now"
                    ),
                );
            } else if let Some(other) = earlier.clone().find(|other| other.was.contains(name)) {
                let (mixin, other) = (declared_in(model, other.declared_in), other.name);
                problems.add(
                    &path,
                    format!(
                        "field `{other}` of `{mixin}` was {name:?} too: only one field gets the old values"
                    ),
                );
            }
        }
    }
}

fn storage_id(id: u32, path: &str, problems: &mut Problems) -> Option<StorageId> {
    // 0 asks for no particular ID.
    if id == 0 {
        return None;
    }
    let id = StorageId::new(id);
    if id.is_none() {
        problems.add(path, "the storage id is too large");
    }
    id
}

fn schema_field(
    model: &ModelInfo,
    declared: &FieldDecl,
    models: &[&ModelInfo],
    problems: &mut Problems,
) -> Field {
    let name = declared.name;
    let path = format!("{}.{name}", model.name);
    let mut sub_field = |value: &ValueDecl, sub_name: &str| {
        let path = format!("{path}.{sub_name}");
        let storage_id = storage_id(value.storage_id, &path, problems);
        SubField::new(simple(value, &path, models, problems)).with_storage_id(storage_id)
    };
    let field = match &declared.shape {
        Shape::Simple(value) => Field::new(name, simple(value, &path, models, problems)),
        Shape::Counter => Field::counter(name),
        Shape::Set(element) => Field::set(name, sub_field(element, "element")),
        Shape::List(element) => Field::list(name, sub_field(element, "element")),
        Shape::Map(key, value) => {
            let key = sub_field(key, "key");
            Field::map(name, key, sub_field(value, "value"))
        }
    };
    field.with_storage_id(storage_id(declared.storage_id, &path, problems))
}

fn simple(
    declared: &ValueDecl,
    path: &str,
    models: &[&ModelInfo],
    problems: &mut Problems,
) -> Simple {
    let simple = match (declared.kind)() {
        ValueKind::Plain(own) => Simple::of(encoding_id(declared, own, path, problems)),
        ValueKind::Enum(identifiers) => Simple::enumeration(identifiers.iter().copied()),
        ValueKind::EnumArray(dimensions, identifiers) => {
            Simple::enum_array(dimensions, identifiers.iter().copied())
        }
        ValueKind::Reference(types) => {
            let action = declared.inverse_delete.unwrap_or(DeleteAction::Exception);
            let mut simple =
                Simple::reference().on_delete(action).allow_deleted(declared.allow_deleted);
            if declared.forward_delete {
                simple = simple.forward_delete();
            }
            if let Some(names) = types {
                for name in names {
                    if !models.iter().any(|model| model.name == *name) {
                        problems.add(
                            path,
                            format_args!(
                                "it refers to `{name}`, which is not registered: add its model with \
                                 `Builder::model`"
                            ),
                        );
                    }
                }
                simple = simple.to(names.iter().copied());
            }
            return simple;
        }
    };
    if declared.indexed { simple.indexed() } else { simple }
}

fn encoding_id(
    declared: &ValueDecl,
    own: EncodingId,
    path: &str,
    problems: &mut Problems,
) -> EncodingId {
    let Some(given) = declared.encoding else { return own };
    EncodingId::from_alias(given).unwrap_or_else(|error| {
        problems.add(path, format_args!("encoding {given:?}: {error}"));
        own
    })
}

fn composite_index(
    model: &ModelInfo,
    declared: &CompositeDecl,
    problems: &mut Problems,
) -> CompositeIndex {
    let path = format!("{}#{}", model.name, declared.name);
    let fields = declared.fields().filter_map(|at| model.fields.get(at));
    CompositeIndex::new(declared.name, fields.map(|field| field.name)).with_storage_id(storage_id(
        declared.storage_id,
        &path,
        problems,
    ))
}
