package main

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	nodeIndex   = "node"
	indexedNode = "node-00000.compute.internal"
	// Namespaces that are listed, and others of which single objects are read, so many of each.
	listed     = 10
	read       = 10
	readAtOnce = 100
)

// An informer is the shared informer of pods with its handlers, from a factory with the settings that it has by itself.
type informer struct {
	lister  listers.PodLister
	indexer cache.Indexer
	index   bool
	done    chan struct{}
}

func begin(client kubernetes.Interface, task *Task, gate *gate) (*informer, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods()
	shared := pods.Informer()
	if task.Index != nil {
		err := shared.AddIndexers(cache.Indexers{nodeIndex: func(object any) ([]string, error) {
			pod, ok := object.(*corev1.Pod)
			if !ok {
				return nil, fmt.Errorf("no pod: %T", object)
			}
			return []string{pod.Spec.NodeName}, nil
		}})
		if err != nil {
			return nil, err
		}
	}
	see, err := look(task.Look)
	if err != nil {
		return nil, err
	}
	for _, counter := range gate.counters {
		if _, err := shared.AddEventHandler(handler(see, counter)); err != nil {
			return nil, err
		}
	}
	done := make(chan struct{})
	factory.Start(done)
	return &informer{lister: pods.Lister(), indexer: shared.GetIndexer(), index: task.Index != nil, done: done}, nil
}

func (i *informer) stop() { close(i.done) }

func (i *informer) indexed() uint64 {
	if !i.index {
		return 0
	}
	found, err := i.indexer.ByIndex(nodeIndex, indexedNode)
	if err != nil {
		return 0
	}
	return uint64(len(found))
}

func (i *informer) problems(objects int64) []string {
	if there := len(i.indexer.ListKeys()); int64(there) != objects {
		return []string{fmt.Sprintf("%d of %d objects are in the cache", there, objects)}
	}
	return nil
}

func handler(see func(*corev1.Pod) uint64, counter *counter) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if pod, ok := object.(*corev1.Pod); ok {
				counter.count(see(pod))
			}
		},
		UpdateFunc: func(oldObject, newObject any) {
			before, ok := oldObject.(*corev1.Pod)
			after, also := newObject.(*corev1.Pod)
			if ok && also && before.ResourceVersion != after.ResourceVersion {
				counter.count(see(before) + see(after))
			}
		},
		DeleteFunc: func(object any) {
			if pod, ok := object.(*corev1.Pod); ok {
				counter.count(see(pod))
			}
		},
	}
}

func look(name string) (func(*corev1.Pod) uint64, error) {
	switch name {
	case "metadata":
		return seeMetadata, nil
	case "field":
		return func(pod *corev1.Pod) uint64 { return uint64(len(pod.Spec.NodeName)) }, nil
	case "object":
		return seeObject, nil
	}
	return nil, fmt.Errorf("handlers cannot look at %s", name)
}

func seeMetadata(pod *corev1.Pod) uint64 {
	seen := len(pod.Namespace) + len(pod.Name)
	for key, value := range pod.Labels {
		seen += len(key) + len(value)
	}
	for _, owner := range pod.OwnerReferences {
		seen += len(owner.UID)
	}
	return uint64(seen)
}

func seeObject(pod *corev1.Pod) uint64 {
	seen := len(pod.Status.Conditions)
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		seen += len(container.Name) + len(container.Env)
	}
	for i := range pod.Status.ContainerStatuses {
		seen += len(pod.Status.ContainerStatuses[i].ImageID)
	}
	return uint64(seen)
}

// reads reads typed objects from the cache: as they are shared, and copied, as controller-runtime's client does.
func (i *informer) reads() (map[string]any, error) {
	shared := func(pod *corev1.Pod) uint64 { return seeObject(pod) }
	copied := func(pod *corev1.Pod) uint64 { return seeObject(pod.DeepCopy()) }
	ways := []func(*corev1.Pod) uint64{shared, shared, copied}
	lists, gets := make([][]float64, len(ways)), make([][]float64, len(ways))
	for at := range listed {
		for way, see := range ways {
			began := time.Now()
			pods, err := i.lister.Pods(namespace(at)).List(labels.Everything())
			if err != nil || len(pods) == 0 {
				return nil, nothing(namespace(at), err)
			}
			for _, pod := range pods {
				sink += see(pod)
			}
			lists[way] = append(lists[way], time.Since(began).Seconds()*1e3*1e3/float64(len(pods)))
		}
	}
	for at := range read {
		pods, err := i.lister.Pods(namespace(listed + at)).List(labels.Everything())
		if err != nil || len(pods) == 0 {
			return nil, nothing(namespace(listed+at), err)
		}
		pods = pods[:min(len(pods), readAtOnce)]
		for way, see := range ways {
			began := time.Now()
			for _, pod := range pods {
				found, err := i.lister.Pods(pod.Namespace).Get(pod.Name)
				if err != nil {
					return nil, err
				}
				sink += see(found)
			}
			gets[way] = append(gets[way], time.Since(began).Seconds()*1e6/float64(len(pods)))
		}
	}
	return map[string]any{
		"line":      "reads",
		"list_cold": median(lists[0]), "list_warm": median(lists[1]), "list_copied": median(lists[2]),
		"get_cold": median(gets[0]), "get_warm": median(gets[1]), "get_copied": median(gets[2]),
	}, nil
}

// sink keeps what is read from being left out.
var sink uint64

func namespace(at int) string { return fmt.Sprintf("team-%02d", at) }

func nothing(namespace string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", namespace, err)
	}
	return fmt.Errorf("nothing is in %s", namespace)
}

func median(times []float64) float64 {
	slices.Sort(times)
	return times[len(times)/2]
}
