//! A process that forks while it has a store on a PostgreSQL server open. Alone in its process,
//! since a child of a process with other threads may wait for their locks.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::{Postgres, forks};

#[test]
fn a_child_of_a_fork_leaves_the_store_to_its_parent() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.new_table();
    forks::a_child_leaves_the_store_to_its_parent(|| PostgresStore::open(&url).unwrap());
}
