//! Code that several fuzz targets share.

pub mod model;

use std::sync::{Arc, LazyLock};

use permazen::__internal::encoding::{
    EnumArrayEncoding, EnumEncoding, NullSafe, ObjIdEncoding, ReferenceEncoding, StringEncoding,
    TupleEncoding, TypedEncoding, UnknownEncoding, UnsignedIntEncoding,
};
use permazen::encoding::{Encoding, EncodingId, EncodingRegistry, Value};

/// Encodings of every kind: the built-in ones, arrays, and those that schemas and the layers above
/// build. Inputs name them by position. New ones go to the end; a new built-in one moves those
/// after it.
pub static ENCODINGS: LazyLock<Vec<Arc<dyn Encoding>>> = LazyLock::new(|| {
    let registry = EncodingRegistry::new();
    let mut encodings: Vec<Arc<dyn Encoding>> =
        registry.ids().iter().filter_map(|id| registry.get(id)).collect();
    let find = |alias: &str| registry.find_alias(alias).ok().flatten();
    for alias in ["String[]", "UUID[][]", "Date[]", "byte[][]", "URI[]"] {
        encodings.extend(find(alias));
    }
    let constants = || EnumEncoding::new(["A", "B", "C"].map(String::from));
    encodings.extend(constants().ok().map(|e| Arc::new(e) as Arc<dyn Encoding>));
    encodings.extend(constants().ok().and_then(|e| EnumArrayEncoding::build(e, 2).ok()));
    encodings.push(Arc::new(ReferenceEncoding::new(None)));

    let plain: [Arc<dyn Encoding>; 3] = [
        Arc::new(UnsignedIntEncoding),
        Arc::new(ObjIdEncoding),
        Arc::new(StringEncoding::not_null()),
    ];
    encodings.extend(plain.iter().map(Arc::clone));
    encodings.push(Arc::new(TypedEncoding::<f64>::not_null()));
    encodings.extend(plain.into_iter().filter_map(null_safe));
    let tuples: [&[&str]; 5] = [
        &["int", "String"],
        &["String", "BigDecimal", "UUID"],
        &["Double", "Date[]", "ZonedDateTime", "boolean"],
        &["char", "Void", "MonthDay", "BitSet", "int[]"],
        &["boolean[]", "double[]"],
    ];
    for aliases in tuples {
        let components: Vec<_> = aliases.iter().filter_map(|alias| find(alias)).collect();
        if let Ok(tuple) = TupleEncoding::new(components) {
            let tuple: Arc<dyn Encoding> = Arc::new(tuple);
            encodings.push(Arc::clone(&tuple));
            encodings.extend(null_safe(tuple));
        }
    }
    let unknown = EncodingId::new("urn:example:unknown").ok();
    encodings.extend(unknown.map(|id| Arc::new(UnknownEncoding::new(id)) as Arc<dyn Encoding>));
    encodings
});

fn null_safe(inner: Arc<dyn Encoding>) -> Option<Arc<dyn Encoding>> {
    NullSafe::new(None, inner).ok().map(|encoding| Arc::new(encoding) as Arc<dyn Encoding>)
}

/// The encoding a byte of the input stands for.
pub fn chosen(choice: u8) -> &'static dyn Encoding {
    &*ENCODINGS[usize::from(choice) % ENCODINGS.len()]
}

/// Whether a value is a time in a region, or has one among its parts. Such a time may be stored
/// with an offset that an older edition of the region's rules gave it.
pub fn is_in_region(value: &Value) -> bool {
    match value {
        Value::ZonedDateTime(time) => time.zone().region().is_some(),
        Value::Array(items) | Value::Tuple(items) => items.iter().any(is_in_region),
        _ => false,
    }
}

/// Checks that a value that can be written is read back, from bytes its encoding calls its own. A
/// few values can be read but not written, all of them zero with a negative scale or the like.
pub fn check_written(encoding: &dyn Encoding, value: &Value) -> Option<Vec<u8>> {
    let mut written = b"before".to_vec();
    if encoding.encode(value, &mut written).is_err() {
        assert_eq!(written, b"before", "an error leaves what was there");
        return None;
    }
    let written = written.split_off(6);
    assert_eq!(encoding.decode_all(&written).as_ref(), Ok(value));
    assert!(encoding.check_canonical(&written).is_ok());
    assert!(encoding.has_prefix_00() || written[0] != 0x00);
    assert!(encoding.has_prefix_ff() || written[0] != 0xff);
    Some(written)
}
