//! Binds declared hooks to the recorded schemas, as listeners of the object layer, in the
//! set that is called before all others.

use std::sync::Arc;

use super::along::{Route, WatchedAt};
use super::call::hook;
use super::declare::{Fields, HookDecl, On};
use super::former::stored_ids;
use crate::model::binding::{Binding, Models};
use crate::model::declare::Shape;
use crate::model::error::Result;
use crate::model::target::ModelInfo;
use crate::object::{self, FieldListener, IdFilter, ListenerSet, Watch};
use crate::schema::SchemaBundle;

/// The listeners that call the hooks of models, in the order of the models and their blocks.
pub(crate) fn compile(
    infos: &[ModelInfo],
    models: &Models,
    bundle: &Arc<SchemaBundle>,
) -> Result<Arc<ListenerSet>> {
    let mut listeners = ListenerSet::new(Arc::clone(bundle));
    for info in infos.iter().filter(|info| !info.hooks.is_empty()) {
        let binding = models.named(info.name)?;
        for decl in info.hooks {
            add(&mut listeners, (models, bundle), binding, decl)?;
        }
    }
    Ok(Arc::new(listeners))
}

fn add(
    listeners: &mut ListenerSet,
    (models, bundle): (&Models, &SchemaBundle),
    binding: &Binding,
    decl: &HookDecl,
) -> Result<()> {
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
            for field in stored_ids(binding, &positions(binding, fields), bundle)? {
                listeners.on_change(field, itself(binding)?, Arc::clone(&listener))?;
            }
        }
        On::ChangeAlong(route, fields) => {
            let listener = object::changed(hook());
            let fields: Vec<WatchedAt> = fields.iter().map(|field| field()).collect();
            watch_along(listeners, (models, bundle), &route(), &fields, &listener)?;
        }
        On::DeleteAlong(route) => {
            let watch = route().watch(models, None)?;
            listeners.on_delete(watch, object::deleting(hook()))?;
        }
        // The rules have these.
        On::Validate(_) => {}
    }
    Ok(())
}

/// Calls a listener after changes of these fields in objects to which a route leads; of all fields,
/// if there are none.
pub(super) fn watch_along(
    listeners: &mut ListenerSet,
    (models, bundle): (&Models, &SchemaBundle),
    route: &Route,
    fields: &[WatchedAt],
    listener: &FieldListener,
) -> Result<()> {
    let mut add = |binding: &Binding, positions: &[usize]| -> Result<()> {
        for field in stored_ids(binding, positions, bundle)? {
            let watch = route.watch(models, Some(binding))?;
            listeners.on_change(field, watch, Arc::clone(listener))?;
        }
        Ok(())
    };
    for field in fields {
        add((field.binding)(models)?, &[field.position])?;
    }
    if fields.is_empty() {
        for binding in route.ends(models)? {
            add(binding, &watchable(binding))?;
        }
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
