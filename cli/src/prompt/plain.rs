//! Lines from standard input, which need no terminal. They are shown after the prompt, so that the
//! output reads as on a terminal.

use std::io;

use super::lines::{Lines, Typed, is_yes};
use super::whole::is_whole;
use crate::failure::Failure;
use crate::output::Output;

/// Standard input.
pub(super) struct Plain {}

impl Plain {
    pub(super) fn new() -> Plain {
        Plain {}
    }

    /// The next line without its end; `None` after the last one.
    fn line(&mut self, prompt: &str, out: &mut Output) -> Result<Option<String>, Failure> {
        let mut line = String::new();
        out.flush();
        if io::stdin().read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end_matches(['\n', '\r']).to_owned();
        if !out.is_json() {
            out.say(format_args!("{prompt}{line}"));
        }
        Ok(Some(line))
    }
}

impl Lines for Plain {
    fn read(&mut self, prompt: &str, out: &mut Output) -> Result<Typed, Failure> {
        let Some(mut text) = self.line(prompt, out)? else { return Ok(Typed::End) };
        while !is_whole(&text) {
            let Some(line) = self.line("", out)? else { break };
            text.push('\n');
            text.push_str(&line);
        }
        Ok(Typed::Text(text))
    }

    fn agrees(&mut self, question: &str, out: &mut Output) -> Result<Option<bool>, Failure> {
        Ok(self.line(question, out)?.map(|answer| is_yes(&answer)))
    }
}
