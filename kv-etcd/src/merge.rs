//! Merges many ranges into fewer ranges that contain them.

use permazen_kv::{KeyRanges, KeySpan};

/// At most `most` ranges, at least one, that contain all of these. Two neighbours become one range
/// where the keys between them have the most bytes in common, because they are most likely of one
/// object, or of one index.
pub(crate) fn merged(ranges: KeyRanges, most: usize) -> KeyRanges {
    let excess = ranges.len().saturating_sub(most.max(1));
    if excess == 0 {
        return ranges;
    }
    let spans: Vec<KeySpan<'_>> = ranges.iter().collect();
    let mut gaps: Vec<(usize, usize)> = spans
        .windows(2)
        .enumerate()
        .map(|(at, pair)| match pair {
            [before, after] => (in_common(before.max.unwrap_or_default(), after.min), at),
            _ => (0, at),
        })
        .collect();
    // The longest first; among equal ones, the first.
    gaps.sort_unstable_by_key(|(common, at)| (std::cmp::Reverse(*common), *at));
    let mut is_closed = vec![false; spans.len()];
    for (_, at) in gaps.into_iter().take(excess) {
        if let Some(closed) = is_closed.get_mut(at) {
            *closed = true;
        }
    }
    let mut result = KeyRanges::new();
    let mut open: Option<KeySpan<'_>> = None;
    for (span, is_closed) in spans.iter().zip(is_closed) {
        let whole = KeySpan::new(open.map_or(span.min, |open| open.min), span.max);
        if is_closed {
            open = Some(whole);
        } else {
            result.add(whole);
            open = None;
        }
    }
    result
}

/// How many bytes two keys have in common.
fn in_common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn ranges(spans: &[(&str, &str)]) -> KeyRanges {
        spans.iter().map(|(min, max)| KeySpan::new(min.as_bytes(), Some(max.as_bytes()))).collect()
    }

    #[test]
    fn what_has_most_in_common_grows_together() {
        let all = ranges(&[("a", "b"), ("ca", "cb"), ("cxa", "cxb"), ("cxd", "cxe"), ("z", "zz")]);
        assert_eq!(merged(all.clone(), 5), all);
        let four = ranges(&[("a", "b"), ("ca", "cb"), ("cxa", "cxe"), ("z", "zz")]);
        assert_eq!(merged(all.clone(), 4), four);
        assert_eq!(merged(all.clone(), 3), ranges(&[("a", "b"), ("ca", "cxe"), ("z", "zz")]));
        for most in [0, 1] {
            assert_eq!(merged(all.clone(), most), ranges(&[("a", "zz")]));
        }
    }

    #[test]
    fn nothing_is_lost() {
        let mut all = KeyRanges::new();
        for key in 0..1000_u32 {
            all.add_key(&(key.wrapping_mul(2_654_435_761)).to_be_bytes());
        }
        all.add(KeySpan::new(&[0xff; 5], None));
        for most in [1, 2, 7, 126, 999, 1000, 1001, 5000] {
            let few = merged(all.clone(), most);
            assert!(few.len() <= most && few.len() == most.min(all.len()), "{most}: {}", few.len());
            assert!(all.iter().all(|span| few.contains(span.min)));
            assert!(few.contains(&[0xff; 9]));
        }
    }
}
