//! The password of a user: in the URL, in the environment, or in a file.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::address::Address;
use crate::error::Failure;
use crate::host::Host;

/// A file of passwords.
struct File {
    path: PathBuf,
    /// `PGPASSFILE` names it, so it should be there.
    is_named: bool,
}

/// A variable of the environment; one that is empty is not there.
fn set(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The file of passwords if nothing names one: where the programs of the server have it.
fn usual_file() -> Option<PathBuf> {
    match cfg!(windows) {
        true => Some(Path::new(&set("APPDATA")?).join("postgresql").join("pgpass.conf")),
        false => Some(Path::new(&set("HOME")?).join(".pgpass")),
    }
}

impl Address {
    /// The password: of the URL, of `PGPASSWORD`, or of the file of passwords.
    pub(crate) fn password_for(&self, host: &Host) -> Result<Vec<u8>, Failure> {
        // An empty one in the URL is none, as for the programs of the server.
        let of_url = self.password.as_ref().filter(|password| !password.is_empty());
        let password = if let Some(password) = of_url {
            password.clone().into_bytes()
        } else if let Some(password) = set("PGPASSWORD") {
            password
                .into_string()
                .map_err(|_| Failure::other("PGPASSWORD is not Unicode"))?
                .into_bytes()
        } else if let Some(file) = set("PGPASSFILE") {
            self.password_in(Some(&File { path: file.into(), is_named: true }), host)?
        } else {
            let file = usual_file().map(|path| File { path, is_named: false });
            self.password_in(file.as_ref(), host)?
        };
        match password.contains(&0) {
            true => Err(Failure::other("the password has a byte of 0, where it ends for a server")),
            false => Ok(password),
        }
    }

    /// The password that a file has for this user.
    fn password_in(&self, file: Option<&File>, host: &Host) -> Result<Vec<u8>, Failure> {
        let missing = |why: &str| {
            Failure::other(format!(
                "the server asks for a password: name it in the URL, in PGPASSWORD or in ~/.pgpass{why}"
            ))
        };
        let File { path: file, is_named } = file.ok_or_else(|| missing(""))?;
        let text = match std::fs::read_to_string(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let named = format!("; PGPASSFILE names {}, which is not there", file.display());
                return Err(missing(if *is_named { &named } else { "" }));
            }
            Err(error) => return Err(missing(&format!("; {}: {error}", file.display()))),
            Ok(text) => text,
        };
        check_private(file)?;
        let (name, port) = host.in_file();
        let wanted = [name, &port, &self.database, &self.user];
        let found = text.lines().find_map(|line| {
            let fields = fields(line);
            let (password, place) = fields.split_last()?;
            let fits = place.len() == wanted.len()
                && place.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
            fits.then(|| password.clone().into_bytes())
        });
        found.ok_or_else(|| {
            let (file, of) = (file.display(), wanted.join(":"));
            missing(&format!("; no line of {file} is for {of}"))
        })
    }
}

/// Refuses a file of passwords that others can read.
#[cfg(unix)]
fn check_private(file: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(file)?.permissions().mode();
    if mode & 0o077 != 0 {
        let file = file.display();
        return Err(Failure::other(format!("others can read {file}: chmod 600 {file}")));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_file: &Path) -> Result<(), Failure> {
    Ok(())
}

/// Refuses a key of this program that others can read. The group may read one that belongs to the
/// administrator, as the programs of the server allow it. If there is no such file, the code that
/// reads it reports that.
#[cfg(unix)]
pub(crate) fn check_own_key(file: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::MetadataExt;
    let Ok(found) = std::fs::metadata(file) else { return Ok(()) };
    let (forbidden, allowed) = if found.uid() == 0 { (0o037, 640) } else { (0o077, 600) };
    if found.mode() & forbidden != 0 {
        let file = file.display();
        let what = format!("others can read the key {file} of sslkey: chmod {allowed} {file}");
        return Err(Failure::other(what));
    }
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn check_own_key(_file: &Path) -> Result<(), Failure> {
    Ok(())
}

/// The fields of a line of the file of passwords.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    if line.starts_with('#') {
        return fields;
    }
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let (character, ends) = match character {
            '\\' => (characters.next().unwrap_or('\\'), false),
            ':' => (':', true),
            other => (other, false),
        };
        match fields.last_mut() {
            Some(last) if !ends => last.push(character),
            _ => fields.push(String::new()),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_file_of_passwords_has_a_line_for_the_host_as_the_url_names_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("passwords");
        std::fs::write(&file, "127.0.0.1:5432:music:ann:a\\:b\n").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        let password = |url: &str, file: &Path| {
            let address = Address::parse(url).unwrap();
            let file = File { path: file.to_owned(), is_named: true };
            address.password_in(Some(&file), &address.hosts[0])
        };
        assert_eq!(password("postgres://ann@127.0.0.1/music", &file).unwrap(), b"a:b");
        let error = password("postgres://ann@localhost/music", &file).unwrap_err().to_string();
        let wanted = format!("no line of {} is for localhost:5432:music:ann", file.display());
        assert!(error.contains(&wanted), "{error}");
        let error = password("postgres://ann@127.0.0.1/music", folder.path()).unwrap_err();
        assert!(error.to_string().contains(&folder.path().display().to_string()), "{error}");
        let missing = folder.path().join("missing");
        let error = password("postgres://ann@127.0.0.1/music", &missing).unwrap_err().to_string();
        let named = format!("PGPASSFILE names {}, which is not there", missing.display());
        assert!(error.contains(&named), "{error}");
    }

    #[test]
    fn an_empty_password_in_the_url_is_none() {
        let password = |url: &str| {
            let address = Address::parse(url).unwrap();
            address.password_for(&address.hosts[0]).map_err(|failure| failure.to_string())
        };
        let without = password("postgres://ann@127.0.0.1/music");
        assert_eq!(password("postgres://ann:@127.0.0.1/music"), without);
        assert_eq!(password("postgres://ann:x@127.0.0.1/music").unwrap(), b"x");
    }

    #[test]
    fn lines_of_the_file_of_passwords_can_have_colons() {
        assert_eq!(fields(r"host:5432:*:ann:a\:b\\c"), ["host", "5432", "*", "ann", r"a:b\c"]);
        assert_eq!(fields("# host:1:2:3:4").len(), 1);
    }
}
