//! Types that are stored as strings: file paths, URIs, regular expressions, mail addresses.
//!
//! Their texts are checked as Java's classes check them.

mod file_path;
mod letters;
mod mail_address;
mod pattern;
mod string_type;
mod uri;

pub use file_path::FilePath;
pub use mail_address::InternetAddress;
pub use pattern::Pattern;
pub use uri::Uri;
