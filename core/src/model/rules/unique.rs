//! What a model says about uniqueness, bound to its index.

use std::any::TypeId;
use std::sync::Arc;

use super::excluded::ExcludedValues;
use crate::id::StorageId;
use crate::model::binding::{Binding, Part};
use crate::model::declare::Exclude;
use crate::model::error::{ModelError, Result};
use crate::object::IndexShape;
use crate::schema::ResolvedField;

/// One rule: no two objects have the same values in these columns.
#[derive(Debug)]
pub(crate) struct Unique {
    /// `Person.email` or `Person#nameAndAge`.
    pub(super) path: String,
    pub(super) shape: Arc<IndexShape>,
    pub(super) columns: Vec<Arc<ResolvedField>>,
    /// The types among whose objects the values are unique: the model in whose struct the rule is
    /// declared, or all models that have its mix-in.
    pub(super) scope: Vec<StorageId>,
    /// The mix-in that declares the rule; `None` if the model does.
    declared_in: Option<TypeId>,
    /// Combinations that are exempt: the exempt values of each column.
    excludes: Vec<Vec<ExcludedValues>>,
}

impl Unique {
    /// The rules of a model. What is wrong with them is added to `problems`.
    pub(super) fn of(binding: &Binding, problems: &mut Vec<ModelError>) -> Result<Vec<Self>> {
        let info = &binding.info;
        let mut rules = Vec::new();
        for (position, decl) in info.fields.iter().enumerate().filter(|(_, decl)| decl.unique) {
            let field = binding.field(position)?;
            let path = binding.path(field);
            let Ok(shape) = binding.index_shape(position, Part::Main) else {
                let problem = "a unique field is looked up by value: it must be indexed".to_owned();
                problems.push(ModelError { path, problem });
                continue;
            };
            let mut rule = Unique::new(binding, path, shape, vec![Arc::clone(field)]);
            rule.declared_in = decl.declared_in.map(|mixin| mixin());
            if !decl.excludes.is_empty() {
                rule.exempt(&[decl.excludes], problems);
            }
            rules.push(rule);
        }
        for (position, decl) in info.composites.iter().enumerate().filter(|(_, it)| it.unique) {
            let columns = decl.fields().map(|field| binding.field(field).cloned());
            let path = format!("{}#{}", info.name, decl.name);
            let shape = binding.composite_shape(position)?;
            let mut rule = Unique::new(binding, path, shape, columns.collect::<Result<_>>()?);
            rule.declared_in = decl.declared_in.map(|mixin| mixin());
            for exempt in decl.excludes {
                rule.exempt(exempt, problems);
            }
            rules.push(rule);
        }
        Ok(rules)
    }

    fn new(
        binding: &Binding,
        path: String,
        shape: Arc<IndexShape>,
        columns: Vec<Arc<ResolvedField>>,
    ) -> Self {
        let scope = vec![binding.storage_id()];
        Unique { path, shape, columns, scope, declared_in: None, excludes: Vec::new() }
    }

    /// Extends the rule of a mix-in to all models that have the mix-in. `mixins` are their mix-ins
    /// and types, in the order of the types.
    pub(super) fn share(&mut self, mixins: &[(TypeId, StorageId)]) {
        let Some(own) = self.declared_in else { return };
        let of = mixins.iter().filter(|(mixin, _)| *mixin == own);
        self.scope = of.map(|(_, of_type)| *of_type).collect();
    }

    /// Whether it is the same rule of a mix-in, in whatever models.
    pub(super) fn is_same(&self, other: &Unique) -> bool {
        let columns =
            |rule: &Unique| rule.columns.iter().map(|it| it.storage_id).collect::<Vec<_>>();
        self.scope == other.scope && columns(self) == columns(other)
    }

    /// Exempts the combinations whose values are in the list of each column.
    fn exempt(&mut self, lists: &[&[Exclude]], problems: &mut Vec<ModelError>) {
        let path = &self.path;
        let mut add = |problem| problems.push(ModelError { path: path.clone(), problem });
        if lists.len() != self.columns.len() {
            let (lists, columns) = (lists.len(), self.columns.len());
            add(format!("`exclude` has {lists} lists of values, but the index {columns} columns"));
            return;
        }
        let mut columns = Vec::new();
        for (list, field) in lists.iter().zip(&self.columns) {
            let Some(simple) = field.simple() else { continue };
            let name = &field.name;
            let mut problem = |problem: String| match lists.len() {
                1 => add(problem),
                _ => add(format!("column {name:?}: {problem}")),
            };
            columns.push(ExcludedValues::parse(list, &*simple.encoding, &mut problem));
        }
        if columns.iter().all(ExcludedValues::is_everything) {
            add("every value is exempt, so none is unique: drop `unique` or `exclude`".to_owned());
        }
        self.excludes.push(columns);
    }

    /// Whether encoded values need not be unique.
    pub(super) fn exempts(&self, values: &[Vec<u8>]) -> bool {
        let contains = |(column, value): (&ExcludedValues, &Vec<u8>)| column.contains(value);
        self.excludes.iter().any(|columns| columns.iter().zip(values).all(contains))
    }
}
