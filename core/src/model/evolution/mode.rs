//! When objects move, and which values may be lost then.

use crate::encoding::Encoding;
use crate::model::declare::{FieldDecl, Upgrade};
use crate::schema::{ResolvedField, ResolvedKind};

/// When objects move to the schema of the models, and which values they may lose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Evolution {
    /// An object moves only when it must, and only if it loses no values except those that the
    /// model allows it to lose.
    #[default]
    Exact,
    /// As in Java: every access to a field moves the object. Values are converted as well as
    /// possible, collections whose definition has changed start empty, and fields that the model
    /// lacks are dropped. For a field with `upgrade`, that rule is used instead.
    AsJava,
}

impl FieldDecl {
    /// The conversions that are allowed for values of the field when an object moves.
    pub(crate) fn rule(
        &self,
        evolution: Evolution,
        from: &ResolvedField,
        to: &ResolvedField,
    ) -> Upgrade {
        match (self.upgrade, evolution) {
            // A statement of the model holds under any rules.
            (Some(stated), _) => stated,
            (None, Evolution::Exact) => Upgrade::Exact,
            (None, Evolution::AsJava) => java_rule(from, to),
        }
    }
}

/// Whether no value of a field may be lost.
pub(super) fn is_exact(evolution: Evolution, decl: &FieldDecl) -> bool {
    decl.upgrade.map_or(evolution == Evolution::Exact, |stated| stated == Upgrade::Exact)
}

/// Java's treatment of the values of a field of another definition. It converts single values and
/// counters, but only numbers become counters. Everything else starts at the default.
fn java_rule(from: &ResolvedField, to: &ResolvedField) -> Upgrade {
    use ResolvedKind::{Counter, Simple};
    // Text that looks like a number is still text.
    let is_number = |encoding: &dyn Encoding| {
        encoding.from_text("0").is_ok_and(|zero| zero.to_counter().is_some())
    };
    match (&from.kind, &to.kind) {
        (Simple(_) | Counter, Simple(_)) | (Counter, Counter) => Upgrade::Lossy,
        (Simple(from), Counter) if is_number(&*from.encoding) => Upgrade::Lossy,
        _ => Upgrade::Reset,
    }
}
