//! Lines from standard input, which need no terminal. They are shown after the prompt, so that the
//! output reads as on a terminal. A tab at the end of a line shows what could stand there.

use std::io::{self, BufRead};

use super::complete::complete;
use super::continuation::is_complete;
use super::lines::{Lines, Typed, UNREADABLE, is_yes};
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

    /// The next line without its end.
    fn line(&mut self, prompt: &str, out: &mut Output) -> Result<Line, Failure> {
        let mut bytes = Vec::new();
        out.flush();
        if io::stdin().lock().read_until(b'\n', &mut bytes)? == 0 {
            return Ok(Line::End);
        }
        let Ok(line) = String::from_utf8(bytes) else { return Ok(Line::Unreadable) };
        let line = line.trim_end_matches(['\n', '\r']).to_owned();
        if !out.is_json() {
            out.say(format_args!("{prompt}{}", line.trim_end_matches('\t')));
        }
        Ok(Line::Text(line))
    }
}

/// One line.
enum Line {
    Text(String),
    Unreadable,
    End,
}

impl Lines for Plain<'_> {
    fn read(&mut self, prompt: &str, out: &mut Output) -> Result<Typed, Failure> {
        let mut text = loop {
            let text = match self.line(prompt, out)? {
                Line::Text(text) => text,
                Line::Unreadable => return Ok(Typed::Unreadable(UNREADABLE)),
                Line::End => return Ok(Typed::End),
            };
            let Some(text) = text.strip_suffix('\t') else { break text };
            let completion = complete(text, self.session);
            completion.candidates.iter().for_each(|candidate| out.say(candidate));
        };
        while !is_complete(&text) {
            match self.line("", out)? {
                Line::Text(line) => {
                    text.push('\n');
                    text.push_str(&line);
                }
                Line::Unreadable => return Ok(Typed::Unreadable(UNREADABLE)),
                Line::End => break,
            }
        }
        Ok(Typed::Text(text))
    }

    fn agrees(&mut self, question: &str, out: &mut Output) -> Result<Option<bool>, Failure> {
        Ok(match self.line(question, out)? {
            Line::Text(answer) => Some(is_yes(&answer)),
            // Bytes that mean nothing do not mean yes.
            Line::Unreadable => Some(false),
            Line::End => None,
        })
    }
}
