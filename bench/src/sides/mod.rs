//! Libraries that a program could use, each used as its documentation advises.

pub mod diesel;
pub mod native_db;
pub mod permazen;
pub mod redb;
pub mod rusqlite;
mod sqlite_schema;

pub use sqlite_schema::settings as sqlite_settings;

use std::path::Path;

use crate::data::Person;

/// The key of an object on a side.
pub type Key = u64;

/// The guarantee of a commit that has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// The change is on the disk.
    EachCommit,
    /// A crash of the system may lose it.
    Never,
}

/// A database of people and their messages.
pub trait Side: Sync {
    fn name(&self) -> &'static str;

    /// The part of a side that one thread uses.
    fn session(&self) -> Box<dyn Session + '_>;

    /// How many bytes its files take.
    fn size(&self) -> u64;
}

/// Each method is a transaction, or as many as `each` says. A read returns a value only if the
/// caller needs it, but it always makes the value.
pub trait Session {
    /// Creates people in one transaction for `each` of them. Returns their keys.
    fn create(&mut self, people: &[Person], each: usize) -> Vec<Key>;

    /// Creates messages in one transaction: author and text of each.
    fn write_messages(&mut self, messages: &[(Key, String)]) -> Vec<Key>;

    /// Makes whole objects, one by one.
    fn load(&mut self, keys: &[Key]);

    /// Reads the score of each, and no more if the library can.
    fn scores(&mut self, keys: &[Key]);

    /// Finds the person with each name.
    fn find(&mut self, names: &[String]);

    /// Walks over all people with an age from `low` to below `high`, in order of age, without
    /// loading them if the library can. Returns their number.
    fn scan(&mut self, low: i32, high: i32) -> usize;

    /// Loads up to `limit` people from this age on, in order of age.
    fn load_from(&mut self, low: i32, limit: usize) -> usize;

    /// For each message, reads the score of its author.
    fn follow(&mut self, messages: &[Key]);

    /// For each author, reads the text of all messages. Returns the number of messages.
    fn fan_out(&mut self, authors: &[Key]) -> usize;

    /// Gives people other ages, which are indexed.
    fn set_ages(&mut self, keys: &[Key], ages: &[i32], each: usize);

    /// Gives one person another score, which is not indexed.
    fn set_score(&mut self, key: Key, score: i64);

    /// Loads a person, and stores it with a higher score.
    fn modify(&mut self, key: Key);

    /// Deletes people in one transaction.
    fn delete(&mut self, keys: &[Key]);

    /// A person, if it exists.
    fn person(&mut self, key: Key) -> Option<Person>;
}

/// How many bytes the files of a folder take.
pub fn folder_size(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).unwrap().map(Result::unwrap);
    let size = |entry: std::fs::DirEntry| {
        let about = entry.metadata().unwrap();
        if about.is_dir() { folder_size(&entry.path()) } else { disk_size(&about) }
    };
    entries.map(size).sum()
}

/// Files may have holes.
fn disk_size(about: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(about) * 512
}
