//! The fields and methods that a struct gets from the mix-ins that it flattens.
//!
//! The macro does not see the fields of these mix-ins. It names their types, and the compiler puts
//! declarations, accessors and constants together.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Generics, Ident};

use crate::names;
use crate::object_model::{Flattened, ObjectModel};
use crate::types;
use crate::values::position;

/// The accessors of a struct, which has the accessors of its mix-ins before its own:
/// `<Named as Mixin>::Fields<'t, DogFields<'t>>`.
pub(crate) fn fields_type(
    model: &ObjectModel,
    lifetime: &TokenStream,
    own: TokenStream,
) -> TokenStream {
    // The accessors of the first mix-in are inside, so that each begins where the ones before it
    // end.
    model.flattened.iter().fold(own, |before, flattened| {
        let mixin = as_mixin(model, flattened);
        let span = flattened.ty.span();
        quote_spanned!(span=> #mixin::Fields<#lifetime, #before>)
    })
}

/// `pub const NAMED: <Named as Mixin>::Constants<Dog, …> = …;` for each mix-in.
pub(crate) fn constants(model: &ObjectModel) -> TokenStream {
    let (owner, krate) = (&model.ident, &model.krate);
    let each = places(model, &quote!(())).map(|(flattened, place)| {
        let Flattened { ident, visibility, docs, .. } = flattened;
        let name = names::constant(&ident.unraw().to_string(), ident.span());
        let mixin = as_mixin(model, flattened);
        let doc = format!("The fields of `{}` that come with `{ident}`.", model.ident);
        let docs = if docs.is_empty() { quote!(#[doc = #doc]) } else { quote!(#(#docs)*) };
        let span = flattened.ty.span();
        // The whole place gets the span of the type: there the compiler reports what is wrong with
        // it.
        let place = names::everywhere(&place, span);
        let ty = quote_spanned!(span=> #mixin::Constants<#owner, #place>);
        let value = all_constants(krate, &ty, span);
        quote! {
            #docs
            #visibility const #name: #ty = #value;
        }
    });
    quote!(#(#each)*)
}

/// The declarations of a struct with the declarations of its mix-ins.
pub(crate) fn declarations(
    model: &ObjectModel,
    own_fields: &TokenStream,
    own_composites: &TokenStream,
) -> TokenStream {
    let krate = &model.krate;
    let m = quote!(#krate::__private);
    let (fields, composites) = (position(model.fields.len()), position(model.composites.len()));
    let blocks = blocks(krate, model.flattened.iter());
    let mixins = mixins(krate, &quote!(#fields), &quote!(#composites), &blocks);
    quote! {
        const FIELDS: &'static [#m::FieldDecl] =
            &#m::Block::fields::<{ #m::Block::count_fields(#fields, #blocks) }>(
                #own_fields, #fields, #blocks,
            );
        const COMPOSITES: &'static [#m::CompositeDecl] =
            &#m::Block::composites::<{ #m::Block::count_composites(#composites, #blocks) }>(
                #own_composites, #fields, #blocks,
            );
        #mixins
    }
}

/// The fields of the struct literal in `read` that are mix-ins.
pub(crate) fn reads(model: &ObjectModel) -> impl Iterator<Item = TokenStream> {
    starts(model).map(|(flattened, start)| {
        let (ident, read) = (&flattened.ident, value_of_mixin(model, flattened, "read"));
        quote!(#ident: #read(&mut __from.after(#start))?)
    })
}

/// The statements that write the mix-ins.
pub(crate) fn writes(model: &ObjectModel) -> impl Iterator<Item = TokenStream> {
    starts(model).map(|(flattened, start)| {
        let (ident, write) = (&flattened.ident, value_of_mixin(model, flattened, "write"));
        quote!(__to.after(#start, |__to| #write(&self.#ident, __to))?;)
    })
}

/// The mix-ins of a struct with mistakes, for the kinds that it is a member of. Those that name a
/// parameter of the struct are left out: Rust has no constants of them.
pub(crate) fn mixins_of_stub(model: &ObjectModel, generics: &Generics) -> TokenStream {
    let parameters: Vec<_> = generics.type_params().map(|parameter| &parameter.ident).collect();
    let has_none = |flattened: &&Flattened| !types::names_any(&flattened.ty, &parameters);
    let blocks = blocks(&model.krate, model.flattened.iter().filter(has_none));
    mixins(&model.krate, &quote!(0), &quote!(0), &blocks)
}

/// The one value of a type of constants.
pub(crate) fn all_constants(krate: &TokenStream, ty: &TokenStream, span: Span) -> TokenStream {
    let krate = names::located(krate, span);
    quote_spanned!(span=> <#ty as #krate::__private::Constants>::ALL)
}

/// The mix-ins of a struct with the places where they begin, starting with `before`, the place of
/// the struct itself.
pub(crate) fn places<'m>(
    model: &'m ObjectModel,
    before: &TokenStream,
) -> impl Iterator<Item = (&'m Flattened, TokenStream)> + use<'m> {
    let krate = &model.krate;
    let (fields, composites) = (position(model.fields.len()), position(model.composites.len()));
    let mut place = quote!(#krate::__private::Inside<#before, #fields, #composites>);
    model.flattened.iter().map(move |mixin| {
        let here = place.clone();
        let of = as_mixin(model, mixin);
        let span = mixin.ty.span();
        let ty = quote_spanned!(span=> #of::Itself);
        // The next mix-in begins after all fields and indexes of this one.
        place = quote!(#krate::__private::Next<#here, #ty>);
        (mixin, here)
    })
}

/// The mix-ins of a struct, with the expression for where their fields begin.
fn starts(model: &ObjectModel) -> impl Iterator<Item = (&Flattened, TokenStream)> {
    let own = position(model.fields.len());
    let mut start = quote!(#own);
    model.flattened.iter().map(move |flattened| {
        let here = start.clone();
        // The number of fields of a mix-in is known to the compiler only.
        let fields = value_of_mixin(model, flattened, "FIELDS");
        start = quote!(#here + #fields.len());
        (flattened, here)
    })
}

/// The block of each mix-in.
fn blocks<'f>(krate: &TokenStream, flattened: impl Iterator<Item = &'f Flattened>) -> TokenStream {
    let blocks = flattened.map(|mixin| {
        let span = mixin.ty.span();
        let (krate, ty) = (names::located(krate, span), &mixin.ty);
        let of = quote_spanned!(span=> <#ty as #krate::__private::Mixin>::Itself);
        quote_spanned!(span=> #krate::__private::Block::of::<#of>())
    });
    quote!(&[#(#blocks),*])
}

fn mixins(
    krate: &TokenStream,
    fields: &TokenStream,
    composites: &TokenStream,
    blocks: &TokenStream,
) -> TokenStream {
    let m = quote!(#krate::__private);
    quote! {
        const MIXINS: &'static [#m::Included] =
            &#m::Block::mixins::<{ #m::Block::count_mixins(#blocks) }>(
                #fields, #composites, #blocks,
            );
    }
}

/// `<Named as Mixin>`
pub(crate) fn as_mixin(model: &ObjectModel, mixin: &Flattened) -> TokenStream {
    // The compiler reports in some places the whole of this, and in others only the type. The same
    // span makes the same message, which it shows once.
    let span = mixin.ty.span();
    let (krate, ty) = (names::located(&model.krate, span), &mixin.ty);
    quote_spanned!(span=> <#ty as #krate::__private::Mixin>)
}

/// The same for an item that is a value. There the compiler would report at the type that it is no
/// mix-in, and once more than for the types.
fn value_of_mixin(model: &ObjectModel, mixin: &Flattened, item: &str) -> TokenStream {
    let span = mixin.ty.span();
    let (krate, of) = (names::located(&model.krate, span), as_mixin(model, mixin));
    let item = Ident::new(item, span);
    quote_spanned!(span=> <#of::Itself as #krate::__private::Mixin>::#item)
}
