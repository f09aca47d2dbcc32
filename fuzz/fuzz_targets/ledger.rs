//! The bytes of a ledger: bytes that a decoder takes are the only encoding of their value. The
//! first byte chooses the decoder, or all of them; rows have the length of their key after it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use permazen_ledger::decoders::{commit, index, node, page_key, reference, repository_key};

fuzz_target!(|input: &[u8]| {
    let Some((decoder, bytes)) = input.split_first() else { return };
    let decoders = [node, index, commit, reference];
    match decoders.get(usize::from(*decoder)) {
        Some(decode) => same(decode(bytes), bytes),
        None => decoders.iter().for_each(|decode| same(decode(bytes), bytes)),
    }
    let Some((len, rest)) = bytes.split_first() else { return };
    let Some((key, row)) = rest.split_at_checked(usize::from(*len)) else { return };
    same(page_key(1, key, row), key);
    if key.first() != Some(&0x10) {
        same(repository_key(key, row), key);
    }
});

fn same(encoded: Option<Vec<u8>>, bytes: &[u8]) {
    if let Some(encoded) = encoded {
        assert_eq!(encoded, bytes, "another encoding of the same");
    }
}
