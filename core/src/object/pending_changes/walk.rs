//! Finding what writes touch, in the order of the keys.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;

use permazen_kv::key::next_key;
use permazen_kv::{KeySpan, KvRead, Writes};

use super::both::Both;
use super::change::NetChange;
use super::object::changes_of;
use crate::id::{ObjId, StorageId};
use crate::layout::{self, KeyKind, StorageIdKey};
use crate::object::{IndexShape, Result};
use crate::schema::SchemaBundle;

/// The changes that writes make, by object and field, to the snapshot that they are on. A write
/// that leaves the value as it was does not count.
///
/// This is an iterator: it finds one change after the other, in the order of the keys, and keeps
/// in memory what writes touch of one object. Index entries are left out, because they follow from
/// the objects.
///
/// Cost, whatever the size of the database:
///
/// * for each written pair of an object, one get; none if the object is new;
/// * for each removed range, one seek, and one step for each pair of objects in it;
/// * for each list that has changed, a scan of its old elements.
///
/// ```
/// use std::sync::Arc;
/// use permazen::encoding::{Value, ids};
/// use permazen::kv::memory::MemoryStore;
/// use permazen::kv::{Branch, KvDatabase};
/// use permazen::object::{Database, Migrate, TransactionConfig};
/// use permazen::__internal::object::{NetChange, NetChanges};
/// use permazen::schema::{Field, ObjectType, SchemaModel, Simple};
///
/// let name = Field::new("name", Simple::of(ids::STRING));
/// let model = SchemaModel::new().object_type(ObjectType::new("Person").field(name));
/// let config = TransactionConfig::new(model)?;
/// let store = Arc::new(MemoryStore::new());
/// let db = Database::new(store.clone());
/// let tx = db.begin(&config)?;
/// let ann = tx.create("Person")?;
/// tx.commit()?;
///
/// let tx = db.detached(Branch::open(&store)?, &config)?;
/// tx.set(ann, "name", &Value::from("Ann"), Migrate::No)?;
/// let schemas = tx.bundle();
/// let branch: Branch = tx.into_store()?;
///
/// let before = db.begin(&config)?;
/// before.read_pairs(|before| {
///     let mut changes = NetChanges::new(branch.writes(), before, &schemas);
///     let Some(NetChange::Object(object)) = changes.next().transpose()? else { panic!() };
///     assert_eq!(object.id, ann);
///     assert_eq!(&*object.fields[0].field().expect("it stays").name, "name");
///     assert!(changes.next().is_none());
///     Ok(())
/// })?;
/// # Ok::<(), permazen::object::Error>(())
/// ```
pub struct NetChanges<'a> {
    of: Both<'a>,
    /// Where to continue; `None` at the end.
    at: Option<Vec<u8>>,
    /// The changes found at the last place.
    found: VecDeque<NetChange>,
}

impl std::fmt::Debug for NetChanges<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NetChanges")
            .field("writes", &self.of.writes.len())
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl<'a> NetChanges<'a> {
    /// The changes that `writes` make to `before`. `schemas` are those that are recorded after the
    /// writes, as [`Transaction::bundle`](crate::object::Transaction::bundle) gives them.
    pub fn new(writes: &'a Writes, before: &'a dyn KvRead, schemas: &'a SchemaBundle) -> Self {
        let of = Both { writes, before, former: schemas, now: schemas, stop: None };
        NetChanges { of, at: Some(Vec::new()), found: VecDeque::new() }
    }

    /// Says which schemas are recorded in the snapshot, if the writes remove some of them. Without
    /// this, objects that were in a removed schema are shown as pairs.
    #[must_use]
    pub fn with_former_schemas(self, former: &'a SchemaBundle) -> Self {
        NetChanges { of: Both { former, ..self.of }, ..self }
    }

    /// If `stop` becomes true, there are no more changes: this ends after the object or pair that
    /// is being read, also while nothing is found that differs. The code that sets `stop` uses it
    /// to tell this from the end of the changes.
    #[must_use]
    pub fn stop_when(self, stop: &'a AtomicBool) -> Self {
        NetChanges { of: Both { stop: Some(stop), ..self.of }, ..self }
    }

    /// Goes to the next thing that the writes touch, and looks at it. Returns false at the end.
    fn look(&mut self) -> Result<bool> {
        // The place is taken, so that an error ends the walk.
        let Some(at) = self.at.take() else { return Ok(false) };
        if self.of.is_stopped() {
            return Ok(false);
        }
        let Some(key) = self.of.first_touched(KeySpan::new(&at, None))? else { return Ok(false) };
        // An index follows from the objects, so all of it is passed at once.
        self.at = match self.place(&key) {
            KeyOwner::Follows(end) => end,
            KeyOwner::Object(id) => {
                // All pairs of an object are looked at together, whichever of them was touched
                // first.
                self.found = changes_of(&self.of, id)?;
                layout::prefix_end(id.as_bytes())
            }
            KeyOwner::Pair => {
                let old = self.of.old_value(&key)?;
                self.found.extend(self.of.pair(&key, old.as_deref()).map(NetChange::Pair));
                Some(next_key(&key))
            }
        };
        Ok(true)
    }

    /// The owner of a key.
    fn place(&self, key: &[u8]) -> KeyOwner {
        match layout::parse_key(key) {
            KeyKind::ObjectSchema(..) => {
                KeyOwner::Follows(Some(layout::OBJECT_SCHEMA_INDEX_END.to_vec()))
            }
            // The storage ID is not in its shortest form. Objects and indexes are not looked for
            // there.
            KeyKind::Data(id, _) if !key.starts_with(&StorageIdKey::from(id)) => KeyOwner::Pair,
            // A key of a type that is shorter than an ID belongs to no object.
            KeyKind::Data(id, _) if self.is_type(id) => match key.first_chunk() {
                Some(bytes) => ObjId::from_bytes(*bytes).map_or(KeyOwner::Pair, KeyOwner::Object),
                None => KeyOwner::Pair,
            },
            KeyKind::Data(id, _) if self.is_index(id) => {
                KeyOwner::Follows(layout::prefix_end(&StorageIdKey::from(id)))
            }
            _ => KeyOwner::Pair,
        }
    }

    fn is_type(&self, id: StorageId) -> bool {
        // A type can be known only before the writes, or only after them.
        [self.of.former, self.of.now].iter().any(|bundle| bundle.has_type(id))
    }

    fn is_index(&self, id: StorageId) -> bool {
        [self.of.former, self.of.now].iter().any(|bundle| IndexShape::find(bundle, id).is_some())
    }
}

/// The owner of a key.
enum KeyOwner {
    /// An object.
    Object(ObjId),
    /// An index, or the object schema index: it follows from the objects. It ends at this key.
    Follows(Option<Vec<u8>>),
    /// None of these.
    Pair,
}

impl Iterator for NetChanges<'_> {
    type Item = Result<NetChange>;

    fn next(&mut self) -> Option<Result<NetChange>> {
        loop {
            if let Some(change) = self.found.pop_front() {
                return Some(Ok(change));
            }
            match self.look() {
                Ok(true) => {}
                Ok(false) => return None,
                // After an error there is no more.
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
