package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sixthcopy/sixthcopy/results/gate"
	"github.com/sixthcopy/sixthcopy/results/report"
	"github.com/sixthcopy/sixthcopy/results/store"
)

func gateCommand(c *console) *cobra.Command {
	o := runOptions{repeat: 1}
	var file string
	cmd := &cobra.Command{
		Use:   "gate [RUN]",
		Short: "Hold systems against limits: for CI",
		Long: `gate runs the systems that a policy names (gate.yaml), or takes a stored run, and
holds each of their cells against the policy's limits. For a cell that is over it
says who made it, what the caller had been told, which line of configuration it
was, what the other variants of the system came to, and how to see the trial.

Exit status: 0 within the limits, 1 over one, 2 bad policy or usage, 3 the run
proves nothing (invalid trials, a control not as known).`,
		Example: `  sixthcopy gate
  sixthcopy gate --policy ci/gate.yaml --systems ci/systems
  sixthcopy gate results/runs/nightly.db`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exactly(1, "the file of a run, or nothing")(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := os.ReadFile(file)
			if err != nil {
				return &ending{misused, fmt.Errorf("policy: %w", err), "`sixthcopy init gate` writes one; --policy names another file"}
			}
			p, err := gate.Parse(file, text)
			if err != nil {
				return &ending{misused, err, "docs/gate.md has the fields"}
			}
			o.systems, o.suite, o.workloads, o.contract = slices.Concat(p.Systems, p.Beside), p.Suite, p.Workloads, p.Contract
			if len(args) == 1 {
				return gateStored(cmd.Context(), c, o, p, args[0])
			}
			o.ends = func(r *report.Report, s *store.Store) error { return o.gated(c, r, s, p) }
			return run(cmd.Context(), c, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&file, "policy", "gate.yaml", "file with the limits")
	f.StringVar(&o.dir, "systems", "", "folder with the systems (default: ./systems)")
	f.IntVar(&o.parallel, "parallel", 2*runtime.NumCPU(), "trials at a time")
	f.Int64Var(&o.seed, "seed", 1, "seed of the ids that trials mint")
	f.StringVar(&o.out, "out", "", "file of the run (default: a new one in "+store.Folder+")")
	f.BoolVar(&o.resume, "resume", false, "go on with the run in --out")
	return cmd
}

// gateStored holds a stored run against a policy.
func gateStored(ctx context.Context, c *console, o runOptions, p gate.Policy, file string) (err error) {
	s, err := store.Open(file)
	if err != nil {
		return badFile(err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r, err := wiring().reportOf(ctx, s, false)
	if err != nil {
		return err
	}
	if r.Run.Interrupted {
		return &ending{inconclusive, fmt.Errorf("%s is not whole: it was interrupted", file), "go on with it by `sixthcopy run --resume`, then gate it"}
	}
	return o.gated(c, r, s, p)
}

// gated is the gate's verdict on a run.
func (o runOptions) gated(c *console, r *report.Report, s *store.Store, p gate.Policy) error {
	var off *ending
	if err := o.verdict(r, s.Path()); errors.As(err, &off) && off.status == inconclusive {
		return err
	}
	if unseen := gate.Unseen(r, p); len(unseen) > 0 {
		return &ending{inconclusive, fmt.Errorf("the policy names what the systems have no trial of in %s: %s", s.Path(), strings.Join(unseen, ", ")),
			"the policy's suite and workloads must have calls that its systems can make"}
	}
	var plan storedPlan
	if err := s.Plan(&plan); err != nil {
		return err
	}
	looked, over := gate.Check(r, p)
	if err := gate.Text(c.out, over, plan.Says, "sixthcopy show %s --run "+quoted([]string{s.Path()})); err != nil {
		return err
	}
	if len(over) > 0 {
		return &ending{violated, fmt.Errorf("%d of %d cells are over a limit", len(over), looked), "each names the trial that tells its story"}
	}
	fmt.Fprintf(c.out, "Within the limits: %d cells of %d systems.\n", looked, len(p.Systems))
	return nil
}
