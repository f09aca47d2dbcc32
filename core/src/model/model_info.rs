//! The data about a registered model at run time.

use std::any::TypeId;

use super::declare::{CompositeDecl, FieldDecl, UpgradeWith};
use super::error::Result;
use super::load::ObjectReader;
use super::rules::validating::{Validates, Validating};

/// The data about a registered model at run time.
#[derive(Debug, Clone)]
pub(crate) struct ModelInfo {
    pub(crate) type_id: TypeId,
    pub(crate) name: &'static str,
    pub(crate) storage_id: u32,
    pub(crate) fields: &'static [FieldDecl],
    pub(crate) composites: &'static [CompositeDecl],
    pub(crate) mixins: Vec<MixinAt>,
    pub(crate) removed: &'static [&'static str],
    pub(crate) upgrade_with: Option<UpgradeWith>,
    pub(crate) singleton: bool,
    pub(crate) validates: Validates,
    pub(crate) validate: Option<Validate>,
}

/// Reads the struct of an object, and calls the functions that check it.
pub(crate) type Validate = fn(&mut ObjectReader<'_>, &mut Validating) -> Result<()>;

/// Where the fields and composite indexes of a mix-in begin among those of a model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MixinAt {
    /// The path of the mix-in.
    pub(crate) path: &'static str,
    /// The type of the mix-in.
    pub(crate) type_id: fn() -> TypeId,
    pub(crate) fields: usize,
    pub(crate) composites: usize,
}

impl ModelInfo {
    /// Where the mix-in that is this type is in the model, if the model has it.
    pub(crate) fn mixin(&self, type_id: TypeId) -> Option<&MixinAt> {
        self.mixins.iter().find(|mixin| (mixin.type_id)() == type_id)
    }
}
