//! Where a server listens.

use std::fmt;
#[cfg(unix)]
use std::path::PathBuf;

use permazen_kv::remote::ServerHost;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    Name(ServerHost),
    /// A socket in the file system.
    #[cfg(unix)]
    Path(PathBuf),
}

impl Host {
    /// Whether what is sent stays on this machine.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Host::Name(host) => host.is_local(),
            #[cfg(unix)]
            Host::Path(_) => true,
        }
    }

    /// The name and port under which the file of passwords has it.
    pub(crate) fn in_file(&self) -> (&str, String) {
        match self {
            Host::Name(host) => (&host.name, host.port.to_string()),
            #[cfg(unix)]
            Host::Path(path) => {
                let port = path.extension().map(|port| port.to_string_lossy().into_owned());
                ("localhost", port.unwrap_or_default())
            }
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(host) => write!(f, "{host}"),
            #[cfg(unix)]
            Host::Path(path) => write!(f, "{}", path.display()),
        }
    }
}
