//! Types of a program with the names of the library's types, or of types the derive knows.

use permazen::encoding::FieldType;
use permazen::model::{CounterField, Field, Unindexed};
use permazen::{PermazenEnum, PermazenObject};

macro_rules! enums {
    ($($name:ident)*) => {
        $(
            /// An enum with the name of a known type.
            #[derive(PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
            pub(crate) enum $name { $name, Other }
        )*
    };
}

enums! {
    Cell RefCell Mutex Rc Arc Cow Counter Obj HashSet HashMap VecDeque LinkedList BTreeSet BTreeMap
    Ref Any Tx Handle Model Target Accessors ObjId FieldDecl ValueDecl CompositeDecl Indexed
    ObjectReader ObjectWriter Permazen Error EncodeAs EnumType Itself Live Fields
}

/// A field of each.
#[derive(PermazenObject, Debug)]
pub(crate) struct Names {
    pub(crate) cell: Cell,
    pub(crate) ref_cell: Option<RefCell>,
    pub(crate) mutex: Mutex,
    pub(crate) mutexes: Vec<Mutex>,
    pub(crate) rc: Rc,
    pub(crate) arc: Arc,
    pub(crate) cow: Cow,
    #[permazen(simple, indexed, accessor = "the_counter")]
    pub(crate) counter: Counter,
    pub(crate) optional_counter: Option<Counter>,
    pub(crate) counters: Vec<Counter>,
    pub(crate) by_counter: std::collections::BTreeMap<Counter, Counter>,
    pub(crate) counter_array: Box<[Option<Counter>]>,
    pub(crate) counted: permazen::Counter,
    pub(crate) obj: Obj,
    pub(crate) hash_set: HashSet,
    pub(crate) hash_map: Option<HashMap>,
    pub(crate) vec_deque: VecDeque,
    pub(crate) linked_list: LinkedList,
    pub(crate) b_tree_set: BTreeSet,
    pub(crate) b_tree_map: BTreeMap,
    pub(crate) reference: Ref,
    #[permazen(accessor = "the_any")]
    pub(crate) any: Any,
    #[permazen(accessor = "the_tx")]
    pub(crate) tx: Tx,
    pub(crate) handle: Handle,
    pub(crate) model: Model,
    pub(crate) target: Target,
    pub(crate) accessors: Accessors,
    pub(crate) obj_id: ObjId,
    pub(crate) field_decl: FieldDecl,
    pub(crate) value_decl: ValueDecl,
    pub(crate) composite_decl: CompositeDecl,
    pub(crate) indexed: Indexed,
    pub(crate) object_reader: ObjectReader,
    pub(crate) object_writer: ObjectWriter,
    pub(crate) permazen: Permazen,
    pub(crate) error: Error,
    pub(crate) encode_as: EncodeAs,
    pub(crate) enum_type: EnumType,
    pub(crate) itself: Itself,
    pub(crate) live: Live,
    #[permazen(accessor = "the_fields")]
    pub(crate) fields: Fields,
}

#[test]
fn a_type_is_what_the_program_says() {
    let _: Field<Names, Cell, Unindexed> = Names::CELL;
    let _: CounterField<Names> = Names::COUNTED;
    assert_eq!(Counter::encoding_id(), Mutex::encoding_id());
}
