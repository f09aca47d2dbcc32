//! Histories: what both sides do, as data.

use std::fmt;

use permazen_tests::outcome::Outcome;
use permazen_tests::trace::objects::Tx;
use permazen_tests::trace::step::Step;
use serde_json::Value as Json;

use crate::stores::Kind;

/// A step outside of a transaction.
#[derive(Debug, Clone)]
pub enum Part {
    /// Opens a transaction, as the step says.
    Open(Json),
    /// Each side continues with the data that the other has written; ours is a file of this kind.
    HandOver(Kind),
}

/// Where the parts and steps of a history come from.
pub trait Author {
    /// The schemas, by the names that steps use: XML documents.
    fn schemas(&self) -> &[(String, String)];

    /// The kind of file we begin with.
    fn first_kind(&self) -> Kind;

    /// The next part outside of a transaction; `None` at the end.
    fn part(&mut self) -> Option<Part>;

    /// The next step within the open transaction. `commit` and `rollback` end it.
    fn step(&mut self, tx: &Tx<'_>) -> Outcome<Step>;
}

/// A round of a recorded history.
#[derive(Debug, Clone)]
pub enum Round {
    /// A transaction: how it is opened, its steps, and `commit` or `rollback`.
    Transaction { open: Json, steps: Vec<Json>, end: Json },
    /// See [`Part::HandOver`].
    HandOver(Kind),
}

/// A recorded history, which can be repeated as a whole or in part.
#[derive(Debug, Clone)]
pub struct History {
    pub schemas: Vec<(String, String)>,
    pub first_kind: Kind,
    pub rounds: Vec<Round>,
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, xml) in &self.schemas {
            writeln!(f, "  {name}: {}", xml.trim_end())?;
        }
        writeln!(f, "  begins with {}", self.first_kind.name())?;
        for round in &self.rounds {
            match round {
                Round::Transaction { open, steps, end } => {
                    writeln!(f, "  {open}")?;
                    steps.iter().try_for_each(|step| writeln!(f, "    {step}"))?;
                    writeln!(f, "  {end}")?;
                }
                Round::HandOver(kind) => writeln!(f, "  hand over, continue with {}", kind.name())?,
            }
        }
        Ok(())
    }
}

/// Repeats a recorded history.
#[derive(Debug)]
pub struct Again<'h> {
    history: &'h History,
    round: usize,
    step: usize,
}

impl<'h> Again<'h> {
    pub fn new(history: &'h History) -> Again<'h> {
        Again { history, round: 0, step: 0 }
    }
}

impl Author for Again<'_> {
    fn schemas(&self) -> &[(String, String)] {
        &self.history.schemas
    }

    fn first_kind(&self) -> Kind {
        self.history.first_kind
    }

    fn part(&mut self) -> Option<Part> {
        let round = self.history.rounds.get(self.round)?;
        self.round += 1;
        self.step = 0;
        Some(match round {
            Round::Transaction { open, .. } => Part::Open(open.clone()),
            Round::HandOver(kind) => Part::HandOver(*kind),
        })
    }

    fn step(&mut self, _: &Tx<'_>) -> Outcome<Step> {
        let at = self.step;
        self.step += 1;
        match self.history.rounds.get(self.round.wrapping_sub(1)) {
            Some(Round::Transaction { steps, end, .. }) => {
                Step::new(steps.get(at).unwrap_or(end).clone())
            }
            _ => Step::new(serde_json::json!({ "op": "rollback" })),
        }
    }
}
