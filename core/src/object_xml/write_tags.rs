//! Writes tags, with or without indentation.

use std::io::{self, BufWriter, Write};

use crate::xml::{escape, is_xml_char};

/// A document being written.
pub(super) struct Output<W: Write> {
    out: BufWriter<W>,
    indented: bool,
    depth: usize,
    last: Last,
    /// A buffer for text that is escaped.
    escaped: String,
}

/// The part of the document that was written last.
#[derive(PartialEq, Eq)]
enum Last {
    /// A start tag, or the XML declaration.
    Start,
    Text,
    /// An end tag or empty tag.
    End,
}

/// The attributes of a tag.
pub(super) type Attributes<'a> = &'a [(&'a str, &'a str)];

/// The first character that documents cannot contain, and how many characters come before it.
pub(super) fn find_invalid(text: &str) -> Option<(usize, char)> {
    text.chars().enumerate().find(|&(_, c)| !is_xml_char(c))
}

impl<W: Write> Output<W> {
    /// A document that begins with the XML declaration.
    pub(super) fn new(out: W, indented: bool) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(64 * 1024, out);
        out.write_all(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
        Ok(Output { out, indented, depth: 0, last: Last::Start, escaped: String::new() })
    }

    pub(super) fn start(&mut self, name: &str, attributes: Attributes<'_>) -> io::Result<()> {
        self.open(name, attributes)?;
        self.out.write_all(b">")?;
        self.depth += 1;
        self.last = Last::Start;
        Ok(())
    }

    pub(super) fn empty(&mut self, name: &str, attributes: Attributes<'_>) -> io::Result<()> {
        self.open(name, attributes)?;
        self.out.write_all(b"/>")?;
        self.last = Last::End;
        Ok(())
    }

    pub(super) fn end(&mut self, name: &str) -> io::Result<()> {
        self.depth = self.depth.saturating_sub(1);
        if self.last == Last::End {
            self.line()?;
        }
        write!(self.out, "</{name}>")?;
        self.last = Last::End;
        Ok(())
    }

    /// Writes text whose characters are all valid. A carriage return is escaped, because readers
    /// take a raw one for a new line.
    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        if text.bytes().any(|byte| matches!(byte, b'&' | b'<' | b'>' | b'\r')) {
            self.escaped.clear();
            for c in text.chars() {
                match c {
                    '\r' => self.escaped.push_str("&#13;"),
                    _ => escape(c, &mut self.escaped),
                }
            }
            self.out.write_all(self.escaped.as_bytes())?;
        } else {
            self.out.write_all(text.as_bytes())?;
        }
        self.last = Last::Text;
        Ok(())
    }

    /// Writes a new line and then an element. `write` makes the element for the depth it is given.
    pub(super) fn element(&mut self, write: impl FnOnce(usize) -> String) -> io::Result<()> {
        self.out.write_all(write(self.depth).as_bytes())?;
        self.last = Last::End;
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn open(&mut self, name: &str, attributes: Attributes<'_>) -> io::Result<()> {
        if self.last != Last::Text {
            self.line()?;
        }
        write!(self.out, "<{name}")?;
        for (attribute, value) in attributes {
            write!(self.out, " {attribute}=\"")?;
            self.escaped.clear();
            for c in value.chars() {
                match c {
                    '"' => self.escaped.push_str("&quot;"),
                    _ => escape(c, &mut self.escaped),
                }
            }
            self.out.write_all(self.escaped.as_bytes())?;
            self.out.write_all(b"\"")?;
        }
        Ok(())
    }

    fn line(&mut self) -> io::Result<()> {
        if self.indented {
            self.out.write_all(b"\n")?;
            for _ in 0..self.depth {
                self.out.write_all(b"    ")?;
            }
        }
        Ok(())
    }
}
