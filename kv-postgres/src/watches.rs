//! Watches of keys: each commit notifies its changes, and one connection listens.

use std::sync::Arc;
use std::time::{Duration, Instant};

use permazen_kv::Writes;
use permazen_kv::remote::{Closer, Heard, News, NoNews};

use crate::connection::Connection;
use crate::pool::{Checked, Pool};
use crate::sql::CLOCK;

/// If the listener hears nothing for this long, it asks whether the server is still there.
const QUIET: Duration = Duration::from_secs(10);

/// A notification has less than 8,000 bytes.
const MOST: usize = 7_900;

/// The notification that everything may have changed.
const EVERYTHING: &str = "*";

/// The notifications of a server.
pub(crate) struct Notifications(pub(crate) Arc<Pool>);

impl News for Notifications {
    type Connection = Connection;

    fn name(&self) -> String {
        self.0.address.to_string()
    }

    fn connect(&self) -> Result<(Connection, Closer), NoNews> {
        let pool = &self.0;
        let Checked { mut connection, age, .. } = pool.open(Instant::now())?;
        let listening =
            connection.listen(pool.statements.listen()).and_then(|()| connection.closer());
        let closer = listening.map_err(|failure| {
            // Another host may be the one that writes.
            pool.forget_server(age);
            failure.to_kv("cannot listen to what others commit", &pool.path())
        })?;
        Ok((connection, closer))
    }

    fn hear(&self, connection: &mut Connection) -> Result<Heard, NoNews> {
        let heard = match connection.notification(QUIET) {
            Ok(None) => connection.run(CLOCK, &[]).map(|_| None),
            heard => heard,
        };
        Ok(match heard? {
            None => Heard::Nothing,
            Some(payload) => parse(&payload).map_or(Heard::Anything, Heard::Writes),
        })
    }
}

/// The changed keys, as a text that fits into a notification: `=6b` is the key `k`, `61-63` a range
/// of keys, `61-` one without an end. If they do not fit, it is `*`.
pub(crate) fn describe(writes: &Writes) -> String {
    let mut text = String::new();
    let spans = writes.removes.iter().map(|span| match span.max {
        _ if span.is_single_key() => format!("={}", hex(span.min)),
        Some(max) => format!("{}-{}", hex(span.min), hex(max)),
        None => format!("{}-", hex(span.min)),
    });
    let puts = writes.puts.keys().map(|key| format!("={}", hex(key)));
    for change in spans.chain(puts) {
        if text.len() + 1 + change.len() > MOST {
            return EVERYTHING.to_owned();
        }
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&change);
    }
    text
}

/// The changes that a notification names; the values are not known. `None` is everything.
fn parse(text: &str) -> Option<Writes> {
    let mut writes = Writes::default();
    for change in text.split(',') {
        if let Some(key) = change.strip_prefix('=') {
            writes.puts.insert(bytes(key)?, Vec::new());
            continue;
        }
        let (min, max) = change.split_once('-')?;
        let (min, max) = (bytes(min)?, if max.is_empty() { None } else { Some(bytes(max)?) });
        writes.removes.add(permazen_kv::KeySpan::new(&min, max.as_deref()));
    }
    Some(writes)
}

fn hex(bytes: &[u8]) -> String {
    permazen_kv::Hex(bytes).to_string()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = hex.as_bytes().chunks(2);
    let byte = |pair: &[u8]| match *pair {
        [high, low] => Some((digit(high)? * 16 + digit(low)?) as u8),
        _ => None,
    };
    pairs.map(byte).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use permazen_kv::KeySpan;

    fn put(keys: &[&[u8]]) -> Writes {
        let puts = keys.iter().map(|key| (key.to_vec(), b"value".to_vec())).collect();
        Writes { puts, ..Writes::default() }
    }

    #[test]
    fn what_was_changed_is_told_in_words() {
        let mut writes = put(&[b"", b"k", &[0, 0xff]]);
        writes.removes.add(KeySpan::new(b"a", Some(b"c")));
        writes.removes.add(KeySpan::new(b"d", Some(b"d\0")));
        writes.removes.add(KeySpan::new(b"x", None));
        let text = describe(&writes);
        assert_eq!(text, "61-63,=64,78-,=,=00ff,=6b");
        let told = parse(&text).unwrap();
        for key in [&b""[..], b"k", &[0, 0xff], b"a", b"bbb", b"d", b"x", b"zz"] {
            assert!(told.touches(key), "{key:?}");
        }
        for key in [&[0][..], b"c", b"d\0", b"k\0", b"w"] {
            assert!(!told.touches(key), "{key:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_everything() {
        let long = vec![7; 2_600];
        assert!(parse(&describe(&put(&[&long]))).unwrap().touches(&long));
        for many in [put(&[&long, &[8; 2_600]]), put(&[&[1; 4_000]])] {
            let text = describe(&many);
            assert!(text.len() < 8_000 && parse(&text).is_none(), "{text}");
        }
        let mut writes = put(&[]);
        writes.removes.add(KeySpan::new(&[1; 4_000], None));
        assert!(parse(&describe(&writes)).is_none());
        // So is any other text.
        for text in ["", "6b", "=6", "=zz", "61-6", "61-63,"] {
            assert!(parse(text).is_none(), "{text}");
        }
    }
}
