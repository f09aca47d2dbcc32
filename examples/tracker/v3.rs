//! Version 3 of the tracker. Objects come to it from version 2, and also from version 1 if they
//! have never been upgraded. So the attributes of version 2 about version 1 are here too.

pub mod print;
pub mod watches;

use std::collections::{BTreeMap, BTreeSet};

use permazen::encoding::time::{Instant, LocalDate};
use permazen::kv::lmdb::LmdbStore;
use permazen::{
    Counter, NewValues, OldValues, Permazen, PermazenEnum, PermazenObject, Ref, Result,
};

use super::v2::{self, Priority};

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Guest,
    Member,
    Admin,
    Owner,
}

#[derive(PermazenObject, Debug)]
#[permazen(removed("nickname"), on_schema_change = User::split_name)]
pub struct User {
    #[permazen(indexed)]
    pub login: String,
    /// Was in one field with the last name.
    pub first_name: Option<String>,
    #[permazen(indexed)]
    pub last_name: String,
    /// Was one, or none.
    #[permazen(was = "email", element(indexed))]
    pub emails: BTreeSet<String>,
    pub role: Role,
    pub logins: Counter,
    #[permazen(default = "en".to_owned())]
    pub language: String,
}

impl User {
    fn split_name(old: &OldValues<'_>, new: &mut NewValues<'_, '_, Self>) -> Result<()> {
        // Version 2 called it `fullName`, and version 1 `name`.
        for field in ["fullName", "name"] {
            if old.has(field) {
                let name: String = old.take(field)?;
                let (first, last) = match name.rsplit_once(' ') {
                    Some((first, last)) => (Some(first), last),
                    None => (None, &*name),
                };
                new.set(Self::FIRST_NAME, first.map(str::to_owned))?;
                new.set(Self::LAST_NAME, last)?;
            }
        }
        Ok(())
    }
}

#[derive(PermazenObject, Debug)]
pub struct Team {
    #[permazen(indexed)]
    pub name: String,
    #[permazen(element(inverse_delete = "remove"))]
    pub members: BTreeSet<Ref<User>>,
    pub purpose: Option<String>,
}

#[derive(PermazenObject, Debug)]
pub struct Project {
    #[permazen(indexed)]
    pub key: String,
    #[permazen(indexed)]
    pub name: String,
    #[permazen(inverse_delete = "nullify")]
    pub team: Option<Ref<Team>>,
    #[permazen(was = "leads", inverse_delete = "nullify")]
    pub lead: Option<Ref<User>>,
}

#[derive(PermazenObject, Debug)]
pub struct Label {
    #[permazen(indexed)]
    pub name: String,
    #[permazen(upgrade_with = v2::color)]
    pub color: String,
}

#[derive(PermazenObject, Debug)]
pub struct Milestone {
    #[permazen(inverse_delete = "delete")]
    pub project: Ref<Project>,
    pub title: String,
    #[permazen(indexed)]
    pub due: Option<LocalDate>,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Open,
    Closed,
}

/// The hours that an issue takes. They were fields of the issue.
#[derive(PermazenObject, Debug)]
pub struct TimeSheet {
    pub estimated: i32,
    pub spent: i32,
}

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "byProject", fields(project, state, priority, number)))]
#[permazen(on_schema_change = Issue::split_time)]
pub struct Issue {
    #[permazen(inverse_delete = "delete")]
    pub project: Ref<Project>,
    pub number: i32,
    #[permazen(indexed)]
    pub title: String,
    pub state: State,
    #[permazen(upgrade_with = v2::priority)]
    pub priority: Priority,
    pub reporter: Ref<User>,
    #[permazen(inverse_delete = "nullify")]
    pub assignee: Option<Ref<User>>,
    #[permazen(inverse_delete = "nullify")]
    pub milestone: Option<Ref<Milestone>>,
    #[permazen(element(inverse_delete = "remove"))]
    pub labels: BTreeSet<Ref<Label>>,
    /// Was a list, in alphabetical order: nothing is lost.
    pub components: BTreeSet<String>,
    #[permazen(indexed, upgrade_with = v2::created)]
    pub created: Instant,
    pub views: Counter,
    /// Only issues for which hours were noted have one.
    #[permazen(inverse_delete = "nullify", forward_delete)]
    pub time: Option<Ref<TimeSheet>>,
    /// Were objects of type `Watch`; see [`watches`].
    #[permazen(element(inverse_delete = "remove"))]
    pub watchers: BTreeSet<Ref<User>>,
}

impl Issue {
    fn split_time(old: &OldValues<'_>, new: &mut NewValues<'_, '_, Self>) -> Result<()> {
        if old.has("estimated") {
            let time = TimeSheet { estimated: old.take("estimated")?, spent: old.take("spent")? };
            if time.estimated != 0 || time.spent != 0 {
                new.set(Self::TIME, Some(old.create(&time)?))?;
            }
        }
        Ok(())
    }
}

#[derive(PermazenObject, Debug)]
pub struct Comment {
    #[permazen(inverse_delete = "delete")]
    pub issue: Ref<Issue>,
    pub number: i32,
    pub author: Ref<User>,
    pub text: String,
    #[permazen(was = "edits")]
    pub history: Vec<String>,
    #[permazen(key(indexed))]
    pub reactions: BTreeMap<String, i64>,
}

#[derive(PermazenObject, Debug)]
pub struct Attachment {
    #[permazen(inverse_delete = "delete")]
    pub issue: Ref<Issue>,
    pub name: String,
    pub size: i64,
    pub content: Box<[i8]>,
}

#[derive(PermazenObject, Debug)]
pub struct Sprint {
    #[permazen(inverse_delete = "delete")]
    pub project: Ref<Project>,
    pub name: String,
    #[permazen(element(inverse_delete = "remove"))]
    pub issues: Vec<Ref<Issue>>,
    #[permazen(upgrade = "lossy")]
    pub points: i32,
}

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "byIssueAndUser", fields(issue, user)))]
pub struct Vote {
    #[permazen(inverse_delete = "delete")]
    pub issue: Ref<Issue>,
    #[permazen(inverse_delete = "delete")]
    pub user: Ref<User>,
    pub weight: i32,
}

#[derive(PermazenObject, Debug)]
pub struct Setting {
    #[permazen(indexed)]
    pub name: String,
    /// Was one number, and a text before.
    #[permazen(was = "value")]
    pub values: Vec<i64>,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Created,
    #[permazen(was = "CHANGED")]
    Edited,
    Removed,
    /// New.
    Restored,
}

#[derive(PermazenObject, Debug)]
pub struct AuditEntry {
    #[permazen(indexed)]
    pub number: i64,
    #[permazen(upgrade_with = v2::at)]
    pub at: Instant,
    #[permazen(inverse_delete = "nullify")]
    pub actor: Option<Ref<User>>,
    #[permazen(indexed)]
    pub action: Action,
    pub details: BTreeMap<String, String>,
}

/// Opens a database with version 3.
pub fn open(dir: &str) -> Result<Permazen> {
    Permazen::builder(LmdbStore::open_or_create(dir)?)
        .model::<User>()
        .model::<Team>()
        .model::<Project>()
        .model::<Label>()
        .model::<Milestone>()
        .model::<Issue>()
        .model::<TimeSheet>()
        .model::<Comment>()
        .model::<Attachment>()
        .model::<Sprint>()
        .model::<Vote>()
        .model::<Setting>()
        .model::<AuditEntry>()
        .build()
}
