//! Connections that transactions share, one transaction at a time.

use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use permazen_kv::remote::{Pauses, ServerCounts, note_wait_in_vain};
use permazen_kv::{Counters, KvError};

use crate::address::Address;
use crate::connection::Connection;
use crate::dialect::{Dialect, Server};
use crate::error::{Failure, ServerError};
use crate::sql::{CLOCK, ROLL_BACK, Statements, TOKEN_MINUTES};
use crate::statement::{Parameter, Statement};

/// A connection over which the server has not told its time for this long is asked for it. This
/// shows that it still works, and the known time does not become old on a connection that is always
/// in use.
const DOUBTFUL: Duration = Duration::from_secs(30);

/// How often each process removes old tokens.
const SWEEP: Duration = Duration::from_secs(600);

/// The time for an attempt to connect, even if less is left for the wait as a whole.
pub(crate) const ATTEMPT: Duration = Duration::from_secs(3);

/// A connection, and when its server was last heard.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) connection: Connection,
    /// The server's clock then, in milliseconds.
    pub(crate) server_time: i64,
    /// When that was.
    heard: Instant,
    /// When it was made.
    born: Instant,
    /// All connections of an age end together when their server is gone.
    pub(crate) age: u64,
}

/// The connections of a store.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) address: Address,
    pub(crate) statements: Statements,
    pub(crate) dialect: Dialect,
    pub(crate) server: Server,
    most: usize,
    /// How long to wait for an answer.
    limit: Duration,
    state: Mutex<State>,
    freed: Condvar,
    counts: Arc<ServerCounts>,
    /// Pages of up to this many pairs are asked for without counting their bytes. It becomes less
    /// when values turn up that are too long for that.
    pub(crate) uncounted: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Checked>,
    /// How many are in use or idle.
    count: usize,
    age: u64,
    swept: Option<Instant>,
    /// The host to ask first.
    host: usize,
    /// The host that answered last.
    answered: Option<usize>,
    /// Transactions to which hosts have said nothing, one host after the other.
    silences: usize,
}

impl Pool {
    /// The connections to a server, and the first of them, which shows which kind of server it is.
    ///
    /// # Errors
    /// See [`take`](Self::take).
    pub(crate) fn new(
        address: Address,
        most: usize,
        limit: Duration,
    ) -> Result<(Self, Checked), KvError> {
        let (dialect, server) = (address.dialect.unwrap_or_default(), Server::default());
        let statements = statements_of(&address, dialect, server);
        let (state, freed) = (Mutex::default(), Condvar::new());
        let uncounted = AtomicUsize::new(usize::MAX);
        let counts = Arc::default();
        let mut pool = Pool {
            address,
            statements,
            dialect,
            server,
            most,
            limit,
            state,
            freed,
            counts,
            uncounted,
        };
        let first = pool.take(limit)?;
        pool.server = first.connection.server();
        pool.dialect = pool.dialect_with(&first.connection);
        pool.statements = statements_of(&pool.address, pool.dialect, pool.server);
        Ok((pool, first))
    }

    fn dialect_with(&self, connection: &Connection) -> Dialect {
        self.address.dialect.unwrap_or(connection.server().dialect())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.address.path()
    }

    /// The counters, and how many connections there are.
    pub(crate) fn counters(&self) -> Counters {
        let number = |count: usize| u64::try_from(count).ok();
        let mut counters = self.counts.counters();
        let state = self.lock();
        counters.connections = number(state.count);
        counters.idle_connections = number(state.idle.len());
        counters.most_connections = number(self.most);
        counters
    }

    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// The settings that each transaction makes when it begins.
    pub(crate) fn settings_of_transaction(&self) -> &'static [&'static str] {
        if self.address.pooled { self.dialect.settings_of_transaction() } else { &[] }
    }

    /// A connection on which no transaction is open.
    ///
    /// # Errors
    /// Retryable if no connection is free, or no server answers, within `wait`.
    pub(crate) fn take(&self, wait: Duration) -> Result<Checked, KvError> {
        let until = Instant::now() + wait;
        let mut waiting = None;
        let mut state = self.lock();
        loop {
            if let Some(idle) = state.idle.pop() {
                drop(state);
                if let Some(checked) = self.checked(idle) {
                    return Ok(checked);
                }
                state = self.lock();
                continue;
            }
            if state.count < self.most {
                state.count += 1;
                drop(state);
                return self.open(until).inspect_err(|_| {
                    // With `connect_timeout`, time may be left for another attempt.
                    if Instant::now() >= until {
                        note_wait_in_vain();
                    }
                    self.leave();
                });
            }
            let left = until.saturating_duration_since(Instant::now());
            let waiting = waiting.get_or_insert_with(|| self.counts.wait());
            if left.is_zero() {
                waiting.is_in_vain();
                // If a transaction within which this one was begun ran again, this one would wait
                // as long again.
                note_wait_in_vain();
                let most = self.most;
                return Err(KvError::Retry(format!(
                    "all {most} connections of this process to {} were in use for {wait:?}: allow more \
                     (PostgresBuilder::connections), and begin no transaction while the same thread has another one",
                    self.address
                )));
            }
            state = self.freed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A connection for a caller that can do without it, at once or not at all. Half of all
    /// connections are kept for callers that cannot.
    pub(crate) fn take_spare(&self) -> Option<Checked> {
        let mut state = self.lock();
        let in_use = state.count.saturating_sub(state.idle.len());
        if 2 * in_use >= self.most {
            return None;
        }
        if let Some(idle) = state.idle.pop() {
            drop(state);
            return self.checked(idle);
        }
        state.count += 1;
        drop(state);
        self.open(Instant::now()).inspect_err(|_| self.leave()).ok()
    }

    /// A connection that was idle, if it still works and soon shows that.
    fn checked(&self, mut idle: Checked) -> Option<Checked> {
        if self.is_old(&idle) {
            drop(idle);
            self.leave();
            return None;
        }
        let is_ready = self.prepare(&mut idle);
        idle.connection.set_limit(self.limit);
        if is_ready.is_ok() && !idle.connection.is_broken() {
            return Some(idle);
        }
        tracing::debug!(server = %self.address, "an idle connection was lost");
        let age = idle.age;
        drop(idle);
        self.leave();
        // The other idle connections would each take as long, one after the other.
        if is_ready.is_err_and(|failure| failure.is_silence()) {
            self.forget_server(age);
        }
        None
    }

    /// Whether a connection has lived long enough.
    fn is_old(&self, checked: &Checked) -> bool {
        self.address.connection_life.is_some_and(|life| checked.born.elapsed() >= life)
    }

    fn prepare(&self, idle: &mut Checked) -> Result<(), Failure> {
        idle.connection.set_limit(ATTEMPT.min(self.limit));
        // The answers that were not awaited, and the answer to the end of the transaction before.
        // An error of that transaction does not matter to the next one.
        while idle.connection.is_waiting() {
            match idle.connection.answers() {
                Err(Failure::Server(_)) if !idle.connection.is_broken() => {}
                answers => drop(answers?),
            }
        }
        if !idle.connection.is_idle() {
            return Err(Failure::other("a transaction is still open"));
        }
        if idle.heard.elapsed() > DOUBTFUL {
            idle.heard = Instant::now();
            idle.server_time = clock(&mut idle.connection)?;
        }
        let mut state = self.lock();
        if state.swept.is_none_or(|swept| swept.elapsed() > SWEEP) {
            state.swept = Some(Instant::now());
            drop(state);
            // There can be a million of them.
            idle.connection.set_limit(self.limit);
            let age = [Parameter::Number(TOKEN_MINUTES)];
            idle.connection.run(self.statements.sweep(), &age)?;
        }
        Ok(())
    }

    /// A new connection to a host that answers. Tries until then.
    pub(crate) fn open(&self, until: Instant) -> Result<Checked, KvError> {
        let longest = self.address.connect_timeout;
        // More hosts than that have more time than any wait.
        let all = u32::try_from(self.address.hosts.len()).unwrap_or(u32::MAX);
        let ends = longest.map(|longest| Instant::now() + longest.saturating_mul(all));
        let until = ends.map_or(until, |ends| ends.min(until));
        let longest = longest.unwrap_or(Duration::MAX);
        let mut pauses = Pauses::new();
        let mut failure = None;
        // A host that does not answer must leave time for the others. In each round, it gets more
        // time.
        let is_alone = self.address.hosts.len() == 1;
        let mut attempt = if is_alone { self.limit } else { ATTEMPT };
        loop {
            let (first, age) = {
                let state = self.lock();
                (state.host, state.age)
            };
            let mut unknown = 0;
            for at in
                (0..self.address.hosts.len()).map(|at| (first + at) % self.address.hosts.len())
            {
                let Some(host) = self.address.hosts.get(at) else { continue };
                let left = until.saturating_duration_since(Instant::now());
                let limit = left.max(ATTEMPT).min(attempt).min(self.limit).min(longest);
                let opened = Connection::open(&self.address, host, limit, &self.counts);
                let opened = opened.and_then(|mut connection| {
                    // It can be promoted later, and is tried again then.
                    if connection.is_standby() && self.address.hosts.len() > 1 {
                        return Err(standby().into());
                    }
                    let dialect = self.dialect_with(&connection);
                    // At a pooler, others would have these settings too.
                    let settings = if self.address.pooled { &[][..] } else { dialect.settings() };
                    Ok((set_up(&mut connection, settings)?, connection))
                });
                match opened {
                    Ok((server_time, mut connection)) => {
                        connection.set_limit(self.limit);
                        let mut state = self.lock();
                        state.host = at;
                        let before = state.answered.replace(at).filter(|before| *before != at);
                        drop(state);
                        if let Some(before) = before.and_then(|at| self.address.hosts.get(at)) {
                            self.counts.failover(&self.address, before, host);
                        }
                        let (heard, born) = (Instant::now(), Instant::now());
                        return Ok(Checked { connection, server_time, heard, born, age });
                    }
                    Err(error) => {
                        let what = format!("cannot connect to {host}");
                        unknown += usize::from(error.is_unknown_host());
                        let error = match error {
                            // There was no connection that could be lost.
                            Failure::Lost(error) => KvError::Retry(format!("{what}: {error}")),
                            error => error.to_kv(&what, &self.path()),
                        };
                        // A password stays wrong.
                        if !error.is_retryable() {
                            return Err(error);
                        }
                        failure = Some(error);
                    }
                }
            }
            // The user may have just written a wrong URL, so the store does not wait until such a
            // host is added.
            if unknown == self.address.hosts.len()
                && self.lock().answered.is_none()
                && let Some(failure) = &failure
            {
                let reason = failure.to_string().into();
                return Err(KvError::Open { path: self.path().into(), reason });
            }
            attempt = attempt.saturating_mul(2);
            if !pauses.sleep_until(until)
                && let Some(failure) = failure.take()
            {
                return Err(failure);
            }
        }
    }

    /// Gives a connection back. Rolls back an open transaction, without waiting for that.
    pub(crate) fn give_back(&self, mut checked: Checked) {
        let connection = &mut checked.connection;
        let is_open = connection.is_waiting() || !connection.is_idle();
        if !connection.is_broken() && is_open {
            // An error breaks it.
            let _ = connection.add(ROLL_BACK, &[]).and_then(|()| connection.send_batch("rollback"));
        }
        let mut state = self.lock();
        if checked.connection.is_broken() || checked.age != state.age || self.is_old(&checked) {
            drop(state);
            drop(checked);
            self.leave();
            return;
        }
        state.idle.push(checked);
        drop(state);
        self.freed.notify_one();
    }

    /// Ends all idle connections of this age, because their server is gone. From then on the next
    /// host is asked first; however many transactions notice it, the host changes once.
    pub(crate) fn forget_server(&self, age: u64) {
        let mut state = self.lock();
        if state.age != age {
            return;
        }
        state.age += 1;
        state.host = (state.host + 1) % self.address.hosts.len().max(1);
        let idle = std::mem::take(&mut state.idle);
        state.count -= idle.len().min(state.count);
        drop(state);
        drop(idle);
        self.freed.notify_all();
    }

    /// Notes that a host has said nothing to a transaction that has a connection of this age.
    /// Returns whether it would be in vain to run the transaction again: because there is no other
    /// host, or another one has said nothing either.
    pub(crate) fn note_silence(&self, age: u64) -> bool {
        let mut state = self.lock();
        // Others may have noticed the same.
        if state.age == age {
            state.silences += 1;
        }
        let is_in_vain = self.address.hosts.len() == 1 || state.silences > 1;
        if is_in_vain {
            // Another transaction may try each of them again.
            state.silences = 0;
        }
        is_in_vain
    }

    /// Notes that a host has answered a transaction, if it has.
    pub(crate) fn note_answer(&self) {
        self.lock().silences = 0;
    }

    /// One connection less.
    fn leave(&self) {
        let mut state = self.lock();
        state.count = state.count.saturating_sub(1);
        drop(state);
        self.freed.notify_one();
    }
}

fn statements_of(address: &Address, dialect: Dialect, server: Server) -> Statements {
    Statements::new(address.schema.as_deref(), &address.table, dialect, server)
}

/// The error of a standby for a transaction that writes.
fn standby() -> ServerError {
    let message = "it is a standby".to_owned();
    ServerError { code: "25006".to_owned(), message, ..ServerError::default() }
}

/// Makes the settings of a session, and asks for the time of the server in milliseconds.
fn set_up(connection: &mut Connection, settings: &[&str]) -> Result<i64, Failure> {
    for sql in settings {
        connection.add(Statement { name: "", sql }, &[])?;
    }
    clock(connection)
}

/// The time of the server in milliseconds.
fn clock(connection: &mut Connection) -> Result<i64, Failure> {
    let answer = connection.run(CLOCK, &[])?;
    number(answer.rows.first().and_then(|row| row.first()))
}

/// A number that the server has sent.
pub(crate) fn number(column: Option<&bytes::Bytes>) -> Result<i64, Failure> {
    let bytes = column.and_then(|column| <[u8; 8]>::try_from(&column[..]).ok());
    bytes.map(i64::from_be_bytes).ok_or_else(|| Failure::other("the server has sent no number"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use permazen_test_servers::{Fault, Postgres, Proxy, Way};

    use super::*;
    use crate::sql::BEGIN;

    const WAIT: Duration = Duration::from_secs(30);

    fn pool() -> Option<(Pool, Checked)> {
        let url = Postgres::shared()?.new_table();
        crate::PostgresStore::open(&url).unwrap();
        Some(Pool::new(Address::parse(&url).unwrap(), 1, WAIT).unwrap())
    }

    /// The age of a token is judged by it.
    #[test]
    fn a_connection_that_is_always_in_use_knows_the_time() {
        let Some((pool, mut checked)) = pool() else { return };
        (checked.server_time, checked.heard) = (0, Instant::now() - 2 * DOUBTFUL);
        pool.give_back(checked);
        assert!(pool.take(WAIT).unwrap().server_time > 0);
    }

    #[test]
    fn a_connection_on_which_something_was_refused_is_used_again() {
        let Some((pool, mut checked)) = pool() else { return };
        let connection = &mut checked.connection;
        let id = |connection: &mut Connection| {
            let id = Statement { name: "", sql: "SELECT pg_backend_pid()::int8" };
            number(connection.run(id, &[]).unwrap().rows[0].first()).unwrap()
        };
        let first = id(connection);
        // The answers are not awaited.
        connection.add(BEGIN, &[]).unwrap();
        connection.add(Statement { name: "", sql: "SELECT 1 / 0" }, &[]).unwrap();
        connection.send_batch("test").unwrap();
        pool.give_back(checked);
        assert_eq!(id(&mut pool.take(WAIT).unwrap().connection), first);
    }

    /// At a pooler, another program may have made the connection listen.
    #[test]
    fn a_connection_that_does_not_listen_keeps_no_notifications() {
        let Some((pool, mut checked)) = pool() else { return };
        if pool.dialect != Dialect::Postgres {
            return;
        }
        let connection = &mut checked.connection;
        let notified = |connection: &mut Connection| {
            connection.run(Statement { name: "", sql: "NOTIFY kept, 'word'" }, &[]).unwrap();
            connection.run(CLOCK, &[]).unwrap();
            connection.notification(Duration::ZERO).unwrap()
        };
        let listen = Statement { name: "", sql: "LISTEN kept" };
        connection.run(listen, &[]).unwrap();
        assert_eq!(notified(connection), None);
        connection.listen(listen).unwrap();
        assert_eq!(notified(connection).as_deref(), Some("word"));
    }

    /// The server gets these values from its operating system, which has them for the connection.
    #[test]
    fn the_server_notices_that_a_machine_is_gone() {
        let Some(server) = Postgres::shared() else { return };
        let address = Address::parse(&server.new_table()).unwrap();
        let mut connection = Pool::new(address, 1, WAIT).unwrap().1.connection;
        let sql = "SELECT current_setting('tcp_keepalives_idle')::int8, \
                   current_setting('tcp_keepalives_interval')::int8 * current_setting('tcp_keepalives_count')::int8";
        let answer = connection.run(Statement { name: "", sql }, &[]).unwrap();
        let [idle, later] = [0, 1].map(|at| number(answer.rows[0].get(at)).unwrap());
        assert!(idle + later <= 20, "{idle} {later}");
    }

    /// Each of the others would be waited for as long.
    #[test]
    fn one_connection_that_says_nothing_ends_all_idle_ones() {
        let Some(server) = Postgres::shared() else { return };
        if server.port() == 0 {
            return;
        }
        let proxy = Proxy::new(server.port());
        let address = Address::parse(&proxy.url(&server.new_table(), server.port())).unwrap();
        let wait = Duration::from_secs(2);
        let (pool, first) = Pool::new(address, 4, wait).unwrap();
        let [second, mut third] = [(); 2].map(|()| pool.take(wait).unwrap());
        pool.give_back(first);
        pool.give_back(second);
        third.connection.run(BEGIN, &[]).unwrap();
        proxy.fail(Way::There, 0, Fault::Stall);
        pool.give_back(third);
        let _new = pool.take(wait).unwrap();
        assert_eq!(pool.lock().count, 1);
        assert!(proxy.end_fault());
    }

    #[test]
    fn a_server_that_is_gone_is_left_once_however_many_notice_it() {
        let Some(server) = Postgres::shared() else { return };
        let url = server.new_table();
        let place = url.split_once('@').unwrap().1.split_once('/').unwrap().0;
        let url = url.replace(place, &format!("{place},{place}"));
        let (pool, first) = Pool::new(Address::parse(&url).unwrap(), 4, WAIT).unwrap();
        let second = pool.take(WAIT).unwrap();
        for lost in [first.age, second.age] {
            pool.forget_server(lost);
            assert_eq!(pool.lock().host, 1);
        }
        // Connections to the next host can be lost too.
        let next = pool.take(WAIT).unwrap();
        pool.forget_server(next.age);
        assert_eq!(pool.lock().host, 0);
    }
}
