//! `exclude(...)`: the values that a uniqueness constraint does not apply to.

use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Expr, Lit, Token, UnOp};

use crate::attribute_syntax::{self, Item};
use crate::errors::Errors;

/// Values that need not be unique, as text that the field's encoding will parse.
pub(crate) enum Exclude {
    Nulls,
    NonNulls,
    Value(String),
    Range { lower: Option<Bound>, upper: Option<Bound> },
}

/// One end of such a range of values.
pub(crate) struct Bound {
    pub(crate) value: String,
    pub(crate) inclusive: bool,
}

/// The content of `exclude(...)`.
pub(crate) fn parse(item: &Item, errors: &mut Errors) -> Vec<Exclude> {
    let Some(tokens) = errors.note(item.list().cloned()) else {
        return Vec::new();
    };
    let excludes = parse_tokens(&tokens, errors);
    // If something is there, but wrong, that was reported already.
    if excludes.is_empty() && tokens.is_empty() {
        errors.at(&item.key, "`exclude()` excludes nothing; name values, `nulls`, or drop it");
    }
    excludes
}

pub(crate) fn parse_tokens(tokens: &TokenStream, errors: &mut Errors) -> Vec<Exclude> {
    let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
    let expressions = errors.note(parser.parse2(tokens.clone())).unwrap_or_default();
    let mut excludes = Vec::new();
    for expression in &expressions {
        excludes.extend(errors.note(exclude(expression)));
    }
    let non_nulls = excludes.iter().any(|exclude| matches!(exclude, Exclude::NonNulls));
    let nulls = excludes.iter().any(|exclude| matches!(exclude, Exclude::Nulls));
    let others = excludes.iter().any(|e| matches!(e, Exclude::Value(_) | Exclude::Range { .. }));
    if non_nulls && nulls {
        errors.at(tokens, "excluding `nulls` and `non_nulls` leaves nothing to be unique");
    } else if non_nulls && others {
        errors.at(tokens, "`non_nulls` already excludes every value");
    }
    excludes
}

fn exclude(expression: &Expr) -> syn::Result<Exclude> {
    match attribute_syntax::ungrouped(expression) {
        Expr::Path(path) if path.path.is_ident("nulls") => Ok(Exclude::Nulls),
        Expr::Path(path) if path.path.is_ident("non_nulls") => Ok(Exclude::NonNulls),
        Expr::Range(range) => {
            // `a..b` excludes its end, as everywhere in Rust.
            let inclusive = matches!(range.limits, syn::RangeLimits::Closed(_));
            let bound = |end: &Option<Box<Expr>>, inclusive| {
                let text = end.as_deref().map(value).transpose();
                text.map(|text| text.map(|value| Bound { value, inclusive }))
            };
            ranged(expression, bound(&range.start, true)?, bound(&range.end, inclusive)?)
        }
        Expr::Call(call) if matches!(&*call.func, Expr::Path(path) if path.path.is_ident("range")) => {
            named_range(call)
        }
        other => value(other).map(Exclude::Value),
    }
}

/// `range(ge = 1, lt = 5)`.
fn named_range(call: &syn::ExprCall) -> syn::Result<Exclude> {
    let mut lower = None;
    let mut upper = None;
    for argument in &call.args {
        let Expr::Assign(assign) = argument else {
            return Err(syn::Error::new_spanned(
                argument,
                "expected `gt`, `ge`, `lt` or `le` = value",
            ));
        };
        let Expr::Path(key) = &*assign.left else {
            return Err(syn::Error::new_spanned(&assign.left, "expected `gt`, `ge`, `lt` or `le`"));
        };
        let key = key.path.get_ident().map(ToString::to_string).unwrap_or_default();
        let (slot, inclusive) = match key.as_str() {
            "gt" => (&mut lower, false),
            "ge" => (&mut lower, true),
            "lt" => (&mut upper, false),
            "le" => (&mut upper, true),
            _ => {
                return Err(syn::Error::new_spanned(
                    &assign.left,
                    "expected `gt`, `ge`, `lt` or `le`",
                ));
            }
        };
        if slot.is_some() {
            return Err(syn::Error::new_spanned(argument, "this end of the range is given twice"));
        }
        *slot = Some(Bound { value: value(&assign.right)?, inclusive });
    }
    ranged(&Expr::Call(call.clone()), lower, upper)
}

fn ranged(at: &Expr, lower: Option<Bound>, upper: Option<Bound>) -> syn::Result<Exclude> {
    if lower.is_none() && upper.is_none() {
        return Err(syn::Error::new_spanned(at, "this range is everything: use `non_nulls`"));
    }
    Ok(Exclude::Range { lower, upper })
}

/// The text of a literal, in the form that encodings parse.
fn value(expression: &Expr) -> syn::Result<String> {
    match attribute_syntax::ungrouped(expression) {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => return Ok(text.value()),
            Lit::Int(number) => return Ok(number.base10_digits().to_owned()),
            Lit::Float(number) => return Ok(number.base10_digits().to_owned()),
            Lit::Bool(flag) => return Ok(flag.value.to_string()),
            _ => {}
        },
        // The sign is an operator in Rust, and a part of the number in the database.
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            return value(&unary.expr).map(|text| format!("-{text}"));
        }
        Expr::Paren(inner) => return value(&inner.expr),
        _ => {}
    }
    Err(syn::Error::new_spanned(expression, "expected a literal, a range, `nulls` or `non_nulls`"))
}

/// `exclude(a(nulls), b(1..5))` of a composite index: one list for each column, in the order of
/// `columns`.
pub(crate) fn parse_columns(
    item: &Item,
    columns: &[syn::Ident],
    errors: &mut Errors,
) -> Option<Vec<Vec<Exclude>>> {
    let tokens = errors.note(item.list().cloned())?;
    let mut is_wrong = false;
    let mut lists: Vec<Option<Vec<Exclude>>> = columns.iter().map(|_| None).collect();
    for column in attribute_syntax::items(&tokens, &[], errors) {
        let excludes = parse(&column, errors);
        match columns.iter().position(|name| *name == column.key).and_then(|at| lists.get_mut(at)) {
            Some(slot) => *slot = Some(excludes),
            None => {
                is_wrong = true;
                errors.at(&column.key, format!("`{}` is no field of this index", column.key));
            }
        }
    }
    if lists.iter().all(Option::is_none) {
        if is_wrong {
            return None;
        }
        errors
            .at(&item.key, "`exclude` of a composite index names columns: `exclude(field(nulls))`");
        return None;
    }
    // A column that is not named may have any value.
    let every = || vec![Exclude::Nulls, Exclude::NonNulls];
    Some(lists.into_iter().map(|list| list.unwrap_or_else(every)).collect())
}
