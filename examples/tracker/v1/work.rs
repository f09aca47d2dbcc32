//! The work of users with version 1 on a day. It works in the same way on objects that a later
//! version has upgraded, and does not move them: it uses only fields that are the same in all
//! versions, and creates objects of its own version.

use permazen::{Permazen, Result};

use super::print::key;
use super::*;

/// Works on the issues of a day: every seventh one, from one that depends on the day.
pub fn work(db: &Permazen, day: i32) -> Result<()> {
    db.write(|tx| {
        for user in tx.all::<User>()? {
            user?.logins().add(1)?;
        }
        for issue in tx.all::<Issue>()?.to_vec()? {
            if issue.number()? % 7 != day % 7 {
                continue;
            }
            issue.set_title(format!("{} (day {day})", issue.title()?))?;
            issue.set_state(State::Closed)?;
            issue.set_assignee(issue.reporter()?)?;
            for label in tx.index(Label::NAME)?.get("label0")?.iter() {
                issue.labels()?.add(label?)?;
            }
            tx.create(Comment {
                issue: issue.to_ref(),
                number: 1000 + day,
                author: issue.reporter()?.to_ref(),
                text: format!("{} was closed", key(issue)?),
                edits: vec!["Done".to_owned()],
                reactions: [("rocket".to_owned(), day)].into(),
            })?;
            // The objects that refer to the issue: references are always indexed.
            for attachment in tx.index(Attachment::ISSUE)?.get(issue)?.to_vec()? {
                attachment.delete()?;
            }
            for vote in tx.index(Vote::ISSUE)?.get(issue)?.to_vec()? {
                let user = vote.user()?.to_ref();
                vote.delete()?;
                tx.create(Watch { issue: issue.to_ref(), user })?;
            }
        }
        for sprint in tx.all::<Sprint>()? {
            sprint?.issues()?.pop()?;
        }
        Ok(())
    })
}
