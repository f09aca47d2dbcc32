//! Reading pairs from XML.

use std::io::{ErrorKind, Read};

use quick_xml::Error as Failure;
use quick_xml::NsReader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::ResolveResult;

use super::XmlError;
use super::source::{Source, advance};
use crate::KvWrite;
use crate::keys::hex_digit;

/// Puts every pair of an XML document into `store`, in the order of the document. Returns the
/// number of pairs.
///
/// The store is not cleared first. If a key comes twice, the later value replaces the earlier one.
/// Text after the root element is not interpreted.
///
/// # Errors
/// [`XmlError::Document`] says where the document is wrong. The pairs before that place have been
/// put, so roll the transaction back.
pub fn load(store: &mut (impl KvWrite + ?Sized), input: impl Read) -> Result<u64, XmlError> {
    let mut count = 0;
    for entry in Entries::new(input) {
        let (key, value) = entry?;
        store.put(&key, &value)?;
        count += 1;
    }
    Ok(count)
}

/// The pairs of an XML document, one by one. Ends after the first error.
#[allow(missing_debug_implementations)]
pub struct Entries<R: Read> {
    reader: NsReader<Source<R>>,
    buffer: Vec<u8>,
    state: ParseState,
}

type OwnedPair = (Vec<u8>, Vec<u8>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum ParseState {
    Start,
    Entries,
    Done,
}

/// The next tag of the document.
enum Tag {
    Open(&'static str),
    Close,
    End,
}

impl<R: Read> Entries<R> {
    /// The pairs of the document `input`. Reads are buffered here.
    pub fn new(input: R) -> Self {
        let mut reader = NsReader::from_reader(Source::new(input));
        reader.config_mut().expand_empty_elements = true;
        Entries { reader, buffer: Vec::new(), state: ParseState::Start }
    }

    fn entry(&mut self) -> Result<Option<OwnedPair>, XmlError> {
        if self.state == ParseState::Start {
            self.open("entries")?;
            self.state = ParseState::Entries;
        }
        if self.state == ParseState::Done {
            return Ok(None);
        }
        if !self.open_or_close("entry", "entries")? {
            self.state = ParseState::Done;
            return Ok(None);
        }
        self.open("key")?;
        let key = self.content("key")?;
        let value = match self.open_or_close("value", "entry")? {
            false => Vec::new(),
            true => {
                let value = self.content("value")?;
                self.close("entry")?;
                value
            }
        };
        Ok(Some((key, value)))
    }

    /// Reads the opening tag of `name`, which must come next.
    fn open(&mut self, name: &str) -> Result<(), XmlError> {
        match self.tag()? {
            (_, Tag::Open(found)) if found == name => Ok(()),
            (at, tag) => Err(unexpected(at, &format!("opening <{name}>"), &tag)),
        }
    }

    /// Reads the opening tag of `name` (`true`) or the closing tag of `parent` (`false`).
    fn open_or_close(&mut self, name: &str, parent: &str) -> Result<bool, XmlError> {
        match self.tag()? {
            (_, Tag::Open(found)) if found == name => Ok(true),
            (_, Tag::Close) => Ok(false),
            (at, tag) => {
                let wanted = format!("opening <{name}> or closing </{parent}>");
                Err(unexpected(at, &wanted, &tag))
            }
        }
    }

    /// Reads the closing tag of `name`. The reader has checked that it has this name.
    fn close(&mut self, name: &str) -> Result<(), XmlError> {
        match self.tag()? {
            (_, Tag::Close) => Ok(()),
            (at, tag) => Err(unexpected(at, &format!("closing </{name}>"), &tag)),
        }
    }

    /// The next tag and its position. Skips everything before it.
    fn tag(&mut self) -> Result<((u64, u64), Tag), XmlError> {
        let mut first = true;
        loop {
            let at = self.reader.get_ref().position();
            let in_prolog = self.state == ParseState::Start;
            self.buffer.clear();
            let event = self.reader.read_resolved_event_into(&mut self.buffer);
            let tag = match event {
                Err(error) => return Err(failed(&self.reader, at, error)),
                Ok((namespace, Event::Start(start))) => Tag::Open(element(at, namespace, &start)?),
                Ok((_, Event::End(_))) => Tag::Close,
                Ok((_, Event::Eof)) => Tag::End,
                Ok((_, Event::Text(text))) => {
                    let blank = |char: char| matches!(char, ' ' | '\t' | '\r' | '\n');
                    if in_prolog && !text.chars().all(blank) {
                        return Err(wrong(at, "text before the root element"));
                    }
                    first &= text.is_empty();
                    continue;
                }
                Ok((_, Event::CData(_) | Event::GeneralRef(_))) if in_prolog => {
                    return Err(wrong(at, "text before the root element"));
                }
                Ok((_, Event::GeneralRef(reference))) => {
                    resolve(at, &reference)?;
                    continue;
                }
                Ok((_, Event::Decl(_))) if !(in_prolog && first) => {
                    return Err(wrong(at, "an XML declaration that is not at the very start"));
                }
                Ok((_, Event::DocType(_))) if !in_prolog => {
                    return Err(wrong(at, "a document type inside the root element"));
                }
                Ok(_) => {
                    first = false;
                    continue;
                }
            };
            return Ok((at, tag));
        }
    }

    /// The bytes written as hexadecimal digits up to the closing tag of `name`.
    fn content(&mut self, name: &'static str) -> Result<Vec<u8>, XmlError> {
        let mut digits = Digits { name, bytes: Vec::new(), high: None };
        loop {
            let at = self.reader.get_ref().position();
            self.buffer.clear();
            let event = self.reader.read_resolved_event_into(&mut self.buffer);
            match event {
                Err(error) => return Err(failed(&self.reader, at, error)),
                Ok((_, Event::Text(text))) => digits.add(at, &text)?,
                // The digits start after `<![CDATA[`.
                Ok((_, Event::CData(text))) => digits.add((at.0, at.1 + 9), &text)?,
                Ok((_, Event::GeneralRef(reference))) => {
                    let char = resolve(at, &reference)?;
                    digits.add(at, char.encode_utf8(&mut [0; 4]))?;
                }
                Ok((_, Event::End(_))) => return digits.finish(at),
                Ok((namespace, Event::Start(start))) => {
                    let tag = Tag::Open(element(at, namespace, &start)?);
                    return Err(unexpected(at, &format!("closing </{name}>"), &tag));
                }
                Ok((_, Event::Eof)) => {
                    return Err(unexpected(at, &format!("closing </{name}>"), &Tag::End));
                }
                Ok((_, Event::Decl(_) | Event::DocType(_))) => {
                    return Err(wrong(at, &format!("a declaration inside <{name}>")));
                }
                Ok(_) => {}
            }
        }
    }
}

impl<R: Read> Iterator for Entries<R> {
    type Item = Result<OwnedPair, XmlError>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.entry();
        if entry.is_err() {
            self.state = ParseState::Done;
        }
        entry.transpose()
    }
}

/// Bytes that are built from hexadecimal digits.
struct Digits {
    name: &'static str,
    bytes: Vec<u8>,
    high: Option<u8>,
}

impl Digits {
    fn add(&mut self, at: (u64, u64), text: &str) -> Result<(), XmlError> {
        self.bytes.reserve(text.len() / 2);
        for (index, char) in text.char_indices() {
            let Some(digit) = hex_digit(char) else {
                let before = text.as_bytes().iter().take(index);
                let at = before.fold(at, |at, byte| advance(at, *byte));
                let message = format!("{char:?} is not a digit of a hexadecimal {}", self.name);
                return Err(wrong(at, &message));
            };
            match self.high.take() {
                None => self.high = Some(digit),
                Some(high) => self.bytes.push(high << 4 | digit),
            }
        }
        Ok(())
    }

    fn finish(self, at: (u64, u64)) -> Result<Vec<u8>, XmlError> {
        match self.high {
            None => Ok(self.bytes),
            Some(_) => {
                Err(wrong(at, &format!("hexadecimal {} has an odd number of digits", self.name)))
            }
        }
    }
}

/// The name of an element. An error if this document cannot have such an element.
fn element(
    at: (u64, u64),
    namespace: ResolveResult<'_>,
    start: &BytesStart<'_>,
) -> Result<&'static str, XmlError> {
    if let Some(Err(error)) = start.attributes().find(Result::is_err) {
        return Err(wrong(at, &error.to_string()));
    }
    let name = start.name();
    match namespace {
        ResolveResult::Unbound => {}
        ResolveResult::Bound(namespace) => {
            return Err(wrong(
                at,
                &format!("element <{}> is in namespace {namespace:?} and must be in none", name.0),
            ));
        }
        ResolveResult::Unknown(prefix) => {
            return Err(wrong(at, &format!("namespace prefix {prefix:?} is not declared")));
        }
    }
    ["entries", "entry", "key", "value"]
        .into_iter()
        .find(|known| *known == name.0)
        .ok_or_else(|| wrong(at, &format!("element <{}> is not part of this format", name.0)))
}

/// The character that a reference represents.
fn resolve(at: (u64, u64), reference: &BytesRef<'_>) -> Result<char, XmlError> {
    let char = reference.resolve_char_ref().map_err(|error| wrong(at, &error.to_string()))?;
    let named = || resolve_xml_entity(reference).and_then(|text| text.chars().next());
    char.or_else(named)
        .ok_or_else(|| wrong(at, &format!("entity &{}; is not declared", &**reference)))
}

fn unexpected(at: (u64, u64), wanted: &str, found: &Tag) -> XmlError {
    let found = match found {
        Tag::Open(name) => format!("opening <{name}>"),
        Tag::Close => "a closing tag".to_owned(),
        Tag::End => "the end of the document".to_owned(),
    };
    wrong(at, &format!("expected {wanted} but found {found}"))
}

fn wrong((line, column): (u64, u64), message: &str) -> XmlError {
    XmlError::Document { line, column, message: message.to_owned() }
}

/// The error for a failure while the item that starts at `at` was read.
fn failed<R: Read>(reader: &NsReader<Source<R>>, at: (u64, u64), error: Failure) -> XmlError {
    match error {
        Failure::Io(error) if error.kind() == ErrorKind::InvalidData => {
            wrong(reader.get_ref().position(), &error.to_string())
        }
        Failure::Io(error) => {
            let kind = error.kind();
            XmlError::Io(std::sync::Arc::into_inner(error).unwrap_or_else(|| kind.into()))
        }
        error => wrong(at, &error.to_string()),
    }
}
