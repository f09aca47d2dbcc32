//! Values of the types of fields: random ones, and their texts.

use std::collections::{BTreeMap, BTreeSet};

use permazen::encoding::{FieldType, Value};
use permazen::model::{CounterOf, ListOf, MapOf, Model, SetOf};
use permazen::object::FieldValue;
use permazen::{Any, AnyObj, Counter, Obj, ObjId, Ref, Result};

use crate::evolutions::naive::{Cell, Constants, Content, Kind, Shape, Type, java_text};

/// Random numbers, and the objects that references can be to.
pub(crate) struct Random {
    state: u64,
    pub(crate) objects: Vec<(ObjId, &'static str)>,
    /// Whether texts may be longer than an index of the store allows.
    pub(crate) long_texts: bool,
}

/// A text that is too long for an index of LMDB.
pub(crate) const LONG: usize = 600;

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random { state: seed, objects: Vec::new(), long_texts: false };
        // Seeds that follow each other would give the same numbers, one later each.
        random.state = random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

/// A type of simple values.
pub(crate) trait Simple: FieldType + Clone {
    fn of() -> Type;
    fn random(random: &mut Random) -> Self;
    fn cell(&self) -> Cell;
    const REQUIRED: bool = false;
}

impl Simple for i32 {
    fn of() -> Type {
        Type::Int
    }
    fn random(random: &mut Random) -> Self {
        random.pick(&[0, 1, 7, -7, 2000, i32::MAX, i32::MIN])
    }
    fn cell(&self) -> Cell {
        Some(self.to_string())
    }
}

impl Simple for i64 {
    fn of() -> Type {
        Type::Long
    }
    fn random(random: &mut Random) -> Self {
        random.pick(&[0, 0, 1, 7, -7, 2000, 5_000_000_000, i64::MAX, i64::MIN])
    }
    fn cell(&self) -> Cell {
        Some(self.to_string())
    }
}

impl Simple for f64 {
    fn of() -> Type {
        Type::Double
    }
    fn random(random: &mut Random) -> Self {
        random.pick(&[0.0, 1.0, 7.0, -0.0, 0.5, 2000.0, 5e9, 1e20])
    }
    fn cell(&self) -> Cell {
        Some(java_text(*self))
    }
}

impl Simple for String {
    fn of() -> Type {
        Type::Text
    }
    fn random(random: &mut Random) -> Self {
        if random.long_texts && random.one_in(12) {
            return random.pick(&["x", "y"]).repeat(LONG);
        }
        random.pick(&["", "a", "b", "7", "007", "1", "2000", "1.0", "RED", "GREEN", "0"]).to_owned()
    }
    fn cell(&self) -> Cell {
        Some(self.clone())
    }
    const REQUIRED: bool = true;
}

impl<T: Simple> Simple for Option<T>
where
    Option<T>: FieldType,
{
    fn of() -> Type {
        match T::of() {
            Type::Int => Type::IntOrNull,
            of => of,
        }
    }
    fn random(random: &mut Random) -> Self {
        (!random.one_in(3)).then(|| T::random(random))
    }
    fn cell(&self) -> Cell {
        self.as_ref().and_then(T::cell)
    }
}

/// A random object of a type.
pub(crate) fn random_object(random: &mut Random, of: &str) -> ObjId {
    let objects: Vec<ObjId> =
        random.objects.iter().filter(|object| object.1 == of).map(|object| object.0).collect();
    random.pick(&objects)
}

impl Simple for Ref<Any> {
    fn of() -> Type {
        Type::Ref(None)
    }
    fn random(random: &mut Random) -> Self {
        let objects = random.objects.clone();
        Ref::new(random.pick(&objects).0)
    }
    fn cell(&self) -> Cell {
        Some(self.id().to_string())
    }
}

/// A type of fields.
pub(crate) trait Whole {
    fn shape() -> Shape;
    fn random(random: &mut Random) -> Self;
    fn content(&self) -> Content;
    const REQUIRED: bool = false;
}

fn shape(kind: Kind, of: Type, values: Type) -> Shape {
    Shape { kind, of, values }
}

impl<T: Simple> Whole for T {
    fn shape() -> Shape {
        shape(Kind::One, T::of(), T::of())
    }
    fn random(random: &mut Random) -> Self {
        <T as Simple>::random(random)
    }
    fn content(&self) -> Content {
        vec![(self.cell(), None)]
    }
    const REQUIRED: bool = <T as Simple>::REQUIRED;
}

impl Whole for Counter {
    fn shape() -> Shape {
        shape(Kind::Counter, Type::Long, Type::Long)
    }
    fn random(random: &mut Random) -> Self {
        Counter(<i64 as Simple>::random(random))
    }
    fn content(&self) -> Content {
        vec![(Some(self.0.to_string()), None)]
    }
}

impl<T: Simple> Whole for Vec<T> {
    fn shape() -> Shape {
        shape(Kind::List, T::of(), T::of())
    }
    fn random(random: &mut Random) -> Self {
        (0..random.below(4)).map(|_| T::random(random)).collect()
    }
    fn content(&self) -> Content {
        self.iter().map(|element| (element.cell(), None)).collect()
    }
}

fn sorted<W: Whole>(content: impl Iterator<Item = (Cell, Cell)>) -> Content {
    let mut content = content.collect();
    W::shape().sort(&mut content);
    content
}

impl<T: Simple + Ord> Whole for BTreeSet<T> {
    fn shape() -> Shape {
        shape(Kind::Set, T::of(), T::of())
    }
    fn random(random: &mut Random) -> Self {
        (0..random.below(4)).map(|_| T::random(random)).collect()
    }
    fn content(&self) -> Content {
        sorted::<Self>(self.iter().map(|element| (element.cell(), None)))
    }
}

impl<K: Simple + Ord, V: Simple> Whole for BTreeMap<K, V> {
    fn shape() -> Shape {
        shape(Kind::Map, K::of(), V::of())
    }
    fn random(random: &mut Random) -> Self {
        (0..random.below(4)).map(|_| (K::random(random), V::random(random))).collect()
    }
    fn content(&self) -> Content {
        sorted::<Self>(self.iter().map(|(key, value)| (key.cell(), value.cell())))
    }
}

/// The value that an accessor returns.
pub(crate) trait Accessed {
    fn read(self) -> Result<Content>;
}

macro_rules! accessed {
    ($($name:ty),*) => {
        $(impl Accessed for Result<$name> {
            fn read(self) -> Result<Content> {
                Ok(self?.content())
            }
        })*
    };
}
accessed!(i32, i64, f64, String, Option<i32>, Option<String>);

/// An entry of an index.
pub(crate) trait Entry {
    /// The indexed values, and the object.
    fn cells(self) -> (Vec<Cell>, ObjId);
}

impl<V: Simple, M: Model> Entry for (V, Obj<'_, M>) {
    fn cells(self) -> (Vec<Cell>, ObjId) {
        (vec![self.0.cell()], self.1.id())
    }
}

impl<V: Simple, W: Simple, M: Model> Entry for ((V, W), Obj<'_, M>) {
    fn cells(self) -> (Vec<Cell>, ObjId) {
        (vec![self.0.0.cell(), self.0.1.cell()], self.1.id())
    }
}

impl<V: Simple, M: Model, K: Simple> Entry for (V, Obj<'_, M>, K) {
    fn cells(self) -> (Vec<Cell>, ObjId) {
        (vec![self.0.cell(), self.2.cell()], self.1.id())
    }
}

/// An enum.
pub(crate) trait Named: FieldType + Copy {
    const CONSTANTS: Constants;
    fn all() -> &'static [Self];
    fn name(self) -> &'static str;
}

macro_rules! enumeration {
    ($name:ident { $($(#[$attribute:meta])* $constant:ident = $text:literal was [$($was:literal),*]),* }) => {
        #[derive(permazen::PermazenEnum, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$attribute])* $constant,)*
        }
        impl Named for $name {
            const CONSTANTS: Constants = &[$(($text, &[$($was),*])),*];
            fn all() -> &'static [Self] {
                &[$($name::$constant),*]
            }
            fn name(self) -> &'static str {
                match self { $($name::$constant => $text),* }
            }
        }
        impl Simple for $name {
            fn of() -> Type {
                Type::Enum(Self::CONSTANTS)
            }
            fn random(random: &mut Random) -> Self {
                random.pick(Self::all())
            }
            fn cell(&self) -> Cell {
                Some(self.name().to_owned())
            }
            const REQUIRED: bool = true;
        }
        accessed!($name, Option<$name>);
    };
}

enumeration!(Colors { Red = "RED" was [], Green = "GREEN" was [], Blue = "BLUE" was [] });
enumeration!(More {
    Red = "RED" was [], Green = "GREEN" was [], Blue = "BLUE" was [], Black = "BLACK" was []
});
enumeration!(Fewer { Blue = "BLUE" was [], Red = "RED" was [] });
enumeration!(Renamed {
    Blue = "BLUE" was [],
    #[permazen(was = "RED")]
    Crimson = "CRIMSON" was ["RED"],
    Green = "GREEN" was []
});
enumeration!(Both {
    Red = "RED" was [],
    Crimson = "CRIMSON" was [],
    #[permazen(was = ["GREEN", "BLUE"])]
    Other = "OTHER" was ["GREEN", "BLUE"]
});

impl Accessed for CounterOf<'_> {
    fn read(self) -> Result<Content> {
        Ok(Counter(self.get()?).content())
    }
}

impl<E: Simple> Accessed for Result<ListOf<'_, E>> {
    fn read(self) -> Result<Content> {
        Ok(self?.load::<Vec<E>>()?.content())
    }
}

impl<E: Simple + Ord> Accessed for Result<SetOf<'_, E>> {
    fn read(self) -> Result<Content> {
        Ok(self?.load::<BTreeSet<E>>()?.content())
    }
}

impl<K: Simple + Ord, V: Simple> Accessed for Result<MapOf<'_, K, V>> {
    fn read(self) -> Result<Content> {
        Ok(self?.load::<BTreeMap<K, V>>()?.content())
    }
}

impl<M: Model> Accessed for Result<Option<Obj<'_, M>>> {
    fn read(self) -> Result<Content> {
        Ok(vec![(self?.map(|object| object.id().to_string()), None)])
    }
}

impl Accessed for Result<Option<AnyObj<'_>>> {
    fn read(self) -> Result<Content> {
        Ok(vec![(self?.map(|object| object.id().to_string()), None)])
    }
}

fn dynamic_cell(value: &Value) -> Cell {
    match value {
        Value::Null => None,
        Value::Int(number) => Some(number.to_string()),
        Value::Long(number) => Some(number.to_string()),
        Value::Double(number) => Some(java_text(*number)),
        Value::String(text) => Some(text.to_string()),
        Value::Ref(id) => Some(id.to_string()),
        Value::Enum(constant) => constant.to_string().split('#').next().map(str::to_owned),
        other => panic!("{other:?}"),
    }
}

/// The content of a field as the object layer reads it.
pub(crate) fn dynamic(value: &FieldValue, shape: &Shape) -> Content {
    let cells = |values: &[Value]| values.iter().map(|of| (dynamic_cell(of), None)).collect();
    let mut content = match value {
        FieldValue::Simple(value) => vec![(dynamic_cell(value), None)],
        FieldValue::Counter(count) => vec![(Some(count.to_string()), None)],
        FieldValue::Set(values) | FieldValue::List(values) => cells(values),
        FieldValue::Map(entries) => {
            entries.iter().map(|(key, value)| (dynamic_cell(key), dynamic_cell(value))).collect()
        }
        other => panic!("{other:?}"),
    };
    shape.sort(&mut content);
    content
}
