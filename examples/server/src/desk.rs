//! The work of the help desk: one transaction for each request.

use std::collections::BTreeMap;

use permazen::model::{Base, Versioned};
use permazen::{Error, Obj, Permazen, Ref, Result, Tx, Violation};
use serde::Deserialize;
use serde_json::{Value, json};

use super::models::{
    Article, Audit, Comment, Commentable, CommentableKind, State, Ticket, Titled, User,
};

/// A line from a client. Users are named by e-mail address, tickets and articles by title. To edit
/// a text, the client gives the `version` of it that `read` answered.
#[derive(Deserialize, Debug)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    AddUser { name: String, email: String },
    AddTicket { title: String, text: String, priority: i32, reporter: String },
    AddArticle { title: String, text: String },
    Comment { on: String, author: String, text: String },
    Take { title: String, user: String },
    Vote { title: String },
    Read { title: String },
    Edit { title: String, version: Vec<u8>, text: String },
    DeleteUser { email: String },
    Trail,
}

/// Runs the request in a line. Waits for the database.
pub fn answer(db: &Permazen, line: &str) -> Value {
    let request: Request = match serde_json::from_str(line) {
        Ok(request) => request,
        Err(problem) => return json!({ "error": problem.to_string() }),
    };
    let done = match &request {
        Request::Read { title } => db.read(|tx| read(tx, title)),
        Request::Trail => db.read(trail),
        // If another transaction was faster, `change` runs again.
        _ => db.write(|tx| change(tx, &request)),
    };
    done.unwrap_or_else(|error| refusal(&error))
}

fn change(tx: &Tx, request: &Request) -> Result<Value> {
    match request {
        Request::AddUser { name, email } => {
            // The hook sets the folded address.
            let folded_email = String::new();
            tx.create(User { name: name.clone(), email: email.clone(), folded_email })?;
        }
        Request::AddTicket { title, text, priority, reporter } => {
            tx.create(Ticket {
                titled: Titled { title: title.clone() },
                text: text.clone(),
                priority: *priority,
                state: State::Open,
                reporter: user(tx, reporter)?.to_ref(),
                owner: None,
                votes: 0,
                updated_at: 0,
            })?;
        }
        Request::AddArticle { title, text } => {
            let titled = Titled { title: title.clone() };
            tx.create(Article { titled, text: text.clone() })?;
        }
        Request::Comment { on, author, text } => {
            let on: Ref<CommentableKind> = commentable(tx, on)?.to_ref();
            let author = user(tx, author)?.to_ref();
            tx.create(Comment { on, author, text: text.clone() })?;
        }
        Request::Take { title, user: email } => {
            let ticket = ticket(tx, title)?;
            if let Some(owner) = ticket.owner()? {
                return Err(Error::other(format!("{title} is taken by {}", owner.name()?)));
            }
            ticket.set_owner(user(tx, email)?)?;
        }
        Request::Vote { title } => {
            let ticket = ticket(tx, title)?;
            ticket.set_votes(ticket.votes()? + 1)?;
        }
        Request::Edit { title, version, text } => {
            ticket(tx, title)?;
            let mut seen = Versioned::<Ticket>::from_base(tx, Base::from_bytes(version)?)?;
            seen.text.clone_from(text);
            seen.store(tx)?;
        }
        Request::DeleteUser { email } => {
            user(tx, email)?.delete()?;
        }
        Request::Read { .. } | Request::Trail => {}
    }
    Ok(json!("done"))
}

fn read(tx: &Tx, title: &str) -> Result<Value> {
    let found = commentable(tx, title)?;
    let mut comments = Vec::new();
    for comment in tx.index(Comment::ON)?.get(found)?.iter() {
        let comment = comment?;
        comments.push(format!("{}: {}", comment.author()?.name()?, comment.text()?));
    }
    comments.sort();
    Ok(match found {
        Commentable::Article(article) => {
            json!({ "article": article.text()?, "comments": comments })
        }
        Commentable::Ticket(ticket) => {
            let seen = ticket.load_versioned()?;
            let owner = ticket.owner()?.map(|owner| owner.name()).transpose()?;
            json!({
                "ticket": seen.text, "state": format!("{:?}", seen.state), "owner": owner,
                "votes": seen.votes, "comments": comments,
                "updated_at": seen.updated_at, "version": seen.base().to_bytes(),
            })
        }
    })
}

fn trail(tx: &Tx) -> Result<Value> {
    tx.all::<Audit>()?.iter().map(|line| line?.text()).collect::<Result<Vec<_>>>().map(Value::from)
}

fn user<'t>(tx: &'t Tx, email: &str) -> Result<Obj<'t, User>> {
    let found = tx.find(User::FOLDED_EMAIL, email.to_lowercase())?;
    found.ok_or_else(|| Error::other(format!("there is no user {email}")))
}

/// A ticket or an article: one look-up in the index that they share.
fn commentable<'t>(tx: &'t Tx, title: &str) -> Result<Commentable<'t>> {
    let found = tx.find(CommentableKind::TITLED.title, title)?;
    found.ok_or_else(|| Error::other(format!("there is no {title}")))
}

fn ticket<'t>(tx: &'t Tx, title: &str) -> Result<Obj<'t, Ticket>> {
    match commentable(tx, title)? {
        Commentable::Ticket(ticket) => Ok(ticket),
        Commentable::Article(_) => Err(Error::other(format!("{title} is an article"))),
    }
}

/// The answer to the client: all mistakes, without object IDs.
fn refusal(error: &Error) -> Value {
    match error {
        Error::Invalid(violations) => {
            let problem = |violation: &Violation| match &violation.message {
                Some(message) => format!("{}: {message}", violation.path),
                None => format!("{}: {:?}", violation.path, violation.rule),
            };
            json!({ "broken rules": violations.iter().map(problem).collect::<Vec<_>>() })
        }
        Error::ChangedSince(changed) => {
            let fields = changed.fields.iter().map(|changed| (&*changed.field, &*changed.present));
            json!({ "changed meanwhile": fields.collect::<BTreeMap<_, _>>() })
        }
        other => json!({ "error": other.to_string() }),
    }
}
