//! The file of bearer tokens, under kube-apiserver's name (apiserver pkg/authentication/token/tokenfile).

use std::path::{Path, PathBuf};

use kubewright_net::Identity;

use crate::failure::Advised;

/// Who bears which token.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct TokenArguments {
    /// A file of bearer tokens, a line of CSV for each: token, user, uid, and if there are any, the groups in quotes:
    /// `s3cret,alice,7,"dev,ops"`.
    #[arg(long, value_name = "PATH")]
    token_auth_file: Option<PathBuf>,
}

impl TokenArguments {
    /// The tokens and their bearers.
    pub(super) fn read(&self) -> anyhow::Result<Vec<(String, Identity)>> {
        let Some(path) = &self.token_auth_file else {
            return Ok(Vec::new());
        };
        let unreadable = |error: anyhow::Error| {
            let what = format!("the tokens in {} cannot be read", path.display());
            Advised::new(what, "give lines of `token,user,uid,\"group,group\"`", error)
        };
        let text = std::fs::read(path).map_err(|error| unreadable(error.into()))?;
        Ok(tokens(&text, path).map_err(unreadable)?)
    }
}

/// Of two lines with one token, the later counts.
fn tokens(text: &[u8], path: &Path) -> anyhow::Result<Vec<(String, Identity)>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text);
    let mut tokens: Vec<(String, Identity)> = Vec::new();
    for (index, record) in reader.records().enumerate() {
        let record = record?;
        let number = index + 1;
        let (Some(token), Some(user), Some(uid)) = (record.get(0), record.get(1), record.get(2)) else {
            let found = record.len();
            anyhow::bail!("line {number} has {found} columns, and needs token, user and uid at least");
        };
        if token.is_empty() {
            tracing::warn!(path = %path.display(), line = number, "a line without a token is passed over");
            continue;
        }
        if tokens.iter().any(|(known, _)| known == token) {
            tracing::warn!(path = %path.display(), line = number, "a token is there twice; the later line counts");
            tokens.retain(|(known, _)| known != token);
        }
        let groups = record.get(3).into_iter().flat_map(|groups| groups.split(','));
        let mut identity = Identity::new(user, groups.filter(|group| !group.is_empty()));
        uid.clone_into(&mut identity.uid);
        tokens.push((token.to_owned(), identity));
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tokens() {
        /// A token and who bears it: user, uid, groups.
        type Line = (&'static str, &'static str, &'static str, &'static [&'static str]);

        #[track_caller]
        fn check(text: &str, expect: Result<&[Line], &str>) {
            let found = tokens(text.as_bytes(), Path::new("f")).map_err(|error| error.to_string());
            let line = |&(token, user, uid, groups): &Line| {
                let mut identity = Identity::new(user, groups.iter().copied());
                identity.uid = uid.to_owned();
                (token.to_owned(), identity)
            };
            let expect = expect.map(|lines| lines.iter().map(line).collect::<Vec<_>>());
            assert_eq!(found, expect.map_err(str::to_owned), "{text}");
        }
        check("", Ok(&[]));
        check("t,alice,7\n", Ok(&[("t", "alice", "7", &[])]));
        check(
            "t,alice,7,\"dev,ops\"\r\n\nu,bob,,dev,more\n",
            Ok(&[("t", "alice", "7", &["dev", "ops"]), ("u", "bob", "", &["dev"])]),
        );
        check("\"a,b\",\"c \"\"d\"\"\",1", Ok(&[("a,b", "c \"d\"", "1", &[])]));
        check(",alice,7\nt,bob,8,\n", Ok(&[("t", "bob", "8", &[])]));
        check("t,alice,7\nt,bob,8\n", Ok(&[("t", "bob", "8", &[])]));
        check(
            "t,alice,7\nt,alice\n",
            Err("line 2 has 2 columns, and needs token, user and uid at least"),
        );
    }
}
