//! Writing pairs as XML.

use std::io::{BufWriter, Write};
use std::path::Path;

use super::XmlError;
use super::watched::Watched;
use crate::copy::{Copied, Watch};
use crate::store_parts::new_file::{cannot, new_file};
use crate::{Direction, KeySpan, KvError, KvRead};

/// The layout of a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Everything in one line.
    Plain,
    /// The same as [`Plain`](Style::Plain), but the declaration names no encoding. Permazen for
    /// Java writes this where it writes characters and not bytes.
    PlainCharacters,
    /// Each tag on its own line, indented by four spaces for each level. No new line at the end.
    #[default]
    Indented,
}

impl Style {
    fn declaration(self) -> &'static [u8] {
        match self {
            Style::PlainCharacters => b"<?xml version=\"1.0\"?>",
            Style::Plain | Style::Indented => b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
        }
    }
}

/// Writes the pairs of `span`, in ascending order, as an XML document. Returns the number of pairs.
///
/// Costs one scan. The output is buffered here and flushed at the end.
///
/// # Errors
/// The errors of the scan and of writing to `out`.
pub fn dump(
    store: &(impl KvRead + ?Sized),
    span: KeySpan<'_>,
    style: Style,
    out: impl Write,
) -> Result<u64, XmlError> {
    let [line, line1, line2] = match style {
        Style::Indented => [&b"\n"[..], b"\n    ", b"\n        "],
        Style::Plain | Style::PlainCharacters => [&b""[..]; 3],
    };
    let mut out = BufWriter::with_capacity(64 * 1024, out);
    out.write_all(style.declaration())?;
    out.write_all(line)?;
    out.write_all(b"<entries>")?;
    let mut count = 0;
    for pair in store.scan(span, Direction::Forward)? {
        let (key, value) = pair?;
        out.write_all(line1)?;
        out.write_all(b"<entry>")?;
        out.write_all(line2)?;
        element(&mut out, b"key", &key)?;
        if !value.is_empty() {
            out.write_all(line2)?;
            element(&mut out, b"value", &value)?;
        }
        out.write_all(line1)?;
        out.write_all(b"</entry>")?;
        count += 1;
    }
    if count > 0 {
        out.write_all(line)?;
    }
    out.write_all(b"</entries>")?;
    out.flush()?;
    Ok(count)
}

/// Makes the new file `path`, a dump of all pairs of `from`. Give it a snapshot or a read-only
/// transaction, so that all pairs are of one state. The file gets its name when all of it is on
/// disk. So there is always a complete dump or none. On Unix, its owner alone can read it (0600),
/// unless [`Watch::readers`] says otherwise.
///
/// # Errors
/// [`KvError::Open`] if there is a file `path` already, or if there is one when
/// the dump is complete; that file is not changed. [`KvError::Stopped`], [`KvError::Full`],
/// and the errors of reading `from`.
pub fn create_from(
    path: impl AsRef<Path>,
    from: &dyn KvRead,
    style: Style,
    watch: &mut Watch<'_>,
) -> crate::Result<Copied> {
    let path = path.as_ref();
    let mut file = new_file(path, watch.readers_of_pairs())?;
    watch.begin(None)?;
    let written = dump(&Watched::new(from, watch), KeySpan::FULL, style, &mut file.file);
    written.map_err(|error| match error {
        XmlError::Store(error) => error,
        XmlError::Io(error) => cannot(path, "cannot copy into it", &error),
        error => KvError::IllegalState(error.to_string()),
    })?;
    let copied = watch.end();
    file.publish()?;
    Ok(copied)
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

fn element(out: &mut impl Write, name: &[u8], bytes: &[u8]) -> std::io::Result<()> {
    out.write_all(b"<")?;
    out.write_all(name)?;
    out.write_all(b">")?;
    let mut digits = [0; 256];
    for chunk in bytes.chunks(digits.len() / 2) {
        for (byte, pair) in chunk.iter().zip(digits.as_chunks_mut::<2>().0) {
            *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
        }
        out.write_all(digits.get(..chunk.len() * 2).unwrap_or_default())?;
    }
    out.write_all(b"</")?;
    out.write_all(name)?;
    out.write_all(b">")
}
