//! Storage IDs and object IDs.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use rand::rngs::{StdRng, SysRng};
use rand::{Rng, SeedableRng};

use crate::bytes::{EncodingError, Reader, Result, uint};

/// The number that stands for a schema item in keys: 1 to 2³¹−1
/// (docs/src/format.md#storage-id-table).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StorageId(NonZeroU32);

impl StorageId {
    /// The largest storage ID.
    pub const MAX: u32 = uint::MAX;

    /// The storage ID with this number; `None` for 0 and for numbers above [`StorageId::MAX`].
    pub fn new(number: u32) -> Option<Self> {
        if number > Self::MAX { None } else { NonZeroU32::new(number).map(StorageId) }
    }

    /// The number.
    #[inline]
    pub fn get(self) -> u32 {
        self.0.get()
    }

    /// Appends the ID in the form it has in keys: one to five bytes.
    pub fn write_to(self, out: &mut Vec<u8>) {
        uint::write(self.get(), out);
    }

    /// Reads an ID from a key.
    ///
    /// # Errors
    /// [`EncodingError`] if the bytes are not an unsigned number, or the number is 0.
    pub fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        let number = uint::read(reader)?;
        Self::new(number)
            .ok_or_else(|| EncodingError::Invalid(format!("invalid storage id {number}")))
    }

    /// The bytes of the ID in keys. Every key of the item starts with them.
    pub fn prefix(self) -> Vec<u8> {
        let mut prefix = Vec::with_capacity(5);
        self.write_to(&mut prefix);
        prefix
    }

    /// The range of keys that start with this ID: the first bound is included, the second is not.
    pub fn key_range(self) -> (Vec<u8>, Vec<u8>) {
        let min = self.prefix();
        let mut max = min.clone();
        // The first byte is below ff, so the loop ends before the vector is empty.
        while max.last() == Some(&0xff) {
            max.pop();
        }
        if let Some(last) = max.last_mut() {
            *last += 1;
        }
        (min, max)
    }
}

impl fmt::Display for StorageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for StorageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StorageId({})", self.0)
    }
}

impl TryFrom<u32> for StorageId {
    type Error = EncodingError;

    fn try_from(number: u32) -> Result<Self> {
        Self::new(number)
            .ok_or_else(|| EncodingError::Invalid(format!("invalid storage id {number}")))
    }
}

/// The identity of an object: eight bytes, the storage ID of its type followed by random bytes
/// (docs/src/format.md#object-ids).
///
/// IDs sort by their bytes, so the objects of a type are consecutive. An ID is displayed and parsed
/// as 16 hex digits.
///
/// ```
/// use permazen::{ObjId, StorageId};
/// let id: ObjId = "0a00000000000001".parse()?;
/// assert_eq!(id.storage_id().get(), 10);
/// assert!(ObjId::min(id.storage_id()) < id && id < ObjId::max(id.storage_id()));
/// assert_eq!(id.to_string(), "0a00000000000001");
/// # Ok::<(), permazen::encoding::EncodingError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjId([u8; 8]);

impl ObjId {
    /// Length of an object ID in bytes.
    pub const LEN: usize = 8;

    /// The object ID with these bytes.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`] if they do not start with a valid storage ID.
    #[inline]
    pub fn from_bytes(bytes: [u8; 8]) -> Result<Self> {
        // Comparing the number instead of the bytes keeps them in one register.
        let number = u64::from_be_bytes(bytes);
        if Self::is_number(number) {
            return Ok(Self::of_number(number));
        }
        Self::from_longer(bytes)
    }

    /// Whether this number is an ID whose storage ID takes one byte. Most IDs are.
    #[inline]
    pub(crate) const fn is_number(number: u64) -> bool {
        matches!(number >> 56, 1..=0xfa)
    }

    /// The ID whose bytes are this number. The number must be a valid ID.
    #[inline]
    pub(crate) const fn of_number(number: u64) -> Self {
        ObjId(number.to_be_bytes())
    }

    #[cold]
    fn from_longer(bytes: [u8; 8]) -> Result<Self> {
        match StorageId::read_from(&mut Reader::new(&bytes)) {
            Ok(_) => Ok(ObjId(bytes)),
            Err(_) => Err(EncodingError::Invalid(format!(
                "invalid object id {:016x}",
                u64::from_be_bytes(bytes)
            ))),
        }
    }

    /// Reads the eight bytes of an object ID.
    ///
    /// # Errors
    /// [`EncodingError::Truncated`] if fewer are left; [`EncodingError::Invalid`] if they do not
    /// start with a valid storage ID.
    #[inline]
    pub fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        Self::from_bytes(reader.array()?)
    }

    /// The object ID that takes up all of `bytes`.
    ///
    /// # Errors
    /// [`EncodingError::Truncated`] if there are fewer than eight bytes; [`EncodingError::Invalid`]
    /// if there are more, or if they do not start with a valid storage ID.
    #[inline]
    pub fn from_slice(bytes: &[u8]) -> Result<Self> {
        if let Ok(bytes) = <[u8; 8]>::try_from(bytes) {
            return Self::from_bytes(bytes);
        }
        let mut reader = Reader::new(bytes);
        let id = Self::read_from(&mut reader)?;
        reader.finish()?;
        Ok(id)
    }

    /// The bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }

    /// The bytes.
    #[inline]
    pub fn to_bytes(self) -> [u8; 8] {
        self.0
    }

    /// The storage ID of the object's type.
    #[inline]
    pub fn storage_id(self) -> StorageId {
        if let first @ 1..=0xfa = self.0[0]
            && let Some(number) = NonZeroU32::new(u32::from(first))
        {
            return StorageId(number);
        }
        self.longer_storage_id()
    }

    fn longer_storage_id(self) -> StorageId {
        // The bytes were checked when the ID was made, so the fallback is never used.
        StorageId::read_from(&mut Reader::new(&self.0)).unwrap_or(StorageId(NonZeroU32::MIN))
    }

    /// Whether the storage ID in this object ID takes no more bytes than it needs.
    ///
    /// Stored bytes may hold other IDs. These can be read and shown, but they lie outside the range
    /// of their type, and no object can be created with one.
    ///
    /// ```
    /// use permazen::ObjId;
    /// let (id, longer): (ObjId, ObjId) = ("fb05000000000001".parse()?, "fc00050000000001".parse()?);
    /// assert!(id.storage_id() == longer.storage_id() && id.is_shortest() && !longer.is_shortest());
    /// # Ok::<(), permazen::encoding::EncodingError>(())
    /// ```
    pub fn is_shortest(self) -> bool {
        let storage_id = self.storage_id();
        (Self::min(storage_id)..=Self::max(storage_id)).contains(&self)
    }

    /// The smallest object ID of a type.
    pub fn min(storage_id: StorageId) -> Self {
        Self::filled(storage_id, 0x00)
    }

    /// The largest object ID of a type.
    pub fn max(storage_id: StorageId) -> Self {
        Self::filled(storage_id, 0xff)
    }

    /// The ID of this type that ends with a number: with as many of its low bits as have room after
    /// the storage ID.
    pub(crate) fn ending(storage_id: StorageId, number: u64) -> Self {
        let mut bytes = number.to_be_bytes();
        let prefix = storage_id.prefix();
        bytes[..prefix.len()].copy_from_slice(&prefix);
        ObjId(bytes)
    }

    fn filled(storage_id: StorageId, fill: u8) -> Self {
        let mut bytes = [fill; 8];
        let prefix = storage_id.prefix();
        bytes[..prefix.len()].copy_from_slice(&prefix);
        ObjId(bytes)
    }
}

impl fmt::Display for ObjId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

impl fmt::Debug for ObjId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjId({self})")
    }
}

impl FromStr for ObjId {
    type Err = EncodingError;

    fn from_str(text: &str) -> Result<Self> {
        let number = match text.len() {
            16 if text.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                u64::from_str_radix(text, 16).ok()
            }
            _ => None,
        };
        number
            .and_then(|number| Self::from_bytes(number.to_be_bytes()).ok())
            .ok_or_else(|| EncodingError::Invalid(format!("invalid object id {text:?}: it has 16 hex digits, of which the first are those of a storage id")))
    }
}

/// Makes IDs for new objects. An ID starts with the storage ID of the type. The rest comes from a
/// cryptographically secure generator, which the operating system seeds; or, if IDs are ordered, it
/// is the time and some random bits.
///
/// An ID may already be in use, though that is unlikely. Code that creates an object must check.
#[derive(Debug)]
pub struct ObjIdGenerator {
    random: StdRng,
    /// The number in the last ID; `None` if IDs are not ordered.
    last: Option<u64>,
}

/// How many bits of an ordered ID are random. The time in milliseconds comes before them.
const RANDOM_BITS: u32 = 14;
/// How many bits of an ordered ID follow the storage ID, which takes one byte.
const ORDERED_BITS: u32 = 56;

impl ObjIdGenerator {
    /// A generator seeded by the operating system.
    ///
    /// # Errors
    /// [`std::io::Error`] if the operating system gives no random bytes.
    pub fn new() -> std::io::Result<Self> {
        let random = StdRng::try_from_rng(&mut SysRng).map_err(std::io::Error::other)?;
        Ok(ObjIdGenerator { random, last: None })
    }

    /// A generator of ascending IDs: each new object of a type sorts after those created before it.
    ///
    /// New objects then lie next to each other in the store, in the order of their creation. A
    /// large store reads and writes fewer pages. The price: an ID tells when its object was
    /// created, and IDs can be guessed.
    ///
    /// The ID is the time in milliseconds and 14 random bits. Several programs may create objects
    /// at the same time; IDs that they make in the same millisecond are in no particular order.
    /// Only types with a storage ID up to 250 have room for the time: other types get random IDs.
    /// The order holds until the year 2109.
    ///
    /// ```
    /// use permazen::{ObjIdGenerator, StorageId};
    /// let mut ids = ObjIdGenerator::ordered()?;
    /// let person = StorageId::new(10).expect("above 0");
    /// let (first, second) = (ids.next_id(person), ids.next_id(person));
    /// assert!(first < second);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`std::io::Error`] if the operating system gives no random bytes.
    pub fn ordered() -> std::io::Result<Self> {
        Ok(ObjIdGenerator { last: Some(0), ..ObjIdGenerator::new()? })
    }

    /// A generator for tests: the same seed gives the same IDs.
    pub fn from_seed(seed: u64) -> Self {
        ObjIdGenerator { random: StdRng::seed_from_u64(seed), last: None }
    }

    /// The next ID for an object of this type.
    pub fn next_id(&mut self, storage_id: StorageId) -> ObjId {
        let used = uint::len(storage_id.get());
        match &mut self.last {
            Some(last) if used == 1 => {
                // The order must hold even if the clock goes back or does not advance.
                *last = now(&mut self.random).max(*last + 1) & ((1 << ORDERED_BITS) - 1);
                ObjId::ending(storage_id, *last)
            }
            _ => {
                let mut bytes = ObjId::min(storage_id).0;
                self.random.fill_bytes(&mut bytes[used..]);
                ObjId(bytes)
            }
        }
    }
}

/// The time in milliseconds, and random bits.
fn now(random: &mut StdRng) -> u64 {
    // If the clock is before 1970, the time counts as 0: IDs are then not ordered between programs.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the lower bits count, which last for thousands of years"
    )]
    let millis = since.as_millis() as u64 & ((1 << (ORDERED_BITS - RANDOM_BITS)) - 1);
    millis << RANDOM_BITS | random.next_u64() >> (u64::BITS - RANDOM_BITS)
}
