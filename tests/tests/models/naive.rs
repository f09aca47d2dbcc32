//! What a database must contain after each step, and which rules that breaks.

use std::collections::{BTreeMap, BTreeSet};

use permazen::encoding::Value;
use permazen::model::Rule;
use permazen::object::FieldValue;
use permazen::{ObjId, Result, Tx};

use crate::family::FULL;

pub(crate) type Fields = BTreeMap<String, FieldValue>;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Thing {
    pub(crate) of_type: &'static str,
    pub(crate) fields: Fields,
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

/// Fields that are required, and can be null in the database.
const REQUIRED: [(&str, &str); 7] = [
    ("Team", "title"),
    ("Book", "label"),
    ("Book", "owner"),
    ("Film", "label"),
    ("Review", "work"),
    ("Note", "text"),
    ("Settings", "theme"),
];

/// The rules of uniqueness: path, types of the scope, fields, and whether values are exempt.
type Exempt = fn(&[&Value]) -> bool;
const UNIQUE: [(&str, &[&str], &[&str], Exempt); 6] = [
    ("email", &["User"], &["email"], |it| it[0].is_null() || it[0].as_str() == Some("x")),
    ("#nameRank", &["User"], &["name", "rank"], |it| *it[1] == Value::Int(0)),
    ("title", &["Team"], &["title"], |_| false),
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

    fn references(&self) -> Vec<(&str, ObjId)> {
        let simple = self.fields.keys().filter_map(|field| match &self.fields[field] {
            FieldValue::Simple(Value::Ref(id)) => Some((&**field, *id)),
            _ => None,
        });
        simple.chain(self.friends().into_iter().map(|id| ("friends", id))).collect()
    }
}

impl World {
    /// What a transaction sees.
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
            let fields = fields.into_iter().collect();
            world.things.insert(object.id(), Thing { of_type, fields });
        }
        world.entries.sort();
        Ok(world)
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

    /// All objects that break rules.
    pub(crate) fn breaches(&self) -> Vec<Breach> {
        let mut found = Vec::new();
        for (path, types, fields, exempt) in UNIQUE {
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
            for (of_type, field) in REQUIRED {
                if thing.of_type == of_type && thing.value(field).is_null() {
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
                "User"
                    if *thing.value("rank") == Value::Int(2) && thing.value("email").is_null() =>
                {
                    add("", Rule::Valid, Vec::new());
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
    pub(crate) fn must_be_found(&self, before: &World, breach: &Breach) -> bool {
        let (after, before) = (&self.things[&breach.object], before.things.get(&breach.object));
        let Some(before) = before else { return true };
        let name = breach.path.trim_start_matches(after.of_type).trim_start_matches('.');
        let fields =
            UNIQUE.iter().find(|(path, ..)| *path == name).map(|(_, _, fields, _)| *fields);
        match (breach.rule, fields) {
            (Rule::Singleton, _) => false,
            (Rule::Unique, Some(fields)) => {
                fields.iter().any(|field| before.fields[*field] != after.fields[*field])
            }
            (_, _) if name.is_empty() => before.fields != after.fields,
            (_, _) => before.fields[name] != after.fields[name],
        }
    }
}
