//! Meta-data of a damaged database: opening it gives an error or schemas that make sense.
//!
//! The input is a list of pairs, each a byte for the key's length, the key without its leading
//! `00`, two bytes for the value's length, and the value; a value that begins with `<` is
//! compressed first, so that the fuzzer need not invent zlib streams.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use permazen::__internal::layout::{self, FORMAT_VERSION_KEY};
use permazen::__internal::schema::{
    DatabaseState, SchemaConfig, SchemaTables, deflate, open_schema,
};
use permazen::encoding::EncodingRegistry;
use permazen::kv::memory::MemoryStore;
use permazen::kv::{KvDatabase, TxOptions};

fuzz_target!(|input: &[u8]| {
    let store = MemoryStore::new();
    let mut tx = store.begin(&TxOptions::default()).expect("memory");
    tx.put(FORMAT_VERSION_KEY, &[1]).expect("memory");
    let mut rest = input;
    while let Some((key, value, after)) = pair(rest) {
        let key = [&[0], key].concat();
        let _ = layout::parse_key(&key);
        let _ = layout::parse_object_info(value);
        let value = if value.starts_with(b"<") { deflate(value) } else { value.to_vec() };
        tx.put(&key, &value).expect("memory");
        rest = after;
    }
    let before = SchemaTables::read(&*tx).ok();
    let state = DatabaseState::new(Arc::new(EncodingRegistry::new()));
    match open_schema(&mut *tx, &state, &SchemaConfig::empty()) {
        Err(_) => {
            assert_eq!(SchemaTables::read(&*tx).ok(), before, "an error leaves all as it was")
        }
        Ok(opened) => {
            let stored = SchemaTables::read(&*tx).expect("readable after opening");
            assert_eq!(stored, **opened.bundle.tables());
        }
    }
});

fn pair(input: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (&key_len, rest) = input.split_first()?;
    let (key, rest) = rest.split_at_checked(usize::from(key_len))?;
    let (value_len, rest) = rest.split_first_chunk()?;
    let (value, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*value_len)))?;
    Some((key, value, rest))
}
