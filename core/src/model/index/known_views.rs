//! The views of indexes that a transaction has opened, so that opening one again is a look-up.

use std::any::TypeId;
use std::cell::RefCell;
use std::sync::Arc;

use super::coverage::Wanted;
use super::partial::{OpenAs, shows_only_entries};
use crate::encoding::Encoding;
use crate::model::binding::{Binding, Part};
use crate::model::error::Result;
use crate::model::tx::Tx;
use crate::object::{IndexKind, IndexView, Selection};
use crate::schema::SchemaBundle;

/// Which view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ViewOf {
    /// The model, mix-in or kind.
    pub(super) source: TypeId,
    /// The position of the field or composite index.
    pub(super) position: usize,
    /// Which index of the field; `None` for a composite index.
    pub(super) part: Option<Part>,
    pub(super) columns: usize,
}

/// The encoding of the map keys of a view, if queries of it return them.
pub(super) type MapKeys = Option<Arc<dyn Encoding>>;

/// So many views are remembered. A program with more indexes opens the others each time.
const MOST: usize = 64;

/// The views that a transaction remembers. Only those whose opening reads nothing are here.
#[derive(Default)]
pub(crate) struct KnownViews {
    /// The recorded schemas with which the views were made.
    bundle: RefCell<Option<Arc<SchemaBundle>>>,
    views: RefCell<Vec<(ViewOf, Arc<Selection>, MapKeys)>>,
}

impl KnownViews {
    /// A view that was opened before, with its map keys.
    pub(super) fn get<'t>(
        tx: &'t Tx,
        of: ViewOf,
        how: OpenAs,
    ) -> Result<Option<(IndexView<'t>, MapKeys)>> {
        if how != OpenAs::default() {
            return Ok(None);
        }
        let known = tx.known_views()?;
        if !known.bundle.borrow().as_ref().is_some_and(|bundle| tx.core.has_bundle(bundle)) {
            return Ok(None);
        }
        let views = known.views.borrow();
        let Some((_, selection, keys)) = views.iter().find(|(view, ..)| *view == of) else {
            return Ok(None);
        };
        tx.core.check_open()?;
        let view = IndexView { source: &tx.core, selection: Arc::clone(selection) };
        Ok(Some((view, keys.clone())))
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
        if how != OpenAs::default() {
            return Ok(());
        }
        let shape = &view.selection.shape;
        let with_keys = shape.kind() == IndexKind::MapValue && of.columns == shape.columns();
        let wanted = Wanted { shape, with_keys };
        let mut others = false;
        if !shows_only_entries(tx, how)? {
            for binding in models {
                others |= !tx.bindings()?.others(binding, wanted, &tx.core).is_empty();
            }
        }
        if others {
            return Ok(());
        }
        let known = tx.known_views()?;
        let mut bundle = known.bundle.borrow_mut();
        let mut views = known.views.borrow_mut();
        if !bundle.as_ref().is_some_and(|bundle| tx.core.has_bundle(bundle)) {
            *bundle = Some(tx.core.bundle());
            views.clear();
        }
        if views.len() < MOST {
            views.push((of, Arc::clone(&view.selection), keys.cloned()));
        }
        Ok(())
    }
}
