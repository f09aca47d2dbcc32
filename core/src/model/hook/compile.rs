//! Binds declared hooks to the recorded schemas, as listeners of the object layer, in the
//! set that is called before all others.

use std::sync::Arc;

use super::call::hook;
use super::declare::{Fields, HookDecl, On};
use super::former::stored_ids;
use super::route::{Route, WatchedAt};
use crate::model::binding::{Binding, Models};
use crate::model::declare::Shape;
use crate::model::error::Result;
use crate::model::model_set::ModelSet;
use crate::object::{self, FieldListener, IdFilter, ListenerSet, Watch};
use crate::schema::SchemaBundle;

/// The listeners that call the hooks: for each model its own and then those of its mix-ins, in the
/// order of the models and the blocks; then those of kinds.
pub(crate) fn compile(
    set: &ModelSet,
    models: &Models,
    bundle: &Arc<SchemaBundle>,
) -> Result<Arc<ListenerSet>> {
    let mut listeners = ListenerSet::new(Arc::clone(bundle));
    let mut add_all = |hooks: &[HookDecl], places: &[(&Binding, usize)]| -> Result<()> {
        hooks.iter().try_for_each(|decl| add(&mut listeners, (models, bundle), places, decl))
    };
    // The order of the models and blocks is the order in which the hooks are called.
    for model in set.registered().iter().filter(|model| !model.hooks.is_empty()) {
        let binding = models.named(model.info.name)?;
        for at in &model.hooks {
            add_all(at.hooks, &[(binding, at.start)])?;
        }
    }
    for kind in set.hooked_kinds() {
        add_all(kind.hooks, &kind.among.places(models)?)?;
    }
    Ok(Arc::new(listeners))
}

/// Registers a hook for objects of these models. With each model stands where the fields begin in
/// it whose positions the hook names.
fn add(
    listeners: &mut ListenerSet,
    (models, bundle): (&Models, &SchemaBundle),
    places: &[(&Binding, usize)],
    decl: &HookDecl,
) -> Result<()> {
    // One hook for all places, so that it counts as the same one and is called once.
    let hook = hook(decl.name, Box::new(decl.run));
    match decl.on {
        On::Create => {
            let listener = object::created(hook);
            for (binding, _) in places {
                listeners.on_create(binding.storage_id(), Arc::clone(&listener))?;
            }
        }
        On::Delete => {
            let listener = object::deleting(hook);
            for (binding, _) in places {
                listeners.on_delete(itself(binding)?, Arc::clone(&listener))?;
            }
        }
        On::Change(fields) => {
            let listener = object::changed(hook);
            for (binding, start) in places {
                watch(listeners, bundle, binding, &positions(binding, *start, fields), &listener)?;
            }
        }
        On::ChangeAlong(route, fields) => {
            let listener = object::changed(hook);
            let fields: Vec<WatchedAt> = fields.iter().map(|field| field()).collect();
            watch_along(listeners, (models, bundle), &route(), &fields, &listener)?;
        }
        On::DeleteAlong(route) => {
            let watch = route().watch(models, None)?;
            listeners.on_delete(watch, object::deleting(hook))?;
        }
        // The rules have these.
        On::Validate(_) => {}
    }
    Ok(())
}

/// Calls a listener after changes of the fields at these positions.
pub(super) fn watch(
    listeners: &mut ListenerSet,
    bundle: &SchemaBundle,
    binding: &Binding,
    positions: &[usize],
    listener: &FieldListener,
) -> Result<()> {
    for field in stored_ids(binding, positions, bundle)? {
        listeners.on_change(field, itself(binding)?, Arc::clone(listener))?;
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
        // Objects that have not moved tell of the field under its former storage ID.
        for field in stored_ids(binding, positions, bundle)? {
            let watch = route.watch(models, Some(binding))?;
            listeners.on_change(field, watch, Arc::clone(listener))?;
        }
        Ok(())
    };
    for field in fields {
        for (binding, start) in field.among.places(models)? {
            add(binding, &[start + field.position])?;
        }
    }
    // Without fields, all fields of the objects at the end are watched.
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

/// The positions of the fields that a hook watches, whose own positions begin at `start`.
fn positions(binding: &Binding, start: usize, fields: Fields) -> Vec<usize> {
    match fields {
        Fields::These(fields) => fields.iter().map(|position| start + position()).collect(),
        Fields::AllBut(except) => {
            let except: Vec<usize> = except.iter().map(|position| start + position()).collect();
            let mut all = watchable(binding);
            all.retain(|position| !except.contains(position));
            all
        }
    }
}

/// The positions of all fields whose changes are reported to hooks. Those of counters are not.
pub(super) fn watchable(binding: &Binding) -> Vec<usize> {
    let fields = binding.info.fields.iter().enumerate();
    let fields = fields.filter(|(_, decl)| !matches!(decl.shape, Shape::Counter));
    fields.map(|(position, _)| position).collect()
}
