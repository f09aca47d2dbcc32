//! Statements.

use super::{Literal, Name, Objects, Path, Range, Span};

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Where it stands.
    pub span: Span,
    /// Its kind.
    pub kind: StatementKind,
}

/// The kind of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatementKind {
    /// Lists objects.
    Find(Find),
    /// Shows objects with all their fields.
    Show(Query),
    /// Counts objects.
    Count(Query),
    /// Lists entries of an index.
    Index(IndexEntries),
    /// Creates an object.
    Create(Create),
    /// Changes fields of objects.
    Set(Set),
    /// Deletes objects.
    Delete(Delete),
    /// Moves objects to another schema.
    Migrate(Migrate),
    /// Gives objects to be written to a file.
    Export(Query),
    /// Says how a statement would be run.
    Explain(Explain),
}

/// Which objects, in which order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The objects.
    pub objects: Objects,
    /// The keys by which they are sorted; by ID if this is empty.
    pub order: Vec<Order>,
    /// How many at most.
    pub limit: Option<Limit>,
    /// Which index must be used.
    pub using: Option<Using>,
}

/// A key by which objects are sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The value.
    pub path: Path,
    /// Whether the greatest comes first.
    pub descending: bool,
}

/// Which index must be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Using {
    /// No index.
    None(Span),
    /// This one: the names between the dots, with the type first unless it is only `#` and a
    /// storage ID.
    Index(Vec<Name>),
}

/// Lists objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Find {
    /// Which ones.
    pub query: Query,
    /// The columns that are shown of each; if this is empty, all fields.
    pub columns: Vec<Path>,
}

/// Lists entries of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntries {
    /// The names between the dots, as in [`Using::Index`].
    pub index: Vec<Name>,
    /// The bounds of the first columns.
    pub bounds: Vec<Bounds>,
    /// Whether the last entry comes first.
    pub reverse: bool,
    /// How many at most.
    pub limit: Option<Limit>,
}

/// The bounds of a column of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bounds {
    /// This value.
    Value(Literal),
    /// A value of this range.
    Range(Range),
}

/// Creates an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Create {
    /// Its type.
    pub type_name: Name,
    /// Its fields. Those left out have their default values.
    pub fields: Vec<(Name, Literal)>,
}

/// Changes fields of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Set {
    /// Whether `all` is written, which a whole type needs.
    pub all: bool,
    /// Which objects.
    pub query: Query,
    /// The changes, at least one. They are made one after the other.
    pub assignments: Vec<Assignment>,
}

/// One change of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Where it stands.
    pub span: Span,
    /// The field.
    pub field: Name,
    /// The change.
    pub change: Change,
}

/// A change of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// `= VALUE`: the whole value.
    Assign(Literal),
    /// `[KEY] = VALUE`: the value of a map for a key, or the element of a list at a position.
    AssignAt(Literal, Literal),
    /// `+= NUMBER`
    Increase(Literal),
    /// `-= NUMBER`
    Decrease(Literal),
    /// `add VALUE`: to a set, or to the end of a list.
    Add(Literal),
    /// `remove VALUE`: an element of a set, all such elements of a list, a key of a map.
    Remove(Literal),
    /// `insert VALUE at POSITION`: into a list.
    Insert(Literal, Literal),
    /// `put KEY: VALUE`: into a map.
    Put(Literal, Literal),
}

/// Deletes objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    /// Whether `all` is written, which a whole type needs.
    pub all: bool,
    /// Which objects.
    pub query: Query,
}

/// Moves objects to another schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrate {
    /// Which objects.
    pub query: Query,
    /// The schema: its number, its ID, or `newest`.
    pub schema: Literal,
    /// Whether objects also move that lose something by that: `lossy`.
    pub lossy: bool,
}

/// Says how a statement would be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explain {
    /// Whether it is also run, to count what it does.
    pub run: bool,
    /// The statement, which is no `explain`.
    pub statement: Box<Statement>,
}

/// How many at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// This number.
    Count(u64),
    /// As many as a parameter says, [`LiteralKind::Parameter`](super::LiteralKind::Parameter).
    Parameter(Literal),
}
