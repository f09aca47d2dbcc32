//! A version of a program, as functions that the table of cases names.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use permazen::encoding::FieldType;
use permazen::model::{Builder, ByValue, Index};
use permazen::{Error, Model, ObjId, Result, Tx, object};
use serde::{Deserialize, Serialize};

/// A change of a program.
pub struct Case {
    pub name: &'static str,
    pub old: Program,
    pub new: Program,
    /// The fields that a model says may go.
    pub accepted: &'static [&'static str],
    /// The values whose change is refused for some objects, because other values would be lost,
    /// when the programs work in turn.
    pub refused: &'static [&'static str],
}

impl Case {
    pub fn programs(&self) -> [&Program; 2] {
        [&self.old, &self.new]
    }
}

/// A version of a program.
pub struct Program {
    /// Registers its models.
    pub models: fn(Builder) -> Builder,
    /// Creates an object.
    pub create: fn(&Tx, i64) -> Result<Created>,
    /// Changes the fields that all versions have.
    pub change_common: fn(&Tx, &Turn) -> Result<Vec<Wrote>>,
    /// Changes the other fields.
    pub change: fn(&Tx, &Turn) -> Result<Vec<Wrote>>,
    /// All that it sees of the objects.
    pub see: fn(&Tx) -> Result<BTreeMap<ObjId, Values>>,
    /// Asks all indexes.
    pub query: fn(&Tx) -> Result<Vec<Answer>>,
    /// The values that it sees of an object that the other program has moved, if they were not
    /// kept: the default of a field that the other program does not have.
    pub defaults: &'static [(&'static str, &'static [&'static str])],
    /// The indexes that are incomplete while objects are in the schema of the other program.
    pub may_be_partial: &'static [&'static str],
}

impl Program {
    pub fn take_turn(&self, tx: &Tx, turn: &Turn) -> Result<Vec<Wrote>> {
        let mut wrote = (self.change_common)(tx, turn)?;
        wrote.extend((self.change)(tx, turn)?);
        Ok(wrote)
    }
}

/// A new object, and the values that were written to it.
pub type Created = (ObjId, Vec<Wrote>);

/// A transaction of a program.
pub struct Turn {
    pub id: ObjId,
    /// Which of the objects it is.
    pub number: usize,
    pub round: i64,
    /// Which program it is.
    pub writer: usize,
    /// Whether this program, and not the other one, writes the values that both know. So the last
    /// of them is known, although both write at the same time.
    pub is_mine: bool,
}

/// Something that a program has written.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Wrote {
    /// A field has this value now.
    Set(String, Vec<String>),
    /// A collection has this element too, or a counter this much more.
    Added(String, String),
    /// This was not changed, because other values would have been lost.
    Refused(String),
}

impl Wrote {
    fn refused(self) -> Wrote {
        match self {
            Wrote::Set(what, _) | Wrote::Added(what, _) | Wrote::Refused(what) => {
                Wrote::Refused(what)
            }
        }
    }
}

/// The values that were written to an object and committed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    pub id: String,
    pub wrote: Vec<Wrote>,
}

/// The values of the fields of an object, by what they mean. `None`: the program cannot read it,
/// because the object is in the schema of another one.
pub type Values = BTreeMap<&'static str, Option<Vec<String>>>;

/// The answer of an index.
#[derive(Debug)]
pub struct Answer {
    /// The meaning of the field.
    pub what: &'static str,
    pub plain: Rows,
    pub scanned: Rows,
    pub indexed: Rows,
}

/// Entries, or why there are none.
pub type Rows = Result<BTreeSet<(String, ObjId)>, NoRows>;

#[derive(Debug)]
pub enum NoRows {
    /// Objects are missing: how many.
    Partial(usize),
    /// An object or a value is unknown to the program.
    Unknown,
}

/// The entries of an index.
pub fn rows<'t, M: Model, V: FieldType>(
    index: Result<Index<'t, M, ByValue<V>>>,
    text: impl Fn(V) -> String,
) -> Result<Rows> {
    let rows = index.and_then(|index| {
        index.iter().map(|row| row.map(|(value, object)| (text(value), object.id()))).collect()
    });
    match rows {
        Ok(rows) => Ok(Ok(rows)),
        Err(Error::PartialIndex { missing, .. }) => Ok(Err(NoRows::Partial(missing))),
        Err(Error::Refused(_) | Error::Object(object::Error::UnknownValue { .. })) => {
            Ok(Err(NoRows::Unknown))
        }
        Err(error) => Err(error),
    }
}

/// A value that a program reads.
pub fn seen<V>(
    value: Result<V>,
    texts: impl FnOnce(V) -> Vec<String>,
) -> Result<Option<Vec<String>>> {
    match value {
        Ok(value) => Ok(Some(texts(value))),
        Err(Error::Refused(_) | Error::Missing { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

pub fn text(value: impl Debug) -> String {
    format!("{value:?}")
}

/// The value of a simple field.
pub fn one(value: Result<impl Debug>) -> Result<Option<Vec<String>>> {
    seen(value, |value| vec![text(value)])
}

/// The elements of a collection.
pub fn all<V: Debug>(value: Result<impl IntoIterator<Item = V>>) -> Result<Option<Vec<String>>> {
    seen(value, |values| values.into_iter().map(text).collect())
}

/// Notes the written values, unless the write was refused because one of these fields would be
/// lost.
pub fn unless_refused(
    result: Result<impl Sized>,
    may_be_lost: &[&str],
    wrote: Wrote,
    to: &mut Vec<Wrote>,
) -> Result<()> {
    match result {
        Ok(_) => to.push(wrote),
        Err(Error::Refused(refusal))
            if refusal.losses.iter().all(|loss| may_be_lost.contains(&&*loss.field)) =>
        {
            to.push(wrote.refused());
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

pub fn set(what: &str, value: impl Debug) -> Wrote {
    Wrote::Set(what.to_owned(), vec![text(value)])
}

pub fn added(what: &str, value: impl Debug) -> Wrote {
    Wrote::Added(what.to_owned(), text(value))
}
