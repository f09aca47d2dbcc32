//! The objects that belong together by named cascades.

use std::collections::{BTreeSet, VecDeque};

use crate::id::ObjId;
use crate::model::any_obj::AnyObj;
use crate::model::declare::ValueDecl;
use crate::model::error::Result;
use crate::model::obj::Obj;
use crate::model::object_type::Model;
use crate::model::path::{TypeNames, ValuePart};
use crate::model::tx::Tx;

/// The objects that an object leads to along named cascades.
///
/// A cascade is a name at references:
/// `#[permazen(cascade(forward = ["tree"], inverse = ["tree"]))]`. Forward, it leads from an object
/// to those it refers to through the field; inverse, from an object to those that refer to it.
/// Several names work together.
///
/// ```
/// # use permazen::{PermazenObject, Permazen, Ref, kv::memory::MemoryStore};
/// #[derive(PermazenObject, Default)]
/// struct Node {
///     #[permazen(cascade(forward = ["tree", "ancestors"], inverse = ["tree", "descendants"]))]
///     parent: Option<Ref<Node>>,
/// }
///
/// # let db = Permazen::builder(MemoryStore::new()).model::<Node>().build()?;
/// # db.write(|tx| {
/// let root = tx.create(Node { parent: None })?;
/// let child = tx.create(Node { parent: Some(root.to_ref()) })?;
/// let grandchild = tx.create(Node { parent: Some(child.to_ref()) })?;
/// assert_eq!(root.cascade("tree").limit(1).ids()?, [root.id(), child.id()]);
/// assert_eq!(grandchild.cascade("ancestors").ids()?.len(), 3);
/// # Ok(()) })
/// # ; Ok::<(), permazen::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a cascade does nothing until `ids` is called"]
pub struct Cascade<'t> {
    tx: &'t Tx,
    starts: Vec<ObjId>,
    names: Vec<String>,
    limit: Option<usize>,
}

impl<'t> Cascade<'t> {
    pub(in crate::model) fn new(tx: &'t Tx, starts: Vec<ObjId>, names: Vec<String>) -> Self {
        Cascade { tx, starts, names, limit: None }
    }

    /// Also follows this cascade.
    pub fn and(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// Takes at most this many steps from the start. With 0, only the start is found. By default
    /// there is no limit. Objects at the limit are found without a look at them, so they need not
    /// exist.
    pub fn limit(mut self, steps: usize) -> Self {
        self.limit = Some(steps);
        self
    }

    pub(super) fn limited(mut self, limit: Option<usize>) -> Self {
        self.limit = limit;
        self
    }

    /// The IDs of the objects, nearest first, each once. Cost for each object: that of reading the
    /// references with these cascades, and one seek for each field from which such a cascade leads
    /// back to it, with a step per referring object.
    ///
    /// Fields are read as their accessors read them, and referring objects found as queries find
    /// them. Objects without a registered model lead nowhere.
    ///
    /// # Errors
    /// If an object before the limit does not exist; the errors of
    /// [`Obj::referrers`](crate::Obj::referrers).
    pub fn ids(&self) -> Result<Vec<ObjId>> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        let mut waiting = VecDeque::new();
        for start in &self.starts {
            // A start may be named twice, and each object is found once.
            if seen.insert(*start) {
                waiting.push_back((*start, 0));
            }
        }
        // The steps are the same for each object, so they are found out once.
        let steps = self.steps()?;
        // A queue finds the nearest objects first, and needs no recursion.
        while let Some((id, distance)) = waiting.pop_front() {
            found.push(id);
            // At the limit the object is not looked at, so it need not exist.
            if self.limit.is_some_and(|limit| distance >= limit) {
                continue;
            }
            for next in self.next_to(&steps, id)? {
                if seen.insert(next) {
                    waiting.push_back((next, distance + 1));
                }
            }
        }
        Ok(found)
    }

    /// The values of all models that the cascades follow.
    fn steps(&self) -> Result<Steps<'_>> {
        let parts = || -> Result<_> {
            let parts = self.tx.models()?.iter().flat_map(ValuePart::all);
            Ok(parts.filter(|part| part.targets().is_some()))
        };
        let forward = parts()?.filter(|part| self.follows(*part, |decl| decl.forward_cascades));
        let back = parts()?.filter(|part| self.follows(*part, |decl| decl.inverse_cascades));
        Ok(Steps { forward: forward.collect(), back: back.collect() })
    }

    /// The objects to which one step leads, by ascending ID.
    fn next_to(&self, steps: &Steps<'_>, id: ObjId) -> Result<BTreeSet<ObjId>> {
        let tx = self.tx;
        // An object that does not exist is an error, also if it has no fields to read.
        tx.core.object_type(id)?;
        let mut next = BTreeSet::new();
        // An object without a model has no cascades.
        let Some(binding) = tx.models()?.of_type(id.storage_id()) else { return Ok(next) };
        for part in steps.forward.iter().filter(|part| part.is_of(binding)) {
            part.each_reference(tx, id, &mut |target| {
                next.insert(target);
            })?;
        }
        let refers =
            |types: TypeNames| types.is_none_or(|names| names.contains(&binding.info.name));
        // Only a field that may refer to objects of this type can lead back to one.
        for part in steps.back.iter().filter(|part| part.targets().is_some_and(refers)) {
            for referring in part.referrers(tx, id)?.iter() {
                next.insert(referring?);
            }
        }
        Ok(next)
    }

    /// Whether the model names one of the cascades at a field.
    fn follows(
        &self,
        part: ValuePart<'_>,
        cascades: impl FnOnce(&ValueDecl) -> &'static [&'static str],
    ) -> bool {
        let cascades = part.decl().map_or(&[][..], cascades);
        self.names.iter().any(|name| cascades.contains(&name.as_str()))
    }
}

impl<'t, M: Model> Obj<'t, M> {
    /// The objects to which a named cascade leads from this one. See [`Cascade`].
    pub fn cascade(&self, name: impl Into<String>) -> Cascade<'t> {
        Cascade::new(self.tx(), vec![self.id()], vec![name.into()])
    }
}

impl<'t> AnyObj<'t> {
    /// The objects to which a named cascade leads from this one. See [`Cascade`].
    pub fn cascade(&self, name: impl Into<String>) -> Cascade<'t> {
        Cascade::new(self.tx(), vec![self.id()], vec![name.into()])
    }
}

/// The references that one step of a cascade can follow.
struct Steps<'m> {
    /// References from an object.
    forward: Vec<ValuePart<'m>>,
    /// References to an object.
    back: Vec<ValuePart<'m>>,
}
