//! Random schemas, and random changes to them.

use std::collections::{BTreeMap, BTreeSet};

use permazen::StorageId;
use permazen::schema::{
    DeleteAction, Field, FieldKind, ObjectType, SchemaId, SchemaModel, Simple, SubField,
};

use crate::random::Random;
use crate::values::Values;

const TYPES: &[&str] = &["A", "Beta", "Z", "été", "Ωmega"];
const FIELDS: &[&str] = &["a", "b", "c", "dd", "e", "f", "g", "h", "名"];
const INDEXES: &[&str] = &["x", "y2", "zz"];

/// The versions of a schema that a history uses.
pub fn versions(values: &Values, random: &mut Random) -> Vec<SchemaModel> {
    let mut sketch = Sketch { names: values.names(), ..Sketch::default() };
    let explicit = [0, 0, 30, 100][random.below(4)];
    let mut ids = StorageIds { explicit, ..StorageIds::default() };
    let count = [1, 1, 2, 3][random.below(4)];
    let mut models = Vec::new();
    // A sketch may break a rule of schemas, for example if one composite index is the beginning of
    // another.
    for _ in 0..1000 {
        let mut next = sketch.clone();
        next.change(random);
        let model = next.model(values, random);
        if model.validate().is_err() || models.len() == count {
            continue;
        }
        models.push(ids.assign(&model, random));
        sketch = next;
    }
    models
}

/// The content of a field, or of a part of it.
#[derive(Debug, Clone)]
enum Part {
    Value { kind: String, indexed: bool },
    Reference { forward: bool, types: Option<BTreeSet<String>> },
}

#[derive(Debug, Clone)]
enum Shape {
    Simple(Part),
    Counter,
    Set(Part),
    List(Part),
    Map(Part, Part),
}

#[derive(Debug, Clone, Default)]
struct TypeSketch {
    fields: BTreeMap<String, Shape>,
    indexes: BTreeMap<String, Vec<String>>,
}

/// A schema in the making.
#[derive(Debug, Clone, Default)]
struct Sketch {
    /// All kinds of values.
    names: Vec<String>,
    types: BTreeMap<String, TypeSketch>,
    /// The actions on holders. Java lets one action work on all holders that share a storage ID
    /// within a schema (D1). So within one version, all fields with the same storage ID have the
    /// same action.
    actions: BTreeMap<FieldPart, DeleteAction>,
    /// Which references may dangle. All versions have the same. Otherwise, migrating an object to a
    /// version that does not allow its dangling references would be no defect of either side, but
    /// the checkers would report it.
    dangling: BTreeMap<FieldPart, bool>,
}

/// Kind and name of a field, and the part of it.
type FieldPart = (&'static str, String, &'static str);

impl Sketch {
    /// Makes the next version.
    fn change(&mut self, random: &mut Random) {
        let first = self.types.is_empty();
        if !first && random.chance(15) {
            let names: Vec<String> = self.types.keys().cloned().collect();
            if let Some(name) = random.of(&names) {
                self.types.remove(name);
            }
        }
        let new_types = if first { 1 + random.below(4) } else { usize::from(random.chance(25)) };
        for _ in 0..new_types {
            let name = TYPES[random.below(TYPES.len())];
            self.types.entry(name.to_owned()).or_default();
        }
        if !first && random.chance(40) {
            self.actions.clear();
        }
        let names: Vec<String> = self.types.keys().cloned().collect();
        for name in names {
            self.change_fields(&name, random);
            self.change_indexes(&name, random);
        }
    }

    fn change_fields(&mut self, type_name: &str, random: &mut Random) {
        let Some(mut object_type) = self.types.remove(type_name) else { return };
        let first = object_type.fields.is_empty();
        object_type.fields.retain(|_, _| !random.chance(10));
        for shape in object_type.fields.values_mut() {
            if random.chance(25) {
                self.change_options(shape, random);
            }
        }
        let new_fields = if first { 2 + random.below(7) } else { random.below(3) };
        for _ in 0..new_fields {
            let name = FIELDS[random.below(FIELDS.len())];
            // Often this is the same field as in another type, so that they share a storage ID.
            let elsewhere = self.types.values().find_map(|other| other.fields.get(name)).cloned();
            let shape = match elsewhere {
                Some(mut shape) if random.chance(70) => {
                    if random.chance(30) {
                        self.change_options(&mut shape, random);
                    }
                    shape
                }
                _ => self.shape(random),
            };
            object_type.fields.insert(name.to_owned(), shape);
        }
        self.types.insert(type_name.to_owned(), object_type);
    }

    fn change_indexes(&mut self, type_name: &str, random: &mut Random) {
        let elsewhere: Vec<(String, Vec<String>)> = self
            .types
            .values()
            .flat_map(|other| &other.indexes)
            .map(|(name, fields)| (name.clone(), fields.clone()))
            .collect();
        let Some(object_type) = self.types.get_mut(type_name) else { return };
        let simple: Vec<String> = object_type
            .fields
            .iter()
            .filter(|(_, shape)| matches!(shape, Shape::Simple(_)))
            .map(|(name, _)| name.clone())
            .collect();
        object_type.indexes.retain(|_, fields| {
            fields.iter().all(|field| simple.contains(field)) && !random.chance(15)
        });
        let new_indexes = random.below(3);
        for _ in 0..new_indexes {
            match random.of(&elsewhere) {
                Some((name, fields)) if fields.iter().all(|field| simple.contains(field)) => {
                    object_type.indexes.insert(name.clone(), fields.clone());
                }
                _ => {
                    let mut fields: Vec<String> = Vec::new();
                    for _ in 0..2 + random.below(3) {
                        match random.of(&simple) {
                            Some(field) if !fields.contains(field) => fields.push(field.clone()),
                            _ => {}
                        }
                    }
                    if fields.len() >= 2 {
                        let name = INDEXES[random.below(INDEXES.len())];
                        object_type.indexes.insert(name.to_owned(), fields);
                    }
                }
            }
        }
    }

    /// Changes what does not belong to a field's identity: indexes and options of references.
    fn change_options(&self, shape: &mut Shape, random: &mut Random) {
        let parts: Vec<&mut Part> = match shape {
            Shape::Simple(part) | Shape::Set(part) | Shape::List(part) => vec![part],
            Shape::Map(key, value) => vec![key, value],
            Shape::Counter => Vec::new(),
        };
        for part in parts {
            match part {
                Part::Value { indexed, .. } => *indexed = random.chance(60),
                Part::Reference { .. } => *part = self.reference(random),
            }
        }
    }

    fn shape(&self, random: &mut Random) -> Shape {
        match random.below(10) {
            0..4 => Shape::Simple(self.part(random)),
            4 => Shape::Counter,
            5 => Shape::Set(self.part(random)),
            6 | 7 => Shape::List(self.part(random)),
            _ => Shape::Map(self.part(random), self.part(random)),
        }
    }

    fn part(&self, random: &mut Random) -> Part {
        if random.chance(35) {
            return self.reference(random);
        }
        let kind = random.of(&self.names).cloned().unwrap_or_default();
        Part::Value { kind, indexed: random.chance(60) }
    }

    fn reference(&self, random: &mut Random) -> Part {
        let types = random.chance(40).then(|| {
            let count = random.below(4);
            (0..count).map(|_| TYPES[random.below(TYPES.len())].to_owned()).collect()
        });
        Part::Reference { forward: random.chance(15), types }
    }

    fn model(&mut self, values: &Values, random: &mut Random) -> SchemaModel {
        let known: BTreeSet<String> = self.types.keys().cloned().collect();
        let mut model = SchemaModel::new();
        for (name, object_type) in self.types.clone() {
            let mut declared = ObjectType::new(name);
            for (name, shape) in object_type.fields {
                let mut simple = |kind: &'static str, role: &'static str, part: &Part| {
                    let field_part = (kind, name.clone(), role);
                    let dangling = self.dangling.entry(field_part.clone());
                    let dangling = *dangling.or_insert_with(|| random.chance(40));
                    let given = self.actions.entry(field_part);
                    let action =
                        *given.or_insert_with(|| action(!role.is_empty(), dangling, random));
                    declared_part(part, action, dangling, values, &known)
                };
                let kind = match &shape {
                    Shape::Simple(part) => FieldKind::Simple(simple("", "", part)),
                    Shape::Counter => FieldKind::Counter,
                    Shape::Set(part) => {
                        FieldKind::Set(SubField::new(simple("set", "element", part)))
                    }
                    Shape::List(part) => {
                        FieldKind::List(SubField::new(simple("list", "element", part)))
                    }
                    Shape::Map(key, value) => FieldKind::Map {
                        key: SubField::new(simple("map", "key", key)),
                        value: SubField::new(simple("map", "value", value)),
                    },
                };
                declared = declared.field(Field::new(name, kind));
            }
            for (name, fields) in object_type.indexes {
                declared = declared.index(name, fields);
            }
            model = model.object_type(declared);
        }
        model
    }
}

fn action(is_part: bool, dangling: bool, random: &mut Random) -> DeleteAction {
    let possible = |action: &DeleteAction| match action {
        DeleteAction::Remove => is_part,
        DeleteAction::Ignore => dangling,
        _ => true,
    };
    let actions: Vec<DeleteAction> = DeleteAction::ALL.into_iter().filter(possible).collect();
    random.of(&actions).copied().unwrap_or(DeleteAction::Exception)
}

fn declared_part(
    part: &Part,
    action: DeleteAction,
    dangling: bool,
    values: &Values,
    known: &BTreeSet<String>,
) -> Simple {
    match part {
        Part::Value { kind, indexed } => match values.kind(kind) {
            Some(kind) if *indexed => kind.simple.clone().indexed(),
            Some(kind) => kind.simple.clone(),
            None => Simple::reference(),
        },
        Part::Reference { forward, types } => {
            let mut simple = Simple::reference().on_delete(action).allow_deleted(dangling);
            if *forward {
                simple = simple.forward_delete();
            }
            match types {
                Some(types) => simple.to(types.intersection(known).cloned()),
                None => simple,
            }
        }
    }
}

/// The storage IDs that are asked for explicitly. They are the same in all versions.
#[derive(Debug, Default)]
struct StorageIds {
    /// How many of a hundred items have one.
    explicit: usize,
    given: BTreeMap<SchemaId, Option<StorageId>>,
}

impl StorageIds {
    fn assign(&mut self, model: &SchemaModel, random: &mut Random) -> SchemaModel {
        model.with_storage_ids(|item| {
            let id = item.schema_id();
            if let Some(given) = self.given.get(&id) {
                return *given;
            }
            let mut free = None;
            while free.is_none() && random.chance(self.explicit) {
                // They take one to four bytes in keys.
                let first = [60, 240, 250, 500, 65_780, 16_777_460][random.below(6)];
                free = StorageId::new(first + random.below(30) as u32)
                    .filter(|id| !self.given.values().any(|given| *given == Some(*id)));
            }
            self.given.insert(id, free);
            free
        })
    }
}
