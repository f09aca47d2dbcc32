//! Serialized changes: all changes that are read come back from their written form. They can be
//! made, and then all keys that they put count as written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use permazen_kv::memory::MemoryStore;
use permazen_kv::overlay::MutableView;
use permazen_kv::{KvWrite, Writes};

fuzz_target!(|bytes: &[u8]| {
    let mut input = bytes;
    let Ok(writes) = Writes::decode(&mut input) else {
        assert_eq!(input, bytes, "a failure moved the input");
        return;
    };
    let written = writes.to_bytes().expect("what was read is short enough to be written");
    let mut rest = &written[..];
    assert_eq!(Writes::decode(&mut rest).as_ref().ok(), Some(&writes));
    assert!(rest.is_empty());

    let mut view = MutableView::untracked(MemoryStore::new().snapshot());
    view.apply(&writes).expect("memory");
    assert!(writes.puts.keys().all(|key| view.writes().touches(key)));
});
