package provide

import (
	"fmt"
	"sync"
	"time"
)

// latest is the end of time here: stores keep times as nanoseconds since 1970 in 64 bits, which end in 2262.
var latest = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// Clock is the virtual time of a fake: the machine's clock, ahead by what it was moved; or a time that stands
// still until it is moved. It never runs back.
type Clock struct {
	machine func() time.Time

	mu     sync.Mutex
	ahead  time.Duration // of the machine's clock, while it runs
	stands time.Time     // where it stands; zero: it runs
}

// Reading is a clock as it is shown, and as it is kept with a store.
type Reading struct {
	Now   time.Time `json:"now"`
	Runs  bool      `json:"runs"`
	Ahead string    `json:"ahead"` // of the machine's clock, as a Go duration
}

// Motion says how to move a clock. At most one of Pass and Set.
type Motion struct {
	Pass *string    `json:"pass"` // a Go duration from 0: "25h", "90s"
	Set  *time.Time `json:"set"`  // not before now
	Runs *bool      `json:"runs"` // false: it stands still from now on
}

// NewClock is a clock that shows what the machine's does.
func NewClock(machine func() time.Time) *Clock { return &Clock{machine: machine} }

// Now is the virtual time, in UTC.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *Clock) now() time.Time {
	if !c.stands.IsZero() {
		return c.stands
	}
	return c.machine().Add(c.ahead).Round(0).UTC()
}

// Read is the clock as it is now.
func (c *Clock) Read() Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read()
}

func (c *Clock) read() Reading {
	now := c.now()
	ahead := c.ahead
	if !c.stands.IsZero() {
		ahead = now.Sub(c.machine()).Round(time.Second)
	}
	return Reading{Now: now, Runs: c.stands.IsZero(), Ahead: ahead.String()}
}

// Move moves the clock. An error says what was asked for and changes nothing.
func (c *Clock) Move(m Motion) (Reading, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.now()
	to := was
	switch {
	case m.Pass == nil && m.Set == nil && m.Runs == nil:
		return Reading{}, fmt.Errorf(`nothing to do: expected "pass", "set" or "runs"`)
	case m.Pass != nil && m.Set != nil:
		return Reading{}, fmt.Errorf(`both "pass" and "set": expected one of them`)
	case m.Pass != nil:
		d, err := time.ParseDuration(*m.Pass)
		if err != nil || d < 0 {
			return Reading{}, fmt.Errorf(`"pass" is %q, expected a duration from 0 like "25h", "10m30s"`, *m.Pass)
		}
		if d > latest.Sub(was) {
			return Reading{}, fmt.Errorf(`"pass" is %q, which leads past %s`, *m.Pass, latest.Format(time.DateOnly))
		}
		to = was.Add(d)
	case m.Set != nil:
		to = m.Set.UTC()
		if to.Before(was) {
			return Reading{}, fmt.Errorf(`"set" is %s, and it is %s: the clock does not run back; POST /reset starts anew`, to.Format(time.RFC3339Nano), was.Format(time.RFC3339Nano))
		}
		if to.After(latest) {
			return Reading{}, fmt.Errorf(`"set" is %s, which is past %s`, to.Format(time.RFC3339), latest.Format(time.DateOnly))
		}
	}
	runs := c.stands.IsZero()
	if m.Runs != nil {
		runs = *m.Runs
	}
	if runs {
		c.ahead += to.Sub(was)
		if !c.stands.IsZero() {
			c.ahead = to.Sub(c.machine())
		}
		c.stands = time.Time{}
	} else {
		c.stands = to
	}
	return c.read(), nil
}

// restore takes a clock up where a reading left it: one that ran has run on, as far as the machine's did.
func (c *Clock) restore(r Reading) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !r.Runs {
		c.stands = r.Now
		return nil
	}
	ahead, err := time.ParseDuration(r.Ahead)
	if err != nil {
		return fmt.Errorf("clock: %w", err)
	}
	c.ahead = max(ahead, r.Now.Sub(c.machine())) // the machine's clock may have been set back
	return nil
}
