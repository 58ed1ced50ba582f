// The shared informer of client-go as a peer of the benchmark of informers: it is given a task as JSON, and tells in lines of JSON
// what each piece of work cost. The task and the lines are those of bench/src/bin/informers/task.rs.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Task is what is to be done.
type Task struct {
	Server    string   `json:"server"`
	Objects   int64    `json:"objects"`
	Look      string   `json:"look"`
	Handlers  int      `json:"handlers"`
	Index     *string  `json:"index"`
	Streaming bool     `json:"streaming"`
	Steps     []string `json:"steps"`
}

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
	// Without a limit of requests per second: by itself client-go waits between the pages of a list.
	client, err := kubernetes.NewForConfig(&rest.Config{Host: task.Server, QPS: -1})
	if err != nil {
		return err
	}
	resident, err := status("VmRSS:")
	if err != nil {
		return err
	}
	tell(map[string]any{"line": "start", "resident": resident})

	gate := newGate(task.Handlers)
	gate.wantMore(task.Objects)
	meter := startMeter()
	informer, err := begin(client, &task, gate)
	if err != nil {
		return err
	}
	defer informer.stop()
	gate.open()
	cost, err := meter.stop()
	if err != nil {
		return err
	}
	collected, err := collect()
	if err != nil {
		return err
	}
	cost["line"], cost["digest"], cost["collected"] = "sync", gate.digest()+informer.indexed(), collected
	tell(cost)

	for _, step := range task.Steps {
		if err := perform(step, &task, gate, informer); err != nil {
			return err
		}
	}
	tell(map[string]any{"line": "end", "problems": append(gate.problems(), informer.problems(task.Objects)...)})
	return nil
}

func perform(step string, task *Task, gate *gate, informer *informer) error {
	changes := int64(1)
	switch step {
	case "reads":
		reads, err := informer.reads()
		if err != nil {
			return err
		}
		tell(reads)
		return nil
	case "update":
		changes = task.Objects
	}
	gate.wantMore(changes)
	meter := startMeter()
	tell(map[string]any{"line": "ready", "step": step})
	gate.open()
	cost, err := meter.stop()
	if err != nil {
		return err
	}
	cost["line"], cost["step"] = "done", step
	tell(cost)
	return nil
}

// collect has the collector run and give memory back, and returns what is left. It is no part of what is measured.
func collect() (map[string]any, error) {
	debug.FreeOSMemory()
	resident, err := status("VmRSS:")
	if err != nil {
		return nil, err
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return map[string]any{"resident": resident, "heap": memory.HeapAlloc}, nil
}

func tell(line map[string]any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}
