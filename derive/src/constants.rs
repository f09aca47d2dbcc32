//! The constants of fields and composite indexes.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::Ident;
use syn::ext::IdentExt;

use crate::names;
use crate::object_model::{CompositeModel, FieldModel, ObjectModel, Shape, ValueModel};
use crate::values::position;

/// The constants of all fields.
pub(crate) fn field_constants(model: &ObjectModel) -> impl Iterator<Item = TokenStream> {
    model.fields.iter().enumerate().map(|(at, field)| constant(model, at, field))
}

/// `pub const NAME: Field<Person, String, Indexed> = Field::new(0);`
fn constant(model: &ObjectModel, at: usize, field: &FieldModel) -> TokenStream {
    let visibility = &field.visibility;
    // The constant is made of the Rust name, so that a `rename` does not change it.
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
        // A column that is not simple was reported already, so it is left out.
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

fn indexed(m: &TokenStream, value: &ValueModel) -> TokenStream {
    if value.indexed { quote!(#m::Indexed) } else { quote!(#m::Unindexed) }
}
