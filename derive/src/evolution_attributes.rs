//! The attributes that say what becomes of stored objects when their type changes: what they mean,
//! their rules, and their code.

use std::collections::HashMap;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Expr, ExprLit, ExprPath, Lit, LitStr, Token, Type};

use crate::attribute_syntax::{Argument, Item};
use crate::check;
use crate::errors::Errors;
use crate::expand;
use crate::names;
use crate::object_model::{FieldModel, ObjectModel};
use crate::types;

/// What a struct says about objects that have other schemas.
#[derive(Default)]
pub(crate) struct TypeEvolution {
    /// Names of fields that may go.
    removed: Vec<LitStr>,
    /// The function that sets values of an object that moves.
    on_schema_change: Option<ExprPath>,
}

/// What a field says about objects that have other schemas.
pub(crate) struct FieldEvolution {
    /// `None` if neither the field nor the struct says anything.
    upgrade: Option<Upgrade>,
    /// Whether that is what the struct says.
    is_upgrade_of_all: bool,
    /// Names that the field had.
    was: Vec<LitStr>,
    default: Option<DefaultValue>,
    /// The function that makes the value of an object that moves.
    upgrade_with: Option<ExprPath>,
}

/// What happens to a value when the type of its field changes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upgrade {
    Exact,
    Lossy,
    Reset,
}

/// The value of a field that an object's schema lacks.
enum DefaultValue {
    /// That of the type. `default` stands at this place.
    OfType(Span),
    Given(Box<Expr>),
}

/// The value of `upgrade` or `default_upgrade`.
pub(crate) fn upgrade(item: &Item) -> syn::Result<Upgrade> {
    let text = item.string()?;
    let message = match text.value().as_str() {
        "exact" => return Ok(Upgrade::Exact),
        "lossy" => return Ok(Upgrade::Lossy),
        "reset" => return Ok(Upgrade::Reset),
        "attempt" => "instead of \"attempt\", write \"lossy\"",
        "require" => "instead of \"require\", write \"exact\"",
        _ => "expected \"exact\", \"lossy\" or \"reset\"",
    };
    Err(syn::Error::new_spanned(text, message))
}

impl TypeEvolution {
    /// Reads `removed("a", "b")`.
    pub(crate) fn removed(&mut self, item: &Item, errors: &mut Errors) {
        let Some(tokens) = errors.note(item.list().cloned()) else { return };
        let parser = Punctuated::<LitStr, Token![,]>::parse_terminated;
        let Some(list) = errors.note(parser.parse2(tokens)) else { return };
        self.removed = list.into_iter().collect();
        names_given(item, &self.removed, errors);
    }

    /// Reads `on_schema_change = path`.
    pub(crate) fn on_schema_change(&mut self, item: &Item, errors: &mut Errors) {
        self.on_schema_change = errors.note(item.function());
    }
}

impl FieldEvolution {
    /// What the attributes of a field say. `upgrade` is what the struct says for all its fields.
    pub(crate) fn of(items: &[Item], upgrade_of_all: Option<Upgrade>, errors: &mut Errors) -> Self {
        let mut evolution = FieldEvolution {
            upgrade: upgrade_of_all,
            is_upgrade_of_all: upgrade_of_all.is_some(),
            was: Vec::new(),
            default: None,
            upgrade_with: None,
        };
        for item in items {
            match item.key.to_string().as_str() {
                "upgrade" => {
                    evolution.upgrade = errors.note(upgrade(item));
                    evolution.is_upgrade_of_all = false;
                }
                "was" => evolution.was = former_names(item, errors),
                "default" => evolution.default = errors.note(default_value(item)),
                "upgrade_with" => evolution.upgrade_with = errors.note(item.function()),
                _ => {}
            }
        }
        if items.iter().any(|item| item.is("upgrade_with")) {
            contradictions(items, errors);
        }
        evolution
    }
}

/// The names in `was = "…"` or `was = ["…"]`.
pub(crate) fn former_names(item: &Item, errors: &mut Errors) -> Vec<LitStr> {
    let Some(names) = errors.note(item.strings()) else { return Vec::new() };
    names_given(item, &names, errors);
    names
}

/// Checks a list of names on disk.
fn names_given(item: &Item, names: &[LitStr], errors: &mut Errors) {
    if names.is_empty() {
        errors.at(&item.key, format!("`{}` needs a name", item.key));
    }
    for (at, name) in names.iter().enumerate() {
        check::name(&name.value(), name, errors);
        if names.iter().take(at).any(|other| other.value() == name.value()) {
            errors.at(name, format!("`{}` is given twice", name.value()));
        }
    }
}

fn default_value(item: &Item) -> syn::Result<DefaultValue> {
    match &item.argument {
        Argument::None => Ok(DefaultValue::OfType(item.key.span())),
        Argument::Value(tokens) => Ok(DefaultValue::Given(syn::parse2(tokens.clone())?)),
        Argument::List(_) => {
            Err(syn::Error::new_spanned(&item.key, "expected `default`, or `default = value`"))
        }
    }
}

/// Reports attributes that have no meaning beside `upgrade_with`.
fn contradictions(items: &[Item], errors: &mut Errors) {
    for item in items {
        if item.is("was") {
            let message = "the function of `upgrade_with` makes the value: leave out `was`, and take the value of \
                           the old field in the function, with `old.take(\"…\")`";
            errors.at(&item.key, message);
        } else if item.is("upgrade") {
            let message = "the function of `upgrade_with` makes the value, and nothing is converted: leave out \
                           `upgrade`";
            errors.at(&item.key, message);
        }
    }
}

/// Checks that each former name is that of one field, and that no field has it now.
pub(crate) fn check(model: &ObjectModel, errors: &mut Errors) {
    let now = |name: &LitStr| model.fields.iter().find(|field| field.name == name.value());
    for name in &model.evolution.removed {
        if let Some(field) = now(name) {
            let message = format!(
                "field `{}` has this name: `removed` is for fields that the struct no longer has",
                field.ident
            );
            errors.at(name, message);
        }
    }
    let mut former: HashMap<String, usize> = HashMap::new();
    for (at, field) in model.fields.iter().enumerate() {
        for name in &field.evolution.was {
            if let Some(other) = now(name) {
                let message = if other.ident == field.ident {
                    "the field has this name now: `was` is for names that it had before".to_owned()
                } else {
                    format!(
                        "field `{}` has this name: `was` is for names that no field has now",
                        other.ident
                    )
                };
                errors.at(name, message);
                continue;
            }
            let earlier = *former.entry(name.value()).or_insert(at);
            if let Some(other) = model.fields.get(earlier).filter(|_| earlier != at) {
                let message = format!(
                    "field `{}` had this name too: only one field gets the old values",
                    other.ident
                );
                errors.at(name, message);
            }
        }
    }
}

/// The constants of the `Model` implementation.
pub(crate) fn constants(model: &ObjectModel) -> TokenStream {
    let (owner, krate) = (&model.ident, &model.krate);
    let m = quote!(#krate::__private);
    let TypeEvolution { removed, on_schema_change } = &model.evolution;
    let removed = (!removed.is_empty()).then(|| {
        quote! {
            const REMOVED: &'static [&'static ::core::primitive::str] = &[#(#removed),*];
        }
    });
    // The hooks of a block run after the function that the struct names.
    let hooks = model.hooks.map(|_| {
        quote! {
            if let ::core::option::Option::Some(__hooks) = <#owner as #m::Hooks>::UPGRADE_WITH {
                __hooks(__old, __to)?;
            }
        }
    });
    let of_hooks = hooks.is_some().then(|| {
        quote! {
            const UPGRADE_WITH: ::core::option::Option<#m::UpgradeWith> =
                <#owner as #m::Hooks>::UPGRADE_WITH;
        }
    });
    let upgrade_with = on_schema_change.as_ref().map(|path| {
        let span = names::here(path.span());
        let located = names::located(&m, span);
        // The function gets its type here, so that the compiler reports at its name what is wrong.
        let function = quote_spanned! {span=>
            let __upgrade: fn(
                &#located::OldValues<'_>,
                &mut #located::NewValues<'_, '_, #owner>,
            ) -> #located::Result<()> = #path;
        };
        quote! {
            const UPGRADE_WITH: ::core::option::Option<#m::UpgradeWith> =
                ::core::option::Option::Some(
                    |__old: &#m::OldValues<'_>, __to: &mut #m::ObjectWriter<'_>| -> #m::Result<()> {
                        #function
                        __upgrade(__old, &mut #m::NewValues::<#owner>::new(__to))?;
                        #hooks
                        ::core::result::Result::Ok(())
                    },
                );
        }
    });
    let upgrade_with = upgrade_with.or(of_hooks);
    quote!(#removed #upgrade_with)
}

/// The value that a string literal stands for, in a field of type `String` or `Option<String>`.
fn text(ty: &Type, value: &Expr) -> Option<TokenStream> {
    let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = value else { return None };
    let inner = types::argument_of(ty, "Option");
    types::last_segment(inner.unwrap_or(ty)).filter(|(name, _)| name == "String")?;
    let span = text.span();
    let converted = quote_spanned!(span=> ::core::convert::Into::into(#text));
    Some(match inner {
        Some(_) => quote_spanned!(span=> ::core::option::Option::Some(#converted)),
        None => converted,
    })
}

/// What follows in the declaration of a field: `.was(&["old"]).default(|to| …)`.
pub(crate) fn declaration(model: &ObjectModel, at: usize, field: &FieldModel) -> TokenStream {
    let krate = &model.krate;
    let m = quote!(#krate::__private);
    let FieldEvolution { upgrade, is_upgrade_of_all, was, default, upgrade_with } =
        &field.evolution;
    let set = if *is_upgrade_of_all { quote!(upgrade_of_all) } else { quote!(upgrade) };
    let upgrade = upgrade.map(|upgrade| match upgrade {
        Upgrade::Exact => quote!(.#set(#m::Upgrade::Exact)),
        Upgrade::Reset => quote!(.#set(#m::Upgrade::Reset)),
        Upgrade::Lossy => quote!(.#set(#m::Upgrade::Lossy)),
    });
    let was = (!was.is_empty()).then(|| quote!(.was(&[#(#was),*])));
    let ty = &field.ty;
    let write = expand::write(model, at, field, &quote!(__value));
    let default = default.as_ref().map(|value| {
        let value = match value {
            DefaultValue::OfType(span) => {
                let span = names::here(*span);
                quote_spanned!(span=> ::core::default::Default::default())
            }
            // In a closure of its own, the expression cannot leave the code around it.
            DefaultValue::Given(value) => {
                let value = text(ty, value).unwrap_or_else(|| value.to_token_stream());
                quote!(#m::made::<#ty>(|| #value))
            }
        };
        quote! {
            .default(|__to: &mut #m::ObjectWriter<'_>| -> #m::Result<()> {
                let __value: #ty = #value;
                #write
                ::core::result::Result::Ok(())
            })
        }
    });
    let upgrade_with = upgrade_with.as_ref().map(|path| {
        let span = names::here(path.span());
        let located = names::located(&m, span);
        let function = quote_spanned! {span=>
            let __make: fn(&#located::OldValues<'_>) -> #located::Result<#ty> = #path;
        };
        quote! {
            .upgrade_with(
                |__old: &#m::OldValues<'_>, __to: &mut #m::ObjectWriter<'_>| -> #m::Result<()> {
                    #function
                    let __value: #ty = __make(__old)?;
                    #write
                    ::core::result::Result::Ok(())
                },
            )
        }
    });
    quote!(#upgrade #was #default #upgrade_with)
}
