//! Typed index queries: of one field, and of composite indexes column by column.
//!
//! `open_as` has the trait of everything that has an index, and says how an index is opened.
//! `query` and `composite` are the two forms of queries, and `rows` has the code that they share.
//! `find` looks up one object, `starts_with` restricts strings, and the token of a `page` says
//! where a query continues.
//!
//! Objects that are stored with other models may have no entries in an index. `coverage` finds out
//! from the schemas where their entries are (`elsewhere`), and `partial` refuses such a query
//! (`lacking` has the words); if the program asks, the query finds only the indexed objects, or is
//! completed with the others. A transaction remembers the indexes that it has opened
//! (`known_views`, for `opened`), and which types have objects in other schemas (`seen_objects`).

mod composite;
mod coverage;
mod elsewhere;
mod find;
mod known_views;
mod lacking;
mod open_as;
mod opened;
mod page;
mod partial;
mod query;
mod referrers;
mod rows;
mod seen_objects;
mod starts_with;

pub use composite::{CompositeIndex, Tuple};
pub(super) use elsewhere::{Other, Wanted};
pub use find::FindBy;
pub(super) use known_views::KnownViews;
pub(super) use lacking::{described, lacking};
pub use open_as::{IndexOn, WhenPartial};
pub(crate) use open_as::{OnPartial, OpenAs};
pub use page::{Page, PageToken, PageTokenError};
pub(super) use partial::{Unreadable, complete_for_check, complete_for_rules, lacks_entries};
pub use query::Index;
pub(super) use referrers::referrers;
pub use rows::{ByKey, ByPosition, ByValue, Columns};
pub(super) use seen_objects::SeenObjects;
pub use starts_with::StoredAsString;
