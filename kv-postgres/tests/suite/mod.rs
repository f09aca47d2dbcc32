//! The conformance suite on a PostgreSQL server. Its many short tests begin last, by its name, and
//! fill the time in which the others wait.

use permazen_kv::conformance;
use permazen_kv::testsuite::Fixture;
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::Postgres;

fn postgres() -> Fixture {
    // Without a server, which was said, the tests run on another store.
    let Some(server) = Postgres::shared() else {
        return Fixture::new(permazen_kv::memory::MemoryStore::new());
    };
    let url = server.new_table();
    let open = move || PostgresStore::open(&url).expect("a new table");
    Fixture::new(open()).reopening(open)
}

conformance!(postgres, postgres);

fn watched() -> Fixture {
    let Some(server) = Postgres::shared() else {
        return Fixture::new(permazen_kv::memory::MemoryStore::new());
    };
    let url = format!("{}&watches=on", server.new_table());
    let open = move || PostgresStore::open(&url).expect("a new table");
    Fixture::new(open()).reopening(open)
}

conformance!(watched, watched);

/// The statements for CockroachDB and YugabyteDB, sent to PostgreSQL.
fn portable() -> Fixture {
    let Some(server) = Postgres::shared() else {
        return Fixture::new(permazen_kv::memory::MemoryStore::new());
    };
    let url = format!("{}&dialect=portable", server.new_table());
    let open = move || PostgresStore::open(&url).expect("a new table");
    Fixture::new(open()).reopening(open)
}

conformance!(portable, portable);
