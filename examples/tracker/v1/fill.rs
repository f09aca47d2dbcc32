//! Fills a new database.

use permazen::{Permazen, Result, Tx};

use super::*;

/// How many issues are created in one transaction.
const BATCH: i32 = 500;

/// The objects to which issues refer.
struct Known {
    users: Vec<Ref<User>>,
    projects: Vec<Ref<Project>>,
    labels: Vec<Ref<Label>>,
    milestones: Vec<Ref<Milestone>>,
    sprints: Vec<Ref<Sprint>>,
}

/// Creates this many issues and the objects that belong to them.
pub fn fill(db: &Permazen, issues: i32) -> Result<()> {
    let known = db.write(|tx| known(tx, issues))?;
    for start in (0..issues).step_by(BATCH as usize) {
        db.write(|tx| {
            (start..issues.min(start + BATCH)).try_for_each(|number| issue(tx, &known, number))
        })?;
    }
    Ok(())
}

fn known(tx: &Tx, issues: i32) -> Result<Known> {
    let mut users = Vec::new();
    for number in 0..5 + issues / 50 {
        let user = tx.create(User {
            login: format!("user{number}"),
            name: match number % 5 {
                0 => format!("Plato{number}"),
                _ => format!("Ann Mary Smith{number}"),
            },
            nickname: (number % 3 == 0).then(|| format!("nick{number}")),
            email: (number % 4 != 0).then(|| format!("user{number}@example.org")),
            role: *of(&[Role::Guest, Role::Member, Role::Admin], number),
            logins: Counter::from(i64::from(number * number)),
        })?;
        users.push(user.to_ref());
    }
    let (mut projects, mut milestones, mut sprints) = (Vec::new(), Vec::new(), Vec::new());
    for (number, key) in (0..).zip(["WEB", "APP", "DOC", "OPS"]) {
        let members = users.iter().skip(number).step_by(4).copied().collect();
        let team = tx.create(Team { name: format!("Team {key}"), members })?;
        let project = tx.create(Project {
            key: key.to_owned(),
            name: format!("The {key} project"),
            team: (number > 0).then(|| team.to_ref()),
            leads: users.get(number..).into_iter().flatten().take(number % 2).copied().collect(),
        })?;
        for month in 1..4 {
            let milestone = tx.create(Milestone {
                project: project.to_ref(),
                title: format!("0.{month}"),
                due: (month < 3).then(|| format!("2024-0{month}-29")),
            })?;
            milestones.push(milestone.to_ref());
            let sprint = tx.create(Sprint {
                project: project.to_ref(),
                name: format!("Sprint {month}"),
                issues: vec![],
                points: 10.5 * f64::from(month),
            })?;
            sprints.push(sprint.to_ref());
        }
        projects.push(project.to_ref());
    }
    let mut labels = Vec::new();
    for number in 0..10 {
        let label = Label { name: format!("label{number}"), color: 0x01_02_03 * number };
        labels.push(tx.create(label)?.to_ref());
        tx.create(Setting { name: format!("limit{number}"), value: (100 * number).to_string() })?;
    }
    Ok(Known { users, projects, labels, milestones, sprints })
}

/// Creates an issue and the objects that belong to it.
fn issue(tx: &Tx, known: &Known, number: i32) -> Result<()> {
    let at = 1_700_000_000 + 3_600 * i64::from(number);
    let user = |offset| *of(&known.users, number + offset);
    let issue = tx.create(Issue {
        project: *of(&known.projects, number),
        number,
        title: format!("Something is wrong with part {number}"),
        state: *of(&[State::Open, State::Open, State::Closed], number),
        priority: number % 9 + 1,
        reporter: user(0),
        assignee: (number % 2 == 0).then(|| user(1)),
        milestone: (number % 3 == 0).then(|| *of(&known.milestones, number)),
        labels: (0..number % 4).map(|offset| *of(&known.labels, number + offset)).collect(),
        components: ["api", "core", "docs"].map(str::to_owned)[..number as usize % 4].to_vec(),
        created: at,
        views: i64::from(number) * 3,
        estimated: number % 5,
        spent: if number % 5 == 0 { 0 } else { number % 7 },
    })?;
    let issue = issue.to_ref();
    for comment in 0..number % 3 {
        tx.create(Comment {
            issue,
            number: comment,
            author: user(comment),
            text: format!("Comment {comment} on {number}"),
            edits: (0..comment).map(|edit| format!("Edit {edit}")).collect(),
            reactions: [("heart".to_owned(), number), ("smile".to_owned(), 1)].into(),
        })?;
    }
    if number % 5 == 0 {
        let content: Box<[i8]> = (0..40).collect();
        tx.create(Attachment { issue, name: "log.txt".to_owned(), size: 40 + number, content })?;
        tx.get(*of(&known.sprints, number / 5))?.issues()?.push(issue)?;
    }
    if number % 4 == 0 {
        tx.create(Vote { issue, user: user(2), weight: number % 3 })?;
        tx.create(Watch { issue, user: user(3) })?;
    }
    tx.create(AuditEntry {
        number: number.into(),
        at,
        actor: (number % 6 != 0).then(|| user(0)),
        action: *of(&[Action::Created, Action::Changed, Action::Removed], number),
        details: [("issue".to_owned(), number.to_string())].into(),
    })?;
    Ok(())
}

/// One of the values, in turn.
fn of<T>(values: &[T], number: i32) -> &T {
    &values[number.unsigned_abs() as usize % values.len()]
}
