//! The language as text: parsing, printing, mistakes, and the text forms of values and names.

mod mistakes;
mod random;
mod round_trip;
mod values;
