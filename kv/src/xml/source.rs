//! Decodes the bytes of a document to characters.

use std::io::{self, BufRead, ErrorKind, Read};

/// The text of an XML document as UTF-8, with the position in it.
///
/// The encoding is taken from a byte order mark or the XML declaration. UTF-8, UTF-16, ISO-8859-1
/// and US-ASCII are supported. These are errors of kind [`InvalidData`](ErrorKind::InvalidData):
/// another encoding, bytes that do not fit the encoding, and characters that XML does not allow.
/// They are reported after the text before them was consumed.
#[derive(Debug)]
pub struct Source<R> {
    input: R,
    encoding: Option<Encoding>,
    /// Bytes that were read and not decoded yet, at the start of this buffer. `pending` is their
    /// number.
    raw: Box<[u8]>,
    pending: usize,
    ended: bool,
    /// Decoded text, and how much of it was consumed.
    text: Vec<u8>,
    consumed: usize,
    failure: Option<String>,
    line: u64,
    column: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16 { big_endian: bool },
    Latin1,
    Ascii,
}

/// How many bytes are read at a time.
const CHUNK: usize = 64 * 1024;
/// The declaration must end within this many bytes.
const DECLARATION: usize = 1024;

impl<R: Read> Source<R> {
    /// The text of the document `input`.
    pub fn new(input: R) -> Self {
        Source {
            input,
            encoding: None,
            raw: vec![0; CHUNK].into_boxed_slice(),
            pending: 0,
            ended: false,
            text: Vec::new(),
            consumed: 0,
            failure: None,
            line: 1,
            column: 1,
        }
    }

    /// Line and column, each starting with 1, of the next character.
    pub fn position(&self) -> (u64, u64) {
        (self.line, self.column)
    }

    fn fill_raw(&mut self) -> io::Result<()> {
        let read = loop {
            match self.input.read(self.raw.get_mut(self.pending..).unwrap_or_default()) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.pending = (self.pending + read).min(self.raw.len());
        self.ended = read == 0;
        Ok(())
    }

    fn undecoded(&self) -> &[u8] {
        self.raw.get(..self.pending).unwrap_or_default()
    }

    fn drop_raw(&mut self, count: usize) {
        self.raw.copy_within(count..self.pending, 0);
        self.pending -= count;
    }

    fn detect(&mut self) -> io::Result<Encoding> {
        while self.pending < DECLARATION && !self.ended {
            self.fill_raw()?;
        }
        let (encoding, mark) = match *self.undecoded() {
            [0xef, 0xbb, 0xbf, ..] => (declared(self.undecoded().get(3..))?, 3),
            [0xfe, 0xff, ..] => (declared_utf16(true, self.undecoded().get(2..))?, 2),
            [0xff, 0xfe, ..] => (declared_utf16(false, self.undecoded().get(2..))?, 2),
            [0, b'<', 0, ..] => (declared_utf16(true, Some(self.undecoded()))?, 0),
            [b'<', 0, _, 0, ..] => (declared_utf16(false, Some(self.undecoded()))?, 0),
            _ => (declared(Some(self.undecoded()))?, 0),
        };
        self.drop_raw(mark);
        Ok(encoding)
    }

    /// Decodes more text. If the text is then empty and there is no failure, the document has
    /// ended.
    fn fill_text(&mut self) -> io::Result<()> {
        let encoding = match self.encoding {
            Some(encoding) => encoding,
            None => self.detect()?,
        };
        self.encoding = Some(encoding);
        self.text.clear();
        self.consumed = 0;
        while self.text.is_empty() && self.failure.is_none() {
            if self.pending > 0 {
                let raw = self.raw.get(..self.pending).unwrap_or_default();
                let (done, failure) = encoding.decode(raw, &mut self.text);
                self.drop_raw(done);
                self.failure = failure.or_else(|| self.check_characters());
            }
            if self.text.is_empty() && self.failure.is_none() {
                if self.ended && self.pending == 0 {
                    break;
                } else if self.ended {
                    self.failure = Some("the text ends inside a character".to_owned());
                } else {
                    self.fill_raw()?;
                }
            }
        }
        Ok(())
    }

    /// Cuts the text before a character that XML does not allow.
    fn check_characters(&mut self) -> Option<String> {
        let control = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r');
        let control = self.text.iter().position(control);
        let noncharacter = |bytes: &[u8]| matches!(bytes, [0xef, 0xbf, 0xbe | 0xbf]);
        // Most text has no such byte, and looking for one is cheap.
        let noncharacter = match self.text.contains(&0xef) {
            true => self.text.windows(3).position(noncharacter),
            false => None,
        };
        let at = control.into_iter().chain(noncharacter).min()?;
        let code = match self.text.get(at..at + 3) {
            Some([0xef, _, last]) => 0xff40 | u32::from(*last),
            _ => self.text.get(at).copied().unwrap_or_default().into(),
        };
        self.text.truncate(at);
        Some(format!("character U+{code:04X} is not allowed in XML"))
    }
}

impl<R: Read> BufRead for Source<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.consumed >= self.text.len() {
            if self.failure.is_none() {
                self.fill_text()?;
            }
            if self.text.len() == self.consumed
                && let Some(failure) = &self.failure
            {
                return Err(invalid(failure.clone()));
            }
        }
        Ok(self.text.get(self.consumed..).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        let end = self.consumed.saturating_add(amount).min(self.text.len());
        for byte in self.text.get(self.consumed..end).unwrap_or_default() {
            (self.line, self.column) = advance((self.line, self.column), *byte);
        }
        self.consumed = end;
    }
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut available = self.fill_buf()?;
        let read = available.read(buf)?;
        self.consume(read);
        Ok(read)
    }
}

/// The position after a byte of UTF-8 text.
pub(super) fn advance((line, column): (u64, u64), byte: u8) -> (u64, u64) {
    match byte {
        b'\n' => (line + 1, 1),
        // A byte that continues a character.
        0x80..=0xbf => (line, column),
        _ => (line, column + 1),
    }
}

fn invalid(message: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, message)
}

/// The encoding that the declaration at the start of a document names, in capitals.
fn declared_name(start: Option<&[u8]>) -> Option<String> {
    let start = start?;
    let declaration = start.strip_prefix(b"<?xml")?.get(..DECLARATION.min(start.len()) - 5)?;
    let end = declaration.windows(2).position(|pair| pair == b"?>")?;
    let declaration = std::str::from_utf8(declaration.get(..end)?).ok()?;
    let (_, value) = declaration.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    Some(value.split(quote).nth(1)?.to_ascii_uppercase())
}

/// The encoding of a document of single bytes.
fn declared(start: Option<&[u8]>) -> io::Result<Encoding> {
    match declared_name(start).as_deref() {
        None | Some("UTF-8" | "UTF8") => Ok(Encoding::Utf8),
        Some("ISO-8859-1" | "ISO8859-1" | "ISO_8859-1" | "LATIN1") => Ok(Encoding::Latin1),
        Some("US-ASCII" | "ASCII") => Ok(Encoding::Ascii),
        Some(name) => Err(not_the_encoding(name)),
    }
}

/// UTF-16. An error if the declaration names another encoding.
fn declared_utf16(big_endian: bool, start: Option<&[u8]>) -> io::Result<Encoding> {
    let encoding = Encoding::Utf16 { big_endian };
    let mut text = Vec::new();
    encoding.decode(
        start.and_then(|start| start.get(..DECLARATION)).or(start).unwrap_or_default(),
        &mut text,
    );
    match declared_name(Some(&text)).as_deref() {
        None | Some("UTF-16" | "ISO-10646-UCS-2") => Ok(encoding),
        Some("UTF-16BE") if big_endian => Ok(encoding),
        Some("UTF-16LE") if !big_endian => Ok(encoding),
        Some(name) => Err(not_the_encoding(name)),
    }
}

fn not_the_encoding(name: &str) -> io::Error {
    invalid(format!("encoding {name:?} is not supported or not the real one"))
}

impl Encoding {
    /// Decodes the start of `raw` and appends it to `text`. Returns the number of bytes decoded,
    /// and an error if the next bytes do not fit this encoding.
    fn decode(self, raw: &[u8], text: &mut Vec<u8>) -> (usize, Option<String>) {
        match self {
            Encoding::Utf8 => match std::str::from_utf8(raw) {
                Ok(_) => {
                    text.extend_from_slice(raw);
                    (raw.len(), None)
                }
                Err(error) => {
                    let valid = error.valid_up_to();
                    text.extend_from_slice(raw.get(..valid).unwrap_or_default());
                    (valid, error.error_len().map(|_| bad("UTF-8", raw.get(valid..))))
                }
            },
            Encoding::Latin1 => {
                push(text, raw.iter().map(|&byte| char::from(byte)));
                (raw.len(), None)
            }
            Encoding::Ascii => {
                let valid = raw.iter().take_while(|byte| byte.is_ascii()).count();
                text.extend_from_slice(raw.get(..valid).unwrap_or_default());
                (valid, (valid < raw.len()).then(|| bad("US-ASCII", raw.get(valid..))))
            }
            Encoding::Utf16 { big_endian } => {
                let units = raw.as_chunks::<2>().0.iter().map(|&pair| match big_endian {
                    true => u16::from_be_bytes(pair),
                    false => u16::from_le_bytes(pair),
                });
                let mut done = 0;
                for decoded in char::decode_utf16(units) {
                    match decoded {
                        Ok(char) => {
                            done += 2 * char.len_utf16();
                            push(text, [char].into_iter());
                        }
                        // The other half of this character may not have been read yet.
                        Err(error)
                            if error.unpaired_surrogate() < 0xdc00 && done + 4 > raw.len() =>
                        {
                            break;
                        }
                        Err(_) => return (done, Some(bad("UTF-16", raw.get(done..)))),
                    }
                }
                (done, None)
            }
        }
    }
}

fn push(text: &mut Vec<u8>, chars: impl Iterator<Item = char>) {
    for char in chars {
        text.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

fn bad(encoding: &str, rest: Option<&[u8]>) -> String {
    let byte = rest.and_then(|rest| rest.first()).copied().unwrap_or_default();
    format!("byte {byte:02x} is not {encoding}")
}
