//! The parts that both libraries on SQLite have in common.

use super::Flush;

pub const TABLES: &str = "
    CREATE TABLE person (
        id INTEGER PRIMARY KEY,
        age INTEGER NOT NULL,
        email TEXT NOT NULL,
        name TEXT NOT NULL,
        score BIGINT NOT NULL,
        visits BIGINT NOT NULL
    );
    CREATE INDEX person_age ON person (age);
    CREATE INDEX person_name ON person (name);
    CREATE TABLE message (
        id INTEGER PRIMARY KEY,
        author INTEGER NOT NULL REFERENCES person (id) ON DELETE CASCADE,
        text TEXT NOT NULL
    );
    CREATE INDEX message_author ON message (author);
";

/// The settings of each connection: a log that is written ahead, 256 MiB of pages in memory, and
/// references that are checked.
pub fn settings(flush: Flush) -> String {
    let synchronous = match flush {
        Flush::EachCommit => "FULL",
        Flush::Never => "OFF",
    };
    format!(
        "PRAGMA busy_timeout = 60000;
         PRAGMA journal_mode = WAL;
         PRAGMA synchronous = {synchronous};
         PRAGMA cache_size = -262144;
         PRAGMA mmap_size = 17179869184;
         PRAGMA foreign_keys = ON;"
    )
}
