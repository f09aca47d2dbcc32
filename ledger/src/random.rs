//! Random bytes of the operating system.

use rand::TryRng as _;
use rand::rngs::SysRng;

use crate::error::{LedgerError, Result};
use crate::ids::PageId;

impl PageId {
    /// A new random ID.
    ///
    /// # Errors
    /// If the operating system gives no random bytes.
    pub fn random() -> Result<Self> {
        Ok(PageId(random()?))
    }
}

/// `N` random bytes.
///
/// # Errors
/// If the operating system gives no random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    match SysRng.try_fill_bytes(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(error) => Err(LedgerError::Random(error.to_string())),
    }
}
