package main

import (
	"fmt"
	"sync/atomic"
)

// A gate opens when every handler has counted as many changes as are wanted.
type gate struct {
	wanted   atomic.Int64
	arrived  atomic.Int64
	opened   chan struct{}
	counters []*counter
}

// A counter is what one handler has seen.
type counter struct {
	gate    *gate
	changes atomic.Int64
	seen    atomic.Uint64
}

func newGate(handlers int) *gate {
	g := &gate{opened: make(chan struct{}, 1)}
	for range handlers {
		g.counters = append(g.counters, &counter{gate: g})
	}
	return g
}

func (g *gate) wantMore(changes int64) {
	g.arrived.Store(0)
	g.wanted.Add(changes)
}

func (g *gate) open() {
	<-g.opened
}

func (g *gate) digest() uint64 {
	var sum uint64
	for _, counter := range g.counters {
		sum += counter.seen.Load()
	}
	return sum
}

func (g *gate) problems() []string {
	problems := []string{}
	for _, counter := range g.counters {
		if changes := counter.changes.Load(); changes != g.wanted.Load() {
			problems = append(problems, fmt.Sprintf("a handler was told of %d changes and not of %d", changes, g.wanted.Load()))
		}
	}
	return problems
}

func (c *counter) count(seen uint64) {
	c.seen.Add(seen)
	if c.changes.Add(1) == c.gate.wanted.Load() && c.gate.arrived.Add(1) == int64(len(c.gate.counters)) {
		c.gate.opened <- struct{}{}
	}
}
