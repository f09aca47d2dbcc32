//! Decodes any row of a repository, for checks that trust no row.

use permazen_kv::KvRead;

use super::inspect::{Inspected, number as eight_bytes, value, wrong};
use super::number;
use super::opened::OPENED;
use super::page::PAGES;
use super::process::LEASE;
use super::repository::{
    BY_NAME, BY_NUMBER, CLOSED, DEVICE, FORMAT, FORMAT_ROW, MAGIC, NEXT_PAGE, NO_PAGE, PageRow,
    REPOSITORY, by_name,
};
use crate::error::Result;
use crate::ids::PageId;

/// A row of a repository, by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DecodedRepositoryRow {
    Format,
    Id,
    Device,
    NextPage(u64),
    ByName { ledger: String, page: PageId, number: u64 },
    ByNumber { number: u64, row: PageRow },
    Closed(u64),
    Lease,
    Opened(u64),
    OfPage(u64),
}

/// The rows that a repository has exactly once: key and content.
pub(crate) const ONCE: [(u8, &str); 4] = [
    (FORMAT_ROW, "the format"),
    (REPOSITORY, "the ID of the repository"),
    (DEVICE, "the fingerprint of the device"),
    (NEXT_PAGE, "the next page number"),
];

/// The key of the next page number.
pub(crate) const NEXT_PAGE_KEY: [u8; 1] = [NEXT_PAGE];

/// Whether this is the lease of a process.
pub(crate) fn is_lease(key: &[u8], row: &[u8]) -> bool {
    matches!(repository_row(key, row), Ok(DecodedRepositoryRow::Lease))
}

/// The key of a page by its name.
pub(crate) fn by_name_key(ledger: &str, page: &PageId) -> Vec<u8> {
    by_name(ledger, page)
}

/// The key of a page by its number.
pub(crate) fn by_number_key(page: u64) -> Vec<u8> {
    // No page has a greater number.
    [&[BY_NUMBER][..], &number::encode(page.min(number::MAX))].concat()
}

/// Whether there is a row of a page with this number, with any value.
pub(crate) fn has_page_row(tx: &dyn KvRead, page: u64) -> Result<bool> {
    Ok(page <= number::MAX && tx.get(&by_number_key(page))?.is_some())
}

/// The row with this key.
pub(crate) fn repository_row(key: &[u8], row: &[u8]) -> Inspected<DecodedRepositoryRow> {
    let Some((first, rest)) = key.split_first() else {
        return wrong("a row of a repository", "an empty key");
    };
    // A row of a page has the checksum of its page, which is checked with the rows of that page.
    if *first == PAGES {
        return match number::decode(rest) {
            Some((number, _)) => Ok(DecodedRepositoryRow::OfPage(number)),
            None => wrong("the number of a page in the key", "none"),
        };
    }
    let value = value(NO_PAGE, key, row)?;
    match (*first, rest) {
        (FORMAT_ROW, []) => match value == [MAGIC, &FORMAT.to_be_bytes()].concat() {
            true => Ok(DecodedRepositoryRow::Format),
            false => wrong("the magic bytes and the format of this version", "others"),
        },
        (REPOSITORY, []) => match value {
            [.., 0 | 1] if value.len() == 17 => Ok(DecodedRepositoryRow::Id),
            _ => wrong("16 bytes and 0 or 1, which says where the pages are", "another value"),
        },
        (DEVICE, []) => match value.len() {
            24 => Ok(DecodedRepositoryRow::Device),
            len => wrong("24 bytes", format!("{len} bytes")),
        },
        (NEXT_PAGE, []) => match eight_bytes(value)? {
            // One more than the largest number says that no number is left.
            next @ 1.. if next <= number::MAX + 1 => Ok(DecodedRepositoryRow::NextPage(next)),
            next => wrong("a page number", next.to_string()),
        },
        (FORMAT_ROW | REPOSITORY | DEVICE | NEXT_PAGE, more) => {
            wrong("a key of one byte", format!("{} more", more.len()))
        }
        (BY_NAME, rest) => {
            let Some((ledger, page)) = unescaped(rest) else {
                return wrong("the name of a ledger and a page ID of 16 bytes", "another key");
            };
            match eight_bytes(value)? {
                number @ 1..=number::MAX => {
                    Ok(DecodedRepositoryRow::ByName { ledger, page, number })
                }
                number => wrong("a page number", number.to_string()),
            }
        }
        (BY_NUMBER, rest) => {
            let Some((number, [])) = number::decode(rest) else {
                return wrong("the number of a page in the key", "none, or more");
            };
            match PageRow::parse(value) {
                Some(row) => Ok(DecodedRepositoryRow::ByNumber { number, row }),
                None => wrong("a state, the name of a ledger and a page ID", "another value"),
            }
        }
        (CLOSED, rest) => match number::decode(rest) {
            Some((number, [])) => eight_bytes(value).map(|_| DecodedRepositoryRow::Closed(number)),
            _ => wrong("the number of a page in the key", "none, or more"),
        },
        (OPENED, rest) => match number::decode(rest) {
            Some((number, process)) if process.len() == 16 && value.is_empty() => {
                Ok(DecodedRepositoryRow::Opened(number))
            }
            _ => wrong("the number of a page and a process ID in the key", "others, or a value"),
        },
        (LEASE, process) => match process.len() {
            16 => eight_bytes(value).map(|_| DecodedRepositoryRow::Lease),
            len => wrong("a process ID of 16 bytes in the key", format!("{len} bytes")),
        },
        (first, _) => wrong("a row that this version writes", format!("first byte {first:02x}")),
    }
}

fn ledger(name: Vec<u8>) -> Option<String> {
    String::from_utf8(name).ok().filter(|name| super::repository::check_ledger(name).is_ok())
}

fn unescaped(mut key: &[u8]) -> Option<(String, PageId)> {
    let mut name = Vec::new();
    loop {
        key = match key {
            [0, 0, page @ ..] => return Some((ledger(name)?, PageId(page.try_into().ok()?))),
            [0, 0xff, rest @ ..] => {
                name.push(0);
                rest
            }
            // A zero is escaped or ends the name, so no other byte follows it.
            [0, ..] | [] => return None,
            [byte, rest @ ..] => {
                name.push(*byte);
                rest
            }
        };
    }
}
