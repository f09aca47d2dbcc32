//! Opening an index again that a transaction has opened before.

use std::sync::Arc;

use super::elsewhere::Wanted;
use super::known_views::{MapKeys, ViewOf};
use super::open_as::OpenAs;
use super::partial::shows_only_entries;
use crate::encoding::Encoding;
use crate::model::binding::Binding;
use crate::model::error::Result;
use crate::model::tx::Tx;
use crate::object::{IndexKind, IndexView};

/// A view that was opened before, with its map keys.
pub(super) fn known<'t>(
    tx: &'t Tx,
    of: ViewOf,
    how: OpenAs,
) -> Result<Option<(IndexView<'t>, MapKeys)>> {
    match how == OpenAs::default() {
        true => Ok(tx.known_views()?.get(&tx.core, of)?),
        false => Ok(None),
    }
}

/// Remembers a view of these models if opening it again would check nothing.
pub(super) fn remember(
    tx: &Tx,
    of: ViewOf,
    how: OpenAs,
    models: &[&Binding],
    view: &IndexView<'_>,
    keys: Option<&Arc<dyn Encoding>>,
) -> Result<()> {
    // A remembered view does not say how it was opened, so only views that were opened in the
    // usual way are remembered.
    if how != OpenAs::default() {
        return Ok(());
    }
    let shape = &view.selection.shape;
    let with_keys = shape.kind() == IndexKind::MapValue && of.columns == shape.columns();
    let wanted = Wanted { shape, with_keys };
    // By Java's rules no other index is read, so it does not matter what other schemas there are.
    if !shows_only_entries(tx, how)? {
        for binding in models {
            if !tx.bindings()?.others(binding, wanted, &tx.core).is_empty() {
                return Ok(());
            }
        }
    }
    tx.known_views()?.remember(&tx.core, of, view, keys);
    Ok(())
}
