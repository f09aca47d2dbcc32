//! The code of an object type.
//!
//! Kept small, as it is compiled once per struct: declarations are constant data, accessors one call each.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::Ident;
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use crate::declared::{CompositeModel, FieldModel, ObjectModel, Shape, Upgrade, ValueModel};
use crate::exclude::{Bound, Exclude};
use crate::names;

/// Field constants, accessors and the `Model` implementation of `model`.
pub(crate) fn expand(model: &ObjectModel) -> TokenStream {
    let ObjectModel { ident, visibility, krate, name, .. } = model;
    let m = quote!(#krate::model);
    let accessors = format_ident!("{}Fields", ident.unraw());
    let accessors_doc = format!(
        "Accessors of [`{ident}`] objects, reached from an `Obj<{ident}>` without a detour."
    );
    let numbered = || model.fields.iter().enumerate();
    let constants = numbered().map(|(at, field)| constant(model, at, field));
    let composites =
        model.composites.iter().enumerate().map(|(at, index)| composite_constant(model, at, index));
    let getters = numbered().map(|(at, field)| getter(&m, at, field));
    let setters = numbered().map(|(at, field)| setter(&m, at, field));
    let declarations = model.fields.iter().map(|field| declaration(&m, field));
    let index_declarations =
        model.composites.iter().map(|index| composite_declaration(model, &m, index));
    let reads = numbered().map(|(at, field)| read(at, field));
    let skipped = &model.skipped;
    let writes = numbered().map(|(at, field)| write(at, field));
    let storage_id = model.storage_id.map(|id| quote!(const STORAGE_ID: u32 = #id;));
    let singleton = model.singleton.then(|| {
        quote!(
            const SINGLETON: bool = true;
        )
    });
    quote! {
        #[allow(dead_code)]
        impl #ident {
            #(#constants)*
            #(#composites)*
        }

        #[doc = #accessors_doc]
        #[derive(Clone, Copy, Debug)]
        #visibility struct #accessors<'t>(#m::Handle<'t>);

        #[allow(dead_code)]
        impl<'t> #accessors<'t> {
            #(#getters)*
            #(#setters)*
        }

        const _: () = {
            impl<'t> #m::Accessors<'t> for #accessors<'t> {
                fn bind(handle: #m::Handle<'t>) -> Self {
                    Self(handle)
                }
                fn handle(&self) -> #m::Handle<'t> {
                    self.0
                }
            }

            impl #m::Target for #ident {
                type Live<'t> = #m::Obj<'t, #ident>;
                const TYPES: ::core::option::Option<&'static [&'static str]> =
                    ::core::option::Option::Some(&[#name]);
                fn live<'t>(tx: &'t #m::Tx, id: #krate::ObjId) -> #m::Result<Self::Live<'t>> {
                    tx.get(id)
                }
            }

            impl #m::Model for #ident {
                type Fields<'t> = #accessors<'t>;
                const TYPE_NAME: &'static str = #name;
                #storage_id
                #singleton
                const FIELDS: &'static [#m::FieldDecl] = &[#(#declarations),*];
                const COMPOSITES: &'static [#m::CompositeDecl] = &[#(#index_declarations),*];
                fn read(from: &mut #m::ObjectReader<'_>) -> #m::Result<Self> {
                    ::core::result::Result::Ok(Self {
                        #(#reads,)*
                        #(#skipped: ::core::default::Default::default(),)*
                    })
                }
                fn write(&self, to: &mut #m::ObjectWriter<'_>) -> #m::Result<()> {
                    #(#writes)*
                    ::core::result::Result::Ok(())
                }
            }
        };
    }
}

fn indexed(m: &TokenStream, value: &ValueModel) -> TokenStream {
    if value.indexed { quote!(#m::Indexed) } else { quote!(#m::Unindexed) }
}

/// `pub const NAME: Field<Person, String, Indexed> = Field::new(0);`
fn constant(model: &ObjectModel, at: usize, field: &FieldModel) -> TokenStream {
    let (owner, krate, visibility) = (&model.ident, &model.krate, &field.visibility);
    let m = quote!(#krate::model);
    let name = names::constant(&field.ident.unraw().to_string(), field.ident.span());
    let doc = format!("Field `{}` of `{}`.", field.name, model.name);
    let at = position(at);
    let ty = match &field.shape {
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
    };
    quote! {
        #[doc = #doc]
        #visibility const #name: #ty = <#ty>::new(#at);
    }
}

fn composite_constant(model: &ObjectModel, at: usize, index: &CompositeModel) -> TokenStream {
    let (owner, krate, visibility) = (&model.ident, &model.krate, &model.visibility);
    let name = names::constant(&index.name, index.span);
    let doc = format!("Composite index `{}` of `{}`.", index.name, model.name);
    let at = position(at);
    let types =
        columns(model, index).filter_map(|(_, field)| field.simple()).map(|value| &value.ty);
    let ty = quote!(#krate::model::Composite<#owner, (#(#types),*)>);
    quote! {
        #[doc = #doc]
        #visibility const #name: #ty = <#ty>::new(#at);
    }
}

/// The fields of a composite index with their positions.
fn columns<'m>(
    model: &'m ObjectModel,
    index: &'m CompositeModel,
) -> impl Iterator<Item = (usize, &'m FieldModel)> {
    let find =
        |name: &Ident| model.fields.iter().enumerate().find(|(_, field)| field.ident == *name);
    index.fields.iter().filter_map(find)
}

/// A position as an unsuffixed number, to keep the code short.
fn position(at: usize) -> proc_macro2::Literal {
    proc_macro2::Literal::usize_unsuffixed(at)
}

fn documented(field: &FieldModel, fallback: String) -> TokenStream {
    let docs = &field.docs;
    if docs.is_empty() { quote!(#[doc = #fallback]) } else { quote!(#(#docs)*) }
}

fn getter(m: &TokenStream, at: usize, field: &FieldModel) -> TokenStream {
    let FieldModel { ident, visibility, ty, name, .. } = field;
    let at = position(at);
    let doc = documented(field, format!("Reads `{name}`."));
    let span = ty.span();
    let (result, body) = match &field.shape {
        Shape::Simple(value) => match &value.reference {
            Some(reference) => match (&reference.target, reference.optional) {
                (Some(target), optional) => {
                    let span = target.span();
                    let live = quote_spanned!(span=> <#target as #m::Target>::Live<'t>);
                    if optional {
                        (
                            quote!(#m::Result<::core::option::Option<#live>>),
                            quote_spanned!(span=> self.0.reference::<#target>(#at)),
                        )
                    } else {
                        (
                            quote!(#m::Result<#live>),
                            quote_spanned!(span=> self.0.required_reference::<#target>(#at)),
                        )
                    }
                }
                (None, _) => (quote!(#m::Result<#ty>), quote!(self.0.get(#at))),
            },
            None if value.converted => {
                let disk = &value.ty;
                (quote!(#m::Result<#ty>), quote!(self.0.get_converted::<#disk, #ty>(#at)))
            }
            None => (quote!(#m::Result<#ty>), quote_spanned!(span=> self.0.get(#at))),
        },
        Shape::Counter => (quote!(#m::CounterOf<'t>), quote!(self.0.counter(#at))),
        Shape::Set(value) => {
            let ty = &value.ty;
            (quote!(#m::Result<#m::SetOf<'t, #ty>>), quote!(self.0.set_of(#at)))
        }
        Shape::List(value) => {
            let ty = &value.ty;
            (quote!(#m::Result<#m::ListOf<'t, #ty>>), quote!(self.0.list_of(#at)))
        }
        Shape::Map(key, value) => {
            let (key, value) = (&key.ty, &value.ty);
            (quote!(#m::Result<#m::MapOf<'t, #key, #value>>), quote!(self.0.map_of(#at)))
        }
    };
    quote! {
        #doc
        #visibility fn #ident(&self) -> #result {
            #body
        }
    }
}

fn setter(m: &TokenStream, at: usize, field: &FieldModel) -> Option<TokenStream> {
    let value = field.simple()?;
    let FieldModel { visibility, ty, name, .. } = field;
    let setter = format_ident!("set_{}", field.ident.unraw(), span = field.ident.span());
    let doc = format!("Sets `{name}`.");
    let at = position(at);
    let disk = &value.ty;
    let span = ty.span();
    let (argument, body) = if value.converted {
        (quote!(#ty), quote!(self.0.set_converted::<#disk, #ty>(#at, value)))
    } else {
        (quote!(impl #m::EncodeAs<#disk>), quote_spanned!(span=> self.0.set::<#disk>(#at, value)))
    };
    Some(quote! {
        #[doc = #doc]
        #visibility fn #setter(&self, value: #argument) -> #m::Result<()> {
            #body
        }
    })
}

/// `FieldDecl::simple("name", ValueDecl::of::<String>().indexed())`
fn declaration(m: &TokenStream, field: &FieldModel) -> TokenStream {
    let name = &field.name;
    let value = |value: &ValueModel| value_declaration(m, value);
    let declared = match &field.shape {
        Shape::Simple(simple) => {
            let simple = value(simple);
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
    let upgrade = match field.upgrade {
        Upgrade::Attempt => None,
        Upgrade::Reset => Some(quote!(.upgrade(#m::Upgrade::Reset))),
        Upgrade::Require => Some(quote!(.upgrade(#m::Upgrade::Require))),
    };
    quote!(#m::FieldDecl::#declared #storage_id #unique #excludes #upgrade)
}

fn value_declaration(m: &TokenStream, value: &ValueModel) -> TokenStream {
    let ty = &value.ty;
    let span = ty.span();
    let of = quote_spanned!(span=> #m::ValueDecl::of::<#ty>());
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
    quote!(#m::CompositeDecl::new(#name, &[#(#positions),*]) #storage_id #unique #exempt)
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

/// One field of the struct literal in `Model::read`.
fn read(at: usize, field: &FieldModel) -> TokenStream {
    let (ident, at) = (&field.ident, position(at));
    let span = field.ty.span();
    match &field.shape {
        Shape::Simple(value) if value.converted => {
            let disk = &value.ty;
            quote!(#ident: from.converted::<#disk, _>(#at)?)
        }
        Shape::Simple(_) => quote_spanned!(span=> #ident: from.simple(#at)?),
        Shape::Counter => quote!(#ident: from.counter(#at)?),
        Shape::Set(value) | Shape::List(value) => {
            let ty = &value.ty;
            quote!(#ident: from.elements::<#ty, _>(#at)?)
        }
        Shape::Map(key, value) => {
            let (key, value) = (&key.ty, &value.ty);
            quote!(#ident: from.entries::<#key, #value, _>(#at)?)
        }
    }
}

/// One statement of `Model::write`.
fn write(at: usize, field: &FieldModel) -> TokenStream {
    let (ident, at) = (&field.ident, position(at));
    let span = field.ty.span();
    match &field.shape {
        Shape::Simple(value) if value.converted => {
            let disk = &value.ty;
            quote!(to.converted::<#disk, _>(#at, &self.#ident)?;)
        }
        Shape::Simple(_) => quote_spanned!(span=> to.simple(#at, &self.#ident)?;),
        Shape::Counter => quote!(to.counter(#at, self.#ident)?;),
        Shape::Set(_) | Shape::List(_) => quote!(to.elements(#at, self.#ident.iter())?;),
        Shape::Map(..) => {
            quote!(to.entries(#at, self.#ident.iter().map(|(key, value)| (key, value)))?;)
        }
    }
}
