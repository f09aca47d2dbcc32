//! The events that observers get, and whether they are the actual changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use permazen::ObjId;
use permazen::encoding::Value;
use permazen::object::FieldValue;

use crate::models::naive::{Thing, World};

/// A change of a field, with its name and values in the first version.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub(crate) id: ObjId,
    pub(crate) field: &'static str,
    pub(crate) what: What,
}

#[derive(Debug, Clone)]
pub(crate) enum What {
    /// The old and the new value.
    Simple(Value, Value),
    Add(Value),
    Remove(Value),
    Insert(usize, Value),
    RemoveAt(usize, Value),
    /// Position, old and new element.
    Replace(usize, Value, Value),
    /// Key, old value if there was one, and new value.
    Put(Value, Option<Value>, Value),
    Take(Value, Value),
    Clear,
}

/// The fields that are observed.
const OBSERVED: [(&str, &[&str]); 6] = [
    ("User", &["email", "name", "rank", "team", "friends"]),
    ("Team", &["title", "members"]),
    ("Book", &["owner"]),
    ("Film", &["star", "tags"]),
    ("Review", &["work", "by", "note", "stars"]),
    ("Note", &["text"]),
];

/// The name of the path, where it begins, and the new value at its end.
type Along = (&'static str, ObjId, Value);

/// All events since the log was last emptied.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeardLog(Arc<Mutex<(Vec<Heard>, Vec<Along>)>>);

impl HeardLog {
    pub(crate) fn add(&self, heard: Heard) {
        self.0.lock().unwrap().0.push(heard);
    }

    pub(crate) fn along(&self, path: &'static str, from: ObjId, value: Value) {
        self.0.lock().unwrap().1.push((path, from, value));
    }

    pub(crate) fn clear(&self) {
        *self.0.lock().unwrap() = Default::default();
    }

    /// Compares the events with the changes. The objects were in the schemas that `before` says.
    /// `alone` says that each removal from a list was reported as if it were made alone.
    pub(crate) fn check(&self, before: &World, after: &World, program: u8, alone: bool) {
        let (heard, along) = std::mem::take(&mut *self.0.lock().unwrap());
        let mut told: BTreeMap<(ObjId, &str), Vec<&What>> = BTreeMap::new();
        for it in &heard {
            told.entry((it.id, it.field)).or_default().push(&it.what);
        }
        for (id, new) in &after.things {
            let fields = OBSERVED.iter().find(|(of_type, _)| *of_type == new.of_type);
            for field in fields.map_or(&[][..], |(_, fields)| *fields) {
                let told = told.get(&(*id, *field)).map_or(&[][..], |told| told);
                match before.things.get(id) {
                    Some(old) => {
                        let found = replay(&old.fields[*field], told, alone);
                        assert_eq!(
                            found.as_ref(),
                            Ok(&new.fields[*field]),
                            "{id}.{field} was {:?}: {told:?}",
                            old.fields[*field]
                        );
                    }
                    // Its first value is not known.
                    None => {
                        if let (Some(What::Simple(_, last)), FieldValue::Simple(value)) =
                            (told.last(), &new.fields[*field])
                        {
                            assert_eq!(last, value, "{id}.{field}: {told:?}");
                        }
                    }
                }
            }
        }
        for (path, of_type, end) in [("owner", "Book", "rank"), ("by", "Review", "name")] {
            let ends = |it: &Thing| it.reference(path);
            let of = |world: &World| {
                let of_type = world.things.iter().filter(|(_, it)| it.of_type == of_type);
                of_type.map(|(id, it)| (*id, ends(it))).collect::<BTreeSet<_>>()
            };
            if of(before) != of(after) {
                continue;
            }
            let mut expected = Vec::new();
            for it in heard.iter().filter(|it| it.field == end) {
                let What::Simple(_, new) = &it.what else { continue };
                let sources = before.things.iter().filter(|(_, thing)| {
                    // In another schema, the field `by` has another name, and is no step.
                    let is_step = path == "owner" || thing.version == program;
                    thing.of_type == of_type && ends(thing) == Some(it.id) && is_step
                });
                expected.extend(sources.map(|(id, _)| (*id, new.clone())));
            }
            let found = along.iter().filter(|(name, ..)| *name == path);
            let mut found: Vec<_> = found.map(|(_, id, value)| (*id, value.clone())).collect();
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "along {path}: {heard:?}");
        }
    }
}

/// The value after these changes, or the change that does not fit.
fn replay(before: &FieldValue, told: &[&What], alone: bool) -> Result<FieldValue, String> {
    let mut value = before.clone();
    // How many elements of a list were just removed from there. Several that are removed at once
    // are reported with the positions that they had before.
    let mut gone = 0;
    for (nth, what) in told.iter().enumerate() {
        gone = match (nth.checked_sub(1).map(|before| told[before]), *what) {
            (Some(What::RemoveAt(before, _)), What::RemoveAt(at, _))
                if before + 1 == *at && !alone =>
            {
                gone + 1
            }
            _ => 0,
        };
        let fits = match (&mut value, *what) {
            (FieldValue::Simple(value), What::Simple(old, new)) => {
                std::mem::replace(value, new.clone()) == *old && old != new
            }
            (FieldValue::Set(all), What::Add(it)) => {
                let is_new = !all.contains(it);
                all.push(it.clone());
                all.sort();
                is_new
            }
            (FieldValue::Set(all), What::Remove(it)) => {
                let len = all.len();
                all.retain(|other| other != it);
                all.len() + 1 == len
            }
            (FieldValue::Set(all), What::Clear) | (FieldValue::List(all), What::Clear) => {
                !std::mem::take(all).is_empty()
            }
            (FieldValue::List(all), What::Insert(at, it)) if *at <= all.len() => {
                all.insert(*at, it.clone());
                true
            }
            (FieldValue::List(all), What::RemoveAt(at, it)) if *at - gone < all.len() => {
                all.remove(*at - gone) == *it
            }
            (FieldValue::List(all), What::Replace(at, old, new)) if *at < all.len() => {
                std::mem::replace(&mut all[*at], new.clone()) == *old
            }
            (FieldValue::Map(all), What::Put(key, old, new)) => {
                let was = all.iter().position(|(it, _)| it == key).map(|at| all.remove(at).1);
                all.push((key.clone(), new.clone()));
                all.sort();
                was == *old
            }
            (FieldValue::Map(all), What::Take(key, old)) => {
                let was = all.iter().position(|(it, _)| it == key).map(|at| all.remove(at).1);
                was.as_ref() == Some(old)
            }
            (FieldValue::Map(all), What::Clear) => !std::mem::take(all).is_empty(),
            _ => false,
        };
        if !fits {
            return Err(format!("{what:?} does not fit {value:?}"));
        }
    }
    Ok(value)
}
