//! Checks the rules for the objects that have changed in a transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::required::{content, is_about_null, is_null, nulls_in};
use super::unique::Unique;
use super::validating::{Finding, Validating};
use super::violation::{OTHERS, Rule, Violation, Violations};
use crate::id::{ObjId, StorageId};
use crate::layout::SchemaIndex;
use crate::model::binding::Binding;
use crate::model::error::{About, Error, Result, about};
use crate::model::evolution::FieldPlan;
use crate::model::handle::Handle;
use crate::model::hook::{Checker, Judgement};
use crate::model::index::{
    OnPartial, OpenAs, Unreadable, Wanted, complete_for_check, complete_for_rules,
};
use crate::model::load::ObjectReader;
use crate::model::tx::Tx;
use crate::object::{self, IndexView, Migrate, Touched, value_text};

/// How often objects may be checked again because hooks have changed some, until this counts as
/// endless.
const ROUNDS: usize = 100;
/// In how many more checks than there were in the first round hooks may change objects, until this
/// counts as endless: the objects that hooks create can multiply in each round.
const MORE_CHANGES: usize = 100_000;

/// Checks the rules for all objects that are noted. Objects that break one stay noted.
///
/// # Errors
/// [`Error::Invalid`] with everything that breaks a rule; errors of the store; if nothing breaks a
/// rule, the first error about versions that keeps a function of the program from a verdict.
pub(in crate::model) fn check(tx: &Tx) -> Result<()> {
    let mut check = Check::new(tx);
    let mut failed = Failed::new();
    let (mut rounds, mut first) = (0, 0);
    // A hook that checks an object may change others. These are then noted, and violations that
    // were found before may be gone.
    let end = loop {
        let is_over = check.is_over(&failed);
        if !matches!(is_over, Ok(false)) {
            break is_over.map(drop);
        }
        if rounds >= ROUNDS || check.changes > first + MORE_CHANGES {
            // The violations say more than that hooks do not come to an end.
            break if failed.is_empty() { Err(endless(tx, rounds)) } else { Ok(()) };
        }
        rounds += 1;
        if let Err(error) = check.round(&mut failed) {
            break Err(error);
        }
        if rounds == 1 {
            first = check.changes;
        }
    };
    let all_right = failed.is_empty();
    let (mut violations, mut undecided) = (Vec::new(), None);
    // Also after an error, the objects stay noted for the next check.
    for (id, (touched, found)) in failed {
        tx.core.dirty_set.add(id, touched);
        violations.extend(found.violations);
        undecided = undecided.or(found.undecided);
    }
    end?;
    match undecided {
        None if all_right => Ok(()),
        Some(error) if violations.is_empty() => Err(error),
        // A violation can be why a function got its error: a required value is missing.
        _ => Err(Error::Invalid(Violations(violations))),
    }
}

/// The error of hooks that change objects again and again.
fn endless(tx: &Tx, rounds: usize) -> Error {
    let noted = tx.core.dirty_set.first();
    let object = noted.map(|id| format!(", and object {id} must be checked again"));
    Error::other(format!(
        "hooks that validate have changed objects in {rounds} rounds of checks{}: they must come to an end, for \
         example by writing only a value that differs",
        object.unwrap_or_default()
    ))
}

/// Objects that break rules or could not be checked, with their changes.
type Failed = BTreeMap<ObjId, (Touched, Found)>;

/// The result of a check of an object.
#[derive(Default)]
struct Found {
    violations: Vec<Violation>,
    /// The first error about versions that kept a function from a verdict. It ends no check: a hook
    /// that is called later may move or change the object that could not be used.
    undecided: Option<Error>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.violations.is_empty() && self.undecided.is_none()
    }

    /// Adds what a function of the program says about the object.
    fn add(&mut self, judged: Judgement, id: ObjId) {
        match judged {
            Judgement::Undecided(_, error) => {
                self.undecided.get_or_insert(*error);
            }
            judged => self.violations.extend(judged.violation(id)),
        }
    }
}

/// One check of several objects.
struct Check<'t> {
    tx: &'t Tx,
    /// The rules whose partial index was reported already, by their paths, with the change counter
    /// of the store at that time.
    partial: BTreeMap<&'t str, (&'t Unique, u64)>,
    /// Whether the last object was not checked because of such an index. It must be checked again.
    unchecked: bool,
    /// Whether hooks have changed something in this round.
    hooks_changed: bool,
    /// In how many checks hooks have changed something.
    changes: usize,
}

impl<'t> Check<'t> {
    fn new(tx: &'t Tx) -> Self {
        Check { tx, partial: BTreeMap::new(), unchecked: false, hooks_changed: false, changes: 0 }
    }

    /// Whether another round of checks would find nothing else.
    fn is_over(&self, failed: &Failed) -> Result<bool> {
        let is_changed =
            !self.tx.core.dirty_set.is_empty() || (self.hooks_changed && !failed.is_empty());
        Ok(!is_changed && !self.is_completed()?)
    }

    /// Checks all objects that are noted, and those that have failed.
    fn round(&mut self, failed: &mut Failed) -> Result<()> {
        let notes = &self.tx.core.dirty_set;
        let mut queue = notes.take();
        // An index that was partial may be complete now, so each round asks anew.
        self.partial.clear();
        self.hooks_changed = false;
        // The objects that have failed are checked again: a hook may have mended them since.
        for (id, (touched, _)) in std::mem::take(failed) {
            queue.entry(id).or_default().add(touched);
        }
        while let Some((id, touched)) = queue.pop_first() {
            match self.object(id, &touched) {
                Ok(found) if found.is_empty() && !std::mem::take(&mut self.unchecked) => {}
                Ok(found) => {
                    self.unchecked = false;
                    failed.insert(id, (touched, found));
                }
                Err(error) => {
                    // The error ends the check, so what was not looked at stays noted.
                    notes.put_back(queue);
                    notes.add(id, touched);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Whether an index that was partial is complete: the check itself, a hook or a function of the
    /// model may have moved or deleted the objects that it lacked.
    fn is_completed(&self) -> Result<bool> {
        let changes = self.tx.core.changes();
        // Without a write since then, the index is as partial as before.
        for (rule, _) in self.partial.values().filter(|(_, seen)| *seen != changes) {
            match self.tx.unique_view(rule) {
                Err(Error::PartialIndex { .. }) => {}
                view => return view.map(|_| true),
            }
        }
        Ok(false)
    }

    /// All that is wrong with an object by the rules, as far as they concern the touched parts.
    fn object(&mut self, id: ObjId, touched: &Touched) -> Result<Found> {
        let tx = self.tx;
        let mut found = Found::default();
        let Some(binding) = tx.models()?.of_type(id.storage_id()) else { return Ok(found) };
        // The object may have been deleted after it was noted.
        if !tx.core.exists(id)? {
            return Ok(found);
        }
        // A noted field that the model lacks is from another schema: it stands for a field of the
        // model that is defined differently there.
        let is_former = |field: &StorageId| binding.field_with(*field).is_none();
        // A part of the object was defined differently, so all of its rules are checked.
        let whole = touched.whole || touched.fields.iter().any(is_former);
        if binding.info.singleton && whole {
            found.violations.extend(self.singleton(binding, id)?);
        }
        // Required values come first: the functions of the model cannot be called without them.
        for field in &touched.nulls {
            found.violations.extend(self.required(binding, id, *field)?);
        }
        found.violations.extend(self.required_in(binding, id, &touched.nulls)?);
        let is_touched = |rule: &&Unique| {
            whole || rule.columns.iter().any(|it| touched.fields.contains(&it.storage_id))
        };
        for rule in binding.rules.unique.iter().filter(is_touched) {
            found.violations.extend(self.unique(binding, id, rule)?);
        }
        let fields = touched.fields.iter().filter_map(|field| binding.field_with(*field));
        let changed: Option<BTreeSet<usize>> = (!whole).then(|| fields.collect());
        let validates = &binding.info.validates;
        let concerns = |field: &usize| validates.fields.contains(field);
        if validates.object || changed.as_ref().is_none_or(|it| it.iter().any(concerns)) {
            self.valid(binding, id, Validating::new(changed.clone()), &mut found)?;
        }
        for checker in &binding.rules.checkers {
            let concerns = |touched: &BTreeSet<usize>| {
                checker.fields.as_ref().is_none_or(|fields| !fields.is_disjoint(touched))
            };
            if !changed.as_ref().is_none_or(concerns) {
                continue;
            }
            found.add(self.judged(id, checker)?, id);
            // The hook has deleted the object, so what was found is void.
            if !tx.core.exists(id)? {
                return Ok(Found::default());
            }
        }
        Ok(found)
    }

    /// Lets a hook check an object.
    fn judged(&mut self, id: ObjId, checker: &Checker) -> Result<Judgement> {
        let core = &self.tx.core;
        // The changes of the hook are noted apart, so that they can be forgotten if they are
        // undone.
        let noted = core.dirty_set.take();
        match checker.check(self.tx, id) {
            Ok((Judgement::Right, changed)) => {
                if !changed {
                    // Changes that were made and undone need no check. Objects for which the hook
                    // has called `revalidate` do.
                    let mut asked = core.dirty_set.take();
                    // `revalidate` marks the whole object. An undone creation does so too, but the
                    // object is gone.
                    asked.retain(|_, touched| touched.whole);
                    core.dirty_set.put_back(asked);
                }
                core.dirty_set.put_back(noted);
                self.hooks_changed |= changed;
                self.changes += usize::from(changed);
                Ok(Judgement::Right)
            }
            judged => {
                // The changes of the hook are undone.
                core.dirty_set.take();
                core.dirty_set.put_back(noted);
                judged.map(|(judged, _)| judged)
            }
        }
    }

    fn singleton(&self, binding: &Binding, id: ObjId) -> Result<Option<Violation>> {
        let all = self.tx.core.objects_of([binding.storage_id()])?;
        let others = first_others(all.iter(), id)?;
        let violation = Violation::new(id, binding.info.name, Rule::Singleton);
        Ok((!others.is_empty()).then(|| Violation { others, ..violation }))
    }

    /// `field` was null at some time.
    fn required(
        &self,
        binding: &Binding,
        id: ObjId,
        field: StorageId,
    ) -> Result<Option<Violation>> {
        let core = &self.tx.core;
        let position = binding.field_with(field);
        let Some(position) = position.filter(|it| binding.rules.required.contains(it)) else {
            return Ok(None);
        };
        let field = binding.field(position)?;
        // Where the object is, the field may have another name or type.
        let object_type = core.object_type(id)?;
        let plan = binding.plan(&object_type);
        let stored = match plan.field(position) {
            FieldPlan::Differs(from) => from,
            _ => field,
        };
        let null = core.encoded().find(id, stored, Migrate::No, |value| is_null(stored, value))?;
        let violation = || Violation::new(id, binding.path(field), Rule::Required);
        Ok((null == Some(true)).then(violation))
    }

    /// These fields were null, or had nulls, at some time.
    fn required_in(
        &self,
        binding: &Binding,
        id: ObjId,
        fields: &BTreeSet<StorageId>,
    ) -> Result<Vec<Violation>> {
        let collections = &binding.rules.required_in;
        // The object is loaded only if one of its collections may have got a null.
        if !collections.iter().any(|(_, nulls)| fields.contains(&nulls.field)) {
            return Ok(Vec::new());
        }
        match content(self.tx, binding, id) {
            Ok((data, _)) => nulls_in(binding, id, &data, |field| fields.contains(&field)),
            // The object cannot be read, which is no failure of the check.
            Err(error) if keeps_from_checking(&error) => {
                Ok(vec![Violation::unchecked(id, binding.info.name, Rule::Required, error)])
            }
            Err(error) => Err(error),
        }
    }

    fn unique(
        &mut self,
        binding: &Binding,
        id: ObjId,
        rule: &'t Unique,
    ) -> Result<Option<Violation>> {
        let values = match self.values(binding, id, rule) {
            Err(error) if keeps_from_checking(&error) => {
                return Ok(Some(Violation::unchecked(id, &rule.path, Rule::Unique, error)));
            }
            values => values?,
        };
        // An exempt value need not be looked for, so this comes before the index.
        if rule.exempts(&values) {
            return Ok(None);
        }
        // A partial index is reported once, because finding the missing objects is expensive.
        if self.partial.contains_key(&*rule.path) {
            self.unchecked = true;
            return Ok(None);
        }
        let view = match self.tx.unique_view(rule) {
            Err(error @ Error::PartialIndex { .. }) => {
                self.partial.insert(&rule.path, (rule, self.tx.core.changes()));
                return Ok(Some(Violation::unchecked(id, &rule.path, Rule::Unique, error)));
            }
            view => view?,
        };
        let mut same = view;
        // All columns are restricted to the values, so only objects with all of them are found.
        for (column, value) in values.iter().enumerate() {
            same = same.encoded().with_value(column, value)?;
        }
        let others = first_others(same.ids(), id)?;
        if others.is_empty() {
            return Ok(None);
        }
        let value = Some(rule.text(&values));
        let violation = Violation::new(id, &rule.path, Rule::Unique);
        Ok(Some(Violation { value, others, ..violation }))
    }

    /// The encoded values of an object in the columns of a rule. If the index has no entries of
    /// objects in the schema of this object, the object first moves to the schema of the models.
    fn values(&self, binding: &Binding, id: ObjId, rule: &Unique) -> Result<Vec<Vec<u8>>> {
        let core = &self.tx.core;
        let schema = core.object_type(id)?.schema;
        if schema != binding.fields.object_type.schema
            && !self.is_indexed_in(binding, rule, schema)?
        {
            // An object without an entry could not be found by others either, so it must move.
            core.require_current(id)?;
        }
        let value = |field| core.encoded().get(id, field, Migrate::No, <[u8]>::to_vec);
        Ok(rule.columns.iter().map(|field| value(field)).collect::<object::Result<_>>()?)
    }

    /// Whether objects in another schema have exactly the entries of the index.
    fn is_indexed_in(&self, binding: &Binding, rule: &Unique, schema: SchemaIndex) -> Result<bool> {
        let wanted = Wanted { shape: &rule.shape, with_keys: false };
        let others = self.tx.bindings()?.others(binding, wanted, &self.tx.core);
        Ok(!others.iter().any(|other| other.schema == schema))
    }

    /// Calls the model's own functions, after required values were checked. The object is loaded
    /// once.
    fn valid(
        &self,
        binding: &Binding,
        id: ObjId,
        mut validating: Validating,
        found: &mut Found,
    ) -> Result<()> {
        let Some(validate) = binding.info.validate else { return Ok(()) };
        let is_null = found.violations.iter().any(|it| it.rule == Rule::Required);
        let handle = Handle { tx: self.tx, binding, id };
        let loaded = handle.content().and_then(|(data, schema)| {
            // The object may be in another schema, and is checked there as the model sees it.
            validate(&mut ObjectReader::new(&binding.fields, id, schema, &data), &mut validating)
        });
        match loaded {
            Ok(()) => {}
            // That null is the violation. A null that is older than the transaction is not, so it
            // is said that the functions cannot be called.
            Err(error) if is_null && is_about_null(&error) => {}
            Err(error) if keeps_from_checking(&error) => {
                let path = binding.info.name;
                found.violations.push(Violation::unchecked(id, path, Rule::Valid, error));
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        for judged in validating.judged(binding, id)? {
            found.add(judged, id);
        }
        Ok(())
    }
}

impl Validating {
    /// The verdicts of the functions of the model on an object, without those that find it right.
    ///
    /// # Errors
    /// The error of a function, if it is one of the store or of the transaction.
    pub(super) fn judged(self, binding: &Binding, id: ObjId) -> Result<Vec<Judgement>> {
        let judged = |(position, finding): (Option<usize>, Finding)| {
            let path = match position {
                Some(position) => binding.path(binding.field(position)?),
                None => binding.info.name.to_owned(),
            };
            match finding {
                Finding::Wrong(message) => Ok(Judgement::Wrong(path, message)),
                Finding::Error(error) => {
                    let (hook, calls) = (path.clone(), Vec::new());
                    let failed = |source| Error::Hook { hook, object: id, calls, source };
                    Judgement::of(path, error, failed)
                }
            }
        };
        self.findings.into_iter().map(judged).collect()
    }
}

impl Judgement {
    /// The violation that stands for a judgement. The error that kept a function from a verdict is
    /// its cause.
    pub(super) fn violation(self, id: ObjId) -> Option<Violation> {
        match self {
            Judgement::Right => None,
            Judgement::Wrong(path, message) => {
                let violation = Violation::new(id, path, Rule::Valid);
                Some(Violation { message: Some(message), ..violation })
            }
            Judgement::Undecided(path, error) => {
                let cause = without_function(&path, id, *error);
                Some(Violation::unchecked(id, path, Rule::Valid, cause))
            }
        }
    }
}

/// The error that a function has got, without the name of the function.
fn without_function(function: &str, id: ObjId, error: Error) -> Error {
    match error {
        // The violation names the function already.
        Error::Hook { hook, object, source, .. } if hook == function && object == id => {
            match source.downcast() {
                Ok(own) => *own,
                Err(source) => Error::Other(source),
            }
        }
        error => error,
    }
}

/// Whether an error is about one object, and not about the transaction.
fn keeps_from_checking(error: &Error) -> bool {
    use crate::object::Error as Object;
    match error {
        Error::Object(error) => {
            matches!(error, Object::MoveRefused(_) | Object::KeyTooLong { .. })
        }
        Error::Other(_) => false,
        error => about(error) != About::Transaction,
    }
}

/// The first objects but `id`.
fn first_others(ids: impl Iterator<Item = object::Result<ObjId>>, id: ObjId) -> Result<Vec<ObjId>> {
    // An error counts as another object, so that `collect` returns it.
    let is_other = |other: &object::Result<ObjId>| other.as_ref().ok() != Some(&id);
    Ok(ids.filter(is_other).take(OTHERS).collect::<object::Result<_>>()?)
}

impl Unique {
    /// The values as text, with commas between them.
    pub(super) fn text(&self, values: &[Vec<u8>]) -> String {
        let columns = self.columns.iter().zip(values);
        let texts = columns.map(|(field, value)| value_text(field.simple(), value));
        texts.collect::<Vec<_>>().join(", ")
    }
}

impl Tx {
    /// The entries of the objects among which values are unique.
    fn unique_view(&self, rule: &Unique) -> Result<IndexView<'_>> {
        let among_indexed = self.rule_options()?.among_indexed;
        let on_partial = if among_indexed { OnPartial::Allow } else { OnPartial::Refuse };
        self.unique_view_as(rule, OpenAs { on_partial, skip_unknown: true })
    }

    /// The same entries, whether objects lack entries in the index or not.
    fn unique_view_as(&self, rule: &Unique, how: OpenAs) -> Result<IndexView<'_>> {
        let (view, scope) = self.unique_index(rule)?;
        complete_for_rules(self, &view, &scope, how)
    }

    /// The same entries, with those of objects that lack them. Calls `unreadable` for each object
    /// whose entries cannot be found out.
    pub(super) fn unique_view_of_all(
        &self,
        rule: &Unique,
        unreadable: &mut Unreadable<'_>,
    ) -> Result<IndexView<'_>> {
        let (view, scope) = self.unique_index(rule)?;
        let how = OpenAs { on_partial: OnPartial::Scan, skip_unknown: true };
        complete_for_check(self, &view, &scope, how, unreadable)
    }

    fn unique_index(&self, rule: &Unique) -> Result<(IndexView<'_>, Vec<&Binding>)> {
        let view = self.core.index_view(Arc::clone(&rule.shape))?;
        let view = view.of_types(rule.scope.iter().copied());
        let models = self.models()?;
        Ok((view, rule.scope.iter().filter_map(|id| models.of_type(*id)).collect()))
    }
}
