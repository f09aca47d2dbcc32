//! Whether a text is complete.

use permazen_query::parse::begins_statement;
use permazen_query::parse_first;

use crate::script::words;

/// Whether a text can be run, even if only to say what is wrong with it; otherwise it continues in
/// the next line. An empty line ends every text.
pub(super) fn is_complete(text: &str) -> bool {
    if text.ends_with('\n') || text.trim_end().ends_with(';') {
        return true;
    }
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
        if let Some(comment) = rest.strip_prefix("--") {
            let Some(end) = comment.find('\n') else { return true };
            rest = comment.get(end..).unwrap_or_default();
            continue;
        }
        if rest.is_empty() {
            return true;
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let length = if rest.get(..end).is_some_and(begins_statement) {
            match parse_first(rest) {
                Ok((_, length)) => length,
                // If something is missing, the mistake is after the end; an open quote reaches to
                // the end.
                Err(mistake) => {
                    return mistake.span.start < rest.trim_end().len()
                        && !is_open_quote(rest, &mistake);
                }
            }
        } else {
            match words(rest) {
                Ok((_, length)) => length,
                Err(_) => return false,
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
}

/// Whether a mistake is a quote that is not closed: with a closing quote, the text has no mistake
/// there.
fn is_open_quote(text: &str, mistake: &permazen_query::Mistake) -> bool {
    let at = mistake.span.start;
    let Some(quote) = text.get(at..).and_then(|rest| rest.trim_start_matches('x').chars().next())
    else {
        return false;
    };
    matches!(quote, '"' | '`' | '\'')
        && match parse_first(&format!("{text}{quote}")) {
            Ok(_) => true,
            Err(other) => other.span.start > at,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_complete() {
        for text in [
            "",
            "  ",
            "find Person",
            "find Person;",
            "find Person where name = \"a;b\"",
            "find wher x = 1",
            "find Person where ;",
            "find Person where\n",
            "info",
            "info; find Person",
            "-- a comment",
            "echo 'a' \"b\"",
            "find Person where name = \"Ann\" foo",
        ] {
            assert!(is_complete(text), "{text:?}");
        }
    }

    #[test]
    fn what_goes_on() {
        for text in [
            "find",
            "find Person where",
            "find Person where name =",
            "find Person where (name = \"a\"",
            "find Person where name = \"Ann",
            "find `Per",
            "create Person name = \"Eve\",",
            "echo 'a",
            "echo a\\",
            "info; find",
            "-- a comment\nfind",
        ] {
            assert!(!is_complete(text), "{text:?}");
        }
    }
}
