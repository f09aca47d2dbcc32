//! The constants and accessors of fields whose types have a mistake.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;

use crate::accessors;
use crate::names;
use crate::object_model::{ObjectModel, Refused};

/// The constants of fields whose types have a mistake.
pub(crate) fn constants(model: &ObjectModel) -> TokenStream {
    model.refused.iter().map(|refused| constant(model, refused)).collect()
}

/// The accessors of fields whose types have a mistake.
pub(crate) fn methods(model: &ObjectModel) -> TokenStream {
    let each = model.refused.iter();
    each.flat_map(|it| [getter(model, it), setter(model, it)]).collect()
}

pub(crate) fn constant(model: &ObjectModel, refused: &Refused) -> TokenStream {
    let ObjectModel { ident: owner, krate, .. } = model;
    let Refused { ident, visibility, ty, .. } = refused;
    let name = names::constant(&ident.unraw().to_string(), ident.span());
    // The type is as written: the program that uses the constant then has no other mistake.
    let field_type = quote!(#krate::__private::Field<#owner, #ty, #krate::__private::Indexed>);
    quote!(#visibility const #name: #field_type = <#field_type>::new(0);)
}

pub(crate) fn getter(model: &ObjectModel, refused: &Refused) -> TokenStream {
    let (krate, Refused { accessor, visibility, ty, .. }) = (&model.krate, refused);
    let name = accessors::getter_name(accessor);
    quote! {
        #visibility fn #name(&self) -> #krate::__private::Result<#ty> {
            ::core::unreachable!()
        }
    }
}

pub(crate) fn setter(model: &ObjectModel, refused: &Refused) -> TokenStream {
    let (krate, Refused { accessor, visibility, .. }) = (&model.krate, refused);
    let name = accessors::setter_name(accessor);
    quote! {
        #visibility fn #name<__V>(&self, _: __V) -> #krate::__private::Result<()> {
            ::core::unreachable!()
        }
    }
}
