//! Unnamed temporary files for data that does not fit into memory, and the form of the items in
//! them.

use std::io::{self, Read, Write};

/// The length that stands for an absent item.
const ABSENT: u32 = u32::MAX;

/// Adds to an error that a temporary file failed, in which directory, and that `TMPDIR` decides the
/// directory.
pub(crate) fn explained(error: io::Error) -> io::Error {
    let directory = tempfile::env::temp_dir();
    let text = format!("a temporary file in {} (TMPDIR says where): {error}", directory.display());
    io::Error::new(error.kind(), text)
}

/// Writes an item with its length.
pub(crate) fn write_item(out: &mut impl Write, item: Option<&[u8]>) -> io::Result<()> {
    let Some(item) = item else { return out.write_all(&ABSENT.to_le_bytes()) };
    match u32::try_from(item.len()) {
        Ok(len) if len != ABSENT => out.write_all(&len.to_le_bytes())?,
        _ => return Err(io::Error::other(format!("{} bytes in one item", item.len()))),
    }
    out.write_all(item)
}

/// The next item of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Item,
    Absent,
    End,
}

/// Reads an item into `item`.
pub(crate) fn read_item(from: &mut impl Read, item: &mut Vec<u8>) -> io::Result<Next> {
    let mut len = [0; 4];
    match from.read_exact(&mut len) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(Next::End),
        other => other?,
    }
    item.clear();
    let len = u32::from_le_bytes(len);
    if len == ABSENT {
        return Ok(Next::Absent);
    }
    item.resize(len as usize, 0);
    from.read_exact(item)?;
    Ok(Next::Item)
}
