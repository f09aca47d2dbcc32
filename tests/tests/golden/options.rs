//! The part of libtest's command line that has a meaning here.

/// The options of the command line.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Names, or parts of names, of the cases to run. Empty for all.
    filters: Vec<String>,
    /// Names, or parts of names, of the cases not to run.
    skips: Vec<String>,
    /// Filters are whole names.
    exact: bool,
    /// Only print the names.
    pub list: bool,
    /// Print only failures and the last line.
    pub quiet: bool,
    /// Only ignored tests were asked for. There are none here.
    only_ignored: bool,
}

impl Options {
    /// Reads libtest's arguments. Arguments that have no effect here are accepted and ignored.
    pub fn from_args(args: impl Iterator<Item = String>) -> Options {
        let mut options = Options::default();
        let mut args = args;
        while let Some(arg) = args.next() {
            let (name, inline) = match arg.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (arg.as_str(), None),
            };
            match name {
                "--list" => options.list = true,
                "--exact" => options.exact = true,
                "-q" | "--quiet" => options.quiet = true,
                "--ignored" => options.only_ignored = true,
                "--skip" => options.skips.extend(inline.or_else(|| args.next())),
                "--test-threads" | "--format" | "--color" | "--logfile" | "--shuffle-seed"
                | "-Z" => {
                    if inline.is_none() {
                        args.next();
                    }
                }
                _ if name.starts_with('-') => {}
                _ => options.filters.push(arg),
            }
        }
        options
    }

    /// Whether the case called `name` was asked for.
    pub fn wants(&self, name: &str) -> bool {
        let fits = |filter: &String| {
            if self.exact { filter == name } else { name.contains(filter.as_str()) }
        };
        !self.only_ignored
            && (self.filters.is_empty() || self.filters.iter().any(fits))
            && !self.skips.iter().any(fits)
    }
}
