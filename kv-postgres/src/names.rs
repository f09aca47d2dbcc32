//! The names of prepared statements on the server.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The name of a statement, made of its text. Where several stores take turns with one server
/// process, as they do at a pooler, a name stands for the same text, and so for the same table, in
/// all of them.
pub(crate) fn of(name: &str, sql: &str) -> String {
    // The server compares the first 63 bytes.
    format!("{name} {:016x}{:016x}", number(0, sql), number(1, sql))
}

fn number(kind: u8, sql: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (kind, sql).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Dialect, Server};
    use crate::sql::Statements;

    #[test]
    fn each_table_has_names_of_its_own() {
        let of = |table: &str, dialect| {
            let statements = Statements::new(None, table, dialect, Server::Postgres);
            let [get, put] = [statements.get(), statements.put()];
            [of(get.name, get.sql), of(put.name, put.sql)]
        };
        let [get, put] = of("KV", Dialect::Postgres);
        assert_eq!(of("KV", Dialect::Postgres), [get.clone(), put.clone()]);
        let [other_get, other_put] = of("KV2", Dialect::Postgres);
        assert!(get != other_get && put != other_put);
        assert_ne!(of("KV", Dialect::Portable)[1], put);
        assert!(get.starts_with("get ") && get.len() < 63, "{get}");
    }

    #[test]
    fn no_name_is_longer_than_what_the_server_compares() {
        assert!(super::of("settings of commits", "").len() < 63);
    }
}
