//! `kv`: the pairs of the key/value store, whatever they mean. Nothing here looks at objects, so
//! all of it works on damaged databases too.

mod bytes;
mod change;
mod decode;
mod documents;
mod pairs;
mod read;

use permazen::kv::{Direction, KeySpan, KvRead, KvTransaction, key};

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::session::Session;

pub(crate) use bytes::Bytes;
pub(crate) use change::{Put, Remove};
pub(crate) use decode::{Decode, in_words};
pub(crate) use documents::{Dump, Load};
pub(crate) use pairs::Pairs;
pub(crate) use read::{Get, Scan};

/// Read and change the pairs of the key/value store, whatever they mean.
///
/// Bytes are written in hex (1000fa) or as ASCII text in quotes ("abc\x00"). All of these commands
/// also work on databases that are damaged or are no Permazen databases.
#[derive(Debug, clap::Args)]
pub(crate) struct Kv {}

/// A range of keys, for reading.
#[derive(Debug, clap::Args)]
struct Range {
    /// The first key of the range [default: the first one there is]
    from: Option<Bytes>,
    /// The first key after the range [default: there is none]
    to: Option<Bytes>,
    /// All keys that begin with these bytes
    #[arg(long, value_name = "BYTES", conflicts_with = "from")]
    prefix: Option<Bytes>,
}

/// The bounds of a range of keys.
#[derive(Debug, Default, PartialEq, Eq)]
struct Bounds {
    min: Vec<u8>,
    max: Option<Vec<u8>>,
}

impl Bounds {
    fn of_prefix(prefix: &[u8]) -> Bounds {
        Bounds { min: prefix.to_vec(), max: key::after_prefix(prefix) }
    }

    fn between(min: &Bytes, max: Option<&Bytes>) -> Result<Bounds, Failure> {
        if let Some(max) = max.filter(|max| max.0 < min.0) {
            return Err(Failure::usage(format!("the range ends ({max}) before it begins ({min})")));
        }
        Ok(Bounds { min: min.0.clone(), max: max.map(|max| max.0.clone()) })
    }

    fn span(&self) -> KeySpan<'_> {
        KeySpan::new(&self.min, self.max.as_deref())
    }
}

impl Range {
    fn bounds(&self) -> Result<Bounds, Failure> {
        match (&self.prefix, &self.from) {
            (Some(prefix), _) => Ok(Bounds::of_prefix(&prefix.0)),
            (None, Some(from)) => Bounds::between(from, self.to.as_ref()),
            (None, None) => Ok(Bounds::default()),
        }
    }
}

/// Runs `action` on one state of the pairs.
pub(super) fn read_pairs<T>(
    session: &Session,
    action: impl FnOnce(&dyn KvRead) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let transaction = session.begin_reading_pairs()?;
    action(&*transaction)
}

/// How many pairs are removed at a time.
const SLICE: usize = 1000;

/// Removes the pairs of a range, and returns how many there were. Stops on Ctrl-C.
pub(super) fn remove_span(
    kv: &mut dyn KvTransaction,
    span: KeySpan<'_>,
    interrupt: &Interrupt,
) -> Result<u64, Failure> {
    let mut count = 0;
    loop {
        interrupt.check()?;
        let mut end = None;
        for (n, pair) in kv.scan(span, Direction::Forward)?.take(SLICE).enumerate() {
            let (key, _) = pair?;
            count += 1;
            if n + 1 == SLICE {
                end = Some(key::next_key(&key));
            }
        }
        match end {
            Some(end) => kv.remove_span(KeySpan::new(span.min, Some(&end)))?,
            None => {
                kv.remove_span(span)?;
                return Ok(count);
            }
        }
    }
}
