//! Mistakes in statements, with their positions.

use std::fmt;

use crate::syntax::Span;
use crate::text::escaped;

/// A mistake in a statement. It is found before the database is read or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mistake {
    /// Where in the text.
    pub span: Span,
    /// The problem, as one clause.
    pub what: String,
    /// The words that could stand there, if that is a short list.
    pub expected: Vec<String>,
    /// A name that is nearly the one that was written.
    pub nearest: Option<String>,
}

impl Mistake {
    /// A mistake at this place, in words.
    pub fn new(span: Span, what: impl Into<String>) -> Self {
        Mistake { span, what: what.into(), expected: Vec::new(), nearest: None }
    }

    #[must_use]
    pub(crate) fn expecting(mut self, expected: &[&str]) -> Self {
        self.expected = expected.iter().map(|&word| word.to_owned()).collect();
        self
    }

    #[must_use]
    pub(crate) fn near<'a>(
        mut self,
        written: &str,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        self.nearest = nearest(written, names);
        self
    }

    /// The same mistake, or what is likely meant by the word of `source` at its place: an ID
    /// without its `@`, or a date without quotes.
    #[must_use]
    pub(crate) fn or_meant(self, source: &str) -> Self {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let Some((before, after)) = source.split_at_checked(self.span.start) else { return self };
        let start = before.trim_end_matches(is_part).len();
        let end = self.span.start + after.find(|c: char| !is_part(c)).unwrap_or(after.len());
        let Some(word) = source.get(start..end) else { return self };
        let span = Span::new(start, end);
        if before.get(..start).is_some_and(|before| before.ends_with(['@', '`', '"', '\''])) {
            return self;
        }
        let written = |shape: &str| {
            word.len() >= shape.len()
                && shape.bytes().zip(word.bytes()).all(|(is, byte)| match is {
                    b'0' => byte.is_ascii_digit(),
                    is => byte == is,
                })
        };
        if is_bare_id(word) {
            return Mistake::new(span, needs_at(word));
        }
        if written("0000-00-00") {
            return Mistake::new(span, format!("a date is written in double quotes: \"{word}\""));
        }
        self
    }

    /// The message, the line of `source` with the mistake, and a caret below it. `source` is the
    /// text of the statement. A long line is cut. Characters that cannot be seen are escaped.
    ///
    /// ```
    /// let source = "find Person wher age > 3";
    /// let mistake = permazen_query::parse(source).unwrap_err();
    /// assert_eq!(mistake.shown_in(source), "\
    /// line 1, column 13: `wher` is not expected here (did you mean `where`?)
    ///   find Person wher age > 3
    ///               ^^^^");
    /// ```
    pub fn shown_in(&self, source: &str) -> String {
        const BEFORE: usize = 48;
        const AFTER: usize = 32;
        let floor = |at: usize| {
            let at = at.min(source.len());
            (0..=at).rev().find(|at| source.is_char_boundary(*at)).unwrap_or(0)
        };
        let (start, end) = (floor(self.span.start), floor(self.span.end));
        let (before, rest) = source.split_at(start);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        let before = before.get(line_start..).unwrap_or_default();
        let column = before.chars().count() + 1;
        let rest = rest.split('\n').next().unwrap_or_default();
        let marked: String =
            rest.chars().take(source.get(start..end).map_or(0, |t| t.chars().count())).collect();
        let after = rest.get(marked.len()..).unwrap_or_default();
        let cut = before.chars().count().saturating_sub(BEFORE);
        let shown_before: String = before.chars().skip(cut).collect();
        let shown_before = format!("{}{}", if cut > 0 { "…" } else { "" }, escaped(&shown_before));
        let long = marked.chars().count() > AFTER;
        let shown_marked: String = marked.chars().take(AFTER).collect();
        let shown_marked = escaped(&shown_marked).into_owned();
        let shown_after: String = after.chars().take(if long { 0 } else { AFTER }).collect();
        let more = long || after.chars().count() > AFTER;
        format!(
            "line {line}, column {column}: {self}\n  {shown_before}{shown_marked}{}{}\n  {}{}",
            escaped(&shown_after),
            if more { "…" } else { "" },
            " ".repeat(shown_before.chars().count()),
            "^".repeat(shown_marked.chars().count().max(1)),
        )
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(nearest) = &self.nearest {
            return write!(f, " (did you mean `{}`?)", escaped(nearest));
        }
        match self.expected.as_slice() {
            [] => Ok(()),
            [one] => write!(f, "; expected {one}"),
            [first @ .., last] => write!(f, "; expected {} or {last}", first.join(", ")),
        }
    }
}

impl std::error::Error for Mistake {}

/// Whether a word is an ID but for its `@`.
pub(crate) fn is_bare_id(word: &str) -> bool {
    word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The message about an ID without its `@`.
pub(crate) fn needs_at(word: &str) -> String {
    format!("an ID is written with @ before it: @{}", word.to_ascii_lowercase())
}

/// The name that differs least from the written one, if it differs by little and begins with the
/// same character. Names are compared without regard to upper and lower case.
pub fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    const LONGEST: usize = 64;
    let lower = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<Vec<_>>();
    let written = lower(written);
    if written.len() > LONGEST {
        return None;
    }
    let most = match written.len() {
        0..=1 => 0,
        2..=3 => 1,
        4..=7 => 2,
        _ => 3,
    };
    names
        .into_iter()
        .filter_map(|name| {
            let other = lower(name);
            (other.first() == written.first() && other.len().abs_diff(written.len()) <= most)
                .then(|| (distance(&written, &other), name))
        })
        .filter(|(distance, _)| *distance <= most)
        .min()
        .map(|(_, name)| name.to_owned())
}

/// How many characters must be added, removed, replaced or swapped with the next one.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut rows = [vec![0; b.len() + 1], (0..=b.len()).collect::<Vec<_>>(), vec![0; b.len() + 1]];
    for (i, x) in a.iter().enumerate() {
        let [older, old, new] = &mut rows;
        for (j, cell) in new.iter_mut().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX / 2);
            *cell = match j.checked_sub(1) {
                None => i + 1,
                Some(left) => {
                    let y = b.get(left);
                    at(old, left) + usize::from(Some(x) != y)
                }
            };
            let _ = &older;
        }
        for j in 1..=b.len() {
            let value = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX / 2);
            let mut best = value(new, j).min(value(old, j) + 1).min(value(new, j - 1) + 1);
            let swapped =
                i >= 1 && j >= 2 && a.get(i - 1) == b.get(j - 1) && Some(x) == b.get(j - 2);
            if swapped {
                best = best.min(value(older, j - 2) + 1);
            }
            if let Some(cell) = new.get_mut(j) {
                *cell = best;
            }
        }
        rows.rotate_left(1);
    }
    rows[1].last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        let of = |a: &str, b: &str| {
            distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>())
        };
        assert_eq!(of("", ""), 0);
        assert_eq!(of("", "abc"), 3);
        assert_eq!(of("abc", ""), 3);
        assert_eq!(of("kitten", "sitting"), 3);
        assert_eq!(of("wehre", "where"), 1);
        assert_eq!(of("abcd", "acbd"), 1);
        assert_eq!(of("name", "name"), 0);
    }

    #[test]
    fn the_nearest_name() {
        let names = ["name", "age", "nameAge"];
        assert_eq!(nearest("nmae", names).as_deref(), Some("name"));
        assert_eq!(nearest("NAME", names).as_deref(), Some("name"));
        assert_eq!(nearest("colour", names), None);
        assert_eq!(nearest("hlep", ["sleep", "help"]).as_deref(), Some("help"));
        assert_eq!(nearest("game", names), None);
        assert_eq!(nearest("x", names), None);
    }
}
