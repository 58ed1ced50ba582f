//! What `create`, `run` and `expose` make. Expectations are those of upstream's `test/cmd/create.sh`, `run.sh` and `core.sh`.

use anyhow::Result;

use crate::harness::Kubectl;

/// Every generator of `kubectl create`: what it prints, and one field of what it made.
pub(crate) fn generators(kubectl: &Kubectl) -> Result<()> {
    let file = kubectl.write("settings.env", "A=1\nB=two\n")?;
    let namespace = &kubectl.namespace;
    for (command, printed, read, expect) in [
        (
            format!("create configmap env --from-env-file={file}"),
            "configmap/env created",
            "configmap env -o jsonpath={.data.A}{.data.B}",
            "1two",
        ),
        (
            format!("create configmap file --from-file=key={file}"),
            "configmap/file created",
            "configmap file -o 'go-template={{index .data \"key\"}}'",
            "A=1\nB=two",
        ),
        (
            "create secret docker-registry pull --docker-username=u --docker-password=p --docker-email=e@example.com".to_owned(),
            "secret/pull created",
            "secret pull -o jsonpath={.type}",
            "kubernetes.io/dockerconfigjson",
        ),
        (
            "create deployment api --image=nginx:1.27 --replicas=2 --port=8080".to_owned(),
            "deployment.apps/api created",
            "deployment api -o jsonpath={.spec.replicas}{.spec.template.spec.containers[0].ports[0].containerPort}",
            "28080",
        ),
        (
            "create service nodeport np --tcp=80:8080".to_owned(),
            "service/np created",
            "service np -o jsonpath={.spec.type}{.spec.ports[0].targetPort}",
            "NodePort8080",
        ),
        (
            "create service externalname out --external-name=example.com".to_owned(),
            "service/out created",
            "service out -o jsonpath={.spec.type}{.spec.externalName}",
            "ExternalNameexample.com",
        ),
        (
            "create service loadbalancer lb --tcp=443".to_owned(),
            "service/lb created",
            "service lb -o jsonpath={.spec.type}",
            "LoadBalancer",
        ),
        (
            "create serviceaccount robot".to_owned(),
            "serviceaccount/robot created",
            "serviceaccount robot -o jsonpath={.metadata.name}",
            "robot",
        ),
        (
            "create role reader --verb=get,list --resource=pods,deployments.apps --resource-name=one".to_owned(),
            "role.rbac.authorization.k8s.io/reader created",
            "role reader -o jsonpath={.rules[*].resources}",
            "[\"pods\"] [\"deployments\"]",
        ),
        (
            format!("create rolebinding read --role=reader --serviceaccount={namespace}:robot --user=jane"),
            "rolebinding.rbac.authorization.k8s.io/read created",
            "rolebinding read -o jsonpath={.subjects[*].kind}",
            "User ServiceAccount",
        ),
        (
            "create job once --image=busybox -- echo hello".to_owned(),
            "job.batch/once created",
            "job once -o jsonpath={.spec.template.spec.containers[0].command}",
            "[\"echo\",\"hello\"]",
        ),
        (
            "create cronjob often --image=busybox --schedule='*/5 * * * *'".to_owned(),
            "cronjob.batch/often created",
            "cronjob often -o jsonpath={.spec.concurrencyPolicy}{.spec.successfulJobsHistoryLimit}",
            "Allow3",
        ),
        (
            "create job manual --from=cronjob/often".to_owned(),
            "job.batch/manual created",
            "job manual -o jsonpath={.metadata.ownerReferences[0].kind}",
            "CronJob",
        ),
        (
            "create quota limits --hard=pods=5,cpu=2".to_owned(),
            "resourcequota/limits created",
            "quota limits -o jsonpath={.spec.hard.cpu}/{.spec.hard.pods}",
            "2/5",
        ),
        (
            "create poddisruptionbudget api --selector=app=api --max-unavailable=1".to_owned(),
            "poddisruptionbudget.policy/api created",
            "pdb api -o jsonpath={.spec.maxUnavailable}",
            "1",
        ),
        (
            "create ingress web --class=nginx --rule=example.com/path*=api:8080,tls=cert".to_owned(),
            "ingress.networking.k8s.io/web created",
            "ingress web -o jsonpath={.spec.rules[0].http.paths[0].pathType}{.spec.tls[0].secretName}",
            "Prefixcert",
        ),
    ] {
        kubectl.run(&command)?.is(printed)?;
        kubectl.run(&format!("get {read}"))?.is(expect)?;
    }
    Ok(())
}

pub(crate) fn dry_runs(kubectl: &Kubectl) -> Result<()> {
    kubectl
        .run("create configmap none --dry-run=client --from-literal=a=1 -o jsonpath={.data.a}")?
        .is("1")?;
    kubectl
        .run("create configmap none --dry-run=server")?
        .is("configmap/none created (server dry run)")?;
    kubectl.fail("get configmap none")?.complains(&["NotFound"])?;
    // The server has filled it in, and kept nothing.
    kubectl
        .run("create service clusterip none --tcp=80 --dry-run=server -o jsonpath={.spec.sessionAffinity}")?
        .is("None")?;
    kubectl.fail("get service none")?.complains(&["NotFound"])?;
    kubectl.run("create configmap here")?;
    kubectl
        .run("delete configmap here --dry-run=server")?
        .has(&["configmap \"here\" deleted", "(server dry run)"])?;
    kubectl.run("get configmap here")?;
    kubectl
        .fail("create namespace default --dry-run=server")?
        .complains(&["Error from server (AlreadyExists): namespaces \"default\" already exists"])?;
    Ok(())
}

pub(crate) fn run_and_expose(kubectl: &Kubectl) -> Result<()> {
    kubectl
        .run("run box --image=nginx:1.27 --port=80 --labels=app=box,tier=front --env=A=1")?
        .is("pod/box created")?;
    kubectl
        .run("get pod box -o jsonpath={.spec.containers[0].env[0].value}{.metadata.labels.tier}")?
        .is("1front")?;
    kubectl
        .run("expose pod box --port=8080 --target-port=80 --name=front")?
        .is("service/front exposed")?;
    kubectl
        .run("get service front -o jsonpath={.spec.ports[0].port}/{.spec.ports[0].targetPort}/{.spec.selector.tier}")?
        .is("8080/80/front")?;
    kubectl.run("create deployment api --image=nginx:1.27 --port=80")?;
    kubectl
        .run("expose deployment api --port=80 --type=NodePort")?
        .is("service/api exposed")?;
    kubectl
        .run("get service api -o jsonpath={.spec.type}/{.spec.selector.app}")?
        .is("NodePort/api")?;
    kubectl
        .fail("expose service nobody --port=80")?
        .complains(&["services \"nobody\" not found"])?;
    kubectl
        .fail("run Box --image=nginx")?
        .complains(&["Invalid value: \"Box\""])?;
    Ok(())
}
