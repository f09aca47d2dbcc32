//! The URL counts most, then the program, then the environment: each setting at each of them.
#![allow(clippy::unwrap_used)]

use std::ffi::OsString;

use permazen_kv::Result;

use crate::address::{Address, USER};
use crate::store::{PostgresBuilder, PostgresStore};

/// A setting: its part of the URL, what the program does for the same, the variable, and the value
/// that each of them gives.
struct Case {
    url: &'static str,
    program: fn(PostgresBuilder) -> PostgresBuilder,
    variable: Option<(&'static str, &'static str)>,
    seen: fn(&Address) -> String,
    /// With the URL, with the program, and with the environment.
    results: [&'static str; 3],
}

fn user(address: &Address) -> String {
    address.user.clone()
}

fn host(address: &Address) -> String {
    address.hosts[0].to_string()
}

/// A URL that says this alone, besides the database.
fn url_of(part: &str) -> String {
    match part.split_once(' ').unwrap() {
        ("user", user) => format!("postgres://{user}@/db"),
        ("host", host) => format!("postgres://{host}/db"),
        (_, parameter) => format!("postgres:///db?{parameter}"),
    }
}

fn cases() -> Vec<Case> {
    vec![
        Case {
            url: "user ann",
            program: |builder| builder.setting("user", "bob"),
            variable: Some(("PGUSER", "eve")),
            seen: user,
            results: ["ann", "bob", "eve"],
        },
        Case {
            url: "parameter user=ann",
            program: |builder| builder.setting("user", "bob"),
            variable: Some(("PGUSER", "eve")),
            seen: user,
            results: ["ann", "bob", "eve"],
        },
        Case {
            url: "host a",
            program: |builder| builder.setting("host", "/b"),
            variable: Some(("PGHOST", "c")),
            seen: host,
            results: ["a:5432", "/b/.s.PGSQL.5432", "c:5432"],
        },
        Case {
            url: "parameter host=/a",
            program: |builder| builder.setting("host", "/b"),
            variable: Some(("PGHOST", "c")),
            seen: host,
            results: ["/a/.s.PGSQL.5432", "/b/.s.PGSQL.5432", "c:5432"],
        },
        Case {
            url: "host :1",
            program: |builder| builder.setting("port", "2"),
            variable: Some(("PGPORT", "3")),
            seen: host,
            results: ["localhost:1", "localhost:2", "localhost:3"],
        },
        Case {
            url: "parameter port=1",
            program: |builder| builder.setting("port", "2"),
            variable: Some(("PGPORT", "3")),
            seen: host,
            results: ["localhost:1", "localhost:2", "localhost:3"],
        },
        Case {
            url: "parameter table=A",
            program: |builder| builder.setting("table", "B"),
            variable: None,
            seen: |address| address.table.clone(),
            results: ["A", "B", "KV"],
        },
        Case {
            url: "parameter schema=a",
            program: |builder| builder.setting("schema", "b"),
            variable: None,
            seen: |address| address.schema.clone().unwrap_or_default(),
            results: ["a", "b", ""],
        },
        Case {
            url: "parameter application_name=a",
            program: |builder| builder.setting("application_name", "b"),
            variable: Some(("PGAPPNAME", "c")),
            seen: |address| address.application_name.clone(),
            results: ["a", "b", "c"],
        },
        Case {
            url: "parameter options=a",
            program: |builder| builder.setting("options", "b"),
            variable: Some(("PGOPTIONS", "c")),
            seen: |address| address.options.clone().unwrap_or_default(),
            results: ["a", "b", "c"],
        },
        Case {
            url: "parameter sslmode=require",
            program: |builder| builder.setting("sslmode", "disable"),
            variable: Some(("PGSSLMODE", "verify-ca")),
            seen: |address| format!("{:?}", address.tls),
            results: ["Unverified", "Off", "OfAuthority { roots: None }"],
        },
        Case {
            url: "parameter sslrootcert=/a",
            program: |builder| builder.setting("sslrootcert", "/b"),
            variable: None,
            seen: |address| format!("{:?}", address.tls),
            results: [
                r#"Verified { roots: Some("/a") }"#,
                r#"Verified { roots: Some("/b") }"#,
                "Off",
            ],
        },
        Case {
            url: "parameter sslcert=/a&sslkey=/A&sslmode=require",
            program: |builder| {
                let builder = builder.setting("sslcert", "/b").setting("sslkey", "/B");
                builder.setting("sslmode", "require")
            },
            variable: None,
            seen: |address| match &address.own {
                Some(own) => format!("{}{}", own.certificate.display(), own.key.display()),
                None => String::new(),
            },
            results: ["/a/A", "/b/B", ""],
        },
        Case {
            url: "parameter connect_timeout=1",
            program: |builder| builder.setting("connect_timeout", "2"),
            variable: Some(("PGCONNECT_TIMEOUT", "3")),
            seen: |address| format!("{:?}", address.connect_timeout.unwrap()),
            results: ["1s", "2s", "3s"],
        },
        Case {
            url: "parameter connection_life=1",
            program: |builder| builder.connection_life(std::time::Duration::from_secs(2)),
            variable: None,
            seen: |address| format!("{:?}", address.connection_life),
            results: ["Some(1s)", "Some(2s)", "None"],
        },
        Case {
            url: "parameter connections=1",
            program: |builder| builder.connections(2),
            variable: None,
            seen: |address| format!("{:?}", address.connections),
            results: ["Some(1)", "Some(2)", "None"],
        },
        Case {
            url: "parameter deferrable=off",
            program: |builder| builder.deferrable(true),
            variable: None,
            seen: |address| address.deferrable.to_string(),
            results: ["false", "true", "false"],
        },
        Case {
            url: "parameter watches=off",
            program: |builder| builder.watches(true),
            variable: None,
            seen: |address| address.watches.to_string(),
            results: ["false", "true", "false"],
        },
        Case {
            url: "parameter warnings=on",
            program: |builder| builder.setting("warnings", "off"),
            variable: None,
            seen: |address| address.warnings.to_string(),
            results: ["true", "false", "true"],
        },
        Case {
            url: "parameter pooling=session",
            program: |builder| builder.transaction_pooling(true),
            variable: None,
            seen: |address| address.pooled.to_string(),
            results: ["false", "true", "false"],
        },
        Case {
            url: "parameter dialect=postgres",
            program: |builder| builder.portable(true),
            variable: None,
            seen: |address| format!("{:?}", address.dialect),
            results: ["Some(Postgres)", "Some(Portable)", "None"],
        },
    ]
}

#[test]
fn the_url_counts_most_then_the_program_then_the_environment() {
    for case in cases() {
        let environment = |name: &str| match case.variable {
            Some((variable, value)) if variable == name => Some(OsString::from(value)),
            // The user of the process, where no setting names a user.
            _ => (name == USER).then(|| "somebody".into()),
        };
        let seen = |builder: PostgresBuilder, url: &str| {
            (case.seen)(&builder.address(url, environment).unwrap())
        };
        let (url, empty) = (url_of(case.url), "postgres:///db");
        let program = || (case.program)(PostgresStore::builder());
        assert_eq!(seen(program(), &url), case.results[0], "{url}");
        assert_eq!(seen(PostgresStore::builder(), &url), case.results[0], "{url}");
        assert_eq!(seen(program(), empty), case.results[1], "{url}");
        assert_eq!(seen(PostgresStore::builder(), empty), case.results[2], "{url}");
    }
}

fn read(url: &str, variables: &[(&str, &str)]) -> Result<Address> {
    PostgresStore::builder().address(url, |name| {
        let variable = variables.iter().find(|(variable, _)| *variable == name);
        variable.map(|(_, value)| value.into())
    })
}

/// A wrong variable matters only where the environment counts, and the error names the variable.
#[test]
fn errors_name_what_is_wrong() {
    for (variable, value, words) in [
        ("PGCONNECT_TIMEOUT", "abc", "connect_timeout is a number"),
        ("PGPORT", "70000", "\"70000\""),
        ("PGHOST", "a,,b", "\"a,,b\""),
        ("PGSERVICE", "x", "is not read"),
        ("PGHOSTADDR", "127.0.0.1", "is not read"),
        ("PGSSLMODE", "strange", "sslmode is"),
    ] {
        let error = read("postgres://ann@/db", &[(variable, value)]).unwrap_err().to_string();
        assert!(error.contains(variable) && error.contains(words), "{error}");
        let url = "postgres://ann@a:1/db?connect_timeout=5&sslmode=disable";
        assert_eq!(host(&read(url, &[(variable, value)]).unwrap()), "a:1");
        // An empty variable counts as not set.
        read("postgres://ann@/db", &[(variable, "")]).unwrap();
    }
    for (url, words) in [
        ("postgres://ann@::1/db", "[::1]"),
        ("postgres://ann@one,two:x/db", "host two"),
        ("postgres://ann@h/db?port=x", "port is wrong: \"x\""),
        ("postgres://ann@/db?host=run", "host is wrong: \"run\""),
    ] {
        let error = read(url, &[]).unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains("PG"), "{error}");
    }
    // Without an @, this is no password for us, but it is for the one that wrote it.
    let error = read("postgres://ann:secret/db", &[]).unwrap_err().to_string();
    assert!(!error.contains("secret"), "{error}");
    for no_limit in ["0", "-1"] {
        let address = read("postgres://ann@/db", &[("PGCONNECT_TIMEOUT", no_limit)]).unwrap();
        assert_eq!(address.connect_timeout, None);
    }
}

#[test]
fn an_empty_user_of_the_program_is_none() {
    let builder = PostgresStore::builder().setting("user", "");
    assert_eq!(builder.address("postgres://ann@/db", |_| None).unwrap().user, "ann");
    let bob = |name: &str| (name == "PGUSER").then(|| "bob".into());
    assert_eq!(builder.address("postgres:///db", bob).unwrap().user, "bob");
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_unicode_is_refused_where_it_counts() {
    use std::os::unix::ffi::OsStringExt;
    for variable in ["PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGAPPNAME", "PGOPTIONS"] {
        let environment = |name: &str| match name {
            _ if name == variable => Some(OsString::from_vec(b"/tmp/s\xff".to_vec())),
            "USER" => Some("somebody".into()),
            _ => None,
        };
        let read = |url: &str| PostgresStore::builder().address(url, environment);
        let error = read("postgres://").unwrap_err().to_string();
        assert!(error.contains(variable) && error.contains("not Unicode"), "{error}");
        let url = "postgres://ann@a:1/db?application_name=a&options=b";
        assert_eq!(host(&read(url).unwrap()), "a:1");
    }
}
