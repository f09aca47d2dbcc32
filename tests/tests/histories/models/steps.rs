//! The operations: random ones, what they do in a database, and what they do in the naive model.

use std::collections::{BTreeMap, BTreeSet};

use permazen::encoding::Value;
use permazen::object::FieldValue;
use permazen::{Error, ObjId, Ref};

use crate::models::family::{Book, Coded, Film, Review, User};
use crate::models::naive::{Fields, Refused, Thing, World};

/// Random numbers. The seed decides all of them.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        // Seeds that follow each other would give the same numbers, one later each.
        random.0 = random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Op {
    NewUser(User),
    NewTeam(&'static str),
    NewBook(Book),
    NewFilm(Film),
    NewReview(Review),
    NewNote,
    NewSettings(&'static str),
    /// The settings that are there, or new ones.
    Singleton,
    Default(&'static str),
    StoreUser(ObjId, User),
    StoreFilm(ObjId, Film),
    /// By an accessor.
    Join(ObjId, Option<ObjId>),
    /// By the name of the field, where the object is.
    Set(ObjId, &'static str, Value),
    /// By an accessor.
    Assign(ObjId, &'static str, Value),
    AddFriend(ObjId, ObjId),
    RemoveFriend(ObjId, ObjId),
    ReplaceFriends(ObjId, Vec<ObjId>),
    Push(ObjId, &'static str),
    Pop(ObjId),
    /// All tags but this one, in the schema of the object.
    Retain(ObjId, &'static str),
    ReplaceTags(ObjId, Vec<&'static str>),
    Rate(ObjId, &'static str, i32),
    Unrate(ObjId, &'static str),
    Delete(ObjId),
    /// With new IDs. A review is copied with its note.
    Copy(ObjId),
    Revalidate(ObjId),
    /// To the schema of the program.
    MoveAll,
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    One(Op),
    /// Several operations as one, which is undone if the flag says so.
    Atomic(Vec<Op>, bool),
}

/// The new objects of an operation.
pub(crate) type New = Vec<ObjId>;

const TEXTS: [&str; 3] = ["a", "b", "x"];
const THEMES: [&str; 3] = ["dark", "light", "ugly"];

/// Some object of these types; seldom one that does not exist.
fn some(random: &mut Random, world: &World, types: &[&str]) -> Option<ObjId> {
    let of = world.things.iter().filter(|(_, it)| types.contains(&it.of_type));
    let ids: Vec<_> = of.map(|(id, _)| *id).collect();
    if ids.is_empty() {
        return None;
    }
    let id = random.pick(&ids);
    Some(if random.one_in(40) { ObjId::from_bytes(gone(id)).unwrap_or(id) } else { id })
}

/// The ID of an object of the same type that does not exist.
fn gone(id: ObjId) -> [u8; 8] {
    let mut bytes = id.to_bytes();
    bytes[4..].fill(0xee);
    bytes
}

fn maybe<M>(random: &mut Random, world: &World, types: &[&str]) -> Option<Ref<M>> {
    if random.one_in(2) { None } else { some(random, world, types).map(Ref::new) }
}

fn user(random: &mut Random, world: &World) -> User {
    let friends = (0..random.below(3)).filter_map(|_| maybe(random, world, &["User"])).collect();
    User {
        email: random.pick(&[None, Some("a"), Some("b"), Some("c"), Some("x")]).map(str::to_owned),
        name: random.pick(&[None, Some("m"), Some("n")]).map(str::to_owned),
        folded: random.pick(&[None, Some("?")]).map(str::to_owned),
        rank: random.pick(&[0, 0, 1, 1, 2, 3, 9]),
        team: maybe(random, world, &["Team"]),
        friends,
    }
}

fn coded(random: &mut Random) -> Coded {
    Coded { code: random.pick(&[0, 0, 1, 2, 3, 4, 5]), label: random.pick(&TEXTS).to_owned() }
}

fn film(random: &mut Random, world: &World) -> Film {
    let tags = (0..random.below(3)).map(|_| random.pick(&TEXTS).to_owned()).collect();
    Film { coded: coded(random), star: maybe(random, world, &["User"]), tags }
}

fn review(random: &mut Random, world: &World) -> Option<Review> {
    let work = Ref::new(some(random, world, &["Book", "Film"])?);
    let stars = random.pick(&[-1, 1, 2, 3]);
    let stars = (0..random.below(3)).map(|n| (TEXTS[n].to_owned(), stars)).collect();
    let (by, note) = (maybe(random, world, &["User"]), maybe(random, world, &["Note"]));
    Some(Review { work, by, note, stars })
}

/// An operation that makes sense for what there is.
pub(crate) fn op(random: &mut Random, world: &World, program: u8) -> Op {
    loop {
        if let Some(op) = try_op(random, world, program) {
            return op;
        }
    }
}

fn try_op(random: &mut Random, world: &World, program: u8) -> Option<Op> {
    let some = |random: &mut Random, types: &[&str]| some(random, world, types);
    Some(match random.below(36) {
        0..=3 => Op::NewUser(user(random, world)),
        4 => Op::NewTeam(random.pick(&["red", "blue", "eternal", "green"])),
        5 | 6 => {
            let owner = Ref::new(some(random, &["User"])?);
            Op::NewBook(Book { coded: coded(random), owner })
        }
        7 => Op::NewFilm(film(random, world)),
        8 | 9 => Op::NewReview(review(random, world)?),
        10 => Op::NewNote,
        11 => random.pick(&[Op::NewSettings(random.clone().pick(&THEMES)), Op::Singleton]),
        12 => Op::Default(random.pick(&["User", "Book", "Film", "Team", "Review", "Settings"])),
        13 => Op::StoreUser(some(random, &["User"])?, user(random, world)),
        14 => Op::StoreFilm(some(random, &["Film"])?, film(random, world)),
        15 | 16 => {
            let team = if random.one_in(3) { None } else { some(random, &["Team"]) };
            Op::Join(some(random, &["User"])?, team)
        }
        17 => Op::AddFriend(some(random, &["User"])?, some(random, &["User"])?),
        18 => Op::RemoveFriend(some(random, &["User"])?, some(random, &["User"])?),
        19 => {
            let friends = (0..random.below(4)).filter_map(|_| some(random, &["User"])).collect();
            Op::ReplaceFriends(some(random, &["User"])?, friends)
        }
        20 => match random.below(4) {
            0 => Op::Retain(some(random, &["Film"])?, random.pick(&TEXTS)),
            1 => Op::Push(some(random, &["Film"])?, random.pick(&TEXTS)),
            2 => Op::Pop(some(random, &["Film"])?),
            _ => {
                let tags = (0..random.below(7)).map(|_| random.pick(&TEXTS)).collect();
                Op::ReplaceTags(some(random, &["Film"])?, tags)
            }
        },
        21 => {
            let stars = random.pick(&[-1, 1, 2]);
            Op::Rate(some(random, &["Review"])?, random.pick(&TEXTS), stars)
        }
        22 => Op::Unrate(some(random, &["Review"])?, random.pick(&TEXTS)),
        23 | 24 => {
            let all = ["User", "Team", "Book", "Film", "Review", "Note", "Settings"];
            Op::Delete(some(random, &all)?)
        }
        25 => Op::Copy(some(random, &["User", "Book", "Film", "Review"])?),
        26 => Op::Revalidate(some(random, &["User", "Film", "Review", "Settings"])?),
        _ => {
            let all = ["User", "Team", "Book", "Film", "Review", "Note", "Settings"];
            let id = some(random, &all)?;
            let of_type = world.things.get(&id).map_or("User", |it| it.of_type);
            let any =
                |random: &mut Random| match some(random, &["User", "Team", "Book", "Film", "Note"])
                {
                    Some(id) if !random.one_in(4) => Value::Ref(id),
                    _ => Value::Null,
                };
            let text = |random: &mut Random, texts: &[&str]| match random.one_in(5) {
                true => Value::Null,
                false => Value::String(random.pick(texts).to_owned()),
            };
            let (field, value) = match (of_type, random.below(3)) {
                ("User", 0) => ("email", text(random, &["a", "b", "c", "x"])),
                ("User", 1) => ("name", text(random, &["m", "n"])),
                ("User", _) => ("rank", Value::Int(random.pick(&[0, 1, 2, 3, 9]))),
                ("Team", 0) if program == 2 => ("motto", text(random, &["on", "off"])),
                ("Team", _) => ("title", text(random, &["red", "blue", "eternal", "green"])),
                ("Book", 0) => ("owner", any(random)),
                ("Film", 0) => ("star", any(random)),
                ("Book" | "Film", 1) if program == 1 => ("label", text(random, &TEXTS)),
                ("Film", 1) => ("genre", text(random, &TEXTS)),
                ("Book" | "Film", _) => ("code", Value::Int(random.pick(&[0, 1, 2, 3, 4, 5]))),
                ("Review", 0) => ("work", any(random)),
                ("Review", 1) => ("by", any(random)),
                ("Review", _) => ("note", any(random)),
                ("Note", _) => ("text", text(random, &TEXTS)),
                _ => ("theme", text(random, &THEMES)),
            };
            if random.one_in(2) { Op::Assign(id, field, value) } else { Op::Set(id, field, value) }
        }
    })
}

/// A text as a value.
pub(crate) fn text_of(text: Option<String>) -> Value {
    text.map_or(Value::Null, Value::String)
}

fn text(text: &Option<String>) -> FieldValue {
    FieldValue::Simple(text.clone().map_or(Value::Null, Value::String))
}

fn reference<M>(reference: Option<Ref<M>>) -> FieldValue {
    FieldValue::Simple(reference.map_or(Value::Null, |it| Value::Ref(it.id())))
}

fn thing<const N: usize>(of_type: &'static str, fields: [(&str, FieldValue); N]) -> Thing {
    let fields: Fields = fields.into_iter().map(|(name, it)| (name.to_owned(), it)).collect();
    Thing { of_type, fields, version: 1 }
}

fn tags<T: ToString>(tags: &[T]) -> FieldValue {
    FieldValue::List(tags.iter().map(|tag| Value::String(tag.to_string())).collect())
}

fn friends(friends: &BTreeSet<ObjId>) -> FieldValue {
    FieldValue::Set(friends.iter().map(|it| Value::Ref(*it)).collect())
}

fn stars(stars: &BTreeMap<String, i32>) -> FieldValue {
    let entry = |(by, stars): (&String, &i32)| (Value::String(by.clone()), Value::Int(*stars));
    FieldValue::Map(stars.iter().map(entry).collect())
}

fn of_user(it: &User) -> Thing {
    let with = it.friends.iter().map(|it| it.id()).collect();
    thing(
        "User",
        [
            ("email", text(&it.email)),
            ("name", text(&it.name)),
            ("folded", text(&None)),
            ("rank", FieldValue::Simple(Value::Int(it.rank))),
            ("team", reference(it.team)),
            ("friends", friends(&with)),
        ],
    )
}

fn of_work(of_type: &'static str, code: i32, label: Option<&str>) -> Thing {
    let label = text(&label.map(str::to_owned));
    thing(of_type, [("code", FieldValue::Simple(Value::Int(code))), ("label", label)])
}

fn of_book(code: i32, label: Option<&str>, owner: Option<Ref<User>>) -> Thing {
    let mut book = of_work("Book", code, label);
    book.fields.insert("owner".to_owned(), reference(owner));
    book
}

fn of_film(it: &Film, label: Option<&str>) -> Thing {
    let mut film = of_work("Film", it.coded.code, label);
    film.fields.insert("star".to_owned(), reference(it.star));
    film.fields.insert("tags".to_owned(), tags(&it.tags));
    film.set("genre", Value::String("none".to_owned()));
    film
}

fn of_review(it: Option<&Review>) -> Thing {
    let none = BTreeMap::new();
    thing(
        "Review",
        [
            ("work", reference(it.map(|it| it.work))),
            ("by", reference(it.and_then(|it| it.by))),
            ("note", reference(it.and_then(|it| it.note))),
            ("stars", stars(it.map_or(&none, |it| &it.stars))),
        ],
    )
}

fn of_text(of_type: &'static str, field: &str, value: Option<&str>) -> Thing {
    let mut it = thing(of_type, [(field, text(&value.map(str::to_owned)))]);
    if of_type == "Team" {
        it.set("members", Value::Int(0));
        it.set("motto", Value::Null);
    }
    it
}

fn of_default(of_type: &str) -> Thing {
    match of_type {
        "User" => of_user(&User::default()),
        "Book" => of_book(0, Some("none"), None),
        "Film" => of_film(&Film::default(), Some("none")),
        "Team" => of_text("Team", "title", None),
        "Review" => of_review(None),
        _ => of_text("Settings", "theme", Some("light")),
    }
}

/// Does an operation in the naive model. `new` are the IDs of the new objects. After a refusal the
/// world must not be used.
pub(crate) fn apply(world: &mut World, op: &Op, new: &[ObjId], program: u8) -> Result<(), Refused> {
    // If the database refused, any ID will do.
    let id = new.first().copied().unwrap_or_else(|| ObjId::from_bytes([0x7f; 8]).unwrap());
    let find = |world: &World, id: &ObjId| match world.things.get(id) {
        Some(thing) => Ok(thing.clone()),
        None => Err(Refused("missing")),
    };
    let (id, thing) = match op {
        Op::NewUser(it) => (id, of_user(it)),
        Op::NewTeam(title) => (id, of_text("Team", "title", Some(title))),
        Op::NewBook(it) => (id, of_book(it.coded.code, Some(&it.coded.label), Some(it.owner))),
        Op::NewFilm(it) => (id, of_film(it, Some(&it.coded.label))),
        Op::NewReview(it) => (id, of_review(Some(it))),
        Op::NewNote => (id, of_text("Note", "text", Some("n"))),
        Op::NewSettings(theme) => (id, of_text("Settings", "theme", Some(theme))),
        Op::Singleton => {
            let first = world.things.iter().find(|(_, it)| it.of_type == "Settings");
            if let Some((first, _)) = first {
                let is_first = new.first().is_none_or(|it| it == first);
                return if is_first { Ok(()) } else { Err(Refused("another singleton")) };
            }
            (id, of_text("Settings", "theme", Some("light")))
        }
        Op::Default(of_type) => (id, of_default(of_type)),
        Op::StoreUser(id, it) => (*id, find(world, id).map(|_| of_user(it))?),
        Op::StoreFilm(id, it) => {
            let mut film = of_film(it, Some(&it.coded.label));
            // A field that the program does not know stays.
            let other = if program == 1 { "genre" } else { "label" };
            film.set(other, find(world, id)?.value(other).clone());
            (*id, film)
        }
        Op::Delete(id) => return world.delete(*id),
        Op::Copy(from) => return apply_copy(world, find(world, from)?, *from, id, new),
        Op::Revalidate(id) => return find(world, id).map(drop),
        Op::MoveAll => return Ok(()),
        Op::Join(id, _)
        | Op::Set(id, ..)
        | Op::Assign(id, ..)
        | Op::AddFriend(id, _)
        | Op::RemoveFriend(id, _)
        | Op::ReplaceFriends(id, _)
        | Op::Push(id, _)
        | Op::Pop(id)
        | Op::Retain(id, _)
        | Op::ReplaceTags(id, _)
        | Op::Rate(id, ..)
        | Op::Unrate(id, _) => {
            let mut thing = find(world, id)?;
            let has = |field| thing.has_in(thing.version, field);
            if !matches!(op, Op::Set(_, field, _) if !has(field)) {
                change(&mut thing, op);
            }
            (*id, thing)
        }
    };
    world.put(id, thing)
}

/// Changes one field.
fn change(thing: &mut Thing, op: &Op) {
    let mut with = |field: &str, change: &mut dyn FnMut(&mut FieldValue)| {
        change(thing.fields.get_mut(field).unwrap());
    };
    let as_friends = |value: &FieldValue| match value {
        FieldValue::Set(friends) => friends
            .iter()
            .map(|it| if let Value::Ref(id) = it { *id } else { panic!("{it:?}") })
            .collect::<BTreeSet<_>>(),
        other => panic!("{other:?}"),
    };
    let mut friends_with = |change: &mut dyn FnMut(&mut BTreeSet<ObjId>)| {
        with("friends", &mut |value| {
            let mut all = as_friends(value);
            change(&mut all);
            *value = friends(&all);
        });
    };
    match op {
        Op::AddFriend(_, id) => friends_with(&mut |all| all.extend([*id])),
        Op::RemoveFriend(_, id) => friends_with(&mut |all| all.retain(|it| it != id)),
        Op::ReplaceFriends(_, ids) => friends_with(&mut |all| *all = ids.iter().copied().collect()),
        Op::Join(_, team) => thing.set("team", team.map_or(Value::Null, Value::Ref)),
        Op::Set(_, field, value) | Op::Assign(_, field, value) => thing.set(field, value.clone()),
        Op::ReplaceTags(_, all) => with("tags", &mut |value| *value = tags(all)),
        Op::Push(..) | Op::Pop(_) | Op::Retain(..) => with("tags", &mut |value| {
            let FieldValue::List(all) = value else { panic!("{value:?}") };
            match op {
                Op::Push(_, tag) => all.push(Value::String((*tag).to_owned())),
                Op::Retain(_, tag) => all.retain(|it| it.as_str() != Some(tag)),
                _ => drop(all.pop()),
            }
        }),
        Op::Rate(_, by, _) | Op::Unrate(_, by) => with("stars", &mut |value| {
            let FieldValue::Map(all) = value else { panic!("{value:?}") };
            all.retain(|(key, _)| key.as_str() != Some(by));
            if let Op::Rate(_, _, stars) = op {
                all.push((Value::String((*by).to_owned()), Value::Int(*stars)));
                all.sort();
            }
        }),
        other => panic!("{other:?}"),
    }
}

fn apply_copy(
    world: &mut World,
    mut thing: Thing,
    from: ObjId,
    id: ObjId,
    new: &[ObjId],
) -> Result<(), Refused> {
    if let Some(FieldValue::Set(all)) = thing.fields.get_mut("friends") {
        // The copy is its own friend, as the original was.
        all.iter_mut().filter(|it| **it == Value::Ref(from)).for_each(|it| *it = Value::Ref(id));
        all.sort();
    }
    if thing.of_type == "Review"
        && let Some(note) = thing.reference("note")
        && let [_, copy] = new
    {
        let note = world.things[&note].clone();
        assert!(!world.things.contains_key(copy), "the note is copied too");
        world.put(*copy, note)?;
        thing.set("note", Value::Ref(*copy));
    }
    world.put(id, thing)
}

/// Whether an error of the database is this refusal of the naive model.
pub(crate) fn is_refusal(error: &Error, refused: Refused) -> bool {
    use permazen::object::Error as Object;
    match refused.0 {
        "hook" => {
            matches!(error, Error::Hook { .. } | Error::Object(Object::ReferencedObject { .. }))
        }
        "referenced" => {
            matches!(error, Error::Hook { .. } | Error::Object(Object::ReferencedObject { .. }))
        }
        _ => matches!(error, Error::Object(_) | Error::WrongType { .. }),
    }
}
