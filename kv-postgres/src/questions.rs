//! Questions for ranges as statements, and the pages that come of their answers.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use permazen_kv::Direction;
use permazen_kv::remote::{RangePage, RangeRead};

use crate::connection::Connection;
use crate::dialect::Dialect;
use crate::error::Failure;
use crate::pool::Pool;
use crate::statement::{Answer, Parameter, Row};

/// From this many bytes on, pairs may keep the buffer that they came in.
const WORTH_A_BUFFER: usize = 1 << 15;

/// A page is asked for without counting its bytes, as long as no value turns out to be long. All
/// answers to a request then have at most this many bytes of values.
const AT_ONCE: usize = 64 << 20;

type Done<T> = Result<T, Failure>;

/// The questions of one request, and which statements ask them.
pub(crate) struct Questions {
    reads: Vec<RangeRead>,
    /// How each of them is asked.
    ways: Vec<Way>,
    /// Which of them one statement asks, in the order of their ranges.
    together: Vec<usize>,
}

/// How a question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// With a statement of its own. All values come.
    Alone,
    /// With a statement of its own; a long value does not come.
    Short,
    /// With others in one statement; a long value does not come.
    Together,
}

impl Way {
    fn leaves_out_long_values(self) -> bool {
        self != Way::Alone
    }
}

impl Questions {
    /// Adds these questions to the batch.
    pub(crate) fn add(
        connection: &mut Connection,
        pool: &Pool,
        reads: &[RangeRead],
    ) -> Done<Questions> {
        let mut questions = Questions {
            ways: reads.iter().map(|read| way(pool, read)).collect(),
            reads: reads.to_vec(),
            together: Vec::new(),
        };
        if pool.dialect == Dialect::Postgres {
            questions.join();
        }
        let Questions { reads, ways, together } = &questions;
        let longest = |pairs: usize| number(AT_ONCE / pairs.saturating_mul(reads.len()).max(1));
        if let Some(first) = together.first().and_then(|&at| reads.get(at)) {
            let asked = together.iter().filter_map(|&at| reads.get(at));
            let (min, max): (Vec<&[u8]>, Vec<&[u8]>) =
                asked.map(|read| (&read.min[..], read.max.as_deref().unwrap_or_default())).unzip();
            let parameters = [
                Parameter::Many(&min),
                Parameter::Many(&max),
                number(first.pairs),
                longest(first.pairs),
            ];
            connection.add(pool.statements.ranges(), &parameters)?;
        }
        for (read, way) in reads.iter().zip(ways) {
            match way {
                Way::Together => {}
                Way::Short => add_one(connection, pool, read, Some(longest(read.pairs)))?,
                Way::Alone => add_one(connection, pool, read, None)?,
            }
        }
        Ok(questions)
    }

    /// Joins questions in one statement, where that is possible. A server takes a third of the time
    /// for that.
    fn join(&mut self) {
        let Some(pairs) = self.reads.iter().map(|read| read.pairs).max() else { return };
        let fits = |at: &usize| {
            let (read, way) = (&self.reads[*at], self.ways[*at]);
            read.direction == Direction::Forward
                && read.max.is_some()
                && read.pairs == pairs
                && way == Way::Short
        };
        let mut together: Vec<usize> = (0..self.reads.len()).filter(fits).collect();
        together.sort_by(|one, other| self.reads[*one].min.cmp(&self.reads[*other].min));
        // The ranges must not overlap, so that a pair belongs to one of them.
        let mut end: &[u8] = &[];
        together.retain(|&at| {
            let read = &self.reads[at];
            let is_apart = *end <= *read.min;
            if is_apart {
                end = read.max.as_deref().unwrap_or_default();
            }
            is_apart
        });
        if together.len() > 1 {
            together.iter().for_each(|&at| self.ways[at] = Way::Together);
            self.together = together;
        }
    }

    /// The pages that the server has sent.
    pub(crate) fn pages(self, pool: &Pool, answers: Vec<Answer>) -> Done<Vec<RangePage>> {
        let bytes: usize = answers
            .iter()
            .flat_map(|answer| &answer.rows)
            .flat_map(|row| row.iter().map(Bytes::len))
            .sum();
        let mut answers = answers.into_iter();
        let mut pages: Vec<RangePage> = Vec::new();
        pages.resize_with(self.reads.len(), RangePage::default);
        if !self.together.is_empty() {
            let mut rows = answers.next().map(|answer| answer.rows).unwrap_or_default();
            // The ranges are in order. SQL does not promise that their pairs come so.
            if !rows.is_sorted_by(|one, other| one.first() <= other.first()) {
                rows.sort_by(|one, other| one.first().cmp(&other.first()));
            }
            let mut rows = rows.into_iter();
            for &at in &self.together {
                let read = &self.reads[at];
                let is_of_it =
                    |row: &&Row| row.first().is_some_and(|key| read.span().contains(key));
                let count = rows.as_slice().iter().take_while(is_of_it).count();
                let left = rows.len() - count;
                pages[at] = page(pool, read, self.ways[at], rows.by_ref().take(count))?;
                // The pairs after a long value are asked for again.
                let skipped = rows.len() - left;
                rows.by_ref().take(skipped).for_each(drop);
            }
            if rows.next().is_some() {
                return Err(Failure::other("the server has sent a pair that was not asked for"));
            }
        }
        for (at, read) in self.reads.iter().enumerate() {
            if self.ways[at] != Way::Together {
                let rows = answers.next().map(|answer| answer.rows).unwrap_or_default();
                pages[at] = page(pool, read, self.ways[at], rows.into_iter())?;
            }
        }
        // They lie in the buffer of the connection. A few of them must not keep all of it.
        if bytes < WORTH_A_BUFFER {
            move_out(&mut pages, bytes);
        }
        Ok(pages)
    }
}

fn way(pool: &Pool, read: &RangeRead) -> Way {
    let has_one = read.pairs == 1 || read.span().is_single_key();
    match !has_one && read.pairs <= pool.uncounted.load(Ordering::Relaxed) {
        true => Way::Short,
        false => Way::Alone,
    }
}

fn number(limit: usize) -> Parameter<'static> {
    // A table has fewer rows than the largest limit, so a clamped one leaves none out.
    Parameter::Number(i64::try_from(limit).unwrap_or(i64::MAX))
}

/// Adds a question with a statement of its own. With `longest`, longer values do not come.
fn add_one(
    connection: &mut Connection,
    pool: &Pool,
    read: &RangeRead,
    longest: Option<Parameter<'_>>,
) -> Done<()> {
    let (statements, span) = (&pool.statements, read.span());
    let min = Parameter::Bytes(span.min);
    if span.is_single_key() {
        return connection.add(statements.get(), &[min]);
    }
    let (direction, ends) = (read.direction, span.max.is_some());
    let mut parameters = [min; 4];
    let mut count = 1;
    let mut add = |parameter| {
        parameters[count] = parameter;
        count += 1;
    };
    span.max.map(Parameter::Bytes).into_iter().for_each(&mut add);
    let statement = match longest {
        Some(longest) => {
            [number(read.pairs), longest].into_iter().for_each(&mut add);
            statements.short_page(direction, ends)
        }
        None if read.pairs == 1 => statements.first(direction, ends),
        None => {
            [number(read.pairs), number(read.bytes)].into_iter().for_each(&mut add);
            statements.page(direction, ends)
        }
    };
    connection.add(statement, parameters.get(..count).unwrap_or_default())
}

/// The page of a question.
fn page(
    pool: &Pool,
    read: &RangeRead,
    way: Way,
    rows: impl Iterator<Item = Row>,
) -> Done<RangePage> {
    let span = read.span();
    let mut pairs: Vec<(Bytes, Bytes)> = Vec::with_capacity(rows.size_hint().0);
    let (mut bytes, mut is_whole) = (0, true);
    for row in rows {
        match row.into_pair() {
            Ok([key, value]) => {
                let is_next = pairs.last().is_none_or(|(last, _)| match read.direction {
                    Direction::Forward => *last < key,
                    Direction::Reverse => *last > key,
                });
                // If the scan continued after such a key, it would not come to an end.
                if !is_next || !span.contains(&key) {
                    return Err(Failure::other(
                        "the server has sent a pair that was not asked for",
                    ));
                }
                bytes += key.len() + value.len();
                pairs.push((key, value));
            }
            // A long value has not come. From now on, fewer pairs are asked for without counting
            // their bytes.
            Err(row) if row.len() == 1 && way.leaves_out_long_values() => {
                pool.uncounted.fetch_min(read.pairs / 2, Ordering::Relaxed);
                is_whole = false;
                break;
            }
            Err(_) => return Err(Failure::other("the server has sent no pair")),
        }
    }
    let is_short = pairs.len() < read.pairs && bytes < read.bytes;
    let is_last = is_whole && (span.is_single_key() || is_short);
    Ok(RangePage { pairs, is_last })
}

/// Copies these pairs to new memory of `bytes` bytes, so that the buffers that they came in are
/// freed.
fn move_out(pages: &mut [RangePage], bytes: usize) {
    let mut all = Vec::with_capacity(bytes);
    for (key, value) in pages.iter().flat_map(|page| &page.pairs) {
        all.extend_from_slice(key);
        all.extend_from_slice(value);
    }
    let (all, mut at) = (Bytes::from(all), 0);
    let mut moved = |piece: &mut Bytes| {
        let end = at + piece.len();
        *piece = all.slice(at..end);
        at = end;
    };
    for (key, value) in pages.iter_mut().flat_map(|page| &mut page.pairs) {
        moved(key);
        moved(value);
    }
}
