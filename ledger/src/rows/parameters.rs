//! The row with the parameters of a page.

use std::time::Duration;

use permazen_kv::{Direction, KeySpan, KvRead, KvWrite};

use super::page::Rows;
use super::repository::{FORMAT, KNOWN_FORMAT};
use super::sealed;
use crate::error::{LedgerError, Result};
use crate::secret::Secret;

pub(super) const PARAMETERS: u8 = 0x2f;

/// Which commits a page keeps. Always kept are heads of branches, commits with a tag, commits that
/// are being read, and those that merging heads needs. No rule keeps a commit that is reachable
/// from no branch and no tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Retention {
    /// All that are reachable from a branch or a tag.
    #[default]
    All,
    /// Only those that are always kept.
    Heads,
    /// This number of commits of each branch: the newest by generation. At least 1.
    Last(u64),
    /// Those that are not older than this.
    Age(Duration),
}

impl Retention {
    /// The rules have numbers from 0 to this one.
    const LAST_RULE: u8 = 3;

    /// Whether the rule keeps a commit of this age; times are in milliseconds since 1970.
    pub(crate) fn reaches(self, time: u64, now: u64) -> bool {
        match self {
            // In 128 bits: the sum of a time and a long age can exceed 64.
            Retention::Age(age) => u128::from(time) + age.as_millis() >= u128::from(now),
            _ => true,
        }
    }

    pub(super) fn to_bytes(self) -> Result<[u8; 9]> {
        let (rule, number) = match self {
            Retention::All => (0, 0),
            Retention::Heads => (1, 0),
            Retention::Last(count) => (2, count),
            Retention::Age(age) => (3, u64::try_from(age.as_millis()).map_err(|_| too_long(age))?),
        };
        let mut bytes = [rule; 9];
        bytes[1..].copy_from_slice(&u64::to_be_bytes(number));
        Ok(bytes)
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (rule, number) = bytes.split_first()?;
        Some(match (rule, u64::from_be_bytes(number.try_into().ok()?)) {
            (0, 0) => Retention::All,
            (1, 0) => Retention::Heads,
            // The last 0 commits would be the rule that keeps heads only. That rule has one form.
            (2, count @ 1..) => Retention::Last(count),
            (3, age) => Retention::Age(Duration::from_millis(age)),
            _ => return None,
        })
    }
}

fn too_long(age: Duration) -> LedgerError {
    let what = format!(
        "a page cannot keep commits by an age of {age:?}, which is 2⁶⁴ milliseconds or more: keep \
         all of them (Retention::All)"
    );
    LedgerError::InvalidArgument(what)
}

/// The parameters of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) secret: Secret,
    pub(crate) retention: Retention,
}

/// The flag of a page that is deleted.
const DELETED: u8 = 2;

/// Where the flags are in the row.
const FLAGS: usize = 4 + 32;

impl Rows {
    /// Refuses a page that was deleted. Each transaction that writes rows of a page calls this
    /// first.
    pub(crate) fn check_exists(&self, tx: &dyn KvRead) -> Result<()> {
        match self.get(tx, &[PARAMETERS])? {
            // A row that is too short is damage, which reading the parameters reports. It is no
            // deletion.
            Some(value) if value.get(FLAGS).is_none_or(|flags| flags & DELETED == 0) => Ok(()),
            _ => Err(LedgerError::PageGone { page: self.number }),
        }
    }

    /// The page's parameters. `None` if there is no such page.
    pub(crate) fn parameters(&self, tx: &dyn KvRead) -> Result<Option<Parameters>> {
        let Some(value) = self.get(tx, &[PARAMETERS])? else { return Ok(None) };
        let (format, rest) = value.split_first_chunk::<4>().unwrap_or((&[0; 4], &[]));
        let unknown = |what, found: u32, known| {
            Err(sealed::unknown((self.number, &[PARAMETERS]), what, found, known))
        };
        match u32::from_be_bytes(*format) {
            FORMAT => {}
            // No format has this number, so the row has fewer than four bytes or is damaged.
            0 => return Err(self.damaged(&[PARAMETERS], "it is too short")),
            later => return unknown("format", later, KNOWN_FORMAT),
        }
        let (secret, rest) = rest.split_first_chunk::<32>().unwrap_or((&[0; 32], &[]));
        let Some(([flags, rule], _)) = rest.split_first_chunk() else {
            return Err(self.damaged(&[PARAMETERS], "it is too short"));
        };
        // A later version may use the other flags. This one must not act as if they said nothing.
        if flags & !DELETED != 0 {
            return unknown("flags", (*flags).into(), "0 and 2");
        }
        // A later version may have more rules. It is not damage.
        if *rule > Retention::LAST_RULE {
            return unknown("retention rule", (*rule).into(), "0 to 3");
        }
        match Retention::parse(&rest[1..]) {
            // Checked last, so that damage is reported for a deleted page too.
            Some(_) if *flags == DELETED => Ok(None),
            Some(retention) => Ok(Some(Parameters { secret: Secret::new(*secret), retention })),
            None => Err(self.damaged(&[PARAMETERS], "a rule of retention with a wrong number")),
        }
    }

    pub(crate) fn put_parameters(&self, tx: &mut dyn KvWrite, page: &Parameters) -> Result<()> {
        let mut value = FORMAT.to_be_bytes().to_vec();
        value.extend_from_slice(page.secret.as_bytes());
        value.push(0);
        value.extend_from_slice(&page.retention.to_bytes()?);
        self.put(tx, &[PARAMETERS], value)
    }

    /// Marks the page as deleted, which can be undone. No process writes its rows after that.
    pub(crate) fn mark_deleted(&self, tx: &mut dyn KvWrite) -> Result<()> {
        let Some(mut value) = self.get(tx, &[PARAMETERS])? else { return Ok(()) };
        let Some(flags) = value.get_mut(FLAGS) else {
            // Written back without the mark, it would count as marked.
            return Err(self.damaged(&[PARAMETERS], "it is too short"));
        };
        *flags |= DELETED;
        self.put(tx, &[PARAMETERS], value)
    }

    /// Marks the page as deleted for good, even if the row is damaged.
    pub(crate) fn force_mark_deleted(&self, tx: &mut dyn KvWrite) -> Result<()> {
        match self.mark_deleted(tx) {
            // The page goes, so its secret is of no use. The mark must be there, or a process could
            // write its rows.
            Err(error) if error.is_damage() => {
                let mut value = FORMAT.to_be_bytes().to_vec();
                value.extend_from_slice(&[0; 32]);
                value.push(DELETED);
                value.extend_from_slice(&Retention::All.to_bytes()?);
                self.put(tx, &[PARAMETERS], value)
            }
            result => result,
        }
    }

    /// Whether the page is marked as deleted.
    pub(crate) fn is_marked_deleted(&self, tx: &dyn KvRead) -> Result<bool> {
        let value = self.get(tx, &[PARAMETERS])?;
        Ok(value.is_some_and(|value| value.get(FLAGS).is_some_and(|flags| flags & DELETED != 0)))
    }

    /// Removes the mark that the page is deleted.
    pub(crate) fn unmark_deleted(&self, tx: &mut dyn KvWrite) -> Result<()> {
        let Some(mut value) = self.get(tx, &[PARAMETERS])? else { return Ok(()) };
        match value.get_mut(FLAGS) {
            Some(flags) if *flags & DELETED != 0 => *flags &= !DELETED,
            // Not marked, so nothing is written.
            _ => return Ok(()),
        }
        self.put(tx, &[PARAMETERS], value)
    }

    /// Removes at most `at_most` rows of a deleted page, the parameters last. Returns `false` if
    /// nothing is left.
    pub(crate) fn remove_some(&self, tx: &mut dyn KvWrite, at_most: usize) -> Result<bool> {
        let (begin, end) = self.all();
        let here = self.stored(&[PARAMETERS]);
        let after = self.stored(&[PARAMETERS, 0]);
        // The parameters come last: until then, a kill leaves a page that is marked as deleted.
        for (min, max) in [(begin, Some(here.clone())), (after, end)] {
            let mut last = None;
            let span = KeySpan::new(&min, max.as_deref());
            for pair in tx.scan(span, Direction::Forward)?.take(at_most) {
                last = Some(pair?.0.to_vec());
            }
            if let Some(mut last) = last {
                // The first key after the last one that goes.
                last.push(0);
                tx.remove_span(KeySpan::new(&min, Some(&last)))?;
                return Ok(true);
            }
        }
        tx.remove(&here)?;
        Ok(false)
    }
}
