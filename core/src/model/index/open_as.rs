//! The trait of everything that has an index, and how an index is opened in which objects may lack
//! entries.

use crate::model::error::Result;
use crate::model::tx::Tx;

/// Something with an index: an indexed field; the elements, keys or values of a collection; or a
/// composite index.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no index",
    label = "not indexed",
    note = "add `#[permazen(indexed)]` to the field, or to its `element`, `key` or `value`"
)]
pub trait IndexOn: Sized {
    /// The index, as queries see it.
    type View<'t>;

    /// The index in a transaction. See [`Tx::index`].
    ///
    /// # Errors
    /// If the model is not registered, or objects lack entries in the index.
    fn open(self, tx: &Tx) -> Result<Self::View<'_>> {
        self.open_as(tx, OpenAs::default())
    }

    /// The index in a transaction, whether objects lack entries in it or not.
    ///
    /// # Errors
    /// The errors of [`IndexOn::open`].
    #[doc(hidden)]
    fn open_as(self, tx: &Tx, how: OpenAs) -> Result<Self::View<'_>>;
}

/// The behaviour of a query if objects of other recorded schemas lack entries in its index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum OnPartial {
    /// It is refused with [`Error::PartialIndex`](crate::Error::PartialIndex).
    #[default]
    Refuse,
    /// It finds the indexed objects.
    Allow,
    /// The objects are loaded, and their entries are added.
    Scan,
}

/// How to open an index. This matters while objects of other recorded schemas have no entries in
/// it, or entries that do not fit the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct OpenAs {
    /// The behaviour if objects lack entries.
    pub on_partial: OnPartial,
    /// Whether values that the model cannot have are left out. Otherwise they are errors.
    pub skip_unknown: bool,
}

/// An index, and how to open it. See [`Field::allow_partial`](crate::model::Field::allow_partial),
/// [`Field::complete_by_scan`](crate::model::Field::complete_by_scan) and
/// [`Field::skip_unknown`](crate::model::Field::skip_unknown).
#[derive(Debug, Clone, Copy)]
pub struct WhenPartial<I> {
    index: I,
    open_as: OpenAs,
}

impl<I> WhenPartial<I> {
    pub(super) const fn new(index: I) -> Self {
        let open_as = OpenAs { on_partial: OnPartial::Refuse, skip_unknown: false };
        WhenPartial { index, open_as }
    }

    pub(super) fn parts(self) -> (I, OpenAs) {
        (self.index, self.open_as)
    }

    /// The index as it is. See [`Field::allow_partial`](crate::model::Field::allow_partial).
    pub const fn allow_partial(mut self) -> Self {
        self.open_as.on_partial = OnPartial::Allow;
        self
    }

    /// The index with the entries that are missing. See
    /// [`Field::complete_by_scan`](crate::model::Field::complete_by_scan).
    pub const fn complete_by_scan(mut self) -> Self {
        self.open_as.on_partial = OnPartial::Scan;
        self
    }

    /// The index without values that the model cannot have. See
    /// [`Field::skip_unknown`](crate::model::Field::skip_unknown).
    pub const fn skip_unknown(mut self) -> Self {
        self.open_as.skip_unknown = true;
        self
    }
}

impl<I: IndexOn> IndexOn for WhenPartial<I> {
    type View<'t> = I::View<'t>;

    fn open(self, tx: &Tx) -> Result<I::View<'_>> {
        self.index.open_as(tx, self.open_as)
    }

    fn open_as(self, tx: &Tx, _: OpenAs) -> Result<I::View<'_>> {
        self.open(tx)
    }
}

/// The methods of an index that say what a query does if the index is incomplete.
macro_rules! when_partial {
    ([$($parameter:ident),*] $index:ty) => {
        impl<$($parameter),*> $index {
            /// The index as it is, for [`Tx::index`]: indexed objects are found, and objects of
            /// other recorded schemas that have no entries in it are not.
            pub const fn allow_partial(self) -> WhenPartial<Self> {
                WhenPartial::new(self).allow_partial()
            }

            /// The index with the entries that objects of other recorded schemas would have if they
            /// moved to the schema of the models, for [`Tx::index`]. The objects do not move. These
            /// entries are those of the moment at which the index is opened.
            ///
            /// Opening it costs, for each object that has no entries, a scan of the
            /// object. Only the indexed fields are converted, so other values may keep the
            /// object from moving. It fails if a value of the index cannot be converted; the error
            /// names the object. The entries are kept in memory until the view is dropped.
            pub const fn complete_by_scan(self) -> WhenPartial<Self> {
                WhenPartial::new(self).complete_by_scan()
            }

            /// The index without values that the model cannot have, for [`Tx::index`], such as enum
            /// constants that a newer program has added. With
            /// [`complete_by_scan`](WhenPartial::complete_by_scan), objects with such values are
            /// left out too. Otherwise such a value is an error.
            pub const fn skip_unknown(self) -> WhenPartial<Self> {
                WhenPartial::new(self).skip_unknown()
            }
        }
    };
}
pub(super) use when_partial;
