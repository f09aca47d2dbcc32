//! Derive macros of the Permazen object database.
//!
//! `#[derive(PermazenObject)]` makes a plain struct an object type. `#[derive(PermazenEnum)]` makes
//! an enum without fields a field type. `#[derive(PermazenFields)]` makes a struct whose fields
//! models share, `#[derive(PermazenKind)]` an enum that stands for several models. `#[hooks]` marks
//! functions that are called at changes of objects. All take the same three steps: they parse the
//! attributes, check the model as a whole, and generate code. They report all mistakes at once,
//! each at the token that must change. The generated code uses only public items of the `permazen`
//! crate.
#![deny(missing_docs)]

mod accessors;
mod aliases;
mod allowed;
mod attribute_syntax;
#[cfg(test)]
mod attributes_page;
mod check;
mod composite;
mod constants;
mod declarations;
mod enums;
mod errors;
mod evolution;
mod evolution_attributes;
mod exclude;
mod expand;
mod flattened;
mod hook_owner;
mod hooks;
mod inverse;
mod inverse_methods;
mod kind;
mod kind_methods;
mod kind_model;
mod mixin;
mod name_case;
mod names;
mod object_model;
mod parse_object;
mod refused;
mod reserved;
mod stub;
mod types;
mod validate;
mod values;

use proc_macro::TokenStream;
use quote::quote;
use syn::{DeriveInput, parse_macro_input};

use errors::Errors;
use object_model::{ObjectModel, Role};

#[doc = include_str!("../docs/object.md")]
#[proc_macro_derive(PermazenObject, attributes(permazen))]
pub fn derive_permazen_object(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive_struct(&input, Role::Model).into()
}

#[doc = include_str!("../docs/enum.md")]
#[proc_macro_derive(PermazenEnum, attributes(permazen, default))]
pub fn derive_permazen_enum(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let (model, errors) = enums::parse(&input);
    match errors.into_compile_errors() {
        None => enums::expand(&model),
        Some(errors) => stub::enumeration(&model, &input.generics, errors),
    }
    .into()
}

#[doc = include_str!("../docs/fields.md")]
#[proc_macro_derive(PermazenFields, attributes(permazen))]
pub fn derive_permazen_fields(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive_struct(&input, Role::Mixin).into()
}

#[doc = include_str!("../docs/kind.md")]
#[proc_macro_derive(PermazenKind, attributes(permazen))]
pub fn derive_permazen_kind(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let (model, errors) = kind_model::parse(&input);
    match errors.into_compile_errors() {
        None => kind::expand(&model),
        Some(errors) => kind::stub(&model, errors),
    }
    .into()
}

#[doc = include_str!("../docs/hooks.md")]
#[proc_macro_attribute]
pub fn hooks(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let block = parse_macro_input!(item as syn::ItemImpl);
    hooks::expand(&attribute.into(), block).into()
}

/// The code of a struct, or of each alias of a generic struct.
fn derive_struct(input: &DeriveInput, role: Role) -> proc_macro2::TokenStream {
    let mut errors = Errors::default();
    let instances = aliases::instances(input, role, &mut errors);
    let aliases = instances.iter().map(|instance| &instance.item);
    let inputs: Vec<&DeriveInput> = match &instances[..] {
        [] => vec![input],
        instances => instances.iter().map(|instance| &instance.input).collect(),
    };
    let mut parse = |input: &DeriveInput| {
        let (mut model, found) = parse_object::parse(input, role);
        errors.add(found);
        // That several aliases have one name for accessors was reported.
        model.accessors = model.accessors.filter(|_| instances.len() < 2);
        model
    };
    let models: Vec<ObjectModel> = inputs.iter().map(|input| parse(input)).collect();
    let errors = errors.into_compile_errors();
    let code = models.iter().zip(inputs).map(|(model, input)| match (role, &errors) {
        (Role::Model, None) => expand::expand(model),
        (Role::Mixin, None) => mixin::expand(model),
        (Role::Model, Some(_)) => stub::object(model, &input.generics),
        (Role::Mixin, Some(_)) => stub::mixin(model, &input.generics),
    });
    quote!(#errors #(#aliases)* #(#code)*)
}
