//! `#[permazen(inverse(albums = Album::ARTIST))]`: methods of handles that find who refers to an
//! object.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Expr, Ident, Path};

use crate::attribute_syntax::{self, Argument, Item};
use crate::errors::Errors;
use crate::object_model::{ObjectModel, Shape};
use crate::{names, reserved, types};

/// A method of the handle.
pub(crate) struct Inverse {
    pub(crate) name: Ident,
    /// The constant of the field that refers to this type, as written.
    field: TokenStream,
    /// The type that has the field: the path of the constant without its name.
    owner: TokenStream,
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
    let tokens = types::tokens_without_self(tokens.clone(), owner);
    let field: Expr = syn::parse2(tokens).map_err(|_| expected(&item.key))?;
    let mut path: Path = constant(&field).ok_or_else(|| expected(&field))?.clone();
    path.segments.pop();
    path.segments.pop_punct();
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

/// Reports methods whose names are taken.
pub(crate) fn check(model: &ObjectModel, errors: &mut Errors) {
    for (at, inverse) in model.inverses.iter().enumerate() {
        let name = inverse.name.unraw().to_string();
        if reserved::is_method(&name) {
            let message = format!("a handle has a method `{name}`: choose another name");
            errors.at(&inverse.name, message);
        }
        let field = model.fields.iter().find(|field| {
            let accessor = field.accessor.unraw();
            let is_setter =
                !matches!(field.shape, Shape::Counter) && name == format!("set_{accessor}");
            accessor == name.as_str() || is_setter
        });
        if let Some(field) = field {
            let message = format!(
                "`{name}` is also an accessor of field `{}`: choose another name",
                field.ident
            );
            errors.at(&inverse.name, message);
        }
        if model.inverses.iter().take(at).any(|other| other.name == inverse.name) {
            errors.at(&inverse.name, format!("there are two inverses named `{name}`"));
        }
    }
}

/// `pub fn albums(&self) -> Result<Objs<'t, Album>>`
pub(crate) fn methods(model: &ObjectModel) -> impl Iterator<Item = TokenStream> {
    let ObjectModel { ident, krate, .. } = model;
    model.inverses.iter().map(move |inverse| {
        let field = &inverse.field;
        let span = names::here(field.span());
        let krate = names::located(krate, span);
        let m = quote_spanned!(span=> #krate::__private);
        let this = quote_spanned!(span=> #m::this::<#ident>(&self.0));
        method(model, inverse, &quote_spanned!(span=> #m::Obj::referrers(&#this, #field)))
    })
}

/// The same methods of a struct with mistakes, without content.
pub(crate) fn stubs(model: &ObjectModel) -> impl Iterator<Item = TokenStream> {
    let body = quote!(::core::unreachable!());
    model.inverses.iter().map(move |inverse| method(model, inverse, &body))
}

fn method(model: &ObjectModel, inverse: &Inverse, body: &TokenStream) -> TokenStream {
    let ObjectModel { visibility, krate, .. } = model;
    let Inverse { name, field, owner } = inverse;
    let m = quote!(#krate::__private);
    let field = field.to_string().replace(' ', "");
    let doc = format!(
        "The objects that refer to this one through `{field}`, as `Obj::referrers` finds them."
    );
    quote! {
        #[doc = #doc]
        #visibility fn #name(&self) -> #m::Result<#m::Objs<'t, #owner>> {
            #body
        }
    }
}
