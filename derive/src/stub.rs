//! Replaces the code of a struct or enum that has mistakes. The rest of the program compiles, so
//! the compiler reports only these mistakes.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Generics, Ident, parse_quote};

use crate::accessors::{self, Access};
use crate::allowed::allowed;
use crate::constants::{composite_constant, field_constants};
use crate::enums::EnumModel;
use crate::flattened;
use crate::inverse_methods;
use crate::mixin;
use crate::names;
use crate::object_model::ObjectModel;
use crate::refused;

/// The constants, accessors and implementations of a struct with mistakes, without content.
pub(crate) fn object(model: &ObjectModel, generics: &Generics) -> TokenStream {
    let ObjectModel { ident, krate, .. } = model;
    let m = quote!(#krate::__private);
    let accessors = accessors::accessors_name(model);
    let accessors_type = accessors::accessors_type(model);
    let fields_type = flattened::fields_type(model, &quote!('__live), quote!(#accessors<'__live>));
    // The types of the fields may name generic parameters, which the accessors do not have.
    let is_generic = !generics.params.is_empty();
    let members = (!is_generic).then(|| members(model));
    let has_hooks = model.hooks.filter(|_| !is_generic);
    let has_hooks = has_hooks.map(|_| {
        quote! {
            impl #m::HasHooks for #ident {}
            impl #m::HooksOfModel for #ident {}
        }
    });
    let mixins = flattened::mixins_of_stub(model, generics);
    let mut generics = generics.clone();
    // A stub must be `'static`, which parameters need not be.
    generics.make_where_clause().predicates.push(parse_quote!(Self: 'static));
    let (of, arguments, bounds) = generics.split_for_impl();
    let allowed = allowed();
    quote! {
        #has_hooks
        #accessors_type
        #members

        #allowed
        impl #of #m::Target for #ident #arguments #bounds {
            type Live<'__live> = #m::Obj<'__live, Self>;
            const TYPES: ::core::option::Option<&'static [&'static ::core::primitive::str]> =
                ::core::option::Option::None;
            fn live<'__live>(
                _: #m::Handles<'__live>,
                _: #krate::__private::ObjId,
            ) -> #m::Result<Self::Live<'__live>> {
                ::core::unreachable!()
            }
        }

        #allowed
        impl #of #m::Model for #ident #arguments #bounds {
            type Fields<'__live> = #fields_type;
            const TYPE_NAME: &'static ::core::primitive::str = "";
            #mixins
            const FIELDS: &'static [#m::FieldDecl] = &[];
            const COMPOSITES: &'static [#m::CompositeDecl] = &[];
            fn read(_: &mut #m::ObjectReader<'_>) -> #m::Result<Self> {
                ::core::unreachable!()
            }
            fn write(&self, _: &mut #m::ObjectWriter<'_>) -> #m::Result<()> {
                ::core::unreachable!()
            }
        }
    }
}

/// Constants and accessors. Each name occurs once: a name that occurs twice was reported as a
/// mistake.
fn members(model: &ObjectModel) -> TokenStream {
    let ident = &model.ident;
    let accessors = accessors::accessors_name(model);
    let mut taken = HashSet::new();
    // Constants and accessors are members of different types.
    let mut is_new = |kind: &'static str, name: &Ident| taken.insert((kind, name.to_string()));
    let mut constants = TokenStream::new();
    let mut methods = TokenStream::new();
    for (field, constant) in model.fields.iter().zip(field_constants(model)) {
        if is_new("const", &constant_of(&field.ident)) {
            constants.extend(constant);
        }
    }
    for (at, composite) in model.composites.iter().enumerate() {
        let name = names::constant(&composite.name, composite.span);
        // There is no type for another number of columns.
        if matches!(composite.fields.len(), 2..=4) && is_new("const", &name) {
            constants.extend(composite_constant(model, at, composite));
        }
    }
    for refused in &model.refused {
        if is_new("const", &constant_of(&refused.ident)) {
            constants.extend(refused::constant(model, refused));
        }
        if is_new("fn", &accessors::getter_name(&refused.accessor)) {
            methods.extend(refused::getter(model, refused));
        }
        if is_new("fn", &accessors::setter_name(&refused.accessor)) {
            methods.extend(refused::setter(model, refused));
        }
    }
    let access = Access::of_model();
    for (at, field) in model.fields.iter().enumerate() {
        if is_new("fn", &accessors::getter_name(&field.accessor)) {
            methods.extend(accessors::getter(model, &access, at, field));
        }
    }
    for (at, field) in model.fields.iter().enumerate() {
        if is_new("fn", &accessors::setter_name(&field.accessor)) {
            methods.extend(accessors::setter(model, &access, at, field));
        }
    }
    for (inverse, method) in model.inverses.iter().zip(inverse_methods::stubs(model)) {
        if is_new("fn", &inverse.name) {
            methods.extend(method);
        }
    }
    let allowed = allowed();
    quote! {
        #allowed
        impl #ident {
            #constants
        }
        #allowed
        impl<'t> #accessors<'t> {
            #methods
        }
    }
}

/// The name of the constant of a field.
fn constant_of(field: &Ident) -> Ident {
    names::constant(&field.unraw().to_string(), field.span())
}

/// Whether constants and accessors of a mix-in can be made: no name occurs twice, and each
/// composite index has a number of fields that there is a type for.
fn has_each_name_once(model: &ObjectModel) -> bool {
    let mut taken = HashSet::new();
    let mut is_new = |kind: &'static str, name: String| taken.insert((kind, name));
    let refused = model.refused.iter().map(|refused| (&refused.ident, &refused.accessor));
    let fields = model.fields.iter().map(|field| (&field.ident, &field.accessor));
    fields.chain(refused).all(|(field, accessor)| {
        is_new("const", constant_of(field).to_string())
            && is_new("fn", accessors::getter_name(accessor).to_string())
            && is_new("fn", accessors::setter_name(accessor).to_string())
    }) && model.composites.iter().all(|composite| {
        matches!(composite.fields.len(), 2..=4)
            && is_new("const", names::constant(&composite.name, composite.span).to_string())
    }) && model
        .flattened
        .iter()
        .all(|flattened| is_new("const", constant_of(&flattened.ident).to_string()))
}

/// The implementation of a mix-in with mistakes, without content: its fields have no constants and
/// accessors.
pub(crate) fn mixin(model: &ObjectModel, generics: &Generics) -> TokenStream {
    let ObjectModel { ident, krate, .. } = model;
    let m = quote!(#krate::__private);
    if generics.params.is_empty() && has_each_name_once(model) {
        let mixins = flattened::mixins_of_stub(model, generics);
        return mixin::with_members(
            model,
            &quote! {
                const FIELDS: &'static [#m::FieldDecl] = &[];
                const COMPOSITES: &'static [#m::CompositeDecl] = &[];
                #mixins
                fn read(_: &mut #m::ObjectReader<'_>) -> #m::Result<Self> {
                    ::core::unreachable!()
                }
                fn write(&self, _: &mut #m::ObjectWriter<'_>) -> #m::Result<()> {
                    ::core::unreachable!()
                }
            },
        );
    }
    // A generic mix-in has a block of hooks for each alias, and there are none.
    let has_hooks = model.hooks.filter(|_| generics.params.is_empty());
    let has_hooks = has_hooks.map(|_| {
        let subject = mixin::subject(model);
        quote! {
            impl #m::HasHooks for #ident {}
            #subject
        }
    });
    let mut generics = generics.clone();
    generics.make_where_clause().predicates.push(parse_quote!(Self: 'static));
    let (of, arguments, bounds) = generics.split_for_impl();
    quote! {
        #has_hooks

        impl #of #m::Mixin for #ident #arguments #bounds {
            type Itself = Self;
            type Fields<'__live, __R: #m::Accessors<'__live>> = __R;
            type Shared<'__live> = ();
            type Constants<__S, __P: #m::MixinOffset> = ();
            const PATH: &'static ::core::primitive::str = "";
            const FIELDS: &'static [#m::FieldDecl] = &[];
            const COMPOSITES: &'static [#m::CompositeDecl] = &[];
            const MIXINS: &'static [#m::Included] = &[];
            fn shared<'__f, '__live: '__f, __A: #m::Accessors<'__live>>(_: &'__f __A) -> &'__f () {
                &()
            }
            fn read(_: &mut #m::ObjectReader<'_>) -> #m::Result<Self> {
                ::core::unreachable!()
            }
            fn write(&self, _: &mut #m::ObjectWriter<'_>) -> #m::Result<()> {
                ::core::unreachable!()
            }
        }
    }
}

/// The implementation of an enum with mistakes, without content.
pub(crate) fn enumeration(
    model: &EnumModel,
    generics: &Generics,
    errors: TokenStream,
) -> TokenStream {
    let EnumModel { ident, krate, .. } = model;
    let mut generics = generics.clone();
    if !generics.params.is_empty() {
        generics.make_where_clause().predicates.push(parse_quote! {
            Self: ::core::clone::Clone
                + ::core::fmt::Debug
                + ::core::marker::Send
                + ::core::marker::Sync
                + 'static
        });
    }
    let (of, arguments, bounds) = generics.split_for_impl();
    quote! {
        #errors
        impl #of #krate::__private::EnumType for #ident #arguments #bounds {
            const IDENTIFIERS: &'static [&'static ::core::primitive::str] = &[];
            fn ordinal(&self) -> ::core::primitive::u32 {
                ::core::unreachable!()
            }
            fn from_ordinal(_: ::core::primitive::u32) -> ::core::option::Option<Self> {
                ::core::unreachable!()
            }
        }
    }
}
