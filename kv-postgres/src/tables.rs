//! The tables of a store: whether they are there, and making them.

use permazen_kv::KvError;

use crate::connection::Connection;
use crate::dialect::Server;
use crate::error::Failure;
use crate::pool::{Pool, number};
use crate::statement::{Answer, Statement};

/// How often making the tables is tried. Another program can be first with each of the two tables.
const ATTEMPTS: usize = 3;

/// Looks whether the tables are there and can be used, and makes them if that is wanted.
pub(crate) fn open(connection: &mut Connection, pool: &Pool, create: bool) -> Result<(), KvError> {
    look(connection, pool, create).map_err(|error| explained(&error, pool, create))
}

fn look(connection: &mut Connection, pool: &Pool, create: bool) -> Result<(), Failure> {
    let statements = &pool.statements;
    let mut run = |name, sql: &str| connection.run(Statement { name, sql }, &[]);
    let mut looked = run("look", &statements.look);
    for _ in 0..ATTEMPTS {
        if !create || !matches!(&looked, Err(error) if error.is_of("42P01")) {
            break;
        }
        // If another program creates the table at the same time, the server refuses one of the two,
        // and then the table is there.
        let created = run("create", &statements.create_table);
        // Beside a table of other software, no table for tokens is made.
        let created = created.and_then(|_| run("look at columns", &statements.look_at_columns));
        let created = created.and_then(|_| run("create tokens", &statements.create_tokens));
        looked = match (run("look again", &statements.look), created) {
            (Err(_), Err(error)) if !error.is_second() => Err(error),
            (looked, _) => looked,
        };
    }
    looked?;
    match pool.server {
        Server::Yugabyte => check_order(&run("count hashes", &statements.count_hashes)?),
        _ => Ok(()),
    }
}

/// Refuses a table whose keys do not lie in their order.
fn check_order(hashes: &Answer) -> Result<(), Failure> {
    match number(hashes.rows.first().and_then(|row| row.first()))? {
        0 => Ok(()),
        _ => Err(Failure::other(
            "the keys of the table lie in the order of a hash, so ranges of them cannot be read; \
             make the table with PRIMARY KEY (\"kv_key\" ASC)",
        )),
    }
}

/// The error for tables that cannot be opened, with advice.
fn explained(error: &Failure, pool: &Pool, create: bool) -> KvError {
    let what = "cannot open the tables";
    let path = pool.path().into();
    if error.is_of("42P01") && !create {
        let reason = format!("{what}: there is no store: {error}").into();
        return KvError::NoStore { path, reason };
    }
    if error.is_of("42703") {
        let why = "a table does not have the columns of a store, so name another one with table=NAME in the URL";
        return KvError::Open { path, reason: format!("{what}: {why}: {error}").into() };
    }
    error.to_kv(what, &path)
}
