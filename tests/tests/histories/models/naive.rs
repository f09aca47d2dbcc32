//! The content that a database must have after each step, and the rules that this breaks.

use std::collections::{BTreeMap, BTreeSet};

use permazen::encoding::Value;
use permazen::model::Rule;
use permazen::object::FieldValue;
use permazen::{ObjId, Result, Tx};

use crate::models::family::FULL;

pub(crate) type Fields = BTreeMap<String, FieldValue>;

/// An object, with the names and values of the first version of the program.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Thing {
    pub(crate) of_type: &'static str,
    pub(crate) fields: Fields,
    /// The version in whose schema it is; 1 if its type is the same in both.
    pub(crate) version: u8,
}

/// Everything in a database.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct World {
    pub(crate) things: BTreeMap<ObjId, Thing>,
    /// The texts of the entries, sorted. Hooks create them, so their IDs are not known.
    pub(crate) entries: Vec<String>,
}

/// An operation is refused, and changes nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Refused(pub(crate) &'static str);

/// An object that breaks a rule.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Breach {
    pub(crate) object: ObjId,
    pub(crate) path: String,
    pub(crate) rule: Rule,
    pub(crate) others: Vec<ObjId>,
}

pub(crate) const TYPES: [&str; 7] = ["User", "Team", "Book", "Film", "Review", "Note", "Settings"];

/// Fields that are required, and can be null in the database, with the versions that have them.
const REQUIRED: [(&str, &str, &[u8]); 8] = [
    ("Team", "title", &[1, 2]),
    ("Book", "label", &[1]),
    ("Book", "owner", &[1, 2]),
    ("Film", "label", &[1]),
    ("Film", "genre", &[2]),
    ("Review", "work", &[1, 2]),
    ("Note", "text", &[1, 2]),
    ("Settings", "theme", &[1, 2]),
];

/// Names of fields in the second version, if they have others there.
const RENAMED: [(&str, &str, &str); 6] = [
    ("User", "email", "mail"),
    ("User", "friends", "pals"),
    ("Film", "star", "lead"),
    ("Film", "tags", "keywords"),
    ("Review", "work", "subject"),
    ("Review", "by", "author"),
];

/// The name of a field in the second version.
pub(crate) fn stored_name(of_type: &str, field: &'static str) -> &'static str {
    let renamed = RENAMED.iter().find(|(of, name, _)| *of == of_type && *name == field);
    renamed.map_or(field, |(_, _, later)| *later)
}

/// Whether the definition of a unique field, or of a column, differs between the versions.
const DIFFERENT: [&str; 5] = ["email", "#nameRank", "star", "#workBy", "motto"];

/// The rules of uniqueness: path, types of the scope, fields, and whether values are exempt.
type Exempt = fn(&[&Value]) -> bool;
const UNIQUE: [(&str, &[&str], &[&str], Exempt); 7] = [
    ("email", &["User"], &["email"], |it| it[0].is_null() || it[0].as_str() == Some("x")),
    ("#nameRank", &["User"], &["name", "rank"], |it| *it[1] == Value::Int(0)),
    ("title", &["Team"], &["title"], |_| false),
    // The first version lacks it.
    ("motto", &["Team"], &["motto"], |it| it[0].is_null()),
    ("code", &["Book", "Film"], &["code"], |it| *it[0] == Value::Int(0)),
    ("star", &["Film"], &["star"], |it| it[0].is_null()),
    ("#workBy", &["Review"], &["work", "by"], |_| false),
];

/// Which types a reference allows.
fn allowed(of_type: &str, field: &str) -> &'static [&'static str] {
    match (of_type, field) {
        ("User", "team") => &["Team"],
        ("User", "friends") | (_, "owner" | "star" | "by") => &["User"],
        (_, "work") => &["Book", "Film"],
        (_, "note") => &["Note"],
        _ => &[],
    }
}

impl Thing {
    pub(crate) fn value(&self, field: &str) -> &Value {
        match &self.fields[field] {
            FieldValue::Simple(value) => value,
            other => panic!("{field} is {other:?}"),
        }
    }

    pub(crate) fn reference(&self, field: &str) -> Option<ObjId> {
        match self.value(field) {
            Value::Ref(id) => Some(*id),
            _ => None,
        }
    }

    pub(crate) fn set(&mut self, field: &str, value: Value) {
        self.fields.insert(field.to_owned(), FieldValue::Simple(value));
    }

    fn friends(&self) -> BTreeSet<ObjId> {
        let Some(FieldValue::Set(friends)) = self.fields.get("friends") else { return [].into() };
        let id = |value: &Value| match value {
            Value::Ref(id) => *id,
            other => panic!("{other:?}"),
        };
        friends.iter().map(id).collect()
    }

    fn set_friends(&mut self, friends: BTreeSet<ObjId>) {
        let friends = friends.into_iter().map(Value::Ref).collect();
        self.fields.insert("friends".to_owned(), FieldValue::Set(friends));
    }

    fn note(&self) -> Option<ObjId> {
        if self.of_type == "Review" { self.reference("note") } else { None }
    }

    /// Whether objects of the type have the field in this version.
    pub(crate) fn has_in(&self, version: u8, field: &str) -> bool {
        match field {
            "label" => version == 1,
            "genre" | "motto" => version == 2,
            _ => true,
        }
    }

    /// Sets the fields that it cannot have in its schema to what programs read then.
    fn forget(&mut self) {
        for (of_type, field) in
            [("Book", "label"), ("Film", "label"), ("Film", "genre"), ("Team", "motto")]
        {
            if self.of_type == of_type && !self.has_in(self.version, field) {
                let default = match field {
                    "motto" => Value::Null,
                    _ => Value::String("none".to_owned()),
                };
                self.set(field, default);
            }
        }
    }

    fn references(&self) -> Vec<(&str, ObjId)> {
        let simple = self.fields.keys().filter_map(|field| match &self.fields[field] {
            FieldValue::Simple(Value::Ref(id)) => Some((&**field, *id)),
            _ => None,
        });
        simple.chain(self.friends().into_iter().map(|id| ("friends", id))).collect()
    }
}

/// A field with the name and the values of the first version.
fn first_form(of_type: &str, name: String, value: FieldValue) -> (String, FieldValue) {
    let value = match value {
        FieldValue::Simple(Value::Long(it)) => FieldValue::Simple(int(it)),
        FieldValue::Map(all) => {
            let entry = |(key, value)| match value {
                Value::Long(it) => (key, int(it)),
                value => (key, value),
            };
            FieldValue::Map(all.into_iter().map(entry).collect())
        }
        value => value,
    };
    let renamed = RENAMED.iter().find(|(of, _, later)| *of == of_type && *later == name);
    (renamed.map_or(name, |(_, first, _)| (*first).to_owned()), value)
}

fn int(value: i64) -> Value {
    Value::Int(i32::try_from(value).unwrap())
}

/// The type of a path, and the name of its field in the first version.
pub(crate) fn logical(path: &str) -> (String, String) {
    let at = path.find(['.', '#', ':']).unwrap_or(path.len());
    let (of_type, name) = path.split_at(at);
    let name = name.trim_start_matches('.');
    let renamed = RENAMED.iter().find(|(of, _, later)| *of == of_type && *later == name);
    (of_type.to_owned(), renamed.map_or(name, |(_, first, _)| *first).to_owned())
}

impl World {
    /// The content that a transaction sees. Values that only the other version has are the defaults
    /// of that.
    pub(crate) fn read(tx: &Tx) -> Result<World> {
        let mut world = World::default();
        for object in tx.everything()? {
            let object = object?;
            let (name, fields) = (object.type_name()?, object.fields()?);
            if name == "Entry" {
                world.entries.push(object.get("text")?.as_str().unwrap().to_owned());
                continue;
            }
            let of_type = TYPES.into_iter().find(|it| *it == name).unwrap();
            let has = |name: &str| fields.iter().any(|(field, _)| field == name);
            let version = match of_type {
                "User" => 1 + u8::from(has("mail")),
                "Team" => 1 + u8::from(has("motto")),
                "Book" => 1 + u8::from(!has("label")),
                "Film" => 1 + u8::from(has("lead")),
                "Review" => 1 + u8::from(has("author")),
                _ => 1,
            };
            let fields = fields.into_iter().map(|(name, it)| first_form(of_type, name, it));
            let fields = fields.collect();
            let mut thing = Thing { of_type, fields, version };
            thing.forget();
            world.things.insert(object.id(), thing);
        }
        world.entries.sort();
        Ok(world)
    }

    /// Takes over in which schemas the objects are. Values that they cannot have there are gone.
    pub(crate) fn sync(&mut self, stored: &World) {
        for (id, thing) in &mut self.things {
            thing.version = stored.things.get(id).map_or(thing.version, |it| it.version);
            thing.forget();
        }
    }

    /// The values that hooks have written when all changes were checked.
    pub(crate) fn settle(&mut self) {
        let reviewed: Vec<_> = self.things.values().filter_map(Thing::note).collect();
        for note in reviewed {
            if let Some(note) = self.things.get_mut(&note) {
                note.set("text", Value::String("reviewed".to_owned()));
            }
        }
    }

    /// Whether the index of a rule may lack objects that a rule of uniqueness is about, because
    /// they are in the schema of the other version.
    pub(crate) fn is_partial(&self, path: &str, program: u8) -> bool {
        let (of_type, name) = logical(path);
        let rule =
            UNIQUE.iter().find(|(path, types, ..)| *path == name && types.contains(&&*of_type));
        rule.is_some_and(|(path, types, ..)| {
            DIFFERENT.contains(path)
                && self
                    .things
                    .values()
                    .any(|it| types.contains(&it.of_type) && it.version != program)
        })
    }

    /// Whether a required field is null. Objects with one may be refused a move.
    pub(crate) fn has_nulls(&self) -> bool {
        let is_null = |it: &Thing| {
            let mut required = REQUIRED.iter().filter(|(of_type, ..)| *of_type == it.of_type);
            required.any(|(_, field, _)| it.value(field).is_null())
        };
        self.things.values().any(is_null)
    }

    fn is(&self, id: ObjId, types: &[&str]) -> bool {
        self.things.get(&id).is_some_and(|it| types.contains(&it.of_type))
    }

    /// Replaces all fields of an object, or creates it with them. Does what hooks do then.
    pub(crate) fn put(&mut self, id: ObjId, mut thing: Thing) -> Result<(), Refused> {
        for (field, target) in thing.references() {
            let allowed = allowed(thing.of_type, field);
            let is_self = target == id && allowed.contains(&thing.of_type);
            if !is_self && !self.is(target, allowed) {
                return Err(Refused("reference"));
            }
        }
        let before = self.things.get(&id);
        match thing.of_type {
            "User" => {
                let folded = match thing.value("name") {
                    Value::String(name) => Value::String(name.to_uppercase()),
                    _ => Value::Null,
                };
                // A new object's fields are null before, so a null name is no change.
                thing.set("folded", folded);
                if *thing.value("rank") == Value::Int(9) {
                    return Err(Refused("hook"));
                }
                let (old, new) =
                    (before.and_then(|it| it.reference("team")), thing.reference("team"));
                self.things.insert(id, thing);
                if old != new {
                    self.count(old, -1)?;
                    self.count(new, 1)?;
                }
                return Ok(());
            }
            "Settings" => {
                let old = before.map_or(&Value::Null, |it| it.value("theme"));
                if old != thing.value("theme") {
                    let text = thing.value("theme").as_str().unwrap_or("null").to_owned();
                    self.entries.push(text);
                    self.entries.sort();
                }
            }
            _ => {}
        }
        self.things.insert(id, thing);
        Ok(())
    }

    fn count(&mut self, team: Option<ObjId>, by: i32) -> Result<(), Refused> {
        let Some(team) = team.and_then(|id| self.things.get_mut(&id)) else { return Ok(()) };
        let Value::Int(members) = *team.value("members") else { panic!("{team:?}") };
        if members + by > FULL {
            return Err(Refused("hook"));
        }
        team.set("members", Value::Int(members + by));
        Ok(())
    }

    /// Deletes an object with all that goes with it.
    pub(crate) fn delete(&mut self, id: ObjId) -> Result<(), Refused> {
        let mut gone = BTreeSet::new();
        let mut next = vec![id];
        while let Some(id) = next.pop() {
            let Some(thing) = self.things.get(&id) else { continue };
            if !gone.insert(id) {
                continue;
            }
            if thing.of_type == "Team" && thing.value("title").as_str() == Some("eternal") {
                return Err(Refused("hook"));
            }
            if thing.of_type == "Review" {
                next.extend(thing.reference("note"));
            }
            for (other, it) in &self.things {
                let refers = |field: &str| it.reference(field) == Some(id);
                if it.of_type == "User" && refers("team")
                    || it.of_type == "Review" && refers("work")
                {
                    next.push(*other);
                }
            }
        }
        let owned = |it: &Thing| {
            it.of_type == "Book" && it.reference("owner").is_some_and(|id| gone.contains(&id))
        };
        if self.things.values().any(owned) {
            return Err(Refused("referenced"));
        }
        for id in &gone {
            let thing = self.things.remove(id).unwrap();
            if thing.of_type == "User" {
                self.count(thing.reference("team"), -1)?;
            }
        }
        for thing in self.things.values_mut() {
            for field in ["star", "by", "note"] {
                if thing.fields.contains_key(field)
                    && thing.reference(field).is_some_and(|id| gone.contains(&id))
                {
                    thing.set(field, Value::Null);
                }
            }
            if thing.of_type == "User" {
                thing.set_friends(&thing.friends() - &gone);
            }
        }
        Ok(())
    }

    /// All objects that break rules of a version of the program.
    pub(crate) fn breaches(&self, program: u8) -> Vec<Breach> {
        let mut found = Vec::new();
        for (path, types, fields, exempt) in UNIQUE {
            if program == 1 && path == "motto" {
                continue;
            }
            let key =
                |it: &Thing| fields.iter().map(|field| it.value(field).clone()).collect::<Vec<_>>();
            let mut groups: BTreeMap<Vec<Value>, Vec<ObjId>> = BTreeMap::new();
            for (id, thing) in self.things.iter().filter(|(_, it)| types.contains(&it.of_type)) {
                groups.entry(key(thing)).or_default().push(*id);
            }
            groups.retain(|key, ids| ids.len() > 1 && !exempt(&key.iter().collect::<Vec<_>>()));
            for ids in groups.values() {
                for object in ids {
                    let others = ids.iter().filter(|id| *id != object).take(5).copied().collect();
                    let of_type = self.things[object].of_type;
                    let dot = if path.starts_with('#') { "" } else { "." };
                    let path = format!("{of_type}{dot}{path}");
                    found.push(Breach { object: *object, path, rule: Rule::Unique, others });
                }
            }
        }
        let settings = || self.things.iter().filter(|(_, it)| it.of_type == "Settings");
        for (object, thing) in &self.things {
            let mut add = |path: &str, rule, others| {
                let path = format!("{}{path}", thing.of_type);
                found.push(Breach { object: *object, path, rule, others });
            };
            for (of_type, field, versions) in REQUIRED {
                let is_required = thing.of_type == of_type && versions.contains(&program);
                if is_required && thing.value(field).is_null() {
                    add(&format!(".{field}"), Rule::Required, Vec::new());
                }
            }
            match thing.of_type {
                "Settings" => {
                    let others = settings().map(|(id, _)| *id).filter(|id| id != object);
                    let others: Vec<_> = others.take(5).collect();
                    if !others.is_empty() {
                        add("", Rule::Singleton, others);
                    }
                    if thing.value("theme").as_str() == Some("ugly") {
                        add(".theme", Rule::Valid, Vec::new());
                    }
                }
                "User" => {
                    let (rank, null) = (thing.value("rank"), |field| thing.value(field).is_null());
                    if *rank == Value::Int(2) && null("email") {
                        add("", Rule::Valid, Vec::new());
                    }
                    if *rank == Value::Int(3) && null("name") {
                        add("::third_has_a_name", Rule::Valid, Vec::new());
                    }
                }
                "Team" => {
                    let is_green = thing.value("title").as_str() == Some("green");
                    if is_green && *thing.value("members") > Value::Int(1) {
                        add("::green_is_small", Rule::Valid, Vec::new());
                    }
                }
                "Book" => {
                    let Some(owner) = thing.reference("owner") else { continue };
                    let books = self.things.values().filter(|it| it.of_type == "Book");
                    if books.filter(|it| it.reference("owner") == Some(owner)).count() > 2 {
                        add("::two_for_each", Rule::Valid, Vec::new());
                    }
                    let rank = self.things[&owner].value("rank");
                    if *thing.value("code") == Value::Int(5) && *rank == Value::Int(3) {
                        add("::fits_the_rank", Rule::Valid, Vec::new());
                    }
                }
                "Review" if !thing.value("work").is_null() => {
                    let FieldValue::Map(stars) = &thing.fields["stars"] else {
                        panic!("{thing:?}")
                    };
                    if stars.iter().any(|(_, stars)| *stars < Value::Int(0)) {
                        add(".stars", Rule::Valid, Vec::new());
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// Whether the check must look at what breaks a rule, because it differs from what was there.
    pub(crate) fn must_be_found(&self, before_all: &World, breach: &Breach) -> bool {
        let (after, before) = (&self.things[&breach.object], before_all.things.get(&breach.object));
        let Some(before) = before else { return true };
        let (_, name) = logical(&breach.path);
        let changed = |field: &str| before.fields[field] != after.fields[field];
        let fields =
            UNIQUE.iter().find(|(path, ..)| *path == name).map(|(_, _, fields, _)| *fields);
        match (breach.rule, fields) {
            (Rule::Singleton, _) => false,
            (Rule::Unique, Some(fields)) => fields.iter().any(|field| changed(field)),
            (_, _) if name.is_empty() => before.fields != after.fields,
            (_, _) => match name.as_str() {
                "::third_has_a_name" => changed("rank") || changed("name"),
                "::green_is_small" => changed("title") || changed("members"),
                "::two_for_each" => changed("owner"),
                "::fits_the_rank" => {
                    let rank = |world: &World| {
                        let owner = after.reference("owner").and_then(|id| world.things.get(&id));
                        owner.map(|it| it.value("rank").clone())
                    };
                    changed("owner") || changed("code") || rank(self) != rank(before_all)
                }
                name => changed(name),
            },
        }
    }
}
