//! Why a webhook gave no answer.

use std::error::Error;

/// Why a call of a webhook failed. Its text is told to clients, so it holds all there is to say.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum WebhookError {
    /// It could not be reached, or broke off.
    #[error("Post {url:?}: {why}")]
    Call {
        /// Where it is.
        url: String,
        /// What happened.
        why: String,
    },
    /// It answered with a failure.
    #[error("{0}")]
    Answer(String),
}

/// An error and what caused it, in one line.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        // Some tell their cause themselves.
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    text
}
