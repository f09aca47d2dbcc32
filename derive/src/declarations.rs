//! The declarations of a model or mix-in: constant data about its fields and composite indexes.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;

use crate::constants::columns;
use crate::evolution;
use crate::exclude::{Bound, Exclude};
use crate::flattened;
use crate::object_model::{CompositeModel, FieldModel, ObjectModel, Role, Shape, ValueModel};
use crate::values::{position, reference, stored};

/// The constants of a model or mix-in with its declarations, including the declarations of its
/// mix-ins.
pub(crate) fn declarations(model: &ObjectModel) -> TokenStream {
    let krate = &model.krate;
    let m = quote!(#krate::__private);
    let fields = model.fields.iter().enumerate();
    let fields = fields.map(|(at, field)| declaration(model, at, field));
    let composites = model.composites.iter().map(|index| composite_declaration(model, &m, index));
    let (fields, composites) = (quote!(&[#(#fields),*]), quote!(&[#(#composites),*]));
    // Mix-ins have fields that this macro cannot see, so the compiler puts the declarations
    // together.
    if !model.flattened.is_empty() {
        return flattened::declarations(model, &fields, &composites);
    }
    // A model without mix-ins need not say so.
    let mixins =
        (model.role == Role::Mixin).then(|| quote!(const MIXINS: &'static [#m::Included] = &[];));
    quote! {
        const FIELDS: &'static [#m::FieldDecl] = #fields;
        const COMPOSITES: &'static [#m::CompositeDecl] = #composites;
        #mixins
    }
}

/// `FieldDecl::simple("name", ValueDecl::of::<String>().indexed())`
fn declaration(model: &ObjectModel, at: usize, field: &FieldModel) -> TokenStream {
    let (name, krate) = (&field.name, &model.krate);
    let m = &quote!(#krate::__private);
    let value = |value: &ValueModel| {
        let stored = stored(model, value);
        value_declaration(m, value, &quote!(of::<#stored>()))
    };
    let declared = match &field.shape {
        Shape::Simple(simple) => {
            // A reference is declared by its target, which the encoded type does not show.
            let simple = match reference(model, simple) {
                Some((function, target)) => {
                    value_declaration(m, simple, &quote!(#function::<#target>()))
                }
                None => value(simple),
            };
            quote!(simple(#name, #simple))
        }
        Shape::Counter => quote!(counter(#name)),
        Shape::Set(element) => {
            let element = value(element);
            quote!(set(#name, #element))
        }
        Shape::List(element) => {
            let element = value(element);
            quote!(list(#name, #element))
        }
        Shape::Map(key, mapped) => {
            let (key, mapped) = (value(key), value(mapped));
            quote!(map(#name, #key, #mapped))
        }
    };
    let storage_id = field.storage_id.map(|id| quote!(.storage_id(#id)));
    let unique = field.unique.then(|| quote!(.unique()));
    let excludes = (!field.excludes.is_empty()).then(|| {
        let list = excludes(m, &field.excludes);
        quote!(.exclude(#list))
    });
    let evolution = evolution::declaration(model, at, field);
    let declared_in = declared_in(model);
    // The names of accessors can only clash with names of mix-ins, or of models that have some.
    let accessor = (model.role == Role::Mixin || !model.flattened.is_empty()).then(|| {
        let accessor = field.accessor.unraw().to_string();
        quote!(.accessor(#accessor))
    });
    quote!(#m::FieldDecl::#declared #storage_id #unique #excludes #evolution #accessor #declared_in)
}

/// The declaration of the values of a field, starting from the function that begins with their
/// type.
fn value_declaration(m: &TokenStream, value: &ValueModel, typed: &TokenStream) -> TokenStream {
    let of = quote!(#m::ValueDecl::#typed);
    let storage_id = value.storage_id.map(|id| quote!(.storage_id(#id)));
    let indexed = value.indexed.then(|| quote!(.indexed()));
    let encoding = value.encoding.as_ref().map(|id| quote!(.encoding(#id)));
    let inverse_delete = value.inverse_delete.map(|action| {
        let action = format_ident!("{}", action.variant());
        quote!(.inverse_delete(#m::DeleteAction::#action))
    });
    let forward_delete = value.forward_delete.then(|| quote!(.forward_delete()));
    let allow_deleted = value.allow_deleted.then(|| quote!(.allow_deleted()));
    let (forward, inverse) = (&value.forward_cascades, &value.inverse_cascades);
    let cascades = (!forward.is_empty() || !inverse.is_empty())
        .then(|| quote!(.cascades(&[#(#forward),*], &[#(#inverse),*])));
    quote!(#of #storage_id #indexed #encoding #inverse_delete #forward_delete #allow_deleted #cascades)
}

fn composite_declaration(
    model: &ObjectModel,
    m: &TokenStream,
    index: &CompositeModel,
) -> TokenStream {
    let name = &index.name;
    let positions = columns(model, index).map(|(at, _)| position(at));
    let storage_id = index.storage_id.map(|id| quote!(.storage_id(#id)));
    let unique = index.unique.then(|| quote!(.unique()));
    let exempt = (!index.excludes.is_empty()).then(|| {
        let lists = index.excludes.iter().map(|columns| {
            let columns = columns.iter().map(|column| excludes(m, column));
            quote!(&[#(#columns),*])
        });
        quote!(.exclude(&[#(#lists),*]))
    });
    let declared_in = declared_in(model);
    quote!(#m::CompositeDecl::new(#name, &[#(#positions),*]) #storage_id #unique #exempt #declared_in)
}

/// The end of a declaration of a mix-in.
fn declared_in(model: &ObjectModel) -> Option<TokenStream> {
    let ident = &model.ident;
    (model.role == Role::Mixin).then(|| quote!(.declared_in::<#ident>()))
}

fn excludes(m: &TokenStream, list: &[Exclude]) -> TokenStream {
    let bound = |bound: &Option<Bound>| match bound {
        Some(Bound { value, inclusive }) => {
            quote!(::core::option::Option::Some(#m::ExcludeBound { value: #value, inclusive: #inclusive }))
        }
        None => quote!(::core::option::Option::None),
    };
    let list = list.iter().map(|exclude| match exclude {
        Exclude::Nulls => quote!(#m::Exclude::Nulls),
        Exclude::NonNulls => quote!(#m::Exclude::NonNulls),
        Exclude::Value(text) => quote!(#m::Exclude::Value(#text)),
        Exclude::Range { lower, upper } => {
            let (lower, upper) = (bound(lower), bound(upper));
            quote!(#m::Exclude::Range { lower: #lower, upper: #upper })
        }
    });
    quote!(&[#(#list),*])
}
