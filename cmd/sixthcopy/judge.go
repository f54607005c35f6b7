package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sixthcopy/sixthcopy/results/store"
)

func judgeCommand(p parts, c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "judge FILE",
		Short: "Judge a stored run again from its evidence",
		Long: `judge reads the evidence of every trial of a stored run, judges it by the rules
of this version, and replaces the verdicts that come out otherwise. It names the
trials whose verdict changed. Evidence is never changed.`,
		Args: exactly(1, "the file of a run"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			s, err := store.Resume(args[0])
			if err != nil {
				return badFile(err)
			}
			defer func() { err = errors.Join(err, s.Close()) }()
			changes, err := s.Rejudge(cmd.Context(), p.judge)
			if err != nil {
				return err
			}
			for _, ch := range changes.Verdicts {
				fmt.Fprintf(c.out, "%s  %s -> %s\n", ch.Trial, ch.Before, ch.After)
			}
			fmt.Fprintf(c.out, "%d trials judged, %d verdicts changed, %d changed in detail only\n",
				changes.Judged, len(changes.Verdicts), changes.Details)
			return nil
		},
	}
}

// badFile is an ending for a run file that cannot be read.
func badFile(err error) error {
	return &ending{misused, err, "runs lie in " + store.Folder + " unless --out said otherwise"}
}
