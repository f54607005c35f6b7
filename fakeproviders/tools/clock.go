package tools

import (
	"sync"
	"time"
)

// clock is virtual time as the harness tells it, with timers that run on it.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*timer]bool
}

type timer struct {
	until time.Time
	fire  func()
}

func newClock(now time.Time) *clock { return &clock{now: now, timers: map[*timer]bool{}} }

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// after arranges that fire is called once when virtual time has reached now + d, unless stop comes
// first. Neither waits for the other.
func (c *clock) after(d time.Duration, fire func()) (until time.Time, stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{until: c.now.Add(d), fire: fire}
	c.timers[t] = true
	return t.until, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, t)
	}
}

// set moves virtual time, never back, and fires what is due.
func (c *clock) set(now time.Time) {
	c.mu.Lock()
	if now.After(c.now) {
		c.now = now
	}
	var due []*timer
	for t := range c.timers {
		if !t.until.After(c.now) {
			due = append(due, t)
			delete(c.timers, t)
		}
	}
	c.mu.Unlock()
	for _, t := range due {
		t.fire()
	}
}
