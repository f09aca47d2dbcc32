//! The code of a mix-in. The members that a struct gets from the mix-ins that it flattens are in
//! `flattened.rs`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::Ident;
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use crate::accessors::{self, Access, accessors_name};
use crate::allowed::allowed;
use crate::constants::{composite_constant, composite_type, constant_type, field_constants};
use crate::declarations;
use crate::expand;
use crate::flattened::{all_constants, as_mixin, constants, fields_type, places};
use crate::hooks;
use crate::names;
use crate::object_model::{Flattened, ObjectModel, Refused};
use crate::refused;
use crate::values::position;

/// `NamedConstants`
fn constants_name(model: &ObjectModel) -> Ident {
    format_ident!("{}Constants", model.ident.unraw(), span = names::here(model.ident.span()))
}

/// `NamedAccess`
fn access_name(model: &ObjectModel) -> Ident {
    format_ident!("{}Access", model.ident.unraw(), span = names::here(model.ident.span()))
}

/// The code of a mix-in.
pub(crate) fn expand(model: &ObjectModel) -> TokenStream {
    let (declarations, content) = (declarations::declarations(model), expand::content(model));
    let hooks = model.hooks.map(|at| hooks::of_struct(&model.krate, &model.ident, at).0);
    with_members(model, &quote!(#declarations #hooks #content))
}

/// The code of a mix-in, of which `content` says how it is declared, read and written.
pub(crate) fn with_members(model: &ObjectModel, content: &TokenStream) -> TokenStream {
    let ObjectModel { ident, krate, .. } = model;
    let m = quote!(#krate::__private);
    let refused_constants = refused::constants(model);
    let allowed = allowed();
    let field_constants = field_constants(model);
    let composites = model.composites.iter().enumerate();
    let composites = composites.map(|(at, index)| composite_constant(model, at, index));
    let mixin_constants = constants(model);
    let (accessors, access_name) = (accessors_name(model), access_name(model));
    let (accessors_type, access, constants_type) =
        (accessors_type(model), access(model), constants_type(model));
    let constants_name = constants_name(model);
    let fields_type = fields_type(model, &quote!('t), quote!(#accessors<'t, __R>));
    let has_hooks = model.hooks.map(|at| hooks::of_struct(krate, ident, at).1);
    let subject = subject(model);
    quote! {
        #has_hooks
        #subject

        #allowed
        impl #ident {
            #(#field_constants)*
            #refused_constants
            #(#composites)*
            #mixin_constants
        }

        #accessors_type
        #access
        #constants_type

        #[automatically_derived]
        #allowed
        impl #m::Mixin for #ident {
            type Itself = Self;
            type Fields<'t, __R: #m::Accessors<'t>> = #fields_type;
            type Shared<'t> = dyn #access_name<'t> + 't;
            type Constants<__S, __P: #m::MixinOffset> = #constants_name<__S, __P>;
            const PATH: &'static ::core::primitive::str =
                // The path tells mix-ins of the same name apart.
                ::core::concat!(::core::module_path!(), "::", ::core::stringify!(#ident));
            fn shared<'f, 't: 'f, __A: #m::Accessors<'t>>(
                __accessors: &'f __A,
            ) -> &'f (dyn #access_name<'t> + 't) {
                __accessors
            }
            #content
        }

        #[automatically_derived]
        impl #m::Source for #ident {
            type Found = #m::Any;
            fn places(__models: &#m::Models, __slot: #m::Slot) -> #m::Result<#m::Places<'_>> {
                #m::Places::of_mixin::<Self>(__models, __slot)
            }
        }
    }
}

/// The code that lets the mix-in have hooks and be observed.
pub(crate) fn subject(model: &ObjectModel) -> TokenStream {
    let ObjectModel { ident, krate, .. } = model;
    let m = quote!(#krate::__private);
    let name = ident.unraw().to_string();
    quote! {
        #[automatically_derived]
        impl #m::Subject for #ident {
            type This<'__live> = #m::With<'__live, #ident>;
            const AMONG: #m::Among = #m::Among::mixin::<#ident>(#name);
            fn this(__tx: &#m::Tx, __id: #m::ObjId) -> #m::Result<#m::With<'_, #ident>> {
                #m::object_with(__tx, __id)
            }
        }
    }
}

/// The accessors of the mix-in's fields in a model, before the ones in `R`.
fn accessors_type(model: &ObjectModel) -> TokenStream {
    let ObjectModel { ident, visibility, krate, .. } = model;
    let m = quote!(#krate::__private);
    let accessors = accessors_name(model);
    let len = position(model.fields.len());
    let access = Access {
        object: quote!(#m::Accessors::handle(&self.0)),
        start: Some(quote!(<__R as #m::Accessors<'t>>::LEN)),
    };
    let methods = methods(model, &access);
    let allowed = allowed();
    let doc =
        format!("Accessors of the fields of [`{ident}`], reached from an object without a detour.");
    quote! {
        #[doc = #doc]
        #visibility struct #accessors<'t, __R>(__R, ::core::marker::PhantomData<&'t ()>);

        #[automatically_derived]
        impl<'t, __R: #m::Accessors<'t>> ::core::clone::Clone for #accessors<'t, __R> {
            fn clone(&self) -> Self {
                *self
            }
        }

        #[automatically_derived]
        impl<'t, __R: #m::Accessors<'t>> ::core::marker::Copy for #accessors<'t, __R> {}

        #[automatically_derived]
        impl<'t, __R: #m::Accessors<'t>> ::core::fmt::Debug for #accessors<'t, __R> {
            fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Debug::fmt(&self.0, __f)
            }
        }

        #[automatically_derived]
        impl<'t, __R: #m::Accessors<'t>> #m::Accessors<'t> for #accessors<'t, __R> {
            const LEN: ::core::primitive::usize = __R::LEN + #len;
            fn bind(__handle: #m::Handle<'t>) -> Self {
                Self(__R::bind(__handle), ::core::marker::PhantomData)
            }
            fn handle(&self) -> #m::Handle<'t> {
                self.0.handle()
            }
        }

        #[automatically_derived]
        impl<'t, __R> ::core::ops::Deref for #accessors<'t, __R> {
            type Target = __R;
            fn deref(&self) -> &__R {
                &self.0
            }
        }

        #allowed
        impl<'t, __R: #m::Accessors<'t>> #accessors<'t, __R> {
            #methods
        }
    }
}

/// The accessors of the mix-in's fields in any model that has them.
fn access(model: &ObjectModel) -> TokenStream {
    let ObjectModel { ident, visibility, krate, .. } = model;
    let m = quote!(#krate::__private);
    let name = access_name(model);
    let access = Access {
        object: quote!(self.__permazen_handle()),
        start: Some(quote!(#m::start_of::<#ident>(&self.__permazen_handle()))),
    };
    let methods = methods(model, &access);
    let allowed = allowed();
    let doc =
        format!("Accessors of the fields of [`{ident}`] in an object of any type that has them.");
    quote! {
        #[doc = #doc]
        #visibility trait #name<'t> {
            #[doc(hidden)]
            fn __permazen_handle(&self) -> #m::Handle<'t>;
        }

        #[automatically_derived]
        impl<'t, __A: #m::Accessors<'t>> #name<'t> for __A {
            fn __permazen_handle(&self) -> #m::Handle<'t> {
                #m::Accessors::handle(self)
            }
        }

        #allowed
        impl<'t> dyn #name<'t> + 't {
            #methods
        }
    }
}

fn methods(model: &ObjectModel, access: &Access) -> TokenStream {
    let fields = || model.fields.iter().enumerate();
    let getters = fields().map(|(at, field)| accessors::getter(model, access, at, field));
    let setters = fields().map(|(at, field)| accessors::setter(model, access, at, field));
    let refused = refused::methods(model);
    quote!(#(#getters)* #(#setters)* #refused)
}

/// The name of a constant, for a field of a struct.
fn in_lower_case(constant: &Ident) -> Ident {
    let (name, span) = (constant.to_string().to_lowercase(), constant.span());
    // These cannot be raw identifiers.
    match &*name {
        "self" | "super" | "crate" => format_ident!("{name}_", span = span),
        // A keyword as a field needs `r#`.
        name if syn::parse_str::<Ident>(name).is_err() => Ident::new_raw(name, span),
        name => Ident::new(name, span),
    }
}

/// A struct with the constants of the mix-in's fields in a model or kind.
fn constants_type(model: &ObjectModel) -> TokenStream {
    let ObjectModel { ident, visibility, krate, .. } = model;
    let m = quote!(#krate::__private);
    let name = constants_name(model);
    let owner = quote!(__S);
    let fields = model.fields.iter().enumerate().map(|(at, field)| {
        let (visibility, at) = (&field.visibility, position(at));
        let name = accessors::getter_name(&field.ident);
        let ty = constant_type(model, field, &owner);
        let doc = format!("Field `{}`.", field.name);
        let declared = quote!(#[doc = #doc] #visibility #name: #ty);
        (declared, quote!(#name: <#ty>::new(__P::FIELDS + #at)))
    });
    let composites = model.composites.iter().enumerate().map(|(at, index)| {
        let at = position(at);
        let name = in_lower_case(&names::constant(&index.name, index.span));
        let ty = composite_type(model, index, &owner);
        let doc = format!("Composite index `{}`.", index.name);
        let declared = quote!(#[doc = #doc] #visibility #name: #ty);
        (declared, quote!(#name: <#ty>::new(__P::COMPOSITES + #at)))
    });
    let mixins = places(model, &quote!(__P)).map(|(flattened, place)| {
        let Flattened { ident, visibility, .. } = flattened;
        let mixin = as_mixin(model, flattened);
        let doc = format!("The fields that come with `{ident}`.");
        let span = flattened.ty.span();
        let place = names::everywhere(&place, span);
        let ty = quote_spanned!(span=> #mixin::Constants<__S, #place>);
        let value = all_constants(krate, &ty, span);
        let mut field = ident.clone();
        field.set_span(span);
        (quote!(#[doc = #doc] #visibility #ident: #ty), quote_spanned!(span=> #field: #value))
    });
    // They are declared too, so that the program that uses them gets no further errors.
    let refused = model.refused.iter().map(|Refused { ident, visibility, ty, .. }| {
        let name = accessors::getter_name(ident);
        let ty = quote!(#m::Field<__S, #ty, #m::Indexed>);
        (quote!(#visibility #name: #ty), quote!(#name: <#ty>::new(0)))
    });
    let all = fields.chain(refused).chain(composites).chain(mixins);
    let (declared, made): (Vec<_>, Vec<_>) = all.unzip();
    let allowed = allowed();
    let doc = format!("Constants of the fields of [`{ident}`].");
    quote! {
        #[doc = #doc]
        #allowed
        #[allow(missing_copy_implementations, missing_debug_implementations)]
        #visibility struct #name<__S, __P: #m::MixinOffset> {
            #(#declared,)*
            __place: ::core::marker::PhantomData<fn() -> (__S, __P)>,
        }

        #[automatically_derived]
        #allowed
        impl<__S, __P: #m::MixinOffset> #m::Constants for #name<__S, __P> {
            const ALL: Self = Self {
                #(#made,)*
                __place: ::core::marker::PhantomData,
            };
        }
    }
}
