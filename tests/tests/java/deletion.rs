//! Deletions that Permazen 5.2.0 for Java gets wrong, or whose result depends there on the order in
//! which the objects of a cascade are deleted. Java leaves this order open.

use std::collections::{BTreeMap, BTreeSet};

use permazen::__internal::schema::SubFieldRole;
use permazen::ObjId;
use permazen::object::Transaction;
use permazen::schema::DeleteAction;
use permazen_tests::outcome::Outcome;

use permazen_tests::trace::references::{Reference, References, options};

/// Why deleting `root` cannot be compared; `None` if it can.
pub fn defect(tx: &Transaction, root: ObjId) -> Outcome<Option<&'static str>> {
    if !tx.exists(root)? {
        return Ok(None);
    }
    let references = References::read(tx)?;
    let refuses = |reference: &Reference| {
        action(reference) == Some(DeleteAction::Exception) && reference.holder != reference.target
    };
    let going = going(tx, root, &references)?;
    let goes = |id: &Option<ObjId>| id.is_some_and(|id| going.contains(&id));
    // An entry of a map can go with its other half.
    let stays = |reference: &Reference| {
        let in_map = reference.field.parent.as_ref().is_some_and(|parent| {
            matches!(parent.role, SubFieldRole::MapKey | SubFieldRole::MapValue)
        });
        !in_map && !going.contains(&reference.holder)
    };
    // Java refuses the deletion before anything is done, and names this reference.
    let mut of_root: Vec<_> = references.to(root).filter(|it| refuses(it)).collect();
    of_root.sort_by_key(|reference| (reference.field.storage_id, reference.holder));
    if let Some(first) = of_root.first() {
        return Ok((!stays(first)).then_some("what forbids it may go too"));
    }
    // Java refuses it too if one stays, sooner or later.
    let refusing = || going.iter().flat_map(|id| references.to(*id)).filter(|it| refuses(it));
    if refusing().next().is_some() && !refusing().any(stays) {
        return Ok(Some("order: refused unless the holder goes first"));
    }
    for id in &going {
        let mut holders: BTreeMap<_, BTreeSet<ObjId>> = BTreeMap::new();
        for reference in references.to(*id) {
            let changes =
                matches!(action(reference), Some(DeleteAction::Nullify | DeleteAction::Remove));
            if changes && reference.field.parent.is_some() {
                holders.entry(reference.field.storage_id).or_default().insert(reference.holder);
            }
        }
        if holders.values().any(|holders| holders.len() > 1) {
            return Ok(Some("D25: a collection field of several holders"));
        }
    }
    for list in &references.lists {
        let removed = options(&list.element)
            .is_some_and(|options| options.inverse_delete == DeleteAction::Remove);
        let mut last = None;
        for element in list.content.iter().filter(|_| removed) {
            if goes(element) && goes(&last) {
                return Ok(Some("D3: adjacent elements that are to be removed"));
            }
            last = *element;
        }
    }
    let mut keys: BTreeSet<_> = BTreeSet::new();
    for entry in &references.entries {
        let nullified = |part: &str| {
            let part = entry.map.sub_field(part).and_then(|part| options(part));
            part.is_some_and(|options| options.inverse_delete == DeleteAction::Nullify)
        };
        if goes(&entry.key) && nullified("key") {
            if !keys.insert((entry.holder, entry.map.storage_id)) {
                return Ok(Some("order: several keys become null, the last stays"));
            }
            if going.contains(&entry.holder) && going.len() > 1 {
                return Ok(Some("order: an entry is replaced unless its holder goes first"));
            }
        }
        let missing = |id: &Option<ObjId>| -> Outcome<bool> {
            Ok(goes(id) || id.is_some_and(|id| !tx.exists(id).unwrap_or_default()))
        };
        if goes(&entry.key) && missing(&entry.value)? || missing(&entry.key)? && goes(&entry.value)
        {
            return Ok(Some("D29: both halves of an entry refer to what is missing"));
        }
    }
    Ok(None)
}

/// All objects that are deleted if nothing is refused.
fn going(tx: &Transaction, root: ObjId, references: &References) -> Outcome<BTreeSet<ObjId>> {
    let mut going = BTreeSet::new();
    let mut left = vec![root];
    while let Some(id) = left.pop() {
        if !tx.exists(id)? || !going.insert(id) {
            continue;
        }
        for reference in &references.all {
            let forward = reference.options().is_some_and(|options| options.forward_delete);
            if reference.holder == id && forward {
                left.push(reference.target);
            }
            if reference.target == id && action(reference) == Some(DeleteAction::Delete) {
                left.push(reference.holder);
            }
        }
    }
    Ok(going)
}

fn action(reference: &Reference) -> Option<DeleteAction> {
    reference.options().map(|options| options.inverse_delete)
}
