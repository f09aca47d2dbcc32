//! The checker on a damaged database: the input says which pairs of a small database to change and
//! how. Repair must end, and leave a database in which nothing is found, or refuse.
#![no_main]

use std::num::NonZeroUsize;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, TxOptions, xml};
use permazen_jsck::{Options, check, repair};

static STORE: LazyLock<MemoryStore> = LazyLock::new(|| {
    let store = MemoryStore::new();
    let mut kv = store.begin(&TxOptions::writing()).expect("begin");
    let dump = include_bytes!("../../tests/data/reference/R.kv.xml");
    xml::load(&mut *kv, &dump[..]).expect("load");
    kv.commit().expect("commit");
    store
});

/// The keys of the database before any damage, in order.
static KEYS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let kv = STORE.begin(&TxOptions::default()).expect("begin");
    let pairs = kv.scan(KeySpan::FULL, Direction::Forward).expect("scan");
    pairs.map(|pair| pair.expect("pair").0.into_owned()).collect()
});

/// One thread, so that the same input does the same each time; and made once, since asking how many
/// there may be takes long.
static OPTIONS: LazyLock<Options> = LazyLock::new(|| {
    let mut options = Options::default();
    options.threads = NonZeroUsize::MIN;
    options
});

fuzz_target!(|input: &[u8]| {
    let keys = &*KEYS;
    let mut kv = STORE.begin(&TxOptions::writing()).expect("begin");
    // Each change: which pair, how, how many bytes follow, those bytes.
    let mut rest = input;
    while let [which, how, len, bytes @ ..] = rest {
        let (bytes, tail) = bytes.split_at(usize::from(*len).min(bytes.len()));
        rest = tail;
        let key = &keys[usize::from(*which) % keys.len()];
        match how % 4 {
            0 => kv.remove(key).expect("remove"),
            1 => kv.put(key, bytes).expect("put"),
            2 => kv.put(bytes, &[]).expect("put"),
            _ => {
                let cut = usize::from(how / 4) % (key.len() + 1);
                kv.put(&[&key[..cut], bytes].concat(), &[]).expect("put");
            }
        }
    }
    let report = check(&*kv, &OPTIONS, &mut |_| {}).expect("damage is no error");
    let repaired = repair(&mut *kv, &OPTIONS, &mut |_| {}, &mut |_| {}, &mut |_| Ok(()))
        .expect("repair comes to an end");
    assert_eq!(report, repaired.found);
    if repaired.left.unrepairable == 0 {
        assert_eq!(repaired.left.findings, 0);
    }
    kv.rollback();
});
