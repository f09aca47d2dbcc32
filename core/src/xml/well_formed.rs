//! The rules for well-formed documents that the underlying XML reader does not check.

/// `Err` says why a part of a document is not well-formed.
type Check = Result<(), String>;

/// Whether this is white space between the parts of a tag.
fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\r' | '\n')
}

/// Checks the text between the brackets of a start tag, without a closing slash: a name, and
/// attributes with space before each.
pub(super) fn check_tag(content: &str) -> Check {
    let (name, rest) = split_name(content);
    check_name(name)?;
    attributes(rest, |name, _| check_name(name))
}

/// Checks the text between the brackets of an XML declaration, without the question marks.
pub(super) fn check_declaration(content: &str) -> Check {
    // The attributes in the order they must have. The first is required.
    const ORDER: [&str; 3] = ["version", "encoding", "standalone"];
    let mut next = 0;
    let rest = content.strip_prefix("xml").unwrap_or(content);
    attributes(rest, |name, value| {
        let place = ORDER.iter().skip(next).position(|known| *known == name);
        let Some(place) = place.filter(|&place| next > 0 || place == 0) else {
            return Err(format!("{name:?} does not belong in this place of an XML declaration"));
        };
        next += place + 1;
        let is_right = match name {
            "version" => matches!(value, "1.0" | "1.1"),
            "encoding" => {
                value.starts_with(|char: char| char.is_ascii_alphabetic())
                    && value.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
            }
            _ => matches!(value, "yes" | "no"),
        };
        match is_right {
            true => Ok(()),
            false => Err(format!("{value:?} is no {name} an XML declaration can give")),
        }
    })?;
    if next == 0 { Err("an XML declaration without version".to_owned()) } else { Ok(()) }
}

/// Checks the name at the start of a processing instruction.
pub(super) fn check_target(target: &str) -> Check {
    match target {
        _ if target.eq_ignore_ascii_case("xml") || target.contains(':') => {
            Err(format!("a processing instruction cannot be named {target:?}"))
        }
        _ => check_name(target),
    }
}

/// Checks text as it is written in the document.
pub(super) fn check_text(text: &str) -> Check {
    if text.contains("]]>") { Err("]]> in text".to_owned()) } else { Ok(()) }
}

/// Calls `check` with the name and the raw value of each attribute.
fn attributes(mut rest: &str, mut check: impl FnMut(&str, &str) -> Check) -> Check {
    loop {
        let trimmed = rest.trim_start_matches(is_space);
        if trimmed.is_empty() {
            return Ok(());
        }
        let (name, after) = split_name(trimmed);
        if trimmed.len() == rest.len() {
            return Err(format!("no space before attribute {name:?}"));
        }
        let value = after
            .trim_start_matches(is_space)
            .strip_prefix('=')
            .map(|after| after.trim_start_matches(is_space))
            .and_then(|after| {
                let quote = after.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
                after.get(1..)?.split_once(quote)
            });
        let Some((value, after)) = value else {
            return Err(format!("attribute {name:?} has no value in quotes"));
        };
        check(name, value)?;
        rest = after;
    }
}

/// The text before the first space or `=`, and the rest.
fn split_name(text: &str) -> (&str, &str) {
    text.split_at(text.find(|char| is_space(char) || char == '=').unwrap_or(text.len()))
}

/// Checks a name, with or without a prefix.
fn check_name(name: &str) -> Check {
    let is_part = |part: &str| {
        part.starts_with(is_name_start) && part.chars().all(|c| is_name_start(c) || is_name_rest(c))
    };
    let is_name = match name.split_once(':') {
        Some((prefix, local)) => is_part(prefix) && is_part(local),
        None => is_part(name),
    };
    if is_name { Ok(()) } else { Err(format!("{name:?} is no name")) }
}

/// Whether a name can begin with this character (XML 1.0, fifth edition). A colon is not one of
/// them: it separates the prefix.
fn is_name_start(char: char) -> bool {
    matches!(char,
        'A'..='Z' | '_' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}'
        | '\u{f8}'..='\u{2ff}' | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}'
        | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}' | '\u{2c00}'..='\u{2fef}'
        | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}')
}

/// Whether a name can contain a character that it cannot begin with.
fn is_name_rest(char: char) -> bool {
    matches!(char,
        '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}
