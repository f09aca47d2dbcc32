//! The calls of hooks that led to an error, as the error has and says them.

use crate::id::ObjId;

/// The call of a hook that led to another one, as an error says it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookCall {
    /// `Person::aged`, or what an observer observes.
    pub hook: String,
    /// The object for which it was called.
    pub object: ObjId,
}

/// The text of an error about the calls that led to a failed one: nothing, or the path of calls.
/// The middle of a long path is left out.
pub(crate) fn failed(calls: &[HookCall]) -> String {
    const SHOWN: usize = 4;
    // A path that is a little too long would only have a few calls left out.
    let Some(left_out) = calls.len().checked_sub(2 * SHOWN).filter(|more| *more > 0) else {
        return match calls {
            [] => String::new(),
            calls => format!(" (for what {} did)", path(calls)),
        };
    };
    let (first, last) = (&calls[..SHOWN], &calls[calls.len() - SHOWN..]);
    format!(" (for what {} → {left_out} more → {} did)", path(first), path(last))
}

/// `Person::aged of 4b1e… → Account::check of 17c0…`
fn path(calls: &[HookCall]) -> String {
    let call = |call: &HookCall| format!("{} of {}", call.hook, call.object);
    calls.iter().map(call).collect::<Vec<_>>().join(" → ")
}
