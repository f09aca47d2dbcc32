//! Names of Rust items for the names of a schema: valid, different from each other, and as Rust
//! writes names.

use std::collections::HashSet;

use permazen::__internal::escape::needs_escape;

/// Keywords of every edition, and names that Rust gives to something else.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// Keywords that cannot be written as `r#…`.
const NEVER: &[&str] = &["crate", "self", "super"];

/// Types that the structs use.
const TYPES: &[&str] = &[
    "Any",
    "BTreeMap",
    "BTreeSet",
    "Box",
    "Counter",
    "Err",
    "HashMap",
    "HashSet",
    "None",
    "Obj",
    "Ok",
    "Option",
    "PermazenEnum",
    "PermazenKind",
    "PermazenObject",
    "Ref",
    "Result",
    "Self",
    "Some",
    "String",
    "Vec",
];

/// Methods of handles, whose names no accessor can have. A test compares them with those that the
/// derive refuses.
pub(super) const METHODS: &[&str] = &[
    "any",
    "cascade",
    "copy_to",
    "counter",
    "delete",
    "exists",
    "fields",
    "follow",
    "get",
    "id",
    "list_of",
    "load",
    "load_versioned",
    "map_of",
    "migrate",
    "recreate",
    "referrers",
    "revalidate",
    "schema_id",
    "set",
    "set_of",
    "store",
    "to_ref",
    "tx",
    "clamp",
    "clone",
    "clone_from",
    "clone_into",
    "cmp",
    "eq",
    "ge",
    "gt",
    "into",
    "le",
    "lt",
    "max",
    "min",
    "ne",
    "partial_cmp",
    "to_owned",
    "try_into",
];

/// Whether the derive takes this name: letters, digits, `_` and `$`, and no digit first.
pub(super) fn can_be_said(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$')
        && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
}

/// A string literal. Invisible characters are escaped.
pub(super) fn literal(text: &str) -> String {
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            _ if needs_escape(c) => literal.extend(c.escape_unicode()),
            _ => literal.push(c),
        }
    }
    literal.push('"');
    literal
}

/// The words of a name in lower case, as the derive finds them.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in name.split('_').filter(|part| !part.is_empty()) {
        let chars: Vec<char> = part.chars().collect();
        let mut word = String::new();
        for (at, &c) in chars.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| chars.get(at));
            let starts_word = c.is_uppercase()
                && before.is_some_and(|before| {
                    !before.is_uppercase()
                        || chars.get(at + 1).is_some_and(|next| next.is_lowercase())
                });
            if starts_word {
                words.push(std::mem::take(&mut word));
            }
            word.extend(c.to_lowercase());
        }
        words.push(word);
    }
    words
}

/// The words of a name, with only characters that every Rust name can have.
fn plain_words(name: &str) -> Vec<String> {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    words(&plain)
}

/// `plain words` as the name of a field or method, and `instead` if there are none.
fn snake(name: &str, instead: &str) -> String {
    let mut words = plain_words(name);
    if !words.first().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_lowercase())) {
        words.insert(0, instead.to_owned());
    }
    words.join("_")
}

/// The name of a type or variant.
pub(super) fn pascal(name: &str, instead: &str) -> String {
    snake(name, instead).split('_').map(capitalized).collect()
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// The name that the derive gives a field with this Rust name, and an enum constant.
pub(super) fn camel_case(ident: &str) -> String {
    let words = words(ident);
    let mut rest = words.iter();
    rest.next().cloned().unwrap_or_default()
        + &rest.map(|word| capitalized(word)).collect::<String>()
}

/// The name that the derive gives an enum constant with this Rust name.
pub(super) fn screaming_snake_case(ident: &str) -> String {
    words(ident).join("_").to_uppercase()
}

/// The name of the constant that the derive makes for a composite index. Of characters that Rust
/// may not allow, only letters are certain to stay as they are.
pub(super) fn constant(name: &str) -> String {
    let text = words(name).join("_").to_uppercase();
    text.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect()
}

/// The first of `ident`, `ident2`, `ident3` … that is free.
fn free(ident: &str, is_free: impl Fn(&str) -> bool) -> String {
    let numbered = (2u32..).map(|n| format!("{ident}{n}"));
    std::iter::once(ident.to_owned())
        .chain(numbered)
        .find(|ident| is_free(ident))
        .unwrap_or_default()
}

/// The types of the source.
#[derive(Default)]
pub(super) struct TypeNames(HashSet<String>);

impl TypeNames {
    /// A name for a type. The derive makes another one, with `suffix` at the end.
    pub(super) fn take(&mut self, name: &str, suffix: &str) -> String {
        let is_free = |ident: &str| {
            !TYPES.contains(&ident)
                && !self.0.contains(ident)
                && !self.0.contains(&format!("{ident}{suffix}"))
        };
        let ident = free(&pascal(name, "Type"), is_free);
        self.0.insert(ident.clone());
        self.0.insert(format!("{ident}{suffix}"));
        ident
    }
}

/// The variants of an enum.
#[derive(Default)]
pub(super) struct VariantNames(HashSet<String>);

impl VariantNames {
    pub(super) fn take(&mut self, name: &str) -> String {
        // HIP_HOP is one word for Rust names with small letters.
        let lower = if name.chars().any(char::is_lowercase) {
            name.to_owned()
        } else {
            name.to_lowercase()
        };
        let is_free = |ident: &str| ident != "Self" && !self.0.contains(ident);
        let ident = free(&pascal(&lower, "Constant"), is_free);
        self.0.insert(ident.clone());
        ident
    }
}

/// A field of a struct.
pub(super) struct FieldName {
    /// As it is written: perhaps with `r#`.
    pub(super) ident: String,
    /// The value of the attribute `rename`, if it is needed.
    pub(super) rename: Option<String>,
    /// The value of the attribute `accessor`, if it is needed.
    pub(super) accessor: Option<String>,
}

/// The fields of a struct.
pub(super) struct FieldNames {
    constants: HashSet<String>,
    methods: HashSet<String>,
}

impl FieldNames {
    /// `constants` are the names of constants that the struct has for other things.
    pub(super) fn new(constants: impl IntoIterator<Item = String>) -> Self {
        let methods = METHODS.iter().map(|&method| method.to_owned()).collect();
        FieldNames { constants: constants.into_iter().collect(), methods }
    }

    pub(super) fn take(&mut self, name: &str) -> FieldName {
        let is_free = |ident: &str| {
            !NEVER.contains(&ident) && !self.constants.contains(&ident.to_uppercase())
        };
        let ident = free(&snake(name, "field"), is_free);
        self.constants.insert(ident.to_uppercase());
        let is_free = |accessor: &str| {
            !self.methods.contains(accessor) && !self.methods.contains(&format!("set_{accessor}"))
        };
        let accessor =
            if is_free(&ident) { ident.clone() } else { free(&format!("the_{ident}"), is_free) };
        self.methods.insert(accessor.clone());
        self.methods.insert(format!("set_{accessor}"));
        FieldName {
            rename: (camel_case(&ident) != name).then(|| name.to_owned()),
            accessor: (accessor != ident).then_some(accessor),
            ident: if KEYWORDS.contains(&&*ident) { format!("r#{ident}") } else { ident },
        }
    }
}

/// The rules of the derive, of which those above are a copy.
#[cfg(test)]
#[path = "../../../../../derive/src/name_case.rs"]
mod of_derive;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_those_of_rust() {
        let mut types = TypeNames::default();
        let names = ["Person", "person", "PersonFields", "String", "A$b", "größe", "$", "名"];
        let idents: Vec<_> = names.iter().map(|name| types.take(name, "Fields")).collect();
        let expected =
            ["Person", "Person2", "PersonFields2", "String2", "AB", "GrE", "Type", "Type2"];
        assert_eq!(idents, expected);

        let mut fields = FieldNames::new(["BY_NAME".to_owned()]);
        let mut said = |name| {
            let FieldName { ident, rename, accessor } = fields.take(name);
            [ident, rename.unwrap_or_default(), accessor.unwrap_or_default()].join(" ")
        };
        assert_eq!(said("firstName"), "first_name  ");
        assert_eq!(said("first_name"), "first_name2 first_name ");
        assert_eq!(said("type"), "r#type  ");
        assert_eq!(said("self"), "self2 self ");
        assert_eq!(said("id"), "id  the_id");
        assert_eq!(said("setName"), "set_name  ");
        assert_eq!(said("name"), "name  the_name");
        assert_eq!(said("byName"), "by_name2 byName ");
        assert_eq!(said("a$b"), "a_b a$b ");
        assert_eq!(said("名"), "field 名 ");

        let mut variants = VariantNames::default();
        for (identifier, variant) in
            [("HIP_HOP", "HipHop"), ("hipHop", "HipHop2"), ("self", "Self2"), ("USA", "Usa")]
        {
            assert_eq!(variants.take(identifier), variant);
        }
    }

    #[test]
    fn methods_are_those_the_derive_refuses() {
        let derive = include_str!("../../../../../derive/src/reserved.rs");
        let quoted = derive.split('"').skip(1).step_by(2);
        let mut theirs: Vec<_> = quoted.collect();
        let mut ours = METHODS.to_vec();
        theirs.sort_unstable();
        ours.sort_unstable();
        assert_eq!(ours, theirs);
    }

    #[test]
    fn names_have_the_words_that_the_derive_finds() {
        // Every name of at most `length` of these characters, with the empty one.
        let length = if std::env::var_os("PERMAZEN_ALL").is_some() { 5 } else { 4 };
        let parts = ["a", "b", "B", "C", "_", "1", "$", "ß", "İ", "-"];
        let mut names = vec![String::new()];
        for _ in 0..length {
            let last = names.split_off(0);
            let longer = last.iter().flat_map(|name| parts.map(|part| format!("{name}{part}")));
            names = std::iter::once(String::new()).chain(longer).collect();
        }
        assert_eq!(names.len(), if length == 5 { 111_111 } else { 11_111 });
        for name in names {
            assert_eq!(words(&name), of_derive::words(&name), "{name}");
            assert_eq!(camel_case(&name), of_derive::camel_case(&name), "{name}");
            let constants = [screaming_snake_case(&name), of_derive::screaming_snake_case(&name)];
            assert_eq!(constants[0], constants[1], "{name}");
            assert_eq!(can_be_said(&name), of_derive::is_valid(&name), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_seen_is_escaped() {
        assert_eq!(literal("a\u{115f}\"b\\é"), r#""a\u{115f}\"b\\é""#);
    }
}
