// The work queues of client-go and of controller-runtime as peers of the benchmark of queues. The task and the answer are those of
// bench/src/bin/queue/main.rs.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Task is what is to be done.
type Task struct {
	Queue   string `json:"queue"`
	Keys    int    `json:"keys"`
	Workers int    `json:"workers"`
	Times   int    `json:"times"`
}

// Done is what came of it, times in nanoseconds for each key.
type Done struct {
	Wall   float64 `json:"wall"`
	CPU    float64 `json:"cpu"`
	Before int     `json:"before"`
}

// A queue is one of the two, and how a key is added after a resync.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	addResynced func(reconcile.Request)
}

const (
	lowPriority = -100
	// Keys that have been handed out when something changes.
	takenFirst = 1000
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("wants a task as its only argument")
	}
	var task Task
	if err := json.Unmarshal([]byte(os.Args[1]), &task); err != nil {
		return fmt.Errorf("the task: %w", err)
	}
	keys := make([]reconcile.Request, task.Keys)
	for at := range keys {
		keys[at] = request(fmt.Sprintf("team-%02d", at%50), fmt.Sprintf("checkout-api-7d9f8b6c4d-%06d", at))
	}
	var done Done
	if task.Workers == 0 {
		q, err := newQueue(task.Queue)
		if err != nil {
			return err
		}
		done.Before = beforeFresh(q, keys)
	} else {
		var walls, cpus []time.Duration
		for range task.Times {
			q, err := newQueue(task.Queue)
			if err != nil {
				return err
			}
			wall, spent := pass(q, keys, task.Workers)
			walls, cpus = append(walls, wall), append(cpus, spent)
		}
		done.Wall = float64(median(walls).Nanoseconds()) / float64(task.Keys)
		done.CPU = float64(median(cpus).Nanoseconds()) / float64(task.Keys)
	}
	return json.NewEncoder(os.Stdout).Encode(done)
}

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// newQueue makes a queue without a name, which has no metrics, as ours has none here.
func newQueue(name string) (*queue, error) {
	switch name {
	case "client-go":
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		return &queue{q, q.Add}, nil
	case "controller-runtime":
		q := priorityqueue.New[reconcile.Request]("")
		low := lowPriority
		return &queue{q, func(key reconcile.Request) {
			q.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, key)
		}}, nil
	}
	return nil, fmt.Errorf("there is no queue %s", name)
}

// pass sends all keys through a queue: time on the clock, and of the processor.
func pass(q *queue, keys []reconcile.Request, workers int) (time.Duration, time.Duration) {
	var left atomic.Int64
	left.Store(int64(len(keys)))
	ended := make(chan struct{})
	for range workers {
		go func() {
			for {
				key, shutdown := q.Get()
				if shutdown {
					return
				}
				q.Done(key)
				if left.Add(-1) == 0 {
					close(ended)
				}
			}
		}()
	}
	began, before := time.Now(), cpu()
	go func() {
		for at, key := range keys {
			if at%2 == 0 {
				q.Add(key)
			} else {
				q.addResynced(key)
			}
		}
	}()
	<-ended
	wall, spent := time.Since(began), cpu()-before
	q.ShutDown()
	return wall, spent
}

// beforeFresh says how many resynced keys come before one that changes after some of them have been handed out.
func beforeFresh(q *queue, keys []reconcile.Request) int {
	defer q.ShutDown()
	for _, key := range keys {
		q.addResynced(key)
	}
	for range takenFirst {
		key, _ := q.Get()
		q.Done(key)
	}
	fresh := request("team-00", "fresh")
	q.Add(fresh)
	for before := 0; ; before++ {
		key, _ := q.Get()
		q.Done(key)
		if key == fresh {
			return before
		}
	}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
