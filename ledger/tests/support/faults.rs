//! Which operations of a host fail, one in each run of a script.

/// The distance between the operations that fail: 1 if `PERMAZEN_FAULTS` is `full`, else `usual`.
pub(crate) fn distance(usual: u64) -> u64 {
    let is_full = std::env::var("PERMAZEN_FAULTS").is_ok_and(|faults| faults == "full");
    if is_full { 1 } else { usual }
}

/// The numbers of the operations that fail, without an end. Rows of runs begin at different ones,
/// so that together they cover more of them.
pub(crate) fn failing(row: u64, distance: u64) -> impl Iterator<Item = u64> {
    (0..).map(move |run| 1 + row % distance + run * distance)
}
