//! Which mutating webhooks are called, and which once more because another one changed the object after them (apiserver
//! pkg/admission/reinvocation.go, pkg/admission/plugin/webhook/mutating/reinvocationcontext.go).

use std::collections::BTreeSet;

/// The calls of one request: each hook in its order, then in the same order those again that a change came after.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// Those that were called, want to be called again, and have seen every change.
    settled: BTreeSet<usize>,
    /// Those after whose call the object changed.
    due: BTreeSet<usize>,
}

/// Which time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    First,
    Again,
}

impl Rounds {
    /// Both of them: no hook is called a third time.
    pub(super) const ALL: [Round; 2] = [Round::First, Round::Again];

    /// Whether the hook at a place has its turn.
    pub(super) fn has_turn(&self, round: Round, place: usize) -> bool {
        round == Round::First || self.due.contains(&place)
    }

    /// The hook was called; whoever was called before it and wants to see every change has not seen this one.
    pub(super) fn called(&mut self, place: usize, wants_more: bool, has_changed: bool) {
        if has_changed {
            self.due.append(&mut self.settled);
        }
        if wants_more {
            self.settled.insert(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `A` wants to be called again, `a` does not; `!` follows one that changes the object each time.
    fn run(hooks: &str) -> String {
        let mut parsed: Vec<(char, bool)> = Vec::new();
        for c in hooks.chars() {
            match c {
                '!' => parsed.last_mut().unwrap().1 = true,
                name => parsed.push((name, false)),
            }
        }
        let (mut rounds, mut calls) = (Rounds::default(), String::new());
        for round in Rounds::ALL {
            for (place, (name, changes)) in parsed.iter().enumerate() {
                if rounds.has_turn(round, place) {
                    calls.push(*name);
                    rounds.called(place, name.is_uppercase(), *changes);
                }
            }
        }
        calls
    }

    #[test]
    fn who_is_called_again() {
        for (hooks, calls) in [
            ("", ""),
            ("ab", "ab"),
            ("AB", "AB"),
            // A change of its own is none that a hook has not seen.
            ("A!", "A"),
            ("A!b", "Ab"),
            ("Ab!", "AbA"),
            ("ab!", "ab"),
            ("a!B", "aB"),
            ("A!B!", "ABAB"),
            // Whoever changes something in the second round calls those that are still to come, and nobody a third time.
            ("ABc!", "ABcAB"),
            ("A!B!c!", "ABcAB"),
            ("AbC!D", "AbCDA"),
            ("A!B!C!", "ABCABC"),
        ] {
            assert_eq!(run(hooks), calls, "{hooks}");
        }
    }
}
