//! The limits of servers as they come, and of the comparisons of a commit.

use std::sync::OnceLock;

use permazen_kv::{
    Direction, KeySpan, KvDatabase, KvDatabaseExt, KvError, KvRead, KvWrite, TxOptions,
};
use permazen_kv_etcd::{EtcdStore, TooLarge};
use permazen_test_servers::{Etcd, post_to_etcd};

/// A cluster with the limits that servers have unless others are set.
fn as_they_come() -> Option<&'static Etcd> {
    static SHARED: OnceLock<Option<Etcd>> = OnceLock::new();
    SHARED.get_or_init(|| Etcd::start(1, &[])).as_ref()
}

fn too_large(error: &KvError) -> &TooLarge {
    match error {
        KvError::Store { source, .. } => source.downcast_ref().unwrap(),
        other => unreachable!("{other}"),
    }
}

fn key(number: usize) -> Vec<u8> {
    format!("key {number:04}").into_bytes()
}

/// Commits `count` pairs with values of `len` bytes.
fn puts(store: &EtcdStore, count: usize, len: usize) -> Result<(), KvError> {
    let mut tx = store.begin(&TxOptions::writing())?;
    (0..count).try_for_each(|number| tx.put(&key(number), &vec![7; len]))?;
    tx.commit()
}

#[test]
fn what_is_too_large_is_refused_and_never_split() {
    let Some(cluster) = as_they_come() else { return };
    let store = EtcdStore::open(&cluster.new_prefix()).unwrap();
    let count = || {
        let tx = store.begin(&TxOptions::reading()).unwrap();
        tx.scan(KeySpan::FULL, Direction::Forward).unwrap().count()
    };
    let error = puts(&store, 128, 1).unwrap_err();
    let (text, error) = (error.to_string(), too_large(&error));
    assert_eq!(error.what, "has 129 operations");
    assert!(text.contains("128") && text.contains("--max-txn-ops"), "{text}");
    assert_eq!(count(), 0);
    // If the URL says a limit, the error names it.
    let url = format!("{}?max_txn_ops=200", cluster.new_prefix());
    let error = puts(&EtcdStore::open(&url).unwrap(), 150, 1).unwrap_err().to_string();
    assert!(error.contains("max_txn_ops=200 in the URL") && !error.contains("128"), "{error}");
    puts(&store, 127, 1).unwrap();
    assert_eq!(count(), 127);
    for bytes in [1 << 19, 1 << 20] {
        let error = puts(&store, 4, bytes).unwrap_err();
        let (text, error) = (error.to_string(), too_large(&error));
        assert!(error.what.contains(&format!("about {}", 4 * bytes / 1_000_000)), "{text}");
        assert!(text.contains("1572864") && text.contains("--max-request-bytes"), "{text}");
    }
    assert_eq!(count(), 127);
    store.write(|tx| tx.remove_span(KeySpan::FULL)).unwrap();
    assert_eq!(count(), 0);
}

#[test]
fn as_many_keys_can_be_new_as_can_be_put() {
    let Some(cluster) = as_they_come() else { return };
    let store = EtcdStore::open(&cluster.new_prefix()).unwrap();
    let put_new = || {
        let mut tx = store.begin(&TxOptions::writing())?;
        (0..127).try_for_each(|number| tx.put_new(&key(number), b"").map(|new| assert!(new)))?;
        tx.commit()
    };
    put_new().unwrap();
    let error = put_new().unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains("must be new"), "{error}");
}

/// Reads every second key of these.
fn every_second(tx: &dyn KvRead) {
    let keys: Vec<(Vec<u8>, Vec<u8>)> = (0..600)
        .step_by(2)
        .map(|number| (key(number), permazen_kv::key::next_key(&key(number))))
        .collect();
    let spans = keys.iter().map(|(key, next)| KeySpan::new(key, Some(next)));
    assert!(tx.prefetch(&spans.collect::<Vec<_>>()));
    keys.iter().for_each(|(key, _)| drop(tx.get(key).unwrap()));
}

#[test]
fn many_ranges_are_read_and_compared_as_fewer() {
    let Some(cluster) = as_they_come() else { return };
    let store = EtcdStore::open(&cluster.new_prefix()).unwrap();
    for (other, is_noticed) in [(300, true), (301, true), (901, false)] {
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        every_second(&*tx);
        store.write(|tx| tx.put(&key(other), b"")).unwrap();
        tx.put(b"done", b"").unwrap();
        let done = tx.commit();
        assert_eq!(done.is_err_and(|error| error.is_retryable()), is_noticed, "{other}");
    }
}

#[test]
fn where_servers_allow_it_ranges_are_compared_one_by_one() {
    let Some(cluster) = Etcd::shared().filter(|cluster| !cluster.endpoints().is_empty()) else {
        return;
    };
    let url = format!("{}?max_txn_ops=1000", cluster.new_prefix());
    let store = EtcdStore::open(&url).unwrap();
    for (other, is_noticed) in [(300, true), (301, false)] {
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        every_second(&*tx);
        store.write(|tx| tx.put(&key(other), b"")).unwrap();
        tx.put(b"done", b"").unwrap();
        let done = tx.commit();
        assert_eq!(done.is_err_and(|error| error.is_retryable()), is_noticed, "{other}");
    }
}

#[test]
fn no_commit_makes_the_cluster_compare_for_long() {
    let Some(cluster) = as_they_come() else { return };
    let store = EtcdStore::builder().most_checked(100).open(&cluster.new_prefix()).unwrap();
    for some in 0..3 {
        let fill = |number: usize| key(200 * some + 2 * number + 1);
        store.write(|tx| (0..100).try_for_each(|number| tx.put(&fill(number), b""))).unwrap();
    }
    let reading = |max: usize| {
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        let (min, max) = (key(0), key(2 * max));
        let span = KeySpan::new(&min, Some(&max));
        assert_eq!(tx.scan(span, Direction::Forward).unwrap().count(), max_of(&max));
        tx.put(b"done", b"").unwrap();
        tx.commit()
    };
    fn max_of(max: &[u8]) -> usize {
        std::str::from_utf8(&max[4..]).unwrap().parse::<usize>().unwrap() / 2
    }
    reading(100).unwrap();
    let error = reading(101).unwrap_err();
    let (text, error) = (error.to_string(), too_large(&error));
    assert!(text.contains("at most 100"), "{text}");
    assert_eq!(error.flag, "EtcdBuilder::most_checked");
    // Keys that were not read but lie between count as well.
    let mut tx = store.begin(&TxOptions::writing()).unwrap();
    every_second(&*tx);
    tx.put(b"done", b"").unwrap();
    let error = tx.commit().unwrap_err();
    let (text, error) = (error.to_string(), too_large(&error));
    assert!(text.contains("max_txn_ops"), "{text}");
    assert!(error.what.contains("more ranges"), "{text}");
}

/// etcd compares them as any other record.
#[test]
fn removed_pairs_count_until_they_are_swept() {
    let Some(cluster) = as_they_come() else { return };
    let url = cluster.new_prefix();
    let filler = EtcdStore::open(&url).unwrap();
    for some in [0..100, 100..200] {
        filler.write(|tx| some.clone().try_for_each(|number| tx.put(&key(number), b""))).unwrap();
        filler.write(|tx| some.clone().try_for_each(|number| tx.remove(&key(number)))).unwrap();
    }
    puts(&filler, 50, 1).unwrap();
    let store = EtcdStore::builder().most_checked(100).open(&url).unwrap();
    let read_all = || {
        let mut tx = store.begin(&TxOptions::writing()).unwrap();
        assert_eq!(tx.scan(KeySpan::FULL, Direction::Forward).unwrap().count(), 50);
        tx.put(&key(0), b"done").unwrap();
        tx.commit()
    };
    let error = read_all().unwrap_err();
    let error = too_large(&error);
    assert_eq!(error.flag, "EtcdBuilder::most_checked");
    assert!(error.what.contains("200 pairs, removed ones included"), "{}", error.what);
    assert!(error.what.contains("EtcdStore::sweep"), "{}", error.what);
    for _ in 0..2 {
        store.sweep().unwrap();
    }
    read_all().unwrap();
}

#[test]
fn large_values_come_in_pages() {
    let Some(cluster) = Etcd::shared() else { return };
    let store = EtcdStore::open(&cluster.new_prefix()).unwrap();
    for some in 0..6_u8 {
        store.write(|tx| tx.put(&[some], &vec![some; 3 << 20])).unwrap();
    }
    let tx = store.begin(&TxOptions::reading()).unwrap();
    for (at, pair) in tx.scan(KeySpan::FULL, Direction::Forward).unwrap().enumerate() {
        let (key, value) = pair.unwrap();
        assert!(key[..] == [at as u8] && value[..] == vec![at as u8; 3 << 20]);
    }
}

#[test]
fn what_is_compacted_is_read_again() {
    let Some(cluster) = Etcd::start(1, &[]) else { return };
    let store = EtcdStore::open(&cluster.new_prefix()).unwrap();
    let (early, mut late) =
        (store.begin(&TxOptions::writing()).unwrap(), store.begin(&TxOptions::writing()).unwrap());
    early.get(b"a").unwrap();
    late.get(b"a").unwrap();
    store.write(|tx| tx.put(b"key", b"")).unwrap();
    store.write(|tx| tx.put(b"key", b"2")).unwrap();
    let answer = post_to_etcd(cluster.endpoints()[0], "kv/compaction", r#"{"revision":"4"}"#);
    assert!(answer.contains("200 OK"), "{answer}");
    let error = early.get(b"b").unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains("compacted"), "{error}");
    // A transaction that reads no more commits.
    late.put(b"b", b"").unwrap();
    late.commit().unwrap();
}

/// The number that comes after a name in an answer.
fn number(answer: &str, name: &str) -> String {
    let rest = answer.split_once(&format!("\"{name}\":\"")).unwrap().1;
    rest.chars().take_while(char::is_ascii_digit).collect()
}

/// As the guide says it: a removed key leaves a tombstone until it is swept.
#[test]
fn a_cluster_that_objects_have_filled_is_emptied_with_more_room() {
    let small = ["--quota-backend-bytes=4194304"];
    let Some(mut cluster) = Etcd::start(1, &small) else { return };
    let store = EtcdStore::open(&cluster.new_prefix()).unwrap();
    let filled = (0..100).find_map(|at| puts_one(&store, at).err()).unwrap();
    assert!(matches!(filled, KvError::Full { .. }), "{filled}");
    let refused = store.write(|tx| tx.remove_span(KeySpan::FULL)).unwrap_err();
    assert!(matches!(refused, KvError::Full { .. }), "{refused}");
    let post = |cluster: &Etcd, path: &str, body: &str| {
        let answer = post_to_etcd(cluster.endpoints()[0], path, body);
        assert!(answer.contains("200 OK"), "{path}: {answer}");
        answer
    };
    let disarm = |cluster: &Etcd| {
        let alarms = post(cluster, "maintenance/alarm", r#"{"action":"GET"}"#);
        let member = number(&alarms, "memberID");
        let body = format!(r#"{{"action":"DEACTIVATE","memberID":"{member}","alarm":"NOSPACE"}}"#);
        post(cluster, "maintenance/alarm", &body);
    };
    cluster.restart_with(&["--quota-backend-bytes=16777216"]);
    disarm(&cluster);
    store.write(|tx| tx.remove_span(KeySpan::FULL)).unwrap();
    store.sweep().unwrap();
    assert!(store.sweep().unwrap() > 0);
    let range = post(&cluster, "kv/range", r#"{"key":"AA=="}"#);
    let revision = number(&range, "revision");
    let body = format!(r#"{{"revision":"{revision}","physical":true}}"#);
    post(&cluster, "kv/compaction", &body);
    post(&cluster, "maintenance/defragment", "{}");
    cluster.restart_with(&small);
    (0..4).for_each(|at| puts_one(&store, at).unwrap());
}

fn puts_one(store: &EtcdStore, at: usize) -> Result<(), KvError> {
    store.write(|tx| tx.put(&key(at), &vec![7; 1 << 18]))
}
