//! `create`

use std::sync::Arc;

use permazen::encoding::EncodingError;
use permazen::object::{ObjectBuilder, Transaction};
use permazen::schema::ResolvedField;

use super::failed::Result;
use super::{Edited, NewIds};
use crate::check::{CheckedCreate, Content};
use crate::error::QueryError;

pub(super) fn create(tx: &Transaction, new: &CheckedCreate, ids: &mut NewIds) -> Result<Edited> {
    let mut builder = ObjectBuilder::new(Arc::clone(&new.object_type));
    for (field, content) in &new.fields {
        put(&mut builder, field, content).map_err(invalid)?;
    }
    let data = builder.finish();
    let id = ids.next(tx, &new.object_type)?;
    let created = tx.create_with(Some(id), &data)?;
    Ok(Edited { created: created.into_iter().collect(), ..Edited::default() })
}

fn put(
    builder: &mut ObjectBuilder,
    field: &ResolvedField,
    content: &Content,
) -> std::result::Result<(), EncodingError> {
    let write = |bytes: &[u8], out: &mut Vec<u8>| {
        out.extend_from_slice(bytes);
        Ok(())
    };
    match content {
        Content::Simple(value) => builder.write_simple(field, |out| write(value, out)),
        Content::Counter(count) => {
            builder.write_counter(field, *count);
            Ok(())
        }
        Content::Set(elements) => elements
            .iter()
            .try_for_each(|element| builder.write_set_element(field, |out| write(element, out))),
        Content::List(elements) => (0..).zip(elements).try_for_each(|(at, element)| {
            builder.write_list_element(field, at, |out| write(element, out))
        }),
        Content::Map(entries) => entries.iter().try_for_each(|(key, value)| {
            builder.write_map_entry(field, |out| write(key, out), |out| write(value, out))
        }),
    }
}

/// Writing bytes that are encoded already does not fail.
fn invalid(error: EncodingError) -> QueryError {
    QueryError::Object(permazen::object::Error::InvalidArgument { what: error.to_string() })
}
