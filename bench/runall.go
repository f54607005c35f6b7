package bench

import (
	"context"
	"fmt"
	"sync"
)

// RunAll runs trials, so many at a time, and hands each record to save, one after another. When ctx ends no
// new trial is begun and those that run are finished: it ends at a trial's edge, with the context's error.
func (r *Runner) RunAll(ctx context.Context, trials []Trial, systems map[string]System, parallel int, save func(Record) error) error {
	work := make(chan Trial)
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		workers sync.WaitGroup
		mu      sync.Mutex
		failed  error
	)
	for range max(1, parallel) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for t := range work {
				rec := r.Run(context.WithoutCancel(ctx), t, systems[t.System])
				mu.Lock()
				if failed == nil {
					if err := save(rec); err != nil {
						failed = fmt.Errorf("record of trial %s: %w", t.ID, err)
						cancel()
					}
				}
				mu.Unlock()
			}
		}()
	}
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
	if failed != nil || begun == len(trials) { // an end that comes after the last trial changes nothing
		return failed
	}
	return ctx.Err()
}
