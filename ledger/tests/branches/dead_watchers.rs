//! A watcher that is no longer asked keeps no history, and says so when it is asked again.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use permazen_kv::memory::MemoryStore;
use permazen_kv::{KvDatabase, KvWrite, TxOptions};
use permazen_ledger::{
    CommitId, LedgerError, MAIN, NewValue, NotificationPart, Page, PageId, Repository, Retention,
};

use super::watch::{LONG, keys, told};
use crate::support::clock::TestClock;
use crate::support::page::{content, put};

/// A little less than the time after which a watcher that is not asked keeps nothing.
const NEARLY: u64 = 599_000;

struct Setting {
    clock: Arc<TestClock>,
    repository: Repository,
    page: Page,
}

impl Setting {
    /// A page that keeps no history without a reason.
    fn new() -> Self {
        let clock = TestClock::at(1_700_000_000_000);
        let builder = Repository::builder(MemoryStore::new()).exclusive().manual_maintenance();
        let repository = builder.clock(clock.clone()).open_or_create().unwrap();
        let page = repository.create_page("test", PageId::ROOT).unwrap();
        page.set_retention(Retention::Heads).unwrap();
        Setting { clock, repository, page }
    }

    fn put(&self, key: &[u8], value: &[u8]) -> CommitId {
        put(&self.page, MAIN, key, value)
    }

    /// Lets time pass; then the periodic work is done, and all garbage is removed.
    fn pass(&self, millis: u64) {
        self.clock.advance(Duration::from_millis(millis));
        self.repository.maintain().unwrap();
        self.page.collect().unwrap();
    }

    fn is_kept(&self, commit: &CommitId) -> bool {
        match self.page.commit(commit) {
            Ok(_) => true,
            Err(LedgerError::NoCommit { .. }) => false,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_watcher_that_is_not_asked_keeps_nothing_after_ten_minutes() {
    let setting = Setting::new();
    setting.put(b"a", b"1");
    let mut watcher = setting.page.watch(MAIN, b"").unwrap();
    let first = setting.put(b"a", b"2");
    assert_eq!(keys(&told(&mut watcher)), [b"a"]);
    setting.put(b"b", b"1");
    setting.pass(NEARLY);
    assert!(setting.is_kept(&first));
    // A watcher that is asked in time returns the differences.
    let second = setting.put(b"c", b"1");
    let notification = told(&mut watcher);
    assert_eq!((keys(&notification), notification.lost), (vec![&b"b"[..], b"c"], false));
    setting.pass(NEARLY);
    assert!(!setting.is_kept(&first) && setting.is_kept(&second));

    setting.put(b"d", b"1");
    setting.pass(2_000);
    assert!(!setting.is_kept(&second));
    let third = setting.put(b"a", b"3");
    let notification = told(&mut watcher);
    assert_eq!((notification.lost, notification.part), (true, NotificationPart::Whole));
    assert_eq!((notification.updates.len(), notification.commit), (0, third));
    assert_eq!(watcher.commit(), third);
    // The snapshot is there for as long as the watcher is asked, whichever commits come.
    setting.put(b"e", b"1");
    setting.pass(NEARLY);
    let mut copy = content(&setting.page, &notification.commit);
    assert_eq!(copy.len(), 4);
    let notification = told(&mut watcher);
    assert_eq!((notification.lost, notification.moved), (false, false));
    for update in notification.updates {
        let Some(NewValue::Whole(value)) = update.value else { continue };
        copy.insert(update.key, value);
    }
    assert_eq!(copy, content(&setting.page, &setting.page.head(MAIN).unwrap()));
    assert_eq!(watcher.next(Duration::ZERO).unwrap(), None);
}

#[test]
fn what_is_kept_for_another_reason_is_told_exactly() {
    let setting = Setting::new();
    let first = setting.put(b"a", b"1");
    setting.page.set_tag("first", &first).unwrap();
    let mut watcher = setting.page.watch(MAIN, b"").unwrap();
    setting.put(b"b", b"1");
    setting.pass(NEARLY + 2_000);
    let second = setting.put(b"c", b"1");
    let notification = told(&mut watcher);
    assert_eq!((keys(&notification), notification.lost), (vec![&b"b"[..], b"c"], false));
    assert_eq!(notification.commit, second);
}

#[test]
fn parts_begin_again_or_are_lost() {
    for is_kept in [true, false] {
        let setting = Setting::new();
        let first = setting.put(b"a", b"1");
        if is_kept {
            setting.page.set_tag("first", &first).unwrap();
        }
        let mut watcher = setting.page.watch(MAIN, b"").unwrap();
        let db = setting.page.database(MAIN).unwrap();
        let mut tx = db.begin(&TxOptions::writing()).unwrap();
        (0..40_u8).for_each(|key| tx.put(&[key], &[7; 60_000]).unwrap());
        tx.commit().unwrap();
        let begun = told(&mut watcher);
        assert_eq!(begun.part, NotificationPart::Started);
        setting.put(b"z", b"1");
        setting.pass(NEARLY);
        // In time, they continue with the commit with which they have begun.
        let more = told(&mut watcher);
        assert_eq!((more.part, more.commit), (NotificationPart::Continued, begun.commit));
        setting.pass(NEARLY + 2_000);
        assert_eq!(setting.is_kept(&first), is_kept);
        assert!(!setting.is_kept(&begun.commit));
        let again = told(&mut watcher);
        assert_eq!(again.commit, setting.page.head(MAIN).unwrap());
        match is_kept {
            true => {
                assert_eq!((again.part, again.lost), (NotificationPart::Started, false));
                assert_eq!(again.updates[0], begun.updates[0]);
            }
            false => assert!(again.lost && again.updates.is_empty()),
        }
    }
}

#[test]
fn a_function_that_does_not_return_keeps_nothing() {
    let setting = Setting::new();
    let (sender, receiver) = mpsc::channel();
    let (go_on, wait) = mpsc::channel::<()>();
    let watcher = setting.page.watch(MAIN, b"").unwrap();
    let subscription = watcher.subscribe(move |told| {
        sender.send(told.unwrap()).unwrap();
        // Nothing is sent: it ends with the sender.
        let _ = wait.recv();
    });
    let subscription = subscription.unwrap();
    let first = setting.put(b"a", b"1");
    assert!(!receiver.recv_timeout(LONG).unwrap().lost);
    setting.put(b"a", b"2");
    setting.pass(NEARLY);
    assert!(setting.is_kept(&first));
    setting.pass(2_000);
    assert!(!setting.is_kept(&first));
    drop(go_on);
    let told = receiver.recv_timeout(LONG).unwrap();
    assert!(told.lost && told.updates.is_empty());
    assert_eq!(told.commit, setting.page.head(MAIN).unwrap());
    drop(subscription);
}

#[test]
fn a_connection_that_is_not_asked_is_lost_too() {
    let setting = Setting::new();
    setting.put(b"a", b"1");
    let connection = setting.page.connect(MAIN).unwrap();
    let mut watcher = connection.watch(b"").unwrap();
    setting.put(b"a", b"2");
    setting.pass(NEARLY + 2_000);
    setting.put(b"a", b"3");
    assert!(told(&mut watcher).lost);
    let mut tx = connection.start().unwrap();
    tx.put(b"a", b"4").unwrap();
    tx.commit().unwrap();
    let notification = told(&mut watcher);
    assert_eq!((keys(&notification), notification.lost), (vec![&b"a"[..]], false));
}
