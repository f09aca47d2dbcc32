//! The members of a cluster, asked in turn.

use std::fmt::{self, Display};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use permazen_kv::remote::{Encryption, Pauses, Request, ServerCounts, ServerHost};
use permazen_kv::{Counters, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::address::Address;
use crate::error::{Failure, ServerError, code};
use crate::http::{Answer, Connection};
use crate::wire::{Done, Header, LogIn, LoggedIn, Refusal, Txn};

pub(crate) const TXN: &str = "/v3/kv/txn";
pub(crate) const WATCH: &str = "/v3/watch";
const STATUS: &str = "/v3/maintenance/status";
const LOG_IN: &str = "/v3/auth/authenticate";

/// How many idle connections to each member stay open.
const IDLE: usize = 16;

/// If there are other members, the first attempt at a member gets no more time than this and a
/// second for each [`PORTION`] of the request. Once all have been asked, each further turn gives
/// twice as much time.
const ATTEMPT: Duration = Duration::from_secs(4);

/// No attempt gets less time than this, or than the store may wait. It can take a connection,
/// encryption and a password.
const SHORTEST_ATTEMPT: Duration = Duration::from_secs(1);

/// A member reads at least this many bytes in a second, also when it refuses a request for its
/// length.
const PORTION: usize = 1 << 20;

/// After this many turns, the time for an attempt grows no more.
const MOST_TURNS: u32 = 16;

type Tried<T> = std::result::Result<T, Failure>;

/// The members of a cluster, and the connections to them.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) address: Address,
    encryption: Option<Encryption>,
    /// How long to wait for an answer.
    limit: Duration,
    state: Mutex<State>,
    counts: ServerCounts,
}

#[derive(Default)]
struct State {
    /// The idle connections to each member.
    idle: Vec<Vec<Connection>>,
    /// The member to ask first.
    host: usize,
    /// The member that answered last, among members that were asked first.
    answered: Option<usize>,
    /// The token that shows that the user is logged in.
    token: Option<Arc<str>>,
    /// The latest revision that any member has said.
    revision: i64,
    /// The number of the cluster, once it is known.
    cluster: Option<i64>,
    /// The cluster has forgotten revisions that it had before.
    has_gone_back: bool,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("revision", &self.revision).finish_non_exhaustive()
    }
}

/// A question that was sent and not answered yet.
pub(crate) struct UnderWay {
    connection: Connection,
    host: usize,
    request: Request,
    /// The token that it was sent with.
    token: Option<Arc<str>>,
    /// When it is given up.
    until: Instant,
}

impl Client {
    pub(crate) fn new(address: Address, limit: Duration) -> Result<Self> {
        let encryption = Encryption::new(&address.tls, address.own.as_ref(), "cacert");
        let encryption = encryption
            .map_err(|error| Failure::from(error).to_kv("cannot encrypt", &address.path()))?;
        let idle = address.hosts.iter().map(|_| Vec::new()).collect();
        let state = Mutex::new(State { idle, ..State::default() });
        Ok(Client { address, encryption, limit, state, counts: ServerCounts::default() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.address.path()
    }

    /// The latest revision that is known.
    pub(crate) fn revision(&self) -> i64 {
        self.lock().revision
    }

    /// The member to ask first.
    pub(crate) fn host(&self) -> usize {
        self.lock().host
    }

    /// If this member was asked first until now, another one is from now on.
    pub(crate) fn avoid(&self, host: usize) {
        let mut state = self.lock();
        if state.host == host {
            state.host = (host + 1) % self.address.hosts.len().max(1);
        }
        // The open connections to it are as doubtful.
        let idle = state.idle.get_mut(host).map(std::mem::take);
        drop(state);
        drop(idle);
    }

    /// When an attempt is given up: for a request of `request` bytes that has time until `until`,
    /// after `turns` turns over all members. Each attempt gets a little time, even if the caller
    /// does not want to wait.
    fn attempt_until(&self, until: Instant, turns: u32, request: usize) -> Instant {
        let now = Instant::now();
        let left = until.saturating_duration_since(now);
        // More members than that would get less than a nanosecond each, which is none.
        let attempt = match u32::try_from(self.address.hosts.len()).unwrap_or(u32::MAX) {
            0 | 1 => left,
            // Some questions take any member longer than the first turn gives it.
            members => {
                let first = ATTEMPT.min(self.limit).min(left / members);
                let enough = first + time_to_read(request);
                enough.saturating_mul(1 << turns.min(MOST_TURNS)).min(left)
            }
        };
        now + attempt.max(SHORTEST_ATTEMPT.min(self.limit))
    }

    /// Until when a commit is tried that may wait for this long. A short wait should not leave the
    /// outcome unknown, so a commit is tried for at least [`ATTEMPT`], or as long as the store may
    /// wait.
    pub(crate) fn commit_until(&self, wait: Duration) -> Instant {
        Instant::now() + wait.max(ATTEMPT.min(self.limit))
    }

    /// A connection to a member, with the right to ask.
    fn connect(&self, host: usize, until: Instant) -> Tried<Connection> {
        loop {
            let idle = self.lock().idle.get_mut(host).and_then(Vec::pop);
            match idle {
                Some(connection) if connection.is_fresh() => return Ok(connection),
                Some(_) => {}
                None => break,
            }
        }
        let Some(host) = self.address.hosts.get(host) else {
            return Err(Failure::other("there is no such member"));
        };
        Connection::open(host, self.encryption.as_ref(), until)
    }

    fn give_back(&self, host: usize, connection: Connection) {
        if let Some(idle) = self.lock().idle.get_mut(host).filter(|idle| idle.len() < IDLE) {
            idle.push(connection);
        }
    }

    /// The token that shows that the user is logged in; `None` without a user.
    fn token(&self, host: usize, until: Instant) -> Tried<Option<Arc<str>>> {
        let Some(user) = &self.address.user else { return Ok(None) };
        if let Some(token) = &self.lock().token {
            return Ok(Some(Arc::clone(token)));
        }
        // The gateway does not take the name of the user from a certificate, so a password is
        // needed.
        let Some(password) = self.address.password() else {
            return Err(Failure::other(
                "the user has no password: name it in the URL or in ETCD_PASSWORD",
            ));
        };
        let body = encoded(&LogIn { name: user, password: &password })?;
        let mut connection = self.connect(host, until)?;
        connection.send(LOG_IN, None, &body, until).map_err(not_sent)?;
        let answer = connection.receive(until).map_err(not_sent)?;
        self.give_back(host, connection);
        let answer = match parsed::<LoggedIn>(&answer) {
            // Without authentication the cluster serves any user.
            Err(Failure::Server(error))
                if error.code == code::PRECONDITION && error.message.contains("not enabled") =>
            {
                return Ok(None);
            }
            Err(Failure::Server(error)) if !error.is_logged_out() => {
                // The request itself was not sent.
                let failure = Failure::from(error);
                return Err(if failure.may_pass() { not_sent(failure) } else { failure });
            }
            answer => answer?,
        };
        if answer.token.bytes().any(|byte| !byte.is_ascii_graphic()) {
            return Err(Failure::other("the server has sent a strange token"));
        }
        let token: Arc<str> = answer.token.into();
        self.lock().token = Some(Arc::clone(&token));
        Ok(Some(token))
    }

    /// The next request logs in again, unless another one has done so since one with the token
    /// `used` was sent.
    pub(crate) fn log_out(&self, used: Option<&Arc<str>>) {
        let is_used = |token: &Arc<str>| used.is_some_and(|used| Arc::ptr_eq(used, token));
        let mut state = self.lock();
        if state.token.as_ref().is_some_and(is_used) {
            state.token = None;
        }
    }

    /// Sends a question to a member, and does not wait for the answer.
    pub(crate) fn send(
        &self,
        host: usize,
        path: &str,
        body: &[u8],
        until: Instant,
    ) -> Tried<UnderWay> {
        self.send_until(host, path, body, self.attempt_until(until, 0, body.len()))
    }

    fn send_until(&self, host: usize, path: &str, body: &[u8], until: Instant) -> Tried<UnderWay> {
        let token = self.token(host, until)?;
        let mut connection = self.connect(host, until)?;
        let request = self.counts.request(kind_of(path));
        match connection.send(path, token.as_deref(), body, until) {
            Ok(()) => Ok(UnderWay { connection, host, request, token, until }),
            Err(failure) => {
                request.failed(&self.address, &self.name_of(host));
                Err(failure)
            }
        }
    }

    /// The name of a member.
    fn name_of(&self, host: usize) -> Name<'_> {
        Name(self.address.hosts.get(host))
    }

    /// The counters, and how many connections are open and not in use.
    pub(crate) fn counters(&self) -> Counters {
        let mut counters = self.counts.counters();
        let idle: usize = self.lock().idle.iter().map(Vec::len).sum();
        counters.idle_connections = u64::try_from(idle).ok();
        counters
    }

    /// Notes that a member has answered.
    fn note_answer(&self, host: usize) {
        let mut state = self.lock();
        if state.host != host {
            return;
        }
        let before = state.answered.replace(host).filter(|before| *before != host);
        drop(state);
        if let Some(before) = before {
            self.counts.failover(&self.address, &self.name_of(before), &self.name_of(host));
        }
    }

    /// Gives a member to which `request` bytes were sent a new attempt, if the time of the first
    /// one is over: the caller may have asked ahead and done something else meanwhile, so that the
    /// answer has come.
    pub(crate) fn renew(&self, under_way: &mut UnderWay, until: Instant, request: usize) {
        if under_way.until <= Instant::now() {
            under_way.until = self.attempt_until(until, 0, request);
        }
    }

    /// Waits for the answer to a question.
    pub(crate) fn receive<T: DeserializeOwned>(&self, under_way: UnderWay) -> Tried<T> {
        let UnderWay { mut connection, host, request, token, until } = under_way;
        let received = connection.receive(until);
        let received = received.inspect_err(|_| request.failed(&self.address, &self.name_of(host)));
        let answer = received?;
        self.give_back(host, connection);
        let parsed = parsed(&answer);
        match &parsed {
            Ok(_) => {
                self.note_answer(host);
                request.answered(&self.address, &self.name_of(host));
            }
            Err(_) => request.failed(&self.address, &self.name_of(host)),
        }
        if let Err(Failure::Server(error)) = &parsed
            && error.is_logged_out()
        {
            self.log_out(token.as_ref());
        }
        parsed
    }

    /// When the only attempt is given up, for a request of `request` bytes that has time until
    /// `until`. No other member is asked, so the time is not divided by the number of members.
    fn only_attempt_until(&self, until: Instant, request: usize) -> Instant {
        let least = (ATTEMPT + time_to_read(request)).min(self.limit);
        self.attempt_until(until, 0, request).max(Instant::now() + least)
    }

    /// Asks one member, and no other one instead.
    pub(crate) fn ask_one<T: DeserializeOwned>(
        &self,
        host: usize,
        path: &str,
        body: &[u8],
        until: Instant,
    ) -> Tried<T> {
        self.attempt(host, path, body, || self.only_attempt_until(until, body.len()))
    }

    /// Asks one member, until the time that `until` says.
    fn attempt<T: DeserializeOwned>(
        &self,
        host: usize,
        path: &str,
        body: &[u8],
        until: impl Fn() -> Instant,
    ) -> Tried<T> {
        let ask = || self.send_until(host, path, body, until()).and_then(|sent| self.receive(sent));
        match ask() {
            // A session ends after some time; nothing was done.
            Err(Failure::Server(error)) if error.is_logged_out() && self.address.user.is_some() => {
                ask()
            }
            answer => answer,
        }
    }

    /// Asks members in turn, again and again, until one answers or the time is over. Only for
    /// questions that can be asked twice.
    pub(crate) fn ask<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &[u8],
        until: Instant,
    ) -> Tried<(usize, T)> {
        let mut pauses = Pauses::new();
        let mut turns = 0;
        loop {
            let (mut last, mut unknown) = (Failure::other("the URL names no member"), 0);
            for _ in 0..self.address.hosts.len() {
                let host = self.host();
                let until = || self.attempt_until(until, turns, body.len());
                match self.attempt(host, path, body, until) {
                    Ok(answer) => return Ok((host, answer)),
                    Err(failure) if failure.may_pass() => {
                        tracing::debug!(server = %self.address, host, %failure, "a member does not answer");
                        self.avoid(host);
                        unknown += usize::from(failure.is_unknown_host());
                        last = failure;
                    }
                    Err(failure) => return Err(failure),
                }
            }
            // The user may have just written a wrong URL, so the store does not wait until such a
            // host is added.
            if unknown == self.address.hosts.len() && self.lock().cluster.is_none() {
                return Err(Failure::other(last.to_string()));
            }
            if !pauses.sleep_until(until) {
                return Err(last);
            }
            turns += 1;
        }
    }

    /// A transaction that only reads, or may be made twice.
    pub(crate) fn txn(&self, txn: &Txn, until: Instant) -> Tried<(usize, Done)> {
        let known = self.revision();
        let (host, done) = self.ask::<Done>(TXN, &encoded(txn)?, until)?;
        self.note_latest(host, done.header, known)?;
        Ok((host, done))
    }

    /// Notes the state of the cluster that the answer of a member shows.
    pub(crate) fn note(&self, host: usize, header: Header) -> Tried<()> {
        self.note_latest(host, header, 0)
    }

    /// Does the same as [`note`](Self::note) for an answer that is up to date: it must have at
    /// least the revision `known`, which was known when the question was sent. It does not if the
    /// cluster was restored from a backup. Earlier reads and commits are not valid in such a
    /// cluster, so nothing more is asked of it.
    pub(crate) fn note_latest(&self, host: usize, header: Header, known: i64) -> Tried<()> {
        let gone_back = || {
            Err(Failure::garbled(
                "the cluster has gone back to what it was before: if it was restored from a backup, open the store \
                 again",
            ))
        };
        let mut state = self.lock();
        if state.has_gone_back {
            return gone_back();
        }
        // The revisions of a cluster begin with 1.
        if header.revision < 1 {
            drop(state);
            // Others may be members of a cluster.
            self.avoid(host);
            return Err(Failure::garbled(
                "the server has sent an answer that does not say its revision: the URL must name members of an etcd \
                 cluster",
            ));
        }
        let cluster = *state.cluster.get_or_insert(header.cluster_id);
        if cluster != header.cluster_id {
            drop(state);
            // Its revision says nothing of the cluster of the store. Others may be members of that.
            self.avoid(host);
            return Err(Failure::garbled(
                "a member of another cluster has answered: the URL must name members of one; if it was \
                 restored from a backup, open the store again",
            ));
        }
        if header.revision < known {
            state.has_gone_back = true;
            return gone_back();
        }
        state.revision = state.revision.max(header.revision);
        Ok(())
    }

    /// A connection on which answers to one question come as long as it is open, and the token that
    /// the question was sent with.
    pub(crate) fn stream(
        &self,
        host: usize,
        path: &str,
        body: &[u8],
        until: Instant,
    ) -> Tried<(Connection, Option<Arc<str>>)> {
        let sent = self.send(host, path, body, until)?;
        let UnderWay { mut connection, request, token, until, .. } = sent;
        let head = connection.receive_head(until);
        if let Ok(200) = head {
            request.answered(&self.address, &self.name_of(host));
            return Ok((connection, token));
        }
        request.failed(&self.address, &self.name_of(host));
        let status = head?;
        let mut body = Vec::new();
        while connection.chunk(&mut body, until)? {}
        let failure = refusal(&Answer { status, body });
        if failure.server().is_some_and(ServerError::is_logged_out) {
            self.log_out(token.as_ref());
        }
        Err(failure)
    }

    /// The status that a member reports.
    pub(crate) fn status<T: DeserializeOwned>(&self, until: Instant) -> Tried<T> {
        Ok(self.ask(STATUS, b"{}", until)?.1)
    }
}

/// The name of a member, which is made only where a message needs it.
struct Name<'a>(Option<&'a ServerHost>);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |host| host.fmt(f))
    }
}

/// The name of requests at a path, for `tracing`.
fn kind_of(path: &str) -> &'static str {
    match path {
        TXN => "txn",
        WATCH => "watch",
        _ => "status",
    }
}

/// How long a member may take to read a request of this many bytes.
fn time_to_read(request: usize) -> Duration {
    Duration::from_secs((request / PORTION) as u64)
}

/// The failure of a request that was not sent.
fn not_sent(failure: Failure) -> Failure {
    match failure {
        Failure::Lost(error) => Failure::Unreachable(error),
        Failure::Server(error) => Failure::Unreachable(std::io::Error::other(error)),
        Failure::Garbled(what) => Failure::Other(what),
        other => other,
    }
}

pub(crate) fn encoded(value: &impl Serialize) -> Tried<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| Failure::other(error.to_string()))
}

/// The answer, or the error that came instead.
pub(crate) fn parsed<T: DeserializeOwned>(answer: &Answer) -> Tried<T> {
    if answer.status == 200 {
        return serde_json::from_slice(&answer.body).map_err(|error| {
            Failure::garbled(format!("the server has sent what is no answer: {error}"))
        });
    }
    Err(refusal(answer))
}

pub(crate) fn refusal(answer: &Answer) -> Failure {
    if let Ok(Refusal { error, message, code }) = serde_json::from_slice(&answer.body)
        && code != 0
    {
        let message = if message.is_empty() { error } else { message };
        return ServerError { code, message }.into();
    }
    let text = String::from_utf8_lossy(&answer.body);
    let text: String =
        text.chars().filter(|c| !c.is_control()).take(200).collect::<String>().trim().to_owned();
    match answer.status {
        // Something between here and the cluster cannot reach it.
        500..=599 => std::io::Error::other(format!("{} {text}", answer.status)).into(),
        400 if text.starts_with("CommonName") => Failure::other(
            "the certificate of this program has a common name, which etcd does not allow where there are users: use one \
             without it, with the user in the URL and the password in the URL or in ETCD_PASSWORD",
        ),
        404 => Failure::garbled(
            "there is no gateway: etcd 3.4 or later has one, unless --enable-grpc-gateway is false",
        ),
        status => Failure::garbled(format!("the server has answered {status} {text}")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_long_request_gets_time_and_a_short_one_does_not() {
        const WAIT: Duration = Duration::from_secs(30);
        let given = |hosts: &str, request: usize| {
            let address = Address::parse(&format!("etcd://{hosts}/x?tls=off")).unwrap();
            let client = Client::new(address, WAIT).unwrap();
            let begun = Instant::now();
            (client.attempt_until(begun + WAIT, 0, request) - begun).as_secs()
        };
        assert!((4..14).contains(&given("a,b,c", 1000)));
        assert!((14..30).contains(&given("a,b,c", 10 * PORTION)));
        assert_eq!(given("a,b,c", 1000 * PORTION), WAIT.as_secs());
        assert_eq!(given("a", 1000), WAIT.as_secs());
    }

    #[test]
    fn a_commit_with_a_short_wait_is_awaited_for_four_seconds_however_many_members_there_are() {
        for hosts in ["a", "a,b,c", "a,b,c,d,e"] {
            let address = Address::parse(&format!("etcd://{hosts}/x?tls=off")).unwrap();
            let client = Client::new(address, Duration::from_secs(30)).unwrap();
            let begun = Instant::now();
            let until = client.commit_until(Duration::from_millis(100));
            for (request, least) in [(1000, 4), (3 * PORTION, 7)] {
                let given = client.only_attempt_until(until, request) - begun;
                assert!(given >= Duration::from_secs(least), "{hosts}: {given:?}");
            }
        }
    }
}
