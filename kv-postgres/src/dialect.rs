//! Which SQL a server understands.

/// A server, as it calls itself when a user logs in.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Server {
    #[default]
    Postgres,
    Cockroach,
    Yugabyte,
}

impl Server {
    /// The server that a parameter shows, which is sent when a user logs in. `None` if it shows
    /// nothing.
    pub(crate) fn shown_by(name: &str, value: &str) -> Option<Server> {
        match name {
            "crdb_version" => Some(Server::Cockroach),
            "server_version" if value.contains("-YB-") => Some(Server::Yugabyte),
            _ => None,
        }
    }

    /// The dialect for this server, if no dialect is set.
    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Server::Postgres => Dialect::Postgres,
            Server::Cockroach | Server::Yugabyte => Dialect::Portable,
        }
    }
}

/// The SQL that a server is asked in.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// All that PostgreSQL has.
    #[default]
    Postgres,
    /// Only statements that similar servers understand too.
    Portable,
}

impl Dialect {
    /// The settings of each session. Sequential scans, bitmap scans and sorts are off. Otherwise a
    /// table of a few rows would be read as a whole, and each transaction would conflict with each
    /// other one. The plans that remain seem costly to the server, and it would compile them; so
    /// that is off too. The locks of a program whose machine is gone are free after 20 seconds,
    /// also in the middle of a batch of statements, where no time limit of the server counts.
    pub(crate) fn settings(self) -> &'static [&'static str] {
        match self {
            Dialect::Postgres => &[
                "SET default_transaction_isolation = 'read committed'",
                "SET enable_seqscan = off",
                "SET enable_bitmapscan = off",
                "SET enable_sort = off",
                "SET jit = off",
                "SET plan_cache_mode = force_generic_plan",
                "SET tcp_keepalives_idle = 10",
                "SET tcp_keepalives_interval = 5",
                "SET tcp_keepalives_count = 2",
                "SET tcp_user_timeout = 20000",
                "SET client_min_messages = warning",
            ],
            Dialect::Portable => &["SET default_transaction_isolation = 'read committed'"],
        }
    }

    /// The settings that each transaction makes where a connection keeps no settings.
    pub(crate) fn settings_of_transaction(self) -> &'static [&'static str] {
        match self {
            Dialect::Postgres => &[
                "SET LOCAL enable_seqscan = off",
                "SET LOCAL enable_bitmapscan = off",
                "SET LOCAL enable_sort = off",
                "SET LOCAL jit = off",
            ],
            Dialect::Portable => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_known_by_what_they_call_themselves() {
        let of = Server::shown_by;
        let cockroach = of("crdb_version", "CockroachDB CCL v23.2.0 (x86_64-pc-linux-gnu)");
        assert_eq!(cockroach, Some(Server::Cockroach));
        assert_eq!(of("server_version", "15.2-YB-2.25.0.0-b0"), Some(Server::Yugabyte));
        assert_eq!(of("server_version", "15.14 (Debian 15.14-0+deb12u1)"), None);
        assert_eq!(of("TimeZone", "-YB-"), None);
        assert_eq!(Server::default().dialect(), Dialect::Postgres);
        assert_eq!(Server::Cockroach.dialect(), Dialect::Portable);
        assert_eq!(Server::Yugabyte.dialect(), Dialect::Portable);
    }

    #[test]
    fn the_portable_dialect_has_no_settings_of_the_planner() {
        assert!(Dialect::Portable.settings().iter().all(|set| !set.contains("enable")));
    }
}
