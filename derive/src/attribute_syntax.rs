//! The grammar of `#[permazen(...)]`: a list of `key`, `key = value` and `key(...)`.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Expr, ExprPath, Ident, Lit, LitStr, Token, Type};

use crate::errors::Errors;

/// One item of an attribute.
pub(crate) struct Item {
    pub(crate) key: Ident,
    pub(crate) argument: Argument,
}

/// The argument after the key of an item.
pub(crate) enum Argument {
    /// `key`
    None,
    /// `key = tokens`
    Value(TokenStream),
    /// `key(tokens)`
    List(TokenStream),
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let key = input.call(Ident::parse_any)?;
        let argument = if input.peek(syn::token::Paren) {
            let content;
            syn::parenthesized!(content in input);
            Argument::List(content.parse()?)
        } else if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            // In an expression, `<` need not have a `>`.
            let tokens = if key == "default" {
                input.parse::<Expr>()?.into_token_stream()
            } else {
                value_tokens(input)?
            };
            Argument::Value(tokens)
        } else {
            Argument::None
        };
        // Without this, the rest of a wrong value would be read as the next key.
        if !input.is_empty() && !input.peek(Token![,]) {
            return Err(input.error("expected `,`, `= value` or `(...)`"));
        }
        Ok(Item { key, argument })
    }
}

/// The tokens up to the next comma outside angle brackets. This allows types as values.
fn value_tokens(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    let mut depth = 0usize;
    while !input.is_empty() && (depth > 0 || !input.peek(Token![,])) {
        // A comma between angle brackets belongs to a type.
        if input.peek(Token![<]) {
            depth += 1;
        } else if input.peek(Token![>]) {
            depth = depth.saturating_sub(1);
        }
        let token: TokenTree = input.parse()?;
        tokens.extend([token]);
    }
    if tokens.is_empty() { Err(input.error("expected a value")) } else { Ok(tokens) }
}

impl Item {
    pub(crate) fn is(&self, key: &str) -> bool {
        self.key == key
    }

    /// Reports an error unless this is a bare key. Returns true in any case, so that the flag
    /// counts as set.
    pub(crate) fn flag(&self, errors: &mut Errors) -> bool {
        if !matches!(self.argument, Argument::None) {
            errors.at(&self.key, format!("`{}` takes no value", self.key));
        }
        true
    }

    pub(crate) fn string(&self) -> syn::Result<LitStr> {
        match &self.argument {
            Argument::Value(tokens) => match syn::parse2::<Lit>(tokens.clone()) {
                Ok(Lit::Str(text)) => Ok(text),
                _ => Err(syn::Error::new_spanned(tokens, "expected a string literal")),
            },
            _ => Err(self.expected(&format!("`{} = \"...\"`", self.key))),
        }
    }

    /// The name of a type.
    pub(crate) fn type_name(&self) -> syn::Result<Ident> {
        let text = self.string()?;
        text.parse().map_err(|_| {
            let message = format!("`{}` cannot be the name of a type", text.value());
            syn::Error::new(text.span(), message)
        })
    }

    /// A storage ID: a positive integer.
    pub(crate) fn storage_id(&self) -> syn::Result<u32> {
        let Argument::Value(tokens) = &self.argument else {
            return Err(self.expected("`storage_id = number`"));
        };
        let number = match syn::parse2::<Lit>(tokens.clone()) {
            Ok(Lit::Int(number)) => number.base10_parse::<u32>().ok(),
            _ => None,
        };
        // Java has signed numbers, so a storage ID fits into 31 bits.
        number.filter(|&id| id > 0 && i32::try_from(id).is_ok()).ok_or_else(|| {
            syn::Error::new_spanned(tokens, "a storage id is a positive 32-bit number")
        })
    }

    pub(crate) fn ty(&self) -> syn::Result<Type> {
        match &self.argument {
            Argument::Value(tokens) => syn::parse2(tokens.clone()),
            _ => Err(self.expected(&format!("`{} = Type`", self.key))),
        }
    }

    pub(crate) fn expression(&self) -> syn::Result<Expr> {
        match &self.argument {
            Argument::Value(tokens) => syn::parse2(tokens.clone()),
            _ => Err(self.expected(&format!("`{} = expression`", self.key))),
        }
    }

    /// The path of a function.
    pub(crate) fn function(&self) -> syn::Result<ExprPath> {
        let Argument::Value(tokens) = &self.argument else {
            return Err(self.expected(&format!("`{} = path::of::function`", self.key)));
        };
        match syn::parse2::<Expr>(tokens.clone()) {
            // A path that came through a macro is inside a group.
            Ok(expression) => match ungrouped(&expression) {
                Expr::Path(path) => Ok(path.clone()),
                other => Err(syn::Error::new_spanned(other, "expected the path of a function")),
            },
            Err(_) => Err(syn::Error::new_spanned(tokens, "expected the path of a function")),
        }
    }

    pub(crate) fn list(&self) -> syn::Result<&TokenStream> {
        match &self.argument {
            Argument::List(tokens) => Ok(tokens),
            _ => Err(self.expected(&format!("`{}(...)`", self.key))),
        }
    }

    /// `key = ["a", "b"]` or `key = "a"`.
    pub(crate) fn strings(&self) -> syn::Result<Vec<LitStr>> {
        let Argument::Value(tokens) = &self.argument else {
            return Err(self.expected(&format!("`{} = [\"...\"]`", self.key)));
        };
        let literal = |expr: &Expr| match ungrouped(expr) {
            Expr::Lit(lit) => match &lit.lit {
                Lit::Str(text) => Ok(text.clone()),
                other => Err(syn::Error::new_spanned(other, "expected a string literal")),
            },
            other => Err(syn::Error::new_spanned(other, "expected a string literal")),
        };
        match ungrouped(&syn::parse2::<Expr>(tokens.clone())?) {
            Expr::Array(array) => array.elems.iter().map(literal).collect(),
            other => Ok(vec![literal(other)?]),
        }
    }

    fn expected(&self, form: &str) -> syn::Error {
        syn::Error::new_spanned(&self.key, format!("expected {form}"))
    }

    /// The error for an unknown key. It names the one that was meant, if one is near, and lists the
    /// keys that are known in this place.
    pub(crate) fn unknown(&self, place: &str, known: &[&str]) -> syn::Error {
        let meant = nearest(&self.key.to_string(), known);
        let meant = meant.map_or(String::new(), |name| format!(" (did you mean `{name}`?)"));
        let message = format!(
            "unknown attribute `{}` on {place}{meant}; known are {}",
            self.key,
            known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
        );
        syn::Error::new_spanned(&self.key, message)
    }
}

/// The expression without the group that a macro puts around an expression it received.
pub(crate) fn ungrouped(mut expression: &Expr) -> &Expr {
    while let Expr::Group(group) = expression {
        expression = &group.expr;
    }
    expression
}

/// The items in `tokens`. A key that occurs twice is an error, unless it is `repeatable`.
pub(crate) fn items(tokens: &TokenStream, repeatable: &[&str], errors: &mut Errors) -> Vec<Item> {
    let items = errors.note(parse_items.parse2(tokens.clone()));
    unique_keys(whole(items, errors), repeatable, errors)
}

/// The items of a list, as far as they could be read. A mistake in one item does not hide mistakes
/// in others.
fn parse_items(input: ParseStream<'_>) -> syn::Result<Vec<syn::Result<Item>>> {
    let mut items = Vec::new();
    while !input.is_empty() {
        let item = input.parse::<Item>();
        // The rest of a wrong item is passed over, up to the next one.
        if item.is_err() {
            while !input.is_empty() && !input.peek(Token![,]) {
                input.parse::<TokenTree>()?;
            }
        }
        items.push(item);
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(items)
}

/// The items without mistakes. Reports the mistakes.
fn whole(items: Option<Vec<syn::Result<Item>>>, errors: &mut Errors) -> Vec<Item> {
    items.into_iter().flatten().filter_map(|item| errors.note(item)).collect()
}

/// The items of all `#[permazen(...)]` attributes in `attributes`.
pub(crate) fn permazen_items(
    attributes: &[Attribute],
    repeatable: &[&str],
    errors: &mut Errors,
) -> Vec<Item> {
    let mut all = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("permazen")) {
        let parsed = errors.note(attribute.parse_args_with(parse_items));
        all.extend(whole(parsed, errors));
    }
    unique_keys(all, repeatable, errors)
}

fn unique_keys(items: Vec<Item>, repeatable: &[&str], errors: &mut Errors) -> Vec<Item> {
    let mut kept: Vec<Item> = Vec::with_capacity(items.len());
    for item in items {
        let twice = kept.iter().any(|other| other.key == item.key);
        if twice && !repeatable.iter().any(|key| item.is(key)) {
            errors.at(&item.key, format!("`{}` is given twice", item.key));
        } else {
            kept.push(item);
        }
    }
    kept
}

/// The path of the `permazen` crate: the value of `crate = "path"`, or `::permazen`.
pub(crate) fn crate_path(item: &Item) -> syn::Result<TokenStream> {
    let text = item.string()?;
    let path: syn::Path = text.parse().map_err(|_| {
        let message = format!("`{}` is no path of a crate, such as `::permazen`", text.value());
        syn::Error::new(text.span(), message)
    })?;
    Ok(quote::quote!(#path))
}

/// The name that was probably meant: one with the same beginning, and few other characters.
fn nearest<'n>(written: &str, names: &[&'n str]) -> Option<&'n str> {
    // In short names, each letter counts: few names would be unlike each other.
    let most = match written.len() {
        0..=1 => return None,
        2..=3 => 1,
        4..=7 => 2,
        _ => 3,
    };
    // A mistake in the first letter is rare, and then many names are near.
    let near = names.iter().filter(|name| name.chars().next() == written.chars().next());
    let near = near.map(|name| (distance(written, name), *name));
    near.filter(|(distance, _)| *distance <= most).min().map(|(_, name)| name)
}

/// How many characters must be added, removed or replaced to make one text of the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (above, x) in a.chars().enumerate() {
        let (mut left, mut diagonal) = (above + 1, above);
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, y) in row.iter_mut().skip(1).zip(b.chars()) {
            let replaced = diagonal + usize::from(x != y);
            diagonal = *cell;
            left = replaced.min(left + 1).min(*cell + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn the_nearest_name_is_found() {
        let names = ["indexed", "inverse_delete", "unique", "was"];
        assert_eq!(nearest("index", &names), Some("indexed"));
        assert_eq!(nearest("uniqe", &names), Some("unique"));
        assert_eq!(nearest("wsa", &names), None);
        assert_eq!(nearest("nonsense", &names), None);
        assert_eq!(nearest("i", &names), None);
        let of =
            [("", "", 0), ("", "ab", 2), ("abc", "", 3), ("kitten", "sitting", 3), ("ab", "ba", 2)];
        for (a, b, expected) in of {
            assert_eq!((distance(a, b), distance(b, a)), (expected, expected), "{a} {b}");
        }
    }
}
