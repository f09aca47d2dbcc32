//! One connection to a server: messages out and in, statements that are prepared once.
//!
//! It is built on `postgres-protocol`, which makes and reads single messages, and not on
//! `tokio-postgres`, which does two things that a store cannot use. It ends each request with a
//! `Sync`, so that a failed write would not stop the writes that were sent after it. And it drops
//! the command tags, which say how many rows a statement has changed.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use permazen_kv::__internal::Process;
use permazen_kv::remote::{Closer, Request, ServerCounts};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

use crate::address::Address;
use crate::dialect::Server;
use crate::error::{Failure, ServerError, server_error};
use crate::host::Host;
use crate::names;
use crate::passwords::check_own_key;
use crate::socket::{Socket, connect};
use crate::statement::{Answer, Parameter, Row, Statement};

/// How many bytes are read from the socket at once.
const READ: usize = 1 << 16;

/// No message of a server is longer.
const LONGEST: u32 = 1 << 30;

/// The rows of an answer do not take more memory than this: a page and one long value.
const LONGEST_ANSWER: usize = 2 << 30;

/// When nothing more can be sent for this long, the connection checks whether answers have come.
const CONGESTED: Duration = Duration::from_millis(10);

/// No read waits for less.
const SHORTEST: Duration = Duration::from_millis(1);

/// A connection on which a user is logged in.
pub(crate) struct Connection {
    socket: Box<dyn Socket>,
    /// The process that has made the connection. One that is forked from it has the same socket.
    process: Process,
    /// How long reads of the socket wait.
    patience: Duration,
    input: BytesMut,
    /// The buffer into which the socket is read.
    arriving: Box<[u8]>,
    output: BytesMut,
    /// The statements that are prepared, with their names on the server.
    prepared: HashMap<String, String>,
    /// Whether statements are prepared under names. A pooler may send the next transaction to
    /// another server process, which has prepared others.
    keeps_statements: bool,
    /// How many statements were sent since the last end of a batch, and of each batch that was sent
    /// and not answered.
    in_batch: usize,
    batches: VecDeque<(usize, Request)>,
    /// How long to wait for an answer.
    limit: Duration,
    /// Something went wrong, so it is not known what comes next.
    is_broken: bool,
    /// The server has said that a transaction is open, or has failed.
    status: u8,
    /// The notifications that have come and were not taken yet, if any are wanted.
    notified: VecDeque<String>,
    listens: bool,
    server: Server,
    /// The server said, when the user logged in, that it is a standby.
    is_standby: bool,
    /// How many statements of the last batch with an error came before the one that has failed.
    failed_at: usize,
    /// That batch had the answers to all of its statements all the same.
    was_answered: bool,
    counts: Arc<ServerCounts>,
    /// The names of the store and of the host.
    store: String,
    host: String,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("is_broken", &self.is_broken).finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects to a host within this time, and logs in.
    pub(crate) fn open(
        address: &Address,
        host: &Host,
        limit: Duration,
        counts: &Arc<ServerCounts>,
    ) -> Result<Self, Failure> {
        let until = Instant::now() + limit;
        if let Some(own) = &address.own {
            check_own_key(&own.key)?;
        }
        let begin = |socket: Box<dyn Socket>, first: Instant| -> Result<Self, Failure> {
            socket.limit_writes(CONGESTED)?;
            let mut connection = Connection {
                socket,
                process: Process::this(),
                patience: Duration::ZERO,
                input: BytesMut::with_capacity(READ),
                arriving: vec![0; READ].into(),
                output: BytesMut::new(),
                prepared: HashMap::new(),
                keeps_statements: !address.pooled,
                in_batch: 0,
                batches: VecDeque::new(),
                limit,
                is_broken: false,
                status: b'I',
                notified: VecDeque::new(),
                listens: false,
                server: Server::default(),
                is_standby: false,
                failed_at: 0,
                was_answered: false,
                counts: Arc::clone(counts),
                store: address.to_string(),
                host: host.to_string(),
            };
            let logged_in = connection.log_in(address, host, first, until);
            logged_in.map_err(|failure| failure.of_certificate(address.own.as_ref()))?;
            Ok(connection)
        };
        connect(host, &address.tls, address.own.as_ref(), until, begin)
    }

    /// The server must say something by `first`. All of it must be done by `until`, because a
    /// server could send messages without end.
    fn log_in(
        &mut self,
        address: &Address,
        host: &Host,
        first: Instant,
        until: Instant,
    ) -> Result<(), Failure> {
        let parameters = [
            ("user", &address.user[..]),
            ("database", &address.database),
            ("client_encoding", "UTF8"),
            ("application_name", &address.application_name),
        ];
        let options = address.options.as_deref().map(|options| ("options", options));
        frontend::startup_message(parameters.into_iter().chain(options), &mut self.output)?;
        self.send()?;
        let (mut scram, mut next) = (None, first);
        loop {
            let message = self.receive(next)?;
            next = until;
            match message {
                Message::AuthenticationOk => {}
                Message::AuthenticationCleartextPassword => {
                    frontend::password_message(&address.password_for(host)?, &mut self.output)?;
                    self.send()?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let password = address.password_for(host)?;
                    let hash = md5_hash(address.user.as_bytes(), &password, body.salt());
                    frontend::password_message(hash.as_bytes(), &mut self.output)?;
                    self.send()?;
                }
                Message::AuthenticationSasl(body) => {
                    if !body.mechanisms().any(|name| Ok(name == SCRAM_SHA_256))? {
                        return Err(Failure::other(
                            "the server asks for an unknown kind of log-in",
                        ));
                    }
                    let password = address.password_for(host)?;
                    let begun = ScramSha256::new(&password, ChannelBinding::unsupported());
                    frontend::sasl_initial_response(
                        SCRAM_SHA_256,
                        begun.message(),
                        &mut self.output,
                    )?;
                    scram = Some(begun);
                    self.send()?;
                }
                Message::AuthenticationSaslContinue(body) => {
                    let scram = scram.as_mut().ok_or_else(unexpected)?;
                    scram.update(body.data())?;
                    frontend::sasl_response(scram.message(), &mut self.output)?;
                    self.send()?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    scram.as_mut().ok_or_else(unexpected)?.finish(body.data())?;
                }
                Message::ErrorResponse(body) => return Err(server_error(body.fields())?.into()),
                Message::ReadyForQuery(_) => return Ok(()),
                Message::ParameterStatus(body) => {
                    let (name, value) = (body.name()?, body.value()?);
                    self.is_standby |= name == "in_hot_standby" && value == "on";
                    self.server = Server::shown_by(name, value).unwrap_or(self.server);
                }
                Message::BackendKeyData(_) => {}
                Message::NoticeResponse(_) => {}
                _ => return Err(unexpected()),
            }
        }
    }

    /// The kind of server, by the name that it announces.
    pub(crate) fn server(&self) -> Server {
        self.server
    }

    /// Whether the server was a standby when the user logged in.
    pub(crate) fn is_standby(&self) -> bool {
        self.is_standby
    }

    /// How many statements came before the one that has failed, in the last batch with an error.
    pub(crate) fn failed_at(&self) -> usize {
        self.failed_at
    }

    /// Whether the last batch with an error had the answers to all of its statements all the same,
    /// so that the error is of something else.
    pub(crate) fn was_answered(&self) -> bool {
        self.was_answered
    }

    /// How long to wait for answers from now on.
    pub(crate) fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Whether the connection cannot be used any more.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Marks the connection as unusable.
    pub(crate) fn give_up(&mut self) {
        self.is_broken = true;
    }

    /// Whether answers are to come.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.batches.is_empty() || self.in_batch > 0
    }

    /// Whether the server said last that no transaction is open.
    pub(crate) fn is_idle(&self) -> bool {
        self.status == b'I'
    }

    /// Adds a statement to the batch.
    ///
    /// # Errors
    /// If a parameter is too long. Half of a message is in the batch then, so the connection is
    /// broken.
    pub(crate) fn add(
        &mut self,
        statement: Statement<'_>,
        parameters: &[Parameter<'_>],
    ) -> Result<(), Failure> {
        let added = self.write(statement, parameters);
        self.is_broken |= added.is_err();
        added
    }

    fn write(
        &mut self,
        statement: Statement<'_>,
        parameters: &[Parameter<'_>],
    ) -> Result<(), Failure> {
        let mut named = self.prepared.get(statement.name);
        if named.is_none() {
            let name = match statement.name {
                name if name.is_empty() || !self.keeps_statements => String::new(),
                name => names::of(name, statement.sql),
            };
            let types = parameters.iter().map(Parameter::type_number);
            frontend::parse(&name, statement.sql, types, &mut self.output)?;
            if !name.is_empty() {
                named = Some(self.prepared.entry(statement.name.to_owned()).or_insert(name));
            }
        }
        let bound = frontend::bind(
            "",
            named.map_or("", String::as_str),
            [1],
            parameters,
            |parameter, out| parameter.write(out),
            [1],
            &mut self.output,
        );
        bound.map_err(|error| match error {
            frontend::BindError::Conversion(error) => Failure::other(error.to_string()),
            frontend::BindError::Serialization(error) => error.into(),
        })?;
        frontend::execute("", 0, &mut self.output)?;
        self.in_batch += 1;
        Ok(())
    }

    /// Sends the batch, which is a request of this kind. If one of its statements fails, the server
    /// skips the statements after it.
    pub(crate) fn send_batch(&mut self, kind: &'static str) -> Result<(), Failure> {
        frontend::sync(&mut self.output);
        let request = self.counts.request(kind);
        self.batches.push_back((std::mem::take(&mut self.in_batch), request));
        self.send()
    }

    /// Waits for the answers to the oldest batch. The limit counts for each row, and for the end of
    /// each statement. Other messages of the server do not extend it.
    ///
    /// # Errors
    /// The error of the first statement that fails. The connection can still be used then.
    pub(crate) fn answers(&mut self) -> Result<Vec<Answer>, Failure> {
        let Some((count, request)) = self.batches.pop_front() else { return Ok(Vec::new()) };
        let answers = self.answers_to(count);
        // A message that cannot be read leaves the rest of the answers where they are.
        self.is_broken |= matches!(answers, Err(Failure::Lost(_)));
        match &answers {
            Ok(_) => request.answered(&self.store, &self.host),
            Err(_) => request.failed(&self.store, &self.host),
        }
        answers
    }

    /// Waits for the answers to a batch of `count` statements.
    fn answers_to(&mut self, count: usize) -> Result<Vec<Answer>, Failure> {
        let mut answers: Vec<Answer> = Vec::with_capacity(count);
        let (mut answer, mut error) = (Answer::default(), None::<ServerError>);
        // Until when the next row, or the end of a statement, must come.
        let (mut until, mut bytes) = (None, 0);
        loop {
            // Many messages come at once. To look at the clock would take as long as to take one of
            // them.
            let message = match self.received() {
                Ok(Some(message)) => Ok(message),
                Ok(None) => {
                    let until = *until.get_or_insert_with(|| Instant::now() + self.limit);
                    self.receive(until)
                }
                Err(failure) => Err(failure),
            };
            let message = message.map_err(|failure| failure.because_of(error.as_ref()))?;
            match message {
                Message::ParseComplete | Message::BindComplete | Message::CloseComplete => {}
                Message::DataRow(row) => {
                    bytes += row.buffer_bytes().len() + size_of::<Row>();
                    if bytes > LONGEST_ANSWER {
                        return Err(self.lost(strange("the server has sent too many rows")));
                    }
                    answer.rows.push(Row::of(&row)?);
                    until = None;
                }
                Message::CommandComplete(body) if answers.len() < count => {
                    body.tag()?.clone_into(&mut answer.tag);
                    answers.push(std::mem::take(&mut answer));
                    (until, bytes) = (None, 0);
                }
                // The first one says why; nothing of the batch is done after it.
                Message::ErrorResponse(body) => {
                    let failed = server_error(body.fields())?;
                    self.is_broken |= failed.ends_connection();
                    // Statements that were not prepared because of it are prepared again.
                    self.forget_statements();
                    if error.is_none() {
                        self.failed_at = answers.len();
                    }
                    error.get_or_insert(failed);
                }
                Message::NoticeResponse(body) => {
                    answer.is_only_local |= server_error(body.fields())?.is_lost_replica();
                }
                Message::ReadyForQuery(body) => {
                    self.status = body.status();
                    // The notice about a replica comes after the last statement, unless that is a
                    // COMMIT.
                    if let Some(last) = answers.last_mut() {
                        last.is_only_local |= answer.is_only_local;
                    }
                    return match error {
                        Some(error) => {
                            self.was_answered = answers.len() == count;
                            Err(error.into())
                        }
                        None if answers.len() == count => Ok(answers),
                        None => {
                            Err(self.lost(strange("the server has not answered each statement")))
                        }
                    };
                }
                Message::NotificationResponse(body) if self.listens => {
                    self.notified.push_back(body.message()?.to_owned());
                }
                // Nothing would ever take it.
                Message::NotificationResponse(_) => {}
                Message::ParameterStatus(_) => {}
                // The outcome on the server is unknown.
                _ => return Err(self.lost(strange(UNEXPECTED))),
            }
        }
    }

    /// Runs a statement after which notifications come, and keeps them from now on.
    pub(crate) fn listen(&mut self, statement: Statement<'_>) -> Result<(), Failure> {
        self.listens = true;
        self.run(statement, &[]).map(drop)
    }

    /// The next notification on a channel that this connection listens to. `None` if no
    /// notification comes within this time.
    pub(crate) fn notification(&mut self, patience: Duration) -> Result<Option<String>, Failure> {
        let until = Instant::now() + patience;
        loop {
            if let Some(notified) = self.notified.pop_front() {
                return Ok(Some(notified));
            }
            match self.receive_until(until)? {
                None => return Ok(None),
                Some(Message::NotificationResponse(body)) => {
                    self.notified.push_back(body.message()?.to_owned());
                }
                Some(Message::ErrorResponse(body)) => {
                    self.is_broken = true;
                    return Err(server_error(body.fields())?.into());
                }
                Some(Message::ParameterStatus(_) | Message::NoticeResponse(_)) => {}
                Some(_) => {
                    self.is_broken = true;
                    return Err(unexpected());
                }
            }
        }
    }

    /// Ends this connection from another thread.
    pub(crate) fn closer(&self) -> Result<Closer, Failure> {
        Ok(self.socket.closer()?)
    }

    /// Runs one statement outside of a transaction.
    pub(crate) fn run(
        &mut self,
        statement: Statement<'_>,
        parameters: &[Parameter<'_>],
    ) -> Result<Answer, Failure> {
        self.add(statement, parameters)?;
        self.send_batch("upkeep")?;
        self.answers()?.pop().ok_or_else(unexpected)
    }

    /// Frees the names of all statements, because statements that were sent after one that failed
    /// were not prepared. The server gets this with the next request.
    fn forget_statements(&mut self) {
        for (_, name) in self.prepared.drain() {
            // A name is never too long.
            self.is_broken |= frontend::close(b'S', &name, &mut self.output).is_err();
        }
    }

    fn is_of_this_process(&self) -> bool {
        self.process.is_this()
    }

    fn send(&mut self) -> Result<(), Failure> {
        let sent = self.send_all();
        self.output.clear();
        sent.map_err(|error| {
            let last = self.last_error();
            self.lost(error).because_of(last.as_ref())
        })
    }

    /// The error with which the server has ended the connection, if it has come. To be asked when
    /// nothing can be sent any more. All other messages are dropped.
    fn last_error(&mut self) -> Option<ServerError> {
        if self.is_broken || !self.is_of_this_process() {
            return None;
        }
        let until = Instant::now() + self.limit;
        loop {
            match self.received().ok()? {
                Some(Message::ErrorResponse(body)) => {
                    let error = server_error(body.fields()).ok()?;
                    if error.ends_connection() {
                        return Some(error);
                    }
                }
                Some(_) => {}
                None if Instant::now() >= until => return None,
                None => self.be_patient(SHORTEST).and_then(|()| self.read_some()).ok()?,
            }
        }
    }

    /// Sends the messages that were added. A server that takes no more of them may itself be
    /// waiting until its answers are taken; so this takes answers meanwhile.
    fn send_all(&mut self) -> io::Result<()> {
        if !self.is_of_this_process() {
            return Err(io::Error::other(FORKED));
        }
        // A late answer to what was asked before would be taken for the answer to this.
        if self.is_broken {
            return Err(io::Error::other("the connection was lost before"));
        }
        let (mut sent, mut until) = (0, Instant::now() + self.limit);
        loop {
            let rest = self.output.get(sent..).unwrap_or_default();
            let done = match rest.is_empty() {
                true => self.socket.flush().map(|()| 0),
                false => self.socket.write(rest),
            };
            match done {
                Ok(_) if rest.is_empty() => return Ok(()),
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => (sent, until) = (sent + bytes, Instant::now() + self.limit),
                Err(error) if is_pause(&error) && Instant::now() < until => {
                    self.be_patient(CONGESTED)?;
                    if let Err(error) = self.read_some()
                        && !is_pause(&error)
                    {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads the bytes that have come, or waits for the next ones.
    fn read_some(&mut self) -> io::Result<()> {
        match self.socket.read(&mut self.arriving)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                self.input.extend_from_slice(self.arriving.get(..read).unwrap_or_default());
                Ok(())
            }
        }
    }

    /// Lets reads wait for this time, or for more than half of it: most reads need no new limit
    /// then, which saves a system call.
    fn be_patient(&mut self, left: Duration) -> io::Result<()> {
        if self.patience > left || self.patience <= left / 2 {
            // The next time there is a little less left.
            let patience = left.mul_f64(0.75).max(SHORTEST);
            self.socket.limit_reads(patience)?;
            self.patience = patience;
        }
        Ok(())
    }

    /// The next message, which must come until then.
    fn receive(&mut self, until: Instant) -> Result<Message, Failure> {
        let received = self.receive_until(until)?;
        received.ok_or_else(|| self.lost(io::ErrorKind::TimedOut.into()))
    }

    /// The next message, if it has come already.
    fn received(&mut self) -> Result<Option<Message>, Failure> {
        // Room is made for a message before it comes.
        if let Some(&[_, a, b, c, d]) = self.input.first_chunk()
            && u32::from_be_bytes([a, b, c, d]) > LONGEST
        {
            return Err(self.lost(strange("the server has begun a message that is too long")));
        }
        Message::parse(&mut self.input).map_err(|error| self.lost(error))
    }

    /// The next message; `None` if no message comes until then.
    fn receive_until(&mut self, until: Instant) -> Result<Option<Message>, Failure> {
        loop {
            if let Some(message) = self.received()? {
                return Ok(Some(message));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            match self.be_patient(left).and_then(|()| self.read_some()) {
                Err(error) if !is_pause(&error) => return Err(self.lost(error)),
                _ => {}
            }
        }
    }

    fn lost(&mut self, error: io::Error) -> Failure {
        self.is_broken = true;
        Failure::Lost(error)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // The session belongs to the process that has made the connection.
        if !self.is_broken && self.is_of_this_process() {
            self.output.clear();
            frontend::terminate(&mut self.output);
            // The server notices it anyway.
            let _ = self.send_all();
        }
    }
}

const FORKED: &str = "this process was forked from the one that has made the connection";
const UNEXPECTED: &str = "the server has sent an unexpected message";

fn unexpected() -> Failure {
    Failure::other(UNEXPECTED)
}

/// The error for bytes of a server that break the protocol.
fn strange(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Whether the error says only that the time is over.
fn is_pause(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}
