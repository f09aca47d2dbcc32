//! Collects all mistakes of a model.

use std::collections::HashSet;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The mistakes found so far.
#[derive(Default)]
pub(crate) struct Errors {
    found: Option<syn::Error>,
}

impl Errors {
    /// Reports a mistake at `tokens`.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl std::fmt::Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Reports a mistake at `span`.
    pub(crate) fn at_span(&mut self, span: Span, message: impl std::fmt::Display) {
        self.push(syn::Error::new(span, message));
    }

    /// Adds the mistakes of `others` that are not among these. Mistakes in attributes of a generic
    /// struct
    /// are found for each of its aliases.
    pub(crate) fn add(&mut self, others: Errors) {
        // The place and the text together say whether it is the same mistake.
        let identity = |error: &syn::Error| format!("{:?} {error}", error.span());
        let mut known: HashSet<String> =
            self.found.iter().flat_map(|found| found.clone()).map(|it| identity(&it)).collect();
        for error in others.found.into_iter().flatten() {
            if known.insert(identity(&error)) {
                self.push(error);
            }
        }
    }

    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.found {
            Some(found) => found.combine(error),
            None => self.found = Some(error),
        }
    }

    /// The value; or `None` after reporting the mistake.
    pub(crate) fn note<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// All mistakes as code that makes the compiler report them; `None` if there are none.
    pub(crate) fn into_compile_errors(self) -> Option<TokenStream> {
        self.found.map(syn::Error::into_compile_error)
    }
}
