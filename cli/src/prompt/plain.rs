//! Lines from standard input, which need no terminal. They are shown after the prompt, so that the
//! output reads as on a terminal. A tab at the end of a line shows what could stand there.

use std::io;

use super::complete::complete;
use super::lines::{Lines, Typed, is_yes};
use super::whole::is_whole;
use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;

/// Standard input.
pub(super) struct Plain<'s> {
    session: &'s Session,
}

impl<'s> Plain<'s> {
    pub(super) fn new(session: &'s Session) -> Plain<'s> {
        Plain { session }
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
            out.say(format_args!("{prompt}{}", line.trim_end_matches('\t')));
        }
        Ok(Some(line))
    }
}

impl Lines for Plain<'_> {
    fn read(&mut self, prompt: &str, out: &mut Output) -> Result<Typed, Failure> {
        let mut text = loop {
            let Some(text) = self.line(prompt, out)? else { return Ok(Typed::End) };
            let Some(text) = text.strip_suffix('\t') else { break text };
            let completion = complete(text, self.session);
            completion.candidates.iter().for_each(|candidate| out.say(candidate));
        };
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
