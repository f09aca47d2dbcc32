//! The candidates for the next word of a statement.

use std::sync::Arc;

use permazen::__internal::schema::ResolvedKind;
use permazen::ObjId;
use permazen::object::Transaction;
use permazen::schema::ResolvedField;
use permazen_query::Catalog;
use permazen_query::catalog::TypeEntry;
use permazen_query::parse::{begins_statement, keywords};
use permazen_query::text::quoted_name;

use super::tokens::Token;
use super::values;

/// The words that begin statements.
pub(super) fn statements() -> impl Iterator<Item = &'static str> {
    keywords().filter(|word| begins_statement(word))
}

/// The candidates after these pieces, of which the first begins a statement. `typed` is the
/// beginning of the word to complete.
pub(super) fn candidates(
    before: &[Token<'_>],
    typed: &str,
    catalog: &Catalog,
    transaction: &Transaction,
) -> Vec<String> {
    if typed.starts_with('@') {
        return values::ids(typed, transaction);
    }
    let [earlier @ .., last] = before else { return Vec::new() };
    let types = types(before, catalog);
    match last.text {
        "explain" => return statements().chain(["run"]).map(str::to_owned).collect(),
        "run" if matches!(earlier, [first] if first.text == "explain") => {
            return statements().map(str::to_owned).collect();
        }
        "find" | "show" | "count" | "create" | "set" | "delete" | "migrate" | "export"
        | "index" | "all" => {
            let all = matches!(last.text, "set" | "delete" | "migrate").then(|| "all".to_owned());
            return type_names(catalog).chain(all).collect();
        }
        "using" => {
            let indexes = types.iter().flat_map(|of| indexes(of)).map(|name| quoted_path(&name));
            return indexes.chain(["none".to_owned()]).collect();
        }
        "." => return after_point(earlier, &types, catalog),
        "->" => return references(&types, catalog),
        "-" if earlier.last().is_some_and(|token| token.text == "<") => {
            return type_names(catalog).collect();
        }
        "=" | "!=" | "<" | "<=" | ">" | ">=" | "+=" | "-=" | "in" | "has" | "starts" | "add"
        | "remove" | "[" => {
            let at = earlier.iter().rposition(|token| token.text != "not");
            let Some((path, Some(name))) = at.map(|at| (&earlier[..at], earlier.get(at))) else {
                return Vec::new();
            };
            let types = types_before(path, &types, catalog);
            let fields = fields_named(name.name(), &types, catalog);
            let types: Vec<_> = types.iter().map(|of| of.storage_id).collect();
            return values::of(&fields, &types, typed, transaction);
        }
        _ => {}
    }
    // Words of the language, and the names that they are about.
    let language = keywords().filter(|word| !begins_statement(word)).map(str::to_owned);
    let fields = types.iter().flat_map(|of| of.fields()).map(|field| quoted_name(&field.name));
    let names = match last.text {
        "union" | "intersect" | "minus" | "(" => type_names(catalog).collect(),
        _ => Vec::new(),
    };
    language.chain(fields).chain(names).collect()
}

fn type_names(catalog: &Catalog) -> impl Iterator<Item = String> {
    catalog.types().iter().map(|entry| quoted_name(&entry.name))
}

/// The types that a statement names, itself or by the IDs of objects.
fn types<'c>(before: &[Token<'_>], catalog: &'c Catalog) -> Vec<&'c TypeEntry> {
    let of = |token: &Token<'_>| match token.text.strip_prefix('@') {
        Some(id) => catalog.type_with_id(id.parse::<ObjId>().ok()?.storage_id()),
        None => catalog.type_named(token.name()),
    };
    before.iter().filter_map(of).collect()
}

/// The types of the objects whose field comes after this part of a statement: those to which a
/// reference before a point leads, and otherwise those that the statement names.
fn types_before<'c>(
    path: &[Token<'_>],
    types: &[&'c TypeEntry],
    catalog: &'c Catalog,
) -> Vec<&'c TypeEntry> {
    let [.., name, point] = path else { return types.to_vec() };
    if point.text != "." {
        return types.to_vec();
    }
    if let Some(of) = catalog.type_named(name.name()) {
        return vec![of];
    }
    let fields = fields_named(name.name(), types, catalog);
    let references = || fields.iter().filter_map(|field| field.simple()?.reference.as_ref());
    let allowed = |of: &&TypeEntry| references().any(|one| one.allows(of.storage_id));
    catalog.types().iter().filter(allowed).collect()
}

/// The names that can stand after a point: fields and indexes of a type, or fields of the type to
/// which a reference leads.
fn after_point(earlier: &[Token<'_>], types: &[&TypeEntry], catalog: &Catalog) -> Vec<String> {
    let Some(name) = earlier.last().map(|token| token.name()) else { return Vec::new() };
    let field_names = |of: &TypeEntry| {
        of.fields().iter().map(|field| quoted_name(&field.name)).collect::<Vec<_>>()
    };
    if let Some(of) = catalog.type_named(name) {
        let indexes = indexes(of).into_iter().map(|name| quoted_path(&name));
        return field_names(of).into_iter().chain(indexes).collect();
    }
    let mut candidates = Vec::new();
    for field in fields_named(name, types, catalog) {
        if let Some(reference) = field.simple().and_then(|simple| simple.reference.as_ref()) {
            let allowed = catalog.types().iter().filter(|of| reference.allows(of.storage_id));
            candidates.extend(allowed.flat_map(field_names));
        }
        candidates.extend(field.sub_fields().map(|sub_field| quoted_name(&sub_field.name)));
    }
    candidates
}

/// The fields that refer to objects, of these types if there are some and of all types otherwise.
fn references(types: &[&TypeEntry], catalog: &Catalog) -> Vec<String> {
    let refers = |field: &&Arc<ResolvedField>| {
        let own = field.simple().into_iter();
        let mut parts = own.chain(field.sub_fields().filter_map(|part| part.simple()));
        parts.any(|simple| simple.reference.is_some())
    };
    let of = |entry: &TypeEntry| {
        let fields = entry.versions.iter().flat_map(|version| version.fields_by_storage_id());
        fields.filter(refers).map(|field| quoted_name(&field.name)).collect::<Vec<_>>()
    };
    match types.is_empty() {
        true => catalog.types().iter().flat_map(of).collect(),
        false => types.iter().flat_map(|entry| of(entry)).collect(),
    }
}

fn indexes(of: &TypeEntry) -> Vec<Arc<str>> {
    of.indexes().into_iter().map(|index| index.name).collect()
}

/// A name of an index, which may have points in it.
fn quoted_path(name: &str) -> String {
    name.split('.').map(quoted_name).collect::<Vec<_>>().join(".")
}

/// The fields of that name, of these types if there are some and of all types otherwise. For a
/// collection, that is its elements or keys.
fn fields_named(name: &str, types: &[&TypeEntry], catalog: &Catalog) -> Vec<Arc<ResolvedField>> {
    let of = |entry: &TypeEntry| {
        let newest = entry.versions.iter().rev();
        let mut fields = newest.flat_map(|version| version.fields_by_storage_id());
        fields.find(|field| *field.name == *name).cloned()
    };
    let found: Vec<_> = types.iter().filter_map(|entry| of(entry)).collect();
    let found = match found.is_empty() {
        true => catalog.types().iter().filter_map(of).collect(),
        false => found,
    };
    found
        .into_iter()
        .map(|field| match &field.kind {
            ResolvedKind::Set { element } | ResolvedKind::List { element } => Arc::clone(element),
            ResolvedKind::Map { key, .. } => Arc::clone(key),
            _ => field,
        })
        .collect()
}
