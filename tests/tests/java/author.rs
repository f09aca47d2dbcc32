//! Makes up histories: schemas, transactions, and operations that fit the existing objects.

use std::sync::Arc;

use permazen::__internal::schema::ResolvedKind;
use permazen::object::Transaction;
use permazen::schema::{ResolvedField, ResolvedType, Schema, XmlForm};
use permazen::{ObjId, StorageId};
use permazen_tests::outcome::Outcome;
use permazen_tests::trace::objects::Tx;
use permazen_tests::trace::step::Step;
use permazen_tests::trace::text::Text;
use serde_json::{Value as Json, json};

use crate::history::{Author, Part};
use crate::queries;
use crate::random::Random;
use crate::sketch;
use crate::stores::Kind;
use crate::values::Values;

/// How often the sides change places in each history.
pub const HAND_OVERS: usize = 4;
/// About how many objects are kept.
const OBJECTS: usize = 25;

/// How many of them get most of the operations.
const FAVOURITES: usize = 3;

/// The history of a seed.
pub struct Invention<'v> {
    values: &'v Values,
    random: Random,
    salt: u64,
    schemas: Vec<(String, String)>,
    first_kind: Kind,
    kind: Kind,
    /// The steps of the whole history, the steps made, and the steps left in the transaction.
    steps: usize,
    made: usize,
    left: usize,
    handed_over: usize,
    /// All objects seen, whether they still exist or not.
    seen: Vec<ObjId>,
    /// The objects that get most of the operations for a while, so that their collections grow.
    favourites: Vec<ObjId>,
}

impl<'v> Invention<'v> {
    pub fn new(values: &'v Values, seed: u64, steps: usize) -> Invention<'v> {
        let mut random = Random::new(seed);
        let salt = random.next();
        let models = sketch::versions(values, &mut random);
        let named = |(at, model): (usize, &permazen::schema::SchemaModel)| {
            (format!("V{}", at + 1), model.to_xml(XmlForm::STORED))
        };
        let first_kind = Kind::ALL[random.below(Kind::ALL.len())];
        Invention {
            values,
            salt,
            schemas: models.iter().enumerate().map(named).collect(),
            first_kind,
            kind: first_kind,
            steps,
            made: 0,
            left: 0,
            handed_over: 0,
            seen: Vec::new(),
            favourites: Vec::new(),
            random,
        }
    }

    fn schema_name(&mut self) -> String {
        let at = self.random.below(self.schemas.len());
        self.schemas.get(at).map(|(name, _)| name.clone()).unwrap_or_default()
    }

    fn open(&mut self) -> Json {
        let schema = if self.random.chance(3) { Json::Null } else { json!(self.schema_name()) };
        let removals =
            ["NEVER", "NEVER", "NEVER", "CONFIG_CHANGE", "CONFIG_CHANGE", "ONCE", "ALWAYS"];
        let allow_new = !self.random.chance(5);
        // If Java may not add a schema, it may still remove one, and then fails because it is
        // missing.
        let removal = if allow_new { removals[self.random.below(removals.len())] } else { "NEVER" };
        json!({ "op": "open", "schema": schema, "allowNew": allow_new, "removal": removal })
    }

    fn invent(&mut self, tx: &Tx<'_>) -> Outcome<Json> {
        let objects = tx.tx.all_objects()?.to_vec()?;
        self.seen.retain(|id| !objects.contains(id));
        let gone = self.seen.len();
        self.seen.drain(..gone.saturating_sub(OBJECTS));
        self.seen.extend(&objects);
        self.favourites.retain(|id| objects.contains(id));
        if self.favourites.is_empty() || self.random.chance(2) {
            self.favourites =
                (0..FAVOURITES).filter_map(|_| self.random.of(&objects).copied()).collect();
        }
        let wanted = if objects.len() < OBJECTS / 2 { 20 } else { 4 };
        if objects.is_empty() && self.random.chance(80) || self.random.chance(wanted) {
            return self.create(tx);
        }
        Ok(match self.random.below(100) {
            0..4 => json!({ "op": "delete", "id": self.id(&objects) }),
            4..6 => self.about(tx, &objects),
            6..10 => json!({ "op": "migrate", "id": self.id(&objects) }),
            10..13 => self.copy(tx, &objects)?,
            13..15 => self.list_objects(tx),
            15 => {
                let op = if self.random.chance(60) { "addSchema" } else { "removeSchema" };
                json!({ "op": op, "schema": self.schema_name() })
            }
            16..26 => queries::index(tx, &mut self.random)?,
            26..30 => queries::path(tx, &objects, &mut self.random)?,
            _ => self.on_field(tx, &objects)?,
        })
    }

    // ------------------------------------------------------------------ objects

    /// The ID of an object, mostly of one that exists.
    fn id(&mut self, objects: &[ObjId]) -> String {
        let from = match self.random.below(100) {
            0..4 => &self.seen[..],
            4..60 if !self.favourites.is_empty() => &self.favourites[..],
            _ => objects,
        };
        self.random.of(from).map_or("0a00000000000001".to_owned(), ObjId::to_string)
    }

    fn create(&mut self, tx: &Tx<'_>) -> Outcome<Json> {
        let other = self.random.chance(10).then(|| self.schema_name());
        let schema = match &other {
            Some(name) => self.recorded(tx, name),
            None => Some(tx.tx.schema()),
        };
        let ids: Vec<StorageId> = match schema {
            Some(schema) if !self.random.chance(2) => {
                schema.types.iter().map(|object_type| object_type.storage_id).collect()
            }
            _ => tx.tx.bundle().type_ids().collect(),
        };
        let id = match self.random.of(&ids).copied() {
            Some(_) if self.random.chance(3) && !self.seen.is_empty() => {
                self.random.of(&self.seen).copied()
            }
            Some(storage_id) => self.new_id(storage_id),
            None => None,
        };
        let id = id.map_or("0a00000000000001".to_owned(), |id| id.to_string());
        let mut step = json!({ "op": "create", "id": id });
        if let Some(name) = other {
            step["in"] = json!(name);
        }
        Ok(step)
    }

    /// The schema of that name, if it is recorded.
    fn recorded(&self, tx: &Tx<'_>, name: &str) -> Option<Arc<Schema>> {
        let id = tx.model(name).ok()?.schema_id();
        tx.tx.bundle().schema_by_id(id).cloned()
    }

    fn new_id(&mut self, storage_id: StorageId) -> Option<ObjId> {
        let mut bytes = ObjId::min(storage_id).to_bytes();
        let random = self.random.next().to_be_bytes();
        // The last bytes are free, whatever the type. They take few values, so that IDs differ in
        // few places.
        for (at, limit) in [(5, 3), (6, 2), (7, 0)] {
            bytes[at] = if limit == 0 { random[at] } else { random[at] % limit };
        }
        ObjId::from_bytes(bytes).ok()
    }

    fn about(&mut self, tx: &Tx<'_>, objects: &[ObjId]) -> Json {
        let op = ["exists", "typeOf", "schemaOf", "isDefault"][self.random.below(4)];
        let id = self.id(objects);
        let field = object_type(tx.tx, &id)
            .and_then(|object_type| self.random.of(&object_type.fields).map(|f| f.name.clone()));
        match field {
            Some(field) if op == "isDefault" => json!({ "op": op, "id": id, "field": &*field }),
            None if op == "isDefault" => json!({ "op": "exists", "id": id }),
            _ => json!({ "op": op, "id": id }),
        }
    }

    fn copy(&mut self, tx: &Tx<'_>, objects: &[ObjId]) -> Outcome<Json> {
        let from = self.id(objects);
        let storage_id = from.parse().ok().map(ObjId::storage_id);
        let to = match self.random.below(10) {
            0..6 => storage_id.and_then(|id| self.new_id(id)).map(|id| id.to_string()),
            6..9 => {
                let same: Vec<ObjId> = objects
                    .iter()
                    .filter(|id| Some(id.storage_id()) == storage_id)
                    .copied()
                    .collect();
                self.random.of(&same).map(ObjId::to_string)
            }
            _ => None,
        };
        let to = to.unwrap_or_else(|| self.id(objects));
        let migrate = tx.tx.schema().index.get() > 0 && self.random.chance(10);
        Ok(json!({ "op": "copy", "from": from, "to": to, "migrate": migrate }))
    }

    fn list_objects(&mut self, tx: &Tx<'_>) -> Json {
        let names: Vec<String> = tx.tx.schema().types.iter().map(|t| t.name.to_string()).collect();
        let reverse = self.random.chance(30);
        match self.random.below(3) {
            0 => json!({ "op": "bySchema" }),
            1 => json!({ "op": "all", "reverse": reverse }),
            _ => {
                let name = self.random.of(&names).cloned().unwrap_or("Nope".to_owned());
                json!({ "op": "all", "type": name, "reverse": reverse })
            }
        }
    }

    // ------------------------------------------------------------------ fields

    fn on_field(&mut self, tx: &Tx<'_>, objects: &[ObjId]) -> Outcome<Json> {
        let id = self.id(objects);
        let migrate = self.random.chance(4);
        let mut object_type = object_type(tx.tx, &id);
        if migrate {
            object_type = object_type
                .and_then(|old| tx.tx.schema().type_by_storage_id(old.storage_id).cloned());
        }
        let field = object_type.and_then(|found| self.random.of(&found.fields).cloned());
        let mut step = match &field {
            Some(field) if !self.random.chance(2) => self.on(tx, objects, &id, field, migrate)?,
            // The field is of another kind, or there is no object.
            _ => {
                let ops = ["get", "counter.get", "set.size", "list.size", "map.size", "set.clear"];
                json!({ "op": ops[self.random.below(ops.len())] })
            }
        };
        step["id"] = json!(id);
        step["field"] = json!(field.map_or("a".to_owned(), |field| field.name.to_string()));
        if migrate {
            step["migrate"] = json!(true);
        }
        Ok(step)
    }

    fn on(
        &mut self,
        tx: &Tx<'_>,
        objects: &[ObjId],
        id: &str,
        field: &ResolvedField,
        migrate: bool,
    ) -> Outcome<Json> {
        // With `migrate`, Java moves the object before it finds that the text is no value.
        let any = if migrate { Fit::Good } else { Fit::Any };
        let value = |part: &ResolvedField, random: &mut Random| {
            self.values_for(part, objects, id, any, random)
        };
        // Java refuses bounds that the field could not hold.
        let good = |part: &ResolvedField, random: &mut Random| {
            self.values_for(part, objects, id, Fit::Good, random)
        };
        let mut random = self.random.clone();
        let r = &mut random;
        let step = match &field.kind {
            ResolvedKind::Simple(_) if r.chance(75) => {
                json!({ "op": "set", "value": value(field, r) })
            }
            ResolvedKind::Simple(_) => json!({ "op": "get" }),
            ResolvedKind::Counter => match r.below(3) {
                0 => json!({ "op": "counter.get" }),
                1 => json!({ "op": "counter.set", "value": amount(r) }),
                _ => json!({ "op": "counter.adjust", "value": amount(r) }),
            },
            ResolvedKind::Set { element } => {
                let bound = good(element, r);
                match r.below(20) {
                    0..9 => json!({ "op": "set.add", "value": value(element, r) }),
                    9..13 => json!({ "op": "set.remove", "value": value(element, r) }),
                    13 => json!({ "op": "set.contains", "value": value(element, r) }),
                    14 => json!({ "op": "set.size" }),
                    15 => range(json!({ "op": "set.clear" }), &bound, r),
                    16 => json!({ "op": "set.near", "how": how(r), "value": bound }),
                    _ => range(json!({ "op": "set.list", "reverse": r.chance(40) }), &bound, r),
                }
            }
            ResolvedKind::List { element } => {
                let len = match id.parse() {
                    Ok(id) => list_len(tx.tx, id, field),
                    Err(_) => 0,
                };
                let at = if r.chance(95) { r.below(len + 1) as i64 } else { len as i64 + 1 };
                let there = if r.chance(95) { r.below(len) as i64 } else { len as i64 };
                match r.below(20) {
                    _ if len == 0 && r.chance(50) => {
                        json!({ "op": "list.append", "value": value(element, r) })
                    }
                    0..4 => json!({ "op": "list.append", "value": value(element, r) }),
                    4..7 => json!({ "op": "list.insert", "index": at, "value": value(element, r) }),
                    7..9 => {
                        // Sometimes enough values that positions take two bytes, or more than are
                        // moved at a time.
                        let count = if r.chance(3) { 260 << r.below(3) } else { r.below(5) };
                        let values: Vec<Text> = (0..count).map(|_| value(element, r)).collect();
                        json!({ "op": "list.insertAll", "index": at, "values": values })
                    }
                    9..11 => {
                        json!({ "op": "list.set", "index": there, "value": value(element, r) })
                    }
                    11..13 => json!({ "op": "list.remove", "index": there }),
                    13 => json!({ "op": "list.removeValue", "value": value(element, r) }),
                    14..16 => {
                        let to = (at + r.below(4) as i64).min(len as i64).max(at);
                        json!({ "op": "list.removeRange", "from": at, "to": to })
                    }
                    16 => json!({ "op": "list.indexOf", "value": value(element, r) }),
                    17 => json!({ "op": "list.get", "index": there }),
                    18 if r.chance(30) => json!({ "op": "list.clear" }),
                    18 => json!({ "op": "list.size" }),
                    _ => json!({ "op": "list.list" }),
                }
            }
            ResolvedKind::Map { key, value: part } => {
                let bound = good(key, r);
                let key = value(key, r);
                match r.below(20) {
                    0..10 => json!({ "op": "map.put", "key": key, "value": value(part, r) }),
                    10..13 => json!({ "op": "map.remove", "key": key }),
                    13 => json!({ "op": "map.get", "key": key }),
                    14 => json!({ "op": "map.contains", "key": key }),
                    15 => json!({ "op": "map.size" }),
                    16 => range(json!({ "op": "map.clear" }), &bound, r),
                    17 => json!({ "op": "map.near", "how": how(r), "key": bound }),
                    _ => range(json!({ "op": "map.list", "reverse": r.chance(40) }), &bound, r),
                }
            }
        };
        self.random = random;
        Ok(step)
    }

    /// A value for a part of a field of `holder`.
    fn values_for(
        &self,
        part: &ResolvedField,
        objects: &[ObjId],
        holder: &str,
        fit: Fit,
        random: &mut Random,
    ) -> Text {
        let simple = part.simple()?;
        let Some(reference) = &simple.reference else {
            if fit == Fit::Any && random.chance(2) {
                return self.values.bad(simple, random);
            }
            return self.values.some(simple, self.salt, random);
        };
        match random.below(20) {
            0..2 => None,
            2 if fit == Fit::Any => Some(holder.to_owned()),
            3 if fit == Fit::Any => random.of(&self.seen).map(ObjId::to_string),
            _ => {
                let allowed: Vec<&ObjId> =
                    objects.iter().filter(|id| reference.allows(id.storage_id())).collect();
                random.of(&allowed).map(|id| id.to_string())
            }
        }
    }
}

impl Author for Invention<'_> {
    fn schemas(&self) -> &[(String, String)] {
        &self.schemas
    }

    fn first_kind(&self) -> Kind {
        self.first_kind
    }

    fn part(&mut self) -> Option<Part> {
        let due = self.made * HAND_OVERS >= self.steps * (self.handed_over + 1);
        if due && self.handed_over < HAND_OVERS {
            self.handed_over += 1;
            let at = Kind::ALL.iter().position(|kind| *kind == self.kind).unwrap_or_default();
            self.kind = Kind::ALL[(at + 1) % Kind::ALL.len()];
            return Some(Part::HandOver(self.kind));
        }
        if self.made >= self.steps {
            return None;
        }
        self.left = 5 + self.random.below(40);
        self.made += 1;
        Some(Part::Open(self.open()))
    }

    fn step(&mut self, tx: &Tx<'_>) -> Outcome<Step> {
        self.made += 1;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            let end = if self.random.chance(90) { "commit" } else { "rollback" };
            return Step::new(json!({ "op": end }));
        }
        Step::new(self.invent(tx)?)
    }
}

/// Which values are acceptable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// Only values that the field accepts.
    Good,
    /// Also some that it refuses.
    Any,
}

fn object_type(tx: &Transaction, id: &str) -> Option<Arc<ResolvedType>> {
    tx.object_type(id.parse().ok()?).ok()
}

fn list_len(tx: &Transaction, id: ObjId, field: &ResolvedField) -> usize {
    let view = tx.list_view(id, &field.name, permazen::object::Migrate::No);
    view.and_then(|view| view.len()).unwrap_or_default() as usize
}

fn amount(random: &mut Random) -> String {
    let amounts = [0, 1, -1, 5, i64::MAX, i64::MIN, 1 << 40];
    random.of(&amounts).map(i64::to_string).unwrap_or_default()
}

fn how(random: &mut Random) -> &'static str {
    ["lower", "floor", "ceiling", "higher"][random.below(4)]
}

/// The step restricted to one side of a value, or not at all.
fn range(mut step: Json, value: &Text, random: &mut Random) -> Json {
    match random.below(3) {
        0 => step["min"] = json!([value, random.chance(50)]),
        1 => step["max"] = json!([value, random.chance(50)]),
        _ => {}
    }
    step
}
