//! A struct with hooks, validation and mix-ins in a crate with strict lints.
#![deny(warnings, missing_docs, unsafe_code, clippy::pedantic)]
#![forbid(unused_imports)]

use permazen::model::{Changed, Path};
use permazen::{Error, Model, Obj, PermazenFields, PermazenObject, Ref, Result};

/// Models with a name.
#[derive(PermazenFields, Debug)]
pub struct Named {
    /// The name.
    #[permazen(indexed, unique)]
    pub name: String,
}

/// A person.
#[derive(PermazenObject, Debug)]
#[permazen(hooks, validate = Person::check)]
pub struct Person {
    /// The field that it shares with others.
    #[permazen(flatten)]
    pub named: Named,
    /// The age.
    pub age: i32,
    /// A friend.
    pub friend: Option<Ref<Person>>,
}

impl Person {
    fn check(&self) -> Result<()> {
        if self.age < 0 { Err(Error::other(format!("{} years", self.age))) } else { Ok(()) }
    }
}

#[permazen::hooks]
impl Person {
    #[on_create]
    fn created(this: Obj<'_, Self>) -> Result<()> {
        this.set_age(1)
    }

    #[on_change(fields(named.name))]
    fn renamed(_this: Obj<'_, Self>, name: &Changed<'_, Self, String>) -> Result<()> {
        name.new().map(drop)
    }

    #[on_change(of = [Person::AGE, Person::AGE], path = Path::of::<Self>().to(Self::FRIEND))]
    fn friend_aged(this: Obj<'_, Self>, age: &Changed<'_, Self, i32>) -> Result<()> {
        this.set_age(age.new()?)
    }

    #[on_delete(path = Path::of::<Self>().to(Self::FRIEND))]
    fn lost(this: Obj<'_, Self>, _gone: Obj<'_, Self>) -> Result<()> {
        this.set_age(0)
    }

    #[on_validate(fields(age, named.name))]
    fn valid(this: Obj<'_, Self>) -> Result<()> {
        this.age().map(drop)
    }
}

/// A note.
#[derive(PermazenObject, Debug, Clone, Default, PartialEq)]
#[permazen(hooks, aliases(NoteOnPerson = Note<Person>, NoteOnNote = Note<NoteOnPerson> as "Reply"))]
pub struct Note<T: Model> {
    /// Its subject.
    pub about: Option<Ref<T>>,
    /// Its words.
    pub text: String,
}

#[permazen::hooks]
impl NoteOnPerson {
    #[on_change(fields(text))]
    fn told(this: Obj<'_, Self>, text: &Changed<'_, Self, String>) -> Result<()> {
        if text.new()?.is_empty() { this.delete().map(drop) } else { Ok(()) }
    }
}

#[permazen::hooks]
impl NoteOnNote {
    #[on_create]
    fn created(this: Obj<'_, Self>) -> Result<()> {
        this.set_text("new")
    }
}
