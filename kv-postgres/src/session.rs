//! A transaction on the server.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use permazen_kv::remote::{
    Changes, Pauses, RangePage, RangeRead, Session, Siblings, note_wait_in_vain,
};
use permazen_kv::{KvError, Result};
use rand::Rng;

use crate::connection::Connection;
use crate::dialect::Dialect;
use crate::error::Failure;
use crate::pool::{ATTEMPT, Checked, Pool, number};
use crate::questions::Questions;
use crate::sql::{
    BEGIN, BEGIN_ASKING, BEGIN_BESIDE, BEGIN_CERTAIN, BEGIN_READING, CLOCK, COMMIT, EXPORT,
    IF_LOST, NO_LIMIT, TOKEN_MINUTES, import, limit_statements,
};
use crate::statement::{Answer, Parameter, Statement};
use crate::watches::describe;

type Done<T> = std::result::Result<T, Failure>;

/// How many statements begin a transaction that waits for certainty.
const CERTAIN_STATEMENTS: usize = 4;

/// One statement writes at most this many bytes.
const PORTION: usize = 4 << 20;

/// A transaction, from its first question on.
pub(crate) struct PostgresSession {
    pool: Arc<Pool>,
    /// `None` before the first question, and at the end.
    held: Option<Checked>,
    read_only: bool,
    wait: Duration,
    /// For each request, how many answers come before the answers to its questions; and the
    /// questions.
    asked: VecDeque<(usize, Questions)>,
    /// Its state is one that no conflict can make wrong. It waits for that when it begins.
    is_certain: bool,
    /// The server has been asked to wait for that, and has not answered yet.
    awaits_certainty: bool,
    is_begun: bool,
    /// Whether changes were sent before the commit.
    is_flushed: bool,
    /// The name under which other sessions can read its state.
    exported: Option<String>,
}

impl PostgresSession {
    /// A session that reads only can be certain.
    pub(crate) fn new(pool: Arc<Pool>, read_only: bool, is_certain: bool, wait: Duration) -> Self {
        let (held, asked) = (None, VecDeque::new());
        let is_certain = is_certain && read_only && pool.dialect == Dialect::Postgres;
        let awaits_certainty = false;
        PostgresSession {
            pool,
            held,
            read_only,
            wait,
            asked,
            is_certain,
            awaits_certainty,
            is_begun: false,
            is_flushed: false,
            exported: None,
        }
    }

    /// One more session that reads a state which has been exported, if a connection is to spare.
    fn beside(pool: &Arc<Pool>, wait: Duration, exported: &str) -> Option<Box<dyn Session>> {
        let mut session = PostgresSession::new(Arc::clone(pool), true, true, wait);
        session.held = Some(pool.take_spare()?);
        session.is_begun = true;
        let imported = session.with("cannot read beside others", |connection, pool| {
            connection.add(BEGIN_BESIDE, &[])?;
            add_settings(connection, pool)?;
            connection.add(Statement { name: "", sql: &import(exported) }, &[])?;
            connection.send_batch("import")?;
            connection.answers().map(drop)
        });
        match imported {
            Ok(()) => Some(Box::new(session)),
            Err(error) => {
                tracing::debug!(%error, "threads take turns");
                None
            }
        }
    }

    /// How long to wait for an answer. A server that answers as usual is never given up.
    fn limit(&self) -> Duration {
        self.wait.max(ATTEMPT)
    }

    /// An error, after which nothing is asked on this connection.
    fn failed(&mut self, what: &str, failure: Failure) -> KvError {
        if let Some(mut held) = self.held.take() {
            let is_gone = match &failure {
                Failure::Lost(_) => true,
                Failure::Server(error) => error.is_of_the_server(),
                Failure::Other(_) => false,
            };
            let age = held.age;
            if is_gone {
                held.connection.give_up();
            }
            self.pool.give_back(held);
            if is_gone {
                self.pool.forget_server(age);
            }
        }
        failure.to_kv(what, &self.pool.path())
    }

    /// Calls `act` with the connection.
    fn with<T>(
        &mut self,
        what: &str,
        act: impl FnOnce(&mut Connection, &Pool) -> Done<T>,
    ) -> Result<T> {
        let Some(held) = &mut self.held else {
            return Err(KvError::Stale("its connection is lost".to_owned()));
        };
        let age = held.age;
        let result = act(&mut held.connection, &self.pool);
        result.map_err(|failure| {
            if failure.is_silence() && self.pool.note_silence(age) {
                note_wait_in_vain();
            }
            self.failed(what, failure)
        })
    }

    /// Adds the beginning of the transaction to the batch, if it was not sent. Returns how many
    /// answers it will have.
    fn begin(&mut self) -> Result<usize> {
        if self.is_begun {
            return Ok(0);
        }
        let mut held = self.pool.take(self.wait)?;
        held.connection.set_limit(self.limit());
        self.held = Some(held);
        self.is_begun = true;
        if self.is_certain {
            return self.begin_certain();
        }
        let begin = if self.read_only { BEGIN_READING } else { BEGIN };
        let settings = self.with("cannot begin", |connection, pool| {
            connection.add(begin, &[])?;
            add_settings(connection, pool)
        })?;
        Ok(1 + settings)
    }

    /// Begins with a question of its own, which waits until the state is one that no conflict can
    /// make wrong.
    fn begin_certain(&mut self) -> Result<usize> {
        let (wait, limit) = (self.wait, self.wait.saturating_add(self.limit()));
        let settings = self.with("cannot begin", |connection, pool| {
            connection.set_limit(limit);
            connection.add(BEGIN_CERTAIN, &[])?;
            let settings = add_settings(connection, pool)?;
            connection.add(limit_statements(&mut String::new(), wait), &[])?;
            connection.add(CLOCK, &[])?;
            connection.add(NO_LIMIT, &[])?;
            Ok(settings)
        })?;
        self.awaits_certainty = true;
        Ok(CERTAIN_STATEMENTS + settings)
    }

    /// The answers to the oldest request. The first one comes late if the server has waited for
    /// certainty.
    fn answers(&mut self, what: &str) -> Result<Vec<Answer>> {
        let mut awaits_certainty = std::mem::take(&mut self.awaits_certainty);
        let limit = self.limit();
        let certain = CERTAIN_STATEMENTS + self.pool.settings_of_transaction().len();
        let answers = self.with(what, |connection, _| {
            let answers = connection.answers();
            connection.set_limit(limit);
            // Reads are in the same batch, and can take too long for reasons of their own.
            awaits_certainty &= connection.failed_at() < certain;
            answers
        });
        if answers.is_ok() {
            self.pool.note_answer();
        }
        answers.map_err(|error| match error {
            KvError::Timeout(why) if awaits_certainty => KvError::Retry(format!(
                "{why}; others write all the time, and what is read must be certain: wait longer (TxOptions::wait), \
                 or read without certainty"
            )),
            other => other,
        })
    }

    /// Waits for the answers that were not taken yet.
    fn drain(&mut self) -> Result<()> {
        while self.asked.pop_front().is_some() {
            self.answers("cannot read")?;
        }
        Ok(())
    }
}

impl Session for PostgresSession {
    fn ask(&mut self, reads: &[RangeRead]) -> Result<()> {
        let before = self.begin()?;
        let questions = self.with("cannot read", |connection, pool| {
            let questions = Questions::add(connection, pool, reads)?;
            connection.send_batch("read")?;
            Ok(questions)
        })?;
        self.asked.push_back((before, questions));
        Ok(())
    }

    fn answer(&mut self) -> Result<Vec<RangePage>> {
        let Some((before, questions)) = self.asked.pop_front() else {
            return Err(KvError::IllegalState("nothing was asked".to_owned()));
        };
        let mut answers = self.answers("cannot read")?;
        answers.drain(..before.min(answers.len()));
        let pages = questions.pages(&self.pool, answers);
        pages.map_err(|failure| self.failed("cannot read", failure))
    }

    fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// Possible before the first question, or if the transaction is certain. Waits until no
    /// transaction that writes can be in conflict.
    fn share(&mut self) -> Result<()> {
        if self.is_certain && self.is_begun {
            return self.export();
        }
        if self.pool.dialect == Dialect::Portable {
            return Err(KvError::Unsupported("a snapshot in the portable dialect of SQL"));
        }
        if self.is_begun || !self.read_only {
            return Err(KvError::Unsupported("a snapshot of a transaction that has read"));
        }
        self.is_certain = true;
        self.begin()?;
        self.export()
    }

    fn lacks_certainty(&self) -> bool {
        let can_have = self.read_only && self.pool.dialect == Dialect::Postgres;
        self.is_begun && !self.is_certain && can_have
    }

    fn siblings(&self) -> Option<Siblings> {
        let (pool, wait, exported) = (Arc::clone(&self.pool), self.wait, self.exported.clone()?);
        Some(Box::new(move || PostgresSession::beside(&pool, wait, &exported)))
    }

    fn flush(&mut self, changes: &Changes) -> Result<bool> {
        self.begin()?;
        self.drain()?;
        self.is_flushed = true;
        self.with("cannot write", |connection, pool| {
            write(connection, pool, changes)?;
            connection.send_batch("write")?;
            connection.answers()
        })?;
        Ok(true)
    }

    fn commit(mut self: Box<Self>, changes: Changes) -> Result<()> {
        if self.is_certain && changes.is_empty() {
            // The connection is given back, and the end is not awaited.
            return Ok(());
        }
        self.begin()?;
        self.drain()?;
        if changes.is_empty() && !self.is_flushed {
            let ended = self.with("cannot end", |connection, _| {
                connection.add(COMMIT, &[])?;
                connection.send_batch("end")?;
                connection.answers()
            })?;
            return self.is_committed(&ended);
        }
        let mut token = [0; 16];
        rand::rng().fill_bytes(&mut token);
        let Some(held) = &mut self.held else {
            return Err(KvError::Stale("its connection is lost".to_owned()));
        };
        let server_time = held.server_time;
        let (connection, pool) = (&mut held.connection, &*self.pool);
        // A short wait for other transactions should not mean a short wait for the outcome.
        connection.set_limit(self.wait.max(pool.limit()));
        let mut send = || {
            if pool.dialect == Dialect::Portable {
                connection.add(IF_LOST, &[])?;
            }
            write(connection, pool, &changes)?;
            connection.add(pool.statements.token(), &[Parameter::Bytes(&token)])?;
            connection.add(COMMIT, &[])?;
            connection.send_batch("commit")?;
            connection.answers()
        };
        let sent = send();
        // An error that comes although COMMIT was answered does not say that nothing was changed.
        let was_answered = connection.was_answered();
        match sent {
            Ok(answers) => self.is_committed(&answers),
            // A server that says it does not know is as good as one that says nothing.
            Err(failure)
                if failure.is_lost()
                    || failure.is_of("40003")
                    || (was_answered && matches!(failure, Failure::Server(_))) =>
            {
                let lost = format!("cannot commit: {failure}");
                self.failed("cannot commit", failure);
                ask_outcome(&self.pool, self.limit(), &token, server_time, &lost)
            }
            Err(failure) => Err(self.failed("cannot commit", failure)),
        }
    }
}

impl PostgresSession {
    /// Lets others read the state. Statements already in the batch go before it.
    fn export(&mut self) -> Result<()> {
        if self.exported.is_some() {
            return Ok(());
        }
        self.with("cannot export what is read", |connection, _| {
            connection.add(EXPORT, &[])?;
            connection.send_batch("export")
        })?;
        let answers = self.answers("cannot export what is read")?;
        let name = answers.last().and_then(|answer| answer.rows.first()?.first());
        self.exported = name.map(|name| String::from_utf8_lossy(name).into_owned());
        Ok(())
    }

    /// Gives the connection back. An error if the server has rolled back.
    fn is_committed(&mut self, answers: &[Answer]) -> Result<()> {
        let last = answers.last();
        if let Some(held) = self.held.take() {
            self.pool.give_back(held);
        }
        if answers.iter().any(|answer| answer.is_only_local) {
            return Err(KvError::OutcomeUnknown(ONLY_LOCAL.to_owned()));
        }
        self.pool.note_answer();
        match last {
            Some(answer) if answer.tag == "COMMIT" => Ok(()),
            _ => Err(KvError::Retry("the server has rolled back".to_owned())),
        }
    }
}

impl Drop for PostgresSession {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            self.pool.give_back(held);
        }
    }
}

/// Adds the settings that each transaction makes where a connection keeps no settings. Returns how
/// many answers it will have.
fn add_settings(connection: &mut Connection, pool: &Pool) -> Done<usize> {
    let settings = pool.settings_of_transaction();
    settings.iter().try_for_each(|sql| connection.add(Statement { name: "", sql }, &[]))?;
    Ok(settings.len())
}

/// Adds the changes to the batch.
fn write(connection: &mut Connection, pool: &Pool, changes: &Changes) -> Done<()> {
    let (statements, writes) = (&pool.statements, &changes.writes);
    let is_removed = |key: &[u8]| writes.removes.contains(key);
    // An insert costs the server half as much as a put.
    let new = NewKeys::of(&changes.absent);
    let is_new = |key: &[u8]| new.are_in(key) && !is_removed(key);
    let pairs = writes.puts.iter().map(|(key, value)| (&key[..], &value[..]));
    let (inserted, put): (Vec<_>, Vec<_>) = pairs.partition(|(key, _)| is_new(key));
    // A key that must be new is inserted first, even if it is removed again.
    let gone = |key: &&Vec<u8>| is_removed(key) || !writes.puts.contains_key(*key);
    let gone = changes.absent.iter().filter(gone).map(|key| (&key[..], &[][..]));
    for (keys, values) in portions(gone.chain(inserted)) {
        let parameters = [Parameter::Many(&keys), Parameter::Many(&values)];
        connection.add(statements.insert(), &parameters)?;
    }
    let mut single = Vec::new();
    for span in writes.removes.iter() {
        match span.max {
            _ if span.is_single_key() => single.push((span.min, &[][..])),
            Some(max) => {
                let parameters = [Parameter::Bytes(span.min), Parameter::Bytes(max)];
                connection.add(statements.remove_range(), &parameters)?;
            }
            None => connection.add(statements.remove_rest(), &[Parameter::Bytes(span.min)])?,
        }
    }
    // A key that is put is not removed before, unless it must be new.
    single.retain(|(key, _)| !writes.puts.contains_key(*key) || changes.absent.contains(*key));
    for (keys, _) in portions(single.into_iter()) {
        connection.add(statements.remove(), &[Parameter::Many(&keys)])?;
    }
    for (keys, values) in portions(put.into_iter()) {
        let parameters = [Parameter::Many(&keys), Parameter::Many(&values)];
        connection.add(statements.put(), &parameters)?;
    }
    // Nothing is left to tell if the changes were sent before.
    if pool.address.watches && !writes.is_empty() {
        connection.add(statements.notify(), &[Parameter::Text(&describe(writes))])?;
    }
    Ok(())
}

/// The keys that must be new. Nothing is there that begins or ends with one of them.
struct NewKeys<'c> {
    keys: HashSet<&'c [u8]>,
    /// They are IDs, so all of them have the same length. If not, only they themselves are found.
    len: Option<usize>,
}

impl<'c> NewKeys<'c> {
    fn of(absent: &'c BTreeSet<Vec<u8>>) -> Self {
        let len = absent.first().map(Vec::len);
        let len = len.filter(|&len| absent.iter().all(|key| key.len() == len));
        NewKeys { keys: absent.iter().map(Vec::as_slice).collect(), len }
    }

    /// Whether a key is one of them, or begins or ends with one.
    fn are_in(&self, key: &[u8]) -> bool {
        match self.len {
            Some(len) => {
                let ends =
                    [key.get(..len), key.len().checked_sub(len).and_then(|at| key.get(at..))];
                ends.into_iter().flatten().any(|end| self.keys.contains(end))
            }
            None => self.keys.contains(key),
        }
    }
}

/// Pairs in portions that one statement takes, as keys and values.
fn portions<'p>(
    pairs: impl Iterator<Item = (&'p [u8], &'p [u8])>,
) -> impl Iterator<Item = (Vec<&'p [u8]>, Vec<&'p [u8]>)> {
    let mut pairs = pairs.peekable();
    std::iter::from_fn(move || {
        pairs.peek()?;
        let (mut keys, mut values, mut bytes) = (Vec::new(), Vec::new(), 0);
        while bytes < PORTION
            && let Some((key, value)) = pairs.next()
        {
            bytes += key.len() + value.len() + 16;
            keys.push(key);
            values.push(value);
        }
        Some((keys, values))
    })
}

/// Finds out whether a commit without an answer took place. This inserts the token of the commit,
/// as the commit itself does; the second of the two comes too late. Can be asked again and again.
fn ask_outcome(
    pool: &Pool,
    wait: Duration,
    token: &[u8],
    server_time: i64,
    lost: &str,
) -> Result<()> {
    let unknown = |why: &str| KvError::OutcomeUnknown(format!("{lost}; {why}"));
    let until = Instant::now() + wait;
    let mut pauses = Pauses::new();
    loop {
        let Ok(mut checked) = pool.open(until) else {
            return Err(unknown("and the server cannot be asked"));
        };
        let left = until.saturating_duration_since(Instant::now());
        checked.connection.set_limit(left.max(Duration::from_millis(100)).min(pool.limit()));
        match insert_token(pool, &mut checked.connection, token) {
            Ok(Token { was_there: true, is_only_local: true, .. }) => {
                return Err(unknown(ONLY_LOCAL));
            }
            Ok(Token { was_there: true, .. }) => return Ok(()),
            // Then a sweep may have removed the token meanwhile.
            Ok(Token { now, .. }) if now - server_time > TOKEN_MINUTES * 60_000 / 2 => {
                return Err(unknown("and too much time has passed to find out"));
            }
            Ok(_) => {
                return Err(KvError::Retry(format!("{lost}, and the commit did not take place")));
            }
            // This server cannot say, for example because it is a standby. Another one may, or the
            // same one soon.
            Err(_) if Instant::now() < until => {
                let age = checked.age;
                drop(checked);
                pool.forget_server(age);
                pauses.sleep_until(until);
            }
            Err(failure) => return Err(unknown(&format!("and the server cannot say: {failure}"))),
        }
    }
}

const ONLY_LOCAL: &str =
    "the server did not wait for its replica, so the commit can be lost with it";

/// The token of a commit, as the server shows it.
struct Token {
    /// Whether the commit has inserted it.
    was_there: bool,
    /// Whether the server did not wait for its replica.
    is_only_local: bool,
    /// The time of the server.
    now: i64,
}

/// Inserts a token if it is not there.
fn insert_token(pool: &Pool, connection: &mut Connection, token: &[u8]) -> Done<Token> {
    // At a higher level the server could refuse the answer. A connection that keeps its settings
    // has this level.
    let pooled = usize::from(pool.address.pooled);
    if pool.address.pooled {
        connection.add(BEGIN_ASKING, &[])?;
    }
    connection.add(pool.statements.ask(), &[Parameter::Bytes(token)])?;
    connection.add(CLOCK, &[])?;
    if pool.address.pooled {
        connection.add(COMMIT, &[])?;
    }
    connection.send_batch("ask")?;
    let answers = connection.answers()?;
    let said = |at: usize| {
        number(
            answers
                .get(pooled + at)
                .and_then(|answer| answer.rows.first())
                .and_then(|row| row.first()),
        )
    };
    let is_only_local = answers.iter().any(|answer| answer.is_only_local);
    Ok(Token { was_there: said(0)? == 0, is_only_local, now: said(1)? })
}
