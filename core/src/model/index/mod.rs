//! Typed index queries: of one field, and of composite indexes column by column.
//!
//! `find` looks up one object, `starts_with` restricts strings, and `page` reads a query in parts.
//!
//! Objects that are stored with other models may have no entries in an index. `coverage` finds out
//! from the schemas which ones, and `partial` refuses such a query; if the program
//! asks, it lets it find only what is indexed, or completes it with them. A transaction remembers in
//! `known_views` what it has opened.

mod composite;
mod coverage;
mod find;
mod known_views;
mod page;
mod partial;
mod query;
mod referrers;
mod starts_with;

pub use composite::{CompositeIndex, Tuple};
pub(super) use coverage::{Other, Wanted, others};
pub use find::FindBy;
pub(super) use known_views::KnownViews;
pub use page::{Page, PageToken, PageTokenError};
pub use partial::WhenPartial;
pub(crate) use partial::{OnPartial, OpenAs};
pub(super) use partial::{
    SeenObjects, Unreadable, complete_for_check, complete_for_rules, described,
    described_for_unique, lacks_entries,
};
pub use query::{ByKey, ByPosition, ByValue, Columns, Index, IndexOn};
pub(super) use referrers::referrers;
pub use starts_with::StoredAsString;
