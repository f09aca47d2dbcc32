//! Version 2 of the tracker. Comments at the fields name the changes, and say how the values of
//! version 1 are carried over.

pub mod print;

use std::collections::{BTreeMap, BTreeSet};

use permazen::encoding::time::{Instant, LocalDate};
use permazen::kv::lmdb::LmdbStore;
use permazen::{Counter, OldValues, Permazen, PermazenEnum, PermazenObject, Ref, Result};

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Guest,
    Member,
    Admin,
    /// New. The constants before it keep their numbers.
    Owner,
}

/// Nicknames are no longer kept, and may go.
#[derive(PermazenObject, Debug)]
#[permazen(removed("nickname"))]
pub struct User {
    #[permazen(indexed)]
    pub login: String,
    /// Was called `name`.
    #[permazen(was = "name")]
    pub full_name: String,
    pub email: Option<String>,
    pub role: Role,
    pub logins: Counter,
    /// New, and required: users of version 1 have the default.
    #[permazen(default = "en".to_owned())]
    pub language: String,
}

#[derive(PermazenObject, Debug)]
pub struct Team {
    #[permazen(indexed)]
    pub name: String,
    #[permazen(element(inverse_delete = "remove"))]
    pub members: BTreeSet<Ref<User>>,
    /// New: not in version 1.
    pub purpose: Option<String>,
}

#[derive(PermazenObject, Debug)]
pub struct Project {
    #[permazen(indexed)]
    pub key: String,
    /// The index is new.
    #[permazen(indexed)]
    pub name: String,
    #[permazen(inverse_delete = "nullify")]
    pub team: Option<Ref<Team>>,
    /// Was the list `leads`, with one user or none.
    #[permazen(was = "leads", inverse_delete = "nullify")]
    pub lead: Option<Ref<User>>,
}

#[derive(PermazenObject, Debug)]
pub struct Label {
    #[permazen(indexed)]
    pub name: String,
    /// Was a number. Now such as `#ff8000`.
    #[permazen(upgrade_with = color)]
    pub color: String,
}

pub fn color(old: &OldValues<'_>) -> Result<String> {
    Ok(format!("#{:06x}", old.take::<i32>("color")?))
}

#[derive(PermazenObject, Debug)]
pub struct Milestone {
    #[permazen(inverse_delete = "delete")]
    pub project: Ref<Project>,
    pub title: String,
    /// Was a text. All texts must be dates: others are refused.
    pub due: Option<LocalDate>,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Open,
    Closed,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    Urgent,
    Normal,
    Low,
}

/// The index `byProject` now has the state too.
#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "byProject", fields(project, state, number)))]
pub struct Issue {
    #[permazen(inverse_delete = "delete")]
    pub project: Ref<Project>,
    pub number: i32,
    #[permazen(indexed)]
    pub title: String,
    pub state: State,
    /// Was a number from 1 to 9.
    #[permazen(upgrade_with = priority)]
    pub priority: Priority,
    pub reporter: Ref<User>,
    #[permazen(inverse_delete = "nullify")]
    pub assignee: Option<Ref<User>>,
    #[permazen(inverse_delete = "nullify")]
    pub milestone: Option<Ref<Milestone>>,
    #[permazen(element(inverse_delete = "remove"))]
    pub labels: BTreeSet<Ref<Label>>,
    pub components: Vec<String>,
    /// Was in seconds since 1970. The index is new.
    #[permazen(indexed, upgrade_with = created)]
    pub created: Instant,
    /// Was a number. Counters can be increased by several programs at once.
    pub views: Counter,
    pub estimated: i32,
    pub spent: i32,
}

pub fn priority(old: &OldValues<'_>) -> Result<Priority> {
    Ok(match old.take::<i32>("priority")? {
        ..=3 => Priority::Urgent,
        4..=6 => Priority::Normal,
        7.. => Priority::Low,
    })
}

pub fn created(old: &OldValues<'_>) -> Result<Instant> {
    instant(old, "created")
}

/// The point in time that a field had in seconds since 1970.
fn instant(old: &OldValues<'_>, field: &str) -> Result<Instant> {
    Instant::new(old.take(field)?, 0).map_err(permazen::Error::other)
}

#[derive(PermazenObject, Debug)]
pub struct Comment {
    #[permazen(inverse_delete = "delete")]
    pub issue: Ref<Issue>,
    pub number: i32,
    pub author: Ref<User>,
    pub text: String,
    /// Was called `edits`.
    #[permazen(was = "edits")]
    pub history: Vec<String>,
    /// The numbers were `i32`.
    #[permazen(key(indexed))]
    pub reactions: BTreeMap<String, i64>,
}

#[derive(PermazenObject, Debug)]
pub struct Attachment {
    #[permazen(inverse_delete = "delete")]
    pub issue: Ref<Issue>,
    pub name: String,
    /// Was an `i32`: every value has its place.
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
    /// Was an `f64`. Half points may go.
    #[permazen(upgrade = "lossy")]
    pub points: i32,
}

/// The index is new.
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
pub struct Watch {
    #[permazen(inverse_delete = "delete")]
    pub issue: Ref<Issue>,
    #[permazen(inverse_delete = "delete")]
    pub user: Ref<User>,
}

#[derive(PermazenObject, Debug)]
pub struct Setting {
    #[permazen(indexed)]
    pub name: String,
    /// Was a text.
    pub value: i64,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Created,
    /// Was `Changed`.
    #[permazen(was = "CHANGED")]
    Edited,
    Removed,
}

#[derive(PermazenObject, Debug)]
pub struct AuditEntry {
    #[permazen(indexed)]
    pub number: i64,
    /// Was in seconds since 1970.
    #[permazen(upgrade_with = at)]
    pub at: Instant,
    #[permazen(inverse_delete = "nullify")]
    pub actor: Option<Ref<User>>,
    pub action: Action,
    pub details: BTreeMap<String, String>,
}

pub fn at(old: &OldValues<'_>) -> Result<Instant> {
    instant(old, "at")
}

/// Opens a database with version 2.
pub fn open(dir: &str) -> Result<Permazen> {
    Permazen::builder(LmdbStore::open_or_create(dir)?)
        .model::<User>()
        .model::<Team>()
        .model::<Project>()
        .model::<Label>()
        .model::<Milestone>()
        .model::<Issue>()
        .model::<Comment>()
        .model::<Attachment>()
        .model::<Sprint>()
        .model::<Vote>()
        .model::<Watch>()
        .model::<Setting>()
        .model::<AuditEntry>()
        .build()
}
