//! Everything that version 1 sees.

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
        let name = lines.object(user, format!("User {}", user.login()?))?;
        lines.add(&name, "name", user.name())?;
        lines.add(&name, "nickname", user.nickname())?;
        lines.add(&name, "email", user.email())?;
        lines.add(&name, "role", user.role())?;
        lines.add(&name, "logins", user.logins().get())?;
    }
    for team in tx.all::<Team>()? {
        let team = team?;
        let name = lines.object(team, format!("Team {}", team.name()?))?;
        lines.add(&name, "members", sorted(team.members()?.objects(), login))?;
    }
    Ok(())
}

fn projects(tx: &Tx, lines: &mut Lines) -> Result<()> {
    for project in tx.all::<Project>()? {
        let project = project?;
        let name = lines.object(project, format!("Project {}", project.key()?))?;
        lines.add(&name, "name", project.name())?;
        lines.add(&name, "team", project.team()?.map(|team| team.name()).transpose())?;
        lines.add(&name, "leads", project.leads().and_then(|leads| all(leads.objects(), login)))?;
    }
    for label in tx.all::<Label>()? {
        let label = label?;
        let name = lines.object(label, format!("Label {}", label.name()?))?;
        lines.add(&name, "color", label.color())?;
    }
    for milestone in tx.all::<Milestone>()? {
        let milestone = milestone?;
        let name = lines.object(
            milestone,
            format!("Milestone {} {}", milestone.project()?.key()?, milestone.title()?),
        )?;
        lines.add(&name, "due", milestone.due())?;
    }
    for sprint in tx.all::<Sprint>()? {
        let sprint = sprint?;
        let name = lines
            .object(sprint, format!("Sprint {} {}", sprint.project()?.key()?, sprint.name()?))?;
        lines.add(&name, "issues", all(sprint.issues()?.objects(), key))?;
        lines.add(&name, "points", sprint.points())?;
    }
    Ok(())
}

fn issues(tx: &Tx, lines: &mut Lines) -> Result<()> {
    for issue in tx.all::<Issue>()? {
        let issue = issue?;
        let name = lines.object(issue, format!("Issue {}", key(issue)?))?;
        lines.add(&name, "title", issue.title())?;
        lines.add(&name, "state", issue.state())?;
        lines.add(&name, "priority", issue.priority())?;
        lines.add(&name, "reporter", login(issue.reporter()?))?;
        lines.add(&name, "assignee", issue.assignee()?.map(login).transpose())?;
        lines.add(&name, "milestone", issue.milestone()?.map(|it| it.title()).transpose())?;
        lines.add(&name, "labels", sorted(issue.labels()?.objects(), |label| label.name()))?;
        lines.add(&name, "components", issue.components().and_then(|it| it.load::<Vec<_>>()))?;
        lines.add(&name, "created", issue.created())?;
        lines.add(&name, "views", issue.views())?;
        lines.add(&name, "estimated", issue.estimated())?;
        lines.add(&name, "spent", issue.spent())?;
    }
    Ok(())
}

fn on_issues(tx: &Tx, lines: &mut Lines) -> Result<()> {
    for comment in tx.all::<Comment>()? {
        let comment = comment?;
        let name = lines
            .object(comment, format!("Comment {} {}", key(comment.issue()?)?, comment.number()?))?;
        lines.add(&name, "author", login(comment.author()?))?;
        lines.add(&name, "text", comment.text())?;
        lines.add(&name, "edits", comment.edits().and_then(|edits| edits.load::<Vec<_>>()))?;
        let reactions = comment.reactions().and_then(|them| them.load::<BTreeMap<_, _>>());
        lines.add(&name, "reactions", reactions)?;
    }
    for attachment in tx.all::<Attachment>()? {
        let attachment = attachment?;
        let name = lines.object(
            attachment,
            format!("Attachment {} {}", key(attachment.issue()?)?, attachment.name()?),
        )?;
        lines.add(&name, "size", attachment.size())?;
        lines.add(&name, "content", attachment.content())?;
    }
    for vote in tx.all::<Vote>()? {
        let vote = vote?;
        let name =
            lines.object(vote, format!("Vote {} {}", key(vote.issue()?)?, login(vote.user()?)?))?;
        lines.add(&name, "weight", vote.weight())?;
    }
    for watch in tx.all::<Watch>()? {
        let watch = watch?;
        let name = lines
            .object(watch, format!("Watch {} {}", key(watch.issue()?)?, login(watch.user()?)?))?;
        lines.add(&name, "exists", watch.exists())?;
    }
    Ok(())
}

fn records(tx: &Tx, lines: &mut Lines) -> Result<()> {
    for setting in tx.all::<Setting>()? {
        let setting = setting?;
        let name = lines.object(setting, format!("Setting {}", setting.name()?))?;
        lines.add(&name, "value", setting.value())?;
    }
    for entry in tx.all::<AuditEntry>()? {
        let entry = entry?;
        let name = lines.object(entry, format!("AuditEntry {}", entry.number()?))?;
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
