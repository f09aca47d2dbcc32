//! Checks the rules for all objects of a database.

use std::fmt;
use std::ops::ControlFlow;

use super::bound::Rules;
use super::required::{content, is_about_null, is_null, nulls_in};
use super::unique::Unique;
use super::validating::Validating;
use super::violation::{OTHERS, Rule, Violation, Violations};
use crate::id::ObjId;
use crate::model::binding::Binding;
use crate::model::error::{About, Error, Result, about};
use crate::model::evolution::FieldPlan;
use crate::model::load::ObjectReader;
use crate::model::permazen::Permazen;
use crate::model::tx::Tx;
use crate::object::Touched;

/// Why an object of another schema has no value in a field.
const NO_SUCH_FIELD: &str = "has no value, because the schema of the object lacks the field: if a newer program has \
                             renamed it, state the newer name with `was = \"…\"`; otherwise set a value, or \
                             declare an `Option`";

/// The violations of rules in a database. They display as text for people: how many violations
/// there are, then a line for each of the first ten, and how many more.
#[derive(Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RulesReport {
    /// The first [`LIMIT`](RulesReport::LIMIT) violations.
    pub violations: Violations,
    /// How many more there are.
    pub more: u64,
}

impl RulesReport {
    /// How many violations are listed.
    pub const LIMIT: usize = 1000;

    /// Whether nothing breaks a rule.
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }
}

impl fmt::Display for RulesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It is only shown.
        let listed = u64::try_from(self.violations.len()).unwrap_or(u64::MAX);
        match listed.saturating_add(self.more) {
            0 => return f.write_str("nothing breaks a rule"),
            1 => f.write_str("1 violation of rules:\n  ")?,
            count => write!(f, "{count} violations of rules:\n  ")?,
        }
        self.violations.shown(f, "\n  ", self.more)
    }
}

/// Checking everything.
impl Permazen {
    /// Lists the violations of rules in the whole database, as a check of the format lists damage.
    /// Rules are otherwise checked for objects that change, so objects that were stored before a
    /// rule was stated, or by programs that do not check it, may break it. Changes nothing.
    ///
    /// Objects that have the same value are listed once, by the first of them. An object that
    /// cannot be read, because it is damaged or a conversion of it fails, is listed with the
    /// [cause](Violation::cause), and the check continues. So is an object whose hook or function
    /// gets an error [about versions](Error::is_about_versions), for example because another object
    /// cannot be read.
    ///
    /// ```
    /// # use permazen::{Permazen, PermazenObject, Validation, kv::memory::MemoryStore};
    /// # #[derive(PermazenObject)]
    /// # struct User { #[permazen(indexed, unique)] email: String }
    /// # let db = Permazen::builder(MemoryStore::new()).model::<User>();
    /// # let db = db.validation(Validation::Off).build()?;
    /// db.write(|tx| {
    ///     tx.create(User { email: "ann@example.com".into() })?; // nothing is checked here
    ///     tx.create(User { email: "ann@example.com".into() })?;
    ///     Ok(())
    /// })?;
    /// let report = db.check_rules()?;
    /// println!("{report}"); // 1 violation of rules: …
    /// for violation in &report.violations {
    ///     println!("{}: {}", violation.object, violation.path);
    /// }
    /// # assert!(!report.is_clean());
    /// # Ok::<(), permazen::Error>(())
    /// ```
    ///
    /// Cost: each unique index is read once. The objects of models with required values or own
    /// validation are read once, each with a seek and a scan of its pairs. For objects that lack
    /// entries in a unique index, their entries are kept in memory while that index is read.
    ///
    /// # Errors
    /// The errors of [`Permazen::begin`]. [`Error::Hook`] if a hook or a function that checks
    /// objects gets an error of the store.
    pub fn check_rules(&self) -> Result<RulesReport> {
        self.read(|tx| {
            let (mut listed, mut more) = (Vec::new(), 0);
            scan(tx, &mut |violation| {
                match listed.len() < RulesReport::LIMIT {
                    true => listed.push(violation),
                    false => more += 1,
                }
                ControlFlow::Continue(())
            })?;
            Ok(RulesReport { violations: Violations(listed), more })
        })
    }

    /// Does the same as [`check_rules`](Permazen::check_rules), but hands each violation to
    /// `found`, until that returns [`ControlFlow::Break`].
    ///
    /// # Errors
    /// Those of [`check_rules`](Permazen::check_rules).
    pub fn check_rules_with(
        &self,
        mut found: impl FnMut(Violation) -> ControlFlow<()>,
    ) -> Result<()> {
        let tx = self.begin_read()?;
        scan(&tx, &mut found)
    }
}

type OnViolation<'f> = dyn FnMut(Violation) -> ControlFlow<()> + 'f;

/// Checks the rules about several objects, and then each object of the models that have others.
fn scan(tx: &Tx, found: &mut OnViolation<'_>) -> Result<()> {
    let has_rules = |binding: &Binding| {
        let Rules { checkers, .. } = &binding.rules;
        binding.rules.require_values() || binding.info.validate.is_some() || !checkers.is_empty()
    };
    for binding in tx.models()?.iter() {
        // Rules about several objects need only indexes, so they are cheap.
        if of_type(tx, binding, found)?.is_break() {
            return Ok(());
        }
        // Reading all objects is the expensive part, so it is left out where no rule needs it.
        if !has_rules(binding) {
            continue;
        }
        for id in tx.core.objects_of([binding.storage_id()])?.iter() {
            for violation in of_object(tx, binding, id?)? {
                if found(violation).is_break() {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// Checks what [`check_content`](super::new_content::check_content) does not, of a database whose
/// objects are all new: hooks that validate, whose changes are kept, and then unique fields and
/// singletons.
pub(in crate::model) fn check_together(tx: &Tx) -> Result<()> {
    // Hooks may change values, so unique fields are checked after them.
    run_hooks(tx)?;
    let mut listed = Vec::new();
    for binding in tx.models()?.iter() {
        let checked = of_type(tx, binding, &mut |violation| {
            listed.push(violation);
            match listed.len() < RulesReport::LIMIT {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        // The list is full, so more violations would only take time.
        if checked?.is_break() {
            break;
        }
    }
    if listed.is_empty() { Ok(()) } else { Err(Error::Invalid(Violations(listed))) }
}

/// This number of objects is noted before they are checked.
const TOGETHER: usize = 1000;

/// Checks all objects of the models that have hooks that validate, as a commit checks objects that
/// were created.
fn run_hooks(tx: &Tx) -> Result<()> {
    for binding in tx.models()?.iter().filter(|it| !it.rules.checkers.is_empty()) {
        for (at, id) in tx.core.objects_of([binding.storage_id()])?.iter().enumerate() {
            tx.core.dirty_set.add(id?, Touched { whole: true, ..Touched::default() });
            // Objects are checked in groups, so that the notes do not take much memory.
            if !(at + 1).is_multiple_of(TOGETHER) {
                continue;
            }
            // They stay noted. The hooks of later objects may mend them, or what they could not
            // use.
            let may_be_mended = |error: &Error| match error {
                Error::Invalid(found) => found.len() < RulesReport::LIMIT,
                error => error.is_about_versions(),
            };
            match tx.validate() {
                Err(error)
                    if may_be_mended(&error) && tx.core.dirty_set.len() < RulesReport::LIMIT => {}
                checked => checked?,
            }
        }
    }
    tx.validate()
}

/// The rules about several objects of a model.
fn of_type(tx: &Tx, binding: &Binding, found: &mut OnViolation<'_>) -> Result<ControlFlow<()>> {
    if binding.info.singleton {
        let all = tx.core.objects_of([binding.storage_id()])?;
        let mut same = Same::default();
        // No more than these are named, so no more are read.
        for id in all.iter().take(OTHERS + 1) {
            same.add(id?);
        }
        if same.report(binding.info.name, Rule::Singleton, None, found).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    for rule in &binding.rules.unique {
        // A rule that several models share is checked with the first of them.
        if rule.scope.first() == Some(&binding.storage_id())
            && duplicates(tx, rule, found)?.is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Objects that have the same value.
#[derive(Default)]
struct Same {
    first: Option<ObjId>,
    others: Vec<ObjId>,
}

impl Same {
    fn add(&mut self, id: ObjId) {
        if self.first.is_none() {
            self.first = Some(id);
        } else if self.others.len() < OTHERS {
            self.others.push(id);
        }
    }

    /// Reports them, if there are several, and forgets them.
    fn report(
        &mut self,
        path: &str,
        rule: Rule,
        value: Option<String>,
        found: &mut OnViolation<'_>,
    ) -> ControlFlow<()> {
        let others = std::mem::take(&mut self.others);
        match self.first.take() {
            Some(id) if !others.is_empty() => {
                found(Violation { value, others, ..Violation::new(id, path, rule) })
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Reads the index of a rule, in which the objects with one value follow each other.
fn duplicates(tx: &Tx, rule: &Unique, found: &mut OnViolation<'_>) -> Result<ControlFlow<()>> {
    let columns = rule.columns.len();
    let mut unreadable = Vec::new();
    let view = tx.unique_view_of_all(rule, &mut |id, error| match is_about_one_object(&error) {
        true => {
            unreadable.push(Violation::unchecked(id, &rule.path, Rule::Unique, error));
            Ok(())
        }
        false => Err(error),
    })?;
    // `found` may end the check, which the closure above could not say. So they are told here.
    for violation in unreadable {
        if found(violation).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    let entries = view.iter_with(|entry| {
        let values: Vec<Vec<u8>> = (0..columns).map(|at| entry.encoded(at).to_vec()).collect();
        Ok((values, entry.id()?))
    });
    // A rule of a mix-in has a path in each model.
    let models = tx.models()?;
    let path_of = |id: ObjId| {
        let rules = &models.of_type(id.storage_id())?.rules.unique;
        rules.iter().find(|it| it.is_same(rule)).map(|it| &*it.path)
    };
    let mut values: Vec<Vec<u8>> = Vec::new();
    let mut same = Same::default();
    let mut report = |values: &[Vec<u8>], same: &mut Same| {
        // Exempt values may be those of several objects.
        let is_wrong = !same.others.is_empty() && !rule.exempts(values);
        let value = is_wrong.then(|| rule.text(values));
        match is_wrong {
            true => {
                let path = same.first.and_then(&path_of).unwrap_or(&rule.path);
                same.report(path, Rule::Unique, value, found)
            }
            false => {
                *same = Same::default();
                ControlFlow::Continue(())
            }
        }
    };
    for entry in entries {
        let (next, id) = entry?;
        // Entries with the same values follow each other, so one group is in memory at a time.
        if next != values {
            if report(&values, &mut same).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            values = next;
        }
        same.add(id);
    }
    Ok(report(&values, &mut same))
}

/// Whether an error is about one object, its damage included, and not about the transaction or the
/// store. A check of everything says so, and continues.
fn is_about_one_object(error: &Error) -> bool {
    !matches!(error, Error::Other(_)) && about(error) != About::Transaction
}

/// Required values and own validation of one object. It stays as it is.
fn of_object(tx: &Tx, binding: &Binding, id: ObjId) -> Result<Vec<Violation>> {
    let (data, schema) = match content(tx, binding, id) {
        Ok(content) => content,
        Err(error) if is_about_one_object(&error) => {
            let rule = if binding.info.validate.is_some() { Rule::Valid } else { Rule::Required };
            return Ok(vec![Violation::unchecked(id, binding.info.name, rule, error)]);
        }
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for position in &binding.rules.required {
        let field = binding.field(*position)?;
        if data.simple_value(field.storage_id).is_some_and(|value| is_null(field, value)) {
            let object_type = tx.core.object_type(id)?;
            let is_missing =
                matches!(binding.plan(&object_type).field(*position), FieldPlan::Missing);
            let message = is_missing.then(|| NO_SUCH_FIELD.to_owned());
            let violation = Violation::new(id, binding.path(field), Rule::Required);
            found.push(Violation { message, ..violation });
        }
    }
    found.extend(nulls_in(binding, id, &data, |_| true)?);
    let is_null = !found.is_empty();
    let mut validating = Validating::new(None);
    let mut reader = ObjectReader::new(&binding.fields, id, schema, &data);
    match binding.info.validate.map(|validate| validate(&mut reader, &mut validating)) {
        // The null was reported already. The validation only failed because it met that null.
        Some(Err(error)) if is_null && is_about_null(&error) => {}
        Some(Err(error)) if is_about_one_object(&error) => {
            found.push(Violation::unchecked(id, binding.info.name, Rule::Valid, error));
        }
        Some(Err(error)) => return Err(error),
        Some(Ok(())) | None => {
            let judged = validating.judged(binding, id)?;
            found.extend(judged.into_iter().filter_map(|judged| judged.violation(id)));
        }
    }
    found.extend(by_hooks(tx, binding, id)?);
    Ok(found)
}

/// The violations that validating hooks find in one object. It stays as it is.
fn by_hooks(tx: &Tx, binding: &Binding, id: ObjId) -> Result<Vec<Violation>> {
    let mut found = Vec::new();
    // `check_only` undoes what the hook changes, so the scan changes nothing.
    for checker in &binding.rules.checkers {
        found.extend(checker.check_only(tx, id)?.violation(id));
    }
    Ok(found)
}
