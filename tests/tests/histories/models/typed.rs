// The operations and observers of programs of one version, with its `models`. `first` and `second`
// include this.

use permazen::encoding::Value;
use permazen::model::{Builder, Copy, ListChange, MapChange, Path, SetChange, along};
use permazen::object::Migrate;
use permazen::{ObjId, Permazen, Ref, Result, Tx};

use crate::models::heard::{Heard, HeardLog, What};
use crate::models::naive::stored_name;
use crate::models::steps::{New, Op, text_of};
use crate::models::{Told, family};
use models::{Book, Film, Note, Review, Settings, Team, User};

/// Opens the database with observers.
pub(crate) fn open(builder: Builder, validation: Validation, told: &Told, heard: &HeardLog) -> Permazen {
    let db = models::open(builder, validation);
    observe(&db, told, heard).unwrap();
    db
}

fn refs<A, B>(from: Option<Ref<A>>) -> Option<Ref<B>> {
    from.map(|it| Ref::new(it.id()))
}

fn of_user(it: &family::User) -> User {
    User {
        email: it.email.clone(),
        name: it.name.clone(),
        folded: it.folded.clone(),
        rank: it.rank.into(),
        team: refs(it.team),
        friends: it.friends.iter().map(|it| Ref::new(it.id())).collect(),
    }
}

fn of_review(it: &family::Review) -> Review {
    Review {
        work: Ref::new(it.work.id()),
        by: refs(it.by),
        note: refs(it.note),
        stars: it.stars.iter().map(|(by, stars)| (by.clone(), (*stars).into())).collect(),
    }
}

/// Does an operation in a database.
pub(crate) fn run(tx: &Tx, op: &Op) -> Result<New> {
    let user = |id: ObjId| tx.get::<User>(id);
    let film = |id: ObjId| tx.get::<Film>(id);
    let review = |id: ObjId| tx.get::<Review>(id);
    let new = match op {
        Op::NewUser(user) => tx.create(of_user(user))?.id(),
        Op::NewTeam(title) => tx.create(of_team(title))?.id(),
        Op::NewBook(book) => {
            let owner = Ref::new(book.owner.id());
            tx.create(Book { coded: of_coded(&book.coded), owner })?.id()
        }
        Op::NewFilm(film) => tx.create(of_film(film))?.id(),
        Op::NewReview(review) => tx.create(of_review(review))?.id(),
        Op::NewNote => tx.create(Note { text: "n".to_owned() })?.id(),
        Op::NewSettings(theme) => tx.create(Settings { theme: (*theme).to_owned() })?.id(),
        Op::Singleton => tx.singleton::<Settings>()?.id(),
        Op::Default("User") => tx.create_default::<User>()?.id(),
        Op::Default("Book") => tx.create_default::<Book>()?.id(),
        Op::Default("Film") => tx.create_default::<Film>()?.id(),
        Op::Default("Team") => tx.create_default::<Team>()?.id(),
        Op::Default("Review") => tx.create_default::<Review>()?.id(),
        Op::Default(_) => tx.create_default::<Settings>()?.id(),
        // The copy and the search for its note are one operation.
        Op::Copy(id) => return tx.core().atomic(|_| copy(tx, *id)),
        other => {
            match other {
                Op::StoreUser(id, value) => user(*id)?.store(&of_user(value))?,
                Op::StoreFilm(id, value) => film(*id)?.store(&of_film(value))?,
                Op::Join(id, team) => user(*id)?.set_team(team.map(Ref::<Team>::new))?,
                Op::Set(id, field, value) => set(tx, *id, field, value)?,
                Op::Assign(id, field, value) => assign(tx, *id, field, value)?,
                Op::AddFriend(id, friend) => {
                    user(*id)?.friends()?.add(Ref::<User>::new(*friend))?;
                }
                Op::RemoveFriend(id, friend) => {
                    user(*id)?.friends()?.remove(Ref::<User>::new(*friend))?;
                }
                Op::ReplaceFriends(id, friends) => {
                    user(*id)?
                        .friends()?
                        .replace(friends.iter().map(|id| Ref::<User>::new(*id)))?;
                }
                Op::Push(id, tag) => film(*id)?.tags()?.push(*tag)?,
                Op::Pop(id) => drop(film(*id)?.tags()?.pop()?),
                Op::Retain(id, tag) => {
                    let name = name_there(tx, *id, "tags")?.unwrap();
                    let tags = tx.core().list_view(*id, &name, Migrate::No)?;
                    tags.retain(|it| it.as_str() != Some(tag)).map(drop)?;
                }
                Op::ReplaceTags(id, tags) => film(*id)?.tags()?.replace(tags.iter().copied())?,
                Op::Rate(id, by, stars) => {
                    review(*id)?.stars()?.insert(*by, Rank::from(*stars))?;
                }
                Op::Unrate(id, by) => drop(review(*id)?.stars()?.remove(*by)?),
                Op::Delete(id) => drop(tx.any(*id).delete()?),
                Op::Revalidate(id) => tx.any(*id).revalidate()?,
                Op::MoveAll => move_all(tx)?,
                _ => panic!("{other:?}"),
            }
            return Ok(Vec::new());
        }
    };
    Ok(vec![new])
}

/// Moves all objects to the schema of this version.
fn move_all(tx: &Tx) -> Result<()> {
    tx.all::<User>()?.iter().try_for_each(|it| it?.migrate().map(drop))?;
    tx.all::<Team>()?.iter().try_for_each(|it| it?.migrate().map(drop))?;
    tx.all::<Book>()?.iter().try_for_each(|it| it?.migrate().map(drop))?;
    tx.all::<Film>()?.iter().try_for_each(|it| it?.migrate().map(drop))?;
    tx.all::<Review>()?.iter().try_for_each(|it| it?.migrate().map(drop))
}

/// The name of a field where the object is, if it has it there.
fn name_there(tx: &Tx, id: ObjId, field: &'static str) -> Result<Option<String>> {
    let of_type = tx.any(id).object_type()?;
    let names = [stored_name(&of_type.name, field), field];
    let is_there = |name: &&str| of_type.fields.iter().any(|it| *it.name == **name);
    Ok(names.into_iter().find(is_there).map(str::to_owned))
}

/// Sets a field by the name that it has where the object is, if it has it there.
fn set(tx: &Tx, id: ObjId, field: &'static str, value: &Value) -> Result<()> {
    let Some(name) = name_there(tx, id, field)? else { return Ok(()) };
    let any = tx.any(id);
    match (any.get(&name)?, value) {
        (Value::Long(_), Value::Int(value)) => any.set(&name, &Value::Long((*value).into())),
        _ => any.set(&name, value),
    }
}

/// Sets a field with its accessor.
fn assign(tx: &Tx, id: ObjId, field: &'static str, value: &Value) -> Result<()> {
    let text = || value.as_str().map(str::to_owned);
    let id_of = match value {
        Value::Ref(id) => Some(*id),
        _ => None,
    };
    let number = match value {
        Value::Int(number) => *number,
        _ => 0,
    };
    match field {
        "email" => tx.get::<User>(id)?.set_email(text()),
        "name" => tx.get::<User>(id)?.set_name(text()),
        "rank" => tx.get::<User>(id)?.set_rank(Rank::from(number)),
        "star" => tx.get::<Film>(id)?.set_star(id_of.map(Ref::<User>::new)),
        "by" => tx.get::<Review>(id)?.set_by(id_of.map(Ref::<User>::new)),
        "note" => tx.get::<Review>(id)?.set_note(id_of.map(Ref::<Note>::new)),
        "work" => match id_of {
            Some(work) => tx.get::<Review>(id)?.set_work(Ref::<models::WorkKind>::new(work)),
            None => set(tx, id, field, value),
        },
        _ if value.is_null() && field != "motto" => set(tx, id, field, value),
        "text" => tx.get::<Note>(id)?.set_text(text().unwrap()),
        _ => assign_own(tx, id, field, text()).unwrap_or_else(|| set(tx, id, field, value)),
    }
}

fn copy(tx: &Tx, id: ObjId) -> Result<New> {
    let copy = tx.any(id).copy_to(tx, Copy::new().cascade("own").clone_ids())?;
    let mut new = vec![copy.id()];
    if let Some(review) = copy.downcast::<Review>() {
        new.extend(review.get(Review::NOTE)?.map(Ref::id));
    }
    Ok(new)
}

fn link<M>(it: Option<Ref<M>>) -> Value {
    it.map_or(Value::Null, |it| Value::Ref(it.id()))
}

fn number(it: Rank) -> Value {
    Value::Int(i32::try_from(it).unwrap())
}

/// Notes what changes, with the values as the first version has them.
fn observe(db: &Permazen, told: &Told, heard: &HeardLog) -> Result<()> {
    let [users, reviews] = [told.clone(), told.clone()];
    db.observe_committed::<User>(move |it, what| users.lock().unwrap().push((it.id(), what)))?;
    db.observe_committed::<Review>(move |it, what| reviews.lock().unwrap().push((it.id(), what)))?;

    /// Notes changes of a simple field.
    macro_rules! simple {
        ($of:ident $constant:ident $name:literal, $value:expr) => {
            let log = heard.clone();
            db.observe($of::$constant, move |it, change| {
                let value = $value;
                let old = change.old_if_any()?.map_or(Value::Null, value);
                // Null is no value of the type, but the field may have it.
                let new = change.new().map_or(Value::Null, value);
                log.add(Heard { id: it.id(), field: $name, what: What::Simple(old, new) });
                Ok(())
            })?;
        };
    }
    simple!(User EMAIL "email", |it| text_of(it));
    simple!(User NAME "name", |it| text_of(it));
    simple!(User RANK "rank", number);
    simple!(User TEAM "team", link);
    simple!(Team TITLE "title", |it| text_of(Some(it)));
    simple!(Team MEMBERS "members", |it| Value::Int(it));
    simple!(Book OWNER "owner", |it| link(Some(it)));
    simple!(Film STAR "star", link);
    simple!(Review WORK "work", |it| link(Some(it)));
    simple!(Review BY "by", link);
    simple!(Review NOTE "note", link);
    simple!(Note TEXT "text", |it| text_of(Some(it)));

    let log = heard.clone();
    db.observe(User::FRIENDS, move |it, change| {
        let what = match change.what()? {
            SetChange::Add(friend) => What::Add(Value::Ref(friend.id())),
            SetChange::Remove(friend) => What::Remove(Value::Ref(friend.id())),
            SetChange::Clear => What::Clear,
        };
        log.add(Heard { id: it.id(), field: "friends", what });
        Ok(())
    })?;
    let log = heard.clone();
    db.observe(Film::TAGS, move |it, change| {
        let text = |text| text_of(Some(text));
        let what = match change.what()? {
            ListChange::Add { index, element } => What::Insert(index as usize, text(element)),
            ListChange::Remove { index, element } => What::RemoveAt(index as usize, text(element)),
            ListChange::Replace { index, old, new } => {
                What::Replace(index as usize, text(old), text(new))
            }
            ListChange::Clear => What::Clear,
        };
        log.add(Heard { id: it.id(), field: "tags", what });
        Ok(())
    })?;
    let log = heard.clone();
    db.observe(Review::STARS, move |it, change| {
        let text = |text| text_of(Some(text));
        let what = match change.what()? {
            MapChange::Add { key, value } => What::Put(text(key), None, number(value)),
            MapChange::Replace { key, old, new } => {
                What::Put(text(key), Some(number(old)), number(new))
            }
            MapChange::Remove { key, value } => What::Take(text(key), number(value)),
            MapChange::Clear => What::Clear,
        };
        log.add(Heard { id: it.id(), field: "stars", what });
        Ok(())
    })?;

    let log = heard.clone();
    db.observe(along(&Path::of::<Book>().to(Book::OWNER), User::RANK), move |book, rank| {
        log.along("owner", book.id(), number(rank.new()?));
        Ok(())
    })?;
    let log = heard.clone();
    db.observe(along(&Path::of::<Review>().to(Review::BY), User::NAME), move |review, name| {
        log.along("by", review.id(), text_of(name.new()?));
        Ok(())
    })?;
    Ok(())
}
