//! The rows of a repository, beside those of its pages.

use permazen_kv::key::after_prefix;
use permazen_kv::{Direction, KeySpan, KvRead, KvWrite};

use super::{number, sealed};
use crate::error::{LedgerError, Result};
use crate::ids::PageId;

/// The version of the format.
pub(crate) const FORMAT: u32 = 1;

pub(super) const WORDS: &[u8] = b"permazen-ledger";

pub(super) const FORMAT_ROW: u8 = 0x00;
pub(super) const REPOSITORY: u8 = 0x01;
pub(super) const DEVICE: u8 = 0x02;
pub(super) const NEXT_PAGE: u8 = 0x03;
pub(super) const BY_NAME: u8 = 0x04;
pub(super) const BY_NUMBER: u8 = 0x05;

/// The first number of a page. 0 stands for the repository in checksums.
const FIRST_PAGE: u64 = 1;

/// No row of a page.
pub(crate) const NO_PAGE: u64 = 0;

fn get(host: &dyn KvRead, key: &[u8]) -> Result<Option<Vec<u8>>> {
    match host.get(key)? {
        None => Ok(None),
        Some(row) => Ok(Some(sealed::open(NO_PAGE, key, &row)?.to_vec())),
    }
}

fn put(host: &mut dyn KvWrite, key: &[u8], value: Vec<u8>) -> Result<()> {
    Ok(host.put(key, &sealed::seal(NO_PAGE, key, value))?)
}

/// Whether this is a repository.
///
/// # Errors
/// If it is one of another version, or there is something else.
pub(crate) fn is_there(host: &dyn KvRead) -> Result<bool> {
    match get(host, &[FORMAT_ROW]) {
        Ok(Some(value)) => match value.strip_prefix(WORDS).map(<[u8; 4]>::try_from) {
            Some(Ok(format)) if u32::from_be_bytes(format) == FORMAT => Ok(true),
            Some(Ok(format)) => {
                let found = u32::from_be_bytes(format);
                Err(LedgerError::UnknownFormat { found, known: FORMAT })
            }
            _ => Err(LedgerError::NoRepository),
        },
        Ok(None) => match host.at_least(b"", None)? {
            None => Ok(false),
            Some(_) => Err(LedgerError::NoRepository),
        },
        Err(LedgerError::DamagedRow { .. }) => Err(LedgerError::NoRepository),
        Err(error) => Err(error),
    }
}

/// Makes a repository with this ID, on a device with this fingerprint.
pub(crate) fn create(host: &mut dyn KvWrite, id: [u8; 16], device: [u8; 16]) -> Result<()> {
    put(host, &[FORMAT_ROW], [WORDS, &FORMAT.to_be_bytes()].concat())?;
    // Pages lie under prefixes.
    put(host, &[REPOSITORY], [&id[..], &[0]].concat())?;
    put(host, &[DEVICE], [&device[..], &[0; 8]].concat())?;
    put(host, &[NEXT_PAGE], FIRST_PAGE.to_be_bytes().to_vec())
}

pub(super) fn by_name(ledger: &str, page: &PageId) -> Vec<u8> {
    let mut key = vec![BY_NAME];
    for byte in ledger.bytes() {
        key.push(byte);
        if byte == 0 {
            key.push(0xff);
        }
    }
    key.extend_from_slice(&[0, 0]);
    key.extend_from_slice(&page.0);
    key
}

/// A ledger name that is none.
pub(crate) fn check_ledger(ledger: &str) -> Result<()> {
    if ledger.is_empty() || ledger.len() > 128 {
        let what = "the name of a ledger has 1 to 128 bytes";
        return Err(LedgerError::InvalidArgument(format!("{ledger:?}: {what}")));
    }
    Ok(())
}

/// The number of a page. `None` if there is no such page.
pub(crate) fn page(host: &dyn KvRead, ledger: &str, page: &PageId) -> Result<Option<u64>> {
    let key = by_name(ledger, page);
    let Some(value) = get(host, &key)? else { return Ok(None) };
    match <[u8; 8]>::try_from(&*value).map(u64::from_be_bytes) {
        Ok(number) if number <= number::MAX => Ok(Some(number)),
        _ => Err(sealed::damaged(NO_PAGE, &key, "it is no page number")),
    }
}

/// Gives a page a number.
pub(crate) fn add_page(host: &mut dyn KvWrite, ledger: &str, page: &PageId) -> Result<u64> {
    let next = get(host, &[NEXT_PAGE])?.and_then(|value| value.try_into().ok());
    let Some(next) = next.map(u64::from_be_bytes).filter(|next| *next <= number::MAX) else {
        return Err(sealed::damaged(NO_PAGE, &[NEXT_PAGE], "it is no page number"));
    };
    put(host, &[NEXT_PAGE], (next + 1).to_be_bytes().to_vec())?;
    put(host, &by_name(ledger, page), next.to_be_bytes().to_vec())?;
    let mut value = vec![0, ledger.len() as u8];
    value.extend_from_slice(ledger.as_bytes());
    value.extend_from_slice(&page.0);
    put(host, &[&[BY_NUMBER][..], &number::encode(next)].concat(), value)?;
    Ok(next)
}

/// Takes the rows of a page away.
pub(crate) fn remove_page(
    host: &mut dyn KvWrite,
    ledger: &str,
    page: &PageId,
    number: u64,
) -> Result<()> {
    host.remove(&by_name(ledger, page))?;
    Ok(host.remove(&[&[BY_NUMBER][..], &number::encode(number)].concat())?)
}

/// All pages, with the names of their ledgers, by their numbers.
pub(crate) fn pages(host: &dyn KvRead) -> Result<Vec<(String, PageId)>> {
    let max = after_prefix(&[BY_NUMBER]);
    let mut pages = Vec::new();
    for pair in host.scan(KeySpan::new(&[BY_NUMBER], max.as_deref()), Direction::Forward)? {
        let (key, row) = pair?;
        let value = sealed::open(NO_PAGE, &key, &row)?;
        let damaged = || sealed::damaged(NO_PAGE, &key, "it is no page");
        if number::decode(&key[1..]).is_none_or(|(_, rest)| !rest.is_empty()) {
            return Err(damaged());
        }
        let (_, rest) = value.split_first().ok_or_else(damaged)?;
        let (len, rest) = rest.split_first().ok_or_else(damaged)?;
        let (ledger, id) = rest.split_at_checked((*len).into()).ok_or_else(damaged)?;
        let ledger = String::from_utf8(ledger.to_vec()).map_err(|_| damaged())?;
        pages.push((ledger, PageId(id.try_into().map_err(|_| damaged())?)));
    }
    Ok(pages)
}
