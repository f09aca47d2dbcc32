//! `kv get` and `kv scan`.

use permazen::kv::{Direction, Hex};
use serde_json::json;

use super::bytes::{Bytes, CString, Listing};
use super::decode::Known;
use super::{Range, read_pairs};
use crate::commands::{Command, Context, Scope};
use crate::failure::{Answer, Failure};
use crate::output::{Format, Output};

/// Show the value of a key: in hex, or null if there is no such key, with exit code 1.
#[derive(Debug, clap::Args)]
pub(crate) struct Get {
    /// The key
    key: Bytes,
    /// Show the value as text in quotes
    #[arg(long, short = 's')]
    quoted: bool,
}

impl Command for Get {
    fn scope(&self) -> Scope {
        Scope::OwnTransactions { edits: false }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let value =
            read_pairs(context.session, |kv| Ok(kv.get(&self.key.0)?.map(|v| v.into_owned())))?;
        let raw = context.out.format() == Some(Format::Raw);
        match &value {
            _ if context.out.is_json() => {
                let value = value.as_deref().map(|value| Hex(value).to_string());
                let key = self.key.to_string();
                context.out.json(&json!({ "type": "pair", "key": key, "value": value }))?;
            }
            Some(value) if raw && !context.out.is_terminal() => context.out.exactly(value),
            Some(value) if raw || self.quoted => context.out.say(CString(value)),
            Some(value) => context.out.say(Hex(value)),
            None => context.out.say("null"),
        }
        Ok(Answer::yes_if(value.is_some()))
    }
}

/// List the pairs of a range: each key after K, its value after V, 32 bytes in a line.
///
/// An empty value has no line.
#[derive(Debug, clap::Args)]
pub(crate) struct Scan {
    #[command(flatten)]
    range: Range,
    /// At most this many pairs
    #[arg(long, short = 'l', value_name = "N")]
    limit: Option<u64>,
    /// Only the keys
    #[arg(long, short = 'n')]
    keys: bool,
    /// Show keys and values as text in quotes, one in a line
    #[arg(long, short = 's')]
    quoted: bool,
    /// From the last pair to the first
    #[arg(long)]
    reverse: bool,
    /// After each pair, say what its key means
    #[arg(long, short = 'w')]
    words: bool,
}

impl Command for Scan {
    fn scope(&self) -> Scope {
        Scope::OwnTransactions { edits: false }
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let bounds = self.range.bounds()?;
        let direction = if self.reverse { Direction::Reverse } else { Direction::Forward };
        let Context { session, out, .. } = context;
        let mut count = 0u64;
        read_pairs(session, |kv| {
            let known = if self.words { Some(Known::of(kv, session)?) } else { None };
            for pair in kv.scan(bounds.span(), direction)? {
                if self.limit == Some(count) || out.is_gone() {
                    break;
                }
                session.interrupt.check()?;
                let (key, value) = pair?;
                count += 1;
                let words = match &known {
                    Some(known) => known.line(&key, kv)?,
                    None => None,
                };
                self.show(&key, &value, words.as_deref(), out)?;
            }
            Ok(())
        })?;
        if !out.is_json() {
            out.say(format_args!("Displayed {count} key/value pairs"));
        }
        Ok(Answer::Yes)
    }
}

impl Scan {
    fn show(
        &self,
        key: &[u8],
        value: &[u8],
        words: Option<&str>,
        out: &mut Output,
    ) -> Result<(), Failure> {
        if out.is_json() {
            let mut line = json!({ "type": "pair", "key": Hex(key).to_string() });
            if !self.keys {
                line["value"] = Hex(value).to_string().into();
            }
            if self.words {
                line["words"] = words.into();
            }
            return out.json(&line);
        }
        for (mark, bytes) in [('K', key), ('V', value)] {
            match (self.quoted, mark) {
                (_, 'V') if self.keys => {}
                (true, _) => out.say(format_args!("{mark} {}", CString(bytes))),
                (false, _) => out.exactly(Listing { mark, bytes }.to_string().as_bytes()),
            }
        }
        if self.words {
            out.say(format_args!("= {}", words.unwrap_or("not known")));
        }
        Ok(())
    }
}
