//! `demo`: a small database to try things on.

use permazen::object_xml::ObjectXmlReader;
use serde_json::json;

use super::Context;
use crate::failure::{Answer, Failure};

/// The star, the planets and the moons, with the IDs that the demonstration of Permazen for Java has.
const OBJECTS: &str = include_str!("demo.xml");

/// Put the demonstration of Permazen into the database: a star, nine planets, and moons.
///
/// It fits into an empty database, or one that has it already.
#[derive(Debug, clap::Args)]
pub(crate) struct Demo {}

impl Demo {
    pub(crate) fn run(&self, context: &mut Context<'_, '_>) -> Result<Answer, Failure> {
        let count = context.write(|transaction| {
            let read = ObjectXmlReader::new().read(transaction, OBJECTS.as_bytes());
            Ok(read?.count)
        })?;
        context.out.done(
            format_args!("Read {count} object(s) of the demonstration"),
            &json!({ "type": "read", "file": "demo.xml", "objects": count }),
        )?;
        Ok(Answer::Yes)
    }
}
