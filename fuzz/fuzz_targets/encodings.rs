//! Every encoding, decoding arbitrary bytes: the first byte chooses the encoding, the rest is
//! input.
#![no_main]

use libfuzzer_sys::fuzz_target;
use permazen::encoding::{Reader, Value};
use permazen_fuzz::{check_written, chosen, is_in_region};

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let encoding = chosen(choice);
    let canonical = encoding.check_canonical(bytes).is_ok();
    let mut reader = Reader::new(bytes);
    let Ok(value) = encoding.decode(&mut reader) else {
        assert!(!canonical, "canonical, but cannot be decoded");
        return;
    };
    let used = bytes.len() - reader.rest().len();
    let mut skipping = Reader::new(bytes);
    encoding.skip(&mut skipping).expect("what can be decoded can be skipped");
    assert_eq!(skipping.rest().len(), reader.rest().len(), "skip and decode end elsewhere");
    if let Some(written) = check_written(encoding, &value) {
        let may_differ = canonical && is_in_region(&value);
        assert!(canonical == (written == bytes) || may_differ, "check_canonical is wrong");
    }
    assert!(used > 0, "a value of no bytes");
    if value != Value::Null
        && let Ok(text) = encoding.to_text(&value)
    {
        let _ = encoding.from_text(&text);
    }
});
