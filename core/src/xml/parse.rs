//! Reading documents tag by tag.

use std::io::{self, ErrorKind, Read};

use permazen_kv::xml::Source;
use quick_xml::XmlVersion;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::{NamespaceResolver, ResolveResult};
use quick_xml::reader::NsReader;

use super::{is_xml_char, well_formed};

/// More attributes than any element of ours has, including namespace declarations. The number must
/// be limited because each attribute is compared with the others.
const MAX_ATTRIBUTES: usize = 256;

/// Deeper than the elements of any document of ours nest.
const MAX_DEPTH: usize = 256;

/// Line and column in characters, both from 1.
pub(crate) type Position = (u64, u64);

/// Why reading a document cannot continue.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The problem, and its position; `None` means where the last tag began.
    Document { at: Option<Position>, message: String },
    /// Reading failed.
    Io(io::Error),
}

impl Fault {
    pub(crate) fn at(position: Position, message: impl Into<String>) -> Self {
        Fault::Document { at: Some(position), message: message.into() }
    }
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Fault::Document { at: None, message }
    }
}

impl From<&str> for Fault {
    fn from(message: &str) -> Self {
        message.to_owned().into()
    }
}

type Result<T> = std::result::Result<T, Fault>;

/// A start tag, or the end of the element that is open. An empty tag counts as a start and an end.
pub(crate) enum Tag {
    Start(Start),
    End,
}

/// A start tag.
pub(crate) struct Start {
    /// The name, with its prefix if there is one.
    pub(crate) name: String,
    /// Empty if there is no namespace.
    pub(crate) namespace: String,
    /// The attributes that have no namespace.
    attributes: Vec<(String, String)>,
}

impl Start {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// A document that is being read. It needs memory only for the longest tag or piece of text.
pub(crate) struct Parser<R: Read> {
    reader: NsReader<Source<R>>,
    buffer: Vec<u8>,
    /// Where the last tag began.
    tag_at: Position,
    /// How many elements are open.
    depth: usize,
    /// Whether anything was read.
    begun: bool,
}

impl<R: Read> Parser<R> {
    pub(crate) fn new(document: R) -> Self {
        let mut reader = NsReader::from_reader(Source::new(document));
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.check_comments = true;
        Parser { reader, buffer: Vec::new(), tag_at: (1, 1), depth: 0, begun: false }
    }

    /// Where the last tag began.
    pub(crate) fn tag_at(&self) -> Position {
        self.tag_at
    }

    /// Reads to the end of the next tag. Ignores the text before it.
    pub(crate) fn next_tag(&mut self) -> Result<Tag> {
        self.advance(None)
    }

    /// Reads to the end of the next tag, which must have no namespace. Ignores the text before it.
    pub(crate) fn next_own_tag(&mut self) -> Result<Tag> {
        self.next_tag().and_then(own)
    }

    /// Reads to the end of the next tag, which must have no namespace. Appends the text before it.
    pub(crate) fn next_own_tag_with(&mut self, text: &mut String) -> Result<Tag> {
        self.advance(Some(text)).and_then(own)
    }

    /// Reads up to the end of the element whose start tag was read last.
    pub(crate) fn skip_element(&mut self) -> Result<()> {
        let mut open = 1_usize;
        while open > 0 {
            match self.next_tag()? {
                Tag::Start(_) => open += 1,
                Tag::End => open -= 1,
            }
        }
        Ok(())
    }

    fn advance(&mut self, mut text: Option<&mut String>) -> Result<Tag> {
        loop {
            let at = self.reader.get_ref().position();
            self.tag_at = at;
            self.buffer.clear();
            let event = match self.reader.read_event_into(&mut self.buffer) {
                Ok(event) => event,
                Err(error) => return Err(self.failed(at, error)),
            };
            let first = !std::mem::replace(&mut self.begun, true);
            let mut add = |more: &str| -> Result<()> {
                if self.depth == 0 && !more.chars().all(|c| matches!(c, ' ' | '\t' | '\r' | '\n')) {
                    return Err("not well-formed: text outside of the document's element".into());
                }
                if let Some(text) = &mut text {
                    text.push_str(more);
                }
                Ok(())
            };
            match event {
                Event::Start(start) => {
                    if self.depth == MAX_DEPTH {
                        return Err(format!("elements nest more than {MAX_DEPTH} deep").into());
                    }
                    self.depth += 1;
                    return read_start(self.reader.resolver(), &start).map(Tag::Start);
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    return Ok(Tag::End);
                }
                Event::Text(more) => {
                    well_formed(well_formed::check_text(&more))?;
                    add(&more.xml10_content())?;
                }
                Event::CData(_) | Event::GeneralRef(_) if self.depth == 0 => {
                    return Err("not well-formed: text outside of the document's element".into());
                }
                Event::CData(more) => add(&more.xml10_content())?,
                Event::GeneralRef(reference) => {
                    add(resolve(&reference)?.encode_utf8(&mut [0; 4]))?;
                }
                Event::Decl(declaration) if first => {
                    well_formed(well_formed::check_declaration(&declaration))?;
                }
                Event::Decl(_) => {
                    return Err("not well-formed: an XML declaration inside the document".into());
                }
                Event::DocType(_) => return Err("a DOCTYPE is not allowed".into()),
                Event::Eof => return Err("not well-formed: the document ends too early".into()),
                Event::Comment(_) => {}
                Event::PI(instruction) => {
                    well_formed(well_formed::check_target(instruction.target()))?;
                }
                Event::Empty(_) => return Err("not well-formed".into()),
            }
        }
    }

    /// The fault for an error that occurred while reading what starts at `at`.
    fn failed(&self, at: Position, error: quick_xml::Error) -> Fault {
        match error {
            // The reader under the parser reports bytes that are not UTF-8 or not allowed in XML
            // this way.
            quick_xml::Error::Io(error) if error.kind() == ErrorKind::InvalidData => {
                Fault::at(self.reader.get_ref().position(), format!("not well-formed: {error}"))
            }
            quick_xml::Error::Io(error) => {
                let kind = error.kind();
                Fault::Io(std::sync::Arc::into_inner(error).unwrap_or_else(|| kind.into()))
            }
            error => Fault::at(at, format!("not well-formed: {error}")),
        }
    }
}

fn well_formed(check: std::result::Result<(), String>) -> Result<()> {
    check.map_err(|error| format!("not well-formed: {error}").into())
}

fn own(tag: Tag) -> Result<Tag> {
    match tag {
        Tag::Start(start) if !start.namespace.is_empty() => {
            Err(format!("<{}> is in namespace {:?}", start.name, start.namespace).into())
        }
        tag => Ok(tag),
    }
}

fn read_start(resolver: &NamespaceResolver, start: &BytesStart<'_>) -> Result<Start> {
    well_formed(well_formed::check_tag(start))?;
    let name = start.name();
    let namespace = match resolver.resolve_element(name).0 {
        ResolveResult::Unbound => String::new(),
        ResolveResult::Bound(namespace) => namespace.0.to_owned(),
        ResolveResult::Unknown(_) => {
            let name = name.0;
            return Err(format!("not well-formed: the prefix of <{name}> is not declared").into());
        }
    };
    let mut attributes = Vec::new();
    for (count, attribute) in start.attributes().enumerate() {
        if count == MAX_ATTRIBUTES {
            let name = name.0;
            return Err(format!("<{name}> has more than {MAX_ATTRIBUTES} attributes").into());
        }
        let attribute = attribute.map_err(|error| format!("not well-formed: {error}"))?;
        if attribute.value.contains('<') {
            return Err(format!("not well-formed: < in attribute {:?}", attribute.key.0).into());
        }
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|error| format!("not well-formed: {error}"))?;
        if let Some(c) = value.chars().find(|&c| !is_xml_char(c)) {
            return Err(format!("not well-formed: character {c:?} is not allowed").into());
        }
        if attribute.key.as_namespace_binding().is_some() {
            continue;
        }
        match resolver.resolve_attribute(attribute.key).0 {
            ResolveResult::Unbound => {
                attributes.push((attribute.key.0.to_owned(), value.into_owned()));
            }
            ResolveResult::Bound(_) => {}
            ResolveResult::Unknown(_) => {
                let name = attribute.key.0;
                return Err(
                    format!("not well-formed: the prefix of {name:?} is not declared").into()
                );
            }
        }
    }
    Ok(Start { name: name.0.to_owned(), namespace, attributes })
}

/// The character that an entity or character reference stands for.
fn resolve(reference: &BytesRef<'_>) -> Result<char> {
    let name: &str = reference;
    let resolved = if reference.is_char_ref() {
        reference.resolve_char_ref().ok().flatten().filter(|&c| is_xml_char(c))
    } else {
        resolve_xml_entity(name).and_then(|text| text.chars().next())
    };
    resolved.ok_or_else(|| format!("not well-formed: &{name}; is not defined").into())
}
