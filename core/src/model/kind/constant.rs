//! Texts and lists at compile time.

/// Whether two texts are equal.
pub(super) const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// The items of these lists. `none` is any item.
pub const fn joined<T: Copy, const N: usize>(lists: &[&[T]], none: T) -> [T; N] {
    let mut all = [none; N];
    let (mut list, mut count) = (0, 0);
    while list < lists.len() {
        let mut at = 0;
        while at < lists[list].len() {
            all[count] = lists[list][at];
            count += 1;
            at += 1;
        }
        list += 1;
    }
    all
}

/// Whether no name occurs twice.
pub const fn distinct(names: &[&str]) -> bool {
    let mut at = 0;
    while at < names.len() {
        let mut other = 0;
        while other < at {
            if same(names[at], names[other]) {
                return false;
            }
            other += 1;
        }
        at += 1;
    }
    true
}
