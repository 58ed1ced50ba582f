//! Reads the two tables of kinds that are kept by hand: `resources.txt` and `extra-kinds.txt`.

use anyhow::{Context, Result, bail};

/// An API group with its versions, both in priority order.
#[derive(Debug)]
pub(crate) struct Group {
    /// `""` for the core group.
    pub(crate) name: String,
    pub(crate) versions: Vec<String>,
    pub(crate) resources: Vec<Resource>,
}

/// A resource, in every version of the group that has its kind.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) scope: String,
    pub(crate) verbs: String,
    pub(crate) short: Option<String>,
    pub(crate) categories: Option<String>,
    pub(crate) storage: Option<String>,
    pub(crate) subresources: Vec<Subresource>,
}

/// A subresource; without a kind of its own it has the resource's.
#[derive(Debug)]
pub(crate) struct Subresource {
    pub(crate) name: String,
    pub(crate) kind: Option<String>,
    pub(crate) verbs: String,
}

const ALL_VERBS: &str = "create,delete,deletecollection,get,list,patch,update,watch";
const SUBRESOURCE_VERBS: &str = "get,patch,update";

/// Reads `resources.txt`; its own head describes the format.
pub(crate) fn parse(text: &str) -> Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.starts_with('#') {
            continue;
        }
        add(&mut groups, line).with_context(|| format!("resources.txt, line {}", at + 1))?;
    }
    Ok(groups)
}

fn add(groups: &mut Vec<Group>, line: &str) -> Result<()> {
    if let Some(rest) = line.strip_prefix("group ") {
        let mut words = rest.split(' ').map(str::to_owned);
        let name = words.next().filter(|n| n != "core").unwrap_or_default();
        groups.push(Group {
            name,
            versions: words.collect(),
            resources: Vec::new(),
        });
        return Ok(());
    }
    let group = groups.last_mut().context("no group yet")?;
    if let Some(rest) = line.strip_prefix("  ") {
        let resource = group.resources.last_mut().context("no resource yet")?;
        resource.subresources.push(subresource(rest)?);
    } else {
        group.resources.push(resource(line.trim_start())?);
    }
    Ok(())
}

fn resource(line: &str) -> Result<Resource> {
    let mut words = line.split(' ');
    let mut next = || words.next().map(str::to_owned).context("too few words");
    let mut resource = Resource {
        plural: next()?,
        singular: next()?,
        kind: next()?,
        scope: next()?,
        verbs: ALL_VERBS.to_owned(),
        short: None,
        categories: None,
        storage: None,
        subresources: Vec::new(),
    };
    for word in words {
        match word.split_once('=') {
            Some(("verbs", value)) => value.clone_into(&mut resource.verbs),
            Some(("short", value)) => resource.short = Some(value.to_owned()),
            Some(("categories", value)) => resource.categories = Some(value.to_owned()),
            Some(("storage", value)) => resource.storage = Some(value.to_owned()),
            _ => bail!("unknown word {word}"),
        }
    }
    Ok(resource)
}

fn subresource(line: &str) -> Result<Subresource> {
    let mut words = line.split(' ');
    let name = words.next().context("no name")?.to_owned();
    let mut subresource = Subresource {
        name,
        kind: None,
        verbs: SUBRESOURCE_VERBS.to_owned(),
    };
    for word in words {
        match word.split_once('=') {
            Some(("verbs", value)) => value.clone_into(&mut subresource.verbs),
            None if word.contains('/') => subresource.kind = Some(word.to_owned()),
            _ => bail!("unknown word {word}"),
        }
    }
    Ok(subresource)
}

/// A type that upstream's OpenAPI document does not have, with the group and version its kind travels under.
#[derive(Debug)]
pub(crate) struct Extra {
    pub(crate) name: String,
    pub(crate) group_versions: Vec<String>,
}

/// Reads `extra-kinds.txt`: a definition name and its group/versions on each line.
pub(crate) fn parse_extra(text: &str) -> Result<Vec<Extra>> {
    let mut extra = Vec::new();
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let mut words = line.split(' ').map(str::to_owned);
        let name = words.next().context("an empty line in extra-kinds.txt")?;
        extra.push(Extra {
            name,
            group_versions: words.collect(),
        });
    }
    Ok(extra)
}
