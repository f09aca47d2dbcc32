//! Pairs in ranges that have no meaning in any recorded schema.

use std::collections::BTreeMap;

use permazen::__internal::layout::FORMAT_VERSION_KEY;
use permazen::StorageId;
use permazen::kv::{Direction, KeySpan, KvRead};

use crate::report::finding::{Class, Finding};
use crate::report::output::{Checked, Output};
use crate::tables::ranges::Range;

/// Reports every pair outside the ranges that have a meaning.
pub(crate) fn check(
    kv: &dyn KvRead,
    ranges: &BTreeMap<StorageId, Range>,
    out: &mut Output<'_>,
) -> Checked {
    let mut format_version_end = FORMAT_VERSION_KEY.to_vec();
    format_version_end.push(0);
    let mut gaps = Gaps { kv, out };
    gaps.check(&[], FORMAT_VERSION_KEY, "before the format version")?;
    gaps.check(&format_version_end, &[0, 1], "between format version and schema table")?;
    gaps.check(&[0, 3], &[0, 0x80], "between storage ID table and object schema index")?;
    gaps.check(&[0, 0x81], &[0, 0xff], "between object schema index and user meta-data")?;
    let mut min = vec![1];
    for id in ranges.keys() {
        let (start, end) = id.key_range();
        gaps.check(&min, &start, "of no object type and no index")?;
        min = end;
    }
    gaps.check(&min, &[0xff], "of no object type and no index")?;
    gaps.reserved()
}

struct Gaps<'a, 'o> {
    kv: &'a dyn KvRead,
    out: &'a mut Output<'o>,
}

impl Gaps<'_, '_> {
    fn check(&mut self, min: &[u8], max: &[u8], place: &str) -> Checked {
        if min >= max {
            return Ok(());
        }
        for pair in self.kv.scan(KeySpan::new(min, Some(max)), Direction::Forward)? {
            let (key, value) = pair?;
            self.out.pair()?;
            let detail = format!("the key lies in a range {place}, which must be empty");
            self.out.report(Finding::new(Class::ForeignKey, &key, detail).value(&value))?;
        }
        Ok(())
    }

    /// Keys from `ff` up are not Permazen's. They are legal, but other programs should not write
    /// them.
    fn reserved(&mut self) -> Checked {
        if let Some((key, value)) = self.kv.at_least(&[0xff], None)? {
            let finding = Finding::new(
                Class::ReservedKey,
                &key,
                "keys from ff up are reserved and not checked; this is the first",
            );
            self.out.report(finding.value(&value).unrepairable())?;
        }
        Ok(())
    }
}
