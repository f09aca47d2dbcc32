//! From the bytes of an XML document to its text.

use std::borrow::Cow;

use super::MAX_XML_BYTES;

/// Decodes a document by its byte order mark or declared encoding: UTF-8, UTF-16, ISO-8859-1 or
/// US-ASCII.
pub(super) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, String> {
    if bytes.len() > MAX_XML_BYTES {
        return Err(format!(
            "the document has {} bytes, at most {MAX_XML_BYTES} are read",
            bytes.len()
        ));
    }
    match bytes {
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0, b'<', ..] => utf16(bytes, u16::from_be_bytes),
        [b'<', 0, ..] => utf16(bytes, u16::from_le_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest),
        _ => match declared_encoding(bytes) {
            None => utf8(bytes),
            Some(name) => match name.to_ascii_uppercase().as_str() {
                "UTF-8" | "UTF8" => utf8(bytes),
                "ISO-8859-1" | "ISO8859-1" | "LATIN1" => {
                    Ok(Cow::Owned(bytes.iter().copied().map(char::from).collect()))
                }
                "US-ASCII" | "ASCII" => match bytes.iter().position(|b| !b.is_ascii()) {
                    None => utf8(bytes),
                    Some(at) => Err(format!("byte {at} of the document is not ASCII")),
                },
                _ => Err(format!("character encoding {name:?} is not supported; use UTF-8")),
            },
        },
    }
}

fn utf8(bytes: &[u8]) -> Result<Cow<'_, str>, String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Cow::Borrowed(text)),
        Err(error) => Err(format!("byte {} of the document is not UTF-8", error.valid_up_to())),
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<Cow<'_, str>, String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err("the document is not UTF-16: it has an odd number of bytes".to_owned());
    }
    char::decode_utf16(pairs.iter().map(|&pair| unit(pair)))
        .collect::<Result<String, _>>()
        .map(Cow::Owned)
        .map_err(|error| format!("the document is not UTF-16: {error}"))
}

/// The encoding named by the XML declaration of a document in an ASCII-compatible encoding.
fn declared_encoding(bytes: &[u8]) -> Option<&str> {
    let rest = bytes.strip_prefix(b"<?xml")?;
    let end = rest.windows(2).position(|w| w == b"?>")?;
    let declaration = std::str::from_utf8(rest.get(..end)?).ok()?;
    let (_, rest) = declaration.split_once("encoding")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    rest.get(1..)?.split_once(quote).map(|(name, _)| name)
}
