//! Objects on a PostgreSQL server that several programs use at the same time.

use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::{Postgres, objects};

#[test]
fn a_database_of_objects_is_used_as_anywhere() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.new_table();
    objects::one_after_the_other(|| PostgresStore::open(&url).unwrap());
}

#[test]
fn programs_side_by_side_lose_nothing() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.new_table();
    objects::side_by_side(|| PostgresStore::open(&url).unwrap());
}
