//! What the clients do, and how often.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use futures_util::future::try_join_all;
use k8s_openapi::api::core::v1::ConfigMap;

use crate::clients::Requests;
use crate::usage::Cost;
use crate::used::{self, PEAK};

/// Objects that are listed.
const LISTED: usize = 5_000;
/// Gets at the same time.
const AT_ONCE: usize = 1_000;
/// How often it is done within one process.
const GETS: usize = 3_000;
const CREATES: usize = 1_000;
const LISTS: usize = 10;
const BURSTS: usize = 5;

/// The label of the objects that are there throughout, and of those that come and go.
const THERE: &str = "app=there";
const MADE: &str = "app=made";

/// A piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Makes what is listed; not measured.
    Fill,
    /// One object, over and over.
    Get,
    /// New objects, one after the other.
    Create,
    /// All objects in one answer.
    List,
    /// Many gets at the same time.
    Concurrent,
}

impl Work {
    /// What the table shows, in its order.
    pub const MEASURED: [Self; 4] = [Self::Get, Self::Create, Self::List, Self::Concurrent];

    /// As the command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fill => "fill",
            Self::Get => "get",
            Self::Create => "create",
            Self::List => "list",
            Self::Concurrent => "concurrent",
        }
    }

    /// The work of that name.
    pub fn named(name: &str) -> Result<Self> {
        let all = [Self::Fill].into_iter().chain(Self::MEASURED);
        all.into_iter()
            .find(|work| work.name() == name)
            .with_context(|| format!("there is no work {name}"))
    }

    /// As the table calls it.
    pub fn title(self) -> String {
        match self {
            Self::Fill => format!("create {LISTED} objects"),
            Self::Get => "get of 1 KB".to_owned(),
            Self::Create => "create of 1 KB".to_owned(),
            Self::List => format!("list of {LISTED} objects"),
            Self::Concurrent => format!("{AT_ONCE} gets at once"),
        }
    }

    /// How often it is done within one process.
    pub fn requests(self) -> usize {
        match self {
            Self::Fill => 1,
            Self::Get => GETS,
            Self::Create => CREATES,
            Self::List => LISTS,
            Self::Concurrent => BURSTS,
        }
    }
}

/// Does the work, and tells what it cost; to connect is no part of it.
pub async fn run(client: &impl Requests, work: Work) -> Result<Cost> {
    if work == Work::Fill {
        for at in 0..LISTED {
            client.create(&object(&format!("there-{at}"), THERE)).await?;
        }
    }
    client.get("there-0").await?;
    let (began, before) = (Instant::now(), used::cpu());
    match work {
        Work::Fill => {}
        Work::Get => {
            for _ in 0..GETS {
                client.get("there-0").await?;
            }
        }
        Work::Create => {
            for at in 0..CREATES {
                client.create(&object(&format!("made-{at}"), MADE)).await?;
            }
        }
        Work::List => {
            for _ in 0..LISTS {
                let items = client.list(THERE).await?;
                ensure!(items.len() == LISTED, "{} of {LISTED}", items.len());
            }
        }
        Work::Concurrent => {
            for _ in 0..BURSTS {
                let gets = (0..AT_ONCE).map(|at| {
                    let client = client.clone();
                    async move { client.get(&format!("there-{at}")).await }
                });
                try_join_all(gets).await?;
            }
        }
    }
    let cost = Cost {
        cpu: used::cpu().saturating_sub(before),
        elapsed: began.elapsed(),
        peak: used::memory(std::process::id(), PEAK)?,
    };
    if work == Work::Create {
        client.clear(MADE).await?;
    }
    Ok(cost)
}

/// A config map of about a kilobyte.
fn object(name: &str, label: &str) -> ConfigMap {
    let (key, value) = label.split_once('=').unwrap_or((label, ""));
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.labels = Some(BTreeMap::from([(key.to_owned(), value.to_owned())]));
    object.data = Some(BTreeMap::from([("text".to_owned(), "x".repeat(700))]));
    object
}
