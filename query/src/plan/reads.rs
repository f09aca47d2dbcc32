//! The parts of an object that are read to evaluate paths.

use permazen::StorageId;

use crate::check::{Access, CheckedCondition, CheckedPath, Read};

/// The parts of an object that are read for some paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    /// Whether its version must be known.
    pub(crate) version: bool,
    /// How often a field is read.
    pub(crate) fields: usize,
    /// Whether any of these is a collection of which more than one pair is read.
    pub(crate) collections: bool,
    /// Whether all of it is read.
    pub(crate) whole: bool,
    /// Whether other objects are read, to which references lead.
    pub(crate) follows: bool,
}

/// Up to this many fields, each is read by itself. If more of an object is needed, all pairs up to
/// the last one are read.
const ONE_BY_ONE: usize = 2;

impl Reads {
    /// Whether nothing of the object is read.
    pub(crate) fn is_nothing(&self) -> bool {
        !self.version && !self.reads_fields()
    }

    /// Whether any field is read.
    pub(crate) fn reads_fields(&self) -> bool {
        self.whole || self.fields > 0
    }

    /// Whether the pairs are read one after the other, and not field by field.
    pub(crate) fn in_one_go(&self) -> bool {
        self.whole || self.fields > ONE_BY_ONE
    }

    /// Adds what a path reads. `covered` are simple fields whose values are known.
    fn add(&mut self, path: &CheckedPath, covered: &[StorageId]) {
        // A path that ends at `#schema` or `#type` of a target reads the target too.
        self.follows |= path.hops.len() > 1 || path.special.is_some() && !path.hops.is_empty();
        let special = path.special.filter(|_| path.hops.is_empty());
        self.version |= special == Some(crate::syntax::Special::Schema);
        let Some(hop) = path.hops.first() else { return };
        // If all versions read the field alike, the version is not asked for.
        self.version |= path.always.is_none();
        let is_known = |access: &Access| {
            access.read == Read::Simple && covered.contains(&access.field.storage_id)
        };
        // A field that a version lacks has its default, for which no pair is read.
        let stored = hop.iter().map(|(_, access)| access).filter(|access| access.stored);
        let read: Vec<_> = stored.filter(|access| !is_known(access)).collect();
        self.fields += usize::from(!read.is_empty());
        self.collections |=
            read.iter().any(|access| access.read.is_many() || access.read == Read::Whole);
    }

    fn add_condition(&mut self, condition: &CheckedCondition, covered: &[StorageId]) {
        match condition {
            CheckedCondition::And(parts) | CheckedCondition::Or(parts) => {
                parts.iter().for_each(|part| self.add_condition(part, covered));
            }
            CheckedCondition::Not(inner) => self.add_condition(inner, covered),
            CheckedCondition::Test(test) => self.add(&test.path, covered),
        }
    }
}

/// The parts of an object that are read for a condition and some paths. `covered` are simple fields
/// whose values are known.
pub(crate) fn reads<'p>(
    condition: Option<&CheckedCondition>,
    paths: impl IntoIterator<Item = &'p CheckedPath>,
    covered: &[StorageId],
) -> Reads {
    let mut reads = Reads::default();
    if let Some(condition) = condition {
        reads.add_condition(condition, covered);
    }
    paths.into_iter().for_each(|path| reads.add(path, covered));
    reads
}
