//! Version 1 of the tracker.

pub mod fill;
pub mod print;
pub mod work;

use std::collections::{BTreeMap, BTreeSet};

use permazen::kv::lmdb::LmdbStore;
use permazen::{Counter, Permazen, PermazenEnum, PermazenObject, Ref, Result};

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Guest,
    Member,
    Admin,
}

#[derive(PermazenObject, Debug)]
pub struct User {
    #[permazen(indexed)]
    pub login: String,
    pub name: String,
    pub nickname: Option<String>,
    pub email: Option<String>,
    pub role: Role,
    pub logins: Counter,
}

#[derive(PermazenObject, Debug)]
pub struct Team {
    #[permazen(indexed)]
    pub name: String,
    #[permazen(element(inverse_delete = "remove"))]
    pub members: BTreeSet<Ref<User>>,
}

#[derive(PermazenObject, Debug)]
pub struct Project {
    #[permazen(indexed)]
    pub key: String,
    pub name: String,
    #[permazen(inverse_delete = "nullify")]
    pub team: Option<Ref<Team>>,
    /// At most one in practice.
    #[permazen(element(inverse_delete = "remove"))]
    pub leads: Vec<Ref<User>>,
}

#[derive(PermazenObject, Debug)]
pub struct Label {
    #[permazen(indexed)]
    pub name: String,
    /// Red, green and blue in a byte each.
    pub color: i32,
}

#[derive(PermazenObject, Debug)]
pub struct Milestone {
    #[permazen(inverse_delete = "delete")]
    pub project: Ref<Project>,
    pub title: String,
    /// Such as `2024-02-29`.
    pub due: Option<String>,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Open,
    Closed,
}

#[derive(PermazenObject, Debug)]
#[permazen(composite(name = "byProject", fields(project, number)))]
pub struct Issue {
    #[permazen(inverse_delete = "delete")]
    pub project: Ref<Project>,
    pub number: i32,
    #[permazen(indexed)]
    pub title: String,
    pub state: State,
    /// From 1, the most urgent, to 9.
    pub priority: i32,
    pub reporter: Ref<User>,
    #[permazen(inverse_delete = "nullify")]
    pub assignee: Option<Ref<User>>,
    #[permazen(inverse_delete = "nullify")]
    pub milestone: Option<Ref<Milestone>>,
    #[permazen(element(inverse_delete = "remove"))]
    pub labels: BTreeSet<Ref<Label>>,
    /// In alphabetical order.
    pub components: Vec<String>,
    /// Seconds since 1970.
    pub created: i64,
    pub views: i64,
    /// Hours.
    pub estimated: i32,
    /// Hours.
    pub spent: i32,
}

#[derive(PermazenObject, Debug)]
pub struct Comment {
    #[permazen(inverse_delete = "delete")]
    pub issue: Ref<Issue>,
    pub number: i32,
    pub author: Ref<User>,
    pub text: String,
    /// The texts it had before.
    pub edits: Vec<String>,
    /// How many users have reacted in which way.
    #[permazen(key(indexed))]
    pub reactions: BTreeMap<String, i32>,
}

#[derive(PermazenObject, Debug)]
pub struct Attachment {
    #[permazen(inverse_delete = "delete")]
    pub issue: Ref<Issue>,
    pub name: String,
    pub size: i32,
    pub content: Box<[i8]>,
}

#[derive(PermazenObject, Debug)]
pub struct Sprint {
    #[permazen(inverse_delete = "delete")]
    pub project: Ref<Project>,
    pub name: String,
    #[permazen(element(inverse_delete = "remove"))]
    pub issues: Vec<Ref<Issue>>,
    /// How much work was done.
    pub points: f64,
}

#[derive(PermazenObject, Debug)]
pub struct Vote {
    #[permazen(inverse_delete = "delete")]
    pub issue: Ref<Issue>,
    #[permazen(inverse_delete = "delete")]
    pub user: Ref<User>,
    pub weight: i32,
}

/// A user that follows an issue.
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
    /// A number.
    pub value: String,
}

#[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Created,
    Changed,
    Removed,
}

#[derive(PermazenObject, Debug)]
pub struct AuditEntry {
    #[permazen(indexed)]
    pub number: i64,
    /// Seconds since 1970.
    pub at: i64,
    #[permazen(inverse_delete = "nullify")]
    pub actor: Option<Ref<User>>,
    pub action: Action,
    pub details: BTreeMap<String, String>,
}

/// Opens a database with version 1.
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
