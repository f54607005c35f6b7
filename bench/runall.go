package bench

import (
	"context"
	"fmt"
	"sync"
)

// RunAll runs trials, so many at a time, and hands each record to save, one after another, while the next
// trials run. When ctx ends no new trial is begun and those that run are finished and saved: it ends at a
// trial's edge, with the context's error.
func (r *Runner) RunAll(ctx context.Context, trials []Trial, systems map[string]System, parallel int, save func(Record) error) error {
	work := make(chan Trial)
	done := make(chan Record, max(1, parallel))
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	var workers sync.WaitGroup
	for range max(1, parallel) {
		workers.Go(func() {
			for t := range work {
				done <- r.Run(context.WithoutCancel(ctx), t, systems[t.System])
			}
		})
	}
	saved := make(chan error, 1)
	go func() {
		var failed error
		for rec := range done {
			if failed != nil {
				continue
			}
			if err := save(rec); err != nil {
				failed = fmt.Errorf("record of trial %s: %w", rec.Trial.ID, err)
				cancel()
			}
		}
		saved <- failed
	}()
	begun := 0
feed:
	for _, t := range trials {
		select {
		case work <- t:
			begun++
		case <-stop.Done():
			break feed
		}
	}
	close(work)
	workers.Wait()
	close(done)
	if failed := <-saved; failed != nil || begun == len(trials) { // an end that comes after the last trial changes nothing
		return failed
	}
	return ctx.Err()
}
