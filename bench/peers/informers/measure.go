package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// How long the process rests before its memory is looked at.
const restTime = time.Second

// A meter measures one piece of work.
type meter struct {
	began time.Time
	cpu   time.Duration
}

func startMeter() *meter {
	// Where the kernel does not let the peak begin anew, that of earlier work counts, too.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	return &meter{began: time.Now(), cpu: cpu()}
}

// stop says what the work has cost, and what was put off until afterwards with it.
func (m *meter) stop() (map[string]any, error) {
	wall := time.Since(m.began)
	time.Sleep(restTime)
	spent := cpu() - m.cpu
	resident, err := status("VmRSS:")
	if err != nil {
		return nil, err
	}
	peak, err := status("VmHWM:")
	if err != nil {
		return nil, err
	}
	return map[string]any{"cpu": spent.Seconds(), "wall": wall.Seconds(), "resident": resident, "peak": peak}, nil
}

// cpu is the processor time of all threads.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// status reads a line of /proc/self/status that is in kibibytes, in bytes.
func status(name string) (uint64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, name); found {
			kibibytes, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
			return kibibytes * 1024, err
		}
	}
	return 0, fmt.Errorf("a process has %s", name)
}
