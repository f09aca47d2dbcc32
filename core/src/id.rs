//! Storage ids and object ids.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use rand::rngs::{StdRng, SysRng};
use rand::{Rng, SeedableRng};

use crate::bytes::{EncodingError, Reader, Result, uint};

/// The number a schema item has in keys: 1 to 2³¹−1 (docs/src/format.md#storage-id-table).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StorageId(NonZeroU32);

impl StorageId {
    /// The largest storage id.
    pub const MAX: u32 = uint::MAX;

    /// A storage id of this number; `None` for 0 and for numbers above [`StorageId::MAX`].
    pub fn new(number: u32) -> Option<Self> {
        if number > Self::MAX { None } else { NonZeroU32::new(number).map(StorageId) }
    }

    /// The number.
    #[inline]
    pub fn get(self) -> u32 {
        self.0.get()
    }

    /// Appends the id as it stands in keys: one to five bytes.
    pub fn write_to(self, out: &mut Vec<u8>) {
        uint::write(self.get(), out);
    }

    /// Reads an id from a key.
    ///
    /// # Errors
    /// [`EncodingError`] if the bytes are no unsigned number or the number is 0.
    pub fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        let number = uint::read(reader)?;
        Self::new(number)
            .ok_or_else(|| EncodingError::Invalid(format!("invalid storage id {number}")))
    }

    /// The bytes of the id in keys, which every key of the item starts with.
    pub fn prefix(self) -> Vec<u8> {
        let mut prefix = Vec::with_capacity(5);
        self.write_to(&mut prefix);
        prefix
    }

    /// The keys that start with this id: from the first bound, up to but without the second.
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

/// Identity of an object: eight bytes, the storage id of its type followed by random bytes
/// (docs/src/format.md#object-ids).
///
/// Sorts by bytes, so objects of one type are consecutive. Displayed and parsed as 16 hex digits.
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
    /// Bytes of an object id.
    pub const LEN: usize = 8;

    /// An object id of these bytes.
    ///
    /// # Errors
    /// [`EncodingError::Invalid`] if they do not start with a valid storage id.
    #[inline]
    pub fn from_bytes(bytes: [u8; 8]) -> Result<Self> {
        // Looking at the number keeps the bytes in one register.
        let number = u64::from_be_bytes(bytes);
        if Self::is_number(number) {
            return Ok(Self::of_number(number));
        }
        Self::from_longer(bytes)
    }

    /// Whether this number is that of an id whose storage id takes one byte, as most do.
    #[inline]
    pub(crate) const fn is_number(number: u64) -> bool {
        matches!(number >> 56, 1..=0xfa)
    }

    /// The id whose bytes are this number, which must be one of an id.
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

    /// Reads the eight bytes of an object id.
    ///
    /// # Errors
    /// [`EncodingError::Truncated`] if there are fewer, [`EncodingError::Invalid`] as [`ObjId::from_bytes`].
    #[inline]
    pub fn read_from(reader: &mut Reader<'_>) -> Result<Self> {
        Self::from_bytes(reader.array()?)
    }

    /// An object id that is all of `bytes`.
    ///
    /// # Errors
    /// As [`ObjId::read_from`]; [`EncodingError::Invalid`] for bytes left over.
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
    pub fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }

    /// The bytes.
    pub fn to_bytes(self) -> [u8; 8] {
        self.0
    }

    /// Storage id of the object's type.
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
        // Checked when the id was made; the fallback is never taken.
        StorageId::read_from(&mut Reader::new(&self.0)).unwrap_or(StorageId(NonZeroU32::MIN))
    }

    /// Whether the storage id in this id takes no more bytes than it needs.
    ///
    /// Stored bytes may hold other ids, so they can be read and shown; they lie outside of the range of
    /// their type, and no object can be created with one.
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

    /// The smallest object id of a type.
    pub fn min(storage_id: StorageId) -> Self {
        Self::filled(storage_id, 0x00)
    }

    /// The largest object id of a type.
    pub fn max(storage_id: StorageId) -> Self {
        Self::filled(storage_id, 0xff)
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

/// Makes ids for new objects: the storage id of the type, then bytes from a cryptographically secure generator, which
/// is seeded by the operating system; or, if ordered, the time and some random bits.
///
/// Ids are unlikely to be taken, not certainly free: who creates an object checks that its id is unused.
#[derive(Debug)]
pub struct ObjIdGenerator {
    random: StdRng,
    /// The number in the last id of an ordered generator.
    last: Option<u64>,
}

/// How many bits of an ordered id are random; the time in milliseconds stands before them.
const RANDOM_BITS: u32 = 14;
/// How many bits of an ordered id follow the storage id, which takes one byte.
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

    /// A generator of ascending ids: each object of a type comes behind those created before it.
    ///
    /// New objects then lie side by side in the store and are found in the order of their creation, which spares a
    /// large store reading and writing pages here and there. The price is that ids tell when objects were created, and
    /// can be guessed. Ids are the time in milliseconds and 14 random bits; several programs can create objects at the
    /// same time, whose ids then are in no particular order within the millisecond. Only ids of types with a storage id
    /// up to 250 have room for that: all others are random. The order holds until the year 2109.
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

    /// A generator that gives the same ids for the same seed, for tests.
    pub fn from_seed(seed: u64) -> Self {
        ObjIdGenerator { random: StdRng::seed_from_u64(seed), last: None }
    }

    /// The next id of an object of a type.
    pub fn next_id(&mut self, storage_id: StorageId) -> ObjId {
        let mut bytes = ObjId::min(storage_id).0;
        let used = uint::len(storage_id.get());
        match &mut self.last {
            Some(last) if used == 1 => {
                // A clock that goes back, or stands still for long, does not stop the order.
                *last = now(&mut self.random).max(*last + 1) & ((1 << ORDERED_BITS) - 1);
                bytes[used..].copy_from_slice(&last.to_be_bytes()[used..]);
            }
            _ => self.random.fill_bytes(&mut bytes[used..]),
        }
        ObjId(bytes)
    }
}

/// The time in milliseconds, and random bits.
fn now(random: &mut StdRng) -> u64 {
    // A clock before 1970 gives no order with other programs, but ids all the same.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = since.as_millis() as u64 & ((1 << (ORDERED_BITS - RANDOM_BITS)) - 1);
    millis << RANDOM_BITS | random.next_u64() >> (u64::BITS - RANDOM_BITS)
}
