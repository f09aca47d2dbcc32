//! The lints that generated code allows.

use proc_macro2::TokenStream;
use quote::quote;

/// Allows what generated code does on purpose: it offers accessors that the program may never call;
/// fields may
/// be deprecated; types may be less visible than an index on them; declarations are long constants,
/// and the types of the constants of several mix-ins are long.
pub(crate) fn allowed() -> TokenStream {
    quote! {
        #[allow(
            dead_code,
            deprecated,
            private_interfaces,
            clippy::large_stack_arrays,
            clippy::type_complexity
        )]
    }
}
