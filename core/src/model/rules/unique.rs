//! The unique rules of a model, bound to their indexes.

use std::any::TypeId;
use std::sync::Arc;

use super::excluded::ExcludedValues;
use crate::id::StorageId;
use crate::model::declare::Exclude;
use crate::model::error::ModelError;
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
    pub(super) declared_in: Option<TypeId>,
    /// Combinations that are exempt: the exempt values of each column.
    pub(super) excludes: Vec<Vec<ExcludedValues>>,
}

impl Unique {
    /// Extends the rule of a mix-in to all models that have the mix-in. `mixins` are their mix-ins
    /// and types, in the order of the types.
    pub(super) fn share(&mut self, mixins: &[(TypeId, StorageId)]) {
        // A rule of the model itself holds among the objects of that model only.
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
    pub(super) fn exempt(&mut self, lists: &[&[Exclude]], problems: &mut Vec<ModelError>) {
        let path = &self.path;
        let mut add = |problem| problems.push(ModelError { path: path.clone(), problem });
        if lists.len() != self.columns.len() {
            let (lists, columns) = (lists.len(), self.columns.len());
            add(format!("`exclude` has {lists} lists of values, but the index {columns} columns"));
            // Without a list for each column it is not clear which column a list is for.
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
        // Such a rule would cost its checks and forbid nothing.
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
