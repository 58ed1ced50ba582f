//! Who may do what: `auth`, `certificate`, `create token`. Expectations are those of upstream's `test/cmd/authorization.sh`, `certificate.sh`
//! and `auth_whoami.sh`.

use anyhow::Result;

use crate::harness::Kubectl;

pub(crate) fn can_i(kubectl: &Kubectl) -> Result<()> {
    for question in [
        "create pods",
        "'*' '*'",
        "get pods --subresource=log",
        "get /healthz",
        "delete deployments.apps/web",
    ] {
        kubectl.run(&format!("auth can-i {question}"))?.is("yes")?;
    }
    kubectl
        .run("auth can-i get strange")?
        .complains(&["Warning: the server doesn't have a resource type 'strange'"])?;
    kubectl
        .run("auth can-i get nodes")?
        .complains(&["Warning: resource 'nodes' is not namespace scoped"])?;
    kubectl
        .run("auth can-i --list")?
        .has(&["Resources", "*.*", "[*]"])?;
    kubectl.run("auth can-i get pods --quiet")?.is("")?;
    Ok(())
}

pub(crate) fn reconcile(kubectl: &Kubectl) -> Result<()> {
    let role = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {{name: reader, namespace: {}}}\nrules:\n- {{apiGroups: [\"\"], \
         resources: [pods], verbs: [get]}}\n",
        kubectl.namespace
    );
    kubectl
        .run_with("auth reconcile -f -", &role)?
        .has(&["role.rbac.authorization.k8s.io/reader reconciled"])?;
    kubectl.run_with("auth reconcile -f -", &role.replace("[get]", "[list]"))?;
    kubectl
        .run("get role reader -o jsonpath={.rules[*].verbs}")?
        .has(&["get", "list"])?;
    Ok(())
}

pub(crate) fn whoami(kubectl: &Kubectl) -> Result<()> {
    kubectl
        .run("auth whoami -o jsonpath={.status.userInfo.username}")?
        .is("admin")?;
    kubectl
        .run("auth whoami")?
        .has(&["ATTRIBUTE", "VALUE", "Username", "admin", "system:masters"])?;
    kubectl
        .run("auth whoami --as=jane --as-group=one -o jsonpath={.status.userInfo.username}/{.status.userInfo.groups}")?
        .is("jane/[\"one\",\"system:authenticated\"]")?;
    Ok(())
}

/// A request for `CN=user1` (PKCS #10 in PEM), signed with a key that nobody kept.
const REQUEST: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIS01ISUNBUUF3RURFT01Bd0dBMVVFQXd3RmRYTm\
    xjakV3V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFNQgpCd05DQUFUYndUOGFpbVd0cVBLcklwd0hST2FiQkFpMlEr\
    cmtlT2xuZnBFMDFoeXZjOVMrOVA2SndOVmNMVHJLCkZjK1J3cVdaQmlOcVpscXZyV0J4YXlSYjNBNXJvQUF3Q2dZSU\
    tvWkl6ajBFQXdJRFNBQXdSUUloQUk0Zm02WGwKZ2U5UFBWeWJpdGYxR0UwWDhJeGowMENwTTA1cWtNZGx6b2lGQWlB\
    eG9ETk83RVpueVBQV0NZbnd2bVJRT3pCRQp4TGl3b0RjUjhYRi9RNzZhRlE9PQotLS0tLUVORCBDRVJUSUZJQ0FURS\
    BSRVFVRVNULS0tLS0K";

pub(crate) fn certificates(kubectl: &Kubectl) -> Result<()> {
    for (name, verb, kind) in [("first", "approve", "Approved"), ("second", "deny", "Denied")] {
        let manifest = format!(
            "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {{name: {name}}}\nspec:\n  signerName: \
             example.com/signer\n  usages: [client auth]\n  request: {REQUEST}\n"
        );
        kubectl.run_with("create -f -", &manifest)?.is(&format!(
            "certificatesigningrequest.certificates.k8s.io/{name} created"
        ))?;
        kubectl
            .run(&format!("get csr {name}"))?
            .has(&["Pending", "example.com/signer", "admin"])?;
        kubectl.run(&format!("certificate {verb} {name}"))?.has(&[
            "certificatesigningrequest.certificates.k8s.io/",
            &kind.to_lowercase(),
        ])?;
        kubectl
            .run(&format!(
                "get csr {name} -o jsonpath={{.status.conditions[*].type}}"
            ))?
            .is(kind)?;
        kubectl.run(&format!("get csr {name}"))?.has(&[kind])?;
    }
    for verb in ["approve", "deny"] {
        kubectl
            .fail(&format!("certificate {verb} nobody"))?
            .complains(&["certificatesigningrequests.certificates.k8s.io \"nobody\" not found"])?;
    }
    Ok(())
}

pub(crate) fn tokens(kubectl: &Kubectl) -> Result<()> {
    kubectl.run("create serviceaccount robot")?;
    let token = kubectl.run("create token robot --duration=20m")?.stdout;
    // Without the kubeconfig: its certificate would be asked first.
    let address = kubectl
        .run("config view --minify -o jsonpath={.clusters[0].cluster.server}")?
        .stdout;
    let bare = format!("--kubeconfig=/dev/null --insecure-skip-tls-verify --server={address}");
    kubectl
        .run(&format!("auth whoami {bare} --token={}", token.trim()))?
        .has(&["system:serviceaccount:", ":robot", "system:serviceaccounts"])?;
    kubectl
        .run("create token robot --audience=vault -o jsonpath={.spec.audiences}")?
        .is("[\"vault\"]")?;
    kubectl
        .fail("create token robot --duration=1m")?
        .complains(&["may not specify a duration less than 10 minutes"])?;
    kubectl
        .fail("create token robot --bound-object-kind=Pod --bound-object-name=nobody")?
        .complains(&["pods \"nobody\" not found"])?;
    kubectl.run("create secret generic keys")?;
    kubectl.run("create token robot --bound-object-kind=Secret --bound-object-name=keys")?;
    kubectl
        .fail(
            "create token robot --bound-object-kind=Secret --bound-object-name=keys --bound-object-uid=wrong",
        )?
        .complains(&["the UID in the bound object reference (wrong) does not match the UID in record"])?;
    kubectl
        .fail("create token nobody")?
        .complains(&["serviceaccounts \"nobody\" not found"])?;
    Ok(())
}
