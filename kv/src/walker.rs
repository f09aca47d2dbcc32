//! Iteration made of point queries (kv §7.4).

use crate::filter::KeyFilter;
use crate::{Direction, KeySpan, KvRead, Pair, Result};

/// Walks over the pairs of a span and holds nothing but its own bounds, so that the store may be
/// written between steps; each step sees the store as it then is.
///
/// A step costs one seek, about twenty times a step of [`KvRead::scan`]; use a scan where nothing
/// is written meanwhile.
///
/// ```
/// # use permazen_kv::{Direction, KeySpan, KvWrite, Result, Walker};
/// fn remove_empty_values(store: &mut dyn KvWrite) -> Result<()> {
///     let mut walker = Walker::new(KeySpan::FULL, Direction::Forward)?;
///     while let Some((key, value)) = walker.step(store)? {
///         if value.is_empty() {
///             let key = key.into_owned();
///             store.remove(&key)?;
///         }
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Walker {
    direction: Direction,
    min: Vec<u8>,
    max: Option<Vec<u8>>,
    /// Forward the next key that may be returned, in reverse the bound below which it lies (none
    /// is no bound).
    next: Option<Vec<u8>>,
    finished: bool,
}

impl Walker {
    /// A walk over `span`.
    ///
    /// # Errors
    /// [`KvError::InvalidArgument`](crate::KvError::InvalidArgument) if the bounds are reversed.
    pub fn new(span: KeySpan<'_>, direction: Direction) -> Result<Self> {
        span.check()?;
        let mut walker = Walker {
            direction,
            min: span.min.to_vec(),
            max: span.max.map(<[u8]>::to_vec),
            next: None,
            finished: false,
        };
        walker.restart();
        Ok(walker)
    }

    /// Goes back to the start.
    pub fn restart(&mut self) {
        self.finished = false;
        self.next = match self.direction {
            Direction::Forward => Some(self.min.clone()),
            Direction::Reverse => self.max.clone(),
        };
    }

    /// Continues at `target`, clipped to the span: forward with the first key at or after it, in
    /// reverse with the last key before it. Also restarts a walk that came to its end.
    pub fn seek(&mut self, target: &[u8]) {
        self.finished = false;
        let target = match (self.direction, &self.max) {
            (Direction::Forward, _) => target.max(&self.min),
            (Direction::Reverse, Some(max)) => target.min(max),
            (Direction::Reverse, None) => target,
        };
        self.next = Some(target.to_vec());
    }

    /// The next pair, or none at the end of the span. Costs one descent.
    ///
    /// # Errors
    /// Those of the store; the walk can go on from where it was.
    pub fn step<'k, K: KvRead + ?Sized>(&mut self, store: &'k K) -> Result<Option<Pair<'k>>> {
        if self.finished {
            return Ok(None);
        }
        let pair = match self.direction {
            Direction::Forward => {
                store.at_least(self.next.as_deref().unwrap_or_default(), self.max.as_deref())?
            }
            Direction::Reverse => store.at_most(&self.min, self.next.as_deref())?,
        };
        match &pair {
            None => self.finished = true,
            Some((found, _)) => {
                let next = self.next.get_or_insert_default();
                next.clear();
                next.extend_from_slice(found);
                if self.direction == Direction::Forward {
                    next.push(0);
                }
            }
        }
        Ok(pair)
    }

    /// The next pair whose key is in `filter`, skipping as far as the filter tells. Costs a descent for
    /// each skip.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn step_in<'k, K: KvRead + ?Sized>(
        &mut self,
        store: &'k K,
        filter: &dyn KeyFilter,
    ) -> Result<Option<Pair<'k>>> {
        while let Some((key, value)) = self.step(store)? {
            if filter.contains(&key) {
                return Ok(Some((key, value)));
            }
            let target = match self.direction {
                Direction::Forward => filter.seek_higher(&key),
                Direction::Reverse if key.is_empty() => None,
                Direction::Reverse => filter.seek_lower(&key),
            };
            match target {
                Some(target) => self.seek(&target),
                None => self.finished = true,
            }
        }
        Ok(None)
    }
}
