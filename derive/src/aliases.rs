//! `#[permazen(aliases(PersonNote = Note<Person>))]`: a generic struct is a model, or a mix-in, by
//! aliases, each of which gives types for the parameters of the struct.
//!
//! For each alias, the derive takes the struct with the types in the places of the parameters, and
//! with the name of the alias. That is a struct like others.

use std::collections::HashMap;

use proc_macro2::{Group, Spacing, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Data, DeriveInput, GenericArgument, GenericParam, Generics, Ident, LitStr, Meta,
    Path, PathArguments, Token, parse_quote,
};

use crate::attribute_syntax::{self, Item};
use crate::errors::Errors;
use crate::object_model::Role;

/// A name for a generic struct with types for its parameters.
struct Alias {
    ident: Ident,
    path: Path,
    /// The name in the database, if it differs from that of the alias.
    name: Option<LitStr>,
}

impl Parse for Alias {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let ident = input.parse()?;
        input.parse::<Token![=]>()?;
        let path = input.parse()?;
        let name = match input.parse::<Option<Token![as]>>()? {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        Ok(Alias { ident, path, name })
    }
}

impl Alias {
    /// The types for the parameters.
    fn arguments(&self) -> Vec<&GenericArgument> {
        match self.path.segments.last().map(|segment| &segment.arguments) {
            Some(PathArguments::AngleBracketed(list)) => list.args.iter().collect(),
            _ => Vec::new(),
        }
    }

    fn type_name(&self) -> String {
        self.name.as_ref().map_or_else(|| self.ident.unraw().to_string(), LitStr::value)
    }
}

/// The instance of a generic struct that one of its aliases names.
pub(crate) struct Instance {
    /// The alias itself, as an item.
    pub(crate) item: TokenStream,
    /// The struct with the types in the places of the parameters.
    pub(crate) input: DeriveInput,
}

/// One for each alias of a struct. There are none if the struct is not generic, or if its aliases
/// have mistakes.
pub(crate) fn instances(input: &DeriveInput, role: Role, errors: &mut Errors) -> Vec<Instance> {
    // Mistakes in other attributes are reported where these are read.
    let items = attribute_syntax::permazen_items(&input.attrs, &[], &mut Errors::default());
    let given = items.iter().find(|item| item.is("aliases"));
    let parameters = &input.generics.params;
    let name = &input.ident;
    let lifetimes: Vec<_> = input.generics.lifetimes().collect();
    for lifetime in &lifetimes {
        errors.at(lifetime, "the fields own their values: the struct has no lifetimes");
    }
    // Without its lifetimes the struct is no type, so nothing can be made of it.
    if !lifetimes.is_empty() {
        return Vec::new();
    }
    let Some(given) = given else {
        if !parameters.is_empty() {
            let what = match role {
                Role::Model => "an object type",
                Role::Mixin => "a mix-in",
            };
            let message = format!(
                "a generic struct is {what} by aliases, which give types for its parameters: add \
                 `#[permazen(aliases(OneName = {name}<…>, OtherName = {name}<…>))]`"
            );
            errors.at(&input.generics, message);
        }
        return Vec::new();
    };
    if parameters.is_empty() {
        errors.at(&given.key, "`aliases` are for a struct with type parameters");
        return Vec::new();
    }
    let aliases = aliases(given, input, role, errors);
    one_name_each(&items, &aliases, role, errors);
    aliases.iter().filter_map(|alias| errors.note(instance(input, role, alias))).collect()
}

/// The aliases that make sense.
fn aliases(given: &Item, input: &DeriveInput, role: Role, errors: &mut Errors) -> Vec<Alias> {
    let name = &input.ident;
    let form = format!("expected aliases of the struct: `aliases(OneName = {name}<…>)`");
    let parsed = given.list().cloned().and_then(|list| {
        let parser = Punctuated::<Alias, Token![,]>::parse_terminated;
        parser.parse2(list)
    });
    let parsed = parsed.map_err(|error| syn::Error::new(error.span(), &form));
    let Some(parsed) = errors.note(parsed) else { return Vec::new() };
    if parsed.is_empty() {
        errors.at(&given.key, form);
    }
    let mut aliases: Vec<Alias> = Vec::new();
    for alias in parsed {
        if let Some((at, message)) = mistake(&alias, &aliases, input) {
            errors.at(at, message);
        } else if let (Role::Mixin, Some(text)) = (role, &alias.name) {
            errors.at(text, "a mix-in has no name in the database");
        } else {
            aliases.push(alias);
        }
    }
    aliases
}

/// The mistake of an alias, and its position.
fn mistake(alias: &Alias, others: &[Alias], input: &DeriveInput) -> Option<(TokenStream, String)> {
    let (name, path, ident) = (&input.ident, &alias.path, &alias.ident);
    let wanted = input.generics.params.len();
    let arguments = alias.arguments();
    let text = |alias: &Alias| alias.path.to_token_stream().to_string();
    let is_value =
        |it: &GenericArgument| matches!(it, GenericArgument::Type(_) | GenericArgument::Const(_));
    // A path with other segments could be an alias of another struct.
    if path.segments.len() != 1 || path.segments.iter().any(|segment| segment.ident != *name) {
        let message = format!("an alias of this struct is written `{ident} = {name}<…>`");
        return Some((path.to_token_stream(), message));
    }
    if let Some(other) = arguments.iter().find(|argument| !is_value(argument)) {
        return Some((other.to_token_stream(), "expected a type".to_owned()));
    }
    if arguments.len() != wanted {
        let message = match wanted {
            1 => format!("`{name}` has one parameter: give one type"),
            _ => format!("`{name}` has {wanted} parameters: give a type for each"),
        };
        return Some((path.to_token_stream(), message));
    }
    if ident == name {
        return Some((ident.to_token_stream(), "an alias has a name of its own".to_owned()));
    }
    if others.iter().any(|other| other.ident == *ident) {
        return Some((ident.to_token_stream(), format!("there are two aliases `{ident}`")));
    }
    // The same types would make the same implementation twice.
    if let Some(other) = others.iter().find(|other| text(other) == text(alias)) {
        let message = format!("`{}` and `{ident}` are the same type", other.ident);
        return Some((path.to_token_stream(), message));
    }
    if let Some(other) = others.iter().find(|other| other.type_name() == alias.type_name()) {
        let message =
            format!("`{}` and `{ident}` are both named `{}`", other.ident, alias.type_name());
        let at = alias.name.as_ref().map_or_else(|| quote!(#ident), ToTokens::to_token_stream);
        return Some((at, message));
    }
    None
}

/// Reports attributes of the struct that would give several types the same name or ID.
fn one_name_each(items: &[Item], aliases: &[Alias], role: Role, errors: &mut Errors) {
    for item in items {
        if role == Role::Model && item.is("name") {
            let message = "an alias names its type: `aliases(OneName = Struct<…> as \"…\")`";
            errors.at(&item.key, message);
        } else if aliases.len() > 1 && (item.is("storage_id") || item.is("accessors")) {
            let message =
                format!("`{}` is of one type, but the struct has several aliases", item.key);
            errors.at(&item.key, message);
        }
    }
}

fn instance(input: &DeriveInput, role: Role, alias: &Alias) -> syn::Result<Instance> {
    let Alias { ident, path, name } = alias;
    let types = Types::of(&input.generics, alias);
    // The instance is an alias, so it has no parameters of its own.
    let mut instance =
        DeriveInput { ident: ident.clone(), generics: Generics::default(), ..input.clone() };
    types.fill_in_attributes(&mut instance.attrs);
    if let Some(name) = name {
        // The name is given as if it stood on the struct, so that it is checked like others.
        instance.attrs.push(parse_quote!(#[permazen(name = #name)]));
    }
    if let Data::Struct(data) = &mut instance.data {
        for field in &mut data.fields {
            field.ty = syn::parse2(types.fill_in(field.ty.to_token_stream()))?;
            types.fill_in_attributes(&mut field.attrs);
        }
    }
    let (visibility, original) = (&input.vis, &input.ident);
    let doc = match role {
        Role::Model => format!("[`{original}`] as the object type `{}`.", alias.type_name()),
        Role::Mixin => format!("[`{original}`] as a mix-in."),
    };
    let item = quote! {
        #[doc = #doc]
        #[allow(dead_code)]
        #visibility type #ident = #path;
    };
    Ok(Instance { item, input: instance })
}

/// The types that an alias gives for the parameters, by the names of these.
struct Types(HashMap<String, TokenStream>);

impl Types {
    fn of(generics: &Generics, alias: &Alias) -> Self {
        let name = |parameter: &GenericParam| match parameter {
            GenericParam::Type(parameter) => parameter.ident.to_string(),
            GenericParam::Const(parameter) => parameter.ident.to_string(),
            GenericParam::Lifetime(parameter) => parameter.lifetime.to_string(),
        };
        let types = alias.arguments().into_iter().map(ToTokens::to_token_stream);
        Types(generics.params.iter().map(name).zip(types).collect())
    }

    fn fill_in_attributes(&self, attributes: &mut [Attribute]) {
        // Attributes of other crates do not name the types of this one.
        for attribute in attributes.iter_mut().filter(|it| it.path().is_ident("permazen")) {
            if let Meta::List(list) = &mut attribute.meta {
                list.tokens = self.fill_in(std::mem::take(&mut list.tokens));
            }
        }
    }

    /// Tokens with the types in the places of the parameters.
    fn fill_in(&self, tokens: TokenStream) -> TokenStream {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let filled = tokens.iter().enumerate().map(|(at, token)| match token {
            TokenTree::Group(group) => {
                let inside = self.fill_in(group.stream());
                let mut filled = Group::new(group.delimiter(), inside);
                filled.set_span(group.span());
                TokenTree::Group(filled).into()
            }
            // A name after `::` or a quote is no parameter, whatever it is.
            TokenTree::Ident(ident) if !is_part_of_name(tokens.get(..at).unwrap_or_default()) => {
                let after = tokens.get(at + 1..).unwrap_or_default();
                match self.0.get(&ident.to_string()) {
                    // Before `::`, a type such as `Vec<i32>` must be in angle brackets.
                    Some(ty) if is_separator(after) => beginning_of_path(ty),
                    Some(ty) => ty.clone(),
                    None => token.clone().into(),
                }
            }
            other => other.clone().into(),
        });
        filled.collect()
    }
}

/// Whether tokens begin with `::`.
fn is_separator(tokens: &[TokenTree]) -> bool {
    match tokens {
        [TokenTree::Punct(first), TokenTree::Punct(second), ..] => {
            first.as_char() == ':' && first.spacing() == Spacing::Joint && second.as_char() == ':'
        }
        _ => false,
    }
}

/// Whether a name after these tokens is that of a lifetime, or a later part of a path.
fn is_part_of_name(before: &[TokenTree]) -> bool {
    match before {
        [.., TokenTree::Punct(quote)] if quote.as_char() == '\'' => true,
        [.., _, _] => before.get(before.len() - 2..).is_some_and(is_separator),
        _ => false,
    }
}

/// A type before `::`.
fn beginning_of_path(ty: &TokenStream) -> TokenStream {
    let is_name = syn::parse2::<Path>(ty.clone())
        .is_ok_and(|path| path.segments.iter().all(|segment| segment.arguments.is_none()));
    if is_name { ty.clone() } else { quote!(<#ty>) }
}
