//! Built-in kinds.

use std::io::{BufRead as _, BufReader};

use anyhow::{Context as _, Result, ensure};

use crate::harness::Kubectl;

pub(super) const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: main
        image: nginx:1.27
        ports:
        - containerPort: 80
";

pub(crate) fn version(kubectl: &Kubectl) -> Result<()> {
    kubectl
        .run("version -o json")?
        .has(&["\"serverVersion\"", "\"gitVersion\": \"v1.37"])?;
    kubectl.run("get --raw /readyz")?.is("ok")?;
    kubectl
        .run("get --raw /livez?verbose")?
        .has(&["[+]ping ok", "livez check passed"])?;
    kubectl
        .run("cluster-info")?
        .has(&["Kubernetes control plane", "is running at"])?;
    Ok(())
}

pub(crate) fn create_and_get(kubectl: &Kubectl) -> Result<()> {
    kubectl
        .run("create namespace shop")?
        .is("namespace/shop created")?;
    kubectl.run("create configmap settings -n shop --from-literal=a=1 --from-literal=b=2")?;
    kubectl
        .run("get configmap settings -n shop -o jsonpath={.data.b}")?
        .is("2")?;
    kubectl.run("create secret generic keys -n shop --from-literal=password=hunter2")?;
    kubectl
        .run("get secret keys -n shop -o jsonpath={.data.password}")?
        .is("aHVudGVyMg==")?;
    kubectl.run("create deployment web -n shop --image=nginx:1.27 --replicas=3")?;
    kubectl
        .run("get deployment web -n shop -o jsonpath={.spec.replicas}{.spec.strategy.type}")?
        .is("3RollingUpdate")?;
    kubectl.run("create service clusterip web -n shop --tcp=80:8080")?;
    kubectl
        .run("get service web -n shop -o jsonpath={.spec.clusterIP}")?
        .has(&["10.0.0."])?;
    kubectl.run("create serviceaccount robot -n shop")?;
    kubectl.run("create role reader -n shop --verb=get,list --resource=pods")?;
    kubectl.run("create rolebinding read -n shop --role=reader --serviceaccount=shop:robot")?;
    kubectl.run("create job once -n shop --image=busybox")?;
    kubectl.run("create cronjob often -n shop --image=busybox --schedule='*/5 * * * *'")?;
    kubectl.run("create poddisruptionbudget web -n shop --selector=app=web --min-available=1")?;
    kubectl.run("create quota limits -n shop --hard=pods=5")?;
    kubectl.run("create ingress web -n shop --rule=example.com/=web:80")?;
    kubectl.run("create priorityclass high --value=1000")?;
    kubectl.run("run box -n shop --image=busybox --restart=Never")?;
    kubectl
        .run("get pod box -n shop -o jsonpath={.status.phase}/{.spec.dnsPolicy}/{.status.qosClass}")?
        .is("Pending/ClusterFirst/BestEffort")?;
    kubectl.run("get all -n shop")?.has(&[
        "pod/box",
        "service/web",
        "deployment.apps/web",
        "job.batch/once",
        "cronjob.batch/often",
    ])?;
    Ok(())
}

pub(crate) fn columns(kubectl: &Kubectl) -> Result<()> {
    kubectl.run_with("create -f -", WEB)?;
    kubectl.run("get deployments")?.has(&[
        "NAME",
        "READY",
        "UP-TO-DATE",
        "AVAILABLE",
        "AGE",
        "web",
        "0/2",
    ])?;
    kubectl.run("get deployments -o wide")?.has(&[
        "CONTAINERS",
        "IMAGES",
        "SELECTOR",
        "nginx:1.27",
        "app=web",
    ])?;
    kubectl
        .run("get namespaces")?
        .has(&["default", "kube-system", "Active"])?;
    kubectl
        .run("get services")?
        .has(&["kubernetes", "ClusterIP", "10.0.0.1", "443/TCP"])?;
    kubectl.run("get deployments -L app")?.has(&["APP", "web"])?;
    kubectl
        .run("get deployments --show-labels")?
        .has(&["LABELS", "app=web"])?;
    kubectl
        .run("get deployments --sort-by=.metadata.name")?
        .has(&["web"])?;
    kubectl
        .run("get deployments -A")?
        .has(&["NAMESPACE", "default"])?;
    kubectl
        .run("get pods")?
        .complains(&["No resources found in default namespace."])?;
    Ok(())
}

pub(crate) fn output_formats(kubectl: &Kubectl) -> Result<()> {
    kubectl.run_with("create -f -", WEB)?;
    kubectl.run("get deployment web -o yaml")?.has(&[
        "apiVersion: apps/v1",
        "kind: Deployment",
        "creationTimestamp:",
        "uid:",
        "generation: 1",
    ])?;
    kubectl
        .run("get deployment web -o name")?
        .is("deployment.apps/web")?;
    kubectl
        .run("get deployments -o json")?
        .has(&["\"kind\": \"List\"", "\"name\": \"web\""])?;
    kubectl
        .run(
            "get deployment web -o custom-columns=N:.metadata.name,I:.spec.template.spec.containers[*].image",
        )?
        .has(&["nginx:1.27"])?;
    kubectl
        .run("get deployment web -o go-template={{.metadata.name}}")?
        .is("web")?;
    Ok(())
}

pub(crate) fn label_annotate_patch(kubectl: &Kubectl) -> Result<()> {
    kubectl.run_with("create -f -", WEB)?;
    kubectl
        .run("label deployment web tier=front")?
        .is("deployment.apps/web labeled")?;
    kubectl
        .run("label deployment web tier-")?
        .is("deployment.apps/web unlabeled")?;
    kubectl.run("annotate deployment web note=hello")?;
    kubectl
        .run("get deployment web -o jsonpath={.metadata.annotations.note}")?
        .is("hello")?;
    kubectl.run("patch deployment web -p '{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"side\",\"image\":\"busybox\"}]}}}}'")?;
    kubectl
        .run("get deployment web -o jsonpath={.spec.template.spec.containers[*].name}")?
        .has(&["side", "main"])?;
    kubectl.run("patch deployment web --type=merge -p '{\"spec\":{\"replicas\":5}}'")?;
    kubectl.run("patch deployment web --type=json -p '[{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":7}]'")?;
    kubectl
        .run("get deployment web -o jsonpath={.spec.replicas}/{.metadata.generation}")?
        .is("7/5")?;
    kubectl.run("set image deployment/web main=nginx:1.28")?;
    kubectl
        .run("get deployment web -o jsonpath={.spec.template.spec.containers[?(@.name==\"main\")].image}")?
        .is("nginx:1.28")?;
    kubectl.fail(
        "patch deployment web --type=json -p '[{\"op\":\"test\",\"path\":\"/spec/replicas\",\"value\":1}]'",
    )?;
    Ok(())
}

pub(crate) fn apply(kubectl: &Kubectl) -> Result<()> {
    kubectl
        .run_with("apply -f -", WEB)?
        .is("deployment.apps/web created")?;
    kubectl
        .run_with("apply -f -", WEB)?
        .is("deployment.apps/web unchanged")?;
    kubectl
        .run_with("apply -f -", &WEB.replace("replicas: 2", "replicas: 4"))?
        .is("deployment.apps/web configured")?;
    kubectl
        .run("get deployment web -o jsonpath={.spec.replicas}/{.metadata.generation}")?
        .is("4/2")?;
    // A port that is left out goes, as only the three-way merge knows.
    let without = WEB.replace("        ports:\n        - containerPort: 80\n", "");
    kubectl
        .run_with("apply -f -", &without)?
        .is("deployment.apps/web configured")?;
    kubectl
        .run("get deployment web -o jsonpath={.spec.template.spec.containers[0].ports}")?
        .is("")?;
    kubectl
        .run_with(
            "apply --dry-run=server -f -",
            &WEB.replace("replicas: 2", "replicas: 9"),
        )?
        .has(&["configured (server dry run)"])?;
    kubectl
        .run("get deployment web -o jsonpath={.spec.replicas}")?
        .is("2")?;
    let file = kubectl.write("web.yaml", &WEB.replace("replicas: 2", "replicas: 6"))?;
    kubectl
        .run(&format!("replace -f {file}"))?
        .is("deployment.apps/web replaced")?;
    kubectl.run(&format!("delete -f {file}"))?.has(&["deleted"])?;
    Ok(())
}

pub(crate) fn strict_validation(kubectl: &Kubectl) -> Result<()> {
    let misspelt = kubectl.write("misspelt.yaml", &WEB.replace("replicas:", "replica:"))?;
    kubectl
        .fail(&format!("create -f {misspelt}"))?
        .complains(&["unknown field \"spec.replica\""])?;
    kubectl.run(&format!("create --validate=ignore -f {misspelt}"))?;
    kubectl
        .run("get deployment web -o jsonpath={.spec.replicas}")?
        .is("1")?;
    let mistyped = kubectl.write(
        "mistyped.yaml",
        &WEB.replace("replicas: 2", "replicas: two")
            .replace("name: web", "name: api"),
    )?;
    kubectl
        .fail(&format!("create -f {mistyped}"))?
        .complains(&["replicas"])?;
    let invalid = kubectl.write(
        "invalid.yaml",
        &WEB.replace("matchLabels: {app: web}", "matchLabels: {app: other}")
            .replace("name: web", "name: api"),
    )?;
    kubectl
        .fail(&format!("create -f {invalid}"))?
        .complains(&["is invalid", "selector"])?;
    Ok(())
}

pub(crate) fn scale(kubectl: &Kubectl) -> Result<()> {
    kubectl.run_with("create -f -", WEB)?;
    kubectl
        .run("scale deployment web --replicas=5")?
        .is("deployment.apps/web scaled")?;
    kubectl
        .run("get deployment web -o jsonpath={.spec.replicas}")?
        .is("5")?;
    kubectl.fail("scale deployment web --current-replicas=1 --replicas=2")?;
    kubectl
        .run("get --raw /apis/apps/v1/namespaces/default/deployments/web/scale")?
        .has(&["\"selector\":\"app=web\""])?;
    kubectl.run("autoscale deployment web --min=1 --max=3 --cpu-percent=50")?;
    kubectl.run("get hpa web")?.has(&["Deployment/web", "1", "3"])?;
    Ok(())
}

pub(crate) fn delete(kubectl: &Kubectl) -> Result<()> {
    kubectl.run("create configmap a")?;
    kubectl.run("create configmap b")?;
    kubectl
        .run("delete configmap a")?
        .has(&["configmap \"a\" deleted"])?;
    kubectl
        .fail("get configmap a")?
        .complains(&["Error from server (NotFound): configmaps \"a\" not found"])?;
    kubectl.fail("delete configmap a")?.complains(&["NotFound"])?;
    kubectl.run("delete configmap a --ignore-not-found")?;
    kubectl.run("delete configmap --all")?.has(&["\"b\" deleted"])?;
    kubectl.run("create configmap held")?;
    kubectl.run(
        "patch configmap held --type=merge -p '{\"metadata\":{\"finalizers\":[\"example.com/hold\"]}}'",
    )?;
    kubectl.run("delete configmap held --wait=false")?;
    kubectl.run("get configmap held -o jsonpath={.metadata.deletionGracePeriodSeconds}{.metadata.deletionTimestamp}")?.has(&["0", "Z"])?;
    kubectl.run("patch configmap held --type=merge -p '{\"metadata\":{\"finalizers\":null}}'")?;
    kubectl.fail("get configmap held")?.complains(&["NotFound"])?;
    kubectl
        .fail("delete namespace default")?
        .complains(&["Forbidden"])?;
    Ok(())
}

pub(crate) fn api_resources(kubectl: &Kubectl) -> Result<()> {
    kubectl.run("api-resources")?.has(&[
        "SHORTNAMES",
        "deployments",
        "deploy",
        "apps/v1",
        "customresourcedefinitions",
        "leases",
    ])?;
    kubectl.run("api-resources --namespaced=false -o name")?.has(&[
        "namespaces",
        "nodes",
        "clusterroles.rbac.authorization.k8s.io",
    ])?;
    kubectl
        .run("api-resources --api-group=batch")?
        .has(&["cronjobs", "jobs"])?
        .lacks(&["deployments"])?;
    kubectl
        .run("api-versions")?
        .has(&["apps/v1", "v1", "networking.k8s.io/v1"])?;
    kubectl
        .run("get --raw /apis/apps/v1")?
        .has(&["\"name\":\"deployments/scale\""])?;
    Ok(())
}

pub(crate) fn explain(kubectl: &Kubectl) -> Result<()> {
    kubectl
        .run("explain deployment")?
        .has(&["GROUP:", "apps", "KIND:", "Deployment", "spec"])?;
    kubectl
        .run("explain pod.spec.containers")?
        .has(&["image", "<string>", "ports"])?;
    kubectl
        .run("explain deployment --recursive")?
        .has(&["rollingUpdate", "maxSurge"])?;
    Ok(())
}

pub(crate) fn watch(kubectl: &Kubectl) -> Result<()> {
    let mut child = kubectl.spawn("get configmaps -w -o name")?;
    let mut lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
    // Whether it is listing or watching by now, it will tell of this one.
    kubectl.run("create configmap one")?;
    let first = lines.next().context("the watch ended")??;
    ensure!(first == "configmap/one", "{first}");
    kubectl.run("create configmap two")?;
    let second = lines.next().context("the watch ended")??;
    ensure!(second == "configmap/two", "{second}");
    child.kill()?;
    child.wait()?;
    Ok(())
}

pub(crate) fn wait(kubectl: &Kubectl) -> Result<()> {
    kubectl.run_with("create -f -", WEB)?;
    kubectl
        .run("wait deployment web --for=jsonpath={.spec.replicas}=2 --timeout=10s")?
        .has(&["condition met"])?;
    let child = kubectl.spawn("wait deployment web --for=delete --timeout=20s")?;
    kubectl.run("delete deployment web")?;
    let output = child.wait_with_output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    kubectl.run("create namespace later")?;
    kubectl
        .fail("wait namespace later --for=condition=Never --timeout=1s")?
        .complains(&["timed out"])?;
    Ok(())
}

pub(crate) fn describe(kubectl: &Kubectl) -> Result<()> {
    kubectl.run_with("create -f -", WEB)?;
    kubectl
        .run("describe deployment web")?
        .has(&["Name:", "web", "2 desired", "nginx:1.27", "Events:"])?;
    kubectl.run("run box --image=busybox")?;
    kubectl
        .run("describe pod box")?
        .has(&["Name:", "box", "Status:", "Pending"])?;
    kubectl.run("describe namespace default")?.has(&["Active"])?;
    kubectl
        .run("describe service kubernetes")?
        .has(&["10.0.0.1", "443/TCP"])?;
    kubectl.run("events")?.complains(&["No events found"])?;
    Ok(())
}

pub(crate) fn errors(kubectl: &Kubectl) -> Result<()> {
    kubectl
        .fail("get strange")?
        .complains(&["the server doesn't have a resource type \"strange\""])?;
    kubectl
        .fail("get pod nobody")?
        .complains(&["Error from server (NotFound): pods \"nobody\" not found"])?;
    kubectl
        .fail("create configmap UPPER")?
        .complains(&["Invalid value", "RFC 1123"])?;
    kubectl.run("create configmap twice")?;
    kubectl
        .fail("create configmap twice")?
        .complains(&["already exists"])?;
    kubectl
        .fail("create configmap lost -n nowhere")?
        .complains(&["namespaces \"nowhere\" not found"])?;
    kubectl
        .fail("get --raw /apis/none/v1/things")?
        .complains(&["could not find the requested resource"])?;
    kubectl.run("run box --image=busybox")?;
    kubectl.run("wait --for=condition=Ready pod/box --timeout=30s")?;
    // No kubelet answers on a simulated node.
    for command in ["logs box", "exec box -- true"] {
        kubectl.fail(command)?.complains(&["error dialing backend"])?;
    }
    kubectl
        .fail("logs box -c other")?
        .complains(&["container other is not valid for pod box"])?;
    Ok(())
}

pub(crate) fn selectors_and_pages(kubectl: &Kubectl) -> Result<()> {
    for i in 0..7 {
        kubectl.run(&format!("create configmap c{i}"))?;
    }
    kubectl.run("label configmap c1 c3 c5 odd=yes")?;
    kubectl
        .run("get configmaps -l odd=yes -o name")?
        .is("configmap/c1\nconfigmap/c3\nconfigmap/c5")?;
    kubectl
        .run("get configmaps -l '!odd' -o name")?
        .has(&["c0", "c6"])?
        .lacks(&["c1"])?;
    kubectl
        .run("get configmaps --field-selector metadata.name=c4 -o name")?
        .is("configmap/c4")?;
    kubectl
        .fail("get configmaps --field-selector data.x=1")?
        .complains(&["is not a known field selector"])?;
    kubectl
        .run("get configmaps --chunk-size=2 -o name")?
        .has(&["c0", "c1", "c2", "c3", "c4", "c5", "c6"])?;
    kubectl.run("run box --image=busybox")?;
    kubectl
        .run("get pods --field-selector status.phase=Pending -o name")?
        .is("pod/box")?;
    kubectl
        .run("get pods --field-selector status.phase!=Pending -o name")?
        .is("")?;
    Ok(())
}

pub(crate) fn wrong_token(kubectl: &Kubectl) -> Result<()> {
    let address = kubectl
        .run("config view --minify -o jsonpath={.clusters[0].cluster.server}")?
        .stdout;
    let bare = format!("--kubeconfig=/dev/null --insecure-skip-tls-verify --server={address}");
    kubectl
        .fail(&format!("get pods {bare} --token=wrong"))?
        .complains(&["You must be logged in to the server"])?;
    Ok(())
}

pub(crate) fn lists(kubectl: &Kubectl) -> Result<()> {
    let list = "
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: one}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
";
    kubectl
        .run_with("create -f -", list)?
        .has(&["configmap/a created", "configmap/b created"])?;
    let saved = kubectl.run("get configmaps -o yaml")?.stdout;
    kubectl
        .run_with("apply -f -", &saved)?
        .has(&["configmap/a configured"])?;
    Ok(())
}
