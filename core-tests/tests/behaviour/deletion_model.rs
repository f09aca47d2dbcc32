//! The rule of deletions, said again in the simplest way, on objects that are numbers.

use std::collections::{BTreeMap, BTreeSet};

/// An object, or null.
pub(crate) type Target = Option<usize>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Ignore,
    Exception,
    Nullify,
    Remove,
    Delete,
}

/// The rule of a reference for the deletion of its target, and whether the target goes with its
/// holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) action: Action,
    pub(crate) forward: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Simple(Options),
    Set(Options),
    List(Options),
    Map(Options, Options),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    Simple(Target),
    Set(BTreeSet<Target>),
    List(Vec<Target>),
    Map(BTreeMap<Target, Target>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    /// Its type, as an index into [`Model::types`].
    pub(crate) of: usize,
    pub(crate) fields: Vec<Content>,
}

#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub(crate) types: Vec<Vec<Kind>>,
    /// `None` is a deleted object.
    pub(crate) objects: Vec<Option<Object>>,
}

/// A reference that refuses a deletion: target, holder, and the field and whether it is the value
/// of a map.
pub(crate) type Refusal = (usize, usize, (usize, bool));

/// The outcome of a deletion.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// These objects are left, and this is their content.
    Deleted(Vec<Option<Object>>),
    /// It is refused for these references.
    Refused(BTreeSet<Refusal>),
}

impl Model {
    /// All references: holder, field, whether it is the value of a map, options, target.
    fn references(&self) -> Vec<(usize, usize, bool, Options, usize)> {
        let mut all = Vec::new();
        for (holder, object) in self.objects.iter().enumerate() {
            let Some(object) = object else { continue };
            for (at, content) in object.fields.iter().enumerate() {
                let mut add = |is_value, options, target: &Target| {
                    all.extend(target.map(|target| (holder, at, is_value, options, target)));
                };
                match (self.types[object.of][at], content) {
                    (Kind::Simple(options), Content::Simple(target)) => add(false, options, target),
                    (Kind::Set(options), Content::Set(set)) => {
                        set.iter().for_each(|target| add(false, options, target));
                    }
                    (Kind::List(options), Content::List(list)) => {
                        list.iter().for_each(|target| add(false, options, target));
                    }
                    (Kind::Map(key, value), Content::Map(map)) => {
                        map.keys().for_each(|target| add(false, key, target));
                        map.values().for_each(|target| add(true, value, target));
                    }
                    _ => unreachable!(),
                }
            }
        }
        all
    }

    /// Everything that goes with the roots.
    fn going(&self, roots: &[usize]) -> BTreeSet<usize> {
        let exists = |n: &usize| self.objects[*n].is_some();
        let mut going: BTreeSet<usize> = roots.iter().copied().filter(exists).collect();
        loop {
            let before = going.len();
            for (holder, _, _, options, target) in self.references() {
                if options.action == Action::Delete && going.contains(&target) {
                    going.insert(holder);
                }
                if options.forward && going.contains(&holder) && exists(&target) {
                    going.insert(target);
                }
            }
            if going.len() == before {
                return going;
            }
        }
    }

    /// `place` says where each object comes among all of them. It decides only which of several
    /// references stays that come to the key null of one map.
    pub(crate) fn delete<P: Ord>(&self, roots: &[usize], place: impl Fn(usize) -> P) -> Outcome {
        let going = self.going(roots);
        let mut left = self.clone();
        going.iter().for_each(|n| left.objects[*n] = None);
        let goes = |target: &Target| target.is_some_and(|target| going.contains(&target));
        let does =
            |options: Options, action, target: &Target| options.action == action && goes(target);
        for object in left.objects.iter_mut().flatten() {
            for (kind, content) in self.types[object.of].iter().zip(&mut object.fields) {
                match (*kind, content) {
                    (Kind::Simple(options), Content::Simple(target)) => {
                        if does(options, Action::Nullify, target) {
                            *target = None;
                        }
                    }
                    (Kind::Set(options), Content::Set(set)) => {
                        let old = std::mem::take(set).into_iter();
                        let stay = old.filter(|target| !does(options, Action::Remove, target));
                        *set = stay
                            .map(|it| it.filter(|_| !does(options, Action::Nullify, &it)))
                            .collect();
                    }
                    (Kind::List(options), Content::List(list)) => {
                        list.retain(|target| !does(options, Action::Remove, target));
                        for target in list {
                            *target = target.filter(|_| !does(options, Action::Nullify, target));
                        }
                    }
                    (Kind::Map(of_key, of_value), Content::Map(map)) => {
                        map.retain(|key, value| {
                            !does(of_key, Action::Remove, key)
                                && !does(of_value, Action::Remove, value)
                        });
                        for value in map.values_mut() {
                            *value = value.filter(|_| !does(of_value, Action::Nullify, value));
                        }
                        let keys = map.keys().copied().collect::<Vec<_>>().into_iter();
                        let keys: Vec<Target> =
                            keys.filter(|key| does(of_key, Action::Nullify, key)).collect();
                        let values = keys.iter().map(|key| map.remove(key).unwrap());
                        // One that forbids the deletion stays before the others, and null after
                        // them.
                        let first = values.min_by_key(|value| {
                            let forbids = does(of_value, Action::Exception, value);
                            (!forbids, value.is_none(), value.map(&place))
                        });
                        map.extend(first.map(|value| (None, value)));
                    }
                    _ => unreachable!(),
                }
            }
        }
        let references = left.references().into_iter();
        let refused: BTreeSet<_> = references
            .filter(|(_, _, _, options, target)| {
                options.action == Action::Exception && going.contains(target)
            })
            .map(|(holder, field, is_value, _, target)| (target, holder, (field, is_value)))
            .collect();
        if refused.is_empty() { Outcome::Deleted(left.objects) } else { Outcome::Refused(refused) }
    }
}
