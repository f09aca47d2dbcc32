//! Values of one encoding as values of another: two bytes choose the encodings, the rest is a value
//! of the first.
#![no_main]

use libfuzzer_sys::fuzz_target;
use permazen::__internal::encoding::EncodingKind;
use permazen_fuzz::{check_written, chosen};

fuzz_target!(|input: &[u8]| {
    let &[from, to, ref bytes @ ..] = input else { return };
    let (from, to) = (chosen(from), chosen(to));
    let Ok(value) = from.decode_all(bytes) else { return };
    let converted = to.convert(from, &value);
    let _ = value.to_counter();
    if from.is_same(to) && check_written(from, &value).is_some() {
        assert_eq!(converted.as_ref(), Ok(&value));
    }
    let Ok(converted) = converted else { return };
    let unknown = |kind| matches!(kind, EncodingKind::Unknown);
    assert!(from.is_same(to) || !unknown(from.kind()) && !unknown(to.kind()));
    check_written(to, &converted);
});
