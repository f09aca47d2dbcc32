//! The values of `$name` in statements, and the schema of objects that are created.

use permazen::object::Transaction;
use permazen::schema::{SchemaId, SchemaIndex};
use permazen_query::syntax::{Literal, LiteralKind};
use permazen_query::{Parameters, parse_literal};

use super::Session;
use crate::args::Args;
use crate::failure::Failure;

/// The parameters of the command line.
pub(super) fn read(args: &Args) -> Result<Vec<(String, Literal)>, Failure> {
    let mut parameters: Vec<(String, Literal)> = Vec::new();
    let mut add = |option: &str, text: &str, literal: &dyn Fn(&str) -> Result<Literal, Failure>| {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            Failure::new(format!("{option} {text}: there is no = after the name"))
        })?;
        let name = name.strip_prefix('$').unwrap_or(name);
        if parameters.iter().any(|(known, _)| known == name) {
            return Err(Failure::new(format!("{option} {text}: ${name} has a value already")));
        }
        parameters.push((name.to_owned(), literal(value)?));
        Ok(())
    };
    for text in &args.parameters {
        add("--param", text, &|value| {
            parse_literal(value).map_err(|mistake| {
                let what = "a value is written as in a statement; --text takes any text as it is";
                Failure::mistake(&mistake, value, Some("--param")).but(what)
            })
        })?;
    }
    for text in &args.texts {
        add("--text", text, &|value| Ok(Literal::of(LiteralKind::Text(value.into()))))?;
    }
    Ok(parameters)
}

impl Session {
    /// The parameters with which statements in this transaction are checked.
    pub(crate) fn parameters(&self, transaction: &Transaction) -> Result<Parameters, Failure> {
        let parameters = Parameters::new();
        let parameters = self
            .options
            .parameters
            .iter()
            .fold(parameters, |all, (name, value)| all.with(name, value.clone()));
        match &self.options.schema {
            None => Ok(parameters),
            Some(schema) => Ok(parameters.creating_in(recorded(transaction, schema)?)),
        }
    }
}

/// The recorded schema with this number or ID.
fn recorded(transaction: &Transaction, schema: &str) -> Result<SchemaIndex, Failure> {
    let bundle = transaction.bundle();
    let found = match schema.parse::<u32>() {
        Ok(number) => SchemaIndex::new(number).and_then(|index| bundle.schema(index)),
        Err(_) => schema.parse::<SchemaId>().ok().and_then(|id| bundle.schema_by_id(id)),
    };
    found.map(|schema| schema.index).ok_or_else(|| {
        Failure::new(format!(
            "--schema {schema}: no such schema is recorded; `schema list` says which are"
        ))
    })
}
