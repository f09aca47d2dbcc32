//! `#[derive(PermazenEnum)]`.

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Data, DeriveInput, Fields, Ident};

use crate::attributes;
use crate::check;
use crate::errors::Errors;
use crate::names::Case;

/// An enum and the identifiers of its variants.
pub(crate) struct EnumModel {
    pub(crate) ident: Ident,
    pub(crate) krate: TokenStream,
    variants: Vec<(Ident, String)>,
}

/// The model of an enum, as far as it makes sense, and all its mistakes.
pub(crate) fn parse(input: &DeriveInput) -> (EnumModel, Errors) {
    let mut errors = Errors::default();
    let mut model =
        EnumModel { ident: input.ident.clone(), krate: quote!(::permazen), variants: Vec::new() };
    let mut case = Case::ScreamingSnake;
    for item in attributes::permazen_items(&input.attrs, &[], &mut errors) {
        match item.key.to_string().as_str() {
            "rename_all" => {
                let parsed = item.string().and_then(|text| Case::parse(&text.value(), text.span()));
                case = errors.note(parsed).unwrap_or(case);
            }
            "crate" => {
                model.krate = errors.note(attributes::crate_path(&item)).unwrap_or(model.krate);
            }
            _ => errors.push(item.unknown("an enum", &["rename_all", "crate"])),
        }
    }
    if !input.generics.params.is_empty() {
        errors.at(&input.generics, "a generic enum cannot be a field type");
    }
    let Data::Enum(data) = &input.data else {
        errors.at(&input.ident, "`PermazenEnum` is for enums; for a struct use `PermazenObject`");
        return (model, errors);
    };
    if data.variants.is_empty() {
        errors.at(&input.ident, "an enum without variants has no values");
    }
    let mut seen: HashMap<String, Ident> = HashMap::new();
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            errors.at(&variant.fields, "only variants without fields can be stored");
        }
        if let Some((_, value)) = &variant.discriminant {
            errors.at(
                value,
                "what is stored is the position among the variants: leave out the number",
            );
        }
        let mut identifier = case.apply(&variant.ident);
        let mut tokens = variant.ident.to_token_stream();
        for item in attributes::permazen_items(&variant.attrs, &[], &mut errors) {
            if !item.is("rename") {
                errors.push(item.unknown("a variant", &["rename"]));
            } else if let Some(text) = errors.note(item.string()) {
                identifier = text.value();
                tokens = text.to_token_stream();
            }
        }
        check::name(&identifier, &tokens, &mut errors);
        if let Some(other) = seen.insert(identifier.clone(), variant.ident.clone()) {
            let message =
                format!("variants `{other}` and `{}` are both `{identifier}`", variant.ident);
            errors.at(&tokens, message);
        }
        model.variants.push((variant.ident.clone(), identifier));
    }
    (model, errors)
}

/// The `PermazenEnum` implementation of `model`.
pub(crate) fn expand(model: &EnumModel) -> TokenStream {
    let EnumModel { ident, krate, variants } = model;
    let identifiers = variants.iter().map(|(_, identifier)| identifier);
    let names = variants.iter().map(|(variant, _)| variant);
    let names_again = names.clone();
    let ordinals = (0..variants.len()).map(proc_macro2::Literal::usize_unsuffixed);
    let ordinals_again = ordinals.clone();
    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl #krate::__private::EnumType for #ident {
            const IDENTIFIERS: &'static [&'static ::core::primitive::str] = &[#(#identifiers),*];
            fn ordinal(&self) -> ::core::primitive::u32 {
                match self {
                    #(Self::#names => #ordinals,)*
                }
            }
            fn from_ordinal(
                __ordinal: ::core::primitive::u32,
            ) -> ::core::option::Option<Self> {
                ::core::option::Option::Some(match __ordinal {
                    #(#ordinals_again => Self::#names_again,)*
                    _ => return ::core::option::Option::None,
                })
            }
        }
    }
}
