//! The result that each operation must return, and the object afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::evolutions::naive::{
    Cell, Content, Contents, Given, Kind, Source, Spec, Stays, Version, allows, carried,
    has_unknown_fields, moved, source,
};
use crate::evolutions::values::LONG;
use crate::evolutions::versions::{Effect, Program};

/// An object as the naive model knows it.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) of_type: &'static str,
    /// The version in whose schema it is.
    pub(crate) version: usize,
    pub(crate) contents: Contents,
}

/// The result that an operation must return.
#[derive(Debug)]
pub(crate) enum Expected {
    Done,
    Content(Content),
    Contents(Contents),
    Stays(Stays),
    /// A required value is null.
    Missing,
    /// A reference to an object of a type that the model does not allow.
    WrongTarget,
    /// These fields were changed in two ways.
    Changed(BTreeSet<String>),
    /// The object does not exist.
    Deleted,
}

pub(crate) type Outcome = (Expected, Known);

pub(crate) struct Rules {
    pub(crate) programs: Arc<Vec<Program>>,
    /// The types of all objects.
    pub(crate) types: BTreeMap<String, &'static str>,
    /// Whether keys can be too long for the store.
    pub(crate) is_limited: bool,
}

impl Rules {
    pub(crate) fn version(&self, version: usize, of_type: &str) -> &Version {
        &self.programs[version].model(of_type).unwrap().version
    }

    pub(crate) fn type_of(&self) -> impl Fn(&str) -> &'static str {
        |id| self.types[id]
    }

    /// The object with this content, if the store has room for the keys.
    fn fitting(&self, known: Known) -> Result<Known, Stays> {
        let version = self.version(known.version, known.of_type);
        let is_long = |cell: &Cell| cell.as_ref().is_some_and(|text| text.len() >= LONG);
        let mut keys = Vec::new();
        for field in &version.fields {
            if matches!(field.shape.kind, Kind::Set | Kind::Map) {
                keys.extend(known.contents[field.means].iter().map(|(key, _)| key.clone()));
            }
        }
        for (_, index) in &version.indexes {
            keys.extend(index.entries(&known.contents).into_iter().flatten());
        }
        match self.is_limited && keys.iter().any(is_long) {
            true => Err(Stays::TooLong),
            false => Ok(known),
        }
    }

    /// The object after it has moved, even if there is no room for its keys.
    fn converted(&self, version: usize, old: &Known, given: Given<'_>) -> Result<Known, Stays> {
        if old.version == version {
            return Ok(old.clone());
        }
        let to = self.version(version, old.of_type);
        let from = self.version(old.version, old.of_type);
        let contents = moved(to, from, &old.contents, given, &self.type_of())?;
        Ok(Known { version, contents, of_type: old.of_type })
    }

    /// The object after it has moved.
    pub(crate) fn moved(&self, version: usize, old: &Known) -> Result<Known, Stays> {
        self.fitting(self.converted(version, old, Given::Nothing)?)
    }

    /// The result of a read of a field of an object.
    fn read(&self, field: &Spec, content: Content) -> Expected {
        let types = self.type_of();
        if field.is_required && content[0].0.is_none() {
            return Expected::Missing;
        }
        if field.shape.kind == Kind::One && !allows(field.shape.of, &content[0].0, &types) {
            return Expected::WrongTarget;
        }
        Expected::Content(content)
    }

    /// The values that a program sees in each field of an object where it is; `None` if that cannot
    /// be known without moving the object. A required value that the object lacks cannot be known
    /// either.
    pub(crate) fn see(
        &self,
        version: usize,
        old: &Known,
    ) -> BTreeMap<&'static str, Option<Content>> {
        let to = self.version(version, old.of_type);
        let from = self.version(old.version, old.of_type);
        let mut seen = self.see_all(version, old);
        for field in to.fields.iter().filter(|field| field.is_required) {
            let is_missing = matches!(source(to, field, from), Source::Missing);
            if is_missing && field.initial()[0].0.is_none() {
                seen.insert(field.means, None);
            }
        }
        seen
    }

    /// The same, with null for required values that the object lacks.
    pub(crate) fn see_all(
        &self,
        version: usize,
        old: &Known,
    ) -> BTreeMap<&'static str, Option<Content>> {
        let to = self.version(version, old.of_type);
        let from = self.version(old.version, old.of_type);
        let see = |field: &Spec| match source(to, field, from) {
            Source::Same(before) => Some(old.contents[before.means].clone()),
            _ if to.makes(field) => None,
            Source::Missing => Some(field.initial()),
            Source::Differs(before) => carried(field, before, &old.contents, &self.type_of()),
        };
        to.fields.iter().map(|field| (field.means, see(field))).collect()
    }

    /// The content that a program sees in an object where it is; `None` if it must move for that.
    fn seen(&self, version: usize, old: &Known) -> Option<Contents> {
        let to = self.version(version, old.of_type);
        let from = self.version(old.version, old.of_type);
        let differs = |field: &Spec| matches!(source(to, field, from), Source::Differs(_));
        if to.fields.iter().any(differs) {
            return None;
        }
        let seen = self.see_all(version, old).into_iter();
        seen.map(|(means, content)| Some((means, content?))).collect()
    }

    /// The object with new values of some fields where it is; `None` if it must move for that.
    fn placed<'c>(
        &self,
        version: usize,
        old: &Known,
        changed: impl IntoIterator<Item = (&'static str, &'c Content)>,
    ) -> Option<Known> {
        let to = self.version(version, old.of_type);
        let from = self.version(old.version, old.of_type);
        let mut new = old.clone();
        for (means, content) in changed {
            let Source::Same(before) = source(to, to.field(means).unwrap(), from) else {
                return None;
            };
            let mut cells = content.iter().map(|(cell, _)| cell);
            if !cells.all(|cell| allows(before.shape.of, cell, &self.type_of())) {
                return None;
            }
            new.contents.insert(before.means, content.clone());
        }
        Some(new)
    }

    pub(crate) fn get(&self, version: usize, old: &Known, means: &str) -> Outcome {
        let to = self.version(version, old.of_type);
        let from = self.version(old.version, old.of_type);
        let field = to.field(means).unwrap();
        match source(to, field, from) {
            Source::Same(before) => {
                (self.read(field, old.contents[before.means].clone()), old.clone())
            }
            Source::Missing if !to.makes(field) => (self.read(field, field.initial()), old.clone()),
            _ => match self.moved_or_read(version, old) {
                Err(Stays::TooLong) if !matches!(field.shape.kind, Kind::One | Kind::Counter) => {
                    (Expected::Stays(Stays::TooLong), old.clone())
                }
                Err(stays) => (Expected::Stays(stays), old.clone()),
                Ok((contents, new))
                    if new.version != version
                        && !matches!(field.shape.kind, Kind::One | Kind::Counter) =>
                {
                    drop(contents);
                    (Expected::Stays(Stays::TooLong), new)
                }
                Ok((contents, new)) => (self.read(field, contents[means].clone()), new),
            },
        }
    }

    /// The content of an object after it has moved. If there is no room for its keys, it stays.
    fn moved_or_read(&self, version: usize, old: &Known) -> Result<(Contents, Known), Stays> {
        match self.moved(version, old) {
            Ok(new) => Ok((new.contents.clone(), new)),
            Err(Stays::TooLong) => {
                Ok((self.converted(version, old, Given::Nothing)?.contents, old.clone()))
            }
            Err(stays) => Err(stays),
        }
    }

    /// The content of an object, and the object after that.
    pub(crate) fn content(&self, version: usize, old: &Known) -> Result<(Contents, Known), Stays> {
        match self.seen(version, old) {
            Some(seen) => Ok((seen, old.clone())),
            None => self.moved_or_read(version, old),
        }
    }

    fn lacks_value(&self, version: usize, of_type: &str, contents: &Contents) -> bool {
        let fields = &self.version(version, of_type).fields;
        fields.iter().any(|field| field.is_required && contents[field.means][0].0.is_none())
    }

    pub(crate) fn load(&self, version: usize, old: &Known) -> Outcome {
        match self.content(version, old) {
            Err(stays) => (Expected::Stays(stays), old.clone()),
            Ok((contents, new)) if self.lacks_value(version, old.of_type, &contents) => {
                (Expected::Missing, new)
            }
            Ok((contents, new)) => (Expected::Contents(contents), new),
        }
    }

    /// The result of a change of one field, and the object after that.
    pub(crate) fn change(
        &self,
        version: usize,
        old: &Known,
        means: &str,
        effect: &Effect,
    ) -> Outcome {
        let to = self.version(version, old.of_type);
        let from = self.version(old.version, old.of_type);
        let field = to.field(means).unwrap();
        let stays = |stays, old: &Known| (Expected::Stays(stays), old.clone());
        // The view of a collection moves an object that it cannot show.
        let is_shown = match source(to, field, from) {
            Source::Same(_) => true,
            Source::Missing => !to.makes(field),
            Source::Differs(_) => false,
        };
        let mut old = old.clone();
        if !is_shown && !matches!(field.shape.kind, Kind::One | Kind::Counter) {
            match self.moved(version, &old) {
                Ok(new) => old = new,
                Err(error) => return stays(error, &old),
            }
        }
        match self.changed(version, &old, means, effect) {
            Ok(new) => (Expected::Done, new),
            Err(error) => stays(error, &old),
        }
    }

    /// The object after a change of one field.
    fn changed(
        &self,
        version: usize,
        old: &Known,
        means: &str,
        effect: &Effect,
    ) -> Result<Known, Stays> {
        let to = self.version(version, old.of_type);
        let from = self.version(old.version, old.of_type);
        let field = to.field(means).unwrap();
        let types = self.type_of();
        let changed = |mut known: Known, at: &str| {
            let content = known.contents.get_mut(at).unwrap();
            effect.apply(content);
            field.shape.sort(content);
            self.fitting(known)
        };
        // Where the object is, if its own schema allows it.
        match source(to, field, from) {
            Source::Same(before) => {
                let cell = match effect {
                    Effect::Set(content) => &content[0].0,
                    Effect::Append(cell) | Effect::Insert(cell, _) => cell,
                    Effect::Add(_) | Effect::Clear => &None,
                };
                if allows(before.shape.of, cell, &types) {
                    match changed(old.clone(), before.means) {
                        Err(stays) if old.version == version => return Err(stays),
                        Err(_) => {}
                        Ok(new) => return Ok(new),
                    }
                }
            }
            // A collection that its schema lacks is empty, if no field that the program does not
            // know can have its content under another name.
            Source::Missing
                if matches!(effect, Effect::Clear)
                    && !to.makes(field)
                    && !has_unknown_fields(to, from) =>
            {
                return Ok(old.clone());
            }
            _ => {}
        }
        // An object that moves gets the new value at once, so the old value need not be converted.
        let new = match effect {
            Effect::Set(_) => self.converted(version, old, Given::Field(field.means))?,
            _ => self.moved(version, old)?,
        };
        changed(new, field.means)
    }

    /// The object after a whole value was stored. Counters keep their numbers.
    pub(crate) fn store(
        &self,
        version: usize,
        old: &Known,
        new: &Contents,
    ) -> Result<Known, Stays> {
        let to = self.version(version, old.of_type);
        let fields = || to.fields.iter().filter(|field| field.shape.kind != Kind::Counter);
        // Where the object is, if only fields change that its schema has.
        let seen = self.see(version, old);
        let changes = fields().map(|field| (field.means, &new[field.means]));
        let changes = changes.filter(|(means, content)| seen[means].as_ref() != Some(content));
        if let Some(new) = self.placed(version, old, changes) {
            match self.fitting(new) {
                Err(stays) if old.version == version => return Err(stays),
                Err(_) => {}
                Ok(new) => return Ok(new),
            }
        }
        self.store_moving(version, old, new)
    }

    /// The same, if the object must move for that.
    fn store_moving(&self, version: usize, old: &Known, new: &Contents) -> Result<Known, Stays> {
        let to = self.version(version, old.of_type);
        let fields = || to.fields.iter().filter(|field| field.shape.kind != Kind::Counter);
        let allowed = |field: &Spec| {
            let mut cells = new[field.means].iter().map(|(cell, _)| cell);
            cells.all(|cell| allows(field.shape.of, cell, &self.type_of()))
        };
        if !fields().all(allowed) {
            return Err(Stays::NotAllowed);
        }
        let mut moved = self.converted(version, old, Given::AllButCounters)?;
        for field in fields() {
            moved.contents.insert(field.means, new[field.means].clone());
        }
        self.fitting(moved)
    }

    /// The object after a value with a base was stored. If that fails, nothing changes.
    pub(crate) fn store_base(
        &self,
        version: usize,
        old: &Known,
        base: &BTreeMap<&'static str, Option<Content>>,
        wanted: &Contents,
    ) -> Outcome {
        let present = self.see(version, old);
        let stored = self.store_difference(version, old, base, &present, wanted);
        let (expected, new) = match stored {
            Some(stored) => stored,
            // A value that cannot be known where the object is can be known when it has moved.
            None => match self.content(version, old) {
                Err(stays) => (Expected::Stays(stays), old.clone()),
                Ok((contents, new)) => {
                    let present = contents.into_iter().map(|(means, of)| (means, Some(of)));
                    let present = present.collect();
                    self.store_difference(version, &new, base, &present, wanted).unwrap()
                }
            },
        };
        match expected {
            Expected::Contents(_) => (expected, new),
            _ => (expected, old.clone()),
        }
    }

    /// `None` if the object must move and is not known as a whole.
    fn store_difference(
        &self,
        version: usize,
        old: &Known,
        base: &BTreeMap<&'static str, Option<Content>>,
        present: &BTreeMap<&'static str, Option<Content>>,
        wanted: &Contents,
    ) -> Option<Outcome> {
        let to = self.version(version, old.of_type);
        let from = self.version(old.version, old.of_type);
        let is_whole = present.values().all(Option::is_some);
        let (mut merged, mut changed, mut counters) = (Contents::new(), Vec::new(), Vec::new());
        let mut conflicts = BTreeSet::new();
        for field in &to.fields {
            let (means, base, new) = (field.means, &base[field.means], &wanted[field.means]);
            // A field that cannot be read counts as what it was.
            let Some(now) = present[means].as_ref().or(base.as_ref()) else {
                changed.push(means);
                continue;
            };
            // The object may have the value under a name that the program does not know.
            let lacks = matches!(source(to, field, from), Source::Missing) && !to.makes(field);
            let is_counted = field.shape.kind == Kind::Counter && base.is_some();
            let must_be_set = lacks && !is_counted && base.as_ref() != Some(new);
            let number = |content: &Content| content[0].0.as_ref().unwrap().parse::<i64>().unwrap();
            let mut content = now.clone();
            if let (Kind::Counter, Some(base)) = (field.shape.kind, base) {
                let by = number(new).wrapping_sub(number(base));
                counters.extend((by != 0).then_some((means, by)));
            } else if new == now || base.as_ref() == Some(new) {
            } else if base.as_ref() == Some(now) {
                content = new.clone();
            } else if let (Kind::Set | Kind::Map, Some(base)) = (field.shape.kind, base) {
                content = merge_entries(base, now, new, field, &mut conflicts);
                field.shape.sort(&mut content);
            } else {
                conflicts.insert(field.name.to_owned());
            }
            if content != *now || must_be_set {
                changed.push(means);
            }
            merged.insert(means, content);
        }
        let touched = changed.iter().copied().chain(counters.iter().map(|(means, _)| *means));
        let stays = |means| matches!(source(to, to.field(means).unwrap(), from), Source::Same(_));
        if !is_whole && !touched.into_iter().all(stays) {
            return None;
        }
        if !conflicts.is_empty() {
            return Some((Expected::Changed(conflicts), old.clone()));
        }
        let mut stored = merged.clone();
        for (means, by) in &counters {
            Effect::Add(*by).apply(stored.get_mut(means).unwrap());
        }
        if self.lacks_value(version, old.of_type, &stored) {
            return Some((Expected::Missing, old.clone()));
        }
        let mut new = Ok(old.clone());
        if !changed.is_empty() {
            let changes = changed.iter().map(|means| (*means, &merged[means]));
            let placed = self.placed(version, old, changes).map(|new| self.fitting(new));
            new = match placed {
                Some(Ok(new)) => Ok(new),
                Some(Err(stays)) if old.version == version => Err(stays),
                _ if !is_whole => return None,
                _ => self.store_moving(version, old, &merged),
            };
        }
        for (means, by) in counters {
            new = new.and_then(|new| self.changed(version, &new, means, &Effect::Add(by)));
        }
        Some(match new {
            Ok(new) => (Expected::Contents(stored), new),
            Err(stays) => (Expected::Stays(stays), old.clone()),
        })
    }
}

fn merge_entries(
    base: &Content,
    present: &Content,
    wanted: &Content,
    field: &Spec,
    conflicts: &mut BTreeSet<String>,
) -> Content {
    let keys = [base, present, wanted].into_iter().flatten().map(|(key, _)| key.clone());
    let of = |content: &Content, key: &Cell| {
        content.iter().find(|(found, _)| found == key).map(|(_, value)| value.clone())
    };
    let mut merged = Content::new();
    for key in keys.collect::<BTreeSet<Cell>>() {
        let (base, now, new) = (of(base, &key), of(present, &key), of(wanted, &key));
        let value = if new == base || new == now {
            now
        } else if base == now {
            new
        } else {
            conflicts.insert(field.name.to_owned());
            now
        };
        merged.extend(value.map(|value| (key, value)));
    }
    merged
}

impl Effect {
    pub(crate) fn apply(&self, content: &mut Content) {
        match self {
            Effect::Set(new) => *content = new.clone(),
            Effect::Add(by) => {
                let count: i64 = content[0].0.as_ref().unwrap().parse().unwrap();
                content[0].0 = Some(count.wrapping_add(*by).to_string());
            }
            Effect::Append(cell) => content.push((cell.clone(), None)),
            Effect::Insert(key, value) => {
                content.retain(|(old, _)| old != key);
                content.push((key.clone(), value.clone()));
            }
            Effect::Clear => content.clear(),
        }
    }
}
