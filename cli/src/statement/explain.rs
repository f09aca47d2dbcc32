//! `explain`: how a statement would be run, and what running it costs.

use std::ops::ControlFlow;
use std::time::Instant;

use permazen::kv::KvError;
use permazen::kv::counting::Operations;
use permazen::object::{self, Transaction};
use permazen_query::{Checked, Column, Edited, NewIds, ObjectRow, QueryError, Row, Rows};

use crate::failure::{Answer, Failure};
use crate::output::Output;
use crate::session::{Session, counter_of};

/// Shows how `explained` would be run, and the further effects of a deletion. With `run`, it is
/// also run, and its reads and changes are counted.
pub(super) fn explain(
    transaction: &Transaction,
    explained: &Checked,
    run: bool,
    failed: &dyn Fn(QueryError) -> Failure,
    session: &Session,
    out: &mut Output,
) -> Result<Answer, Failure> {
    let plan = permazen_query::plan(transaction, explained).map_err(failed)?;
    let limits = session.limits();
    let preview = permazen_query::preview(transaction, explained, &limits).map_err(failed)?;
    session.interrupt.check()?;
    let cost = if run { Some(cost(transaction, explained, failed, session)?) } else { None };
    if out.is_json() {
        let cost = cost.map(|cost| cost.json());
        let cost = cost.as_deref().unwrap_or_default();
        let preview = preview.map(|preview| format!(",\"preview\":{}", preview.json()));
        let preview = preview.as_deref().unwrap_or_default();
        let plan = plan.json();
        out.json_text(&format!("{{\"type\":\"plan\",\"plan\":{plan}{preview}{cost}}}"));
        return Ok(Answer::Yes);
    }
    out.paged(|out| {
        plan.to_string().lines().for_each(|line| out.say(line));
        if let Some(preview) = preview {
            preview.to_string().lines().for_each(|line| out.say(line));
        }
        if let Some(cost) = cost {
            out.say(cost.text());
        }
    });
    Ok(Answer::Yes)
}

/// The work of a statement.
struct Cost {
    /// How many rows or objects it has given or changed.
    rows: u64,
    operations: Operations,
    seconds: f64,
}

/// Runs a statement on the state that the transaction sees, counts its work, and undoes it.
fn cost(
    transaction: &Transaction,
    explained: &Checked,
    failed: &dyn Fn(QueryError) -> Failure,
    session: &Session,
) -> Result<Cost, Failure> {
    let Some(counter) = counter_of(transaction) else {
        // It only reads. The statement is run and counted in another transaction.
        return cost(&session.begin_counted()?, explained, failed, session);
    };
    let measure = |transaction: &Transaction| {
        counter.take();
        let begun = Instant::now();
        let limits = session.limits();
        let rows = if explained.is_edit() {
            let mut ids = NewIds::new();
            let edited = permazen_query::edit(transaction, explained, &limits, &mut ids);
            let Edited { created, set, deleted, moved, .. } = edited.map_err(failed)?;
            created.len() as u64 + set + deleted + moved
        } else {
            permazen_query::run(transaction, explained, &limits, &mut Unseen).map_err(failed)?.rows
        };
        session.interrupt.check()?;
        Ok(Cost { rows, operations: counter.take(), seconds: begun.elapsed().as_secs_f64() })
    };
    if !explained.is_edit() {
        return measure(transaction);
    }
    // Changes that are undone in an optimistic transaction would still be written when it is
    // committed.
    match transaction.snapshot() {
        Ok(snapshot) => measure(&snapshot),
        Err(object::Error::Kv { source: KvError::Unsupported(_), .. }) => {
            undone(transaction, measure)
        }
        Err(error) => Err(error.into()),
    }
}

/// Runs `body`, and undoes its changes.
fn undone<T>(
    transaction: &Transaction,
    body: impl FnOnce(&Transaction) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut made = None;
    let undone = transaction.atomic(|transaction| -> Result<(), Failure> {
        made = Some(body(transaction)?);
        Err(Failure::new("undone"))
    });
    match (made, undone) {
        (Some(made), Err(_)) => Ok(made),
        (_, Err(failure)) => Err(failure),
        (_, Ok(())) => Err(Failure::new("nothing was run")),
    }
}

impl Cost {
    fn text(&self) -> String {
        let Operations { gets, seeks, steps, .. } = self.operations;
        let milliseconds = self.seconds * 1000.0;
        let rows = self.rows;
        format!("rows: {rows}, gets: {gets}, seeks: {seeks}, steps: {steps}, {milliseconds:.3} ms")
    }

    fn json(&self) -> String {
        let Operations { gets, seeks, steps, .. } = self.operations;
        format!(
            ",\"run\":{{\"rows\":{},\"gets\":{gets},\"seeks\":{seeks},\"steps\":{steps},\"seconds\":{}}}",
            self.rows, self.seconds,
        )
    }
}

/// Takes rows that are not shown.
struct Unseen;

impl Rows for Unseen {
    fn columns(&mut self, _: &[Column]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn row(&mut self, _: &Row) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn object(&mut self, _: &ObjectRow) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
