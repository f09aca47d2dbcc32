//! The changes that a repair has to make, in order: in memory up to a limit, beyond it in an
//! unnamed temporary file.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};

use crate::entries::temporary_items::{self, Next};
use crate::{Error, Result};

/// Collects changes and returns them in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// The last changes, in the form they have in the file.
    bytes: Vec<u8>,
    count: u64,
    /// About how many bytes to keep in memory.
    limit: usize,
    file: Option<File>,
}

impl Changes {
    pub(crate) fn new(limit: usize) -> Self {
        Changes { limit, ..Changes::default() }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        self.count
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a change: the key gets this value, or is removed if the value is `None`.
    pub(crate) fn push(&mut self, key: &[u8], value: Option<&[u8]>) -> io::Result<()> {
        temporary_items::write_item(&mut self.bytes, Some(key))?;
        temporary_items::write_item(&mut self.bytes, value)?;
        self.count += 1;
        if self.bytes.len() > self.limit {
            self.spill().map_err(temporary_items::explained)?;
        }
        Ok(())
    }

    fn spill(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::End(0))?;
        file.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    /// Calls `visit` with all changes, in order.
    pub(crate) fn each(
        &mut self,
        mut visit: impl FnMut(&[u8], Option<&[u8]>) -> Result<()>,
    ) -> Result<()> {
        let from_file: Box<dyn Read> = match &mut self.file {
            Some(file) => {
                file.seek(SeekFrom::Start(0)).map_err(temporary_items::explained)?;
                Box::new(BufReader::with_capacity(1 << 16, file))
            }
            None => Box::new(io::empty()),
        };
        let mut all = from_file.chain(&self.bytes[..]);
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let mut read = |item: &mut Vec<u8>| {
            temporary_items::read_item(&mut all, item)
                .map_err(|e| Error::File(temporary_items::explained(e)))
        };
        while read(&mut key)? != Next::End {
            let has_value = read(&mut value)? == Next::Item;
            visit(&key, has_value.then_some(&value[..]))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn come_back_in_order_from_memory_and_from_a_file() {
        for limit in [usize::MAX, 100, 0] {
            let mut changes = Changes::new(limit);
            assert!(changes.is_empty());
            let number = |n: u32| n.to_be_bytes().to_vec();
            let value = |n: u32| (!n.is_multiple_of(3)).then(|| vec![7; n as usize % 5]);
            for n in 0..200 {
                changes.push(&number(n), value(n).as_deref()).unwrap();
            }
            // Twice, and more may be added in between.
            for len in [200, 201] {
                let mut n = 0;
                changes
                    .each(|key, found| {
                        assert_eq!((key, found), (&number(n)[..], value(n).as_deref()));
                        n += 1;
                        Ok(())
                    })
                    .unwrap();
                assert_eq!((u64::from(n), changes.len()), (len, len));
                changes.push(&number(n), value(n).as_deref()).unwrap();
            }
        }
    }
}
