//! The objects that refer to an object, by the index of a reference field.

use super::open_as::OpenAs;
use super::partial::complete;
use crate::id::ObjId;
use crate::model::binding::Binding;
use crate::model::bound_fields::FieldPart;
use crate::model::error::Result;
use crate::model::tx::Tx;
use crate::object::IdSet;

/// The objects of a model that refer to `target` through a field, each once. The errors are those
/// of a query of the index.
pub(in crate::model) fn referrers<'t>(
    tx: &'t Tx,
    binding: &'t Binding,
    (position, part): (usize, FieldPart),
    target: ObjId,
    how: OpenAs,
) -> Result<IdSet<'t>> {
    let shape = binding.index_shape(position, part)?;
    // Columns after the object, such as list positions, would repeat it.
    let view = tx.core.index_view(shape)?.of_types([binding.storage_id()]).distinct(2);
    let view = complete(tx, &view, &[binding], false, how)?;
    Ok(view.encoded().with_value(0, target.as_bytes())?.id_set()?)
}
