package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/results/report"
	"github.com/sixthcopy/sixthcopy/results/store"
)

// status is an exit status. Scripts rest on the numbers; testdata/status.txtar keeps them.
type status int

const (
	good         status = 0   // run: valid, controls as known, ledger at its bound
	violated     status = 1   // a violation of a system named with --system, or the gate's verdict, or a stale baseline
	misused      status = 2   // usage, or bad input
	inconclusive status = 3   // invalid or unjudged trials
	broken       status = 4   // the harness broke
	interrupted  status = 130 // stopped at a trial's edge; resumable
)

// ending is an error that says with which status the program ends and what to do about it. Any other
// error ends it with broken.
type ending struct {
	status status
	err    error
	hint   string // "" if there is nothing to say
}

func (e *ending) Error() string { return e.err.Error() }
func (e *ending) Unwrap() error { return e.err }

// usagef is an ending for bad usage and bad input.
func usagef(hint, format string, args ...any) error {
	return &ending{misused, fmt.Errorf(format, args...), hint}
}

// unknown says that there is no thing of that name, and names the nearest one.
func unknown(what, name string, known []string) error {
	hint := "known: " + strings.Join(known, ", ")
	if len(known) == 0 {
		hint = "there is none"
	}
	if near := nearest(name, known); near != "" {
		return usagef(hint, "unknown %s %q; did you mean %q?", what, name, near)
	}
	return usagef(hint, "unknown %s %q", what, name)
}

// nearest is the known name with the fewest edits to name, at most a third of its letters, and two at least;
// else the first that name is a part of, if it has three letters; else "".
func nearest(name string, known []string) string {
	best, fewest := "", max(2, len(name)/3)+1
	for _, k := range known {
		if d := edits(name, k); d < fewest {
			best, fewest = k, d
		}
	}
	if i := slices.IndexFunc(known, func(k string) bool { return strings.Contains(k, name) }); best == "" && i >= 0 && len(name) >= 3 {
		return known[i]
	}
	return best
}

// edits is the number of letters to insert, delete or replace to turn a into b (Levenshtein).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j]+1, row[j+1]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

// console is where a command reads and writes. Results go to out, everything else to err.
type console struct {
	in       io.Reader
	out, err io.Writer
}

// parts is what the commands need of the rest of the program. wiring puts it together.
type parts struct {
	// children are run instead of a command when the program executes itself: the reference agent, a
	// tool server. They get their own arguments unparsed.
	children map[string]func(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int

	systems   func(dir string) ([]thing, error) // dir: more systems; "" is ./systems where it is there
	workloads func() ([]thing, error)
	providers func() ([]thing, error)
	contracts func() ([]thing, error)
	schema    func() ([]byte, error) // JSON Schema of workload files

	judge func(bench.Evidence) bench.Judged
	// grade adds what needs other trials than the one judged: it returns the run's classes and what the
	// plan left out.
	grade func(s *store.Store, trials []bench.Graded) ([]report.Class, []report.NotApplicable, error)

	commands []func(*console) *cobra.Command // commands with files of their own: run, provide
}

// sixthcopy runs one command and returns its exit status. An interrupt cancels the command's context;
// a second one ends the program at once.
func sixthcopy(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	return execute(ctx, wiring(), args, &console{in, out, errw})
}

func execute(ctx context.Context, p parts, args []string, c *console) int {
	if len(args) > 0 {
		if child, ok := p.children[args[0]]; ok {
			return child(ctx, args[1:], c.in, c.out, c.err)
		}
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	root := rootCommand(p, c)
	root.SetArgs(args)
	return int(c.end(root.ExecuteContext(ctx)))
}

// end prints what went wrong, if anything did, and returns the status.
func (c *console) end(err error) status {
	if err == nil {
		return good
	}
	e := &ending{status: broken, err: err}
	switch {
	case errors.As(err, &e):
	case errors.Is(err, context.Canceled):
		e = &ending{status: interrupted, err: errors.New("interrupted")}
	}
	for line := range strings.Lines(e.Error()) {
		fmt.Fprintf(c.err, "sixthcopy: error: %s\n", strings.TrimRight(line, "\n"))
	}
	if e.hint != "" {
		fmt.Fprintf(c.err, "sixthcopy: hint: %s\n", e.hint)
	}
	return e.status
}

func rootCommand(p parts, c *console) *cobra.Command {
	root := &cobra.Command{
		Use:   "sixthcopy",
		Short: "Loses acknowledgements on purpose and counts what then exists outside",
		Long: `sixthcopy drives a system that retries through the moments in which nobody can
know whether a call happened, and then counts what really exists in the outside
world.

Exit status: 0 good, 1 a violation of a named system, 2 usage or bad input, 3
inconclusive (invalid or unjudged trials, a control not as known, a system that
broke off without a fault), 4 the harness broke, 130 interrupted (resumable).`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(*cobra.Command, []string) error { return nil },
	}
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages ", "Flags.FlagUsagesWrapped 80 "))
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, err) })
	root.AddCommand(listCommand(p, c), schemaCommand(p, c), showCommand(c), judgeCommand(p, c), reportCommand(p, c))
	for _, make := range p.commands {
		root.AddCommand(make(c))
	}
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("`sixthcopy --help` lists the commands", "no command given")
		}
		var names []string
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
		return unknown("command", args[0], names)
	}
	return root
}

// version is what the build knows of the source that it was made of.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && v == "(devel)":
			v += " " + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true" && !strings.Contains(v, "dirty"):
			v += " (dirty)"
		}
	}
	return v
}

// flagError names the nearest flag of the command.
func flagError(cmd *cobra.Command, err error) error {
	hint := fmt.Sprintf("`%s --help` lists the flags", cmd.CommandPath())
	name, found := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !found {
		return usagef(hint, "%w", err)
	}
	if near := nearest(name, flagNames(cmd)); near != "" {
		return usagef(hint, "unknown flag --%s; did you mean --%s?", name, near)
	}
	return usagef(hint, "unknown flag --%s", name)
}

// exactly is cobra.ExactArgs with a message that says what is expected.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return usagef("usage: "+cmd.UseLine(), "%s takes %s, got %d arguments", cmd.CommandPath(), what, len(args))
	}
}

// oneOf checks a flag whose values are few.
func oneOf(flag, value string, known ...string) error {
	for _, k := range known {
		if value == k {
			return nil
		}
	}
	return unknown("value of --"+flag, value, known)
}
