//! A list of encodings of all kinds.

use std::sync::Arc;

use permazen::__internal::encoding::{EnumArrayEncoding, EnumEncoding, ReferenceEncoding};
use permazen::encoding::{Encoding, EncodingRegistry};

/// Every built-in encoding, arrays of one and two dimensions, and encodings that schemas build.
pub(crate) fn all_encodings() -> Vec<Arc<dyn Encoding>> {
    let registry = EncodingRegistry::new();
    let mut all: Vec<Arc<dyn Encoding>> = Vec::new();
    for id in registry.ids() {
        let array = id.array().expect("few dimensions");
        let nested = array.array().expect("few dimensions");
        all.extend([id, array, nested].iter().filter_map(|id| registry.get(id)));
    }
    let colours = || EnumEncoding::new(["RED", "GREEN", "BLUE"]).expect("identifiers");
    all.push(Arc::new(colours()));
    all.push(EnumArrayEncoding::build(colours(), 2).expect("two dimensions"));
    all.push(Arc::new(ReferenceEncoding::new(None)));
    all
}
