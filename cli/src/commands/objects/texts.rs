//! The texts of the values in a stream of JSON: one a line, or the elements of an array.

use std::io::{self, BufRead};

use super::json::Mistake;

/// The texts, in order. One is in memory at a time.
pub(super) struct Texts<R> {
    input: R,
    /// `None` if there is one a line.
    array: Option<State>,
    /// The place of the next byte: its line, and its column in bytes, both from 1.
    line: u64,
    column: usize,
}

/// Where in an array the next byte is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before it.
    Start,
    /// After `[`.
    First,
    /// After an element.
    Next,
    /// After `]`.
    End,
}

/// A text, and where it begins.
#[derive(Debug, Default)]
pub(super) struct Text {
    pub(super) bytes: Vec<u8>,
    pub(super) line: u64,
    column: usize,
}

impl Text {
    /// The line and the column of a mistake in this text.
    pub(super) fn place_of(&self, mistake: &Mistake) -> (u64, usize) {
        let before = self.bytes.get(..mistake.column.saturating_sub(1)).unwrap_or(&self.bytes);
        match before.iter().rposition(|byte| *byte == b'\n') {
            None => (self.line, self.column + before.len()),
            Some(end) => {
                let lines = before.iter().filter(|byte| **byte == b'\n').count();
                (self.line + lines as u64, before.len() - end)
            }
        }
    }
}

/// The reason why reading ends before the end of the texts.
#[derive(Debug)]
pub(super) enum Stop {
    Io(io::Error),
    /// The mistake, with its line and column.
    Mistake(u64, usize, &'static str),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Io(error)
    }
}

impl<R: BufRead> Texts<R> {
    /// `is_array`: the elements of an array.
    pub(super) fn new(input: R, is_array: bool) -> Texts<R> {
        let array = is_array.then_some(State::Start);
        Texts { input, array, line: 1, column: 1 }
    }

    /// Reads the next text that is not blank; `None` at the end.
    pub(super) fn next(&mut self, text: &mut Text) -> Result<Option<()>, Stop> {
        text.bytes.clear();
        match self.array {
            None => self.next_line(text),
            Some(state) => self.next_element(state, text),
        }
    }

    fn next_line(&mut self, text: &mut Text) -> Result<Option<()>, Stop> {
        loop {
            (text.line, text.column) = (self.line, 1);
            text.bytes.clear();
            if self.input.read_until(b'\n', &mut text.bytes)? == 0 {
                return Ok(None);
            }
            self.line += 1;
            // Blank lines are no texts, but they count for the places of mistakes.
            if !text.bytes.trim_ascii().is_empty() {
                return Ok(Some(()));
            }
        }
    }

    fn next_element(&mut self, mut state: State, text: &mut Text) -> Result<Option<()>, Stop> {
        loop {
            let (byte, wanted) = (
                self.after_blanks()?,
                self.mistake(match state {
                    State::Start => "a [ is expected here",
                    State::First => "an element or ] is expected here",
                    State::Next => "a , or ] is expected here",
                    State::End => "nothing is expected after the array",
                }),
            );
            state = match (state, byte) {
                (State::End, None) => return Ok(None),
                (State::Start, Some(b'[')) => State::First,
                (State::First | State::Next, Some(b']')) => State::End,
                (State::First, Some(_)) => break,
                (State::Next, Some(b',')) => {
                    self.take()?;
                    self.after_blanks()?;
                    break;
                }
                _ => return Err(wanted),
            };
            self.take()?;
            self.array = Some(state);
        }
        self.array = Some(State::Next);
        self.element(text).map(Some)
    }

    /// Reads an element, up to the comma or bracket after it.
    fn element(&mut self, text: &mut Text) -> Result<(), Stop> {
        (text.line, text.column) = (self.line, self.column);
        let (mut depth, mut is_text, mut is_escaped) = (0_u64, false, false);
        loop {
            let Some(byte) = self.peek()? else {
                return Err(self.mistake("the array does not end"));
            };
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if is_text => is_escaped = true,
                b'"' => is_text = !is_text,
                _ if is_text => {}
                b'{' | b'[' => depth += 1,
                b',' | b']' if depth == 0 => return Ok(()),
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            text.bytes.push(byte);
            self.take()?;
        }
    }

    fn mistake(&self, what: &'static str) -> Stop {
        Stop::Mistake(self.line, self.column, what)
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.input.fill_buf()?.first().copied())
    }

    /// Passes over a byte.
    fn take(&mut self) -> io::Result<()> {
        match self.peek()? {
            None => return Ok(()),
            Some(b'\n') => (self.line, self.column) = (self.line + 1, 1),
            Some(_) => self.column += 1,
        }
        self.input.consume(1);
        Ok(())
    }

    /// The next byte that is no blank.
    fn after_blanks(&mut self) -> io::Result<Option<u8>> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek()? {
            self.take()?;
        }
        self.peek()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(input: &str, is_array: bool) -> Result<Vec<String>, String> {
        let mut texts = Texts::new(input.as_bytes(), is_array);
        let (mut text, mut found) = (Text::default(), Vec::new());
        loop {
            match texts.next(&mut text) {
                Ok(None) => return Ok(found),
                Ok(Some(())) => {
                    let shown = String::from_utf8(text.bytes.clone()).unwrap();
                    found.push(format!("{}:{} {}", text.line, text.column, shown.trim_end()));
                }
                Err(Stop::Mistake(line, column, what)) => {
                    return Err(format!("{line}:{column} {what}"));
                }
                Err(Stop::Io(error)) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn lines_and_elements() {
        assert_eq!(of("{}\n\n {\"a\":1}", false).unwrap(), ["1:1 {}", "3:1  {\"a\":1}"]);
        assert_eq!(of("\n[ ]\n", true).unwrap(), [""; 0]);
        let array = "\n [{\"a\":[1,{}]},\n  {\"b\":\"],\\\"}\"} , 3\n]\n";
        assert_eq!(
            of(array, true).unwrap(),
            ["2:3 {\"a\":[1,{}]}", "3:3 {\"b\":\"],\\\"}\"}", "3:19 3"]
        );
        for (wrong, what) in [
            ("[", "1:2 an element or ] is expected here"),
            ("[{}", "1:4 the array does not end"),
            ("[1\n", "2:1 the array does not end"),
            ("[1]\n]", "2:1 nothing is expected after the array"),
            ("[1,", "1:4 the array does not end"),
        ] {
            assert_eq!(of(wrong, true).unwrap_err(), what, "{wrong}");
        }
    }

    #[test]
    fn a_mistake_has_its_place_in_the_stream() {
        let text = Text { bytes: b"{\n \"a\" 1}".to_vec(), line: 4, column: 7 };
        let place = |column| text.place_of(&Mistake { column, what: "" });
        assert_eq!((place(1), place(2), place(3), place(7)), ((4, 7), (4, 8), (5, 1), (5, 5)));
    }
}
