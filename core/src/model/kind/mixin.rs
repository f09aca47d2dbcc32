//! Mix-ins: structs whose fields are those of several models.
//!
//! The derive of a model does not see the fields of a mix-in. So it only says where the block of a
//! mix-in begins among the fields of the model, and everything else is put together here and by the
//! compiler: declarations as constant data, accessors and constants as types.

use std::any::TypeId;
use std::marker::PhantomData;

use super::constant::same;
use crate::model::declare::{CompositeDecl, FieldDecl};
use crate::model::error::Result;
use crate::model::handle::{Accessors, Handle};
use crate::model::hook::declare::HookDecl;
use crate::model::load::{ObjectReader, ObjectWriter};
use crate::model::model_info::{MixinAt, ModelInfo};

/// A struct whose fields become fields of each model that flattens it.
/// `#[derive(PermazenFields)]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no mix-in",
    label = "its fields cannot be those of another struct",
    note = "add `#[derive(PermazenFields)]` to the struct"
)]
pub trait Mixin: Sized + 'static {
    /// The type itself, as generated code names it.
    #[doc(hidden)]
    type Itself: Mixin;

    /// The accessors of the fields in an object, before those in `R`.
    #[doc(hidden)]
    type Fields<'t, R: Accessors<'t>>: Accessors<'t>;

    /// The accessors of the fields in an object of any model that has them.
    #[doc(hidden)]
    type Shared<'t>: ?Sized;

    /// The constants of the fields in `S`, where they begin at `P`.
    #[doc(hidden)]
    type Constants<S, P: MixinOffset>: Constants;

    /// The path of the struct.
    #[doc(hidden)]
    const PATH: &'static str;

    /// The fields, first its own and then those of its mix-ins.
    #[doc(hidden)]
    const FIELDS: &'static [FieldDecl];

    /// The composite indexes, first its own and then those of its mix-ins.
    #[doc(hidden)]
    const COMPOSITES: &'static [CompositeDecl];

    /// Its mix-ins, and the mix-ins of these.
    #[doc(hidden)]
    const MIXINS: &'static [Included];

    /// The hooks.
    #[doc(hidden)]
    const HOOKS: &'static [HookDecl] = &[];

    /// The accessors of an object.
    #[doc(hidden)]
    fn shared<'f, 't: 'f, A: Accessors<'t>>(accessors: &'f A) -> &'f Self::Shared<'t>;

    /// Reads the struct of a stored object.
    ///
    /// # Errors
    /// If a value cannot be decoded, or is null where the type in the struct cannot be null.
    #[doc(hidden)]
    fn read(from: &mut ObjectReader<'_>) -> Result<Self>;

    /// Writes all fields.
    ///
    /// # Errors
    /// If a field cannot hold its value.
    #[doc(hidden)]
    fn write(&self, to: &mut ObjectWriter<'_>) -> Result<()>;
}

/// A mix-in of a model, and where its fields and composite indexes begin among those of the model.
#[derive(Debug, Clone, Copy)]
pub struct Included {
    pub(crate) at: MixinAt,
    /// The hooks of the mix-in.
    pub(crate) hooks: &'static [HookDecl],
}

impl Included {
    const fn of<X: Mixin>() -> Self {
        let at = MixinAt { path: X::PATH, type_id: TypeId::of::<X>, fields: 0, composites: 0 };
        Included { at, hooks: X::HOOKS }
    }

    const fn after(mut self, fields: usize, composites: usize) -> Self {
        self.at.fields += fields;
        self.at.composites += composites;
        self
    }

    /// Whether each of these lists has the mix-in with this path, which is all that constant code
    /// can compare: two structs of the same path are in bodies of functions.
    pub const fn in_all(path: &str, lists: &[&[Included]]) -> bool {
        let mut list = 0;
        while list < lists.len() {
            let (mut at, mut found) = (0, false);
            while at < lists[list].len() {
                found |= same(lists[list][at].at.path, path);
                at += 1;
            }
            if !found {
                return false;
            }
            list += 1;
        }
        true
    }
}

impl FieldDecl {
    /// Says which mix-in declares the field.
    #[must_use]
    pub const fn declared_in<X: Mixin>(mut self) -> Self {
        self.declared_in = Some(TypeId::of::<X>);
        self
    }
}

impl CompositeDecl {
    /// Says which mix-in declares the index.
    #[must_use]
    pub const fn declared_in<X: Mixin>(mut self) -> Self {
        self.declared_in = Some(TypeId::of::<X>);
        self
    }
}

impl ModelInfo {
    /// Where mix-in `X` is in the model, if the model has it.
    pub(crate) fn included<X: Mixin>(&self) -> Option<&MixinAt> {
        self.mixin(TypeId::of::<X>())
    }
}

/// Where the fields of mix-in `X` begin in the model of an object.
pub fn start_of<X: Mixin>(object: &Handle<'_>) -> usize {
    // Each model of a kind has the mix-in: constant code has checked it.
    object.binding.info.included::<X>().map_or(usize::MAX / 2, |mixin| mixin.fields)
}

/// The declarations of a mix-in, for the declarations of a struct that flattens it.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    included: Included,
    fields: &'static [FieldDecl],
    composites: &'static [CompositeDecl],
    mixins: &'static [Included],
}

/// Joins the items of a struct with those of the mix-ins that it flattens.
macro_rules! joined {
    ($(#[$doc:meta])* $name:ident($list:ident: $item:ty = $empty:expr), $count:ident) => {
        /// How many items there are with those of the mix-ins.
        pub const fn $count(own: usize, blocks: &[Block]) -> usize {
            let (mut sum, mut block) = (own, 0);
            while block < blocks.len() {
                sum += blocks[block].$list.len();
                block += 1;
            }
            sum
        }

        $(#[$doc])*
        pub const fn $name<const N: usize>(
            own: &[$item],
            own_fields: usize,
            blocks: &[Block],
        ) -> [$item; N] {
            let mut all = [$empty; N];
            let mut count = 0;
            while count < own.len() {
                all[count] = own[count];
                count += 1;
            }
            let (mut block, mut fields) = (0, own_fields);
            while block < blocks.len() {
                let mut at = 0;
                while at < blocks[block].$list.len() {
                    all[count] = blocks[block].$list[at].after(fields);
                    count += 1;
                    at += 1;
                }
                fields += blocks[block].fields.len();
                block += 1;
            }
            all
        }
    };
}

impl Block {
    /// The declarations of `X`.
    pub const fn of<X: Mixin>() -> Self {
        Block {
            included: Included::of::<X>(),
            fields: X::FIELDS,
            composites: X::COMPOSITES,
            mixins: X::MIXINS,
        }
    }

    joined! {
        /// The fields of a struct and of its mix-ins.
        fields(fields: FieldDecl = FieldDecl::counter("")), count_fields
    }

    joined! {
        /// The composite indexes of a struct and of its mix-ins.
        composites(composites: CompositeDecl = CompositeDecl::new("", &[])), count_composites
    }

    /// How many mix-ins there are.
    pub const fn count_mixins(blocks: &[Block]) -> usize {
        let (mut sum, mut block) = (0, 0);
        while block < blocks.len() {
            sum += 1 + blocks[block].mixins.len();
            block += 1;
        }
        sum
    }

    /// The mix-ins of a struct and theirs. `fields` and `composites` are how many the struct has.
    pub const fn mixins<const N: usize>(
        mut fields: usize,
        mut composites: usize,
        blocks: &[Block],
    ) -> [Included; N] {
        const AT: MixinAt =
            MixinAt { path: "", type_id: TypeId::of::<()>, fields: 0, composites: 0 };
        const NONE: Included = Included { at: AT, hooks: &[] };
        let mut all = [NONE; N];
        let (mut block, mut count) = (0, 0);
        while block < blocks.len() {
            let Block { included, mixins, .. } = &blocks[block];
            all[count] = included.after(fields, composites);
            count += 1;
            let mut at = 0;
            while at < mixins.len() {
                all[count] = mixins[at].after(fields, composites);
                count += 1;
                at += 1;
            }
            fields += blocks[block].fields.len();
            composites += blocks[block].composites.len();
            block += 1;
        }
        all
    }
}

/// The constants of the fields of a mix-in.
pub trait Constants {
    /// All of them.
    const ALL: Self;
}

/// Where the fields and composite indexes of a mix-in begin. `()` is the beginning.
pub trait MixinOffset {
    /// Where its fields begin.
    const FIELDS: usize;
    /// Where its composite indexes begin.
    const COMPOSITES: usize;
}

impl Constants for () {
    const ALL: Self = ();
}

impl MixinOffset for () {
    const FIELDS: usize = 0;
    const COMPOSITES: usize = 0;
}

/// The place after the first fields and composite indexes at `P`.
#[derive(Debug)]
pub struct Inside<P, const FIELDS: usize, const COMPOSITES: usize>(PhantomData<fn() -> P>);

impl<P: MixinOffset, const F: usize, const C: usize> MixinOffset for Inside<P, F, C> {
    const FIELDS: usize = P::FIELDS + F;
    const COMPOSITES: usize = P::COMPOSITES + C;
}

/// The place after mix-in `X`, which begins at `P`.
#[derive(Debug)]
pub struct Next<P, X>(PhantomData<fn() -> (P, X)>);

impl<P: MixinOffset, X: Mixin> MixinOffset for Next<P, X> {
    const FIELDS: usize = P::FIELDS + X::FIELDS.len();
    const COMPOSITES: usize = P::COMPOSITES + X::COMPOSITES.len();
}
