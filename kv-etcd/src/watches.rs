//! Watches of keys: one connection on which etcd says what is put.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use permazen_kv::Writes;
use permazen_kv::remote::{Closer, Heard, News, NoNews};

use crate::client::{TXN, WATCH, encoded};
use crate::error::{Failure, ServerError};
use crate::http::Connection;
use crate::shared::Shared;
use crate::wire::{Done, Events, Told, Txn, Watch, WatchRange};

/// If nothing is heard for this long, the member is asked whether it is still there.
const QUIET: Duration = Duration::from_secs(10);

/// A member tells each 10 or 11 minutes how far it has come, unless it has told changes since the
/// last time. A stream that is silent for longer than two of these is lost without a word. If the
/// members were started to do that less often, watches end for nothing, which does no harm.
const SILENT: Duration = Duration::from_secs(30 * 60);

/// How long a member has to answer.
const ATTEMPT: Duration = Duration::from_secs(5);

type Tried<T> = std::result::Result<T, Failure>;

/// The messages of a member, piece by piece.
pub(crate) struct Stream {
    connection: Connection,
    host: usize,
    /// The part of the next message that has come, and how much of it was searched for the end of
    /// its line.
    text: Vec<u8>,
    searched: usize,
    /// When the last message has come.
    heard: Instant,
}

impl Stream {
    /// The next message, one line of JSON.
    fn next(&mut self, until: Instant) -> Tried<Events> {
        loop {
            let rest = self.text.get(self.searched..).unwrap_or_default();
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=self.searched + end).collect();
                self.searched = 0;
                self.heard = Instant::now();
                let told: Told = serde_json::from_slice(&line)
                    .map_err(|error| Failure::garbled(error.to_string()))?;
                return match told {
                    Told { result: Some(events), .. } if !events.canceled => Ok(events),
                    Told { error: Some(error), .. } => Err(failed(&error)),
                    Told { result: Some(Events { cancel_reason, .. }), .. }
                        if !cancel_reason.is_empty() =>
                    {
                        Err(Failure::garbled(format!("the watch was ended: {cancel_reason}")))
                    }
                    _ => Err(Failure::garbled("the watch was ended")),
                };
            }
            self.searched = self.text.len();
            if !self.connection.chunk(&mut self.text, until)? {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
    }
}

/// The error that ends a stream. Its code has another name in older versions.
fn failed(error: &serde_json::Value) -> Failure {
    let code = ["code", "grpc_code"].into_iter().find_map(|name| error.get(name)?.as_i64());
    let message = error.get("message").and_then(serde_json::Value::as_str);
    match (code, message) {
        (Some(code), Some(message)) if code != 0 => {
            ServerError { code, message: message.to_owned() }.into()
        }
        _ => Failure::garbled(error.to_string()),
    }
}

/// The messages of the members of a cluster.
pub(crate) struct Puts(pub(crate) Arc<Shared>);

impl Puts {
    fn begin(&self, host: usize) -> Tried<(Stream, Closer)> {
        let layout = &self.0.layout;
        let create_request = WatchRange {
            key: layout.data(&[]),
            range_end: layout.data_end(None),
            // Tombstones are put. The records that a sweep deletes belong to keys that were removed
            // before.
            filters: ["NODELETE"],
            progress_notify: true,
        };
        let body = encoded(&Watch { create_request })?;
        let until = Instant::now() + ATTEMPT;
        let (connection, token) = self.0.client.stream(host, WATCH, &body, until)?;
        let (text, heard) = (Vec::new(), Instant::now());
        let mut stream = Stream { connection, host, text, searched: 0, heard };
        loop {
            match stream.next(until) {
                Ok(Events { created: true, header, .. }) => {
                    self.0.client.note(host, header)?;
                    break;
                }
                Ok(_) => {}
                Err(failure) => {
                    // A member that does not know the session of the user begins the answer as any
                    // other one, and then refuses in words that differ between versions.
                    if let Failure::Garbled(_) | Failure::Server(_) = failure {
                        self.0.client.log_out(token.as_ref());
                    }
                    return Err(failure);
                }
            }
        }
        let closer = stream.connection.closer()?;
        Ok((stream, closer))
    }

    /// The next message. If none comes for long, the member is asked whether it is still part of
    /// the cluster.
    fn next(&self, stream: &mut Stream) -> Tried<Heard> {
        // Where an address leads to several members, another one may have answered the questions.
        if stream.heard.elapsed() > SILENT {
            let what = "the member of the watch does not tell any more how far it has come";
            return Err(io::Error::other(what).into());
        }
        match stream.next(Instant::now() + QUIET) {
            Ok(Events { events, .. }) => {
                let layout = &self.0.layout;
                let keys = events.iter().filter_map(|event| layout.key_of(&event.kv.key));
                let puts = keys.map(|key| (key.to_vec(), Vec::new())).collect();
                Ok(Heard::Writes(Writes { puts, ..Writes::default() }))
            }
            Err(Failure::Lost(error)) if error.kind() == io::ErrorKind::TimedOut => {
                let success = vec![self.0.horizon()];
                let body = encoded(&Txn { success, ..Txn::default() })?;
                let until = Instant::now() + ATTEMPT;
                let done = self.0.client.ask_one::<Done>(stream.host, TXN, &body, until)?;
                self.0.client.note(stream.host, done.header)?;
                Ok(Heard::Nothing)
            }
            Err(failure) => Err(failure),
        }
    }
}

impl News for Puts {
    type Connection = Stream;

    fn name(&self) -> String {
        self.0.client.address.to_string()
    }

    fn connect(&self) -> Result<(Stream, Closer), NoNews> {
        let host = self.0.client.host();
        let begun = self.begin(host).inspect_err(|_| self.0.client.avoid(host));
        // By the kind of this error, one that refuses is asked less and less often.
        Ok(begun.map_err(|failure| self.0.error("cannot begin to listen", &failure))?)
    }

    fn hear(&self, stream: &mut Stream) -> Result<Heard, NoNews> {
        Ok(self.next(stream).inspect_err(|_| self.0.client.avoid(stream.host))?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use permazen_kv::KvError;

    use super::*;
    use crate::address::Address;
    use crate::client::Client;
    use crate::layout::Layout;
    use crate::wire::Header;

    /// A store at a member that begins a watch, tells how far it has come, and then nothing.
    fn watching() -> Puts {
        const TOLD: &str = concat!(
            r#"{"result":{"header":{"cluster_id":"7","revision":"9"},"created":true}}"#,
            "\n{\"result\":{}}\n"
        );
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut request = [0; 1 << 12];
            let _ = client.read(&mut request);
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            let _ = write!(client, "{head}{:x}\r\n{TOLD}\r\n", TOLD.len());
            while client.read(&mut request).is_ok_and(|read| read > 0) {}
        });
        let address = Address::parse(&format!("etcd://127.0.0.1:{port}/db")).unwrap();
        let client = Client::new(address, Duration::from_secs(60)).unwrap();
        let (layout, most_checked, distance) = (Layout::new("db"), 1, 1);
        Puts(Arc::new(Shared { client, layout, most_checked, distance }))
    }

    #[test]
    fn a_stream_that_is_silent_for_too_long_is_lost() {
        // Some systems know no time before they were started.
        let ago = |time| Instant::now().checked_sub(time);
        let (Some(lately), Some(long_ago)) = (ago(SILENT / 2), ago(2 * SILENT)) else { return };
        let puts = watching();
        let (mut stream, _) = puts.begin(0).unwrap();
        stream.heard = lately;
        assert!(matches!(puts.next(&mut stream), Ok(Heard::Writes(_))));
        assert!(stream.heard.elapsed() < SILENT / 2);
        stream.heard = long_ago;
        let failure = puts.next(&mut stream).unwrap_err();
        assert!(failure.to_string().contains("how far it has come"), "{failure}");
    }

    /// As when an address leads elsewhere since the store was opened.
    #[test]
    fn a_member_of_another_cluster_is_not_listened_to() {
        let puts = watching();
        puts.0.client.note(0, Header { cluster_id: 8, revision: 9 }).unwrap();
        let failure = puts.connect().map(drop).unwrap_err();
        // By its kind, the pauses before the next attempts grow.
        let error = failure.downcast_ref::<KvError>().unwrap();
        assert!(matches!(error, KvError::Open { .. }), "{error}");
        assert!(error.to_string().contains("another cluster"), "{error}");
    }
}
