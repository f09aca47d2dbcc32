//! The views of indexes that a transaction has opened, so that opening one again is a look-up.

use std::any::TypeId;
use std::cell::RefCell;
use std::sync::Arc;

use crate::encoding::Encoding;
use crate::model::bound_fields::FieldPart;
use crate::object::{self, IndexView, Selection, Transaction};
use crate::schema::SchemaBundle;

/// Which view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ViewOf {
    /// The model, mix-in or kind.
    pub(super) source: TypeId,
    /// The position of the field or composite index.
    pub(super) position: usize,
    /// Which index of the field; `None` for a composite index.
    pub(super) part: Option<FieldPart>,
    pub(super) columns: usize,
}

/// The encoding of the map keys of a view, if queries of it return them.
pub(super) type MapKeys = Option<Arc<dyn Encoding>>;

/// This number of views is remembered. A program with more indexes opens the others each time.
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
        &self,
        core: &'t Transaction,
        of: ViewOf,
    ) -> object::Result<Option<(IndexView<'t>, MapKeys)>> {
        // The indexes of other recorded schemas may have other storage IDs.
        if !self.bundle.borrow().as_ref().is_some_and(|bundle| core.has_bundle(bundle)) {
            return Ok(None);
        }
        let views = self.views.borrow();
        let Some((_, selection, keys)) = views.iter().find(|(view, ..)| *view == of) else {
            return Ok(None);
        };
        // Nothing is read here, so an ended transaction would not be noticed otherwise.
        core.check_open()?;
        let view = IndexView { source: core, selection: Arc::clone(selection) };
        Ok(Some((view, keys.clone())))
    }

    /// Remembers a view. Opening it again must check nothing.
    pub(super) fn remember(
        &self,
        core: &Transaction,
        of: ViewOf,
        view: &IndexView<'_>,
        keys: Option<&Arc<dyn Encoding>>,
    ) {
        let mut bundle = self.bundle.borrow_mut();
        let mut views = self.views.borrow_mut();
        // Views of other recorded schemas are of no use any more.
        if !bundle.as_ref().is_some_and(|bundle| core.has_bundle(bundle)) {
            *bundle = Some(core.bundle());
            views.clear();
        }
        if views.len() < MOST {
            views.push((of, Arc::clone(&view.selection), keys.cloned()));
        }
    }
}
