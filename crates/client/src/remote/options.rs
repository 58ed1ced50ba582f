//! Which streams of a process are wanted: [`ExecOptions`].

use form_urlencoded::Serializer;

/// What to connect of a process in a container (`PodExecOptions`, `PodAttachOptions`).
///
/// The default has standard output and standard error and no input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecOptions {
    /// The container. Default: the only one there is; of several, the server wants one named.
    pub container: Option<String>,
    /// Standard input. Default: [`Stdio::Closed`].
    pub stdin: Stdio,
    /// Standard output. Default: [`Stdio::Piped`].
    pub stdout: Stdio,
    /// Standard error. Default: [`Stdio::Piped`].
    pub stderr: Stdio,
    /// Whether there is a terminal. Default: [`Terminal::None`].
    pub terminal: Terminal,
}

/// What to connect of the process that a container runs.
pub type AttachOptions = ExecOptions;

/// Whether a stream is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdio {
    /// It is.
    Piped,
    /// It is not.
    Closed,
}

/// Whether a process has a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminal {
    /// It has none.
    None,
    /// It has one. Both outputs are one then, so [`ExecOptions::stderr`] has to be closed.
    Allocated,
}

impl Default for ExecOptions {
    fn default() -> Self {
        Self {
            container: None,
            stdin: Stdio::Closed,
            stdout: Stdio::Piped,
            stderr: Stdio::Piped,
            terminal: Terminal::None,
        }
    }
}

impl ExecOptions {
    /// The outputs of a process in a container.
    pub fn of(container: impl Into<String>) -> Self {
        Self {
            container: Some(container.into()),
            ..Self::default()
        }
    }

    /// With input.
    #[must_use]
    pub fn with_stdin(mut self) -> Self {
        self.stdin = Stdio::Piped;
        self
    }

    /// With a terminal, by which both outputs come as one.
    #[must_use]
    pub fn with_terminal(mut self) -> Self {
        self.terminal = Terminal::Allocated;
        self.stderr = Stdio::Closed;
        self
    }

    /// What is wrong with them (core/validation `ValidatePodExecOptions`, cri-streaming `validateExecRequest`).
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if self.terminal == Terminal::Allocated && self.stderr == Stdio::Piped {
            return Err("a process with a terminal has no standard error of its own");
        }
        if [self.stdin, self.stdout, self.stderr] == [Stdio::Closed; 3] {
            return Err("one of stdin, stdout and stderr is needed");
        }
        Ok(())
    }

    pub(super) fn to_query(&self, command: &[&str]) -> String {
        let mut query = Serializer::new(String::new());
        for word in command {
            query.append_pair("command", word);
        }
        if let Some(container) = &self.container {
            query.append_pair("container", container);
        }
        for (name, stream) in [
            ("stderr", self.stderr),
            ("stdin", self.stdin),
            ("stdout", self.stdout),
        ] {
            if stream == Stdio::Piped {
                query.append_pair(name, "true");
            }
        }
        if self.terminal == Terminal::Allocated {
            query.append_pair("tty", "true");
        }
        query.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_and_rules() {
        let none = ExecOptions {
            stdout: Stdio::Closed,
            stderr: Stdio::Closed,
            ..ExecOptions::default()
        };
        let both = ExecOptions {
            stderr: Stdio::Piped,
            ..ExecOptions::default().with_terminal()
        };
        for (options, expect) in [
            (
                ExecOptions::default(),
                Ok("command=echo&command=a+b%26&stderr=true&stdout=true"),
            ),
            (
                ExecOptions::of("app").with_stdin(),
                Ok("command=echo&command=a+b%26&container=app&stderr=true&stdin=true&stdout=true"),
            ),
            (
                ExecOptions::default().with_terminal(),
                Ok("command=echo&command=a+b%26&stdout=true&tty=true"),
            ),
            (none, Err("one of stdin")),
            (both, Err("a process with a terminal")),
        ] {
            match (options.check(), expect) {
                (Ok(()), Ok(query)) => assert_eq!(options.to_query(&["echo", "a b&"]), query),
                (Err(why), Err(words)) => assert!(why.starts_with(words), "{why}"),
                other => panic!("{options:?}: {other:?}"),
            }
        }
    }
}
