//! Whether the text that a part can match has a longest length, as Java computes it. Look-behind
//! requires one.
//!
//! Java counts in 32 bits and does not notice an overflow. It gives a greedily repeated character a
//! longest length. It gives a repeated group no length if the group can match in several ways.
//! Expressions that Java accepts for these reasons must be accepted here.

/// How long the text is that an expression matches, and whether it can match in several ways.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// The longest length, as Java counts it.
    longest: i32,
    has_limit: bool,
    /// Whether there is only one way to match.
    one_way: bool,
}

/// The part of a pattern that a quantifier repeats.
#[derive(Debug, Clone, Copy)]
pub(super) enum Atom {
    /// A character, or a class of them.
    Char,
    /// A group, capturing or not.
    Group(Extent),
    /// Anything else.
    Whole(Extent),
}

/// A quantifier.
#[derive(Debug, Clone, Copy)]
pub(super) enum Repetition {
    /// `?` or `{0,1}`.
    Optional,
    /// From `least` to `most` times; `None` means without limit.
    Times { least: i32, most: Option<i32>, mode: Mode },
}

/// The character after a quantifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nothing.
    Greedy,
    /// `?`
    Lazy,
    /// `+`
    Possessive,
}

impl Atom {
    /// A match of a position between characters.
    pub(super) const POSITION: Atom = Atom::Whole(Extent::EMPTY);
    /// `\R`
    pub(super) const LINE_BREAK: Atom = Atom::Whole(Extent { longest: 2, ..Extent::EMPTY });
    /// `\X`, for which Java computes no length.
    pub(super) const CLUSTER: Atom = Atom::Whole(Extent { one_way: false, ..Extent::EMPTY });

    pub(super) fn extent(self) -> Extent {
        match self {
            Atom::Char => Extent { longest: 1, ..Extent::EMPTY },
            Atom::Group(extent) | Atom::Whole(extent) => extent,
        }
    }
}

impl Extent {
    pub(super) const EMPTY: Extent = Extent { longest: 0, has_limit: true, one_way: true };
    pub(super) const WITHOUT_LIMIT: Extent = Extent { has_limit: false, ..Extent::EMPTY };

    pub(super) fn has_limit(self) -> bool {
        self.has_limit
    }

    /// One part after the other.
    pub(super) fn then(self, next: Extent) -> Extent {
        Extent {
            // Java's sum overflows without notice, and a pattern must be accepted where Java
            // accepts it.
            longest: self.longest.wrapping_add(next.longest),
            has_limit: self.has_limit && next.has_limit,
            one_way: self.one_way && next.one_way,
        }
    }

    /// One part or the other.
    pub(super) fn or(self, other: Extent) -> Extent {
        Extent {
            longest: self.longest.max(other.longest),
            has_limit: self.has_limit && other.has_limit,
            one_way: false,
        }
    }

    /// This part, and then `part` repeated.
    pub(super) fn then_repeated(self, part: Atom, repetition: Repetition) -> Extent {
        let extent = part.extent();
        // Java gives an optional part the length of the part itself.
        let Repetition::Times { least, most, mode } = repetition else {
            return self.then(Extent { one_way: false, ..extent });
        };
        // Java gives such a character the greatest length, so it has a limit where a group has
        // none.
        if matches!((part, most, mode), (Atom::Char, None, Mode::Greedy)) {
            return self.then(Extent { longest: i32::MAX, one_way: false, ..extent });
        }
        let in_several_ways = matches!(part, Atom::Group(group) if !group.one_way);
        let longest =
            extent.longest.wrapping_mul(most.unwrap_or(i32::MAX)).wrapping_add(self.longest);
        Extent {
            longest,
            has_limit: self.has_limit
                && extent.has_limit
                // An overflow makes the length smaller, and Java takes that as a sign of no limit.
                && longest >= self.longest
                // Java gives a repeated group that matches in several ways no length, unless it is
                // possessive.
                && (mode == Mode::Possessive || !in_several_ways),
            one_way: self.one_way && extent.one_way && Some(least) == most,
        }
    }
}
