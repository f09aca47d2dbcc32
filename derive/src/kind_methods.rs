//! The methods that the enum of a kind has as a handle.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Lifetime;

use crate::allowed::allowed;
use crate::kind_model::KindModel;

/// Methods named like methods of `Obj`. The derive of a mix-in refuses accessors with
/// names of methods of `Obj`, so these hide none.
pub(crate) fn methods(model: &KindModel, lifetime: &Lifetime) -> TokenStream {
    let KindModel { ident, visibility, krate, kind, .. } = model;
    let m = quote!(#krate::__private);
    let model = quote!(#krate::model);
    let allowed = allowed();
    quote! {
        #[automatically_derived]
        #allowed
        // `to_ref` takes a reference, as in `Obj`, though the enum can be copied.
        #[allow(clippy::wrong_self_convention)]
        impl<#lifetime> #ident<#lifetime> {
            /// The object ID.
            #visibility fn id(&self) -> #m::ObjId {
                #m::Member::any(self).id()
            }

            /// The object, for access by name.
            #visibility fn any(&self) -> #m::AnyObj<#lifetime> {
                #m::Member::any(self)
            }

            /// A reference to the object, which outlives the transaction.
            #visibility fn to_ref(&self) -> #m::Ref<#kind> {
                #m::Ref::new(#m::Member::any(self).id())
            }

            /// The transaction.
            #visibility fn tx(&self) -> &#lifetime #m::Tx {
                #m::Member::any(self).tx()
            }

            /// Whether the object exists. Cost: one get, or none if the object is known in this
            /// transaction.
            ///
            /// # Errors
            /// If the store fails.
            #visibility fn exists(&self) -> #m::Result<::core::primitive::bool> {
                #m::Member::any(self).exists()
            }

            /// Deletes the object. Returns false if it does not exist.
            ///
            /// # Errors
            /// If a reference to it forbids the deletion.
            #visibility fn delete(&self) -> #m::Result<::core::primitive::bool> {
                #m::Member::any(self).delete()
            }

            /// The ID of the object's schema.
            ///
            /// # Errors
            /// If the object does not exist.
            #visibility fn schema_id(&self) -> #m::Result<#krate::schema::SchemaId> {
                #m::Member::any(self).schema_id()
            }

            /// Has all rules checked for this object, as if it were new.
            ///
            /// # Errors
            /// If the object does not exist.
            #visibility fn revalidate(&self) -> #m::Result<()> {
                #m::Member::any(self).revalidate()
            }

            /// The objects that refer to this one through a field, each once.
            ///
            /// # Errors
            /// If a model is not registered, or objects may lack entries in the index.
            #visibility fn referrers<__F: #model::ReferenceField>(
                &self,
                __field: __F,
            ) -> #m::Result<#m::Objs<#lifetime, __F::Owner>>
            where
                #kind: #m::Meets<__F::To>,
            {
                #m::Member::any(self).referrers(__field)
            }

            /// The objects at the end of a path from this object.
            ///
            /// # Errors
            /// The errors of following the path.
            #visibility fn follow<__A: #m::Target, __B: #m::Target, __N: #model::Plurality>(
                &self,
                __path: &#model::Path<__A, __B, __N>,
            ) -> #m::Result<__N::Found<#lifetime, __B>>
            where
                #kind: #m::Meets<__A>,
            {
                #m::Member::any(self).follow(__path)
            }

            /// The objects to which a named cascade leads from this one.
            #visibility fn cascade(
                &self,
                __name: impl ::core::convert::Into<#m::String>,
            ) -> #model::Cascade<#lifetime> {
                #m::Member::any(self).cascade(__name)
            }

            /// Copies the object, and the objects to which the cascades of `copy` lead. Returns the
            /// copy of
            /// this object.
            ///
            /// # Errors
            /// If the destination lacks the model, and the errors of copying.
            #visibility fn copy_to<'__d>(
                &self,
                __dest: &'__d #m::Tx,
                __copy: #model::Copy,
            ) -> #m::Result<#ident<'__d>> {
                #m::copied::<#kind>(#m::Member::any(self), __dest, __copy)
            }
        }
    }
}
