//! Object XML without storage IDs: how Java writes references in it, and how they should be
//! written.

use std::str::FromStr;

use permazen::__internal::object_xml::GeneratedIds;
use permazen::ObjId;

/// The text before the type in the portable name of an object.
const PREFIX: &str = "generated:";

/// The parts `TYPE` and `ID` of `generated:TYPE:ID` at the start of `text`.
fn name_at(text: &str) -> Option<(&str, &str)> {
    let (type_name, rest) = text.strip_prefix(PREFIX)?.split_once(':')?;
    let id = rest.get(..2 * ObjId::LEN)?;
    ObjId::from_str(id).ok()?;
    Some((type_name, id))
}

/// The document as Java writes it: references are raw IDs (weakness XD4), except the IDs of the
/// objects themselves. Also returns how many references were portable.
pub fn with_raw_references(document: &str) -> (String, usize) {
    let mut raw = String::with_capacity(document.len());
    let (mut rest, mut count) = (document, 0);
    while let Some(at) = rest.find(PREFIX) {
        let (before, found) = rest.split_at(at);
        raw.push_str(before);
        let after = &found[PREFIX.len()..];
        rest = match name_at(found) {
            Some((type_name, _)) if before.ends_with('>') => {
                count += 1;
                &after[type_name.len() + 1..]
            }
            _ => {
                raw.push_str(PREFIX);
                after
            }
        };
    }
    raw.push_str(rest);
    (raw, count)
}

/// Maps every `generated:TYPE:ID` in the document to the object with that ID.
pub fn original_ids(document: &str) -> GeneratedIds {
    let mut ids = GeneratedIds::new();
    for (at, _) in document.match_indices(PREFIX) {
        if let Some((type_name, id)) = name_at(&document[at..])
            && let Ok(object) = id.parse()
        {
            ids.insert(type_name, id, object);
        }
    }
    ids
}
