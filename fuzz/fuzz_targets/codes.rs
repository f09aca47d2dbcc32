//! The codes everything else is made of, from bytes and from text: numbers, storage ids, object
//! ids, ids of encodings and of schema items. Every input is given to all of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use permazen::__internal::layout;
use permazen::encoding::{EncodingId, Reader, long, string, uint};
use permazen::schema::SchemaId;
use permazen::{ObjId, StorageId};

fuzz_target!(|input: &[u8]| {
    number(input, uint::read, uint::skip, uint::len_from_first, |number, out| {
        uint::write(number, out);
        uint::len(number)
    });
    number(input, long::read, long::skip, long::len_from_first, |number, out| {
        long::write(number, out);
        long::len(number)
    });
    order(input);
    strings(input);
    if let Ok(id) = StorageId::read_from(&mut Reader::new(input)) {
        let (min, max) = id.key_range();
        assert!(id.prefix() == min && min < max);
        assert!(ObjId::min(id) <= ObjId::max(id));
    }
    if let Ok(id) = ObjId::from_slice(input) {
        assert_eq!(id.as_bytes(), input);
        assert_eq!(id.to_string().parse(), Ok(id));
        let (storage_id, _) = (id.storage_id(), layout::parse_key(input));
        assert!(storage_id.get() > 0);
    }
    if let Ok(text) = std::str::from_utf8(input) {
        ids(text);
    }
});

/// One of the number codes.
fn number<N: Copy + PartialEq + std::fmt::Debug>(
    input: &[u8],
    read: fn(&mut Reader<'_>) -> permazen::encoding::Result<N>,
    skip: fn(&mut Reader<'_>) -> permazen::encoding::Result<()>,
    len_from_first: fn(u8) -> permazen::encoding::Result<usize>,
    write: fn(N, &mut Vec<u8>) -> usize,
) {
    let mut reader = Reader::new(input);
    let Ok(number) = read(&mut reader) else { return };
    let used = input.len() - reader.rest().len();
    assert_eq!(len_from_first(input[0]), Ok(used));
    let mut skipping = Reader::new(input);
    skip(&mut skipping).expect("what can be read can be skipped");
    assert_eq!(skipping.rest(), reader.rest());
    let mut written = Vec::new();
    assert_eq!(write(number, &mut written), written.len());
    assert!(written.len() <= used, "the canonical form is the shortest");
    assert_eq!(read(&mut Reader::new(&written)), Ok(number));
}

/// Numbers sort as their bytes do.
fn order(input: &[u8]) {
    let Some((first, rest)) = input.split_first_chunk::<8>() else { return };
    let Some((second, _)) = rest.split_first_chunk::<8>() else { return };
    let [a, b] = [first, second].map(|bytes| i64::from_be_bytes(*bytes));
    let bytes = |number| {
        let mut out = Vec::new();
        long::write(number, &mut out);
        out
    };
    assert_eq!(a.cmp(&b), bytes(a).cmp(&bytes(b)));
}

fn strings(input: &[u8]) {
    let mut java = Reader::new(input);
    let Ok(read) = string::read_java(&mut java) else { return };
    let mut skipping = Reader::new(input);
    string::skip(&mut skipping).expect("what can be read can be skipped");
    assert_eq!(skipping.rest(), java.rest());
    let units = string::read_units(&mut Reader::new(input)).expect("the same string");
    assert!(read.units().eq(units.iter().copied()));
    assert!(units.len() <= input.len(), "no more units than bytes");
    match string::read_cow(&mut Reader::new(input)) {
        Ok(text) => {
            assert_eq!(read.as_str(), Some(&*text));
            let mut written = Vec::new();
            string::write(&text, &mut written);
            assert_eq!(string::read(&mut Reader::new(&written)).as_deref(), Ok(&*text));
        }
        Err(_) => assert_eq!(read.as_str(), None),
    }
}

fn ids(text: &str) {
    if let Ok(id) = text.parse::<ObjId>() {
        assert_eq!(id.to_string(), text.to_lowercase());
    }
    if let Ok(id) = text.parse::<SchemaId>() {
        assert_eq!(id.to_string(), text);
    }
    for id in [EncodingId::new(text), EncodingId::from_alias(text)].into_iter().flatten() {
        assert_eq!(EncodingId::from_alias(id.alias()).as_ref(), Ok(&id));
        assert_eq!(EncodingId::new(id.as_str()).as_ref(), Ok(&id));
        if let Ok(array) = id.array() {
            assert_eq!(array.element(), Some(id.clone()));
            assert_eq!(array.dimensions(), id.dimensions() + 1);
        }
    }
}
