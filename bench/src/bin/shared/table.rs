//! A table of Markdown with a column for each peer, and how the first of them compares.

#[path = "grouped.rs"]
mod grouped;

use std::fmt;

pub use grouped::grouped;

/// Figures by row and peer.
#[derive(Debug)]
pub struct Table {
    peers: Vec<String>,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

/// How a figure is written.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// By what it is divided.
    pub scale: f64,
    /// Digits after the point.
    pub digits: usize,
    /// What follows it.
    pub name: &'static str,
}

impl Table {
    /// With a column for each peer; those after the first also get one of the first divided by them.
    pub fn new(peers: impl IntoIterator<Item = String>) -> Self {
        Self {
            peers: peers.into_iter().collect(),
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a row, with a figure for each peer that has one. None is added where nobody has.
    pub fn row(&mut self, what: &str, unit: Unit, figures: &[Option<f64>]) {
        if figures.iter().all(Option::is_none) {
            return;
        }
        let mut row = vec![format!("{what}, {}", unit.name)];
        row.extend(figures.iter().map(|figure| match figure {
            Some(figure) => grouped(&format!("{:.*}", unit.digits, figure / unit.scale)),
            None => String::new(),
        }));
        let first = figures.first().copied().flatten();
        row.extend(figures.iter().skip(1).map(|other| match (first, other) {
            (Some(first), Some(other)) if *other > 0.0 => format!("{:.2}", first / other),
            _ => String::new(),
        }));
        self.rows.push(row);
    }

    /// Adds a remark below the figures.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut head = vec!["what".to_owned()];
        head.extend(self.peers.iter().cloned());
        if let Some((first, others)) = self.peers.split_first() {
            head.extend(others.iter().map(|other| format!("{first} / {other}")));
        }
        let widths: Vec<usize> = (0..head.len())
            .map(|column| {
                let cells = self.rows.iter().chain([&head]).filter_map(|row| row.get(column));
                cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
            })
            .collect();
        let line = |f: &mut fmt::Formatter<'_>, row: &[String]| {
            for (at, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                match at {
                    0 => write!(f, "| {cell:width$} |")?,
                    _ => write!(f, " {cell:>width$} |")?,
                }
            }
            writeln!(f)
        };
        line(f, &head)?;
        for (at, width) in widths.iter().enumerate() {
            match at {
                0 => write!(f, "|{}|", "-".repeat(width + 2))?,
                _ => write!(f, "{}:|", "-".repeat(width + 1))?,
            }
        }
        writeln!(f)?;
        for row in &self.rows {
            line(f, row)?;
        }
        for note in &self.notes {
            writeln!(f, "\n{note}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_compare() {
        let seconds = Unit {
            scale: 1.0,
            digits: 2,
            name: "CPU s",
        };
        let mut table = Table::new(["a".to_owned(), "b".to_owned(), "c".to_owned()]);
        table.row("sync", seconds, &[Some(1.0), Some(1234.5), None]);
        table.row("nothing", seconds, &[None, None, None]);
        table.note("c is left out.");
        let expect = "\
| what        |    a |        b | c | a / b | a / c |
|-------------|-----:|---------:|--:|------:|------:|
| sync, CPU s | 1.00 | 1 234.50 |   |  0.00 |       |

c is left out.
";
        assert_eq!(table.to_string(), expect);
    }
}
