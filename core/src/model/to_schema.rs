//! Makes a schema model from the declarations of model structs.

use super::declare::{CompositeDecl, FieldDecl, Shape, ValueDecl, ValueKind};
use std::fmt;

use super::error::{ModelError, ModelErrors};
use super::target::ModelInfo;
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
pub(crate) fn schema_model(models: &[ModelInfo]) -> Result<SchemaModel, ModelErrors> {
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

fn object_type(model: &ModelInfo, models: &[ModelInfo], problems: &mut Problems) -> ObjectType {
    let mut object_type = ObjectType::new(model.name).with_storage_id(storage_id(
        model.storage_id,
        model.name,
        problems,
    ));
    for field in model.fields {
        object_type = object_type.field(schema_field(model, field, models, problems));
    }
    for index in model.composites {
        object_type = object_type.composite_index(composite_index(model, index, problems));
    }
    object_type
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
    models: &[ModelInfo],
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
    models: &[ModelInfo],
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
                            format_args!("it refers to `{name}`, which is not registered"),
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
    let fields = declared.fields.iter().filter_map(|at| model.fields.get(*at));
    CompositeIndex::new(declared.name, fields.map(|field| field.name)).with_storage_id(storage_id(
        declared.storage_id,
        &path,
        problems,
    ))
}
