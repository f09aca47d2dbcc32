//! Fields that hold another type than the database stores.

use crate::encoding::AsText;

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// A type that a field of a struct can have if the database stores a `D`:
/// `#[permazen(with = D)]`.
///
/// You do not implement this trait. Implement `TryFrom` both ways, or `From` where nothing can
/// fail. For a type of another crate, which you cannot implement `TryFrom` for, there is
/// [`AsText`].
///
/// `How` says which of the two it is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as `{D}`",
    label = "no conversion from and to `{D}`",
    note = "implement `Clone`, `TryFrom<{D}> for {Self}` and `TryFrom<{Self}> for {D}` (or `From`); a type that has \
            `Display` and `FromStr` can be stored `with = AsText<{Self}>`"
)]
pub trait StoredAs<D, How>: Sized {
    /// The stored form of this value.
    ///
    /// # Errors
    /// The error of the conversion.
    fn stored(&self) -> Result<D, BoxedError>;

    /// The stored form of this value.
    ///
    /// # Errors
    /// The error of the conversion.
    fn into_stored(self) -> Result<D, BoxedError>;

    /// The value for a stored form.
    ///
    /// # Errors
    /// The error of the conversion.
    fn from_stored(stored: D) -> Result<Self, BoxedError>;
}

/// The types convert into each other with `TryFrom`.
#[derive(Debug, Clone, Copy)]
pub enum ByTryFrom {}

/// The value is stored as its text, by [`AsText`].
#[derive(Debug, Clone, Copy)]
pub enum ByText {}

#[diagnostic::do_not_recommend]
impl<D, V> StoredAs<D, ByTryFrom> for V
where
    D: TryFrom<V, Error: Into<BoxedError>>,
    V: Clone + TryFrom<D, Error: Into<BoxedError>>,
{
    fn stored(&self) -> Result<D, BoxedError> {
        self.clone().into_stored()
    }

    fn into_stored(self) -> Result<D, BoxedError> {
        D::try_from(self).map_err(Into::into)
    }

    fn from_stored(stored: D) -> Result<Self, BoxedError> {
        V::try_from(stored).map_err(Into::into)
    }
}

impl<T: Clone> StoredAs<AsText<T>, ByText> for T {
    fn stored(&self) -> Result<AsText<T>, BoxedError> {
        Ok(AsText(self.clone()))
    }

    fn into_stored(self) -> Result<AsText<T>, BoxedError> {
        Ok(AsText(self))
    }

    fn from_stored(stored: AsText<T>) -> Result<Self, BoxedError> {
        Ok(stored.0)
    }
}

/// A type that can be stored as a `D`.
pub trait HeldFor<D, How> {
    /// The type itself.
    type Itself: StoredAs<D, How>;
}

impl<D, How, V: StoredAs<D, How>> HeldFor<D, How> for V {
    type Itself = V;
}
