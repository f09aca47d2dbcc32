//! Binds declared hooks to the recorded schemas, as listeners of the object layer, in the
//! set that is called before all others.

use std::sync::Arc;

use super::call::hook;
use super::declare::{Fields, HookDecl, On};
use crate::model::binding::Binding;
use crate::model::declare::Shape;
use crate::model::error::Result;
use crate::object::{self, IdFilter, ListenerSet, Watch};
use crate::schema::SchemaBundle;

/// The listeners that call the hooks of models, in the order of the models and their blocks.
pub(crate) fn compile<'b>(
    models: impl Iterator<Item = &'b Binding>,
    bundle: &Arc<SchemaBundle>,
) -> Result<Arc<ListenerSet>> {
    let mut listeners = ListenerSet::new(Arc::clone(bundle));
    for binding in models {
        for decl in binding.info.hooks {
            add(&mut listeners, binding, decl)?;
        }
    }
    Ok(Arc::new(listeners))
}

fn add(listeners: &mut ListenerSet, binding: &Binding, decl: &HookDecl) -> Result<()> {
    let hook = || hook(decl.name, Box::new(decl.run));
    match decl.on {
        On::Create => {
            listeners.on_create(binding.storage_id(), object::created(hook()))?;
        }
        On::Delete => {
            listeners.on_delete(itself(binding)?, object::deleting(hook()))?;
        }
        On::Change(fields) => {
            let listener = object::changed(hook());
            for position in positions(binding, fields) {
                let field = binding.field(position)?.storage_id;
                listeners.on_change(field, itself(binding)?, Arc::clone(&listener))?;
            }
        }
        // The rules have these.
        On::Validate(_) => {}
    }
    Ok(())
}

/// Objects of a model observe themselves.
pub(super) fn itself(binding: &Binding) -> Result<Watch> {
    let own = IdFilter::of_types([binding.storage_id()]);
    Ok(Watch::filtered(Vec::new(), vec![Some(own)])?)
}

/// The positions of the fields that a hook watches.
fn positions(binding: &Binding, fields: Fields) -> Vec<usize> {
    match fields {
        Fields::These(fields) => fields.iter().map(|position| position()).collect(),
        Fields::AllBut(except) => {
            let except: Vec<usize> = except.iter().map(|position| position()).collect();
            let mut all = watchable(binding);
            all.retain(|position| !except.contains(position));
            all
        }
    }
}

/// The positions of all fields whose changes are told. Those of counters are not.
pub(super) fn watchable(binding: &Binding) -> Vec<usize> {
    let fields = binding.info.fields.iter().enumerate();
    let fields = fields.filter(|(_, decl)| !matches!(decl.shape, Shape::Counter));
    fields.map(|(position, _)| position).collect()
}
