//! The code of an object type.
//!
//! The code is small, because it is compiled for each struct: declarations are constant data, and
//! each accessor is one call.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Ident, Type};

use crate::accessors::{getter, nullable, setter};
use crate::declarations::declarations;
use crate::evolution_attributes;
use crate::hooks;
use crate::inverse;
use crate::mixin;
use crate::names;
use crate::object_model::{
    CompositeModel, FieldModel, ObjectModel, ReferenceModel, Shape, ValueModel,
};
use crate::types;
use crate::validate;

/// Field constants, accessors and the `Model` implementation of `model`.
pub(crate) fn expand(model: &ObjectModel) -> TokenStream {
    let ObjectModel { ident, krate, name, .. } = model;
    let m = quote!(#krate::__private);
    let accessors = accessors_name(model);
    let accessors_type = accessors_type(model);
    let constants = field_constants(model);
    let composites =
        model.composites.iter().enumerate().map(|(at, index)| composite_constant(model, at, index));
    let fields = || model.fields.iter().enumerate();
    let access = Access::of_model();
    let getters = fields().map(|(at, field)| getter(model, &access, at, field));
    let setters = fields().map(|(at, field)| setter(model, &access, at, field));
    let inverses = inverse::methods(model);
    let declarations = declarations(model);
    let content = content(model);
    let mixin_constants = mixin::constants(model);
    let fields_type = mixin::fields_type(model, &quote!('t), quote!(#accessors<'t>));
    let evolution = evolution_attributes::constants(model);
    let validate = validate::methods(model);
    let nullable = nullable(model);
    let hooks = model.hooks.map(|at| hooks::of_struct(krate, ident, at));
    let (hooks, has_hooks) = hooks.unwrap_or_default();
    let of_model = model.hooks.map(|_| quote!(impl #m::HooksOfModel for #ident {}));
    let storage_id =
        model.storage_id.map(|id| quote!(const STORAGE_ID: ::core::primitive::u32 = #id;));
    let singleton = model.singleton.then(|| {
        quote!(
            const SINGLETON: ::core::primitive::bool = true;
        )
    });
    let allowed = allowed();
    let live = quote! {
        #[inline]
        fn live<'t>(__from: #m::Handles<'t>, __id: #krate::__private::ObjId) -> #m::Result<Self::Live<'t>> {
            #m::object(__from, __id)
        }
    };
    // If the type of a field is no mix-in, the compiler reports that here too. At the same place it is
    // the same message, which the compiler shows once.
    let live = match model.flattened.first() {
        Some(flattened) => names::everywhere(&live, flattened.ty.span()),
        None => live,
    };
    // No parameter may have a name that the program could use for a constant or static: as a
    // pattern, that name would mean the constant.
    quote! {
        #allowed
        impl #ident {
            #(#constants)*
            #(#composites)*
            #mixin_constants
        }

        #accessors_type
        #nullable
        #has_hooks
        #of_model

        #allowed
        impl<'t> #accessors<'t> {
            #(#getters)*
            #(#setters)*
            #(#inverses)*
        }

        #[automatically_derived]
        #allowed
        impl #m::Target for #ident {
            type Live<'t> = #m::Obj<'t, #ident>;
            const TYPES: ::core::option::Option<&'static [&'static ::core::primitive::str]> =
                ::core::option::Option::Some(&[#name]);
            #live
        }

        #[automatically_derived]
        #allowed
        impl #m::Model for #ident {
            type Fields<'t> = #fields_type;
            const TYPE_NAME: &'static ::core::primitive::str = #name;
            #storage_id
            #singleton
            #declarations
            #evolution
            #validate
            #hooks
            #content
        }
    }
}

/// The functions that read and write a struct.
pub(crate) fn content(model: &ObjectModel) -> TokenStream {
    let krate = &model.krate;
    let m = quote!(#krate::__private);
    let fields = || model.fields.iter().enumerate();
    let reads = fields().map(|(at, field)| read(model, at, field));
    let mixin_reads = mixin::reads(model);
    let skipped = &model.skipped;
    let writes = fields().map(|(at, field)| {
        let ident = &field.ident;
        write(model, at, field, &quote!(self.#ident))
    });
    let mixin_writes = mixin::writes(model);
    quote! {
        fn read(__from: &mut #m::ObjectReader<'_>) -> #m::Result<Self> {
            ::core::result::Result::Ok(Self {
                #(#reads,)*
                #(#mixin_reads,)*
                #(#skipped: ::core::default::Default::default(),)*
            })
        }
        fn write(&self, __to: &mut #m::ObjectWriter<'_>) -> #m::Result<()> {
            #(#writes)*
            #(#mixin_writes)*
            ::core::result::Result::Ok(())
        }
    }
}

/// How accessors reach an object and its fields.
pub(crate) struct Access {
    /// A place that holds the object.
    pub(crate) object: TokenStream,
    /// Where the fields of the struct begin among those of the model; `None` for 0.
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

/// Allows what generated code does on purpose: it offers accessors that nobody may call; fields may
/// be deprecated; types may be less visible than an index on them; declarations are long constants,
/// and the types of the constants of several mix-ins are long.
pub(crate) fn allowed() -> TokenStream {
    quote! {
        #[allow(
            dead_code,
            deprecated,
            private_interfaces,
            clippy::large_stack_arrays,
            clippy::type_complexity
        )]
    }
}

/// `PersonFields`, or the name that the struct asks for.
pub(crate) fn accessors_name(model: &ObjectModel) -> Ident {
    let span = names::here(model.ident.span());
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
            let function = if *optional { "reference" } else { "required_reference" };
            Some((format_ident!("{function}"), referred(model, target)))
        }
        _ => None,
    }
}

/// What converts a field: the function that has a name like `function`, and its type arguments: the
/// stored type, the type in the struct, and the way. The types are named as [`stored`] names a type.
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

fn indexed(m: &TokenStream, value: &ValueModel) -> TokenStream {
    if value.indexed { quote!(#m::Indexed) } else { quote!(#m::Unindexed) }
}

/// The constants of all fields.
pub(crate) fn field_constants(model: &ObjectModel) -> impl Iterator<Item = TokenStream> {
    model.fields.iter().enumerate().map(|(at, field)| constant(model, at, field))
}

/// `pub const NAME: Field<Person, String, Indexed> = Field::new(0);`
fn constant(model: &ObjectModel, at: usize, field: &FieldModel) -> TokenStream {
    let visibility = &field.visibility;
    let name = names::constant(&field.ident.unraw().to_string(), field.ident.span());
    let doc = format!("Field `{}` of `{}`.", field.name, model.name);
    let at = position(at);
    let deprecated = &field.deprecated;
    let ty = constant_type(model, field, &model.ident.to_token_stream());
    quote! {
        #[doc = #doc]
        #deprecated
        #visibility const #name: #ty = <#ty>::new(#at);
    }
}

/// `Field<Person, String, Indexed>`
pub(crate) fn constant_type(
    model: &ObjectModel,
    field: &FieldModel,
    owner: &TokenStream,
) -> TokenStream {
    let krate = &model.krate;
    let m = quote!(#krate::__private);
    match &field.shape {
        Shape::Simple(value) => {
            let (ty, index) = (&value.ty, indexed(&m, value));
            quote!(#m::Field<#owner, #ty, #index>)
        }
        Shape::Counter => quote!(#m::CounterField<#owner>),
        Shape::Set(value) => {
            let (ty, index) = (&value.ty, indexed(&m, value));
            quote!(#m::SetField<#owner, #ty, #index>)
        }
        Shape::List(value) => {
            let (ty, index) = (&value.ty, indexed(&m, value));
            quote!(#m::ListField<#owner, #ty, #index>)
        }
        Shape::Map(key, value) => {
            let (key_ty, key_index) = (&key.ty, indexed(&m, key));
            let (value_ty, value_index) = (&value.ty, indexed(&m, value));
            quote!(#m::MapField<#owner, #key_ty, #value_ty, #key_index, #value_index>)
        }
    }
}

pub(crate) fn composite_constant(
    model: &ObjectModel,
    at: usize,
    index: &CompositeModel,
) -> TokenStream {
    let visibility = &model.visibility;
    let name = names::constant(&index.name, index.span);
    let doc = format!("Composite index `{}` of `{}`.", index.name, model.name);
    let at = position(at);
    let ty = composite_type(model, index, &model.ident.to_token_stream());
    quote! {
        #[doc = #doc]
        #visibility const #name: #ty = <#ty>::new(#at);
    }
}

/// `Composite<Person, (String, i32)>`
pub(crate) fn composite_type(
    model: &ObjectModel,
    index: &CompositeModel,
    owner: &TokenStream,
) -> TokenStream {
    let krate = &model.krate;
    let types =
        columns(model, index).filter_map(|(_, field)| field.simple()).map(|value| &value.ty);
    quote!(#krate::__private::Composite<#owner, (#(#types),*)>)
}

/// The fields of a composite index, with their positions.
pub(crate) fn columns<'m>(
    model: &'m ObjectModel,
    index: &'m CompositeModel,
) -> impl Iterator<Item = (usize, &'m FieldModel)> {
    let find =
        |name: &Ident| model.fields.iter().enumerate().find(|(_, field)| field.ident == *name);
    index.fields.iter().filter_map(find)
}

/// A position as a number without a suffix, to keep the code short.
pub(crate) fn position(at: usize) -> proc_macro2::Literal {
    proc_macro2::Literal::usize_unsuffixed(at)
}

/// One field of the struct literal in `Model::read`.
fn read(model: &ObjectModel, at: usize, field: &FieldModel) -> TokenStream {
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

/// The type of a counter, named as [`stored`] names a type: in the source, `Counter` may mean
/// another type.
fn counter(model: &ObjectModel, field: &FieldModel) -> TokenStream {
    let (krate, ty) = (&model.krate, &field.ty);
    let span = names::here(ty.span());
    quote_spanned!(span=> <#ty as #krate::__private::IsCounter>)
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
