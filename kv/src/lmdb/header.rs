//! A look at `data.mdb` before LMDB maps it.
//!
//! LMDB reads the file through a memory map, where a missing page is a signal that ends the
//! process. So whether the file is one of LMDB's, and whether it is all there, is found out by
//! reading it the ordinary way.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::error::{cannot_open, io_failed};
use crate::{KvError, Result};

const MAGIC: u32 = 0xBEEF_C0DE;
const VERSION: u32 = 1;
/// Head of a page: number, padding, flags, bounds of the free space.
const PAGE_HEAD: usize = 16;
/// Head of a page with the meta data after it.
const META_LEN: usize = PAGE_HEAD + 136;
const NO_PAGE: u64 = u64::MAX;

const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const OVERFLOW: u16 = 0x04;
const META: u16 = 0x08;
const LEAF2: u16 = 0x20;

const NODE_BIG: u16 = 0x01;
const NODE_SUB: u16 = 0x02;
const NODE_HEAD: usize = 8;

/// What is known of a data file without mapping it.
#[derive(Debug)]
pub(super) enum DataFile {
    /// There is none.
    Missing,
    /// It has no content, as one that has just been created.
    Empty,
    /// It looks sound.
    Sound,
}

/// Checks the data file of the environment in `directory`.
pub(super) fn check(directory: &Path) -> Result<DataFile> {
    let path = directory.join("data.mdb");
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(DataFile::Missing),
        Err(error) => return Err(io_failed(directory, "cannot read data.mdb", error)),
    };
    let mut attempt = 0;
    loop {
        attempt += 1;
        match check_file(directory, &mut file) {
            // A process that commits meanwhile can make the meta pages look odd for a moment.
            Err(KvError::Damaged { .. }) if attempt < 3 => {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            checked => return checked,
        }
    }
}

fn check_file(directory: &Path, file: &mut File) -> Result<DataFile> {
    let failed = |error| io_failed(directory, "cannot read data.mdb", error);
    let len = file.metadata().map_err(failed)?.len();
    if len == 0 {
        return Ok(DataFile::Empty);
    }
    let foreign = |reason: String| Err(cannot_open(directory, reason));
    let damaged =
        |reason: String| KvError::Damaged { path: directory.into(), reason: reason.into() };
    let mut newest: Option<Meta> = None;
    let mut page_len = 0;
    for number in 0..2 {
        let mut bytes = [0; META_LEN];
        let at = number * page_len;
        file.seek(SeekFrom::Start(at)).map_err(failed)?;
        if len < at + META_LEN as u64 {
            if number == 0 {
                return foreign(format!("data.mdb is no LMDB data file: it has only {len} bytes"));
            }
            return Err(damaged(format!("data.mdb is cut off after {len} bytes")));
        }
        file.read_exact(&mut bytes).map_err(failed)?;
        let meta = Meta::read(&bytes);
        if meta.flags & META == 0 || meta.magic != MAGIC {
            if meta.magic == MAGIC.swap_bytes() {
                return foreign("data.mdb was written on a machine of other byte order".into());
            }
            if number == 0 {
                return foreign("data.mdb is no LMDB data file".into());
            }
            return Err(damaged("the second meta page of data.mdb is not one".into()));
        }
        if meta.version != VERSION {
            return foreign(format!(
                "data.mdb has LMDB format version {}, supported is {VERSION}",
                meta.version
            ));
        }
        if !meta.page_len.is_power_of_two() || !(256..=65536).contains(&meta.page_len) {
            return Err(damaged(format!("page size of {} bytes in data.mdb", meta.page_len)));
        }
        page_len = u64::from(meta.page_len);
        if newest.as_ref().is_none_or(|newest| meta.txn_id > newest.txn_id) {
            newest = Some(meta);
        }
    }
    let Some(meta) = newest else { return Ok(DataFile::Empty) };
    let pages = len / page_len;
    if meta.last_page < pages {
        return Ok(DataFile::Sound);
    }
    // Pages at the end that hold nothing may never have been written, so a short file can be
    // whole. It is if every page that is referred to is there.
    let mut walk = Walk { file, page_len, pages, seen: HashSet::new(), todo: Vec::new() };
    for root in meta.roots {
        walk.want(root);
    }
    match walk.run() {
        Ok(None) => Ok(DataFile::Sound),
        Ok(Some(page)) => Err(damaged(format!(
            "data.mdb is cut off: it has {len} bytes, page {page} of {page_len} bytes is missing"
        ))),
        Err(error) => Err(failed(error)),
    }
}

/// The fields of a meta page that matter here.
#[derive(Debug)]
struct Meta {
    flags: u16,
    magic: u32,
    version: u32,
    page_len: u32,
    roots: [u64; 2],
    last_page: u64,
    txn_id: u64,
}

impl Meta {
    fn read(bytes: &[u8]) -> Self {
        Meta {
            flags: u16_at(bytes, 10),
            magic: u32_at(bytes, 16),
            version: u32_at(bytes, 20),
            page_len: u32_at(bytes, 40),
            roots: [u64_at(bytes, 80), u64_at(bytes, 128)],
            last_page: u64_at(bytes, 136),
            txn_id: u64_at(bytes, 144),
        }
    }
}

/// Follows every reference from page to page.
struct Walk<'f> {
    file: &'f mut File,
    page_len: u64,
    pages: u64,
    seen: HashSet<u64>,
    todo: Vec<u64>,
}

impl Walk<'_> {
    fn want(&mut self, page: u64) {
        if page != NO_PAGE && self.seen.insert(page) {
            self.todo.push(page);
        }
    }

    /// The first page found missing.
    fn run(&mut self) -> io::Result<Option<u64>> {
        let mut page = vec![0; usize::try_from(self.page_len).unwrap_or(0)];
        while let Some(number) = self.todo.pop() {
            if number >= self.pages {
                return Ok(Some(number));
            }
            self.file.seek(SeekFrom::Start(number * self.page_len))?;
            self.file.read_exact(&mut page)?;
            let flags = u16_at(&page, 10);
            if flags & OVERFLOW != 0 {
                let last = number + u64::from(u32_at(&page, 12)).max(1) - 1;
                if last >= self.pages {
                    return Ok(Some(last));
                }
            } else if flags & (BRANCH | LEAF) != 0 && flags & LEAF2 == 0 {
                self.follow(&page, flags & BRANCH != 0);
            }
        }
        Ok(None)
    }

    /// Notes the pages that the nodes of a branch or leaf refer to.
    fn follow(&mut self, page: &[u8], branch: bool) {
        let nodes = usize::from(u16_at(page, 12)).saturating_sub(PAGE_HEAD) / 2;
        for node in 0..nodes {
            let at = usize::from(u16_at(page, PAGE_HEAD + 2 * node));
            let low = u64::from(u16_at(page, at)) | u64::from(u16_at(page, at + 2)) << 16;
            let flags = u16_at(page, at + 4);
            let data = at + NODE_HEAD + usize::from(u16_at(page, at + 6));
            if branch {
                self.want(low | u64::from(flags) << 32);
            } else if flags & NODE_BIG != 0 {
                self.want(u64_at(page, data));
            } else if flags & NODE_SUB != 0 {
                self.want(u64_at(page, data + 40));
            }
        }
    }
}

// Numbers stand in the byte order of the machine. One that lies outside the page reads as zero.

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes(array_at(bytes, at))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(array_at(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(array_at(bytes, at))
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}
