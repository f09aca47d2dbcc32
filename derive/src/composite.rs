//! `composite(…)`: an index on several fields.

use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Ident, Token};

use crate::attribute_syntax::{self, Item};
use crate::errors::Errors;
use crate::exclude;
use crate::names;
use crate::object_model::CompositeModel;

const KEYS: &[&str] = &["name", "storage_id", "fields", "unique", "exclude"];

pub(crate) fn parse(item: &Item, errors: &mut Errors) -> Option<CompositeModel> {
    let tokens = errors.note(item.list().cloned())?;
    let mut composite = CompositeModel {
        name: String::new(),
        span: item.key.span(),
        storage_id: None,
        fields: Vec::new(),
        unique: false,
        excludes: Vec::new(),
    };
    let items = attribute_syntax::items(&tokens, &["exclude"], errors);
    for item in &items {
        match item.key.to_string().as_str() {
            "name" => {
                if let Some(text) = errors.note(item.string()) {
                    names::check(&text.value(), &text, errors);
                    composite.span = text.span();
                    composite.name = text.value();
                }
            }
            "storage_id" => composite.storage_id = errors.note(item.storage_id()),
            "fields" => {
                let list = errors.note(item.list().cloned()).unwrap_or_default();
                let parser = Punctuated::<Ident, Token![,]>::parse_terminated_with;
                let parser = |input: ParseStream<'_>| parser(input, own_field);
                let Some(fields) = errors.note(parser.parse2(list)) else { continue };
                composite.fields = fields.into_iter().collect();
                if !matches!(composite.fields.len(), 2..=4) {
                    let message = "a composite index is on 2 to 4 fields: `fields(a, b)`";
                    errors.at(&item.key, message);
                }
            }
            "unique" => composite.unique = item.flag(errors),
            "exclude" => {}
            _ => errors.push(item.unknown("a composite index", KEYS)),
        }
    }
    // The columns of the index are known only when all its attributes are read.
    for item in items.iter().filter(|item| item.is("exclude")) {
        if !composite.unique {
            errors.at(&item.key, "`exclude` exempts values from uniqueness: it needs `unique`");
        }
        composite.excludes.extend(exclude::parse_columns(item, &composite.fields, errors));
    }
    for required in ["name", "fields"] {
        if !items.iter().any(|item| item.is(required)) {
            errors.at(&item.key, format!("a composite index needs `{required}`"));
        }
    }
    Some(composite)
}

/// The name of a field of the struct itself.
fn own_field(input: ParseStream<'_>) -> syn::Result<Ident> {
    let field: Ident = input.parse()?;
    // A path would name a field of a mix-in, whose position is not known here.
    if !input.peek(Token![.]) && !input.peek(Token![::]) {
        return Ok(field);
    }
    let message = "a composite index is on fields of the struct alone, or of a mix-in alone: if all its fields are \
                   those of the mix-in, state the index there; if not, move the fields into one of the two, or keep a \
                   copy of the mix-in's value in a field of the struct (with a hook, `#[on_change]`)";
    Err(syn::Error::new_spanned(field, message))
}
