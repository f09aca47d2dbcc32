//! Columns of strings, restricted to those that begin with a text.

use std::ops::Bound;

use crate::encoding::textual::{FilePath, InternetAddress, Pattern, Uri};
use crate::encoding::{AsText, JavaString, string};
use crate::model::error::Result;
use crate::object::IndexView;

/// A type whose values are stored in the encoding of strings, so that `starts_with` finds the
/// values that begin with a text.
///
/// Implement it for a type of your own whose [`write_to`](crate::encoding::Encodable::write_to) is
/// that of `String`, and for an `Option` of it. If its encoding differs, queries find the wrong
/// objects.
#[diagnostic::on_unimplemented(
    message = "values of type `{Self}` are not stored as strings, so they do not begin with a text",
    label = "not stored as strings",
    note = "use `get(value)` for one value, or `range(from..to)` for those between two"
)]
pub trait StoredAsString {}

macro_rules! stored_as_string {
    ($($type:ty),*) => {
        $(
            impl StoredAsString for $type {}
            impl StoredAsString for Option<$type> {}
        )*
    };
}

impl<T> StoredAsString for AsText<T> {}
impl<T> StoredAsString for Option<AsText<T>> {}

stored_as_string!(String, JavaString, FilePath, InternetAddress, Pattern, Uri);

/// `view` with a column of strings restricted to those that begin with `text`.
pub(super) fn starting_with<'t>(
    view: &IndexView<'t>,
    column: usize,
    text: &str,
) -> Result<IndexView<'t>> {
    let (lower, upper) = string::starting_with(text);
    Ok(view.encoded().with_bounds(column, Bound::Included(&lower), Bound::Excluded(&upper))?)
}
