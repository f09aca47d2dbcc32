//! The rules about one object, for one that is not in the store yet.

use super::required::{is_about_null, nulls_in};
use super::validating::Validating;
use super::violation::{Rule, Violation, Violations};
use crate::id::ObjId;
use crate::model::binding::{Binding, Bindings};
use crate::model::error::{Error, Result};
use crate::model::hook::Judgement;
use crate::model::load::ObjectReader;
use crate::object::ObjectData;

/// Checks required values, and calls the model's own functions that check plain data.
pub(in crate::model) fn check_content(
    bindings: &Bindings,
    binding: &Binding,
    id: ObjId,
    data: &ObjectData,
) -> Result<()> {
    let watched = bindings.watched().0.get(&binding.storage_id());
    let is_null = watched.is_some_and(|watched| watched.nulls_in(data).next().is_some());
    // Most new objects break nothing that could be checked, and a load makes many.
    if !is_null && binding.info.validate.is_none() {
        return Ok(());
    }
    let (mut found, mut undecided) = (Vec::new(), None);
    if let Some(watched) = watched.filter(|_| is_null) {
        for position in &binding.rules.required {
            let field = binding.field(*position)?;
            if watched.nulls_in(data).any(|null| null == field.storage_id) {
                found.push(Violation::new(id, binding.path(field), Rule::Required));
            }
        }
        found.extend(nulls_in(binding, id, data, |_| true)?);
    }
    if let Some(validate) = binding.info.validate {
        let mut validating = Validating::new(None);
        let mut reader =
            ObjectReader::new(&binding.fields, id, binding.fields.object_type.schema_of, data);
        match validate(&mut reader, &mut validating) {
            // The null was found already.
            Err(error) if is_null && is_about_null(&error) => {}
            Err(error) => return Err(error),
            Ok(()) => {
                for judged in validating.judged(binding, id)? {
                    match judged {
                        Judgement::Undecided(_, error) => undecided = undecided.or(Some(*error)),
                        judged => found.extend(judged.violation(id)),
                    }
                }
            }
        }
    }
    match undecided {
        None if found.is_empty() => Ok(()),
        Some(error) if found.is_empty() => Err(error),
        // A violation can be why a function got its error, so violations come first.
        _ => Err(Error::Invalid(Violations(found))),
    }
}
