"""The Python client against the API server: one function for each scenario, named on the command line."""

import json
import sys
import threading

import websocket
import yaml
from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

NAMESPACE = "default"


def config_map(name, data=None, labels=None):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels=labels), data=data or {})


def deployment(name, replicas=1):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]},
            },
        },
    }


def expect(found, wanted):
    assert found == wanted, f"expected {wanted!r}, found {found!r}"


def refused(status, action):
    """Runs what must fail with this status, and gives the Status object of the answer."""
    try:
        action()
    except ApiException as error:
        expect(error.status, status)
        return yaml.safe_load(error.body)
    raise AssertionError(f"should have been refused with {status}")


def crud():
    core = client.CoreV1Api()
    created = core.create_namespaced_config_map(NAMESPACE, config_map("settings", {"a": "1"}, {"app": "x"}))
    assert created.metadata.uid and created.metadata.creation_timestamp
    read = core.read_namespaced_config_map("settings", NAMESPACE)
    expect(read.data, {"a": "1"})
    read.data["b"] = "2"
    replaced = core.replace_namespaced_config_map("settings", NAMESPACE, read)
    assert replaced.metadata.resource_version != created.metadata.resource_version
    refused(409, lambda: core.replace_namespaced_config_map("settings", NAMESPACE, created))
    same = core.replace_namespaced_config_map("settings", NAMESPACE, replaced)
    expect(same.metadata.resource_version, replaced.metadata.resource_version)
    found = core.list_namespaced_config_map(NAMESPACE, label_selector="app in (x, y)").items
    expect([item.metadata.name for item in found], ["settings"])
    found = core.list_config_map_for_all_namespaces(field_selector="metadata.name=settings").items
    expect(len(found), 1)
    dry = core.create_namespaced_config_map(NAMESPACE, config_map("dry"), dry_run="All")
    assert dry.metadata.uid
    refused(404, lambda: core.read_namespaced_config_map("dry", NAMESPACE))
    status = core.delete_namespaced_config_map("settings", NAMESPACE)
    expect(status["status"], "Success")
    refused(404, lambda: core.read_namespaced_config_map("settings", NAMESPACE))
    for name in ("one", "two"):
        core.create_namespaced_config_map(NAMESPACE, config_map(name, labels={"sweep": "yes"}))
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="sweep=yes")
    expect(core.list_namespaced_config_map(NAMESPACE, label_selector="sweep=yes").items, [])


def watch_():
    core = client.CoreV1Api()
    core.create_namespaced_config_map(NAMESPACE, config_map("first", labels={"app": "watched"}))
    listed = core.list_namespaced_config_map(NAMESPACE, label_selector="app=watched")
    started = threading.Event()

    def change():
        started.wait()
        core.create_namespaced_config_map(NAMESPACE, config_map("second", labels={"app": "watched"}))
        core.patch_namespaced_config_map("first", NAMESPACE, {"data": {"a": "1"}})
        core.patch_namespaced_config_map("second", NAMESPACE, {"metadata": {"labels": {"app": "other"}}})
        core.delete_namespaced_config_map("first", NAMESPACE)

    worker = threading.Thread(target=change)
    worker.start()
    seen = []
    stream = watch.Watch().stream(
        core.list_namespaced_config_map,
        NAMESPACE,
        label_selector="app=watched",
        resource_version=listed.metadata.resource_version,
        timeout_seconds=30,
    )
    started.set()
    for event in stream:
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 4:
            break
    worker.join()
    # An object that stops matching is deleted for this watcher.
    expect(seen, [("ADDED", "second"), ("MODIFIED", "first"), ("DELETED", "second"), ("DELETED", "first")])
    # From no version: what is there first.
    core.create_namespaced_config_map(NAMESPACE, config_map("third", labels={"app": "watched"}))
    stream = watch.Watch().stream(
        core.list_namespaced_config_map, NAMESPACE, label_selector="app=watched", timeout_seconds=1
    )
    expect([(event["type"], event["object"].metadata.name) for event in stream], [("ADDED", "third")])


def patches():
    core, apps = client.CoreV1Api(), client.AppsV1Api()
    core.create_namespaced_config_map(NAMESPACE, config_map("settings", {"a": "1", "b": "2"}))
    patched = core.patch_namespaced_config_map(
        "settings", NAMESPACE, [{"op": "replace", "path": "/data/a", "value": "3"}, {"op": "remove", "path": "/data/b"}]
    )
    expect(patched.data, {"a": "3"})
    refused(
        422,
        lambda: core.patch_namespaced_config_map(
            "settings", NAMESPACE, [{"op": "test", "path": "/data/a", "value": "4"}]
        ),
    )
    patched = core.patch_namespaced_config_map(
        "settings", NAMESPACE, {"data": {"a": None, "c": "5"}}, _content_type="application/merge-patch+json"
    )
    expect(patched.data, {"c": "5"})
    apps.create_namespaced_deployment(NAMESPACE, deployment("web"))
    body = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "example.com/side:1"}]}}}}
    strategic = apps.patch_namespaced_deployment(
        "web", NAMESPACE, body, _content_type="application/strategic-merge-patch+json"
    )
    expect(sorted(c.name for c in strategic.spec.template.spec.containers), ["main", "side"])
    body["spec"]["template"]["spec"]["containers"] = [{"name": "side", "$patch": "delete"}]
    strategic = apps.patch_namespaced_deployment(
        "web", NAMESPACE, body, _content_type="application/strategic-merge-patch+json"
    )
    expect([c.name for c in strategic.spec.template.spec.containers], ["main"])


def server_side_apply():
    apps = client.AppsV1Api()

    def apply(manager, body, **options):
        return apps.patch_namespaced_deployment(
            "web",
            NAMESPACE,
            body,
            field_manager=manager,
            _content_type="application/apply-patch+yaml",
            **options,
        )

    applied = apply("first", deployment("web", replicas=2))
    expect(applied.spec.replicas, 2)
    expect([(m.manager, m.operation) for m in applied.metadata.managed_fields], [("first", "Apply")])
    again = apply("first", deployment("web", replicas=2))
    expect(again.metadata.resource_version, applied.metadata.resource_version)
    other = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 5}}
    status = refused(409, lambda: apply("second", other))
    expect([(c["reason"], c["field"]) for c in status["details"]["causes"]], [("FieldManagerConflict", ".spec.replicas")])
    assert 'conflict with "first"' in status["message"], status["message"]
    forced = apply("second", other, force=True)
    expect(forced.spec.replicas, 5)
    # What the first manager gives up goes, unless another has it too.
    less = deployment("web")
    del less["spec"]["replicas"]
    less["metadata"]["labels"] = {"tier": "front"}
    kept = apply("first", less)
    expect((kept.spec.replicas, kept.metadata.labels), (5, {"tier": "front"}))
    del less["metadata"]["labels"]
    gone = apply("first", less)
    expect(gone.metadata.labels, None)
    refused(422, lambda: apply("", other))


def pages():
    core = client.CoreV1Api()
    for i in range(7):
        core.create_namespaced_config_map(NAMESPACE, config_map(f"page-{i}"))
    names, token, versions = [], None, set()
    while True:
        page = core.list_namespaced_config_map(NAMESPACE, limit=3, _continue=token)
        names += [item.metadata.name for item in page.items]
        versions.add(page.metadata.resource_version)
        token = page.metadata._continue
        if not token:
            break
        core.create_namespaced_config_map(NAMESPACE, config_map(f"page-late-{len(names)}"))
    expect([name for name in names if name.startswith("page-")], [f"page-{i}" for i in range(7)])
    expect(len(versions), 1)


def subresources():
    core, apps = client.CoreV1Api(), client.AppsV1Api()
    apps.create_namespaced_deployment(NAMESPACE, deployment("web", replicas=1))
    scale = apps.read_namespaced_deployment_scale("web", NAMESPACE)
    scale.spec.replicas = 3
    expect(apps.replace_namespaced_deployment_scale("web", NAMESPACE, scale).spec.replicas, 3)
    expect(apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 4}}).spec.replicas, 4)
    status = apps.patch_namespaced_deployment_status("web", NAMESPACE, {"status": {"replicas": 4}, "spec": {"replicas": 9}})
    expect((status.status.replicas, status.spec.replicas), (4, 4))
    core.create_namespaced_service_account(NAMESPACE, {"metadata": {"name": "robot"}})
    request = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[], expiration_seconds=3600))
    token = core.create_namespaced_service_account_token("robot", NAMESPACE, request).status.token
    review = client.AuthenticationV1Api().create_token_review(
        client.V1TokenReview(spec=client.V1TokenReviewSpec(token=token))
    )
    expect((review.status.authenticated, review.status.user.username), (True, "system:serviceaccount:default:robot"))
    pod = {
        "metadata": {"name": "pod", "labels": {"app": "pod"}},
        "spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]},
    }
    core.create_namespaced_pod(NAMESPACE, pod)
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="pod"), target=client.V1ObjectReference(kind="Node", name="n1"))
    core.create_namespaced_binding(NAMESPACE, binding, _preload_content=False)
    expect(core.read_namespaced_pod("pod", NAMESPACE).spec.node_name, "n1")
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="pod"), delete_options=client.V1DeleteOptions(grace_period_seconds=0))
    core.create_namespaced_pod_eviction("pod", NAMESPACE, eviction)
    refused(404, lambda: core.read_namespaced_pod("pod", NAMESPACE))


def custom_resources():
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {"size": {"type": "integer", "minimum": 1}, "color": {"type": "string", "default": "red"}},
            }
        },
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    extensions = client.ApiextensionsV1Api()
    extensions.create_custom_resource_definition(definition)
    for event in watch.Watch().stream(
        extensions.list_custom_resource_definition, field_selector="metadata.name=widgets.example.com", timeout_seconds=30
    ):
        conditions = event["object"].status.conditions or []
        if any(c.type == "Established" and c.status == "True" for c in conditions):
            break
    else:
        raise AssertionError("the definition was never established")
    widgets = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="example.com/v1", kind="Widget")
    body = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}}
    created = widgets.create(body=body, namespace=NAMESPACE)
    expect((created.spec.color, created.metadata.generation), ("red", 1))
    body["spec"]["size"] = 4
    applied = widgets.server_side_apply(body=body, namespace=NAMESPACE, name="w", field_manager="tests", force_conflicts=True)
    expect((applied.spec.size, applied.metadata.generation), (4, 2))
    patched = widgets.patch(
        body={"spec": {"color": "blue"}}, name="w", namespace=NAMESPACE, content_type="application/merge-patch+json"
    )
    expect(patched.spec.color, "blue")
    wrong = dict(body, metadata={"name": "wrong"}, spec={"size": 0})
    status = refused(422, lambda: widgets.create(body=wrong, namespace=NAMESPACE))
    assert "spec.size" in status["message"], status["message"]
    status = refused(
        415,
        lambda: widgets.patch(
            body={"spec": {"color": "blue"}},
            name="w",
            namespace=NAMESPACE,
            content_type="application/strategic-merge-patch+json",
        ),
    )
    expect(status["reason"], "UnsupportedMediaType")
    widgets.delete(name="w", namespace=NAMESPACE)
    expect(widgets.get(namespace=NAMESPACE).items, [])


def errors():
    core = client.CoreV1Api()
    core.create_namespaced_config_map(NAMESPACE, config_map("there"))
    status = refused(409, lambda: core.create_namespaced_config_map(NAMESPACE, config_map("there")))
    expect((status["reason"], status["message"]), ("AlreadyExists", 'configmaps "there" already exists'))
    status = refused(422, lambda: core.create_namespaced_config_map(NAMESPACE, config_map("Not_A_Name")))
    expect(status["details"]["causes"][0]["field"], "metadata.name")
    status = refused(404, lambda: core.create_namespaced_config_map("nowhere", config_map("x")))
    expect(status["message"], 'namespaces "nowhere" not found')
    status = refused(400, lambda: core.list_namespaced_config_map(NAMESPACE, label_selector="a in b"))
    expect(status["reason"], "BadRequest")
    version = client.VersionApi().get_code()
    assert version.major == "1" and version.git_version.startswith("v1."), version


def websockets():
    core = client.CoreV1Api()
    core.create_namespaced_config_map(NAMESPACE, config_map("first"))
    settings = client.Configuration.get_default_copy()
    connection = websocket.create_connection(
        settings.host.replace("https", "wss") + f"/api/v1/namespaces/{NAMESPACE}/configmaps?watch=true",
        timeout=30,
        sslopt={"ca_certs": settings.ssl_ca_cert, "certfile": settings.cert_file, "keyfile": settings.key_file},
    )
    seen = []

    def read():
        event = json.loads(connection.recv())
        seen.append((event["type"], event["object"]["metadata"]["name"]))

    read()
    core.create_namespaced_config_map(NAMESPACE, config_map("second"))
    read()
    core.delete_namespaced_config_map("first", NAMESPACE)
    read()
    expect(seen, [("ADDED", "first"), ("ADDED", "second"), ("DELETED", "first")])
    connection.close()


SCENARIOS = {
    "crud": crud,
    "watch": watch_,
    "websockets": websockets,
    "patches": patches,
    "server_side_apply": server_side_apply,
    "pages": pages,
    "subresources": subresources,
    "custom_resources": custom_resources,
    "errors": errors,
}

if __name__ == "__main__":
    config.load_kube_config()
    SCENARIOS[sys.argv[1]]()
