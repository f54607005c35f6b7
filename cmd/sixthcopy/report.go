package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/results/report"
	"github.com/sixthcopy/sixthcopy/results/store"
)

func reportCommand(p parts, c *console) *cobra.Command {
	var format string
	var normalised bool
	cmd := &cobra.Command{
		Use:   "report FILE",
		Short: "Report a stored run",
		Long: `report prints the tables of a stored run, with trials to look at. The JSON form
has every cell; it is sixthcopy/report/v1 (JSON Schema: sixthcopy schema --of
report). A normalised report has no times, machine or run ids; two runs with the
same seed and versions give the same bytes.`,
		Args: exactly(1, "the file of a run"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := oneOf("format", format, "text", "json"); err != nil {
				return err
			}
			s, err := store.Open(args[0])
			if err != nil {
				return badFile(err)
			}
			defer func() { err = errors.Join(err, s.Close()) }()
			r, err := p.reportOf(cmd.Context(), s, normalised)
			if err != nil {
				return err
			}
			if format == "json" {
				return r.JSON(c.out)
			}
			return r.Text(c.out, quoted(args))
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	cmd.Flags().BoolVar(&normalised, "normalised", false, "leave out what differs between two runs of the same seed")
	return cmd
}

// reportOf builds the report of a stored run.
func (p parts) reportOf(ctx context.Context, s *store.Store, normalised bool) (*report.Report, error) {
	m, err := s.Manifest()
	if err != nil {
		return nil, err
	}
	run := runOf(m)
	run.Normalised = normalised
	b := report.NewBuilder(run)
	var trials []bench.Graded
	err = s.Each(ctx, normalised, func(rec bench.Record) error { // to read a run is the dear part: once
		b.Add(rec)
		trials = append(trials, graded(rec))
		return nil
	})
	if err != nil {
		return nil, err
	}
	classes, notApplicable, err := p.grade(s, trials)
	if err != nil {
		return nil, fmt.Errorf("grading run %s: %w", s.Path(), err)
	}
	return b.Report(classes, notApplicable), nil
}

// runOf is a manifest as reports show it.
func runOf(m store.Manifest) report.Run {
	r := report.Run{ID: m.ID, Command: m.Command, Commit: m.Commit, Dirty: m.Dirty, Versions: m.Versions, Suite: m.Suite, Seed: m.Seed,
		Substrate: m.Substrate, PlanHash: m.PlanHash, Planned: m.Planned, Interrupted: m.Ended == nil, Seconds: m.Seconds,
		Machine: map[string]string{"os": m.Machine.OS, "arch": m.Machine.Arch, "cpus": strconv.Itoa(m.Machine.CPUs)}}
	if m.Machine.Kernel != "" {
		r.Machine["kernel"] = m.Machine.Kernel
	}
	if m.Machine.Memory > 0 {
		r.Machine["memory_bytes"] = strconv.FormatInt(m.Machine.Memory, 10)
	}
	if !m.Started.IsZero() {
		r.Started = m.Started.UTC().Format(time.RFC3339)
	}
	if m.Ended != nil {
		r.Ended = m.Ended.UTC().Format(time.RFC3339)
		if m.Seconds == 0 { // by a version that did not sum sessions
			r.Seconds = m.Ended.Sub(m.Started).Seconds()
		}
	}
	return r
}
