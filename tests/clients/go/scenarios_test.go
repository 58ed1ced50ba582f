// Package clients runs client-go against the API server that KUBECONFIG names: one test for each scenario.
package clients

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	applyapps "k8s.io/client-go/applyconfigurations/apps/v1"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	namespace = "default"
	protobuf  = "application/vnd.kubernetes.protobuf"
	limit     = 30 * time.Second
)

func config(t *testing.T, contentType string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	config.ContentType = contentType
	if contentType == protobuf {
		config.AcceptContentTypes = protobuf + ",application/json"
	}
	config.QPS, config.Burst = 1000, 2000
	return config
}

func clients(t *testing.T, contentType string) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config(t, contentType))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// deadline is a context that outlives nothing here.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// recorder notes what handlers are told and lets a test wait for it.
type recorder struct {
	mutex  sync.Mutex
	cond   *sync.Cond
	events []string
}

func newRecorder() *recorder {
	r := &recorder{}
	r.cond = sync.NewCond(&r.mutex)
	return r
}

func (r *recorder) add(event string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.events = append(r.events, event)
	r.cond.Broadcast()
}

func (r *recorder) handler() cache.ResourceEventHandlerDetailedFuncs {
	describe := func(object any) string {
		if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		accessor, err := meta.Accessor(object)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%s %s", accessor.GetName(), accessor.GetLabels()["step"])
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			r.add(fmt.Sprintf("add %s initial=%t", describe(object), initial))
		},
		UpdateFunc: func(_, object any) { r.add("update " + describe(object)) },
		DeleteFunc: func(object any) { r.add("delete " + describe(object)) },
	}
}

// wait blocks until an event is there.
func (r *recorder) wait(ctx context.Context, t *testing.T, event string) {
	t.Helper()
	stop := context.AfterFunc(ctx, r.cond.Broadcast)
	defer stop()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for {
		for _, seen := range r.events {
			if seen == event {
				return
			}
		}
		if ctx.Err() != nil {
			t.Fatalf("%q never came, only %q", event, r.events)
		}
		r.cond.Wait()
	}
}

func configMap(name, step string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"step": step}},
		Data:       map[string]string{"key": step},
	}
}

// streaming switches the streaming lists of reflectors.
type streaming bool

func (s streaming) Enabled(feature clientfeatures.Feature) bool {
	if feature == clientfeatures.WatchListClient {
		return bool(s)
	}
	return defaults.Enabled(feature)
}

var defaults = clientfeatures.FeatureGates()

// informer is the life of one informer: what was there, what comes, what changes, what goes.
func informer(t *testing.T, contentType string, lists streaming) {
	clientfeatures.ReplaceFeatureGates(lists)
	ctx := deadline(t)
	client := clients(t, contentType)
	maps := client.CoreV1().ConfigMaps(namespace)
	if _, err := maps.Create(ctx, configMap("early", "1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	shared := factory.Core().V1().ConfigMaps()
	record := newRecorder()
	if _, err := shared.Informer().AddEventHandler(record.handler()); err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			t.Fatalf("%v did not sync", kind)
		}
	}
	record.wait(ctx, t, "add early 1 initial=true")
	if _, err := maps.Create(ctx, configMap("late", "1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	record.wait(ctx, t, "add late 1 initial=false")
	for step := 2; step <= 20; step++ {
		if _, err := maps.Update(ctx, configMap("late", fmt.Sprint(step)), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	record.wait(ctx, t, "update late 20")
	if err := maps.Delete(ctx, "early", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	record.wait(ctx, t, "delete early 1")
	found, err := shared.Lister().ConfigMaps(namespace).Get("late")
	if err != nil || found.Data["key"] != "20" {
		t.Fatalf("the lister has %v, %v", found, err)
	}
	if found.UID == "" || found.CreationTimestamp.IsZero() || len(found.ManagedFields) == 0 {
		t.Fatalf("metadata is missing: %v", found.ObjectMeta)
	}
}

func TestInformerJSON(t *testing.T)                  { informer(t, "application/json", true) }
func TestInformerProtobuf(t *testing.T)              { informer(t, protobuf, true) }
func TestInformerWithoutStreamingLists(t *testing.T) { informer(t, protobuf, false) }

func TestDynamicAndMetadataInformers(t *testing.T) {
	ctx := deadline(t)
	client := clients(t, protobuf)
	dynamicClient, err := dynamic.NewForConfig(config(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	metadataClient, err := metadata.NewForConfig(metadata.ConfigFor(config(t, "")))
	if err != nil {
		t.Fatal(err)
	}
	resource := corev1.SchemeGroupVersion.WithResource("configmaps")
	dynamicFactory := dynamicinformer.NewDynamicSharedInformerFactory(dynamicClient, 0)
	metadataFactory := metadatainformer.NewSharedInformerFactory(metadataClient, 0)
	dynamicRecord, metadataRecord := newRecorder(), newRecorder()
	if _, err := dynamicFactory.ForResource(resource).Informer().AddEventHandler(dynamicRecord.handler()); err != nil {
		t.Fatal(err)
	}
	if _, err := metadataFactory.ForResource(resource).Informer().AddEventHandler(metadataRecord.handler()); err != nil {
		t.Fatal(err)
	}
	dynamicFactory.Start(ctx.Done())
	metadataFactory.Start(ctx.Done())
	dynamicFactory.WaitForCacheSync(ctx.Done())
	metadataFactory.WaitForCacheSync(ctx.Done())
	maps := client.CoreV1().ConfigMaps(namespace)
	if _, err := maps.Create(ctx, configMap("seen", "1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(ctx, "seen", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, record := range []*recorder{dynamicRecord, metadataRecord} {
		record.wait(ctx, t, "add seen 1 initial=false")
		record.wait(ctx, t, "delete seen 1")
	}
}

func TestTypedClientProtobuf(t *testing.T) {
	ctx := deadline(t)
	client := clients(t, protobuf)
	deployments := client.AppsV1().Deployments(namespace)
	labels := map[string]string{"app": "web"}
	created, err := deployments.Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main:1"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if *created.Spec.Replicas != 1 || created.Spec.Strategy.RollingUpdate.MaxSurge.StrVal != "25%" {
		t.Fatalf("defaults are missing: %v", created.Spec)
	}
	scale, err := deployments.GetScale(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scale.Spec.Replicas = 3
	if scale, err = deployments.UpdateScale(ctx, "web", scale, metav1.UpdateOptions{}); err != nil || scale.Spec.Replicas != 3 {
		t.Fatal(scale, err)
	}
	_, err = deployments.Update(ctx, created, metav1.UpdateOptions{})
	if !apierrors.IsConflict(err) {
		t.Fatalf("an update of an old version gave %v", err)
	}
	page, err := deployments.List(ctx, metav1.ListOptions{Limit: 1, LabelSelector: ""})
	if err != nil || len(page.Items) != 1 || page.Items[0].Kind != "" {
		t.Fatal(page, err)
	}
	_, err = deployments.Get(ctx, "none", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), `deployments.apps "none" not found`) {
		t.Fatal(err)
	}
	watch, err := deployments.Watch(ctx, metav1.ListOptions{ResourceVersion: page.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	policy := metav1.DeletePropagationBackground
	if err := deployments.Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		t.Fatal(err)
	}
	event := <-watch.ResultChan()
	gone, ok := event.Object.(*appsv1.Deployment)
	if event.Type != "DELETED" || !ok || gone.Name != "web" || gone.ResourceVersion == page.ResourceVersion {
		t.Fatal(event)
	}
}

func TestServerSideApply(t *testing.T) {
	ctx := deadline(t)
	client := clients(t, protobuf)
	deployments := client.AppsV1().Deployments(namespace)
	labels := map[string]string{"app": "web"}
	configuration := func(replicas int32) *applyapps.DeploymentApplyConfiguration {
		return applyapps.Deployment("web", namespace).WithSpec(applyapps.DeploymentSpec().
			WithReplicas(replicas).
			WithSelector(applymeta.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(applycore.PodTemplateSpec().WithLabels(labels).
				WithSpec(applycore.PodSpec().WithContainers(
					applycore.Container().WithName("main").WithImage("example.com/main:1").
						WithPorts(applycore.ContainerPort().WithContainerPort(80))))))
	}
	first, err := deployments.Apply(ctx, configuration(2), metav1.ApplyOptions{FieldManager: "first"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := deployments.Apply(ctx, configuration(2), metav1.ApplyOptions{FieldManager: "first"})
	if err != nil || again.ResourceVersion != first.ResourceVersion {
		t.Fatalf("applying the same again wrote: %v %v", again, err)
	}
	replicas := applyapps.Deployment("web", namespace).WithSpec(applyapps.DeploymentSpec().WithReplicas(5))
	_, err = deployments.Apply(ctx, replicas, metav1.ApplyOptions{FieldManager: "second"})
	if !apierrors.IsConflict(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		t.Fatalf("a conflict gave %v", err)
	}
	forced, err := deployments.Apply(ctx, replicas, metav1.ApplyOptions{FieldManager: "second", Force: true})
	if err != nil || *forced.Spec.Replicas != 5 {
		t.Fatal(forced, err)
	}
	extracted, err := applyapps.ExtractDeployment(forced, "second")
	if err != nil || extracted.Spec == nil || *extracted.Spec.Replicas != 5 || extracted.Spec.Template != nil {
		t.Fatalf("extracted %v, %v", extracted, err)
	}
	noop, err := deployments.Apply(ctx, extracted, metav1.ApplyOptions{FieldManager: "second"})
	if err != nil || noop.ResourceVersion != forced.ResourceVersion {
		t.Fatalf("applying what was extracted wrote: %v %v", noop, err)
	}
	status := applyapps.Deployment("web", namespace).WithStatus(applyapps.DeploymentStatus().WithReplicas(5))
	shown, err := deployments.ApplyStatus(ctx, status, metav1.ApplyOptions{FieldManager: "controller"})
	if err != nil || shown.Status.Replicas != 5 {
		t.Fatal(shown, err)
	}
	managers := []string{}
	for _, entry := range shown.ManagedFields {
		managers = append(managers, fmt.Sprintf("%s %s %s", entry.Manager, entry.Operation, entry.Subresource))
	}
	sort.Strings(managers)
	if strings.Join(managers, ", ") != "controller Apply status, first Apply , second Apply " {
		t.Fatalf("%q", managers)
	}
}

func TestDiscoveryAndMapping(t *testing.T) {
	client := clients(t, "application/json")
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	for kind, resource := range map[schema.GroupKind]string{
		{Kind: "Pod"}:                       "pods",
		{Group: "apps", Kind: "Deployment"}: "deployments",
		{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:           "horizontalpodautoscalers",
		{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:               "networkpolicies",
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: "customresourcedefinitions",
	} {
		mapping, err := mapper.RESTMapping(kind)
		if err != nil || mapping.Resource.Resource != resource {
			t.Errorf("%v is %v, %v", kind, mapping, err)
		}
	}
	hpa, err := mapper.RESTMapping(schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"})
	if err != nil || hpa.Resource.Version != "v2" {
		t.Errorf("the preferred version is %v, %v", hpa, err)
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil || version.Major != "1" {
		t.Errorf("%v, %v", version, err)
	}
	if _, err := client.Discovery().OpenAPISchema(); err != nil {
		t.Errorf("OpenAPI v2: %v", err)
	}
	paths, err := client.Discovery().OpenAPIV3().Paths()
	if err != nil || paths["apis/apps/v1"] == nil {
		t.Errorf("OpenAPI v3: %v, %v", paths, err)
	} else if _, err := paths["apis/apps/v1"].Schema("application/com.github.proto-openapi.spec.v3@v1.0+protobuf"); err != nil {
		t.Errorf("OpenAPI v3 as protobuf: %v", err)
	}
}

func TestLeaderElection(t *testing.T) {
	ctx, cancel := context.WithCancel(deadline(t))
	client := clients(t, protobuf)
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Name: "leader", Namespace: namespace},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: "me"},
	}
	led := false
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock:            lock,
		LeaseDuration:   15 * time.Second,
		RenewDeadline:   10 * time.Second,
		RetryPeriod:     2 * time.Second,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { led = true; cancel() },
			OnStoppedLeading: func() {},
		},
	})
	lease, err := client.CoordinationV1().Leases(namespace).Get(deadline(t), "leader", metav1.GetOptions{})
	if err != nil || !led || *lease.Spec.HolderIdentity != "" {
		t.Fatalf("led=%t, lease %v, %v", led, lease, err)
	}
}
