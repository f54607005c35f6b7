package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/sixthcopy/sixthcopy/bench"
)

// progress shows how far a run is: a bar on a terminal, a line every few seconds elsewhere. It is safe
// for concurrent use.
type progress struct {
	mu         sync.Mutex
	w          io.Writer
	bar        *progressbar.ProgressBar // nil: lines
	now        func() time.Time
	started    time.Time
	said       time.Time
	total      int
	before     int // done before this session of the run, when it is resumed
	done       int
	violations int
	invalid    int
}

// linesEvery is the least time between two lines where there is no terminal.
const linesEvery = 5 * time.Second

// newProgress begins to show a run of total trials of which some are stored already, with these verdicts.
func newProgress(w io.Writer, total int, stored []bench.Verdict, now func() time.Time) *progress {
	p := &progress{w: w, now: now, started: now(), said: now(), total: total, before: len(stored)}
	for _, v := range stored {
		p.count(v)
	}
	if f, ok := w.(*os.File); ok && terminal(f) {
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(20),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("trials"),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetPredictTime(true),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetDescription(p.counts()))
		_ = p.bar.Set(p.done) // within its limits
	}
	return p
}

// terminal says whether f is a character device: a terminal, for all that matters here.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *progress) count(v bench.Verdict) {
	p.done++
	switch v {
	case bench.Violation:
		p.violations++
	case bench.Invalid, bench.Unjudged:
		p.invalid++
	case bench.Exact, bench.Safe:
	}
}

// add counts one judged trial and shows it.
func (p *progress) add(v bench.Verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count(v)
	if p.bar != nil {
		p.bar.Describe(p.counts())
		_ = p.bar.Add(1) // a bar that cannot be drawn is no reason to end a run
		return
	}
	if now := p.now(); now.Sub(p.said) >= linesEvery {
		p.said = now
		p.line(now)
	}
}

// end clears the bar, or writes the last line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
		return
	}
	p.line(p.now())
}

func (p *progress) line(now time.Time) {
	rate := float64(p.done-p.before) / max(now.Sub(p.started).Seconds(), 0.001)
	left := ""
	if rate > 0 && p.done < p.total {
		left = fmt.Sprintf(", %s left", (time.Duration(float64(p.total-p.done)/rate) * time.Second).Round(time.Second))
	}
	fmt.Fprintf(p.w, "%d of %d trials, %.0f trials/s%s, %s\n", p.done, p.total, rate, left, p.counts())
}

func (p *progress) counts() string {
	return fmt.Sprintf("%d violations, %d invalid", p.violations, p.invalid)
}
