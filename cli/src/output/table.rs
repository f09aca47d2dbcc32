//! Rows as columns, for people.

use std::time::{Duration, Instant};

use permazen_query::text::escaped;
use permazen_query::{Column, ObjectRow, Row};
use unicode_width::UnicodeWidthStr;

use super::lines::Lines;
use super::sink::Sink;
use super::writer::Writer;

/// How many rows are read to find the widths of the columns.
const MOST_ROWS: usize = 1000;
/// At most this many bytes of them.
const MOST_BYTES: usize = 1 << 20;
/// The largest width of a column: one long value does not move the values of all other rows away.
const MOST_WIDTH: usize = 200;
/// How long the first row waits for others.
pub(super) const LONGEST: Duration = Duration::from_millis(50);
/// The gap between two columns.
const GAP: &str = "  ";

/// Writes a table. The first rows decide the widths of its columns; longer values that come later
/// are shown whole.
pub(super) struct Table {
    columns: Vec<(Width, bool)>,
    begun: Instant,
    /// The rows that are held back until the widths are known.
    held: Vec<Vec<String>>,
    held_bytes: usize,
    /// Whether the widths are known, and the header is written.
    started: bool,
    /// For objects, which have no columns.
    objects: Lines,
}

/// The width of a column on the screen.
type Width = usize;

impl Table {
    pub(super) fn new() -> Table {
        Table {
            columns: Vec::new(),
            begun: Instant::now(),
            held: Vec::new(),
            held_bytes: 0,
            started: false,
            objects: Lines::new(),
        }
    }

    /// Decides the widths, and writes the rows that were held back.
    fn start(&mut self, sink: &mut Sink) {
        for cells in &self.held {
            for (cell, (width, _)) in cells.iter().zip(&mut self.columns) {
                *width = (*width).max(cell.width().min(MOST_WIDTH));
            }
        }
        self.started = true;
        let mut rows = std::mem::take(&mut self.held).into_iter();
        if let Some(header) = rows.next() {
            self.write(&header, sink);
            let rule: Vec<_> = self.columns.iter().map(|(width, _)| "-".repeat(*width)).collect();
            self.write(&rule, sink);
        }
        rows.for_each(|cells| self.write(&cells, sink));
    }

    fn write(&self, cells: &[String], sink: &mut Sink) {
        let mut line = String::new();
        let last = cells.len().saturating_sub(1);
        for (at, (cell, (width, numeric))) in cells.iter().zip(&self.columns).enumerate() {
            let padding = " ".repeat(width.saturating_sub(cell.width()));
            if *numeric {
                line.push_str(&padding);
            }
            line.push_str(cell);
            if at < last {
                if !numeric {
                    line.push_str(&padding);
                }
                line.push_str(GAP);
            }
        }
        line.push('\n');
        sink.push(line.as_bytes());
    }
}

impl Writer for Table {
    fn columns(&mut self, columns: &[Column], _sink: &mut Sink) {
        self.begun = Instant::now();
        self.columns = columns.iter().map(|column| (0, column.numeric)).collect();
        // The header is a row like others.
        self.held = vec![columns.iter().map(|c| escaped(&c.name).into_owned()).collect()];
    }

    fn row(&mut self, row: &Row, sink: &mut Sink) {
        let cells: Vec<String> = row.cells.iter().map(|cell| cell.shown()).collect();
        if self.started {
            return self.write(&cells, sink);
        }
        self.held_bytes += cells.iter().map(String::len).sum::<usize>();
        self.held.push(cells);
        let enough = self.held.len() > MOST_ROWS || self.held_bytes >= MOST_BYTES;
        if enough || self.begun.elapsed() >= LONGEST {
            self.start(sink);
        }
    }

    fn object(&mut self, object: &ObjectRow, sink: &mut Sink) {
        self.objects.object(object, sink);
    }

    fn overdue(&mut self, sink: &mut Sink) {
        // The header alone waits for the first row, which widens its columns.
        if !self.started && self.held.len() > 1 {
            self.start(sink);
        }
    }

    fn end(&mut self, sink: &mut Sink) {
        if !self.started {
            self.start(sink);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::ops::ControlFlow;
    use std::sync::{Arc, Mutex};

    use permazen::kv::memory::MemoryStore;
    use permazen::object::{Database, TransactionConfig};
    use permazen::schema::{Field, ObjectType, SchemaModel};
    use permazen_query::{Catalog, Limits, Parameters, Rows, check, parse, run};

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[derive(Default)]
    struct Kept(Vec<Column>, Vec<Row>);

    impl Rows for Kept {
        fn columns(&mut self, columns: &[Column]) -> ControlFlow<()> {
            self.0 = columns.to_vec();
            ControlFlow::Continue(())
        }

        fn row(&mut self, row: &Row) -> ControlFlow<()> {
            self.1.push(row.clone());
            ControlFlow::Continue(())
        }

        fn object(&mut self, _: &ObjectRow) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }

    /// The columns and the row of `count Thing`.
    fn count() -> Kept {
        let thing = ObjectType::new("Thing").field(Field::counter("n"));
        let model = SchemaModel::new().object_type(thing);
        let database = Database::new(Arc::new(MemoryStore::new()));
        let tx = database.begin(&TransactionConfig::new(model).unwrap()).unwrap();
        let statement = parse("count Thing").unwrap();
        let checked = check(&statement, &Catalog::of(&tx), &Parameters::new()).unwrap();
        let mut kept = Kept::default();
        run(&tx, &checked, &Limits::default(), &mut kept).unwrap();
        kept
    }

    #[test]
    fn a_row_waits_for_others_but_not_for_long() {
        let Kept(columns, rows) = count();
        let written = Written::default();
        let mut sink = Sink::new(Box::new(written.clone()));
        let text = |sink: &mut Sink| {
            sink.flush();
            String::from_utf8(written.0.lock().unwrap().clone()).unwrap()
        };
        let mut table = Table::new();
        table.columns(&columns, &mut sink);
        // Without a row, the widths are not known.
        table.overdue(&mut sink);
        assert_eq!(text(&mut sink), "");
        table.begun += Duration::from_secs(3600);
        table.row(&rows[0], &mut sink);
        assert_eq!(text(&mut sink), "", "more rows may come");
        table.overdue(&mut sink);
        let start = "count\n-----\n    0\n";
        assert_eq!(text(&mut sink), start);
        table.row(&rows[0], &mut sink);
        assert_eq!(text(&mut sink), format!("{start}    0\n"), "it waits only once");
        table.end(&mut sink);
        assert_eq!(text(&mut sink), format!("{start}    0\n"));
    }

    #[test]
    fn a_long_value_makes_no_wide_column() {
        let columns = [Column::new("a", false), Column::new("b", false)];
        let written = Written::default();
        let mut sink = Sink::new(Box::new(written.clone()));
        let mut table = Table::new();
        table.columns(&columns, &mut sink);
        let cell = |text: &str| permazen_query::Cell::Text(text.into());
        let Kept(_, mut rows) = count();
        for text in ["x", &"y".repeat(60_000), "z"] {
            rows[0].cells = vec![cell(text), cell("end")];
            table.row(&rows[0], &mut sink);
        }
        table.end(&mut sink);
        sink.flush();
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        let lengths: Vec<_> = text.lines().map(str::len).collect();
        assert_eq!(lengths, [203, 205, 205, 60_005, 205]);
    }

    #[test]
    fn the_first_rows_decide() {
        let Kept(columns, rows) = count();
        let written = Written::default();
        let mut sink = Sink::new(Box::new(written.clone()));
        let mut table = Table::new();
        table.columns(&columns, &mut sink);
        table.begun += Duration::from_secs(3600);
        for _ in 1..MOST_ROWS {
            table.row(&rows[0], &mut sink);
        }
        sink.flush();
        assert!(written.0.lock().unwrap().is_empty());
        table.row(&rows[0], &mut sink);
        sink.flush();
        assert!(!written.0.lock().unwrap().is_empty());
    }
}
