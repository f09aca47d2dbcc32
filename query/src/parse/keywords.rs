//! The words of the language.

use crate::syntax::Special;

/// Words that cannot be names without backticks wherever a name may stand.
pub(super) const RESERVED: [&str; 23] = [
    "all",
    "and",
    "asc",
    "columns",
    "desc",
    "false",
    "has",
    "in",
    "intersect",
    "is",
    "limit",
    "minus",
    "not",
    "null",
    "or",
    "order",
    "reverse",
    "starts",
    "to",
    "true",
    "union",
    "using",
    "where",
];

/// Words with a meaning in some places only. Elsewhere they can be names.
const SOMETIMES: [&str; 18] = [
    "add", "at", "by", "count", "create", "delete", "explain", "export", "find", "index", "insert",
    "migrate", "none", "put", "remove", "run", "set", "show",
];

/// The words that begin statements.
pub(super) const STATEMENTS: [&str; 10] =
    ["find", "show", "count", "index", "create", "set", "delete", "migrate", "export", "explain"];

/// Whether statements begin with this word.
pub fn begins_statement(word: &str) -> bool {
    STATEMENTS.contains(&word)
}

/// Whether a word has a meaning somewhere in the language.
pub(crate) fn is_word_of_language(word: &str) -> bool {
    RESERVED.contains(&word)
        || SOMETIMES.contains(&word)
        || Special::ALL.iter().any(|special| special.word() == word)
}

/// All words with a meaning somewhere in the language.
pub fn keywords() -> impl Iterator<Item = &'static str> {
    RESERVED.into_iter().chain(SOMETIMES).chain(Special::ALL.map(Special::word))
}
