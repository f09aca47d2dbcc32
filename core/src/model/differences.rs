//! What differs between the models and the database, for a one-line message.

use crate::schema::{Difference, SchemaModel};

/// How many differences a message names.
const NAMED: usize = 4;

/// How `new` differs from `old`, with the place of each difference.
pub(crate) fn one_line(old: &SchemaModel, new: &SchemaModel) -> String {
    let mut found = Vec::new();
    for difference in new.differences_from(old).list() {
        collect(difference, "", &mut found);
    }
    let more = found.len().saturating_sub(NAMED);
    found.truncate(NAMED);
    let mut text = found.join("; ");
    if more > 0 {
        text.push_str(&format!("; and {more} more"));
    }
    if text.is_empty() { "the storage ids".to_owned() } else { text }
}

fn collect(difference: &Difference, place: &str, found: &mut Vec<String>) {
    // A place is named without the word "changed": `object type "T"`.
    let own = difference.text.strip_prefix("changed ").unwrap_or(&difference.text);
    if difference.details.is_empty() {
        let text = &difference.text;
        found.push(if place.is_empty() { text.clone() } else { format!("{place}: {text}") });
        return;
    }
    let place = if place.is_empty() { own.to_owned() } else { format!("{place}, {own}") };
    for detail in &difference.details {
        collect(detail, &place, found);
    }
}
