package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/systems"
	"github.com/sixthcopy/sixthcopy/systems/check"
)

// checkOptions are the flags of check-system.
type checkOptions struct {
	variant  string
	lines    bool
	patience time.Duration
}

func checkCommand(c *console) *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check-system DIR",
		Short: "Hold an adapter against the wire contract, without a run",
		Long: `check-system raises the system of a folder by its system.yaml, hands it a fixed
series of orders, and checks each word that comes back: what the wire contract
says (docs/wire-contract.md), and what the manifest says of it. A line a check,
in order; under a broken one stand the line that was sent, the line that came,
what was expected and what to do.

Exit status: 0 nothing is broken, 1 the contract is broken, 2 it cannot be
tried.`,
		Example: `  sixthcopy check-system systems/mine
  sixthcopy check-system systems/mine --variant tuned --lines`,
		Args: exactly(1, "the folder of a system"),
		RunE: func(cmd *cobra.Command, args []string) error { return checkSystem(cmd.Context(), c, o, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&o.variant, "variant", "", "check this variant only (default: all)")
	f.BoolVar(&o.lines, "lines", false, "print all that went over in each check: > sent, < came, - a call of the system")
	f.DurationVar(&o.patience, "patience", 15*time.Second, "real time without a word or a call after which something is missing")
	return cmd
}

// checkSystem holds the system of a folder, in all its variants, against the contract.
func checkSystem(ctx context.Context, c *console, o checkOptions, dir string) error {
	if o.patience < time.Millisecond {
		return usagef("15s, for example", "--patience is %s, expected a time above zero", o.patience)
	}
	m, all, err := systemOf(dir, o.variant)
	if err != nil {
		return err
	}
	_ = systems.Subreap() // where it may not, an orphan of the system is killed all the same, but not found
	w, stop, err := world()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	trials, leave, err := trialDir(fastDir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	raise, err := places(w, m)
	if err != nil {
		return err
	}
	broken := 0
	for _, s := range all {
		fmt.Fprintf(c.out, "%s: %s, held against the wire contract, version %d\n", s.Name(), m.File, bench.WireVersion)
		n := 0
		results, err := check.Check(ctx, check.Config{System: s, Manifest: m, Raise: raise, Dir: trials, Quiet: o.patience,
			Ack: min(o.patience, systems.Patience), Own: isToolServer, Each: func(r check.Result) { n++; tellResult(c, n, r, o.lines) }})
		var own *bench.SystemError
		if errors.As(err, &own) {
			return &ending{misused, err, "look at `command` and `setup` in " + m.File}
		}
		if err != nil {
			return err
		}
		bad := 0
		for _, r := range results {
			if r.Tag == check.Broken {
				bad++
			}
		}
		broken += bad
		fmt.Fprintf(c.out, "%s: %s\n\n", s.Name(), sumUp(results, bad))
	}
	if broken > 0 {
		return &ending{violated, fmt.Errorf("%s breaks the wire contract in %d checks", m.Name, broken),
			"docs/wire-contract.md; " + quoted([]string{"sixthcopy", "check-system", dir, "--lines"}) + " prints all that went over"}
	}
	return nil
}

// sumUp is the last line on a system.
func sumUp(results []check.Result, bad int) string {
	count := map[check.Tag]int{}
	for _, r := range results {
		count[r.Tag]++
	}
	text := fmt.Sprintf("%d checks hold", count[check.OK]+count[check.Note])
	if bad > 0 {
		text += fmt.Sprintf(", %d broken", bad)
	}
	if n := count[check.Skipped]; n > 0 {
		text += fmt.Sprintf(", %d do not apply", n)
	}
	if last := results[len(results)-1]; last.Tag == check.Broken && (last.Name == "start" || last.Name == "turn") {
		text += "; the others rest on this one and were not tried"
	}
	return text
}

// tellResult prints one line a check, and under a broken one how.
func tellResult(c *console, n int, r check.Result, lines bool) {
	fmt.Fprintf(c.out, "%3d %-7s %-22s %s\n", n, r.Tag, r.Name, r.Says)
	if r.Tag == check.Broken {
		for line := range strings.Lines(r.Break.String()) {
			fmt.Fprint(c.out, "            ", line)
		}
	} else if r.Tag == check.Note && r.Do != "" {
		fmt.Fprintf(c.out, "            do        %s\n", r.Do)
	}
	if lines {
		for _, line := range r.Lines {
			fmt.Fprintf(c.out, "      %s\n", line)
		}
	}
}

// systemOf reads the manifest of a folder and returns its systems: all variants, or the one that was asked for.
func systemOf(dir, variant string) (m systems.Manifest, all []*systems.System, err error) {
	file := filepath.Join(dir, "system.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		hint := "DIR is a folder with a system.yaml; `sixthcopy init system DIR` writes one"
		if below, _ := filepath.Glob(filepath.Join(dir, "*", "system.yaml")); len(below) > 0 { // a folder's name can hold no bad pattern that matches
			hint = "name one of the folders in it: " + quoted([]string{"sixthcopy", "check-system", filepath.Dir(below[0])})
		}
		return m, nil, usagef(hint, "manifest: %w", err)
	}
	if m, err = systems.ParseManifest(file, text); err != nil {
		return m, nil, &ending{misused, err, "docs/wire-contract.md has the fields of a manifest"}
	}
	if err := known(m); err != nil {
		return m, nil, err
	}
	is, err := m.Readiness()
	if err != nil {
		return m, nil, &ending{misused, err, ""}
	}
	if !is.Ready() {
		hint := quoted([]string{"sixthcopy", "setup", m.Name, "--systems", filepath.Dir(filepath.Clean(dir))})
		return m, nil, usagef(hint, "%s cannot be tried: %s", m.Name, is)
	}
	found, err := m.Systems()
	if err != nil {
		return m, nil, &ending{misused, err, "docs/wire-contract.md says what a manifest may ask for"}
	}
	var names []string
	for _, s := range found {
		name := strings.TrimPrefix(strings.TrimPrefix(s.Name(), m.Name), "/")
		names = append(names, name)
		if own, ok := s.(*systems.System); ok && (variant == "" || variant == name) {
			all = append(all, own)
		}
	}
	if len(all) == 0 {
		if slices.Equal(names, []string{""}) {
			names = nil
		}
		return m, nil, unknown("variant", variant, names)
	}
	return m, all, nil
}

// isToolServer tells the tool servers of this program from what a system may leave behind.
func isToolServer(command []string) bool {
	exe, err := os.Executable()
	return err == nil && len(command) == 2 && command[0] == exe && command[1] == toolServerChild
}
