//! The methods of handles that find the objects that refer to an object: their rules and their
//! code.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use crate::errors::Errors;
use crate::inverse::Inverse;
use crate::object_model::{ObjectModel, Shape};
use crate::{names, reserved};

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
    // Tokens are printed with spaces between them.
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
