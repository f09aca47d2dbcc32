//! Compares the examples of `docs/src/format.md` with the sample database `music`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use permazen::__internal::layout::{
    IndexPart, KeyKind, each_index_part, parse_key, split_field_key,
};
use permazen::__internal::schema::{ResolvedKind, SchemaBundle, SchemaTables, SubFieldRole};
use permazen::encoding::{EncodingRegistry, Reader, uint};
use permazen::kv::lmdb::LmdbStore;
use permazen::kv::{Direction, KeySpan, KvDatabase, TxOptions, key::parse_hex};
use permazen::schema::{ResolvedField, UnknownEncodings};
use permazen::{ObjId, StorageId};
use permazen_tests::files;

/// Every kind of pair in the sample database: all kinds except the user's meta-data.
const KINDS: [&str; 16] = [
    "counter",
    "format-version",
    "index-composite",
    "index-field",
    "index-list-element",
    "index-map-key",
    "index-map-value",
    "index-set-element",
    "list",
    "map",
    "object",
    "object-schema",
    "schema",
    "set",
    "simple",
    "storage-id",
];

/// A fenced block of the page: its language, the kind named after the language, and its lines.
struct Block {
    line: usize,
    language: String,
    kind: String,
    lines: Vec<String>,
}

fn blocks(language: &str) -> Vec<Block> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/format.md");
    let page = fs::read_to_string(page).unwrap();
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(info), None) => {
                let (language, kind) = info.split_once(' ').unwrap_or((info, ""));
                let (language, kind) = (language.to_owned(), kind.to_owned());
                open = Some(Block { line: number + 1, language, kind, lines: Vec::new() });
            }
            (None, Some(block)) => block.lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    blocks.retain(|block| block.language == language);
    assert!(!blocks.is_empty(), "the page has no block of {language}");
    blocks
}

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.chars().filter(|c| *c != ' ' && *c != '|').collect();
    parse_hex(&digits).unwrap_or_else(|_| panic!("no bytes in hexadecimal: {text:?}"))
}

impl Block {
    /// The text after a word, in the only line that starts with the word.
    fn after(&self, word: &str) -> &str {
        let mut found = self.lines.iter().filter_map(|line| line.strip_prefix(word));
        let (first, second) = (found.next(), found.next());
        assert!(second.is_none(), "line {}: {word:?} twice", self.line);
        first.unwrap_or_else(|| panic!("line {}: no {word:?}", self.line)).trim()
    }
}

struct Music {
    pairs: BTreeMap<Vec<u8>, Vec<u8>>,
    bundle: SchemaBundle,
}

fn directory() -> PathBuf {
    files::data_dir().join("databases/music")
}

impl Music {
    fn open() -> Music {
        let copy = tempfile::tempdir().unwrap();
        fs::copy(directory().join("lmdb/data.mdb"), copy.path().join("data.mdb")).unwrap();
        let store = LmdbStore::open(copy.path()).unwrap();
        let tx = store.begin(&TxOptions::reading()).unwrap();
        let pairs = tx.scan(KeySpan::FULL, Direction::Forward).unwrap();
        let pairs = pairs.map(|pair| pair.map(|(k, v)| (k.into_owned(), v.into_owned())));
        let pairs = pairs.collect::<Result<_, _>>().unwrap();
        let tables = SchemaTables::read(&*tx).unwrap();
        let encodings = EncodingRegistry::new();
        let bundle = SchemaBundle::decode(tables, &encodings, UnknownEncodings::Refuse).unwrap();
        Music { pairs, bundle }
    }

    /// The kind of a key, and where its parts end.
    fn classify(&self, key: &[u8]) -> (&'static str, Vec<usize>) {
        match parse_key(key) {
            KeyKind::FormatVersion => ("format-version", vec![2, key.len()]),
            KeyKind::Schema(_) => ("schema", vec![2, key.len()]),
            KeyKind::StorageId(_) => ("storage-id", vec![2, key.len()]),
            KeyKind::ObjectSchema(..) => {
                ("object-schema", vec![2, key.len() - ObjId::LEN, key.len()])
            }
            KeyKind::Data(id, _) if self.bundle.type_name(id).is_some() => self.content(id, key),
            KeyKind::Data(id, _) => self.index_entry(id, key),
            kind => panic!("{key:02x?} is {kind:?}"),
        }
    }

    fn content(&self, type_id: StorageId, key: &[u8]) -> (&'static str, Vec<usize>) {
        if key.len() == ObjId::LEN {
            return ("object", vec![key.len()]);
        }
        let (field, rest) = split_field_key(&key[ObjId::LEN..]).unwrap();
        let [schema] = self.bundle.schemas() else { panic!("several schemas") };
        let object_type = schema.type_by_storage_id(type_id).unwrap();
        let kind = match object_type.field_by_storage_id(field).unwrap().kind {
            ResolvedKind::Simple(_) => "simple",
            ResolvedKind::Counter => "counter",
            ResolvedKind::Set { .. } => "set",
            ResolvedKind::List { .. } => "list",
            ResolvedKind::Map { .. } => "map",
        };
        let mut ends = vec![ObjId::LEN, key.len() - rest.len(), key.len()];
        ends.dedup();
        (kind, ends)
    }

    fn index_entry(&self, id: StorageId, key: &[u8]) -> (&'static str, Vec<usize>) {
        let item = self.bundle.item(id).unwrap();
        let simple = |field: &ResolvedField| field.simple().unwrap().encoding.clone();
        let (kind, encodings) = match (item.field(), item.index()) {
            (_, Some(index)) => {
                ("index-composite", index.fields.iter().map(|field| simple(field)).collect())
            }
            (Some(field), _) => {
                let kind = match field.parent.as_ref().map(|parent| parent.role) {
                    None => "index-field",
                    Some(SubFieldRole::SetElement) => "index-set-element",
                    Some(SubFieldRole::ListElement) => "index-list-element",
                    Some(SubFieldRole::MapKey) => "index-map-key",
                    Some(SubFieldRole::MapValue) => "index-map-value",
                };
                (kind, vec![simple(field)])
            }
            (None, None) => panic!("storage ID {id} is of no index"),
        };
        let mut reader = Reader::new(key);
        StorageId::read_from(&mut reader).unwrap();
        let mut ends = vec![key.len() - reader.rest().len()];
        let has_suffix = matches!(kind, "index-list-element" | "index-map-value");
        each_index_part(encodings.len(), has_suffix, |part| {
            match part {
                IndexPart::Value(column) => encodings[column].skip(&mut reader)?,
                IndexPart::Object => drop(ObjId::read_from(&mut reader)?),
                IndexPart::Suffix => drop(reader.take(reader.rest().len())?),
            }
            ends.push(key.len() - reader.rest().len());
            permazen::encoding::Result::Ok(())
        })
        .unwrap();
        (kind, ends)
    }
}

#[test]
fn pairs_of_the_sample_database() {
    let music = Music::open();
    let mut shown = BTreeSet::new();
    for block in blocks("music") {
        let line = block.line;
        let drawn = block.after("key");
        let key = hex(drawn);
        let stored = music.pairs.get(&key);
        let stored = stored.unwrap_or_else(|| panic!("line {line}: there is no key {drawn}"));
        match block.after("value") {
            "empty" => assert!(stored.is_empty(), "line {line}: {stored:02x?}"),
            value => match value.strip_suffix('…') {
                Some(start) => assert!(stored.starts_with(&hex(start)), "line {line}"),
                None => assert_eq!(*stored, hex(value), "line {line}"),
            },
        }
        let (kind, ends) = music.classify(&key);
        assert_eq!(kind, block.kind, "line {line}");
        let parts = drawn.split('|').scan(0, |end, part| {
            *end += hex(part).len();
            Some(*end)
        });
        assert_eq!(parts.collect::<Vec<_>>(), ends, "line {line}: where parts of {drawn} end");
        shown.insert(kind);
    }
    assert_eq!(shown, BTreeSet::from(KINDS), "the kinds of keys that have an example");
    for key in music.pairs.keys() {
        let (kind, _) = music.classify(key);
        assert!(shown.contains(kind), "no example of {kind}, such as {key:02x?}");
    }
}

#[test]
fn numbers() {
    for block in blocks("uint") {
        for line in &block.lines {
            let (number, bytes) = line.split_once(' ').unwrap();
            let mut written = Vec::new();
            uint::write(number.parse().unwrap(), &mut written);
            assert_eq!(written, hex(bytes), "{line}");
        }
    }
}

#[test]
fn object_ids() {
    let music = Music::open();
    for block in blocks("id") {
        for line in block.lines.iter().filter(|line| line.contains('|')) {
            let id = ObjId::from_slice(&hex(line)).unwrap();
            assert!(music.pairs.contains_key(&id.as_bytes()[..]), "there is no object {id}");
            let (storage_id, _) = line.split_once('|').unwrap();
            assert_eq!(hex(storage_id), id.storage_id().prefix(), "{line}");
        }
    }
}

fn contains(file: &[u8], bytes: &[u8]) -> bool {
    file.windows(bytes.len()).any(|window| window == bytes)
}

#[test]
fn files_of_the_stores() {
    let lmdb = files::bytes(&directory(), "lmdb/data.mdb").unwrap();
    let sqlite = files::bytes(&directory(), "sqlite.db").unwrap();
    // A node of LMDB has the length of the key, the key and the value; the node of a database has
    // its name.
    let node = |key: &[u8], value: &[u8]| [&(key.len() as u16).to_le_bytes(), key, value].concat();
    assert!(contains(&lmdb, &node(b"permazen", b"")));
    for block in blocks("lmdb") {
        let (key, value) = (hex(block.after("key")), hex(block.after("value")));
        assert!(contains(&lmdb, &node(&key, &value)), "line {}", block.line);
        // A row of SQLite has the key and the value.
        assert!(contains(&sqlite, &[&key[1..], &value].concat()), "line {}", block.line);
    }
    for block in blocks("sqlite") {
        assert!(contains(&sqlite, block.lines.join("\n").as_bytes()), "line {}", block.line);
    }
}

/// The sources below a directory.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The headings of a page, as links name them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let letters = |c: char| match c {
        ' ' => Some('-'),
        c => (c.is_alphanumeric() || c == '-').then(|| c.to_ascii_lowercase()),
    };
    headings
        .map(|line| line.trim_start_matches('#').trim().chars().filter_map(letters).collect())
        .collect()
}

#[test]
fn headings_that_comments_name() {
    let root = super::root();
    let mut files = Vec::new();
    for crate_name in ["kv", "core", "derive", "jsck"] {
        sources(&root.join(crate_name).join("src"), &mut files);
    }
    let mut named = 0;
    for file in files {
        for mention in fs::read_to_string(&file).unwrap().split("docs/src/").skip(1) {
            let end = mention.find(|c: char| !c.is_alphanumeric() && !"-_.#".contains(c));
            let mention = mention[..end.unwrap_or(mention.len())].trim_end_matches('.');
            let (page, anchor) = mention.split_once('#').unwrap_or((mention, ""));
            let page = fs::read_to_string(root.join("docs/src").join(page));
            let page = page.unwrap_or_else(|e| panic!("{}: {mention}: {e}", file.display()));
            let known = anchor.is_empty() || anchors(&page).contains(anchor);
            assert!(known, "{}: no heading {mention}", file.display());
            named += 1;
        }
    }
    assert!(named > 0);
}
