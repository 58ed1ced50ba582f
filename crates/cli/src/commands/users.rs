//! Further users of `kubewright up`, each with a kubeconfig.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use kubewright_net::Identity;

/// `NAME[:GROUP,...]=PATH`: who, and where their kubeconfig goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserFile {
    pub(crate) identity: Identity,
    pub(crate) path: PathBuf,
}

impl FromStr for UserFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (who, path) = text
            .split_once('=')
            .ok_or("give a user and a file: NAME[:GROUP,...]=PATH")?;
        if path.is_empty() {
            return Err("there is no path after `=`".to_owned());
        }
        let (name, groups) = name_and_groups(who);
        if name.is_empty() {
            return Err("the user has no name".to_owned());
        }
        if name == "system" {
            return Err(format!(
                "the user would be `system`; write each colon within a name twice: {}",
                who.replace(':', "::")
            ));
        }
        let groups: Vec<&str> = groups.map_or_else(Vec::new, |groups| groups.split(',').collect());
        if groups.contains(&"") {
            return Err("one of the groups has no name".to_owned());
        }
        Ok(Self {
            identity: Identity::new(name, groups),
            path: PathBuf::from(path),
        })
    }
}

/// The name ends at the first colon that stands alone; two are one of the name itself.
fn name_and_groups(who: &str) -> (String, Option<&str>) {
    let mut name = String::new();
    let mut rest = who;
    while let Some((before, after)) = rest.split_once(':') {
        name.push_str(before);
        match after.strip_prefix(':') {
            Some(after) => {
                name.push(':');
                rest = after;
            }
            None => return (name, Some(after)),
        }
    }
    name.push_str(rest);
    (name, None)
}

/// Which file is asked for twice, if any: each kubeconfig has one user.
pub(super) fn repeated<'a>(main: Option<&'a Path>, users: &'a [UserFile]) -> Option<&'a Path> {
    let mut seen: Vec<&Path> = main.into_iter().collect();
    users.iter().map(|user| user.path.as_path()).find(|path| {
        let is_known = seen.contains(path);
        seen.push(path);
        is_known
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_and_where() {
        #[track_caller]
        fn check(text: &str, expect: Result<(&str, &[&str], &str), &str>) {
            let found = text.parse::<UserFile>();
            let expect = expect.map(|(name, groups, path)| UserFile {
                identity: Identity::new(name, groups.iter().copied()),
                path: path.into(),
            });
            assert_eq!(found, expect.map_err(str::to_owned), "{text}");
        }
        check("alice=a.kubeconfig", Ok(("alice", &[], "a.kubeconfig")));
        check(
            "alice:dev,ops=/tmp/a=b",
            Ok(("alice", &["dev", "ops"], "/tmp/a=b")),
        );
        check("a:system:masters=p", Ok(("a", &["system:masters"], "p")));
        check(
            "system::node::n:system:nodes=p",
            Ok(("system:node:n", &["system:nodes"], "p")),
        );
        check("alice", Err("give a user and a file: NAME[:GROUP,...]=PATH"));
        check("alice=", Err("there is no path after `=`"));
        check("=p", Err("the user has no name"));
        check(":dev=p", Err("the user has no name"));
        check("alice:=p", Err("one of the groups has no name"));
        check("alice:dev,=p", Err("one of the groups has no name"));
        check(
            "system:kube-scheduler=p",
            Err("the user would be `system`; write each colon within a name twice: system::kube-scheduler"),
        );
    }

    #[test]
    fn files_that_are_named_twice() {
        let users: Vec<UserFile> = ["a=x", "b=y", "c=x"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        assert_eq!(repeated(None, &users), Some(Path::new("x")));
        assert_eq!(repeated(None, &users[..2]), None);
        assert_eq!(repeated(Some(Path::new("y")), &users[..2]), Some(Path::new("y")));
    }
}
