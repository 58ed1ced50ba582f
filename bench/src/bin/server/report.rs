//! The table that is printed, and the medians in it.

#[path = "../shared/grouped.rs"]
mod grouped;
#[path = "../shared/median.rs"]
mod median;

use std::fmt;
use std::time::Duration;

/// Figures with what they are of.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<(String, String)>,
    notes: Vec<String>,
}

impl Table {
    /// Adds a figure.
    pub fn row(&mut self, what: impl Into<String>, figure: impl Into<String>) {
        self.rows.push((what.into(), figure.into()));
    }

    /// Adds a remark below the figures.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}

impl fmt::Display for Table {
    /// As a table of Markdown, whose columns line up.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wide = |pick: fn(&(String, String)) -> &String, least: usize| {
            self.rows
                .iter()
                .map(|row| pick(row).chars().count())
                .max()
                .unwrap_or(0)
                .max(least)
        };
        let (what, figure) = (wide(|row| &row.0, 4), wide(|row| &row.1, 6));
        writeln!(f, "| {:what$} | {:>figure$} |", "what", "figure")?;
        writeln!(f, "|{}|{}:|", "-".repeat(what + 2), "-".repeat(figure + 1))?;
        for row in &self.rows {
            writeln!(f, "| {:what$} | {:>figure$} |", row.0, row.1)?;
        }
        for note in &self.notes {
            writeln!(f, "\n{note}")?;
        }
        Ok(())
    }
}

/// The middle one; of an even number, the upper of the two. Zero where there is none.
pub fn median<T: Ord + Copy + Default>(values: &mut [T]) -> T {
    median::median(values, Ord::cmp).unwrap_or_default()
}

/// `12.3 ms`, or `123 µs` below a millisecond.
pub fn time(time: Duration) -> String {
    match time.as_micros() {
        micros @ ..1000 => format!("{micros} µs"),
        micros => format!("{:.1} ms", micros as f64 / 1000.0),
    }
}

/// `12.3 MiB`.
pub fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// Thousands apart: `12 345`.
pub fn grouped(number: u64) -> String {
    grouped::grouped(&number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        let mut none: [u64; 0] = [];
        assert_eq!(
            (
                median(&mut [3, 1, 2]),
                median(&mut [4, 1, 2, 3]),
                median(&mut none)
            ),
            (2, 3, 0)
        );
        for (number, expect) in [(7, "7"), (123, "123"), (1_234, "1 234"), (1_234_567, "1 234 567")] {
            assert_eq!(grouped(number), expect);
        }
        for (micros, expect) in [(999, "999 µs"), (1_000, "1.0 ms"), (12_345, "12.3 ms")] {
            assert_eq!(time(Duration::from_micros(micros)), expect);
        }
    }
}
