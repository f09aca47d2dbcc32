//! The statements, for one table.

use std::time::Duration;

use permazen_kv::Direction;

use crate::dialect::{Dialect, Server};
use crate::statement::Statement;

/// Frees the locks of a lost program on servers of the portable dialect; PostgreSQL watches the
/// connection.
const LOST: &str = "SET LOCAL idle_in_transaction_session_timeout = 10000";

/// How old the tokens of commits become, in minutes.
pub(crate) const TOKEN_MINUTES: i64 = 60;

/// All statements of a table. Statements that name no table are constants below.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(crate) create_table: String,
    pub(crate) create_tokens: String,
    pub(crate) look: String,
    pub(crate) look_at_columns: String,
    get: String,
    /// By direction and by whether the range has an end: the first pair.
    first: [String; 4],
    /// By direction and by whether the range has an end: a page.
    page: [String; 4],
    /// The same for few pairs, of which the long values do not come.
    short_page: [String; 4],
    /// The short pages of several ranges that have ends.
    ranges: String,
    remove: String,
    remove_range: String,
    remove_rest: String,
    insert: String,
    put: String,
    token: String,
    ask: String,
    /// Whether an index lies in the order of a hash, on a server that has such.
    pub(crate) count_hashes: String,
    sweep: String,
    listen: String,
    notify: String,
}

/// An identifier of SQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text of SQL.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl Statements {
    /// The statements of a table in a schema; without a schema, the server looks for the table.
    pub(crate) fn new(schema: Option<&str>, table: &str, dialect: Dialect, server: Server) -> Self {
        let name = literal(table);
        let (within, schemas) = match schema {
            Some(schema) => (format!("{}.", quoted(schema)), format!("= {}", literal(schema))),
            None => (String::new(), "= ANY(current_schemas(false))".to_owned()),
        };
        // Without the schema, because a store that names the schema and a store for which the
        // server finds it may have the same table. Stores on tables with one name in several
        // schemas wake each other for nothing, which does no harm.
        let channel = format!("{table}_watch");
        let tokens = format!("{within}{}", quoted(&format!("{table}_commit")));
        let table = format!("{within}{}", quoted(table));
        let of_range = |with: fn(&str, &str, &str) -> String| {
            [("ASC", false), ("ASC", true), ("DESC", false), ("DESC", true)].map(|(order, ends)| {
                let range = match ends {
                    true => r#""kv_key" >= $1 AND "kv_key" < $2"#,
                    false => r#""kv_key" >= $1"#,
                };
                with(&table, range, order)
            })
        };
        let first = of_range(|table, range, order| {
            format!(
                r#"SELECT "kv_key", "kv_value" FROM {table} WHERE {range} ORDER BY "kv_key" {order} LIMIT 1"#
            )
        });
        // The limits come last: of the pairs, then of their bytes.
        let page = of_range(|table, range, order| {
            let (pairs, bytes) = if range.contains("$2") { ("$3", "$4") } else { ("$2", "$3") };
            format!(
                r#"SELECT "kv_key", "kv_value" FROM (SELECT "kv_key", "kv_value", sum(octet_length("kv_key") + octet_length("kv_value")) OVER (ORDER BY "kv_key" {order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS "before" FROM {table} WHERE {range} ORDER BY "kv_key" {order} LIMIT {pairs}) AS "page" WHERE "before" IS NULL OR "before" < {bytes} ORDER BY "kv_key" {order}"#
            )
        });
        // The limits come last: of the pairs, then of each value. It counts no sums, which takes
        // half of the time when there are few pairs.
        let short_page = of_range(|table, range, order| {
            let (pairs, bytes) = if range.contains("$2") { ("$3", "$4") } else { ("$2", "$3") };
            format!(
                r#"SELECT "kv_key", CASE WHEN octet_length("kv_value") <= {bytes} THEN "kv_value" END FROM {table} WHERE {range} ORDER BY "kv_key" {order} LIMIT {pairs}"#
            )
        });
        let ranges = format!(
            r#"SELECT "pair".* FROM unnest($1, $2) AS "range" ("min", "max"), LATERAL (SELECT "kv_key", CASE WHEN octet_length("kv_value") <= $4 THEN "kv_value" END FROM {table} WHERE "kv_key" >= "min" AND "kv_key" < "max" ORDER BY "kv_key" LIMIT $3) AS "pair""#
        );
        // Two arrays, side by side. The first form takes the server a twentieth less of a commit.
        let pairs = match dialect {
            Dialect::Postgres => "unnest($1), unnest($2)",
            Dialect::Portable => "* FROM ROWS FROM (unnest($1::BYTEA[]), unnest($2::BYTEA[]))",
        };
        // Without a word about it, YugabyteDB orders keys by a hash. Others do not know the word.
        let columns = match server {
            Server::Yugabyte => {
                r#""kv_key" BYTEA NOT NULL, "kv_value" BYTEA NOT NULL, PRIMARY KEY ("kv_key" ASC)"#
            }
            _ => r#""kv_key" BYTEA PRIMARY KEY NOT NULL, "kv_value" BYTEA NOT NULL"#,
        };
        Statements {
            create_table: format!("CREATE TABLE IF NOT EXISTS {table} ({columns})"),
            create_tokens: format!(
                r#"CREATE TABLE IF NOT EXISTS {tokens} ("token" BYTEA PRIMARY KEY NOT NULL, "at" TIMESTAMPTZ NOT NULL, "asked" BOOLEAN NOT NULL DEFAULT false)"#
            ),
            look: format!(
                r#"SELECT "kv_key", "kv_value", "token", "at", "asked" FROM {table}, {tokens} LIMIT 0"#
            ),
            look_at_columns: format!(r#"SELECT "kv_key", "kv_value" FROM {table} LIMIT 0"#),
            get: format!(r#"SELECT "kv_key", "kv_value" FROM {table} WHERE "kv_key" = $1"#),
            first,
            page,
            short_page,
            ranges,
            remove: format!(r#"DELETE FROM {table} WHERE "kv_key" = ANY($1)"#),
            remove_range: format!(r#"DELETE FROM {table} WHERE "kv_key" >= $1 AND "kv_key" < $2"#),
            remove_rest: format!(r#"DELETE FROM {table} WHERE "kv_key" >= $1"#),
            insert: format!(r#"INSERT INTO {table} ("kv_key", "kv_value") SELECT {pairs}"#),
            put: format!(
                r#"INSERT INTO {table} ("kv_key", "kv_value") SELECT {pairs} ON CONFLICT ("kv_key") DO UPDATE SET "kv_value" = EXCLUDED."kv_value""#
            ),
            token: format!(
                r#"INSERT INTO {tokens} ("token", "at") VALUES ($1, clock_timestamp())"#
            ),
            // The question leaves a mark, because its answer can be lost, and then it is asked
            // again. It updates the row without a change, so that its own commit makes the answer
            // durable.
            ask: format!(
                r#"INSERT INTO {tokens} AS "there" ("token", "at", "asked") VALUES ($1, clock_timestamp(), true) ON CONFLICT ("token") DO UPDATE SET "at" = "there"."at" RETURNING "asked"::int::int8"#
            ),
            count_hashes: format!(
                "SELECT count(*)::int8 FROM pg_indexes WHERE tablename = {name} \
                 AND schemaname {schemas} AND indexdef LIKE '% HASH)%'"
            ),
            listen: format!("LISTEN {}", quoted(&channel)),
            notify: format!("SELECT pg_notify({}, $1)", literal(&channel)),
            sweep: format!(
                r#"DELETE FROM {tokens} WHERE "at" < clock_timestamp() - $1 * interval '1 minute'"#
            ),
        }
    }

    pub(crate) fn get(&self) -> Statement<'_> {
        Statement { name: "get", sql: &self.get }
    }

    pub(crate) fn first(&self, direction: Direction, ends: bool) -> Statement<'_> {
        const NAMES: [&str; 4] = ["first", "first in", "last", "last in"];
        let at = number(direction, ends);
        Statement { name: NAMES[at], sql: &self.first[at] }
    }

    pub(crate) fn page(&self, direction: Direction, ends: bool) -> Statement<'_> {
        const NAMES: [&str; 4] = ["page", "page in", "page back", "page back in"];
        let at = number(direction, ends);
        Statement { name: NAMES[at], sql: &self.page[at] }
    }

    pub(crate) fn short_page(&self, direction: Direction, ends: bool) -> Statement<'_> {
        const NAMES: [&str; 4] = ["short", "short in", "short back", "short back in"];
        let at = number(direction, ends);
        Statement { name: NAMES[at], sql: &self.short_page[at] }
    }

    pub(crate) fn ranges(&self) -> Statement<'_> {
        Statement { name: "ranges", sql: &self.ranges }
    }

    pub(crate) fn remove(&self) -> Statement<'_> {
        Statement { name: "remove", sql: &self.remove }
    }

    pub(crate) fn remove_range(&self) -> Statement<'_> {
        Statement { name: "remove range", sql: &self.remove_range }
    }

    pub(crate) fn remove_rest(&self) -> Statement<'_> {
        Statement { name: "remove rest", sql: &self.remove_rest }
    }

    pub(crate) fn insert(&self) -> Statement<'_> {
        Statement { name: "insert", sql: &self.insert }
    }

    pub(crate) fn put(&self) -> Statement<'_> {
        Statement { name: "put", sql: &self.put }
    }

    pub(crate) fn token(&self) -> Statement<'_> {
        Statement { name: "token", sql: &self.token }
    }

    /// Whether the token is there because a store asked for it, and not because of the commit.
    pub(crate) fn ask(&self) -> Statement<'_> {
        Statement { name: "ask", sql: &self.ask }
    }

    pub(crate) fn listen(&self) -> Statement<'_> {
        Statement { name: "listen", sql: &self.listen }
    }

    /// Notifies the stores that listen of the changes, once they are committed.
    pub(crate) fn notify(&self) -> Statement<'_> {
        Statement { name: "notify", sql: &self.notify }
    }

    pub(crate) fn sweep(&self) -> Statement<'_> {
        Statement { name: "sweep", sql: &self.sweep }
    }
}

fn number(direction: Direction, ends: bool) -> usize {
    usize::from(ends) + if direction == Direction::Reverse { 2 } else { 0 }
}

/// The time of the server in milliseconds.
pub(crate) const CLOCK: Statement<'static> =
    Statement { name: "clock", sql: "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8" };

pub(crate) const BEGIN: Statement<'static> =
    Statement { name: "begin", sql: "BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE" };

pub(crate) const BEGIN_READING: Statement<'static> =
    Statement { name: "begin reading", sql: "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY" };

/// Waits until what it reads cannot be in conflict.
pub(crate) const BEGIN_CERTAIN: Statement<'static> = Statement {
    name: "begin certain",
    sql: "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE",
};

/// Gives the state of a transaction a name, under which others can read it.
pub(crate) const EXPORT: Statement<'static> =
    Statement { name: "export", sql: "SELECT pg_export_snapshot()" };

/// Of a state that no conflict can make wrong, this level reads nothing that is not serializable.
/// Only the level above it can wait for such a state, and then it cannot take one that has been
/// exported.
pub(crate) const BEGIN_BESIDE: Statement<'static> =
    Statement { name: "begin beside", sql: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" };

/// The question for the outcome of a commit is asked at this isolation level.
pub(crate) const BEGIN_ASKING: Statement<'static> =
    Statement { name: "begin asking", sql: "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE" };

/// Takes the state that has been exported under this name.
pub(crate) fn import(name: &str) -> String {
    format!("SET TRANSACTION SNAPSHOT {}", literal(name))
}

/// Limits how long each statement of the transaction takes, until [`NO_LIMIT`].
pub(crate) fn limit_statements(sql: &mut String, limit: Duration) -> Statement<'_> {
    let millis = limit.as_millis().clamp(1, i32::MAX as u128);
    *sql = format!("SET LOCAL statement_timeout = {millis}");
    Statement { name: "", sql }
}

/// The limit of statements is that of the session again.
pub(crate) const NO_LIMIT: Statement<'static> =
    Statement { name: "no limit", sql: "SET LOCAL statement_timeout TO DEFAULT" };

pub(crate) const IF_LOST: Statement<'static> = Statement { name: "if lost", sql: LOST };

pub(crate) const COMMIT: Statement<'static> = Statement { name: "commit", sql: "COMMIT" };

/// It has no name, so it does not depend on prepared statements.
pub(crate) const ROLL_BACK: Statement<'static> = Statement { name: "", sql: "ROLLBACK" };
