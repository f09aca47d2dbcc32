//! The rows of a repository, beside those of its pages.

use permazen_kv::key::after_prefix;
use permazen_kv::{Direction, KeySpan, KvRead, KvWrite};

use super::{number, sealed};
use crate::error::{LedgerError, Result};
use crate::ids::{PageId, ProcessId};

/// The version of the format.
pub(crate) const FORMAT: u32 = 1;

/// The same for messages.
pub(super) const KNOWN_FORMAT: &str = "1";

pub(super) const MAGIC: &[u8] = b"permazen-ledger";

pub(super) const FORMAT_ROW: u8 = 0x00;
pub(super) const REPOSITORY: u8 = 0x01;
pub(super) const DEVICE: u8 = 0x02;
pub(super) const NEXT_PAGE: u8 = 0x03;
pub(super) const BY_NAME: u8 = 0x04;
pub(super) const BY_NUMBER: u8 = 0x05;
pub(super) const CLOSED: u8 = 0x06;

/// The first number of a page. 0 stands for the repository in checksums.
const FIRST_PAGE: u64 = 1;

/// The page number in checksums of the repository's own rows.
pub(crate) const NO_PAGE: u64 = 0;

pub(super) fn get(tx: &dyn KvRead, key: &[u8]) -> Result<Option<Vec<u8>>> {
    match tx.get(key)? {
        None => Ok(None),
        Some(row) => Ok(Some(sealed::open(NO_PAGE, key, &row)?.to_vec())),
    }
}

pub(super) fn put(tx: &mut dyn KvWrite, key: &[u8], value: Vec<u8>) -> Result<()> {
    Ok(tx.put(key, &sealed::seal(NO_PAGE, key, value))?)
}

/// The content of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseContent {
    Repository,
    Nothing,
    Other,
}

/// The content of a database.
///
/// # Errors
/// If it is a repository of another version.
pub(crate) fn content(tx: &dyn KvRead) -> Result<DatabaseContent> {
    match get(tx, &[FORMAT_ROW]) {
        Ok(Some(value)) => match value.strip_prefix(MAGIC).map(<[u8; 4]>::try_from) {
            Some(Ok(format)) if u32::from_be_bytes(format) == FORMAT => {
                Ok(DatabaseContent::Repository)
            }
            Some(Ok(format)) => {
                let found = u32::from_be_bytes(format);
                Err(sealed::unknown((NO_PAGE, &[FORMAT_ROW]), "format", found, KNOWN_FORMAT))
            }
            _ => Ok(DatabaseContent::Other),
        },
        Ok(None) => match tx.at_least(b"", None)? {
            None => Ok(DatabaseContent::Nothing),
            Some(_) => Ok(DatabaseContent::Other),
        },
        Err(LedgerError::DamagedRow { .. }) => Ok(DatabaseContent::Other),
        Err(error) => Err(error),
    }
}

/// Writes the first rows of a repository with this ID, on a device with this fingerprint. Its pages
/// lie under prefixes, or have databases of their own.
pub(crate) fn create(
    tx: &mut dyn KvWrite,
    (id, is_separate): ([u8; 16], bool),
    device: [u8; 16],
) -> Result<()> {
    put(tx, &[FORMAT_ROW], [MAGIC, &FORMAT.to_be_bytes()].concat())?;
    put(tx, &[REPOSITORY], [&id[..], &[u8::from(is_separate)]].concat())?;
    put(tx, &[DEVICE], [&device[..], &[0; 8]].concat())?;
    put(tx, &[NEXT_PAGE], FIRST_PAGE.to_be_bytes().to_vec())
}

/// The ID of the repository, and whether its pages have databases of their own.
pub(crate) fn identity(tx: &dyn KvRead) -> Result<([u8; 16], bool)> {
    let value = get(tx, &[REPOSITORY])?.unwrap_or_default();
    match (value.first_chunk(), value.get(16..)) {
        (Some(id), Some([is_separate @ (0 | 1)])) => Ok((*id, *is_separate == 1)),
        (Some(_), Some([tx])) => {
            Err(sealed::unknown((NO_PAGE, &[REPOSITORY]), "host", *tx, "0 and 1"))
        }
        _ => Err(sealed::damaged(NO_PAGE, &[REPOSITORY], "it is no ID of a repository")),
    }
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

/// Refuses an invalid name of a ledger.
pub(crate) fn check_ledger(ledger: &str) -> Result<()> {
    if ledger.is_empty() || ledger.len() > 128 {
        let what = "the name of a ledger has 1 to 128 bytes";
        return Err(LedgerError::InvalidArgument(format!("{ledger:?}: {what}")));
    }
    Ok(())
}

/// The number of a page. `None` if there is no such page.
pub(crate) fn page(tx: &dyn KvRead, ledger: &str, page: &PageId) -> Result<Option<u64>> {
    let key = by_name(ledger, page);
    let Some(value) = get(tx, &key)? else { return Ok(None) };
    match <[u8; 8]>::try_from(&*value).map(u64::from_be_bytes) {
        Ok(number) if number <= number::MAX => Ok(Some(number)),
        _ => Err(sealed::damaged(NO_PAGE, &key, "it is no page number")),
    }
}

/// The state of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageState {
    InUse,
    /// It is deleted: its rows are being removed.
    Deleting,
    /// This process is creating its database. It has no name yet.
    Making(ProcessId),
}

/// The row of a page in the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageRow {
    pub(crate) state: PageState,
    pub(crate) ledger: String,
    pub(crate) id: PageId,
}

impl PageRow {
    /// The value of a row `05`.
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let [state, len, rest @ ..] = value else { return None };
        let (ledger, rest) = rest.split_at_checked(usize::from(*len))?;
        let (id, process) = rest.split_first_chunk::<16>()?;
        let state = match (state, process.len()) {
            (0, 0) => PageState::InUse,
            (1, 0) => PageState::Deleting,
            (2, 16) => PageState::Making(ProcessId(process.try_into().ok()?)),
            _ => return None,
        };
        let ledger = String::from_utf8(ledger.to_vec()).ok()?;
        check_ledger(&ledger).ok()?;
        Some(PageRow { state, ledger, id: PageId(*id) })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let (state, process): (u8, &[u8]) = match &self.state {
            PageState::InUse => (0, &[]),
            PageState::Deleting => (1, &[]),
            PageState::Making(process) => (2, &process.0),
        };
        #[allow(clippy::cast_possible_truncation, reason = "a name has at most 128 bytes")]
        let len = self.ledger.len() as u8;
        let mut value = vec![state, len];
        value.extend_from_slice(self.ledger.as_bytes());
        value.extend_from_slice(&self.id.0);
        value.extend_from_slice(process);
        value
    }
}

pub(super) fn of_page(row: u8, number: u64) -> Vec<u8> {
    [&[row][..], &number::encode(number)].concat()
}

/// Gives a page a number, and its name unless it is being made.
pub(crate) fn add_page(tx: &mut dyn KvWrite, row: &PageRow) -> Result<u64> {
    let next = get(tx, &[NEXT_PAGE])?.and_then(|value| value.try_into().ok());
    let Some(next) = next.map(u64::from_be_bytes).filter(|next| *next <= number::MAX) else {
        return Err(sealed::damaged(NO_PAGE, &[NEXT_PAGE], "it is no page number"));
    };
    put(tx, &[NEXT_PAGE], (next + 1).to_be_bytes().to_vec())?;
    match row.state {
        PageState::Making(_) => put_page_row(tx, next, row)?,
        _ => name_page(tx, next, row)?,
    }
    Ok(next)
}

/// Gives a page that was made its name.
pub(crate) fn name_page(tx: &mut dyn KvWrite, number: u64, row: &PageRow) -> Result<()> {
    let row = PageRow { state: PageState::InUse, ..row.clone() };
    put(tx, &by_name(&row.ledger, &row.id), number.to_be_bytes().to_vec())?;
    put_page_row(tx, number, &row)
}

/// Gives a page that is in use another name, which no page has.
pub(crate) fn rename_page(
    tx: &mut dyn KvWrite,
    number: u64,
    (from, to): (&PageRow, (&str, PageId)),
) -> Result<()> {
    tx.remove(&by_name(&from.ledger, &from.id))?;
    let (ledger, id) = to;
    name_page(tx, number, &PageRow { state: from.state, ledger: ledger.to_owned(), id })
}

/// The row of the page with this number. `None` if there is none.
pub(crate) fn page_row(tx: &dyn KvRead, number: u64) -> Result<Option<PageRow>> {
    let key = of_page(BY_NUMBER, number);
    let Some(value) = get(tx, &key)? else { return Ok(None) };
    let row = PageRow::parse(&value);
    row.map(Some).ok_or_else(|| sealed::damaged(NO_PAGE, &key, "it is no page"))
}

/// Writes the row of a page.
pub(crate) fn put_page_row(tx: &mut dyn KvWrite, number: u64, row: &PageRow) -> Result<()> {
    put(tx, &of_page(BY_NUMBER, number), row.to_bytes())
}

/// Writes that a page is deleted: its rows are removed from now on.
pub(crate) fn begin_removal(tx: &mut dyn KvWrite, number: u64, row: &PageRow) -> Result<()> {
    put_page_row(tx, number, &PageRow { state: PageState::Deleting, ..row.clone() })
}

/// Removes the repository's rows of a page.
pub(crate) fn remove_page(tx: &mut dyn KvWrite, number: u64, row: &PageRow) -> Result<()> {
    // A page that was never completed has no name, and another page may have the name of its row.
    if page(tx, &row.ledger, &row.id)? == Some(number) {
        tx.remove(&by_name(&row.ledger, &row.id))?;
    }
    tx.remove(&of_page(CLOSED, number))?;
    Ok(tx.remove(&of_page(BY_NUMBER, number))?)
}

/// All pages with their numbers, in the order of these.
pub(crate) fn page_rows(tx: &dyn KvRead) -> Result<Vec<(u64, PageRow)>> {
    let mut pages = Vec::new();
    each(tx, &[BY_NUMBER], "it is no page", |key, value| {
        let (number, rest) = number::decode(key)?;
        pages.push((number, PageRow::parse(value).filter(|_| rest.is_empty())?));
        Some(())
    })?;
    Ok(pages)
}

/// Calls a function with each row whose key begins like this: the rest of the key, and the value.
/// The function returns `None` if the row is damaged.
pub(super) fn each(
    tx: &dyn KvRead,
    begin: &[u8],
    damaged: &'static str,
    mut with: impl FnMut(&[u8], &[u8]) -> Option<()>,
) -> Result<()> {
    let max = after_prefix(begin);
    for pair in tx.scan(KeySpan::new(begin, max.as_deref()), Direction::Forward)? {
        let (key, row) = pair?;
        let value = sealed::open(NO_PAGE, &key, &row)?;
        with(&key[begin.len()..], value).ok_or_else(|| sealed::damaged(NO_PAGE, &key, damaged))?;
    }
    Ok(())
}

/// The device: its fingerprint and its epoch.
pub(crate) fn device(tx: &dyn KvRead) -> Result<[u8; 24]> {
    let value = get(tx, &[DEVICE])?.and_then(|value| value.try_into().ok());
    value.ok_or_else(|| sealed::damaged(NO_PAGE, &[DEVICE], "it is no device"))
}

/// Begins a new epoch of the device. Rows of a page from an earlier epoch do not count for a page
/// of the same name in this one.
pub(crate) fn raise_epoch(tx: &mut dyn KvWrite) -> Result<()> {
    let mut device = device(tx)?;
    if let Some(epoch) = device.last_chunk_mut() {
        *epoch = u64::from_be_bytes(*epoch).wrapping_add(1).to_be_bytes();
    }
    put(tx, &[DEVICE], device.to_vec())
}
