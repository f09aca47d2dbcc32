//! The code of an object type.
//!
//! The code is small, because it is compiled for each struct: declarations are constant data, and
//! each accessor is one call.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;

use crate::accessors::{Access, accessors_name, accessors_type, getter, nullable, setter};
use crate::allowed::allowed;
use crate::constants::{composite_constant, field_constants};
use crate::declarations::declarations;
use crate::evolution;
use crate::flattened;
use crate::hooks;
use crate::inverse_methods;
use crate::names;
use crate::object_model::ObjectModel;
use crate::validate;
use crate::values::{read, write};

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
    let inverses = inverse_methods::methods(model);
    let declarations = declarations(model);
    let content = content(model);
    let mixin_constants = flattened::constants(model);
    let fields_type = flattened::fields_type(model, &quote!('t), quote!(#accessors<'t>));
    let evolution = evolution::constants(model);
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
    // If the type of a field is no mix-in, the compiler reports that here too. At the same place it
    // is the same message, which the compiler shows once.
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
    let mixin_reads = flattened::reads(model);
    let skipped = &model.skipped;
    let writes = fields().map(|(at, field)| {
        let ident = &field.ident;
        write(model, at, field, &quote!(self.#ident))
    });
    let mixin_writes = flattened::writes(model);
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
