package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Change is a trial whose verdict came out otherwise than before.
type Change struct {
	Trial  string
	Before bench.Verdict // Unjudged if there was none
	After  bench.Verdict
}

// Changes is what Rejudge found.
type Changes struct {
	Judged   int      // trials judged
	Verdicts []Change // those with another verdict, ordered by unique key
	Details  int      // those with the same verdict and something else about it
}

// Rejudge judges every stored trial again from its evidence and replaces the verdicts that came out
// otherwise. Evidence is only read.
func (s *Store) Rejudge(ctx context.Context, judge func(bench.Evidence) bench.Judged) (Changes, error) {
	var c Changes
	type mended struct {
		id   string
		now  bench.Judged
		body []byte
	}
	var again []mended
	err := s.Each(ctx, false, func(rec bench.Record) error {
		now := judge(rec.Evidence)
		c.Judged++
		before, err := json.Marshal(rec.Judged)
		if err != nil {
			return fmt.Errorf("verdict of trial %s: %w", rec.Trial.ID, err)
		}
		after, err := json.Marshal(now)
		if err != nil {
			return fmt.Errorf("verdict of trial %s: %w", rec.Trial.ID, err)
		}
		if string(before) == string(after) {
			return nil
		}
		if now.Verdict != rec.Judged.Verdict {
			c.Verdicts = append(c.Verdicts, Change{rec.Trial.ID, rec.Judged.Verdict, now.Verdict})
		} else {
			c.Details++
		}
		again = append(again, mended{rec.Trial.ID, now, after})
		return nil
	})
	if err != nil {
		return c, err
	}
	return c, s.do(func(tx *sql.Tx) error {
		for _, m := range again {
			if err := saveVerdict(tx, m.id, m.now, m.body); err != nil {
				return err
			}
		}
		return nil
	})
}
