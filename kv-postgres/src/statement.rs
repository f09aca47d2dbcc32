//! Statements with their parameters, and the answers of the server to them.

use std::io;
use std::ops::Deref;

use bytes::{Bytes, BytesMut};
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::DataRowBody;
use postgres_protocol::types::{ArrayDimension, array_to_sql};

/// The type numbers of the server.
const BYTEA: u32 = 17;
const INT8: u32 = 20;
const TEXT: u32 = 25;
const BYTEA_ARRAY: u32 = 1001;

/// A statement that each connection prepares when it is first used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Statement<'s> {
    /// A name that no other statement of the same table has. One without a name is prepared each
    /// time.
    pub(crate) name: &'s str,
    pub(crate) sql: &'s str,
}

/// The value of a parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Parameter<'p> {
    Bytes(&'p [u8]),
    Number(i64),
    Text(&'p str),
    /// An array of byte strings.
    Many(&'p [&'p [u8]]),
}

impl Parameter<'_> {
    pub(crate) fn type_number(&self) -> u32 {
        match self {
            Parameter::Bytes(_) => BYTEA,
            Parameter::Number(_) => INT8,
            Parameter::Text(_) => TEXT,
            Parameter::Many(_) => BYTEA_ARRAY,
        }
    }

    pub(crate) fn write(
        &self,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Parameter::Bytes(bytes) => out.extend_from_slice(bytes),
            Parameter::Text(text) => out.extend_from_slice(text.as_bytes()),
            Parameter::Number(number) => out.extend_from_slice(&number.to_be_bytes()),
            Parameter::Many(all) => {
                let dimension = ArrayDimension { len: i32::try_from(all.len())?, lower_bound: 1 };
                let write = |one: &[u8], out: &mut BytesMut| {
                    out.extend_from_slice(one);
                    Ok(IsNull::No)
                };
                array_to_sql([dimension], BYTEA, all.iter().copied(), write, out)?;
            }
        }
        Ok(IsNull::No)
    }
}

/// The columns of a row that are not null. No statement asks for more than two columns.
#[derive(Debug, Default)]
pub(crate) struct Row {
    columns: [Bytes; 2],
    count: usize,
}

impl Row {
    /// A row that the server has sent.
    pub(crate) fn of(body: &DataRowBody) -> io::Result<Self> {
        let (bytes, mut row) = (body.buffer_bytes(), Row::default());
        let mut ranges = body.ranges();
        while let Some(range) = ranges.next()? {
            if let Some(range) = range
                && let Some(place) = row.columns.get_mut(row.count)
            {
                *place = bytes.slice(range);
                row.count += 1;
            }
        }
        Ok(row)
    }

    /// Both columns, if the row has two.
    pub(crate) fn into_pair(self) -> Result<[Bytes; 2], Self> {
        if self.count == 2 { Ok(self.columns) } else { Err(self) }
    }
}

impl Deref for Row {
    type Target = [Bytes];

    fn deref(&self) -> &[Bytes] {
        self.columns.get(..self.count).unwrap_or_default()
    }
}

/// The answer to one statement.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) rows: Vec<Row>,
    /// The command tag: the command, and with some commands a number of rows.
    pub(crate) tag: String,
    /// The server warned that the commit may be lost with the server, because the commit did not
    /// wait for the replica.
    pub(crate) is_only_local: bool,
}
