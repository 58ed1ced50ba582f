// The JavaScript client against the API server: one function for each scenario, named on the command line.

import assert from "node:assert/strict";
import * as k8s from "@kubernetes/client-node";

const namespace = "default";
const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);
const objects = k8s.KubernetesObjectApi.makeApiClient(config);
const MAPS = `/api/v1/namespaces/${namespace}/configmaps`;

function configMap(name, data, labels) {
  return { metadata: { name, labels }, data };
}

function deployment(name, replicas) {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: "main", image: "example.com/main:1" }] },
      },
    },
  };
}

// Runs what must fail with this code, and gives the Status object of the answer.
async function refused(code, action) {
  try {
    await action();
  } catch (error) {
    assert.equal(error.code, code, String(error));
    return typeof error.body === "string" ? JSON.parse(error.body) : error.body;
  }
  assert.fail(`should have been refused with ${code}`);
}

// Options of a patch of this type.
function typed(type) {
  return k8s.setHeaderOptions("Content-Type", type);
}

// Watches until `count` events have come, or the watch has ended; `started` is called once it is open.
function events(path, query, count, started = () => {}) {
  return new Promise((resolve, reject) => {
    const seen = [];
    let controller;
    const end = (error) => (error && error.name !== "AbortError" ? reject(error) : resolve(seen));
    new k8s.Watch(config)
      .watch(
        path,
        query,
        (type, object) => {
          seen.push(`${type} ${object.metadata.name}`);
          if (seen.length === count) {
            controller.abort();
          }
        },
        end,
      )
      .then((opened) => {
        controller = opened;
        return started();
      })
      .catch(reject);
  });
}

async function crud() {
  const created = await core.createNamespacedConfigMap({
    namespace,
    body: configMap("settings", { a: "1" }, { app: "x" }),
  });
  assert.ok(created.metadata.uid);
  assert.ok(created.metadata.creationTimestamp instanceof Date);
  const read = await core.readNamespacedConfigMap({ name: "settings", namespace });
  assert.deepEqual(read.data, { a: "1" });
  read.data.b = "2";
  const replaced = await core.replaceNamespacedConfigMap({ name: "settings", namespace, body: read });
  assert.notEqual(replaced.metadata.resourceVersion, created.metadata.resourceVersion);
  const conflict = () => core.replaceNamespacedConfigMap({ name: "settings", namespace, body: created });
  assert.equal((await refused(409, conflict)).reason, "Conflict");
  const twice = () => core.createNamespacedConfigMap({ namespace, body: configMap("settings") });
  assert.equal((await refused(409, twice)).message, 'configmaps "settings" already exists');
  const bad = () => core.createNamespacedConfigMap({ namespace, body: configMap("Not_A_Name") });
  assert.equal((await refused(422, bad)).details.causes[0].field, "metadata.name");
  await core.createNamespacedConfigMap({ namespace, body: configMap("dry"), dryRun: "All" });
  const absent = (name) => refused(404, () => core.readNamespacedConfigMap({ name, namespace }));
  await absent("dry");
  const status = await core.deleteNamespacedConfigMap({ name: "settings", namespace });
  assert.equal(status.status, "Success");
  await absent("settings");
}

async function list() {
  for (let i = 0; i < 7; i++) {
    const labels = { parity: i % 2 ? "odd" : "even" };
    await core.createNamespacedConfigMap({ namespace, body: configMap(`page-${i}`, {}, labels) });
  }
  const names = (found) => found.items.map((item) => item.metadata.name);
  const odd = await core.listNamespacedConfigMap({ namespace, labelSelector: "parity in (odd)" });
  assert.deepEqual(names(odd), ["page-1", "page-3", "page-5"]);
  const one = await core.listConfigMapForAllNamespaces({ fieldSelector: "metadata.name=page-4" });
  assert.deepEqual(names(one), ["page-4"]);
  const wrong = () => core.listNamespacedConfigMap({ namespace, labelSelector: "a in b" });
  assert.equal((await refused(400, wrong)).reason, "BadRequest");
  const all = [];
  let token;
  do {
    const page = await core.listNamespacedConfigMap({ namespace, limit: 3, _continue: token });
    all.push(...names(page).filter((name) => name.startsWith("page-")));
    token = page.metadata._continue;
  } while (token);
  assert.deepEqual(all, ["page-0", "page-1", "page-2", "page-3", "page-4", "page-5", "page-6"]);
  await core.deleteCollectionNamespacedConfigMap({ namespace, labelSelector: "parity" });
  assert.deepEqual(names(await core.listNamespacedConfigMap({ namespace, labelSelector: "parity" })), []);
}

async function watch() {
  const labels = { app: "watched" };
  await core.createNamespacedConfigMap({ namespace, body: configMap("first", {}, labels) });
  const listed = await core.listNamespacedConfigMap({ namespace, labelSelector: "app=watched" });
  const since = { labelSelector: "app=watched", resourceVersion: listed.metadata.resourceVersion };
  const seen = await events(MAPS, since, 4, async () => {
    await core.createNamespacedConfigMap({ namespace, body: configMap("second", {}, labels) });
    const merge = typed(k8s.PatchStrategy.MergePatch);
    await core.patchNamespacedConfigMap({ name: "first", namespace, body: { data: { a: "1" } } }, merge);
    const other = { metadata: { labels: { app: "other" } } };
    await core.patchNamespacedConfigMap({ name: "second", namespace, body: other }, merge);
    await core.deleteNamespacedConfigMap({ name: "first", namespace });
  });
  // An object that stops matching is deleted for this watcher.
  assert.deepEqual(seen, ["ADDED second", "MODIFIED first", "DELETED second", "DELETED first"]);
  // From no version: what is there first. It ends by itself.
  const there = await events(MAPS, { fieldSelector: "metadata.name=second", timeoutSeconds: 1 });
  assert.deepEqual(there, ["ADDED second"]);
}

async function informer() {
  const labels = { app: "informed" };
  await core.createNamespacedConfigMap({ namespace, body: configMap("there", {}, labels) });
  const labelSelector = "app=informed";
  const listing = () => core.listNamespacedConfigMap({ namespace, labelSelector });
  const informer = k8s.makeInformer(config, MAPS, listing, labelSelector);
  const seen = [];
  const done = new Promise((resolve, reject) => {
    const note = (kind) => (object) => {
      seen.push(`${kind} ${object.metadata.name}`);
      if (seen.length === 3) {
        resolve();
      }
    };
    informer.on("add", note("add"));
    informer.on("update", note("update"));
    informer.on("delete", note("delete"));
    informer.on("error", reject);
  });
  await informer.start();
  const merge = typed(k8s.PatchStrategy.MergePatch);
  await core.patchNamespacedConfigMap({ name: "there", namespace, body: { data: { a: "1" } } }, merge);
  await core.deleteNamespacedConfigMap({ name: "there", namespace });
  await done;
  await informer.stop();
  assert.deepEqual(seen, ["add there", "update there", "delete there"]);
}

async function patches() {
  await core.createNamespacedConfigMap({ namespace, body: configMap("settings", { a: "1", b: "2" }) });
  const name = "settings";
  const json = typed(k8s.PatchStrategy.JsonPatch);
  const operations = [
    { op: "replace", path: "/data/a", value: "3" },
    { op: "remove", path: "/data/b" },
  ];
  let patched = await core.patchNamespacedConfigMap({ name, namespace, body: operations }, json);
  assert.deepEqual(patched.data, { a: "3" });
  const test = [{ op: "test", path: "/data/a", value: "4" }];
  await refused(422, () => core.patchNamespacedConfigMap({ name, namespace, body: test }, json));
  const merge = typed(k8s.PatchStrategy.MergePatch);
  const body = { data: { a: null, c: "5" } };
  patched = await core.patchNamespacedConfigMap({ name, namespace, body }, merge);
  assert.deepEqual(patched.data, { c: "5" });
  await apps.createNamespacedDeployment({ namespace, body: deployment("web", 1) });
  const strategic = typed(k8s.PatchStrategy.StrategicMergePatch);
  const containers = async (change) => {
    const body = { spec: { template: { spec: { containers: [change] } } } };
    const found = await apps.patchNamespacedDeployment({ name: "web", namespace, body }, strategic);
    return found.spec.template.spec.containers.map((container) => container.name).sort();
  };
  assert.deepEqual(await containers({ name: "side", image: "example.com/side:1" }), ["main", "side"]);
  assert.deepEqual(await containers({ name: "side", $patch: "delete" }), ["main"]);
  const scaled = await apps.patchNamespacedDeploymentScale(
    { name: "web", namespace, body: { spec: { replicas: 4 } } },
    merge,
  );
  assert.equal(scaled.spec.replicas, 4);
}

async function serverSideApply() {
  const apply = (fieldManager, body, force) =>
    objects.patch(body, undefined, undefined, fieldManager, force, k8s.PatchStrategy.ServerSideApply);
  const applied = await apply("first", deployment("web", 2));
  assert.equal(applied.spec.replicas, 2);
  const owners = applied.metadata.managedFields.map((entry) => `${entry.manager} ${entry.operation}`);
  assert.deepEqual(owners, ["first Apply"]);
  const again = await apply("first", deployment("web", 2));
  assert.equal(again.metadata.resourceVersion, applied.metadata.resourceVersion);
  const other = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace }, spec: { replicas: 5 } };
  const status = await refused(409, () => apply("second", other));
  const causes = status.details.causes.map((cause) => `${cause.reason} ${cause.field}`);
  assert.deepEqual(causes, ["FieldManagerConflict .spec.replicas"]);
  const forced = await apply("second", other, true);
  assert.equal(forced.spec.replicas, 5);
  // What the first manager gives up stays, since another has it.
  const kept = await apply("first", deployment("web"));
  assert.equal(kept.spec.replicas, 5);
}

// Any object by what it says it is: the client asks the server which path that is.
async function dynamicObjects() {
  const object = (version, size) => ({
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { name: "w", namespace, ...version },
    spec: { size },
  });
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: { spec: { type: "object", properties: { size: { type: "integer", minimum: 1 } } } },
            },
          },
        },
      ],
    },
  };
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await objects.create(definition);
  await new Promise((resolve, reject) => {
    let controller;
    const check = (_, found) => {
      if ((found.status?.conditions ?? []).some((one) => one.type === "Established" && one.status === "True")) {
        resolve();
        controller?.abort();
      }
    };
    new k8s.Watch(config)
      .watch(definitions, { timeoutSeconds: 30 }, check, () => reject(new Error("never established")))
      .then((opened) => (controller = opened), reject);
  });
  const created = await objects.create(object({}, 1));
  assert.equal(created.spec.size, 1);
  const replaced = await objects.replace(object({ resourceVersion: created.metadata.resourceVersion }, 2));
  assert.equal(replaced.spec.size, 2);
  const invalid = await refused(422, () => objects.replace(object({ resourceVersion: replaced.metadata.resourceVersion }, 0)));
  assert.equal(invalid.details.causes[0].field, "spec.size");
  const listed = await objects.list("example.com/v1", "Widget", namespace);
  assert.deepEqual(listed.items.map((item) => item.metadata.name), ["w"]);
  await objects.delete(object({}, 2));
  await refused(404, () => objects.read(object({}, 2)));
}

const scenarios = {
  crud,
  list,
  watch,
  informer,
  patches,
  server_side_apply: serverSideApply,
  dynamic_objects: dynamicObjects,
};

await scenarios[process.argv[2]]();
