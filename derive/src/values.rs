//! How generated code names the types of values, and how it reads and writes the fields of a
//! struct.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Ident, Type};

use crate::names;
use crate::object_model::{FieldModel, ObjectModel, Shape, ValueModel};
use crate::types::{self, ReferenceModel};

/// The type of `value` as calls name it: through the trait that it must implement. If a type does
/// not implement it, the compiler reports one error, and not one for each call.
pub(crate) fn stored(model: &ObjectModel, value: &ValueModel) -> TokenStream {
    let (krate, ty) = (&model.krate, &value.ty);
    let span = names::here(ty.span());
    quote_spanned!(span=> <#ty as #krate::__private::Stored>::Itself)
}

/// The target of a reference, named as [`stored`] names a type.
pub(crate) fn referred(model: &ObjectModel, target: &Type) -> TokenStream {
    let krate = &model.krate;
    let span = names::here(target.span());
    quote_spanned!(span=> <#target as #krate::__private::Referred>::Itself)
}

/// For a field that is a reference: the functions that take its target, and the target, named as
/// [`stored`] names a type.
pub(crate) fn reference(model: &ObjectModel, value: &ValueModel) -> Option<(Ident, TokenStream)> {
    match &value.reference {
        Some(ReferenceModel { target: Some(target), optional }) if !value.converted => {
            // The functions for references have other names, because they check their target.
            let function = if *optional { "reference" } else { "required_reference" };
            Some((format_ident!("{function}"), referred(model, target)))
        }
        _ => None,
    }
}

/// The conversion of a field: the function that has a name like `function`, and its type arguments:
/// the stored type, the type in the struct, and the way. The types are named as [`stored`] names a
/// type.
pub(crate) fn conversion(
    model: &ObjectModel,
    field: &FieldModel,
    value: &ValueModel,
    function: &str,
) -> (Ident, TokenStream) {
    let krate = &model.krate;
    let (held, disk_type, suffix) = match &value.inside_option {
        Some((held, disk)) => (held, disk, "_inside"),
        None => (&field.ty, &value.ty, ""),
    };
    let span = names::here(disk_type.span());
    let disk = quote_spanned!(span=> <#disk_type as #krate::__private::Stored>::Itself);
    // The tokens show which conversion it is, so that the compiler need not find out.
    let is_text = types::last_segment(disk_type).is_some_and(|(name, _)| name == "AsText");
    let how = format_ident!("{}", if is_text { "ByText" } else { "ByTryFrom" });
    let span = names::here(held.span());
    let held = quote_spanned!(span=> <#held as #krate::__private::HeldFor<#disk, #krate::__private::#how>>::Itself);
    let function = format_ident!("{function}{suffix}", span = span);
    (function, quote_spanned!(span=> #disk, #held, #krate::__private::#how))
}

/// The type of a counter, named as [`stored`] names a type: in the source, `Counter` may mean
/// another type.
fn counter(model: &ObjectModel, field: &FieldModel) -> TokenStream {
    let (krate, ty) = (&model.krate, &field.ty);
    let span = names::here(ty.span());
    quote_spanned!(span=> <#ty as #krate::__private::IsCounter>)
}

/// One field of the struct literal in `Model::read`.
pub(crate) fn read(model: &ObjectModel, at: usize, field: &FieldModel) -> TokenStream {
    let (ident, at) = (&field.ident, position(at));
    let stored = |value| stored(model, value);
    match &field.shape {
        Shape::Simple(value) if value.converted => {
            let (function, types) = conversion(model, field, value, "converted");
            quote!(#ident: __from.#function::<#types>(#at)?)
        }
        Shape::Simple(value) => match reference(model, value) {
            Some((function, target)) => quote!(#ident: __from.#function::<#target>(#at)?),
            None => {
                let stored = stored(value);
                quote!(#ident: __from.simple::<#stored>(#at)?)
            }
        },
        Shape::Counter => {
            let counter = counter(model, field);
            quote!(#ident: #counter::of(__from.counter(#at)?))
        }
        Shape::Set(value) | Shape::List(value) => {
            let stored = stored(value);
            quote!(#ident: __from.elements::<#stored, _>(#at)?)
        }
        Shape::Map(key, value) => {
            let (key, value) = (stored(key), stored(value));
            quote!(#ident: __from.entries::<#key, #value, _>(#at)?)
        }
    }
}

/// The statement that writes the value of a field, which is at `place`, to `__to`.
pub(crate) fn write(
    model: &ObjectModel,
    at: usize,
    field: &FieldModel,
    place: &TokenStream,
) -> TokenStream {
    let at = position(at);
    let stored = |value| stored(model, value);
    match &field.shape {
        Shape::Simple(value) if value.converted => {
            let (function, types) = conversion(model, field, value, "converted");
            quote!(__to.#function::<#types>(#at, &#place)?;)
        }
        Shape::Simple(value) => match reference(model, value) {
            Some((function, target)) => quote!(__to.#function::<#target>(#at, #place)?;),
            None => {
                let stored = stored(value);
                quote!(__to.simple::<#stored>(#at, &#place)?;)
            }
        },
        Shape::Counter => {
            let counter = counter(model, field);
            quote!(__to.counter(#at, #counter::counter(&#place))?;)
        }
        Shape::Set(value) | Shape::List(value) => {
            let stored = stored(value);
            quote!(__to.elements::<#stored>(#at, ::core::iter::IntoIterator::into_iter(&#place))?;)
        }
        Shape::Map(key, value) => {
            let (key, value) = (stored(key), stored(value));
            quote! {
                __to.entries::<#key, #value, _>(
                    #at,
                    &mut ::core::iter::IntoIterator::into_iter(&#place),
                )?;
            }
        }
    }
}

/// A position as a number without a suffix, to keep the code short.
pub(crate) fn position(at: usize) -> proc_macro2::Literal {
    proc_macro2::Literal::usize_unsuffixed(at)
}
