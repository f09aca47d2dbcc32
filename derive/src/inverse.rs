//! `#[permazen(inverse(albums = Album::ARTIST))]`: what it means. `inverse_methods.rs` makes the
//! methods.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Expr, Ident, Path};

use crate::attribute_syntax::{self, Argument, Item};
use crate::errors::Errors;
use crate::types;

/// A method of the handle.
pub(crate) struct Inverse {
    pub(crate) name: Ident,
    /// The constant of the field that refers to this type, as written.
    pub(crate) field: TokenStream,
    /// The type that has the field: the path of the constant without its name.
    pub(crate) owner: TokenStream,
}

/// The methods that an attribute asks for.
pub(crate) fn parse(item: &Item, owner: &Ident, errors: &mut Errors) -> Vec<Inverse> {
    let Some(tokens) = errors.note(item.list().cloned()) else { return Vec::new() };
    let items = attribute_syntax::items(&tokens, &[], errors);
    if tokens.is_empty() {
        errors.at(&item.key, "expected `inverse(name = Type::FIELD)`");
    }
    items.iter().filter_map(|item| errors.note(inverse(item, owner))).collect()
}

fn inverse(item: &Item, owner: &Ident) -> syn::Result<Inverse> {
    let expected = |at: &dyn ToTokens| {
        let message = "expected the constant of a field that refers to this type, such as `Album::ARTIST`; of a map, \
                       `Album::LABELS.key()` or `Album::LABELS.value()`";
        syn::Error::new_spanned(at.to_token_stream(), message)
    };
    let Argument::Value(tokens) = &item.argument else { return Err(expected(&item.key)) };
    // `Self` would mean the accessors, in which the method stands.
    let tokens = types::tokens_without_self(tokens.clone(), owner);
    let field: Expr = syn::parse2(tokens).map_err(|_| expected(&item.key))?;
    let mut path: Path = constant(&field).ok_or_else(|| expected(&field))?.clone();
    path.segments.pop();
    path.segments.pop_punct();
    // A name without a path could be a constant of anything.
    if path.segments.is_empty() {
        return Err(expected(&field));
    }
    let name = item.key.clone();
    Ok(Inverse { name, field: field.to_token_stream(), owner: path.to_token_stream() })
}

/// The path at which an expression such as `Album::LABELS.key()` begins.
fn constant(expression: &Expr) -> Option<&Path> {
    match attribute_syntax::ungrouped(expression) {
        Expr::Path(path) if path.qself.is_none() => Some(&path.path),
        Expr::MethodCall(call) => constant(&call.receiver),
        Expr::Field(field) => constant(&field.base),
        _ => None,
    }
}
