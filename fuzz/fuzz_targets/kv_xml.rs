//! Pairs as XML: all pairs that are read come back from their written form, in every style.
#![no_main]

use libfuzzer_sys::fuzz_target;
use permazen_kv::memory::MemoryStore;
use permazen_kv::xml::{Entries, Style, dump, load};
use permazen_kv::{Direction, KeySpan, KvDatabase, KvRead, TxOptions};

fn pairs(store: &dyn KvRead) -> Vec<(Vec<u8>, Vec<u8>)> {
    let scan = store.scan(KeySpan::FULL, Direction::Forward).expect("memory");
    scan.map(|pair| pair.map(|(key, value)| (key.into_owned(), value.into_owned())))
        .collect::<Result<_, _>>()
        .expect("memory")
}

fuzz_target!(|document: &[u8]| {
    let store = MemoryStore::new();
    let mut tx = store.begin(&TxOptions::writing()).expect("memory");
    if load(&mut *tx, document).is_err() {
        return;
    }
    let content = pairs(&*tx);
    for style in [Style::Plain, Style::PlainCharacters, Style::Indented] {
        let mut text = Vec::new();
        dump(&*tx, KeySpan::FULL, style, &mut text).expect("memory");
        let again: Result<Vec<_>, _> = Entries::new(&text[..]).collect();
        assert_eq!(again.expect("a written document is readable"), content);
    }
});
