//! `validate = path`: functions of the program that check plain data.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ExprPath;
use syn::spanned::Spanned;

use crate::names;
use crate::object_model::ObjectModel;

/// The items in the implementation of `Model` that declare and call these functions.
pub(crate) fn methods(model: &ObjectModel) -> TokenStream {
    let krate = &model.krate;
    let m = quote!(#krate::__private);
    let fields = || {
        let all = model.fields.iter().enumerate();
        all.filter_map(|(at, field)| Some((at, field, field.validate.as_ref()?)))
    };
    // Without functions there is nothing to declare, and short code compiles faster.
    if model.validate.is_none() && fields().next().is_none() {
        return TokenStream::new();
    }
    let is_whole = model.validate.is_some();
    let positions = fields().map(|(at, ..)| at);
    let whole = model.validate.as_ref().map(|path| {
        let call = call(path, &m, |span| quote_spanned!(span=> self));
        quote!(#m::Validating::object(__with, || #call);)
    });
    let each = fields().map(|(at, field, path)| {
        let ident = &field.ident;
        let call = call(path, &m, |span| quote_spanned!(span=> &self.#ident));
        quote!(#m::Validating::field(__with, #at, || #call);)
    });
    quote! {
        const VALIDATES: #m::Validates = #m::Validates::new(#is_whole, &[#(#positions),*]);
        fn validate(&self, __with: &mut #m::Validating) {
            #whole
            #(#each)*
        }
    }
}

/// The call of a function. Its mistakes are reported at its name.
fn call(path: &ExprPath, m: &TokenStream, of: impl FnOnce(Span) -> TokenStream) -> TokenStream {
    let span = names::here(path.span());
    let (of, m) = (of(span), names::located(m, span));
    quote_spanned! {span=>
        {
            use #m::AsSaid as __AsSaid;
            // Used also where the method that the call finds is not that of the trait. To allow an
            // unused import would be an error in a program that forbids these.
            const _: fn(#m::Said<()>) = <#m::Said<()> as __AsSaid>::__permazen_said;
            #m::Said(#path(#of)).__permazen_said()
        }
    }
}
