//! Schema documents: each document that is read and valid comes back from its written forms.
#![no_main]

use libfuzzer_sys::fuzz_target;
use permazen::__internal::schema::{deflate, inflate};
use permazen::schema::{SchemaModel, XmlForm};

fuzz_target!(|document: &[u8]| {
    let _ = inflate(document);
    let Ok(model) = SchemaModel::from_xml(document) else { return };
    if model.validate().is_err() {
        return;
    }
    for pretty in [false, true] {
        let xml = model.to_xml(XmlForm { storage_ids: true, pretty });
        let again = SchemaModel::from_xml(xml.as_bytes()).expect("a written document is readable");
        assert_eq!(again, model);
    }
    let xml = model.to_xml(XmlForm::STORED);
    assert_eq!(inflate(&deflate(xml.as_bytes())).as_deref(), Ok(xml.as_bytes()));
});
