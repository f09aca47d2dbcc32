//! Models with rules and hooks of all sorts.

use std::collections::{BTreeMap, BTreeSet};

use permazen::model::{Builder, Changed};
use permazen::{
    Error, Obj, Permazen, PermazenFields, PermazenKind, PermazenObject, Ref, Result, Validation,
};

/// How many members a team can have. A hook refuses more.
pub(crate) const FULL: i32 = 3;

#[derive(PermazenObject, Debug, Default, Clone)]
#[permazen(hooks, validate = User::check)]
#[permazen(composite(name = "nameRank", fields(name, rank), unique, exclude(rank(0))))]
pub(crate) struct User {
    #[permazen(indexed, unique, exclude(nulls, "x"))]
    pub(crate) email: Option<String>,
    pub(crate) name: Option<String>,
    /// The name in capital letters, which a hook keeps.
    #[permazen(indexed)]
    pub(crate) folded: Option<String>,
    pub(crate) rank: i32,
    #[permazen(inverse_delete = "delete")]
    pub(crate) team: Option<Ref<Team>>,
    #[permazen(element(inverse_delete = "remove"))]
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
    /// How many users are in it. Their hooks keep the number.
    pub(crate) members: i32,
}

#[permazen::hooks]
impl Team {
    #[on_change(fields(members))]
    fn not_too_many(this: Obj<'_, Self>) -> Result<()> {
        if this.members()? > FULL { Err(Error::other("the team is full")) } else { Ok(()) }
    }

    #[on_delete]
    fn keep(this: Obj<'_, Self>) -> Result<()> {
        match this.any().get("title")?.as_str() {
            Some("eternal") => Err(Error::other("the team is eternal")),
            _ => Ok(()),
        }
    }
}

/// What all works have.
#[derive(PermazenFields, Debug, Default, Clone)]
pub(crate) struct Coded {
    /// Unique among books and films.
    #[permazen(indexed, unique, exclude(0))]
    pub(crate) code: i32,
    pub(crate) label: String,
}

#[derive(PermazenObject, Debug, Clone)]
pub(crate) struct Book {
    #[permazen(flatten)]
    pub(crate) coded: Coded,
    pub(crate) owner: Ref<User>,
}

#[derive(PermazenObject, Debug, Default, Clone)]
pub(crate) struct Film {
    #[permazen(flatten)]
    pub(crate) coded: Coded,
    #[permazen(inverse_delete = "nullify", unique, exclude(nulls))]
    pub(crate) star: Option<Ref<User>>,
    #[permazen(element(indexed))]
    pub(crate) tags: Vec<String>,
}

#[derive(PermazenKind)]
#[permazen(fields = Coded)]
pub(crate) enum Work<'t> {
    Book(Obj<'t, Book>),
    Film(Obj<'t, Film>),
}

#[derive(PermazenObject, Debug, Clone)]
#[permazen(composite(name = "workBy", fields(work, by), unique))]
pub(crate) struct Review {
    #[permazen(inverse_delete = "delete")]
    pub(crate) work: Ref<WorkKind>,
    /// Is null after the user has gone. So a deletion can break the rule.
    #[permazen(inverse_delete = "nullify")]
    pub(crate) by: Option<Ref<User>>,
    #[permazen(forward_delete, inverse_delete = "nullify", cascade(forward = ["own"]))]
    pub(crate) note: Option<Ref<Note>>,
    #[permazen(validate = not_negative)]
    pub(crate) stars: BTreeMap<String, i32>,
}

fn not_negative(stars: &BTreeMap<String, i32>) -> Result<(), String> {
    match stars.values().find(|stars| **stars < 0) {
        Some(stars) => Err(format!("{stars} stars")),
        None => Ok(()),
    }
}

#[derive(PermazenObject, Debug, Default, Clone)]
pub(crate) struct Note {
    pub(crate) text: String,
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

/// What the hook of the settings writes down.
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
