//! The evolution of stored objects when their type changes: the rules that the attributes of a
//! model keep, and their code.

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, ExprLit, Lit, LitStr, Type};

use crate::errors::Errors;
use crate::evolution_attributes::{DefaultValue, FieldEvolution, TypeEvolution, Upgrade};
use crate::names;
use crate::object_model::{FieldModel, ObjectModel};
use crate::types;
use crate::values::write;

/// Checks that each former name is that of one field, and that no field has it now.
pub(crate) fn check(model: &ObjectModel, errors: &mut Errors) {
    let now = |name: &LitStr| model.fields.iter().find(|field| field.name == name.value());
    for name in &model.evolution.removed {
        if let Some(field) = now(name) {
            let message = format!(
                "field `{}` has this name: `removed` is for fields that the struct no longer has",
                field.ident
            );
            errors.at(name, message);
        }
    }
    let mut former: HashMap<String, usize> = HashMap::new();
    for (at, field) in model.fields.iter().enumerate() {
        for name in &field.evolution.was {
            if let Some(other) = now(name) {
                let message = if other.ident == field.ident {
                    "the field has this name now: `was` is for names that it had before".to_owned()
                } else {
                    format!(
                        "field `{}` has this name: `was` is for names that no field has now",
                        other.ident
                    )
                };
                errors.at(name, message);
                continue;
            }
            let earlier = *former.entry(name.value()).or_insert(at);
            if let Some(other) = model.fields.get(earlier).filter(|_| earlier != at) {
                let message = format!(
                    "field `{}` had this name too: only one field gets the old values",
                    other.ident
                );
                errors.at(name, message);
            }
        }
    }
}

/// The constants of the `Model` implementation.
pub(crate) fn constants(model: &ObjectModel) -> TokenStream {
    let (owner, krate) = (&model.ident, &model.krate);
    let m = quote!(#krate::__private);
    let TypeEvolution { removed, on_schema_change } = &model.evolution;
    let removed = (!removed.is_empty()).then(|| {
        quote! {
            const REMOVED: &'static [&'static ::core::primitive::str] = &[#(#removed),*];
        }
    });
    // The hooks of a block run after the function that the struct names.
    let hooks = model.hooks.map(|_| {
        quote! {
            if let ::core::option::Option::Some(__hooks) = <#owner as #m::Hooks>::UPGRADE_WITH {
                __hooks(__old, __to)?;
            }
        }
    });
    let of_hooks = hooks.is_some().then(|| {
        quote! {
            const UPGRADE_WITH: ::core::option::Option<#m::UpgradeWith> =
                <#owner as #m::Hooks>::UPGRADE_WITH;
        }
    });
    let upgrade_with = on_schema_change.as_ref().map(|path| {
        let span = names::here(path.span());
        let located = names::located(&m, span);
        // The function gets its type here, so that the compiler reports at its name what is wrong.
        let function = quote_spanned! {span=>
            let __upgrade: fn(
                &#located::OldValues<'_>,
                &mut #located::NewValues<'_, '_, #owner>,
            ) -> #located::Result<()> = #path;
        };
        quote! {
            const UPGRADE_WITH: ::core::option::Option<#m::UpgradeWith> =
                ::core::option::Option::Some(
                    |__old: &#m::OldValues<'_>, __to: &mut #m::ObjectWriter<'_>| -> #m::Result<()> {
                        #function
                        __upgrade(__old, &mut #m::NewValues::<#owner>::new(__to))?;
                        #hooks
                        ::core::result::Result::Ok(())
                    },
                );
        }
    });
    let upgrade_with = upgrade_with.or(of_hooks);
    quote!(#removed #upgrade_with)
}

/// The value that a string literal stands for, in a field of type `String` or `Option<String>`.
fn text(ty: &Type, value: &Expr) -> Option<TokenStream> {
    let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = value else { return None };
    let inner = types::argument_of(ty, "Option");
    // Only where the tokens show a string: for other types, the compiler says what is wrong.
    types::last_segment(inner.unwrap_or(ty)).filter(|(name, _)| name == "String")?;
    let span = text.span();
    let converted = quote_spanned!(span=> ::core::convert::Into::into(#text));
    Some(match inner {
        Some(_) => quote_spanned!(span=> ::core::option::Option::Some(#converted)),
        None => converted,
    })
}

/// The end of the declaration of a field: `.was(&["old"]).default(|to| …)`.
pub(crate) fn declaration(model: &ObjectModel, at: usize, field: &FieldModel) -> TokenStream {
    let krate = &model.krate;
    let m = quote!(#krate::__private);
    let FieldEvolution { upgrade, is_upgrade_of_all, was, default, upgrade_with } =
        &field.evolution;
    // What the struct says for all fields is not meant for a field that did not change.
    let set = if *is_upgrade_of_all { quote!(upgrade_of_all) } else { quote!(upgrade) };
    let upgrade = upgrade.map(|upgrade| match upgrade {
        Upgrade::Exact => quote!(.#set(#m::Upgrade::Exact)),
        Upgrade::Reset => quote!(.#set(#m::Upgrade::Reset)),
        Upgrade::Lossy => quote!(.#set(#m::Upgrade::Lossy)),
    });
    let was = (!was.is_empty()).then(|| quote!(.was(&[#(#was),*])));
    let ty = &field.ty;
    let write = write(model, at, field, &quote!(__value));
    let default = default.as_ref().map(|value| {
        let value = match value {
            DefaultValue::OfType(span) => {
                let span = names::here(*span);
                quote_spanned!(span=> ::core::default::Default::default())
            }
            // In a closure of its own, the expression cannot leave the code around it.
            DefaultValue::Given(value) => {
                let value = text(ty, value).unwrap_or_else(|| value.to_token_stream());
                quote!(#m::made::<#ty>(|| #value))
            }
        };
        quote! {
            .default(|__to: &mut #m::ObjectWriter<'_>| -> #m::Result<()> {
                let __value: #ty = #value;
                #write
                ::core::result::Result::Ok(())
            })
        }
    });
    let upgrade_with = upgrade_with.as_ref().map(|path| {
        let span = names::here(path.span());
        let located = names::located(&m, span);
        // The function gets its type here, so that the compiler reports at its name what is wrong.
        let function = quote_spanned! {span=>
            let __make: fn(&#located::OldValues<'_>) -> #located::Result<#ty> = #path;
        };
        quote! {
            .upgrade_with(
                |__old: &#m::OldValues<'_>, __to: &mut #m::ObjectWriter<'_>| -> #m::Result<()> {
                    #function
                    let __value: #ty = __make(__old)?;
                    #write
                    ::core::result::Result::Ok(())
                },
            )
        }
    });
    quote!(#upgrade #was #default #upgrade_with)
}
