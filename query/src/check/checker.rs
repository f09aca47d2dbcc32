//! The context in which a statement is checked.

use std::borrow::Cow;

use super::parameters::Parameters;
use crate::catalog::Catalog;
use crate::mistake::Mistake;
use crate::syntax::{Literal, LiteralKind};
use crate::text::escaped;

pub(super) type Result<T, E = Mistake> = std::result::Result<T, E>;

/// Looks up the names of a statement in a catalog.
#[derive(Clone, Copy)]
pub(super) struct Checker<'c> {
    pub(super) catalog: &'c Catalog,
    pub(super) parameters: &'c Parameters,
}

impl Checker<'_> {
    /// A literal with the values of its parameters, which get its position.
    pub(super) fn given<'l>(&self, literal: &'l Literal) -> Result<Cow<'l, Literal>> {
        if !has_parameter(literal) {
            return Ok(Cow::Borrowed(literal));
        }
        let all = |literals: &[Literal]| -> Result<Vec<Literal>> {
            literals.iter().map(|literal| Ok(self.given(literal)?.into_owned())).collect()
        };
        let kind = match &literal.kind {
            LiteralKind::Parameter(name) => {
                let Some(value) = self.parameters.get(name) else {
                    let what = format!("the parameter `${}` has no value", escaped(name));
                    let names = self.parameters.names();
                    return Err(Mistake::new(literal.span, what).near(name, names));
                };
                // A value is not looked at again, so its parameter would never get a value.
                if has_parameter(value) {
                    let what = format!("the value of `${}` has a parameter itself", escaped(name));
                    return Err(Mistake::new(literal.span, what));
                }
                at(value, literal).kind
            }
            LiteralKind::List(values) => LiteralKind::List(all(values)?),
            LiteralKind::Set(values) => LiteralKind::Set(all(values)?),
            LiteralKind::Map(pairs) => LiteralKind::Map(
                pairs
                    .iter()
                    .map(|(key, value)| {
                        Ok((self.given(key)?.into_owned(), self.given(value)?.into_owned()))
                    })
                    .collect::<Result<_>>()?,
            ),
            kind => kind.clone(),
        };
        Ok(Cow::Owned(Literal { span: literal.span, kind }))
    }
}

/// The value with the position of the parameter, so that a mistake is shown there.
fn at(value: &Literal, parameter: &Literal) -> Literal {
    let all = |values: &[Literal]| values.iter().map(|value| at(value, parameter)).collect();
    let kind = match &value.kind {
        LiteralKind::List(values) => LiteralKind::List(all(values)),
        LiteralKind::Set(values) => LiteralKind::Set(all(values)),
        LiteralKind::Map(pairs) => LiteralKind::Map(
            pairs.iter().map(|(key, value)| (at(key, parameter), at(value, parameter))).collect(),
        ),
        kind => kind.clone(),
    };
    Literal { span: parameter.span, kind }
}

fn has_parameter(literal: &Literal) -> bool {
    match &literal.kind {
        LiteralKind::Parameter(_) => true,
        LiteralKind::List(values) | LiteralKind::Set(values) => values.iter().any(has_parameter),
        LiteralKind::Map(pairs) => {
            pairs.iter().any(|(key, value)| has_parameter(key) || has_parameter(value))
        }
        _ => false,
    }
}
