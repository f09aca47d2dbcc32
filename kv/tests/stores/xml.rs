//! Raw pairs as XML, compared with documents that Permazen for Java has written or read.

use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use permazen_kv::memory::MemoryStore;
use permazen_kv::xml::{Entries, Style, XmlError, dump, load};
use permazen_kv::{
    Direction, Hex, KeySpan, KvDatabase, KvRead, KvTransaction, TxOptions, key::parse_hex,
};
use proptest::prelude::*;
use serde_json::Value;

type Pairs = Vec<(String, String)>;

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(path)
}

fn unzipped(path: &Path) -> Vec<u8> {
    let file = std::fs::File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

fn vectors() -> Value {
    serde_json::from_slice(&unzipped(&data("vectors/xml-kv.json.gz"))).unwrap()
}

fn writing(store: &MemoryStore) -> Box<dyn KvTransaction + Send> {
    store.begin(&TxOptions::writing()).unwrap()
}

fn pairs(store: &dyn KvRead) -> Pairs {
    let scan = store.scan(KeySpan::FULL, Direction::Forward).unwrap();
    scan.map(|pair| {
        let (key, value) = pair.unwrap();
        (Hex(&key).to_string(), Hex(&value).to_string())
    })
    .collect()
}

fn expected(pairs: &Value) -> Pairs {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    pairs.as_array().unwrap().iter().map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
}

fn dumped(store: &dyn KvRead, span: KeySpan<'_>, style: Style) -> (u64, String) {
    let mut out = Vec::new();
    let count = dump(store, span, style, &mut out).unwrap();
    (count, String::from_utf8(out).unwrap())
}

#[test]
fn t096_documents_are_those_of_java() {
    let vectors = vectors();
    let cases = vectors["raw_written"].as_array().unwrap();
    assert_eq!(cases.len(), 12);
    for case in cases {
        let store = MemoryStore::new();
        let mut tx = writing(&store);
        for (key, value) in expected(&case["pairs"]) {
            tx.put(&parse_hex(&key).unwrap(), &parse_hex(&value).unwrap()).unwrap();
        }
        for (style, name) in [
            (Style::Plain, "plain"),
            (Style::Indented, "indented"),
            (Style::PlainCharacters, "plain_characters"),
        ] {
            let (count, text) = dumped(&*tx, KeySpan::FULL, style);
            assert_eq!(text, case[name].as_str().unwrap());
            assert_eq!(count, case["count"].as_u64().unwrap());
        }
    }
}

#[test]
fn t097_documents_are_accepted_and_refused_as_by_java() {
    let vectors = vectors();
    let cases = vectors["raw"].as_array().unwrap();
    assert_eq!(cases.len(), 71);
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let bytes = match case["xml_bytes"].as_str() {
            Some(hex) => parse_hex(hex).unwrap(),
            None => case["xml"].as_str().unwrap().as_bytes().to_vec(),
        };
        let store = MemoryStore::new();
        let mut tx = writing(&store);
        let result = load(&mut *tx, &bytes[..]);
        if case["ok"].as_bool().unwrap() {
            // The count of Java leaves out pairs without a <value> element; ours does not.
            let count = result.unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(count >= case["count"].as_u64().unwrap(), "{name}");
            assert_eq!(pairs(&*tx), expected(&case["pairs"]), "{name}");
        } else {
            let error = result.expect_err(name);
            assert!(matches!(error, XmlError::Document { .. }), "{name}: {error}");
        }
    }
}

#[test]
fn t097_loading_overwrites_and_does_not_clear() {
    let store = MemoryStore::new();
    let mut tx = writing(&store);
    tx.put(&[1], &[1]).unwrap();
    tx.put(&[2], &[2]).unwrap();
    let text = "<entries><entry><key>02</key></entry><entry><key>03</key><value>aa</value></entry>\
                <entry><key>03</key><value>bb</value></entry></entries>";
    assert_eq!(load(&mut *tx, text.as_bytes()).unwrap(), 3);
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(pairs(&*tx), [pair("01", "01"), pair("02", ""), pair("03", "bb")]);
}

#[test]
fn golden_documents_come_out_as_they_went_in() {
    let mut files = vec![];
    for folder in ["traces", "databases", "databases/empty"] {
        for entry in std::fs::read_dir(data(folder)).unwrap() {
            let path = entry.unwrap().path();
            files.push(if path.is_dir() { path.join("kv.xml.gz") } else { path });
        }
    }
    files.retain(|path| path.to_string_lossy().ends_with("kv.xml.gz") && path.exists());
    assert!(files.len() > 50, "{} documents", files.len());
    for path in files {
        let document = unzipped(&path);
        let store = MemoryStore::new();
        let mut tx = writing(&store);
        let loaded = load(&mut *tx, &document[..]).unwrap();
        let indented = document.starts_with(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let style = if indented { Style::Indented } else { Style::Plain };
        let (written, text) = dumped(&*tx, KeySpan::FULL, style);
        assert_eq!(written, loaded);
        // The recorder added a final new line to the documents of the traces.
        let document = document.strip_suffix(b"\n").unwrap_or(&document);
        assert!(text.as_bytes() == document, "{}", path.display());
    }
}

#[test]
fn a_dump_can_be_of_a_part() {
    let store = MemoryStore::new();
    let mut tx = writing(&store);
    for key in 0..4 {
        tx.put(&[key], &[key]).unwrap();
    }
    let (count, text) = dumped(&*tx, KeySpan::new(&[1], Some(&[2])), Style::PlainCharacters);
    assert_eq!(count, 1);
    let entry = "<entry><key>01</key><value>01</value></entry>";
    assert_eq!(text, format!("<?xml version=\"1.0\"?><entries>{entry}</entries>"));
    let reversed = dump(&*tx, KeySpan::new(&[2], Some(&[1])), Style::Plain, &mut Vec::new());
    assert!(matches!(reversed, Err(XmlError::Store(_))));
}

#[test]
fn errors_say_where() {
    let rows = [
        ("<entries>\n  <entry>\n    <key>01</value>", (3, 12), "key"),
        ("<entries>\n  <pair/>\n</entries>", (2, 3), "<pair>"),
        ("<entries>\n<entry><value>02</value></entry>", (2, 8), "expected opening <key>"),
        ("<entries><entry><key>0\n1</key>", (1, 23), "'\\n'"),
        ("<entries><entry><key>01\n  0x</key>", (1, 24), "digit"),
        ("<entries><entry>é<key>012</key>", (1, 26), "odd number"),
        ("<entries><entry><key>&k;</key>", (1, 22), "&k;"),
        ("<entries><entry><key>01</key>", (1, 30), "the end of the document"),
        ("<entries><entry><key>01</key><value>0", (1, 38), "the end of the document"),
        ("<entries>\n\u{1}", (2, 1), "U+0001"),
        ("<entries>\n a\u{fffe}", (2, 3), "U+FFFE"),
        ("<entries xmlns=\"urn:x\">", (1, 1), "namespace"),
        ("<entries a=1>", (1, 1), ""),
        (" <?xml version=\"1.0\"?><entries/>", (1, 2), "very start"),
        ("<entries><entry/></entries>", (1, 18), "closing tag"),
        ("x<entries/>", (1, 1), "before the root"),
    ];
    for (text, place, part) in rows {
        match Entries::new(text.as_bytes()).find_map(Result::err) {
            Some(XmlError::Document { line, column, message }) => {
                assert_eq!((line, column), place, "{text:?}: {message}");
                assert!(message.contains(part), "{text:?}: {message}");
            }
            other => panic!("{text:?}: {other:?}"),
        }
    }
}

#[test]
fn bytes_of_no_encoding_are_located_too() {
    let rows: [(&[u8], (u64, u64)); 5] = [
        (b"<entries>\n\xe9</entries>", (2, 1)),
        (b"<?xml version='1.0' encoding='US-ASCII'?>\n<entries>\xc3\xa9", (2, 10)),
        (b"\xfe\xff\0<\0e\xd8\x00\0x", (1, 3)),
        (b"\xff\xfe<\0e\0n", (1, 3)),
        (b"<entries>\xc3", (1, 10)),
    ];
    for (bytes, place) in rows {
        match Entries::new(bytes).find_map(Result::err) {
            Some(XmlError::Document { line, column, message }) => {
                assert_eq!((line, column), place, "{message}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn failing_input_is_told_from_bad_input() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("cable pulled"))
        }
    }
    let error = Entries::new(b"<entries>".chain(Broken)).next();
    assert!(matches!(error, Some(Err(XmlError::Io(e))) if e.to_string() == "cable pulled"));
}

/// Returns its bytes in pieces of a few.
struct Drip<'a>(&'a [u8], usize);

impl Read for Drip<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let length = self.1.min(self.0.len()).min(buf.len());
        let (now, later) = self.0.split_at(length);
        buf[..length].copy_from_slice(now);
        self.0 = later;
        Ok(length)
    }
}

#[test]
fn documents_without_end_take_no_memory() {
    let entry = b"<entry><key>0123</key><value>456789</value></entry>\n";
    let mut left = 200_000;
    let endless = std::iter::from_fn(move || {
        left -= 1;
        (left > 0).then_some(&entry[..])
    });
    struct Pieces<I>(I, &'static [u8]);
    impl<I: Iterator<Item = &'static [u8]>> Read for Pieces<I> {
        fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
            if self.1.is_empty() {
                self.1 = self.0.next().unwrap_or_default();
            }
            self.1.read(buf)
        }
    }
    let pieces = Pieces(endless, b"<entries>").chain(&b"</entries>"[..]);
    let counted = Entries::new(pieces).inspect(|e| assert!(e.is_ok())).count();
    assert_eq!(counted, 199_999);
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn pairs_survive(
        content in prop::collection::btree_map(any_bytes(), any_bytes(), 0..12),
        style in prop::sample::select(vec![Style::Plain, Style::PlainCharacters, Style::Indented]),
        utf16 in any::<Option<bool>>(),
        piece in 1..50_usize,
    ) {
        let store = MemoryStore::new();
        let mut tx = writing(&store);
        for (key, value) in &content {
            tx.put(key, value).unwrap();
        }
        let (count, text) = dumped(&*tx, KeySpan::FULL, style);
        prop_assert_eq!(count, content.len() as u64);
        let utf16_text = || text.replace("encoding=\"UTF-8\"", "encoding=\"UTF-16\"");
        let bytes: Vec<u8> = match utf16 {
            None => text.into_bytes(),
            Some(true) => utf16_text().encode_utf16().flat_map(u16::to_be_bytes).collect(),
            Some(false) => utf16_text().encode_utf16().flat_map(u16::to_le_bytes).collect(),
        };
        let back: Result<Vec<_>, _> = Entries::new(Drip(&bytes, piece)).collect();
        prop_assert_eq!(back.unwrap(), content.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn damaged_documents_are_errors_or_pairs(
        at in 0..300_usize,
        byte in any::<u8>(),
        cut in 0..300_usize,
    ) {
        let text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<entries>\n    <entry>\n        \
                    <key>00ff&#48;1</key>\n        <value>aa<!-- c -->bb</value>\n    </entry>\n    \
                    <entry>\n        <key></key>\n    </entry>\n</entries>";
        let mut bytes = text.as_bytes().to_vec();
        if let Some(changed) = bytes.get_mut(at) {
            *changed = byte;
        }
        bytes.truncate(bytes.len().max(cut) - cut / 3);
        let _ = Entries::new(&bytes[..]).count();
    }

    #[test]
    fn arbitrary_bytes_do_no_harm(bytes in any_bytes()) {
        let _ = Entries::new(&bytes[..]).count();
    }
}
