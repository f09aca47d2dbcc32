//! The program on a database on a server.

use permazen::open::Opening;
use permazen_test_servers::Postgres;
use serde_json::Value;

use crate::support::{fill, jsck, lines};

/// The program says what can lose commits, since that is what a check is about. It does not name
/// settings that only make the server slow.
#[test]
fn settings_of_a_server_that_endanger_commits_are_warned_of() {
    let settings = ["fsync=off", "max_pred_locks_per_transaction=64"];
    let Some(server) = Postgres::start(&settings) else { return };
    let url = format!("{}?table=pets", server.url());
    let store = Opening::new().create(true).open(&url).expect("open");
    assert_eq!(store.warnings().len(), 2);
    fill(&store, |_| {});
    drop(store);
    let said = |args: &[&str], code: i32| {
        let output = jsck(args).output().expect("run");
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        // On a busy machine, a line says that the program waits.
        let waits = |line: &&str| line.contains("waiting for the server");
        error.split_inclusive('\n').filter(|line| !waits(line)).collect::<String>()
    };
    let danger = format!("jsck: {url}: warning: if the machine of the server stops");
    for args in [&[&*url][..], &["--repair", "--yes", &url], &["--json", &url]] {
        let error = said(args, 0);
        assert!(error.starts_with(&danger) && error.contains("fsync = off"), "{args:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{args:?}: {error}");
    }
    let json: Vec<Value> = lines(&mut jsck(&["--json", &url]), 0);
    let settings: Vec<&Value> = json.iter().filter(|line| line["type"] == "setting").collect();
    let [setting] = settings[..] else { panic!("{json:?}") };
    assert!(setting["warning"].as_str().expect("a text").contains("fsync = off"), "{setting}");
    // `warnings=off` in the URL leaves it out.
    let quiet = format!("{}?warnings=off&table=pets", server.url());
    assert_eq!(said(&[&quiet], 0), "");
    let json = lines(&mut jsck(&["--json", &quiet]), 0);
    assert!(json.iter().all(|line| line["type"] != "setting"), "{json:?}");
}
