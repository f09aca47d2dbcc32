//! The settings of the command line.

use std::path::PathBuf;

pub const HELP: &str = "\
Objects of permazen beside the same work by hand and beside other libraries.

    cargo run --release --manifest-path bench/Cargo.toml -- [OPTIONS]

  --quick           small numbers, to see that everything works; writes no pages unless --pages is given
  --objects N       objects in the tables (100000)
  --sizes A,B,C     objects in the curves of growth (10000,100000,1000000)
  --rounds N        rounds in which all sides take turns (21)
  --only PART       one of floor, memory, peers, published, growth, space, load, start; may be given several times
  --pages DIR       where the pages go (docs/src/benchmarks of the repository)
  --data DIR        where the databases are made (the system's folder for temporary files)
";

/// See [`HELP`].
#[derive(Debug)]
pub struct Settings {
    pub quick: bool,
    pub objects: usize,
    pub sizes: Vec<usize>,
    pub rounds: usize,
    /// Objects that a round works on.
    pub sample: usize,
    /// Objects that one larger commit creates.
    pub batch: usize,
    /// Commits of a single object in one round.
    pub commits: usize,
    /// Objects that refer to one which is deleted.
    pub referrers: usize,
    pub only: Vec<String>,
    pub pages: Option<PathBuf>,
    pub data: Option<PathBuf>,
}

impl Settings {
    /// # Errors
    /// A message for the user.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Settings, String> {
        let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/benchmarks");
        let mut settings = Settings {
            quick: false,
            objects: 100_000,
            sizes: vec![10_000, 100_000, 1_000_000],
            rounds: 21,
            sample: 2000,
            batch: 1000,
            commits: 100,
            referrers: 10_000,
            only: Vec::new(),
            pages: Some(pages.into()),
            data: None,
        };
        let arguments: Vec<String> = arguments.collect();
        if arguments.iter().any(|argument| argument == "--quick") {
            settings.quick = true;
            settings.objects = 2000;
            settings.sizes = vec![500, 2000];
            settings.rounds = 2;
            settings.sample = 200;
            settings.batch = 50;
            settings.commits = 5;
            settings.referrers = 200;
            settings.pages = None;
        }
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--quick" => {}
                "--objects" => settings.objects = number(&value()?)?,
                "--rounds" => settings.rounds = number(&value()?)?,
                "--sizes" => {
                    let sizes: Result<_, _> = value()?.split(',').map(number).collect();
                    settings.sizes = sizes?;
                }
                "--only" => settings.only.push(value()?),
                "--pages" => settings.pages = Some(value()?.into()),
                "--data" => settings.data = Some(value()?.into()),
                _ => return Err(format!("unknown argument {argument}\n\n{HELP}")),
            }
        }
        Ok(settings)
    }

    /// The command as a user typed it.
    pub fn command(&self) -> String {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let command = "cargo run --release --manifest-path bench/Cargo.toml";
        if arguments.is_empty() {
            command.to_owned()
        } else {
            format!("{command} -- {}", arguments.join(" "))
        }
    }

    /// Whether this part runs.
    pub fn runs(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or(format!("{text} is no number above zero"))
}
