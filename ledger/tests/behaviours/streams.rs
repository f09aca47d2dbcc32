//! Rows 69 and 109: values that are written in parts.

use std::io::Write;

use permazen_kv::{KvDatabase, KvWrite, TxOptions};
use permazen_ledger::{LedgerError, MAIN, PageId, Repository};

use super::setting::{Setting, noise};

#[test]
fn rows_say_which_pieces_nothing_has() {
    let setting = Setting::new();
    // The second half is there already.
    setting.put(b"half", &[0; 65_536]);
    let mut writer = setting.page.write_value(None).unwrap();
    writer.write_all(&[1; 65_536]).unwrap();
    writer.write_all(&[0; 65_536]).unwrap();
    let value = writer.finish().unwrap();
    // Two chunks and an index piece; 1 is a piece that the writer has put.
    let transient: Vec<u8> = setting.rows(&[0x26]).into_values().map(|row| row[0]).collect();
    assert_eq!(transient.iter().filter(|written| **written == 1).count(), 2);
    assert_eq!(transient.len(), 3);
    let streams: Vec<u8> = setting.rows(&[0x31]).into_values().map(|row| row[0]).collect();
    assert_eq!(streams, [1]);
    // A commit has it, and then they are as all others.
    setting.write(MAIN, |tx| tx.put(b"key", value.as_bytes()).unwrap());
    setting.page.collect().unwrap();
    assert!(setting.rows(&[0x26]).is_empty() && setting.rows(&[0x31]).is_empty());
    assert_eq!(setting.get(b"key"), Some([[1; 65_536], [0; 65_536]].concat()));
}

#[test]
fn t069_what_a_crash_leaves_of_a_value_goes() {
    let setting = Setting::new();
    setting.put(b"key", &noise(1_000, 1));
    let mut writer = setting.page.write_value(None).unwrap();
    writer.write_all(&noise(3_000_000, 69)).unwrap();
    // The first MiB is stored before a thread stores the second.
    assert!(setting.pieces(2).len() > 20);
    // The writer is not dropped, as in a crash.
    std::mem::forget(writer);
    let repository = Repository::builder(setting.host.clone()).exclusive().manual_maintenance();
    let page = repository.open().unwrap().page("test", PageId::ROOT).unwrap();
    page.collect().unwrap();
    assert_eq!(setting.pieces(2).len(), 1);
    assert!(setting.rows(&[0x26]).is_empty() && setting.rows(&[0x31]).is_empty());
    assert!(page.verify().unwrap().is_clean());
}

#[test]
fn t109_a_reference_means_its_page() {
    let (one, other) = (Setting::new(), Setting::new());
    let mut writer = one.page.write_value(Some(1_000)).unwrap();
    writer.write_all(&noise(1_000, 109)).unwrap();
    let value = writer.finish().unwrap();
    let db = other.page.database(MAIN).unwrap();
    let mut tx = db.begin(&TxOptions::writing()).unwrap();
    tx.put(b"key", value.as_bytes()).unwrap();
    let error = LedgerError::from(tx.commit().unwrap_err());
    assert!(matches!(error, LedgerError::WrongPage { .. }), "{error}");
    assert_eq!(other.get(b"key"), None);
    one.write(MAIN, |tx| tx.put(b"key", value.as_bytes()).unwrap());
    assert_eq!(one.get(b"key"), Some(noise(1_000, 109)));
}
