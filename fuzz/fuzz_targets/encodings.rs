//! Every encoding, decoding arbitrary bytes: the first byte chooses the encoding, the rest is input.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use permazen::encoding::{
    Encoding, EncodingRegistry, EnumArrayEncoding, EnumEncoding, Reader, ReferenceEncoding, Value,
};

static ENCODINGS: LazyLock<Vec<Arc<dyn Encoding>>> = LazyLock::new(|| {
    let registry = EncodingRegistry::new();
    let mut encodings: Vec<Arc<dyn Encoding>> =
        registry.ids().iter().filter_map(|id| registry.get(id)).collect();
    for alias in ["String[]", "UUID[][]", "Date[]", "byte[][]", "URI[]"] {
        encodings.extend(registry.find_alias(alias).ok().flatten());
    }
    let constants = || EnumEncoding::new(["A", "B", "C"].map(String::from));
    encodings.extend(constants().ok().map(|e| Arc::new(e) as Arc<dyn Encoding>));
    encodings.extend(constants().ok().and_then(|e| EnumArrayEncoding::build(e, 2).ok()));
    encodings.push(Arc::new(ReferenceEncoding::new(None)));
    encodings
});

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let encoding = &*ENCODINGS[usize::from(choice) % ENCODINGS.len()];
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
    let mut written = Vec::new();
    if encoding.encode(&value, &mut written).is_ok() {
        // A zoned time may keep the offset that an older edition of its zone's rules gave it.
        let may_differ = encoding.name().contains("ZonedDateTime");
        let same = written == bytes;
        assert!(canonical == same || (canonical && may_differ), "check_canonical is wrong");
        let mut again = Reader::new(&written);
        assert_eq!(encoding.decode(&mut again).expect("what was written"), value);
        assert!(again.is_empty());
        assert!(encoding.check_canonical(&written).is_ok());
    }
    assert!(used > 0, "a value of no bytes");
    if value != Value::Null
        && let Ok(text) = encoding.to_text(&value)
    {
        let _ = encoding.from_text(&text);
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(value) = encoding.from_text(text)
    {
        let _ = encoding.encode(&value, &mut Vec::new());
    }
});
