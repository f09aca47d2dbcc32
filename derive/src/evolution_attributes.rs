//! The attributes that say what becomes of stored objects when their type changes: what they mean.
//! `evolution.rs` has the rules that a whole model keeps, and the code.

use proc_macro2::Span;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Expr, ExprPath, LitStr, Token};

use crate::attribute_syntax::{Argument, Item};
use crate::errors::Errors;
use crate::names;

/// The attributes of a struct about objects of other schemas.
#[derive(Default)]
pub(crate) struct TypeEvolution {
    /// Names of fields that may go.
    pub(crate) removed: Vec<LitStr>,
    /// The function that sets values of an object that moves.
    pub(crate) on_schema_change: Option<ExprPath>,
}

/// The attributes of a field about objects of other schemas.
pub(crate) struct FieldEvolution {
    /// `None` if neither the field nor the struct says anything.
    pub(crate) upgrade: Option<Upgrade>,
    /// Whether that is what the struct says.
    pub(crate) is_upgrade_of_all: bool,
    /// Names that the field had.
    pub(crate) was: Vec<LitStr>,
    pub(crate) default: Option<DefaultValue>,
    /// The function that makes the value of an object that moves.
    pub(crate) upgrade_with: Option<ExprPath>,
}

/// The treatment of a value when the type of its field changes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Upgrade {
    Exact,
    Lossy,
    Reset,
}

/// The value of a field that an object's schema lacks.
pub(crate) enum DefaultValue {
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
        // The words of Java's policies are likely guesses.
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
    /// The attributes of a field. `upgrade` is that of the struct, for all its fields.
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
                    // The rule of the field itself counts, not that of the struct.
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
        names::check(&name.value(), name, errors);
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
