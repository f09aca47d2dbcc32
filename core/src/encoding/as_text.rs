//! Types of other crates that are stored as their text.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

use super::{Encodable, Encoding, EncodingError, EncodingId, Reader, Result, Value, string};

/// A value that is stored as its text: the encoding is that of `String`, and so is the order.
///
/// With it, a field can have a type of another crate that has `Display` and `FromStr`, for which
/// your program cannot implement [`Encodable`]. `FromStr` must accept what `Display` prints and
/// give an equal value, and equal values must have equal texts.
///
/// ```
/// use std::collections::BTreeSet;
/// use std::net::SocketAddr;
///
/// use permazen::encoding::AsText;
/// use permazen::{Permazen, PermazenObject, kv::memory::MemoryStore};
///
/// #[derive(PermazenObject)]
/// struct Server {
///     // The struct has the type itself,
///     #[permazen(with = AsText<SocketAddr>, indexed)]
///     address: SocketAddr,
///     // also inside an `Option`.
///     #[permazen(with = AsText<SocketAddr>)]
///     public: Option<SocketAddr>,
///     // Elements of collections are an `AsText`.
///     peers: BTreeSet<AsText<SocketAddr>>,
/// }
///
/// let db = Permazen::builder(MemoryStore::new()).model::<Server>().build()?;
/// let address: SocketAddr = "10.0.0.1:80".parse().expect("an address");
/// db.write(|tx| {
///     let server = tx.create(Server { address, public: None, peers: BTreeSet::new() })?;
///     server.set_public(Some(address))?;
///     server.peers()?.add(address)?;
///     assert_eq!(server.address()?, address);
///     assert_eq!(tx.find(Server::ADDRESS, address)?, Some(server));
///     assert_eq!(server.any().get("address")?, "10.0.0.1:80".into());
///     Ok(())
/// })?;
/// # Ok::<(), permazen::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AsText<T>(pub T);

impl<T> Deref for AsText<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> From<T> for AsText<T> {
    fn from(value: T) -> Self {
        AsText(value)
    }
}

impl<T: fmt::Display> fmt::Display for AsText<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: FromStr> FromStr for AsText<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> std::result::Result<Self, T::Err> {
        text.parse().map(AsText)
    }
}

impl<T> Encodable for AsText<T>
where
    T: Clone + fmt::Debug + fmt::Display + FromStr<Err: fmt::Display> + Send + Sync + 'static,
{
    const PREFIX_00: bool = String::PREFIX_00;
    const PREFIX_FF: bool = String::PREFIX_FF;
    // The texts sort by characters, which need not be the order of the type.
    const SORTS_NATURALLY: bool = false;

    fn encoding_id() -> EncodingId {
        <String as Encodable>::encoding_id()
    }

    fn write_to(&self, out: &mut Vec<u8>) -> Result<()> {
        string::write(&self.0.to_string(), out);
        Ok(())
    }

    fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        parse(&String::read_from(reader)?)
    }

    fn skip_over(reader: &mut Reader<'_>) -> Result<()> {
        String::skip_over(reader)
    }

    fn to_text(&self) -> String {
        self.0.to_string().to_text()
    }

    fn from_text(text: &str) -> Result<Self> {
        parse(&String::from_text(text)?)
    }

    fn into_value(self) -> Value {
        self.0.to_string().into_value()
    }

    fn borrow_value(value: &Value) -> Option<Cow<'_, Self>> {
        let text = String::borrow_value(value)?;
        text.parse().ok().map(|value| Cow::Owned(AsText(value)))
    }

    fn nullable_encoding() -> Arc<dyn Encoding> {
        String::nullable_encoding()
    }
}

/// The value with this text.
fn parse<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<AsText<T>> {
    text.parse().map(AsText).map_err(|error| {
        let of = std::any::type_name::<T>();
        EncodingError::Invalid(format!("the stored text {text:?} is no {of}: {error}"))
    })
}
