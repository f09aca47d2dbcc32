//! Names on disk (case rules and the name pattern), names of constants, and paths in generated
//! code.

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Ident, Type};

use crate::errors::Errors;
use crate::name_case::{camel_case, capitalized, is_valid, screaming_snake_case, words};

/// How names on disk are made from Rust names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    Camel,
    Pascal,
    Snake,
    ScreamingSnake,
    AsWritten,
}

impl Case {
    const CHOICES: &'static str =
        "`camelCase`, `PascalCase`, `snake_case`, `SCREAMING_SNAKE_CASE` or `none`";

    pub(crate) fn parse(text: &str, span: Span) -> syn::Result<Self> {
        Ok(match text {
            "camelCase" => Case::Camel,
            "PascalCase" => Case::Pascal,
            "snake_case" => Case::Snake,
            "SCREAMING_SNAKE_CASE" => Case::ScreamingSnake,
            "none" => Case::AsWritten,
            _ => {
                let message = format!("unknown case rule `{text}`: expected {}", Self::CHOICES);
                return Err(syn::Error::new(span, message));
            }
        })
    }

    /// The name on disk of the Rust name `ident`.
    pub(crate) fn apply(self, ident: &Ident) -> String {
        let name = ident.unraw().to_string();
        match self {
            Case::AsWritten => name,
            Case::Snake => words(&name).join("_"),
            Case::ScreamingSnake => screaming_snake_case(&name),
            Case::Pascal => words(&name).iter().map(|word| capitalized(word)).collect(),
            Case::Camel => camel_case(&name),
        }
    }
}

/// The place of `span`, with the names that are visible where the derive is. A token of a type that
/// came through a `macro_rules!` would see the names of that macro, which do not include `self`.
pub(crate) fn here(span: Span) -> Span {
    Span::call_site().located_at(span)
}

/// An `Option` of this type.
pub(crate) fn option_of(ty: &Type) -> Type {
    let span = here(ty.span());
    syn::parse_quote_spanned!(span=> ::core::option::Option<#ty>)
}

/// The path `tokens` at the place of `span`.
pub(crate) fn located(tokens: &TokenStream, span: Span) -> TokenStream {
    let at = |mut token: TokenTree| {
        token.set_span(span);
        token
    };
    tokens.clone().into_iter().map(at).collect()
}

/// `tokens` at the place of `span`, also inside of groups.
pub(crate) fn everywhere(tokens: &TokenStream, span: Span) -> TokenStream {
    let at = |token: TokenTree| match token {
        TokenTree::Group(group) => {
            let mut inside = Group::new(group.delimiter(), everywhere(&group.stream(), span));
            inside.set_span(span);
            TokenTree::Group(inside)
        }
        mut token => {
            token.set_span(span);
            token
        }
    };
    tokens.clone().into_iter().map(at).collect()
}

/// The name of a constant: `name` in upper case with underscores between its words. Characters that
/// Rust does not allow in names become underscores.
pub(crate) fn constant(name: &str, span: Span) -> Ident {
    let is_name = |text: &str| syn::parse_str::<Ident>(text).is_ok();
    let text = words(name).join("_").to_uppercase();
    let mut text: String =
        // Rust names have fewer characters than names in the database.
        text.chars().map(|c| if is_name(&format!("a{c}")) { c } else { '_' }).collect();
    // `_` alone is not a name.
    if !is_name(&text) {
        text.insert(0, '_');
    }
    if text == "_" {
        text.push('_');
    }
    // The constant must be visible where the derive is, whatever macro the name came through.
    Ident::new(&text, here(span))
}

/// Reports a name that no type, field or index can have.
pub(crate) fn check(name: &str, at: impl ToTokens, errors: &mut Errors) {
    if !is_valid(name) {
        let message = format!(
            "`{name}` cannot be a name: a letter, `_` or `$`, then letters, digits, `_` and `$`"
        );
        errors.at(at, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(case: Case, name: &str) -> String {
        case.apply(&Ident::new(name, Span::call_site()))
    }

    #[test]
    fn fields_become_camel_case() {
        for (rust, disk) in
            [("name", "name"), ("last_seen", "lastSeen"), ("by_x_2", "byX2"), ("_hidden", "hidden")]
        {
            assert_eq!(apply(Case::Camel, rust), disk);
        }
    }

    #[test]
    fn enum_identifiers_become_screaming_snake_case() {
        for (rust, disk) in [("HipHop", "HIP_HOP"), ("Usa", "USA"), ("HTTPServer2", "HTTP_SERVER2")]
        {
            assert_eq!(apply(Case::ScreamingSnake, rust), disk);
        }
        assert_eq!(apply(Case::AsWritten, "HipHop"), "HipHop");
    }

    #[test]
    fn index_names_become_constants() {
        assert_eq!(constant("byArtistYear", Span::call_site()), "BY_ARTIST_YEAR");
        assert_eq!(constant("$1", Span::call_site()), "_1");
        assert_eq!(constant("1", Span::call_site()), "_1");
    }

    #[test]
    fn every_name_has_a_constant() {
        for name in ["$", "_", "__", "$$", "名", "straße", "a²", "\u{24d0}", "ǰ", "Ⅷ", "self"]
        {
            let constant = constant(name, Span::call_site()).to_string();
            assert!(constant != "_" && !constant.is_empty(), "{name}");
        }
    }

    #[test]
    fn names_are_java_identifiers() {
        for good in ["name", "_x", "$", "élan", "a1"] {
            assert!(crate::name_case::is_valid(good), "{good}");
        }
        for bad in ["", "1a", "a b", "a-b", "a.b", "a#1"] {
            assert!(!crate::name_case::is_valid(bad), "{bad}");
        }
    }
}
