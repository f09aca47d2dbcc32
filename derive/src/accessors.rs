//! The accessors of a model or mix-in: a method that reads each field, and one that sets it.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::Ident;
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use crate::names;
use crate::object_model::{DeleteAction, FieldModel, ObjectModel, Shape, ValueModel};
use crate::types::ReferenceModel;
use crate::values::{conversion, position, referred, stored};

/// How accessors reach an object and its fields.
pub(crate) struct Access {
    /// A place that holds the object.
    pub(crate) object: TokenStream,
    /// Where the fields of the struct begin among the fields of the model; `None` for 0.
    pub(crate) start: Option<TokenStream>,
}

impl Access {
    pub(crate) fn of_model() -> Self {
        Access { object: quote!(self.0), start: None }
    }

    /// The position of a field in the model.
    pub(crate) fn position(&self, at: usize) -> TokenStream {
        let at = position(at);
        match &self.start {
            None => quote!(#at),
            Some(start) => quote!(#start + #at),
        }
    }
}

/// `PersonFields`, or the name that the struct asks for.
pub(crate) fn accessors_name(model: &ObjectModel) -> Ident {
    let span = names::here(model.ident.span());
    // A struct `r#type` has no `#` in the names that are made of its name.
    let given = model.accessors.clone();
    given.unwrap_or_else(|| format_ident!("{}Fields", model.ident.unraw(), span = span))
}

/// The type of the accessors, and what a handle needs from it.
pub(crate) fn accessors_type(model: &ObjectModel) -> TokenStream {
    let ObjectModel { ident, visibility, krate, .. } = model;
    let m = quote!(#krate::__private);
    let accessors = accessors_name(model);
    let len = position(model.fields.len());
    let doc = format!(
        "Accessors of [`{ident}`] objects, reached from an `Obj<{ident}>` without a detour."
    );
    quote! {
        #[doc = #doc]
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
        #visibility struct #accessors<'t>(#m::Handle<'t>);

        #[automatically_derived]
        impl<'t> #m::Accessors<'t> for #accessors<'t> {
            const LEN: ::core::primitive::usize = #len;
            fn bind(__handle: #m::Handle<'t>) -> Self {
                Self(__handle)
            }
            fn handle(&self) -> #m::Handle<'t> {
                self.0
            }
        }
    }
}

fn documented(field: &FieldModel, fallback: String) -> TokenStream {
    let docs = &field.docs;
    if docs.is_empty() { quote!(#[doc = #fallback]) } else { quote!(#(#docs)*) }
}

pub(crate) fn getter(
    model: &ObjectModel,
    access: &Access,
    at: usize,
    field: &FieldModel,
) -> TokenStream {
    let FieldModel { visibility, ty, name, deprecated, .. } = field;
    let getter = getter_name(&field.accessor);
    let (object, at) = (&access.object, access.position(at));
    let doc = documented(field, format!("Reads `{name}`."));
    let stored = |value| stored(model, value);
    // The whole method gets the span of the type: there the compiler reports what is wrong with the
    // type.
    let target = field.simple().and_then(|value| value.reference.as_ref()?.target.as_ref());
    let span = names::here(target.unwrap_or(ty).span());
    let krate = names::located(&model.krate, span);
    let m = quote_spanned!(span=> #krate::__private);
    let (result, body) = match &field.shape {
        // A converted value is no reference for the program, whatever it is stored as.
        Shape::Simple(value) => match &value.reference {
            Some(ReferenceModel { target: Some(target), optional }) if !value.converted => {
                let live = quote_spanned!(span=> <#target as #m::Referred>::Live<'t>);
                let target = referred(model, target);
                if *optional {
                    (
                        quote_spanned!(span=> #m::Result<::core::option::Option<#live>>),
                        quote_spanned!(span=> #m::Handle::reference::<#target>(&#object, #at)),
                    )
                } else {
                    (
                        quote_spanned!(span=> #m::Result<#live>),
                        quote_spanned!(span=> #m::Handle::required_reference::<#target>(&#object, #at)),
                    )
                }
            }
            _ if value.converted => {
                let (function, types) = conversion(model, field, value, "get_converted");
                (
                    quote_spanned!(span=> #m::Result<#ty>),
                    quote_spanned!(span=> #m::Handle::#function::<#types>(&#object, #at)),
                )
            }
            _ => {
                let stored = stored(value);
                (
                    quote_spanned!(span=> #m::Result<#ty>),
                    quote_spanned!(span=> #m::Handle::get::<#stored>(&#object, #at)),
                )
            }
        },
        Shape::Counter => (
            quote_spanned!(span=> #m::CounterOf<'t>),
            quote_spanned!(span=> #m::Handle::counter(&#object, #at)),
        ),
        Shape::Set(value) => {
            let (ty, stored) = (&value.ty, stored(value));
            (
                quote_spanned!(span=> #m::Result<#m::SetOf<'t, #ty>>),
                quote_spanned!(span=> #m::Handle::set_of::<#stored>(&#object, #at)),
            )
        }
        Shape::List(value) => {
            let (ty, stored) = (&value.ty, stored(value));
            (
                quote_spanned!(span=> #m::Result<#m::ListOf<'t, #ty>>),
                quote_spanned!(span=> #m::Handle::list_of::<#stored>(&#object, #at)),
            )
        }
        Shape::Map(key, value) => {
            let (stored_key, stored_value) = (stored(key), stored(value));
            let (key, value) = (&key.ty, &value.ty);
            (
                quote_spanned!(span=> #m::Result<#m::MapOf<'t, #key, #value>>),
                quote_spanned!(span=> #m::Handle::map_of::<#stored_key, #stored_value>(&#object, #at)),
            )
        }
    };
    quote_spanned! {span=>
        #doc
        #deprecated
        #visibility fn #getter(&self) -> #result {
            #body
        }
    }
}

/// The name of an accessor, as a name that does not occur in the source.
pub(crate) fn getter_name(accessor: &Ident) -> Ident {
    let mut name = accessor.clone();
    name.set_span(names::here(accessor.span()));
    name
}

/// `set_name`
pub(crate) fn setter_name(accessor: &Ident) -> Ident {
    format_ident!("set_{}", accessor.unraw(), span = names::here(accessor.span()))
}

/// `set_name`, which takes the value, or all elements or entries of a collection.
pub(crate) fn setter(
    model: &ObjectModel,
    access: &Access,
    at: usize,
    field: &FieldModel,
) -> Option<TokenStream> {
    let krate = &model.krate;
    let m = quote!(#krate::__private);
    let FieldModel { visibility, ty, name, deprecated, .. } = field;
    let setter = setter_name(&field.accessor);
    let (object, at) = (&access.object, access.position(at));
    let elements = |value: &ValueModel| {
        let ty = &value.ty;
        quote!(impl ::core::iter::IntoIterator<Item: #m::EncodeAs<#ty>>)
    };
    let mut doc = format!("Sets `{name}`.");
    let mut generics = None;
    let (argument, body) = match &field.shape {
        // A counter is adjusted and not set, so that transactions need not be in conflict.
        Shape::Counter => return None,
        Shape::Simple(value) if value.converted => {
            let (function, types) = conversion(model, field, value, "set_converted");
            (quote!(#ty), quote!(#m::Handle::#function::<#types>(&#object, #at, __value)))
        }
        Shape::Simple(value) => {
            // The value is generic, so that a `&str` sets a `String`, and an object a reference.
            let disk = &value.ty;
            let body = quote!(#m::Handle::set::<#disk>(&#object, #at, __value));
            (quote!(impl #m::EncodeAs<#disk>), body)
        }
        Shape::Set(value) => {
            doc = format!("Sets all elements of `{name}`. Writes what differs.");
            let stored = stored(model, value);
            let body = quote!(#m::Handle::replace_set::<#stored>(&#object, #at, __value));
            (elements(value), body)
        }
        Shape::List(value) => {
            doc = format!("Sets all elements of `{name}`. Writes what differs.");
            let stored = stored(model, value);
            let body = quote!(#m::Handle::replace_list::<#stored>(&#object, #at, __value));
            (elements(value), body)
        }
        Shape::Map(key, value) => {
            doc = format!("Sets all entries of `{name}`. Writes what differs.");
            let (stored_key, stored_value) = (stored(model, key), stored(model, value));
            let (key, value) = (&key.ty, &value.ty);
            generics = Some(quote!(<__K: #m::EncodeAs<#key>, __V: #m::EncodeAs<#value>>));
            let types = quote!(#stored_key, #stored_value, __K, __V);
            (
                quote!(impl ::core::iter::IntoIterator<Item = (__K, __V)>),
                quote!(#m::Handle::replace_map::<#types>(&#object, #at, __value)),
            )
        }
    };
    Some(quote! {
        #[doc = #doc]
        #deprecated
        #visibility fn #setter #generics(&self, __value: #argument) -> #m::Result<()> {
            #body
        }
    })
}

/// Lets the compiler refuse `inverse_delete = "nullify"` where an alias hides that the reference is
/// never null.
pub(crate) fn nullable(model: &ObjectModel) -> TokenStream {
    let krate = &model.krate;
    // Where the target is written, `parse_object.rs` has checked this already.
    let hidden = model.fields.iter().flat_map(FieldModel::values).filter(|value| {
        value.inverse_delete == Some(DeleteAction::Nullify)
            && value.reference.as_ref().is_some_and(|reference| reference.target.is_none())
    });
    let checks = hidden.map(|value| {
        let span = names::here(value.ty.span());
        let (krate, ty) = (names::located(krate, span), &value.ty);
        quote_spanned! {span=>
            const _: () = ::core::assert!(
                <#ty as #krate::__private::FieldType>::IS_OPTION,
                "the reference is never null, so it cannot become null when its target is deleted: use an `Option`, or \
                 another `inverse_delete`"
            );
        }
    });
    quote!(#(#checks)*)
}
