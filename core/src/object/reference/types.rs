//! Which types of objects can go when an object is deleted.

use std::collections::{HashMap, HashSet};

use crate::id::StorageId;
use crate::schema::{DeleteAction, ItemKind, ResolvedPart, SchemaBundle};

/// Which types of objects can go with an object of each type, by the reference fields of all
/// recorded schemas.
#[derive(Debug, Default)]
pub(super) struct GoingTypes {
    /// The types whose objects can go with an object of any type.
    with_any: Vec<StorageId>,
    /// The types whose objects can go with an object of this type.
    with: HashMap<StorageId, Vec<StorageId>>,
    /// The types whose objects can take objects of any type with them.
    take_any: HashSet<StorageId>,
}

impl GoingTypes {
    /// Cost: one step for each reference field of each type and schema, and for each type that it
    /// allows.
    pub(super) fn of(bundle: &SchemaBundle) -> GoingTypes {
        let mut types = GoingTypes::default();
        let items = bundle.items().iter().filter(|item| item.kind() == ItemKind::ReferenceField);
        for occurrence in items.flat_map(|item| &item.occurrences) {
            let ResolvedPart::Field(field) = &occurrence.part else { continue };
            let Some(reference) = field.reference() else { continue };
            let holder = occurrence.object_type.storage_id;
            let allowed = reference.allowed.as_deref();
            if reference.inverse_delete == DeleteAction::Delete {
                match allowed {
                    None => types.with_any.push(holder),
                    Some(allowed) => {
                        for target in allowed {
                            types.with.entry(*target).or_default().push(holder);
                        }
                    }
                }
            }
            if reference.forward_delete {
                match allowed {
                    None => drop(types.take_any.insert(holder)),
                    Some(allowed) => {
                        types.with.entry(holder).or_default().extend(allowed);
                    }
                }
            }
        }
        types
    }

    /// The types of the objects that can go with an object of this type.
    pub(super) fn going_with(&self, object_type: StorageId) -> Going {
        let mut going = HashSet::new();
        let mut left = vec![object_type];
        // The types that go with any object need to be added only once.
        let mut any = Some(&self.with_any);
        while let Some(next) = left.pop() {
            // A type that takes all others with it makes the rest of the search needless.
            if self.take_any.contains(&next) {
                return Going::Any;
            }
            let with = self.with.get(&next).into_iter().chain(any.take());
            left.extend(with.flatten().copied().filter(|with| going.insert(*with)));
        }
        Going::Of(going)
    }
}

/// Types of objects.
pub(super) enum Going {
    Any,
    Of(HashSet<StorageId>),
}

impl Going {
    pub(super) fn contains(&self, object_type: StorageId) -> bool {
        match self {
            Going::Any => true,
            Going::Of(types) => types.contains(&object_type),
        }
    }
}
