//! The permissions of copies, which follow from the permissions of the source.

use std::path::Path;

/// Which users besides the owner may read and write the files of a store, and so the files of its
/// copies. (On Windows, a file gets the permissions of its folder, and this says nothing.)
///
/// The owner of a copy can always read and write it, and the umask takes away from the rest. The
/// group of the source counts only where the new file has the same group: else its members could be
/// other people.
///
/// ```
/// use permazen_kv::copy::{Readers, Watch};
/// use permazen_kv::memory::MemoryStore;
/// use permazen_kv::xml::{self, Style};
///
/// # let dir = tempfile::tempdir()?;
/// # let (path, target) = (dir.path().join("dump.xml"), dir.path().join("copy.xml"));
/// # std::fs::write(&path, "<entries/>")?;
/// # let snapshot = MemoryStore::new().snapshot();
/// // All users that can read the file `path` can read the copy.
/// let mut watch = Watch::new().readers(Readers::of(&path));
/// xml::create_from(&target, &snapshot, Style::Indented, &mut watch)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Readers {
    /// The permissions of the group and of the others.
    #[cfg(unix)]
    bits: u32,
    #[cfg(unix)]
    group: u32,
}

impl Readers {
    /// Only the owner.
    pub fn owner() -> Self {
        Readers::default()
    }

    /// The readers of the file `path`, or of the LMDB environment in the directory `path`. A user
    /// that cannot enter one of the directories above the file cannot read it. Only the owner, if
    /// the permissions of the file cannot be read.
    pub fn of(path: impl AsRef<Path>) -> Self {
        #[cfg(unix)]
        return Self::found(path.as_ref()).unwrap_or_default();
        #[cfg(not(unix))]
        {
            let _ = path;
            Readers::default()
        }
    }

    #[cfg(unix)]
    fn found(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;

        let mut path = path.canonicalize().ok()?;
        let is_environment = path.is_dir();
        if is_environment {
            path = path.join("data.mdb").canonicalize().ok()?;
        }
        let file = path.metadata().ok()?;
        let (group, mut bits) = (file.gid(), file.mode() & 0o066);
        for (above, directory) in path.ancestors().skip(1).enumerate() {
            let found = directory.metadata().ok()?;
            let mode = found.mode();
            // The members of the group of the file may be among the others of the directory.
            let for_group = if found.gid() == group { mode >> 3 } else { mode };
            for (granted, place) in [(for_group, 0o060), (for_group & mode, 0o006)] {
                if granted & 1 == 0 {
                    bits &= !place;
                }
                // Writing takes the lock file beside it, too.
                if is_environment && above == 0 && granted & 2 == 0 {
                    bits &= !(place & 0o022);
                }
            }
        }
        Some(Readers { bits, group })
    }

    /// The permissions of a new file of the group `group`, before the umask takes some away.
    ///
    /// ```
    /// use permazen_kv::copy::Readers;
    ///
    /// assert_eq!(Readers::owner().file_mode(0), 0o600);
    /// ```
    #[cfg(unix)]
    pub fn file_mode(self, group: u32) -> u32 {
        if group == self.group {
            return 0o600 | self.bits;
        }
        // Only the permissions that the group of the source and all others have are left.
        let all = (self.bits >> 3) & self.bits & 0o006;
        0o600 | (all << 3) | all
    }

    /// The umask with which no file gets permissions that the source does not give.
    ///
    /// ```
    /// use permazen_kv::copy::Readers;
    ///
    /// assert_eq!(Readers::owner().umask(), 0o077);
    /// ```
    #[cfg(unix)]
    pub fn umask(self) -> u32 {
        0o077 & !entered(self.bits)
    }

    /// The permissions of a new directory of the group `group`.
    #[cfg(all(unix, feature = "lmdb"))]
    pub(crate) fn directory_mode(self, group: u32) -> u32 {
        entered(self.file_mode(group) | 0o100)
    }
}

/// With the right to enter where there is one to read.
#[cfg(unix)]
fn entered(mode: u32) -> u32 {
    mode | ((mode & 0o044) >> 2)
}
