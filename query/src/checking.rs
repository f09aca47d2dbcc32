//! Checking a statement before it is run.

use crate::catalog::Catalog;
use crate::check::{Checked, Parameters, resolve};
use crate::mistake::Mistake;
use crate::plan::check_using;
use crate::syntax::Statement;

/// Looks up the names of a statement, gives its values their encodings, and sees whether an index
/// that it wants to use can be used. Reads nothing.
///
/// # Errors
/// The first mistake, with its position.
pub fn check(
    statement: &Statement,
    catalog: &Catalog,
    parameters: &Parameters,
) -> Result<Checked, Mistake> {
    let checked = resolve(statement, catalog, parameters)?;
    check_using(&checked)?;
    Ok(checked)
}
