//! What a peer has told of a task, and the medians of several rounds.

use anyhow::{Context as _, Result, bail};

use crate::measure::Cost;
use crate::median;
use crate::task::{Collected, Line, Reads, Step};

/// What one task has cost one peer.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Resident before the informer started, in bytes.
    pub before: u64,
    /// The first sync.
    pub sync: Cost,
    /// What was left after a forced collection.
    pub collected: Option<Collected>,
    /// What the handlers saw of the first sync.
    pub digest: u64,
    /// The events.
    pub update: Option<Cost>,
    /// The relist, and what was resident before it, in bytes.
    pub relist: Option<(Cost, u64)>,
    /// Reads from the cache.
    pub reads: Option<Reads>,
    /// What was not as it should be.
    pub problems: Vec<String>,
}

impl Outcome {
    /// Takes in a line. True when it was the last.
    pub fn take_in(&mut self, line: Line) -> Result<bool> {
        match line {
            Line::Start { resident } => self.before = resident,
            Line::Sync {
                cost,
                digest,
                collected,
            } => {
                (self.sync, self.digest, self.collected) = (cost, digest, collected);
            }
            Line::Ready { .. } => {}
            Line::Done {
                step: Step::Update,
                cost,
            } => self.update = Some(cost),
            Line::Done {
                step: Step::Relist,
                cost,
            } => {
                let before = self.update.unwrap_or(self.sync).resident;
                self.relist = Some((cost, before));
            }
            Line::Done {
                step: Step::Reads, ..
            } => bail!("reads have figures of their own"),
            Line::Reads(reads) => self.reads = Some(reads),
            Line::End { problems } => {
                self.problems = problems;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A figure of several rounds: the middle one, of an even number the upper of the two.
pub fn median(rounds: &[Outcome], figure: impl Fn(&Outcome) -> Option<f64>) -> Option<f64> {
    let mut figures: Vec<f64> = rounds.iter().filter_map(figure).collect();
    median::median(&mut figures, f64::total_cmp)
}

/// A line of a peer's output.
pub fn parse(text: &str) -> Result<Line> {
    serde_json::from_str(text).with_context(|| format!("not a line of a peer: {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_peers_are_read() {
        // As the program in Go writes them.
        let lines = [
            r#"{"line":"start","resident":10}"#,
            r#"{"line":"sync","cpu":1.5,"wall":0.5,"resident":100,"peak":120,"digest":7,"collected":{"resident":90,"heap":80}}"#,
            r#"{"line":"ready","step":"update"}"#,
            r#"{"line":"done","step":"update","cpu":2,"wall":1,"resident":110,"peak":130}"#,
            r#"{"line":"done","step":"relist","cpu":3,"wall":1,"resident":115,"peak":220}"#,
            r#"{"line":"reads","list_cold":1,"list_warm":2,"list_copied":3,"get_cold":4,"get_warm":5,"get_copied":6}"#,
        ];
        let mut outcome = Outcome::default();
        for line in lines {
            assert!(!outcome.take_in(parse(line).unwrap()).unwrap(), "{line}");
        }
        assert!(
            outcome
                .take_in(parse(r#"{"line":"end","problems":["x"]}"#).unwrap())
                .unwrap()
        );
        assert_eq!((outcome.before, outcome.sync.cpu, outcome.digest), (10, 1.5, 7));
        assert_eq!(
            outcome.relist.map(|(cost, before)| (cost.peak, before)),
            Some((220, 110))
        );
        assert_eq!(outcome.collected.map(|collected| collected.heap), Some(80));
        assert_eq!(outcome.reads.and_then(|reads| reads.get_copied), Some(6.0));
        assert_eq!(outcome.problems, ["x"]);
        assert!(parse("panic: x").is_err());
    }

    #[test]
    fn the_middle_of_rounds() {
        let rounds: Vec<Outcome> = [3.0, 1.0, 2.0]
            .map(|cpu| Outcome {
                sync: Cost {
                    cpu,
                    ..Cost::default()
                },
                ..Outcome::default()
            })
            .to_vec();
        assert_eq!(median(&rounds, |outcome| Some(outcome.sync.cpu)), Some(2.0));
        assert_eq!(
            median(&rounds, |outcome| outcome.reads.map(|reads| reads.get_cold)),
            None
        );
    }
}
