//! Acting as somebody who may do little: `--as`, tokens, `auth can-i`, `auth reconcile`. Expectations are those of upstream's
//! `test/cmd/authorization.sh`, `rbac.sh` and of `kubectl auth` (k8s.io/kubectl pkg/cmd/auth).

use anyhow::Result;

use crate::harness::Kubectl;

/// Lets `alice` and the group `readers` read pods and their logs.
fn admit(kubectl: &Kubectl) -> Result<()> {
    kubectl.run("create role reader --verb=get,list --resource=pods,pods/log")?;
    kubectl.run("create rolebinding readers --role=reader --user=alice --group=readers")?;
    Ok(())
}

pub(crate) fn can_i_as(kubectl: &Kubectl) -> Result<()> {
    admit(kubectl)?;
    for (question, answer) in [
        ("list pods --as=alice", "yes"),
        ("list pods --as=bob", "no"),
        ("list pods --as=bob --as-group=readers", "yes"),
        ("get pods/web --as=alice", "yes"),
        ("get pods --subresource=log --as=alice", "yes"),
        ("create pods --as=alice", "no"),
        ("'*' '*' --as=alice", "no"),
        ("list pods -A --as=alice", "no"),
        ("list pods -n default --as=alice", "no"),
        ("list deployments.apps --as=alice", "no"),
        ("get /healthz --as=alice", "yes"),
        ("get /metrics --as=alice", "no"),
    ] {
        let line = format!("auth can-i {question}");
        let output = match answer {
            "yes" => kubectl.run(&line)?,
            _ => kubectl.fail(&line)?,
        };
        output.is(answer)?;
        anyhow::ensure!(output.code == Some(i32::from(answer != "yes")), "{output}");
    }
    kubectl.run("auth can-i list pods --as=alice --quiet")?.is("")?;
    kubectl
        .fail("auth can-i create pods --as=alice --quiet")?
        .is("")?;
    kubectl
        .run("auth can-i --list --as=alice")?
        .has(&[
            "pods/log",
            "[get list]",
            "selfsubjectaccessreviews.authorization.k8s.io",
            "[/healthz]",
        ])?
        .lacks(&["secrets", "[*]"])?;
    Ok(())
}

pub(crate) fn acting_as(kubectl: &Kubectl) -> Result<()> {
    admit(kubectl)?;
    let namespace = &kubectl.namespace;
    kubectl.run("get pods --as=alice")?;
    kubectl.run("get pods --as=bob --as-group=readers --as-group=others")?;
    kubectl
        .run("auth whoami --as=alice --as-uid=7 -o jsonpath={.status.userInfo.uid}")?
        .is("7")?;
    for (line, why) in [
        (
            "get secrets --as=alice",
            "secrets is forbidden: User \"alice\" cannot list resource \"secrets\" in API group \"\"",
        ),
        (
            "get pods --as=bob",
            "pods is forbidden: User \"bob\" cannot list resource \"pods\" in API group \"\"",
        ),
        (
            "create configmap m --as=alice",
            "configmaps is forbidden: User \"alice\" cannot create resource \"configmaps\" in API group \"\"",
        ),
        (
            "delete pod web --as=alice",
            "pods \"web\" is forbidden: User \"alice\" cannot delete resource \"pods\" in API group \"\"",
        ),
    ] {
        let place = format!("in the namespace \"{namespace}\"");
        kubectl.fail(line)?.complains(&[why, &place])?;
    }
    kubectl
        .fail("get nodes --as=alice")?
        .complains(&["cannot list resource \"nodes\" in API group \"\" at the cluster scope"])?;
    Ok(())
}

/// The flags by which kubectl goes by a token alone: of the kubeconfig, the certificate would be asked first.
fn bearing(kubectl: &Kubectl, token: &str) -> Result<String> {
    let address = kubectl
        .run("config view --minify -o jsonpath={.clusters[0].cluster.server}")?
        .stdout;
    let token = token.trim();
    Ok(format!(
        "--kubeconfig=/dev/null --insecure-skip-tls-verify --server={address} --token={token}"
    ))
}

/// What a token gets follows the bindings of its account at once.
pub(crate) fn service_accounts(kubectl: &Kubectl) -> Result<()> {
    admit(kubectl)?;
    let namespace = &kubectl.namespace;
    kubectl.run("create serviceaccount robot")?;
    let token = kubectl.run("create token robot --duration=1h")?.stdout;
    let robot = format!("{} -n {namespace}", bearing(kubectl, &token)?);
    let name = format!("User \"system:serviceaccount:{namespace}:robot\"");
    let refused = format!("{name} cannot list resource \"pods\"");
    kubectl
        .fail(&format!("get pods {robot}"))?
        .complains(&[&refused])?;
    kubectl.run(&format!(
        "create rolebinding robots --role=reader --serviceaccount={namespace}:robot"
    ))?;
    kubectl.run(&format!("get pods {robot}"))?;
    kubectl.run(&format!("auth can-i list pods {robot}"))?.is("yes")?;
    kubectl
        .fail(&format!("get pods --as=alice {robot}"))?
        .complains(&[&format!("{name} cannot impersonate")])?;
    // Nobody grants what they do not have.
    kubectl.run("create role granter --verb=create --resource=roles,rolebindings")?;
    kubectl.run(&format!(
        "create rolebinding granters --role=granter --serviceaccount={namespace}:robot"
    ))?;
    kubectl
        .fail(&format!("create role more --verb=get --resource=secrets {robot}"))?
        .complains(&[
            &name.replace("User", "user"),
            "attempting to grant RBAC permissions not currently held",
        ])?;
    kubectl.run(&format!("create role same --verb=get --resource=pods {robot}"))?;
    kubectl.run("delete rolebinding robots")?;
    kubectl
        .fail(&format!("get pods {robot}"))?
        .complains(&[&refused])?;
    Ok(())
}

/// A token that is bound to a secret ends with it.
pub(crate) fn bound_tokens(kubectl: &Kubectl) -> Result<()> {
    kubectl.run("create serviceaccount robot")?;
    kubectl.run("create secret generic keys")?;
    let token = kubectl
        .run("create token robot --bound-object-kind=Secret --bound-object-name=keys")?
        .stdout;
    let whoami = format!("auth whoami {}", bearing(kubectl, &token)?);
    kubectl.run(&whoami)?.has(&[":robot"])?;
    kubectl.run("delete secret keys")?;
    kubectl.fail(&whoami)?.complains(&["Unauthorized"])?;
    // One for somebody else is no token here.
    let token = kubectl.run("create token robot --audience=vault")?.stdout;
    let other = format!("auth whoami {}", bearing(kubectl, &token)?);
    kubectl.fail(&other)?.complains(&["Unauthorized"])?;
    Ok(())
}

pub(crate) fn reconcile_bindings(kubectl: &Kubectl) -> Result<()> {
    let namespace = &kubectl.namespace;
    let manifest = |verbs: &str, user: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {{name: r, namespace: {namespace}}}\nrules:\n- {{apiGroups: \
             [\"\"], resources: [pods], verbs: [{verbs}]}}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: \
             {{name: b, namespace: {namespace}}}\nroleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}}\nsubjects:\n- \
             {{apiGroup: rbac.authorization.k8s.io, kind: User, name: {user}}}\n"
        )
    };
    let verbs = "get role r -o jsonpath={.rules[*].verbs[*]}";
    let users = "get rolebinding b -o jsonpath={.subjects[*].name}";
    kubectl
        .run_with("auth reconcile -f -", &manifest("get", "alice"))?
        .has(&[
            "role.rbac.authorization.k8s.io/r reconciled",
            "rolebinding.rbac.authorization.k8s.io/b reconciled",
        ])?;
    kubectl.run("auth can-i get pods --as=alice")?.is("yes")?;
    // What is missing is added, what there is more stays, unless it is to go.
    kubectl.run_with("auth reconcile -f -", &manifest("list", "bob"))?;
    kubectl.run(verbs)?.has(&["get", "list"])?;
    kubectl.run(users)?.has(&["alice", "bob"])?;
    kubectl
        .run_with(
            "auth reconcile -f - --dry-run=client",
            &manifest("watch", "carol"),
        )?
        .has(&["dry run"])?;
    kubectl.run(verbs)?.lacks(&["watch"])?;
    let exactly = "auth reconcile -f - --remove-extra-permissions --remove-extra-subjects";
    kubectl.run_with(exactly, &manifest("list", "bob"))?;
    kubectl.run(verbs)?.is("list")?;
    kubectl.run(users)?.is("bob")?;
    kubectl.fail("auth can-i list pods --as=alice")?.is("no")?;
    Ok(())
}
