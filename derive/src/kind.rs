//! The code of a kind: its type of references, and what the enum does as a handle.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Ident, Lifetime};

use crate::allowed::allowed;
use crate::flattened;
use crate::kind_methods;
use crate::kind_model::{KindModel, Member};
use crate::names;
use crate::types;

/// `tokens` with `'static` for a lifetime.
fn forever(tokens: TokenStream, lifetime: &Lifetime) -> TokenStream {
    let mut quoted = false;
    let replaced = tokens.into_iter().map(|token| {
        let after_quote = std::mem::take(&mut quoted);
        match token {
            TokenTree::Ident(ident) if after_quote && ident == lifetime.ident => {
                TokenTree::Ident(Ident::new("static", ident.span()))
            }
            TokenTree::Group(group) => {
                let inner = forever(group.stream(), lifetime);
                let mut inner = proc_macro2::Group::new(group.delimiter(), inner);
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }
            TokenTree::Punct(punct) => {
                quoted = punct.as_char() == '\'';
                TokenTree::Punct(punct)
            }
            other => other,
        }
    });
    replaced.collect()
}

/// The type of the kind, and what the enum does as a handle.
pub(crate) fn expand(model: &KindModel) -> TokenStream {
    let KindModel { ident, visibility, krate, kind, .. } = model;
    let Some(lifetime) = &model.lifetime else { return TokenStream::new() };
    let m = quote!(#krate::__private);
    let name = ident.unraw().to_string();
    let variants: Vec<_> = model.members.iter().map(|member| &member.variant).collect();
    // The handles without the lifetime of the enum, at the place of the type in the source.
    let members: Vec<_> =
        model.members.iter().map(|member| forever_member(model, member, lifetime)).collect();
    let found = model.members.iter().map(|member| {
        let (span, ty) = (names::here(member.ty.span()), &member.ty);
        let krate = names::located(krate, span);
        quote_spanned!(span=> <#ty as #krate::__private::Member<#lifetime>>)
    });
    let known_types = members.iter().map(|member| {
        quote! {
            // The members may be kinds themselves, so the types are joined by the compiler.
            match <#member::Of as #m::Target>::TYPES {
                ::core::option::Option::Some(__types) => __types,
                ::core::option::Option::None => &[],
            }
        }
    });
    let known_types = quote!(&[#(#known_types),*]);
    let mixins = quote!(&[#(#members::MIXINS),*]);
    let lists: Vec<_> = (0..members.len()).map(proc_macro2::Literal::usize_unsuffixed).collect();
    let marker_doc = format!("The kind [`{ident}`], in references (`Ref<{kind}>`) and queries.");
    let twice =
        format!("a model belongs to `{name}` twice: by itself and with a kind, or with two kinds");
    let fields = fields(model, lifetime, &members);
    let conversions = conversions(model, lifetime);
    let methods = kind_methods::methods(model, lifetime);
    let subject = subject(model);
    let add_hooks = model.hooks.then(|| {
        let hooks = quote!(<#ident<'_> as #m::Hooks>::DECLS);
        quote!(let __to = #m::ModelSet::with_hooks_of::<#kind>(__to, #hooks);)
    });
    let others = others(model);
    let allowed = allowed();
    quote! {
        #[doc = #marker_doc]
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
        #visibility enum #kind {}

        // A model in two variants would make the variant of its objects depend on their order.
        const _: () = ::core::assert!(
            #m::distinct(match <#kind as #m::Target>::TYPES {
                ::core::option::Option::Some(__types) => __types,
                ::core::option::Option::None => &[],
            }),
            #twice
        );

        #[automatically_derived]
        #allowed
        impl #m::Target for #kind {
            type Live<'__live> = #ident<'__live>;
            const TYPES: ::core::option::Option<&'static [&'static ::core::primitive::str]> = {
                const LISTS: &[&[&::core::primitive::str]] = #known_types;
                ::core::option::Option::Some(
                    &#m::joined::<&::core::primitive::str, { 0 #(+ LISTS[#lists].len())* }>(LISTS, ""),
                )
            };
            fn live<'__live>(
                __from: #m::Handles<'__live>,
                __id: #m::ObjId,
            ) -> #m::Result<#ident<'__live>> {
                #m::object_of_kind(__from, __id, #name)
            }
        }

        #[automatically_derived]
        impl #m::Kind for #kind {
            fn register(__to: #m::ModelSet) -> #m::ModelSet {
                <#ident<'static> as #m::Member<'static>>::register(__to)
            }
        }

        #[automatically_derived]
        #allowed
        impl<#lifetime> #m::Member<#lifetime> for #ident<#lifetime> {
            type Of = #kind;
            const MIXINS: &'static [&'static [#m::Included]] = {
                const LISTS: &[&[&[#m::Included]]] = #mixins;
                &#m::joined::<&[#m::Included], { 0 #(+ LISTS[#lists].len())* }>(LISTS, &[])
            };
            fn of(
                __tx: &#lifetime #m::Tx,
                __id: #m::ObjId,
            ) -> #m::Result<::core::option::Option<Self>> {
                #(
                    if let ::core::option::Option::Some(__object) =
                        #found::found(__tx, __id, #ident::#variants)?
                    {
                        return ::core::result::Result::Ok(::core::option::Option::Some(__object));
                    }
                )*
                ::core::result::Result::Ok(::core::option::Option::None)
            }
            fn any(&self) -> #m::AnyObj<#lifetime> {
                match self {
                    #(#ident::#variants(__object) => #m::Member::any(__object),)*
                    #others
                }
            }
            fn shared<'__f, __X: #m::Mixin>(&'__f self) -> &'__f __X::Shared<#lifetime>
            where
                #lifetime: '__f,
            {
                match self {
                    #(#ident::#variants(__object) => #m::Member::shared::<__X>(__object),)*
                    #others
                }
            }
            fn register(__to: #m::ModelSet) -> #m::ModelSet {
                #(let __to = #members::register(__to);)*
                #add_hooks
                __to
            }
        }

        #subject

        #methods
        #fields
        #conversions
    }
}

/// The arm of a `match` for variants with mistakes.
fn others(model: &KindModel) -> Option<TokenStream> {
    // The enum has variants that are no members, so the `match` would not be complete.
    model.is_partial.then(|| quote!(_ => ::core::unreachable!(),))
}

/// `<Obj<'static, Dog> as Member<'static>>`
fn forever_member(model: &KindModel, member: &Member, lifetime: &Lifetime) -> TokenStream {
    let span = names::here(member.ty.span());
    let krate = names::located(&model.krate, span);
    let ty = forever(member.ty.to_token_stream(), lifetime);
    quote_spanned!(span=> <#ty as #krate::__private::Member<'static>>)
}

/// The code that lets the kind have hooks and be observed.
fn subject(model: &KindModel) -> TokenStream {
    let KindModel { ident, krate, kind, .. } = model;
    let m = quote!(#krate::__private);
    let name = ident.unraw().to_string();
    let among = match &model.fields {
        Some(mixin) => {
            let span = mixin.span();
            let located = names::located(&m, span);
            quote_spanned!(span=> kind_with::<#kind, <#mixin as #located::Mixin>::Itself>)
        }
        None => quote!(kind::<#kind>),
    };
    let has_hooks = model.hooks.then(|| quote!(impl #m::HasHooks for #ident<'_> {}));
    quote! {
        #has_hooks

        #[automatically_derived]
        impl #m::Subject for #kind {
            type This<'__live> = #ident<'__live>;
            const AMONG: #m::Among = #m::Among::#among(#name);
            fn this(__tx: &#m::Tx, __id: #m::ObjId) -> #m::Result<#ident<'_>> {
                #m::object_of::<#kind>(__tx, __id)
            }
        }
    }
}

/// The members that the enum gets from the mix-in of all its members.
fn fields(model: &KindModel, lifetime: &Lifetime, members: &[TokenStream]) -> Option<TokenStream> {
    let KindModel { ident, krate, kind, visibility, fields, .. } = model;
    let fields = fields.as_ref()?;
    let span = fields.span();
    let located = names::located(krate, span);
    let m = quote!(#krate::__private);
    let mixin = quote_spanned!(span=> <#fields as #located::__private::Mixin>);
    let name = types::last_segment(fields).map(|(name, _)| name).unwrap_or_default();
    let name = name.trim_start_matches("r#");
    let constant = names::constant(name, span);
    let doc = format!("The fields of `{name}`, which all members have.");
    let checks = model.members.iter().zip(members).map(|(member, of)| {
        let span = names::here(member.ty.span());
        let krate = names::located(krate, span);
        let message = format!(
            "`{}` lacks the fields of `{name}`, which all members of the kind have: flatten it in the struct",
            member.variant
        );
        quote_spanned! {span=>
            const _: () = ::core::assert!(
                #krate::__private::Included::in_all(#mixin::PATH, #of::MIXINS),
                #message
            );
        }
    });
    let allowed = allowed();
    let constants = quote_spanned!(span=> #mixin::Constants<#kind, ()>);
    let all = flattened::all_constants(krate, &constants, span);
    let shared_of = quote_spanned!(span=> #located::__private::Member::shared::<#mixin::Itself>);
    let deref = quote_spanned! {span=>
        fn deref(&self) -> &#mixin::Shared<#lifetime> {
            #shared_of(self)
        }
    };
    let shared = quote_spanned!(span=> #mixin::Shared<#lifetime>);
    Some(quote! {
        #(#checks)*

        #[automatically_derived]
        #allowed
        impl #kind {
            #[doc = #doc]
            #visibility const #constant: #constants = #all;
        }

        #[automatically_derived]
        impl #m::Source for #kind {
            type Found = #kind;
            fn places(__models: &#m::Models, __slot: #m::Slot) -> #m::Result<#m::Places<'_>> {
                #m::Places::of_kind::<#kind, #mixin::Itself>(__models, __slot)
            }
        }

        #[automatically_derived]
        impl<#lifetime> ::core::ops::Deref for #ident<#lifetime> {
            type Target = #shared;
            #deref
        }
    })
}

/// Conversions, and the traits of a handle.
fn conversions(model: &KindModel, lifetime: &Lifetime) -> TokenStream {
    let KindModel { ident, krate, kind, .. } = model;
    let m = quote!(#krate::__private);
    let of_members = model.members.iter().map(|member| {
        let Member { variant, ty } = member;
        quote! {
            #[automatically_derived]
            impl<#lifetime> #m::Becomes<#ident<#lifetime>> for #ty {}

            #[automatically_derived]
            impl<#lifetime> #m::MeetsHandle<#ident<#lifetime>> for #ty {}

            #[automatically_derived]
            impl<#lifetime> #m::MeetsHandle<#ty> for #ident<#lifetime> {}

            #[automatically_derived]
            impl<#lifetime> ::core::convert::From<#ty> for #ident<#lifetime> {
                fn from(__object: #ty) -> Self {
                    #ident::#variant(__object)
                }
            }
        }
    });
    let of_targets = [quote!(#kind), quote!(#m::Any)].into_iter().map(|target| {
        let values = [quote!(#m::Ref<#target>), quote!(::core::option::Option<#m::Ref<#target>>)];
        let encode = values.into_iter().map(|value| {
            quote! {
                #[automatically_derived]
                impl<#lifetime> #m::EncodeAs<#value> for #ident<#lifetime> {
                    fn encode_as(
                        &self,
                        __out: &mut #m::Vec<::core::primitive::u8>,
                    ) -> ::core::result::Result<(), #m::EncodingError> {
                        #m::encode_id(#m::Member::any(self).id(), __out)
                    }
                }
            }
        });
        quote! {
            #[automatically_derived]
            impl<#lifetime> ::core::convert::From<#ident<#lifetime>> for #m::Ref<#target> {
                fn from(__object: #ident<#lifetime>) -> Self {
                    #m::Ref::new(#m::Member::any(&__object).id())
                }
            }

            #(#encode)*
        }
    });
    let handles = [quote!(#ident<#lifetime>), quote!(#m::AnyObj<#lifetime>)];
    let variants: Vec<_> = model.members.iter().map(|member| &member.variant).collect();
    let others = others(model);
    quote! {
        #(#of_members)*
        #(#of_targets)*

        #(
            #[automatically_derived]
            impl<#lifetime> #m::Becomes<#handles> for #ident<#lifetime> {}

            #[automatically_derived]
            impl<#lifetime> #m::MeetsHandle<#handles> for #ident<#lifetime> {}
        )*

        #[automatically_derived]
        impl<#lifetime> #m::MeetsHandle<#ident<#lifetime>> for #m::AnyObj<#lifetime> {}

        #[automatically_derived]
        impl<#lifetime> ::core::clone::Clone for #ident<#lifetime> {
            fn clone(&self) -> Self {
                *self
            }
        }

        #[automatically_derived]
        impl<#lifetime> ::core::marker::Copy for #ident<#lifetime> {}

        #[automatically_derived]
        impl<#lifetime> ::core::fmt::Debug for #ident<#lifetime> {
            fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                match self {
                    #(#ident::#variants(__object) => ::core::fmt::Debug::fmt(__object, __f),)*
                    #others
                }
            }
        }

        #[automatically_derived]
        impl<#lifetime> ::core::cmp::PartialEq for #ident<#lifetime> {
            fn eq(&self, __other: &Self) -> ::core::primitive::bool {
                #m::Member::any(self) == #m::Member::any(__other)
            }
        }

        #[automatically_derived]
        impl<#lifetime> ::core::cmp::Eq for #ident<#lifetime> {}

        #[automatically_derived]
        impl<#lifetime> ::core::hash::Hash for #ident<#lifetime> {
            fn hash<__H: ::core::hash::Hasher>(&self, __state: &mut __H) {
                ::core::hash::Hash::hash(&#m::Member::any(self), __state);
            }
        }
    }
}

/// The type of a kind with mistakes, without content.
pub(crate) fn stub(model: &KindModel, errors: TokenStream) -> TokenStream {
    let (visibility, kind) = (&model.visibility, &model.kind);
    // Without a lifetime, the enum cannot be what a reference gives.
    let code = if model.lifetime.is_some() && !model.members.is_empty() {
        expand(model)
    } else {
        quote! {
            #[allow(dead_code)]
            #visibility enum #kind {}
        }
    };
    quote!(#errors #code)
}
