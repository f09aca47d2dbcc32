//! Deletions that Permazen for Java refuses, by the rule by which they are compared.
//!
//! Java asks each object, before it goes, whether something forbids that. Here, what forbids it
//! counts only if it is still there at the end. So Java refuses deletions that are allowed here.
//! They are the only ones whose answers may differ (docs/deviations.md).

use std::collections::BTreeSet;

use permazen::__internal::object::DeletionStep;
use permazen::ObjId;
use permazen::object::Error;
use permazen::schema::DeleteAction;
use serde_json::{Value, json};

use super::objects::{Tx, obj_id};
use super::operations::perform;
use super::references::{Reference, References};
use super::refusal::{Answer, Refusal};
use super::step::Step;
use crate::digest;
use crate::outcome::{Outcome, fail, same};

/// The outcome here of a deletion that Java refuses. Listeners got the same events as in Java.
#[derive(Debug)]
pub enum Refused {
    /// The answer is to be compared.
    Answer(Answer),
    /// The answer is to be compared. Besides, more listeners to deletions were called, as this
    /// says.
    MoreTold(Answer, String),
    /// Nothing that forbids it is left, so it was done, and undone again, as this says.
    Undone(String),
    /// It is refused, but Java names an object that would go too, or does not call listeners whose
    /// changes make it be refused for another reference, as this says.
    ForAnother(String),
}

/// Whether Java has refused this deletion.
pub fn is_refused(step: &Step) -> bool {
    step.op() == "delete" && step.get("error").is_some_and(|kind| kind == "referenced-object")
}

/// Performs a deletion that Java has refused. If it succeeds here, fails unless something forbade
/// it at the beginning, which Java has named unless the step is partial, and nothing that forbids
/// it is left; then undoes it.
pub fn replay(tx: &Tx<'_>, step: &Step) -> Outcome<Refused> {
    let log = &tx.context.log;
    let acts_left = log.acts_left();
    let expected = step.get("events").and_then(Value::as_array).cloned().unwrap_or_default();
    let references = References::read(tx.tx)?;
    let refused = compare(tx, step, &references)?;
    let told = log.take();
    match refused {
        Refused::Answer(answer) => {
            // An object of its type could have gone too, so the listeners of the objects that go
            // were called first.
            let more = told.get(expected.len()..).filter(|_| told.starts_with(&expected));
            let is_deletion = |event: &Value| event.get("on").is_some_and(|on| on == "delete");
            // The listeners that Java does not call can refuse it too.
            let begins = more.is_some_and(|more| more.first().is_some_and(is_deletion));
            if let Err(refusal) = &answer
                && begins
                && differs(refusal, step)
                && references.all.iter().any(|it| can_forbid(it) && explained(step, it))
            {
                log.told_instead(&expected, acts_left);
                let text =
                    format!("{}: after listeners were called: {}", step.text("id")?, refusal.text);
                return Ok(Refused::ForAnother(text));
            }
            let more = more.filter(|more| !more.is_empty() && more.iter().all(is_deletion));
            let Some(more) = more.filter(|_| answer.is_err() && !step.flag("partial")) else {
                told.into_iter().for_each(|event| log.add(event));
                return Ok(Refused::Answer(answer));
            };
            let text = format!("{}: {} more are told of it", step.text("id")?, more.len());
            log.told_instead(&expected, acts_left);
            Ok(Refused::MoreTold(answer, text))
        }
        refused => {
            log.told_instead(&expected, acts_left);
            Ok(refused)
        }
    }
}

fn compare(tx: &Tx<'_>, step: &Step, references: &References) -> Outcome<Refused> {
    let root = step.text("id")?.parse()?;
    let objects: BTreeSet<ObjId> = tx.tx.all_objects()?.to_vec()?.into_iter().collect();
    let before = tx.tx.read_pairs(|kv| Ok(digest::state_digest(kv)?))?;
    let mut done = None;
    tx.context.log.take_changed();
    // The error undoes it.
    let _: Result<(), Error> = tx.tx.atomic(|_| {
        let answer = perform(tx, step);
        let left = answer.is_ok().then(|| left(tx));
        done = Some((answer, left));
        Err(Error::listener("undone"))
    });
    let after = tx.tx.read_pairs(|kv| Ok(digest::state_digest(kv)?))?;
    same("pairs after undoing it", after.sha256, before.sha256)?;
    let (answer, left) = match done {
        Some((answer, Some(left))) => (answer, left?),
        Some((answer, None)) => return of_refusal(tx, step, root, references, answer),
        None => return Err(fail("the deletion was not performed")),
    };
    if !answer.as_ref().is_ok_and(|deleted| *deleted == json!(true)) {
        return Ok(Refused::Answer(answer));
    }
    let (left, references_left) = left;
    let gone: BTreeSet<ObjId> = objects.difference(&left).copied().collect();
    if let Some(reference) = references_left.all.iter().find(|it| forbids(it, &gone)) {
        let Reference { holder, target, .. } = reference;
        return Err(fail(format!("{holder} forbids the deletion of {target}, and is left")));
    }
    // A listener can have set the reference for which Java has refused it. It is gone again.
    let changed = tx.context.log.take_changed();
    let is_set_by_listener = match step.get("detail") {
        Some(named) => {
            named.get("referrer").and_then(Value::as_str).is_some_and(|it| changed.contains(it))
        }
        None => !changed.is_empty(),
    };
    if !is_set_by_listener
        && !references.all.iter().any(|it| forbids(it, &gone) && explained(step, it))
    {
        return Err(fail("it was done, and there is no reference for which Java has refused it"));
    }
    Ok(Refused::Undone(format!("{root}: all that forbids the deletion goes too")))
}

/// A deletion that is refused here too. Java may name an object that would go too.
fn of_refusal(
    tx: &Tx<'_>,
    step: &Step,
    root: ObjId,
    references: &References,
    answer: Answer,
) -> Outcome<Refused> {
    let Err(refusal) = &answer else { return Ok(Refused::Answer(answer)) };
    let named = step.get("detail").filter(|_| refusal.kind == "referenced-object");
    let named = named.filter(|_| differs(refusal, step));
    let Some(named) = named else { return Ok(Refused::Answer(answer)) };
    let (mut going, mut refusing) = (BTreeSet::new(), Vec::new());
    let _ = tx.tx.delete_together(&[root], &mut |step| {
        match step {
            DeletionStep::Deleted { id } => drop(going.insert(id)),
            DeletionStep::Refused { holder, target, .. } => refusing.push((holder, target)),
            _ => {}
        }
        Ok(())
    });
    let id = |name: &str| -> Outcome<ObjId> {
        let text = refusal.detail.get(name).and_then(Value::as_str).unwrap_or_default();
        obj_id(text).map_err(|refusal| fail(refusal.text))
    };
    let ours = (id("referrer")?, id("id")?);
    let goes_too =
        |it: &Reference| forbids(it, &going) && going.contains(&it.holder) && is_named(it, named);
    if !refusing.contains(&ours) || !references.all.iter().any(goes_too) {
        return Ok(Refused::Answer(answer));
    }
    let (holder, target) = ours;
    Ok(Refused::ForAnother(format!(
        "{root}: {holder} forbids the deletion of {target}, and is left"
    )))
}

/// The objects, and what they refer to.
fn left(tx: &Tx<'_>) -> Outcome<(BTreeSet<ObjId>, References)> {
    let objects = tx.tx.all_objects()?.to_vec()?.into_iter().collect();
    Ok((objects, References::read(tx.tx)?))
}

/// Whether the answer to a deletion that Java refuses is another one than Java's.
fn differs(refusal: &Refusal, step: &Step) -> bool {
    let detail = |named: &Value| *named != Value::from(refusal.detail.clone());
    refusal.kind != "referenced-object" || step.get("detail").is_some_and(detail)
}

/// Whether it may be the reference for which Java has refused the deletion.
fn explained(step: &Step, reference: &Reference) -> bool {
    match step.get("detail") {
        Some(detail) => is_named(reference, detail),
        None => step.flag("partial"),
    }
}

/// Whether it forbids the deletion of an object that goes.
fn forbids(reference: &Reference, going: &BTreeSet<ObjId>) -> bool {
    can_forbid(reference) && going.contains(&reference.target)
}

/// Whether it forbids the deletion of its target.
fn can_forbid(reference: &Reference) -> bool {
    let action = reference.options().map(|options| options.inverse_delete);
    action == Some(DeleteAction::Exception) && reference.holder != reference.target
}

/// Whether Java has named it.
fn is_named(reference: &Reference, detail: &Value) -> bool {
    let named = |name: &str| detail.get(name).and_then(Value::as_str).unwrap_or_default();
    named("id") == reference.target.to_string()
        && named("referrer") == reference.holder.to_string()
        && named("field") == &*reference.field.name
}
