//! `#[derive(PermazenEnum)]`.

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Data, DeriveInput, Fields, Ident, LitStr, Variant};

use crate::attribute_syntax;
use crate::errors::Errors;
use crate::evolution_attributes;
use crate::names::{self, Case};

/// An enum and the identifiers of its variants.
pub(crate) struct EnumModel {
    pub(crate) ident: Ident,
    pub(crate) krate: TokenStream,
    variants: Vec<(Ident, String)>,
    /// Identifiers that were other ones before: the one now, and the one before.
    renamed: Vec<(String, LitStr)>,
    /// The position of the variant with `#[default]`.
    initial: Option<usize>,
}

/// The model of an enum, as far as it makes sense, and all its mistakes.
pub(crate) fn parse(input: &DeriveInput) -> (EnumModel, Errors) {
    let mut errors = Errors::default();
    let mut model = EnumModel {
        ident: input.ident.clone(),
        krate: quote!(::permazen),
        variants: Vec::new(),
        renamed: Vec::new(),
        initial: None,
    };
    let mut case = Case::ScreamingSnake;
    for item in attribute_syntax::permazen_items(&input.attrs, &[], &mut errors) {
        match item.key.to_string().as_str() {
            "rename_all" => {
                let parsed = item.string().and_then(|text| Case::parse(&text.value(), text.span()));
                case = errors.note(parsed).unwrap_or(case);
            }
            "crate" => {
                model.krate =
                    errors.note(attribute_syntax::crate_path(&item)).unwrap_or(model.krate);
            }
            _ => errors.push(item.unknown("an enum", &["rename_all", "crate"])),
        }
    }
    if !input.generics.params.is_empty() {
        errors.at(&input.generics, "a generic enum cannot be a field type");
    }
    // The type is used elsewhere, so a part of the model is returned for its stub.
    let Data::Enum(data) = &input.data else {
        errors.at(&input.ident, "`PermazenEnum` is for enums; for a struct use `PermazenObject`");
        return (model, errors);
    };
    if data.variants.is_empty() {
        errors.at(&input.ident, "an enum without variants has no values");
    }
    let mut seen: HashMap<String, Ident> = HashMap::new();
    for (at, variant) in data.variants.iter().enumerate() {
        if !matches!(variant.fields, Fields::Unit) {
            errors.at(&variant.fields, "only variants without fields can be stored");
        }
        // Numbers would suggest that they are what is stored.
        if let Some((_, value)) = &variant.discriminant {
            errors.at(
                value,
                "what is stored is the position among the variants: leave out the number",
            );
        }
        let mut identifier = case.apply(&variant.ident);
        let mut tokens = variant.ident.to_token_stream();
        let mut former = Vec::new();
        for item in attribute_syntax::permazen_items(&variant.attrs, &[], &mut errors) {
            match item.key.to_string().as_str() {
                "rename" => {
                    if let Some(text) = errors.note(item.string()) {
                        identifier = text.value();
                        tokens = text.to_token_stream();
                    }
                }
                "was" => former = evolution_attributes::former_names(&item, &mut errors),
                // The default is stated as for `#[derive(Default)]`, so that both name the same
                // variant.
                "default" => {
                    errors.at(&item.key, "write `#[default]`, as for `#[derive(Default)]`");
                }
                _ => errors.push(item.unknown("a variant", &["rename", "was"])),
            }
        }
        initial(at, variant, &mut model, &mut errors);
        names::check(&identifier, &tokens, &mut errors);
        if let Some(other) = seen.insert(identifier.clone(), variant.ident.clone()) {
            let message =
                format!("variants `{other}` and `{}` are both `{identifier}`", variant.ident);
            errors.at(&tokens, message);
        }
        // The present identifier is stated with each former one, since variants may be in another
        // order.
        model.renamed.extend(former.into_iter().map(|name| (identifier.clone(), name)));
        model.variants.push((variant.ident.clone(), identifier));
    }
    // All variants must be known: a former name may be that of a later one.
    check_renamed(&model, &mut errors);
    (model, errors)
}

/// Reads `#[default]` of a variant.
fn initial(at: usize, variant: &Variant, model: &mut EnumModel, errors: &mut Errors) {
    for attribute in variant.attrs.iter().filter(|attribute| attribute.path().is_ident("default")) {
        if attribute.meta.require_path_only().is_err() {
            errors.at(&attribute.meta, "`#[default]` takes no value");
        }
        if model.initial.replace(at).is_some() {
            errors.at(attribute, "only one variant is the default");
        }
    }
}

/// Checks that each former identifier is that of one variant, and that no variant has it now.
fn check_renamed(model: &EnumModel, errors: &mut Errors) {
    for (at, (identifier, name)) in model.renamed.iter().enumerate() {
        if let Some((variant, _)) = model.variants.iter().find(|(_, now)| *now == name.value()) {
            let message = format!(
                "variant `{variant}` has this identifier: `was` is for identifiers that no variant has now"
            );
            errors.at(name, message);
            continue;
        }
        let mut earlier = model.renamed.iter().take(at);
        if let Some((other, _)) =
            earlier.find(|(other, former)| other != identifier && former.value() == name.value())
        {
            let message =
                format!("this is also what `{other}` was: only one of them gets its values");
            errors.at(name, message);
        }
    }
}

/// The `PermazenEnum` implementation of `model`.
pub(crate) fn expand(model: &EnumModel) -> TokenStream {
    let EnumModel { ident, krate, variants, renamed, initial } = model;
    let identifiers = variants.iter().map(|(_, identifier)| identifier);
    let names = variants.iter().map(|(variant, _)| variant);
    let names_again = names.clone();
    let ordinals = (0..variants.len()).map(proc_macro2::Literal::usize_unsuffixed);
    let ordinals_again = ordinals.clone();
    // Most enums state nothing, and short code compiles faster.
    let renamed = (!renamed.is_empty()).then(|| {
        let pairs = renamed.iter().map(|(now, before)| quote!((#now, #before)));
        quote! {
            const RENAMED: &'static [(
                &'static ::core::primitive::str,
                &'static ::core::primitive::str,
            )] = &[#(#pairs),*];
        }
    });
    let initial = initial.map(|at| {
        let at = proc_macro2::Literal::usize_unsuffixed(at);
        quote! {
            const INITIAL: ::core::option::Option<::core::primitive::u32> =
                ::core::option::Option::Some(#at);
        }
    });
    quote! {
        #[automatically_derived]
        // A variant that is deprecated is still stored.
        #[allow(deprecated)]
        impl #krate::__private::EnumType for #ident {
            const IDENTIFIERS: &'static [&'static ::core::primitive::str] = &[#(#identifiers),*];
            #renamed
            #initial
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
