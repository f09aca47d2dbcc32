//! A database with several schemas, and its content as plain data.

use std::collections::BTreeMap;
use std::sync::Arc;

use permazen::encoding::{EncodingRegistry, Value};
use permazen::kv::counting::CountingStore;
use permazen::kv::memory::MemoryStore;
use permazen::object::{Database, Migrate, Transaction, TransactionConfig};
use permazen::schema::{
    CompositeIndex, Field, ObjectType, SchemaModel, SchemaRemoval, Simple, UnknownEncodings,
};
use permazen::{ObjId, StorageId};
use rand::rngs::StdRng;

use crate::values::{Kind, below, chance, one};

/// The values of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FieldKind {
    Simple(Kind, bool),
    Counter,
    Set(Kind, bool),
    List(Kind, bool),
    Map(Kind, bool, Kind, bool),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct TypeModel {
    pub(crate) fields: BTreeMap<String, FieldKind>,
    indexes: Vec<(String, Vec<String>)>,
}

/// A schema: its types by number.
pub(crate) type Version = BTreeMap<usize, TypeModel>;

/// The content of a field.
#[derive(Debug, Clone)]
pub(crate) enum Data {
    Simple(Value),
    Counter(i64),
    Set(Vec<Value>),
    List(Vec<Value>),
    Map(Vec<(Value, Value)>),
}

#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) of: usize,
    pub(crate) version: usize,
    pub(crate) fields: BTreeMap<String, Data>,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) names: Vec<String>,
    /// The storage IDs of the types.
    pub(crate) type_ids: Vec<StorageId>,
    pub(crate) versions: Vec<Version>,
    /// The numbers of the schemas.
    pub(crate) schemas: Vec<u32>,
    pub(crate) objects: BTreeMap<ObjId, Object>,
    pub(crate) store: CountingStore<MemoryStore>,
    db: Database,
}

pub(crate) const FIELDS: [&str; 6] = ["a", "b", "c", "d", "e", "limit"];

impl World {
    pub(crate) fn random(random: &mut StdRng) -> World {
        let names: Vec<String> = ["P", "Q", "order"]
            .iter()
            .take(1 + below(random, 3))
            .map(|n| (*n).to_owned())
            .collect();
        let mut versions: Vec<Version> = Vec::new();
        for _ in 0..1 + below(random, 3) {
            let before = versions.last().cloned().unwrap_or_default();
            versions.push(version(random, &before, names.len()));
        }
        // Each type is in some schema.
        for at in 0..names.len() {
            if versions.iter().all(|version| !version.contains_key(&at)) {
                let model = TypeModel { fields: fields(random, names.len()), indexes: Vec::new() };
                versions[0].insert(at, model);
            }
        }
        versions.iter_mut().for_each(keep_references);
        let store = CountingStore::new(MemoryStore::new());
        let encodings = Arc::new(EncodingRegistry::new());
        let db = Database::with_encodings(Arc::new(store.clone()), encodings)
            .unknown_encodings(UnknownEncodings::Carry);
        let mut world = World {
            names,
            type_ids: Vec::new(),
            versions,
            schemas: Vec::new(),
            objects: BTreeMap::new(),
            store,
            db,
        };
        world.create(random);
        world.fill(random);
        world
    }

    pub(crate) fn reading(&self) -> Transaction {
        let config = TransactionConfig::without_schema().schema_removal(SchemaRemoval::Never);
        self.db.begin(&config.read_only()).unwrap()
    }

    fn create(&mut self, random: &mut StdRng) {
        for at in 0..self.versions.len() {
            let mut config = TransactionConfig::new(self.model(at));
            // An index must not begin with the fields of another one.
            if config.is_err() {
                self.versions[at].values_mut().for_each(|model| model.indexes.clear());
                config = TransactionConfig::new(self.model(at));
            }
            let config = config.unwrap().schema_removal(SchemaRemoval::Never);
            let tx = self.db.begin(&config).unwrap();
            self.schemas.push(tx.schema().index.get());
            // Some schemas have no objects, and some types none in some schemas.
            let empty = chance(random, 10);
            for of in self.versions[at].keys() {
                let count = if empty || chance(random, 15) { 0 } else { below(random, 12) };
                for _ in 0..count {
                    let id = tx.create(&self.names[*of]).unwrap();
                    let object = Object { of: *of, version: at, fields: BTreeMap::new() };
                    self.objects.insert(id, object);
                }
            }
            tx.commit().unwrap();
        }
        let tx = self.reading();
        let ids = self.names.iter().map(|name| tx.type_storage_id(name).unwrap());
        let ids: Vec<_> = ids.collect();
        drop(tx);
        self.type_ids = ids;
    }

    fn fill(&mut self, random: &mut StdRng) {
        let ids: Vec<(ObjId, usize)> = self.objects.iter().map(|(id, o)| (*id, o.of)).collect();
        let (type_ids, types) = (self.type_ids.clone(), self.names.len());
        let target = move |random: &mut StdRng, allowed: &[usize]| {
            let of = if allowed.is_empty() { below(random, types) } else { *one(random, allowed) };
            let there: Vec<_> = ids.iter().filter(|(_, other)| *other == of).collect();
            // Some references lead to nothing.
            if there.is_empty() || chance(random, 10) {
                return ObjId::min(type_ids[of]);
            }
            one(random, &there).0
        };
        let config = TransactionConfig::without_schema().schema_removal(SchemaRemoval::Never);
        let tx = self.db.begin(&config).unwrap();
        for (id, object) in &mut self.objects {
            for (name, kind) in &self.versions[object.version][&object.of].fields {
                let mut value = |kind: &Kind| kind.value(random, &target);
                let data = match kind {
                    FieldKind::Simple(kind, _) => {
                        let value = value(kind);
                        tx.set(*id, name, &value, Migrate::No).unwrap();
                        Data::Simple(value)
                    }
                    FieldKind::Counter => {
                        let count = i64::from(value(&Kind::Int).as_int());
                        tx.set_counter(*id, name, count, Migrate::No).unwrap();
                        Data::Counter(count)
                    }
                    FieldKind::Set(kind, _) => {
                        let mut values: Vec<_> = (0..3).map(|_| value(kind)).collect();
                        values.truncate(below(random, 4));
                        values.sort();
                        values.dedup();
                        let view = tx.set_view(*id, name, Migrate::No).unwrap();
                        for value in &values {
                            view.add(value).unwrap();
                        }
                        Data::Set(values)
                    }
                    FieldKind::List(kind, _) => {
                        let mut values: Vec<_> = (0..3).map(|_| value(kind)).collect();
                        values.truncate(below(random, 4));
                        let view = tx.list_view(*id, name, Migrate::No).unwrap();
                        for value in &values {
                            view.push(value).unwrap();
                        }
                        Data::List(values)
                    }
                    FieldKind::Map(key, _, of_key, _) => {
                        let mut map = BTreeMap::new();
                        for _ in 0..2 {
                            map.insert(value(key), value(of_key));
                        }
                        if chance(random, 30) {
                            map.clear();
                        }
                        let view = tx.map_view(*id, name, Migrate::No).unwrap();
                        for (key, value) in &map {
                            view.put(key, value).unwrap();
                        }
                        Data::Map(map.into_iter().collect())
                    }
                };
                object.fields.insert(name.clone(), data);
            }
        }
        tx.commit().unwrap();
    }

    fn model(&self, at: usize) -> SchemaModel {
        let mut model = SchemaModel::new();
        for (of, types) in &self.versions[at] {
            let mut object_type = ObjectType::new(&self.names[*of]);
            for (name, kind) in &types.fields {
                object_type = object_type.field(self.field(name, kind));
            }
            for (name, fields) in &types.indexes {
                object_type =
                    object_type.composite_index(CompositeIndex::new(name, fields.clone()));
            }
            model = model.object_type(object_type);
        }
        model
    }

    fn field(&self, name: &str, kind: &FieldKind) -> Field {
        let simple = |kind: &Kind, indexed: bool| -> Simple {
            let simple = kind.simple(&self.names);
            if indexed { simple.indexed() } else { simple }
        };
        match kind {
            FieldKind::Simple(kind, indexed) => Field::new(name, simple(kind, *indexed)),
            FieldKind::Counter => Field::counter(name),
            FieldKind::Set(kind, indexed) => Field::set(name, simple(kind, *indexed)),
            FieldKind::List(kind, indexed) => Field::list(name, simple(kind, *indexed)),
            FieldKind::Map(key, key_index, value, index) => {
                Field::map(name, simple(key, *key_index), simple(value, *index))
            }
        }
    }
}

/// References only lead to types of the same schema.
fn keep_references(version: &mut Version) {
    let there: Vec<usize> = version.keys().copied().collect();
    let keep = |kind: &mut Kind| {
        if let Kind::Ref(types) = kind
            && types.iter().any(|of| !there.contains(of))
        {
            *types = vec![there[0]];
        }
    };
    for kind in version.values_mut().flat_map(|model| model.fields.values_mut()) {
        match kind {
            FieldKind::Simple(kind, _) | FieldKind::Set(kind, _) | FieldKind::List(kind, _) => {
                keep(kind);
            }
            FieldKind::Map(key, _, value, _) => {
                keep(key);
                keep(value);
            }
            FieldKind::Counter => {}
        }
    }
}

trait AsInt {
    fn as_int(&self) -> i32;
}

impl AsInt for Value {
    fn as_int(&self) -> i32 {
        match self {
            Value::Int(number) => *number,
            _ => 0,
        }
    }
}

fn fields(random: &mut StdRng, types: usize) -> BTreeMap<String, FieldKind> {
    let mut fields = BTreeMap::new();
    for name in FIELDS {
        if chance(random, 80) {
            fields.insert(name.to_owned(), field(random, types));
        }
    }
    fields
}

fn field(random: &mut StdRng, types: usize) -> FieldKind {
    let kind = Kind::random(random, types);
    let indexed = chance(random, 60);
    match below(random, 10) {
        0 => FieldKind::Counter,
        1 => FieldKind::Set(kind, indexed),
        2 => FieldKind::List(kind, indexed),
        3 => FieldKind::Map(Kind::random(random, types), chance(random, 50), kind, indexed),
        _ => FieldKind::Simple(kind, indexed),
    }
}

/// A schema that comes after another one.
fn version(random: &mut StdRng, before: &Version, types: usize) -> Version {
    let mut version = Version::new();
    for of in 0..types {
        if chance(random, 10) {
            continue;
        }
        let mut model = match before.get(&of) {
            None => TypeModel { fields: fields(random, types), indexes: Vec::new() },
            Some(before) => before.clone(),
        };
        for name in FIELDS {
            match below(random, 12) {
                0 => drop(model.fields.remove(name)),
                1 => drop(model.fields.insert(name.to_owned(), field(random, types))),
                2 => {
                    if let Some(FieldKind::Simple(_, indexed)) = model.fields.get_mut(name) {
                        *indexed = !*indexed;
                    }
                }
                _ => {}
            }
        }
        let simple: Vec<String> = model
            .fields
            .iter()
            .filter(|(_, kind)| matches!(kind, FieldKind::Simple(..)))
            .map(|(name, _)| name.clone())
            .collect();
        model.indexes.clear();
        for at in 0..2 {
            let mut of_index = simple.clone();
            while of_index.len() > 3 || of_index.len() > 2 && chance(random, 50) {
                let gone = below(random, of_index.len());
                of_index.remove(gone);
            }
            if chance(random, 50) {
                of_index.reverse();
            }
            if of_index.len() >= 2 && chance(random, 70) {
                model.indexes.push((format!("i{at}"), of_index));
            }
        }
        version.insert(of, model);
    }
    version
}
