//! `kv`: the pairs of the key/value store, whatever they mean. Nothing here looks at objects, so all
//! of it works on damaged databases too.

mod bytes;
mod change;
mod decode;
mod documents;
mod pairs;
mod read;

use clap::Subcommand;
use permazen::kv::{Direction, KeySpan, KvRead, KvTransaction, key};

use super::{Context, Place};
use crate::failure::{Answer, Failure};
use crate::interrupt::Interrupt;
use crate::session::Session;

pub(crate) use bytes::Bytes;
pub(crate) use decode::in_words;

/// Read and change the pairs of the key/value store, whatever they mean.
///
/// Bytes are written in hex (1000fa) or as ASCII text in quotes ("abc\x00"). All of these commands
/// also work on databases that are damaged or are no Permazen databases.
#[derive(Debug, clap::Args)]
pub(crate) struct Kv {
    #[command(subcommand)]
    command: KvCommand,
}

#[derive(Debug, Subcommand)]
enum KvCommand {
    Get(read::Get),
    Scan(read::Scan),
    Put(change::Put),
    Remove(change::Remove),
    Dump(documents::Dump),
    Load(documents::Load),
    Decode(decode::Decode),
    Pairs(pairs::Pairs),
}

impl Kv {
    pub(crate) fn run(&self, context: &mut Context<'_, '_>) -> Result<Answer, Failure> {
        match &self.command {
            KvCommand::Get(get) => get.run(context),
            KvCommand::Scan(scan) => scan.run(context),
            KvCommand::Put(put) => put.run(context),
            KvCommand::Remove(remove) => remove.run(context),
            KvCommand::Dump(dump) => dump.run(context),
            KvCommand::Load(load) => load.run(context),
            KvCommand::Decode(decode) => decode.run(context),
            KvCommand::Pairs(pairs) => pairs.run(context),
        }
    }

    pub(crate) fn place(&self) -> Place {
        match &self.command {
            KvCommand::Get(_)
            | KvCommand::Scan(_)
            | KvCommand::Dump(_)
            | KvCommand::Decode(_)
            | KvCommand::Pairs(_) => Place::Alone { edits: false },
            KvCommand::Put(_) | KvCommand::Remove(_) | KvCommand::Load(_) => {
                Place::Alone { edits: true }
            }
        }
    }
}

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
