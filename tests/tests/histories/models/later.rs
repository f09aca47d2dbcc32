//! The models of `family` in their second version: fields have other names and types in the
//! database, one was removed, and others were added. Rules and hooks are the same. In the program,
//! fields have the names that they had.

use std::collections::{BTreeMap, BTreeSet};

use crate::models::family::FULL;
use permazen::model::{Builder, Changed};
use permazen::{
    Error, Obj, Permazen, PermazenFields, PermazenKind, PermazenObject, Ref, Result, Validation,
};

#[derive(PermazenObject, Debug, Default, Clone)]
#[permazen(hooks, validate = User::check)]
#[permazen(composite(name = "nameRank", fields(name, rank), unique, exclude(rank(0))))]
pub(crate) struct User {
    #[permazen(indexed, unique, exclude(nulls, "x"), rename = "mail", was = "email")]
    pub(crate) email: Option<String>,
    pub(crate) name: Option<String>,
    /// The name in capital letters, which a hook keeps.
    #[permazen(indexed)]
    pub(crate) folded: Option<String>,
    pub(crate) rank: i64,
    #[permazen(inverse_delete = "delete")]
    pub(crate) team: Option<Ref<Team>>,
    #[permazen(rename = "pals", was = "friends", element(inverse_delete = "remove"))]
    pub(crate) friends: BTreeSet<Ref<User>>,
}

impl User {
    fn check(&self) -> Result<(), &'static str> {
        if self.rank == 2 && self.email.is_none() { Err("rank 2 has an address") } else { Ok(()) }
    }

    fn count(team: Obj<'_, Team>, by: i32) -> Result<()> {
        if team.exists()? { team.set_members(team.members()? + by) } else { Ok(()) }
    }
}

#[permazen::hooks]
impl User {
    #[on_change(fields(name, folded))]
    fn fold(this: Obj<'_, Self>) -> Result<()> {
        let folded = this.name()?.map(|name| name.to_uppercase());
        if this.folded()? == folded { Ok(()) } else { this.set_folded(folded) }
    }

    #[on_change(fields(rank))]
    fn no_ninth_rank(this: Obj<'_, Self>) -> Result<()> {
        if this.rank()? == 9 { Err(Error::other("there is no rank 9")) } else { Ok(()) }
    }

    /// The rules of books look at the ranks of their owners.
    #[on_change(fields(rank))]
    fn books_too(this: Obj<'_, Self>) -> Result<()> {
        this.referrers(Book::OWNER)?.iter().try_for_each(|book| book?.revalidate())
    }

    #[on_validate(fields(rank, name))]
    fn third_has_a_name(this: Obj<'_, Self>) -> Result<()> {
        match this.rank()? == 3 && this.name()?.is_none() {
            true => Err(Error::other("rank 3 has a name")),
            false => Ok(()),
        }
    }

    #[on_change(fields(team))]
    fn join(this: Obj<'_, Self>, team: &Changed<'_, Self, Option<Ref<Team>>>) -> Result<()> {
        for (team, by) in [(team.old()?, -1), (team.new()?, 1)] {
            if let Some(team) = team {
                Self::count(this.tx().get(team)?, by)?;
            }
        }
        Ok(())
    }

    #[on_delete]
    fn leave(this: Obj<'_, Self>) -> Result<()> {
        this.team()?.map_or(Ok(()), |team| Self::count(team, -1))
    }
}

#[derive(PermazenObject, Debug, Default, Clone)]
#[permazen(hooks)]
pub(crate) struct Team {
    #[permazen(indexed, unique)]
    pub(crate) title: String,
    #[permazen(indexed, unique, exclude(nulls))]
    pub(crate) motto: Option<String>,
    /// How many users are in it. Their hooks keep the number.
    pub(crate) members: i32,
}

#[permazen::hooks]
impl Team {
    #[on_change(fields(members))]
    fn not_too_many(this: Obj<'_, Self>) -> Result<()> {
        if this.members()? > FULL { Err(Error::other("the team is full")) } else { Ok(()) }
    }

    /// It is about any field.
    #[on_validate]
    fn green_is_small(this: Obj<'_, Self>) -> Result<()> {
        let (title, members) = (this.any().get("title")?, this.members()?);
        match title.as_str() == Some("green") && members > 1 {
            true => Err(Error::other(format!("{members} members"))),
            false => Ok(()),
        }
    }

    #[on_delete]
    fn keep(this: Obj<'_, Self>) -> Result<()> {
        match this.any().get("title")?.as_str() {
            Some("eternal") => Err(Error::other("the team is eternal")),
            _ => Ok(()),
        }
    }
}

/// The fields that all works share.
#[derive(PermazenFields, Debug, Default, Clone)]
pub(crate) struct Coded {
    /// Unique among books and films.
    #[permazen(indexed, unique, exclude(0))]
    pub(crate) code: i32,
}

#[derive(PermazenObject, Debug, Clone)]
#[permazen(hooks, removed("label"))]
pub(crate) struct Book {
    #[permazen(flatten)]
    pub(crate) coded: Coded,
    pub(crate) owner: Ref<User>,
}

impl Book {
    /// The owner, unless it is null, which the rule of required values says.
    fn owner_if_any(this: Obj<'_, Self>) -> Result<Option<Obj<'_, User>>> {
        match this.any().get("owner")? {
            permazen::encoding::Value::Ref(owner) => this.tx().get::<User>(owner).map(Some),
            _ => Ok(None),
        }
    }
}

#[permazen::hooks]
impl Book {
    /// Its writes before it finds something wrong are undone.
    #[on_validate(fields(owner))]
    fn two_for_each(this: Obj<'_, Self>) -> Result<()> {
        let Some(owner) = Self::owner_if_any(this)? else { return Ok(()) };
        if owner.referrers(Book::OWNER)?.count()? <= 2 {
            return Ok(());
        }
        this.tx().create(Entry { text: "three books".to_owned() })?;
        Err(Error::other("three books"))
    }

    #[on_validate(fields(owner, coded.code))]
    fn fits_the_rank(this: Obj<'_, Self>) -> Result<()> {
        let Some(owner) = Self::owner_if_any(this)? else { return Ok(()) };
        match this.code()? == 5 && owner.rank()? == 3 {
            true => Err(Error::other("no book 5 for rank 3")),
            false => Ok(()),
        }
    }
}

#[derive(PermazenObject, Debug, Default, Clone)]
#[permazen(removed("label"))]
pub(crate) struct Film {
    #[permazen(flatten)]
    pub(crate) coded: Coded,
    #[permazen(inverse_delete = "nullify", unique, exclude(nulls), rename = "lead", was = "star")]
    pub(crate) star: Option<Ref<User>>,
    #[permazen(default = "none".to_owned())]
    pub(crate) genre: String,
    #[permazen(element(indexed), rename = "keywords", was = "tags")]
    pub(crate) tags: Vec<String>,
}

#[derive(PermazenKind)]
#[permazen(fields = Coded)]
pub(crate) enum Work<'t> {
    Book(Obj<'t, Book>),
    Film(Obj<'t, Film>),
}

#[derive(PermazenObject, Debug, Clone)]
#[permazen(hooks)]
#[permazen(composite(name = "workBy", fields(work, by), unique))]
pub(crate) struct Review {
    #[permazen(inverse_delete = "delete", rename = "subject", was = "work")]
    pub(crate) work: Ref<WorkKind>,
    /// Is null after the user has gone. So a deletion can break the rule.
    #[permazen(inverse_delete = "nullify", rename = "author", was = "by")]
    pub(crate) by: Option<Ref<User>>,
    #[permazen(forward_delete, inverse_delete = "nullify", cascade(forward = ["own"]))]
    pub(crate) note: Option<Ref<Note>>,
    #[permazen(validate = not_negative)]
    pub(crate) stars: BTreeMap<String, i64>,
}

fn not_negative(stars: &BTreeMap<String, i64>) -> Result<(), String> {
    match stars.values().find(|stars| **stars < 0) {
        Some(stars) => Err(format!("{stars} stars")),
        None => Ok(()),
    }
}

#[permazen::hooks]
impl Review {
    /// Writes to another object, which is then checked.
    #[on_validate(fields(note))]
    fn mark(this: Obj<'_, Self>) -> Result<()> {
        this.note()?.map_or(Ok(()), Note::mark)
    }
}

#[derive(PermazenObject, Debug, Default, Clone)]
#[permazen(hooks)]
pub(crate) struct Note {
    /// After a check, it is "reviewed" if a review has the note.
    pub(crate) text: String,
}

impl Note {
    fn mark(this: Obj<'_, Self>) -> Result<()> {
        match this.any().get("text")?.as_str() {
            Some("reviewed") => Ok(()),
            _ => this.set_text("reviewed"),
        }
    }
}

#[permazen::hooks]
impl Note {
    #[on_validate(fields(text))]
    fn keep_the_mark(this: Obj<'_, Self>) -> Result<()> {
        if this.referrers(Review::NOTE)?.is_empty()? { Ok(()) } else { Self::mark(this) }
    }
}

#[derive(PermazenObject, Debug, Clone)]
#[permazen(singleton, hooks)]
pub(crate) struct Settings {
    #[permazen(default = "light".to_owned(), validate = not_ugly)]
    pub(crate) theme: String,
}

fn not_ugly(theme: &str) -> Result<(), &'static str> {
    if theme == "ugly" { Err("an ugly theme") } else { Ok(()) }
}

#[permazen::hooks]
impl Settings {
    /// Writes down each theme.
    #[on_change(fields(theme))]
    fn note(this: Obj<'_, Self>) -> Result<()> {
        let theme = this.any().get("theme")?;
        let text = theme.as_str().unwrap_or("null").to_owned();
        this.tx().create(Entry { text }).map(drop)
    }
}

/// A line that the hook of the settings writes down.
#[derive(PermazenObject, Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) text: String,
}

/// A database of all these models.
pub(crate) fn open(builder: Builder, validation: Validation) -> Permazen {
    let builder = builder.model::<User>().model::<Team>().kind::<WorkKind>();
    let builder = builder.model::<Review>().model::<Note>().model::<Settings>().model::<Entry>();
    builder.validation(validation).build().unwrap()
}
