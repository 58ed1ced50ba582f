//! Whether the pages of a list lead round in a circle: [`ContinueTokens`].

/// The continue tokens of a list, so that pages which lead back to one that has come are not read for ever.
///
/// It takes the memory of one token: each is compared with one before it, which is replaced after 2, 4, 8 pages and so on
/// (R. P. Brent, "An improved Monte Carlo factorization algorithm", 1980). A circle is noticed before three times as many pages have
/// come as there are.
///
/// ```
/// use kubewright_core::ContinueTokens;
///
/// let mut tokens = ContinueTokens::default();
/// assert_eq!(["a", "b", "a"].map(|token| tokens.come_round(token)), [false, false, true]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct ContinueTokens {
    /// The one with which others are compared; empty before the first.
    kept: String,
    /// How many have come since, and after how many another one is kept.
    since: u64,
    turn: u64,
}

impl ContinueTokens {
    /// Takes the continue token of the page that has just come; true if it is known to have come before. That of the last page is empty, and
    /// never is.
    #[must_use]
    pub fn come_round(&mut self, token: &str) -> bool {
        if token.is_empty() || token == self.kept {
            return !token.is_empty();
        }
        if self.since == self.turn {
            token.clone_into(&mut self.kept);
            self.turn = 2 * self.turn + 1;
            self.since = 0;
        } else {
            self.since += 1;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_circle_is_noticed_and_nothing_else() {
        for tail in 0..40 {
            for circle in 1..40 {
                let mut tokens = ContinueTokens::default();
                let token = |page: u64| match page < tail {
                    true => page,
                    false => tail + (page - tail) % circle,
                };
                let noticed = (0..).find(|page| tokens.come_round(&token(*page).to_string()));
                let pages = tail + circle;
                assert!(
                    noticed.is_some_and(|page| (pages..=3 * pages).contains(&page)),
                    "{tail} pages and then {circle} for ever: {noticed:?}"
                );
            }
        }
        let mut tokens = ContinueTokens::default();
        assert!(!tokens.come_round("") && !tokens.come_round(""));
        assert!(!(0..1000).any(|page| tokens.come_round(&page.to_string())));
    }
}
