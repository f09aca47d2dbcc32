//! The objects of the help desk, and the rules and hooks that keep them right.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use permazen::model::Changed;
use permazen::{
    ModelSet, Obj, PermazenEnum, PermazenFields, PermazenKind, PermazenObject, Ref, Result, Tx,
};

/// A person that asks or answers.
#[derive(PermazenObject, Debug)]
#[permazen(hooks)]
pub struct User {
    #[permazen(validate = filled)]
    pub name: String,
    #[permazen(validate = address)]
    pub email: String,
    /// `email` without upper case, kept by a hook: addresses that differ in case are the same.
    #[permazen(indexed, unique)]
    pub folded_email: String,
}

#[permazen::hooks]
impl User {
    #[on_change(fields(email))]
    fn fold(this: Obj<'_, Self>, email: &Changed<'_, Self, String>) -> Result<()> {
        this.set_folded_email(email.new()?.to_lowercase())
    }

    #[on_delete]
    fn leaves(this: Obj<'_, Self>) -> Result<()> {
        note(this.tx(), format!("{} leaves", this.name()?))
    }
}

/// An object that can be commented has a title, which is unique among all of these objects.
#[derive(PermazenFields, Debug)]
pub struct Titled {
    #[permazen(indexed, unique)]
    pub title: String,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Open,
    Taken,
}

/// A question or a complaint.
#[derive(PermazenObject, Debug)]
#[permazen(hooks, validate = Ticket::check)]
pub struct Ticket {
    #[permazen(flatten)]
    pub titled: Titled,
    #[permazen(validate = filled)]
    pub text: String,
    #[permazen(validate = one_to_five)]
    pub priority: i32,
    pub state: State,
    /// If the reporter goes, the ticket goes too.
    #[permazen(inverse_delete = "delete")]
    pub reporter: Ref<User>,
    #[permazen(inverse_delete = "nullify")]
    pub owner: Option<Ref<User>>,
    pub votes: i32,
    /// In microseconds since 1970, kept by a hook.
    pub updated_at: i64,
}

#[permazen::hooks]
impl Ticket {
    #[on_change(except(votes, updated_at))]
    fn touch(this: Obj<'_, Self>) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        this.set_updated_at(now.as_micros() as i64)
    }

    /// The owner may be gone, because the user was deleted.
    #[on_change(fields(owner))]
    fn follow_owner(this: Obj<'_, Self>) -> Result<()> {
        this.set_state(if this.owner()?.is_some() { State::Taken } else { State::Open })
    }

    #[on_change(fields(state))]
    fn audit(this: Obj<'_, Self>, state: &Changed<'_, Self, State>) -> Result<()> {
        note(this.tx(), format!("{}: {:?}", this.title()?, state.new()?))
    }

    #[on_delete]
    fn ends(this: Obj<'_, Self>) -> Result<()> {
        note(this.tx(), format!("{}: deleted", this.title()?))
    }

    fn check(&self) -> Result<(), String> {
        filled(&self.titled.title).map_err(|problem| format!("the title {problem}"))?;
        match (self.state, self.owner) {
            (State::Taken, None) => Err("is taken, but has no owner".into()),
            _ => Ok(()),
        }
    }
}

/// A known solution.
#[derive(PermazenObject, Debug)]
pub struct Article {
    #[permazen(flatten)]
    pub titled: Titled,
    #[permazen(validate = filled)]
    pub text: String,
}

#[derive(PermazenKind)]
#[permazen(fields = Titled)]
pub enum Commentable<'t> {
    Ticket(Obj<'t, Ticket>),
    Article(Obj<'t, Article>),
}

#[derive(PermazenObject, Debug)]
pub struct Comment {
    #[permazen(inverse_delete = "delete")]
    pub on: Ref<CommentableKind>,
    #[permazen(inverse_delete = "delete")]
    pub author: Ref<User>,
    #[permazen(validate = filled)]
    pub text: String,
}

/// A line of the audit trail. Object IDs ascend, so the lines are in the order of time.
#[derive(PermazenObject, Debug)]
pub struct Audit {
    pub text: String,
}

fn note(tx: &Tx, text: String) -> Result<()> {
    tx.create(Audit { text }).map(drop)
}

pub fn all() -> ModelSet {
    let models = ModelSet::new().kind::<CommentableKind>();
    models.model::<User>().model::<Comment>().model::<Audit>()
}

fn filled(text: &str) -> Result<(), &'static str> {
    if text.trim().is_empty() { Err("is empty") } else { Ok(()) }
}

fn address(email: &str) -> Result<(), &'static str> {
    if email.contains('@') { Ok(()) } else { Err("is no address") }
}

fn one_to_five(priority: &i32) -> Result<(), &'static str> {
    if (1..=5).contains(priority) { Ok(()) } else { Err("is not between 1 and 5") }
}
