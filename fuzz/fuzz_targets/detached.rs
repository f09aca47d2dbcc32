//! Typed transactions in memory as bytes: any bytes, and a good one with damage. Either they are
//! refused, or the transaction can be used, with errors where it is damaged, and comes back from
//! the bytes that it writes.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use permazen::model::Detached;
use permazen_fuzz::model::{DATABASE, SMALL, Settings, Thing, thing};
use permazen_kv::Writes;

const HEADER: &[u8] = b"permazen detached 1\n";

/// The pairs of a good transaction.
static PAIRS: LazyLock<Writes> = LazyLock::new(|| {
    let mut body = SMALL.strip_prefix(HEADER).expect("the header");
    Writes::decode(&mut body).expect("it was written here")
});

/// A transaction with damage. Each change: which pair, how, how many bytes follow, those bytes.
fn damaged(mut changes: &[u8]) -> Vec<u8> {
    let mut writes = PAIRS.clone();
    while let [which, how, len, bytes @ ..] = changes {
        let (bytes, tail) = bytes.split_at(usize::from(*len).min(bytes.len()));
        changes = tail;
        let keys = PAIRS.puts.len();
        let key = PAIRS.puts.keys().nth(usize::from(*which) % keys).expect("a pair").clone();
        let cut = usize::from(how / 4);
        let (key, value) = match how % 4 {
            0 => {
                writes.puts.remove(&key);
                continue;
            }
            1 => (key, bytes.to_vec()),
            2 => {
                let value = &PAIRS.puts[&key];
                let value = [&value[..cut % (value.len() + 1)], bytes].concat();
                (key, value)
            }
            _ => ([&key[..cut % (key.len() + 1)], bytes].concat(), Vec::new()),
        };
        writes.puts.insert(key, value);
    }
    [HEADER, &writes.to_bytes().expect("short")].concat()
}

/// Reads all there is. Damage makes errors.
fn read(tx: &Detached) -> permazen::Result<()> {
    let everything = tx.everything()?.to_vec()?;
    for object in &everything {
        let _ = object.fields();
        let _ = tx.export_graph([object.id()]);
    }
    for thing in tx.all::<Thing>()? {
        let thing = thing?;
        let _ = (thing.load(), thing.text(), thing.next(), thing.count().get());
        let _ = thing.others().and_then(|others| others.iter().collect::<Result<Vec<_>, _>>());
        let _ = thing.referrers(Thing::NEXT).and_then(|found| found.to_vec());
    }
    let _ = tx.singleton::<Settings>();
    let _ = tx.find(Thing::MAYBE, "maybe");
    for entry in tx.index(Thing::TEXT)?.iter() {
        let _ = entry;
    }
    for entry in tx.index(Thing::BY_TEXT_NUMBER)?.iter() {
        let _ = entry;
    }
    tx.validate()
}

/// Changes objects. An operation that fails changes nothing.
fn change(tx: &Detached) -> permazen::Result<()> {
    let two = tx.get::<Thing>(thing(2))?;
    let attempts: [&dyn Fn() -> permazen::Result<()>; 5] = [
        &|| two.set_text("another"),
        &|| two.set_next(two),
        &|| two.others()?.clear(),
        &|| two.delete().map(|_| ()),
        &|| tx.get::<Thing>(thing(1))?.delete().map(|_| ()),
    ];
    for attempt in attempts {
        let before = tx.to_bytes()?;
        if attempt().is_err() {
            assert_eq!(tx.to_bytes()?, before, "an error changes nothing");
        }
    }
    Ok(())
}

fuzz_target!(|input: &[u8]| {
    // The first byte gives the kind of the others.
    let Some((form, rest)) = input.split_first() else { return };
    let bytes = match form % 3 {
        0 => rest.to_vec(),
        1 => [HEADER, rest].concat(),
        _ => damaged(rest),
    };
    let Ok(tx) = DATABASE.detached_from_bytes(&bytes) else { return };
    let written = tx.to_bytes().expect("it was read");
    let again = DATABASE.detached_from_bytes(&written).expect("what was written is readable");
    assert_eq!(again.to_bytes().expect("memory"), written);
    let _ = read(&tx);
    let _ = change(&tx);
});
