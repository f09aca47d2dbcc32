//! The owner of the hooks in a block: a struct, or the enum of a kind.

use proc_macro2::TokenStream;
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::{GenericArgument, Ident, PathArguments, Type};

use crate::names;

/// Whose hooks these are.
pub(crate) struct Owner {
    /// The name of the struct or enum, for errors at run time.
    pub(crate) name: String,
    /// The type that has the functions.
    pub(crate) functions: TokenStream,
    /// The type that has the constants of the fields: the struct, or what stands for a kind.
    pub(crate) subject: TokenStream,
    pub(crate) is_kind: bool,
}

impl Owner {
    pub(crate) fn of(ty: &Type, name: String, m: &TokenStream) -> Self {
        let span = names::here(ty.span());
        // A struct of a model or mix-in has no lifetime, and the enum of a kind always has one.
        if !has_lifetime(ty) {
            let itself = quote_spanned!(span=> Self);
            return Owner { name, functions: itself.clone(), subject: itself, is_kind: false };
        }
        // The functions can name the lifetime of the block, and are called for objects of another
        // one.
        let (m, any) = (names::located(m, span), with_any_lifetime(ty));
        let functions = quote_spanned!(span=> <#any>);
        let subject = quote_spanned!(span=> <#any as #m::Member<'_>>::Of);
        Owner { name, functions, subject, is_kind: true }
    }

    /// The name of the first parameter of a hook in messages.
    pub(crate) fn this(&self) -> String {
        match self.is_kind {
            true => format!("`this: {}<'_>`", self.name),
            false => "`this: Obj<'_, Self>`".to_owned(),
        }
    }
}

/// Whether this is the enum of a kind, `Pet<'_>`, and not a struct.
pub(crate) fn has_lifetime(ty: &Type) -> bool {
    let Type::Path(path) = crate::types::unparenthesized(ty) else { return false };
    let Some(PathArguments::AngleBracketed(list)) =
        path.path.segments.last().map(|segment| &segment.arguments)
    else {
        return false;
    };
    list.args.iter().any(|argument| matches!(argument, GenericArgument::Lifetime(_)))
}

/// The type with `'_` for its lifetimes.
pub(crate) fn with_any_lifetime(ty: &Type) -> Type {
    let mut ty = crate::types::unparenthesized(ty).clone();
    if let Type::Path(path) = &mut ty
        && let Some(segment) = path.path.segments.last_mut()
        && let PathArguments::AngleBracketed(list) = &mut segment.arguments
    {
        for argument in &mut list.args {
            if let GenericArgument::Lifetime(lifetime) = argument {
                lifetime.ident = Ident::new("_", lifetime.ident.span());
            }
        }
    }
    ty
}
