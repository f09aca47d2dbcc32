//! Version 3 has no type `Watch` any more: its objects become elements of [`Issue::watchers`].

use permazen::encoding::Value;
use permazen::{ObjId, Permazen, Result, Tx};

use super::*;

/// How many objects are carried over in one transaction.
const BATCH: usize = 500;

/// Carries all of them over. If the program is killed, run it again: it continues with the objects
/// that are left.
pub fn carry_over(db: &Permazen) -> Result<()> {
    let watches: Vec<ObjId> = db.read(|tx| {
        let mut watches = Vec::new();
        // The objects of types that this version does not have.
        for object in tx.untyped()? {
            let object = object?;
            if object.type_name()? == "Watch" {
                watches.push(object.id());
            }
        }
        Ok(watches)
    })?;
    for batch in watches.chunks(BATCH) {
        db.write(|tx| batch.iter().try_for_each(|watch| carry_over_one(tx, *watch)))?;
    }
    Ok(())
}

fn carry_over_one(tx: &Tx, watch: ObjId) -> Result<()> {
    let watch = tx.any(watch);
    // Another program may have deleted it meanwhile.
    if !watch.exists()? {
        return Ok(());
    }
    if let (Value::Ref(issue), Value::Ref(user)) = (watch.get("issue")?, watch.get("user")?) {
        tx.get::<Issue>(issue)?.watchers()?.add(tx.get::<User>(user)?)?;
        watch.delete()?;
    }
    Ok(())
}
