//! Peers, which do the same one after the other.

use anyhow::Result;

/// One that is measured.
pub trait Peer: Copy {
    /// As the table calls it.
    fn name(self) -> &'static str;

    /// Builds what is not part of this program.
    fn prepare(self) -> Result<()>;
}

/// Those that can be measured here. Why another cannot is noted.
pub fn prepared<P: Peer>(peers: impl IntoIterator<Item = P>, notes: &mut Vec<String>) -> Vec<P> {
    let mut prepared = Vec::new();
    for peer in peers {
        match peer.prepare() {
            Ok(()) => prepared.push(peer),
            Err(why) => notes.push(format!("{} is left out: {why:#}.", peer.name())),
        }
    }
    prepared
}

/// What comes of it when all do the same in turn, so that noise falls on all of them. What goes wrong with one is noted and keeps
/// no other from its work.
pub fn in_turn<P: Peer, T>(
    peers: &[P],
    rounds: usize,
    notes: &mut Vec<String>,
    mut perform: impl FnMut(P) -> Result<T>,
) -> Vec<Vec<T>> {
    let mut done: Vec<Vec<T>> = peers.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (peer, done) in peers.iter().zip(&mut done) {
            match perform(*peer) {
                Ok(figures) => done.push(figures),
                Err(error) => notes.push(format!("A figure of {} is missing: {error:#}.", peer.name())),
            }
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use anyhow::ensure;

    use super::*;

    #[derive(Clone, Copy)]
    struct Named(&'static str);

    impl Peer for Named {
        fn name(self) -> &'static str {
            self.0
        }

        fn prepare(self) -> Result<()> {
            ensure!(self.0 != "c", "it is not there");
            Ok(())
        }
    }

    #[test]
    fn one_that_fails_keeps_no_other_from_its_work() {
        let mut notes = Vec::new();
        let peers = prepared(["a", "b", "c"].map(Named), &mut notes);
        let mut order = Vec::new();
        let done = in_turn(&peers, 2, &mut notes, |peer| {
            order.push(peer.name());
            ensure!(peer.name() != "a", "it fell over");
            Ok(order.len())
        });
        assert_eq!(order, ["a", "b", "a", "b"]);
        assert_eq!(done, [vec![], vec![2, 4]]);
        let missing = "A figure of a is missing: it fell over.";
        assert_eq!(notes, ["c is left out: it is not there.", missing, missing]);
    }
}
