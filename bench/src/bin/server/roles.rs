//! What it costs to ask roles whether a request may pass.

use std::time::{Duration, Instant};

use anyhow::Result;
use http::Request;
use kubewright_apiserver::{Authorization, Options};
use kubewright_net::{Body, Identity};
use serde_json::json;

use crate::report::{Table, grouped};
use crate::target::{MAPS, Target, object};

/// How many roles there are, with a binding each.
const ROLES: usize = 1_000;
/// How often the object is read.
const READS: u32 = 20_000;
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";

/// A read by one who may do everything beside the same by service accounts: one with one of the roles, and one with all of them, of which
/// the last allows it.
pub async fn measure(table: &mut Table) -> Result<()> {
    let target = Target::with(Options {
        authorization: Authorization::Rbac,
        ..Options::default()
    })
    .await?;
    target.create(&object(0)).await?;
    for i in 0..ROLES {
        let name = format!("r{i:04}");
        let is_last = i + 1 == ROLES;
        let resource = if is_last { "configmaps" } else { "things" };
        let role = json!({"metadata": {"name": name}, "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": [resource]}]});
        let account = |name: &str| json!({"kind": "ServiceAccount", "namespace": "default", "name": name});
        let mut subjects = vec![account("many")];
        if is_last {
            subjects.push(account("one"));
        }
        let reference = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name});
        let binding = json!({"metadata": {"name": name}, "roleRef": reference, "subjects": subjects});
        for (plural, object) in [("roles", role), ("rolebindings", binding)] {
            let path = format!("{RBAC}/{plural}");
            target
                .send("POST", &path, object.to_string().into_bytes())
                .await?;
        }
    }
    let account = |name: &str| {
        let groups = [
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            "system:authenticated",
        ];
        Identity::new(format!("system:serviceaccount:default:{name}"), groups)
    };
    for (identity, name) in [
        (Identity::new("admin", ["system:masters"]), "system:masters"),
        (account("one"), "an account with one of them"),
        (account("many"), "an account with all of them"),
    ] {
        let took = read(&target, &identity).await?;
        let what = format!(
            "GET of 1 KB where there are {} roles: {name}",
            grouped(ROLES as u64)
        );
        table.row(what, format!("{:.1} µs", took.as_secs_f64() * 1e6));
    }
    Ok(())
}

async fn read(target: &Target, identity: &Identity) -> Result<Duration> {
    let path = format!("{MAPS}/m0000000");
    let began = Instant::now();
    for _ in 0..READS {
        let request = Request::get(&path).extension(identity.clone());
        target.answer(request.body(Body::empty())?).await?;
    }
    Ok(began.elapsed() / READS)
}
