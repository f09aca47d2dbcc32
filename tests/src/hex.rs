//! Lower-case hex, as the recorded answers write bytes.

/// The lower-case hex form of `bytes`.
pub fn encode(bytes: &[u8]) -> String {
    permazen::kv::Hex(bytes).to_string()
}

/// The bytes that `text` writes in hex; `None` if it is not hex.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    permazen::kv::key::parse_hex(text).ok()
}
