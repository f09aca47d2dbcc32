//! Permazen for Java and we on one table of a PostgreSQL server, in turn and side by side.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;

use permazen::{Counter, Permazen, PermazenObject};
use permazen_kv::{
    Direction, Hex, KeySpan, KvDatabase, KvDatabaseExt, KvRead, KvWrite, Retry, TxOptions,
};
use permazen_kv_postgres::PostgresStore;
use permazen_test_servers::Postgres;

#[derive(PermazenObject, Debug, Clone, Default)]
struct Person {
    #[permazen(indexed)]
    name: Option<String>,
    #[permazen(indexed)]
    age: i32,
    tags: Vec<String>,
    visits: Counter,
}

/// The program `interop.OnPostgres` of `tests/java`.
struct Java {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Java {
    /// `None` if it was not built; then it is said how that is done.
    fn start(server: &Postgres, table: &str) -> Option<Java> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/java");
        let Ok(libraries) = std::fs::read_to_string(folder.join("target/classpath.txt")) else {
            assert!(
                std::env::var_os("PERMAZEN_JAVA").is_none(),
                "the program of Java must be there"
            );
            let folder = folder.display();
            eprintln!(
                "skipped: Permazen for Java is not here; `mvn -q -B package -f {folder}` gets it"
            );
            return None;
        };
        let classes = folder.join("target/classes");
        let mut process = Command::new("java")
            .arg("-cp")
            .arg(format!("{}:{}", classes.display(), libraries.trim()))
            .arg("interop.OnPostgres")
            .arg(format!("jdbc:postgresql://127.0.0.1:{}/test?user=test", server.port()))
            .arg(table)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Some(Java { process, input, output })
    }

    fn ask(&mut self, command: &str) -> String {
        writeln!(self.input, "{command}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        assert!(!answer.is_empty(), "Java has ended");
        answer.trim_end().to_owned()
    }
}

impl Drop for Java {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn pairs(store: &PostgresStore) -> String {
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let scan = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
    let pair = |pair: permazen_kv::Result<permazen_kv::Pair<'_>>| {
        let (key, value) = pair.unwrap();
        format!("{}={}", Hex(&key), Hex(&value))
    };
    scan.map(pair).collect::<Vec<_>>().join(" ")
}

#[test]
fn both_read_and_check_what_the_other_has_written() {
    let Some(server) = Postgres::shared().filter(|server| server.port() > 0) else { return };
    let url = server.new_table();
    let table = url.rsplit('=').next().unwrap().to_owned();
    let Some(mut java) = Java::start(server, &table) else { return };
    // Java makes the table.
    assert_eq!(java.ask("put ff01 00ff"), "ok");
    let store = PostgresStore::open(&url).unwrap();
    assert_eq!(pairs(&store), "ff01=00ff");
    store.write(|tx| tx.remove(&[0xff, 1])).unwrap();
    let db = Permazen::builder(store.clone()).model::<Person>().build().unwrap();
    db.write(|tx| {
        for number in 0..200 {
            let (name, tags) = (format!("p{number}"), vec![format!("{number}"); number % 4]);
            let age = number as i32 % 7;
            let person = tx.create(Person { name: Some(name), age, tags, ..Person::default() })?;
            person.visits().add(number as i64)?;
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(java.ask("pairs"), pairs(&store));
    assert_eq!(java.ask("check"), "0");
}

#[test]
fn both_count_side_by_side() {
    let Some(server) = Postgres::shared().filter(|server| server.port() > 0) else { return };
    let url = server.new_table();
    let table = url.rsplit('=').next().unwrap().to_owned();
    let store = PostgresStore::open(&url).unwrap();
    let Some(mut java) = Java::start(server, &table) else { return };
    let retry = Retry { times: 1_000, ..Retry::default() };
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(java.ask("count fe 100"), "ok"));
        for _ in 0..2 {
            scope.spawn(|| {
                for number in 0..50 {
                    let count = |failed| {
                        let options = TxOptions::writing().with_failed(failed);
                        let mut tx = store.begin(&options)?;
                        let old = tx.get(&[0xfe])?.map_or(Ok(0), |old| tx.decode_counter(&old))?;
                        tx.put(&[0xfe], &tx.encode_counter(old + 1))?;
                        tx.put(&[0xfd, number], b"")?;
                        tx.commit()
                    };
                    retry.run(Ok, count, permazen_kv::KvError::is_retryable).unwrap();
                }
            });
        }
    });
    let tx = store.begin(&TxOptions::reading()).unwrap();
    let count = tx.decode_counter(&tx.get(&[0xfe]).unwrap().unwrap()).unwrap();
    assert_eq!(count, 200);
}
