//! Which kind of field a Rust type is, as far as its tokens show.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{GenericArgument, Ident, PathArguments, Type};

use crate::names;

/// The properties of a reference that follow from the type.
pub(crate) struct ReferenceModel {
    /// The type it refers to; `None` if a type alias hides it.
    pub(crate) target: Option<Type>,
    pub(crate) optional: bool,
}

/// The last segment of the path `ty`, with its type arguments; `None` if `ty` is not a path.
pub(crate) fn last_segment(ty: &Type) -> Option<(String, Vec<&Type>)> {
    let ty = unparenthesized(ty);
    let Type::Path(path) = ty else { return None };
    // `<T as Trait>::Name` does not show which type it is.
    if path.qself.is_some() {
        return None;
    }
    let segment = path.path.segments.last()?;
    let arguments = match &segment.arguments {
        PathArguments::AngleBracketed(list) => list
            .args
            .iter()
            .filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(unparenthesized(ty)),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    Some((segment.ident.to_string(), arguments))
}

/// The type without parentheses, and without the group that a macro puts around a type it received.
pub(crate) fn unparenthesized(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Paren(inner) => &inner.elem,
            Type::Group(inner) => &inner.elem,
            other => return other,
        };
    }
}

/// The single type argument of `name<T>`.
pub(crate) fn argument_of<'t>(ty: &'t Type, name: &str) -> Option<&'t Type> {
    match last_segment(ty) {
        Some((found, arguments)) if found == name => match arguments[..] {
            [argument] => Some(argument),
            _ => None,
        },
        _ => None,
    }
}

/// The reference that `ty` is: `Ref<T>` or `Option<Ref<T>>`.
pub(crate) fn reference(ty: &Type) -> Option<ReferenceModel> {
    let (inner, optional) = match argument_of(ty, "Option") {
        Some(inner) => (inner, true),
        None => (ty, false),
    };
    let target = argument_of(inner, "Ref")?;
    Some(ReferenceModel { target: Some(target.clone()), optional })
}

/// Why `ty` cannot be the type of elements, keys or values, if its tokens show it.
pub(crate) fn refusal_inside(ty: &Type) -> Option<String> {
    match argument_of(ty, "Option").map_or(unparenthesized(ty), unparenthesized) {
        Type::Tuple(_) => Some(
            "tuples are not supported; for pairs whose first parts differ, use a map (`BTreeMap<K, V>`, or \
             `#[permazen(map)]` on a `Vec<(K, V)>`); otherwise use objects of their own, with a field for each part, \
             and refer to them (`Vec<Ref<T>>`)"
                .into(),
        ),
        _ => refusal(ty),
    }
}

/// Why `ty` cannot be a simple value, if its tokens show it.
pub(crate) fn refusal(ty: &Type) -> Option<String> {
    match unparenthesized(ty) {
        Type::Path(_) => {}
        Type::Array(_) => {
            return Some("arrays of fixed length are not supported; use `Box<[T]>`".into());
        }
        Type::Tuple(_) => {
            return Some("tuples are not supported; use one field for each part".into());
        }
        Type::Reference(_) => {
            return Some("a field owns its value: use `String`, `Box<[T]>`, …".into());
        }
        // The tokens do not tell what type a macro gives.
        Type::Macro(_) => return None,
        _ => return Some("this type cannot be a field".into()),
    }
    let (name, arguments) = last_segment(ty)?;
    let message = match name.as_str() {
        "u8" | "u16" | "u128" | "usize" | "isize" | "i128" => format!(
            "`{name}` has no encoding; use {}, or `with = Type` to convert",
            match name.as_str() {
                "u8" => "`i8` (a byte array is `Box<[i8]>`) or `i16`",
                "u16" => "`i32` (a Java `char` is `JavaChar`)",
                "usize" => "`u64` or `u32`",
                "isize" => "`i64`",
                _ => "a big integer",
            }
        ),
        "char" => {
            "`char` has no encoding; a Java `char` is `JavaChar`, a code point fits an `i32`".into()
        }
        "str" => "use `String`".into(),
        // Without arguments, it is the program's own type with the name of a known one.
        _ if arguments.is_empty() => return None,
        "VecDeque" | "LinkedList" => "a list is a `Vec`".into(),
        "Vec" => "a list cannot stand here; an array as one value is `Box<[T]>`".into(),
        "BTreeSet" | "HashSet" => "a set cannot stand here: only a whole field is a set".into(),
        "BTreeMap" | "HashMap" => "a map cannot stand here: only a whole field is a map".into(),
        "Rc" | "Arc" | "Cow" | "RefCell" | "Cell" | "Mutex" => {
            format!("`{name}` is not supported; store the value itself")
        }
        "Obj" => "a handle lives as long as its transaction only; store a `Ref`".into(),
        "Option" => match arguments[..] {
            // Two levels of null would be one in the database.
            [inner] if argument_of(inner, "Option").is_some() => {
                "there is only one kind of null".into()
            }
            // An empty collection has no pairs, and neither would a missing one have any.
            [inner] if is_collection(inner) => {
                "a collection is never null: leave out the `Option`".into()
            }
            [inner] => return refusal(inner),
            _ => return None,
        },
        "Box" => match arguments[..] {
            [Type::Slice(slice)] => return refusal(&slice.elem),
            _ => "only `Box<[T]>`, an array, can be boxed".into(),
        },
        _ => return None,
    };
    Some(message)
}

fn is_collection(ty: &Type) -> bool {
    last_segment(ty).is_some_and(|(name, arguments)| {
        let known = ["Vec", "BTreeSet", "BTreeMap", "HashSet", "HashMap"];
        !arguments.is_empty() && known.contains(&name.as_str())
    })
}

/// `ty` with the struct's name for `Self`, so that it means the same outside the struct.
pub(crate) fn without_self(ty: &Type, owner: &Ident) -> Type {
    let tokens = ty.to_token_stream();
    if mentions_self(tokens.clone()) {
        // A type that was changed into no type stays as it is. The compiler reports it.
        syn::parse2(tokens_without_self(tokens, owner)).unwrap_or_else(|_| ty.clone())
    } else {
        ty.clone()
    }
}

/// Tokens with the struct's name for `Self`.
pub(crate) fn tokens_without_self(tokens: TokenStream, owner: &Ident) -> TokenStream {
    let replaced = tokens.into_iter().map(|token| match token {
        TokenTree::Ident(ident) if ident == "Self" => {
            let mut owner = owner.clone();
            owner.set_span(names::here(ident.span()));
            TokenTree::Ident(owner)
        }
        TokenTree::Group(group) => {
            let inside = tokens_without_self(group.stream(), owner);
            let mut inner = Group::new(group.delimiter(), inside);
            inner.set_span(group.span());
            TokenTree::Group(inner)
        }
        other => other,
    });
    replaced.collect()
}

/// Whether a type names one of these.
pub(crate) fn names_any(ty: &Type, names: &[&Ident]) -> bool {
    fn any(tokens: TokenStream, names: &[&Ident]) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => names.contains(&&ident),
            TokenTree::Group(group) => any(group.stream(), names),
            _ => false,
        })
    }
    any(ty.to_token_stream(), names)
}

fn mentions_self(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == "Self",
        TokenTree::Group(group) => mentions_self(group.stream()),
        _ => false,
    })
}
