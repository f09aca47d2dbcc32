//! `format`, `echo`, `date`, `sleep`, `exit` and `quit`.

use std::thread;
use std::time::{self, Duration};

use permazen::encoding::Encodable;
use permazen::encoding::time::Instant;
use serde_json::json;

use super::{Command, Context, Scope};
use crate::failure::{Answer, Failure};
use crate::output::Format;

/// Choose how what comes after it is shown.
#[derive(Debug, clap::Args)]
pub(crate) struct ChooseFormat {
    /// The format; without it, what each statement and command has by itself
    format: Option<Format>,
}

impl Command for ChooseFormat {
    fn scope(&self) -> Scope {
        Scope::Anywhere
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        context.out.choose(self.format);
        Ok(Answer::Yes)
    }
}

/// Print the arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Echo {
    /// What to print
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

impl Command for Echo {
    fn scope(&self) -> Scope {
        Scope::Anywhere
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let text = self.words.join(" ");
        context.out.done(&text, &json!({ "type": "echo", "text": text }))?;
        Ok(Answer::Yes)
    }
}

/// Print the time.
#[derive(Debug, clap::Args)]
pub(crate) struct Date {}

impl Command for Date {
    fn scope(&self) -> Scope {
        Scope::Anywhere
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        let now = Instant::now().to_text();
        context.out.done(&now, &json!({ "type": "date", "date": now }))?;
        Ok(Answer::Yes)
    }
}

/// Wait.
#[derive(Debug, clap::Args)]
pub(crate) struct Sleep {
    /// How many seconds; fractions are allowed
    #[arg(value_parser = seconds)]
    seconds: Duration,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "it is a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

impl Command for Sleep {
    fn scope(&self) -> Scope {
        Scope::Anywhere
    }

    fn run(&self, context: &mut Context<'_>) -> Result<Answer, Failure> {
        context.out.flush();
        let begun = time::Instant::now();
        while let Some(left) = self.seconds.checked_sub(begun.elapsed()) {
            context.session.interrupt.check()?;
            thread::sleep(left.min(Duration::from_millis(20)));
        }
        Ok(Answer::Yes)
    }
}

/// End the script or leave the prompt. What comes after it in a script is not run.
#[derive(Debug, clap::Args)]
#[command(alias = "quit")]
pub(crate) struct Leave {
    /// The exit code
    code: Option<u8>,
}

impl Command for Leave {
    fn scope(&self) -> Scope {
        Scope::Anywhere
    }

    fn run(&self, _: &mut Context<'_>) -> Result<Answer, Failure> {
        Ok(self.answer())
    }

    fn ends_with(&self) -> Option<Answer> {
        Some(self.answer())
    }
}

impl Leave {
    /// Without a code, the program has that of the answers before.
    fn answer(&self) -> Answer {
        self.code.map_or(Answer::Yes, Answer::Leave)
    }
}
