//! Permazen on etcd.
#![deny(missing_docs)]

mod address;
mod client;
mod commit;
mod error;
mod http;
mod layout;
mod merge;
mod session;
mod store;
mod sweep;
mod tls;
mod watches;
mod wire;

pub use error::{ServerError, TooLarge};
pub use store::{EtcdBuilder, EtcdStore};
