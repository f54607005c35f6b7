package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/systems"
)

// setupOptions are the flags of setup.
type setupOptions struct {
	dir      string
	parallel int
}

func setupCommand(c *console) *cobra.Command {
	var o setupOptions
	cmd := &cobra.Command{
		Use:   "setup [SYSTEM...]",
		Short: "Make systems ready to run: install and build what they adapt",
		Long: `setup runs the setup command of each system's manifest in the system's folder.
What is ready already is passed over. A system whose needed program is not in
PATH is named with the command that installs it, and the others are set up all
the same. Exit status 2 if any of them is not ready at the end.`,
		Example: `  sixthcopy setup
  sixthcopy setup tenacity got`,
		RunE: func(cmd *cobra.Command, args []string) error { return setUp(cmd.Context(), c, o, args) },
	}
	cmd.Flags().StringVar(&o.dir, "systems", "systems", "folder with the systems")
	cmd.Flags().IntVar(&o.parallel, "parallel", runtime.NumCPU(), "set-ups at a time")
	return cmd
}

// unready is a system that is not ready at the end of a setup.
type unready struct{ name, why string }

// setUp makes the named systems ready, all if none is named.
func setUp(ctx context.Context, c *console, o setupOptions, names []string) error {
	if o.parallel < 1 {
		return usagef("a whole number from 1", "--parallel is %d, expected at least 1", o.parallel)
	}
	all, err := loadManifests(o.dir)
	if err != nil {
		return err
	}
	if all, err = named(all, names); err != nil {
		return err
	}
	var todo []systems.Manifest
	var left []unready
	ready, installs := 0, []string{}
	for _, m := range all {
		is, err := m.Readiness()
		switch {
		case err != nil:
			left = append(left, unready{m.Name, err.Error()})
		case len(is.Lacks) > 0:
			left = append(left, unready{m.Name, is.String()})
			for _, n := range is.Lacks {
				if !slices.Contains(installs, n.Install) {
					installs = append(installs, n.Install)
				}
			}
		case is.Ready():
			ready++
		default:
			todo = append(todo, m)
		}
	}
	if ready > 0 {
		fmt.Fprintf(c.err, "ready already: %d of %d\n", ready, len(all))
	}
	left = append(left, makeReady(ctx, c.err, todo, o.parallel)...)
	if ctx.Err() != nil {
		return &ending{interrupted, errors.New("interrupted; what was set up stays"), "to go on: " + o.again(names)}
	}
	if len(left) == 0 {
		fmt.Fprintf(c.out, "%d of %d systems are ready\n", len(all), len(all))
		return nil
	}
	lines := []string{fmt.Sprintf("%d of %d systems are not ready", len(left), len(all))}
	var again []string
	for _, u := range left {
		lines = append(lines, u.name+": "+u.why)
		again = append(again, u.name)
	}
	slices.Sort(lines[1:])
	slices.Sort(again)
	hint := "when that is mended: " + o.again(again)
	if len(installs) > 0 {
		hint = strings.Join(append(installs, o.again(again)), " && ")
	}
	return usagef(hint, "%s", strings.Join(lines, "\n"))
}

// again is the command line that sets systems up.
func (o setupOptions) again(names []string) string {
	args := append([]string{"sixthcopy", "setup"}, names...)
	if o.dir != "systems" {
		args = append(args, "--systems", o.dir)
	}
	return quoted(args)
}

// named are the manifests of the named systems, in their own order; without names all of them.
func named(all []systems.Manifest, names []string) ([]systems.Manifest, error) {
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, m := range all {
		known = append(known, m.Name)
	}
	wanted := map[string]bool{}
	for _, name := range names {
		folder, _, _ := strings.Cut(name, "/") // a variant is set up with its system
		if !slices.Contains(known, folder) {
			return nil, unknown("system", folder, known)
		}
		wanted[folder] = true
	}
	return slices.DeleteFunc(all, func(m systems.Manifest) bool { return !wanted[m.Name] }), nil
}

// makeReady sets systems up, some at a time, and tells how each went. It returns those that are not ready.
func makeReady(ctx context.Context, w io.Writer, todo []systems.Manifest, parallel int) []unready {
	var mu sync.Mutex
	var left []unready
	ended := 0
	tell := func(m systems.Manifest, took time.Duration, said string, err error) {
		mu.Lock()
		defer mu.Unlock()
		ended++
		head := fmt.Sprintf("%d of %d  %s ", ended, len(todo), m.Name)
		if err == nil {
			fmt.Fprintf(w, "%sready, %.1f s\n", head, took.Seconds())
			return
		}
		left = append(left, unready{m.Name, "its setup failed: " + err.Error()})
		if ctx.Err() != nil {
			return
		}
		fmt.Fprintf(w, "%sfailed, %.1f s: %v\n", head, took.Seconds(), err)
		for line := range strings.Lines(said) {
			fmt.Fprintf(w, "    %s\n", strings.TrimRight(line, "\r\n"))
		}
	}
	queue := make(chan systems.Manifest)
	var workers sync.WaitGroup
	for range min(parallel, len(todo)) {
		workers.Go(func() {
			for m := range queue {
				mu.Lock()
				fmt.Fprintf(w, "%s: %s\n", m.Name, quoted(m.Setup))
				mu.Unlock()
				began := time.Now()
				said, err := m.SetUp(ctx)
				tell(m, time.Since(began), said, err)
			}
		})
	}
feed:
	for _, m := range todo {
		select {
		case queue <- m:
		case <-ctx.Done():
			break feed
		}
	}
	close(queue)
	workers.Wait()
	return left
}

// readiness says whether a system can be run.
func readiness(s bench.System) (systems.Readiness, error) {
	if folder, ok := s.(*systems.System); ok {
		return folder.Readiness()
	}
	return systems.Readiness{}, nil
}

// refuseUnready refuses a run of systems that are not set up: what came of it would be blamed on them.
func refuseUnready(chosen []bench.System, dir string) error {
	var lines, installs, folders []string
	for _, s := range chosen {
		is, err := readiness(s)
		if err != nil {
			return &ending{misused, err, "sixthcopy setup says more"}
		}
		if is.Ready() {
			continue
		}
		why := is.Why
		if len(is.Lacks) > 0 {
			why = "it " + is.String()
		}
		lines = append(lines, fmt.Sprintf("system %s is not set up: %s", s.Name(), why))
		for _, n := range is.Lacks {
			if !slices.Contains(installs, n.Install) {
				installs = append(installs, n.Install)
			}
		}
		if folder := s.(*systems.System).Folder(); !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	o := setupOptions{dir: dir}
	if dir == "" {
		o.dir = "systems"
	}
	return usagef(strings.Join(append(installs, o.again(folders)), " && "), "%s", strings.Join(lines, "\n"))
}
