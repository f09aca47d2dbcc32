//! Everything that version 3 sees.

use permazen::{Obj, Result, Tx};

use super::super::lines::Lines;
use super::*;

pub fn everything(tx: &Tx) -> Result<Lines> {
    let mut lines = Lines::default();
    people(tx, &mut lines)?;
    projects(tx, &mut lines)?;
    issues(tx, &mut lines)?;
    on_issues(tx, &mut lines)?;
    records(tx, &mut lines)?;
    Ok(lines)
}

fn people(tx: &Tx, lines: &mut Lines) -> Result<()> {
    for user in tx.all::<User>()? {
        let user = user?;
        let name = format!("User {}", user.login()?);
        lines.add(&name, "first name", user.first_name())?;
        lines.add(&name, "last name", user.last_name())?;
        lines.add(&name, "emails", user.emails().and_then(|them| them.load::<BTreeSet<_>>()))?;
        lines.add(&name, "role", user.role())?;
        lines.add(&name, "logins", user.logins().get())?;
        lines.add(&name, "language", user.language())?;
    }
    for team in tx.all::<Team>()? {
        let team = team?;
        let name = format!("Team {}", team.name()?);
        lines.add(&name, "members", sorted(team.members()?.objects(), login))?;
        lines.add(&name, "purpose", team.purpose())?;
    }
    Ok(())
}

fn projects(tx: &Tx, lines: &mut Lines) -> Result<()> {
    for project in tx.all::<Project>()? {
        let project = project?;
        let name = format!("Project {}", project.key()?);
        lines.add(&name, "name", project.name())?;
        lines.add(&name, "team", project.team()?.map(|team| team.name()).transpose())?;
        lines.add(&name, "lead", project.lead().and_then(|lead| lead.map(login).transpose()))?;
    }
    for label in tx.all::<Label>()? {
        let label = label?;
        lines.add(&format!("Label {}", label.name()?), "color", label.color())?;
    }
    for milestone in tx.all::<Milestone>()? {
        let milestone = milestone?;
        let name = format!("Milestone {} {}", milestone.project()?.key()?, milestone.title()?);
        lines.add(&name, "due", milestone.due())?;
    }
    for sprint in tx.all::<Sprint>()? {
        let sprint = sprint?;
        let name = format!("Sprint {} {}", sprint.project()?.key()?, sprint.name()?);
        lines.add(&name, "issues", all(sprint.issues()?.objects(), key))?;
        lines.add(&name, "points", sprint.points())?;
    }
    Ok(())
}

fn issues(tx: &Tx, lines: &mut Lines) -> Result<()> {
    for issue in tx.all::<Issue>()? {
        let issue = issue?;
        let name = format!("Issue {}", key(issue)?);
        lines.add(&name, "title", issue.title())?;
        lines.add(&name, "state", issue.state())?;
        lines.add(&name, "priority", issue.priority())?;
        lines.add(&name, "reporter", login(issue.reporter()?))?;
        lines.add(&name, "assignee", issue.assignee()?.map(login).transpose())?;
        lines.add(&name, "milestone", issue.milestone()?.map(|it| it.title()).transpose())?;
        lines.add(&name, "labels", sorted(issue.labels()?.objects(), |label| label.name()))?;
        lines.add(
            &name,
            "components",
            issue.components().and_then(|it| it.load::<BTreeSet<_>>()),
        )?;
        lines.add(&name, "created", issue.created())?;
        lines.add(&name, "views", issue.views().get())?;
        lines.add(&name, "time", issue.time().and_then(|it| it.map(|it| it.load()).transpose()))?;
        lines.add(&name, "watchers", sorted(issue.watchers()?.objects(), login))?;
    }
    Ok(())
}

fn on_issues(tx: &Tx, lines: &mut Lines) -> Result<()> {
    for comment in tx.all::<Comment>()? {
        let comment = comment?;
        let name = format!("Comment {} {}", key(comment.issue()?)?, comment.number()?);
        lines.add(&name, "author", login(comment.author()?))?;
        lines.add(&name, "text", comment.text())?;
        lines.add(&name, "history", comment.history().and_then(|texts| texts.load::<Vec<_>>()))?;
        let reactions = comment.reactions().and_then(|them| them.load::<BTreeMap<_, _>>());
        lines.add(&name, "reactions", reactions)?;
    }
    for attachment in tx.all::<Attachment>()? {
        let attachment = attachment?;
        let name = format!("Attachment {} {}", key(attachment.issue()?)?, attachment.name()?);
        lines.add(&name, "size", attachment.size())?;
        lines.add(&name, "content", attachment.content())?;
    }
    for vote in tx.all::<Vote>()? {
        let vote = vote?;
        let name = format!("Vote {} {}", key(vote.issue()?)?, login(vote.user()?)?);
        lines.add(&name, "weight", vote.weight())?;
    }
    Ok(())
}

fn records(tx: &Tx, lines: &mut Lines) -> Result<()> {
    for setting in tx.all::<Setting>()? {
        let setting = setting?;
        lines.add(
            &format!("Setting {}", setting.name()?),
            "values",
            setting.values().and_then(|it| it.load::<Vec<_>>()),
        )?;
    }
    for entry in tx.all::<AuditEntry>()? {
        let entry = entry?;
        let name = format!("AuditEntry {}", entry.number()?);
        lines.add(&name, "at", entry.at())?;
        lines.add(&name, "actor", entry.actor()?.map(login).transpose())?;
        lines.add(&name, "action", entry.action())?;
        lines.add(&name, "details", entry.details()?.load::<BTreeMap<_, _>>())?;
    }
    Ok(())
}

fn login(user: Obj<'_, User>) -> Result<String> {
    user.login()
}

/// Such as `WEB-17`.
pub fn key(issue: Obj<'_, Issue>) -> Result<String> {
    Ok(format!("{}-{}", issue.project()?.key()?, issue.number()?))
}

/// The names of objects, in their order.
fn all<T>(
    objects: impl Iterator<Item = Result<T>>,
    name: impl Fn(T) -> Result<String>,
) -> Result<Vec<String>> {
    objects.map(|object| name(object?)).collect()
}

/// The names of objects, in alphabetical order.
fn sorted<T>(
    objects: impl Iterator<Item = Result<T>>,
    name: impl Fn(T) -> Result<String>,
) -> Result<BTreeSet<String>> {
    objects.map(|object| name(object?)).collect()
}
