package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/results/report"
	"github.com/sixthcopy/sixthcopy/results/store"
	"github.com/sixthcopy/sixthcopy/systems"
)

// runOptions are the flags of run.
type runOptions struct {
	suite, contract                string
	systems, workloads, boundaries []string
	hosts                          []string // beyond loopback that an external provider may be at
	repeat, parallel               int
	seed                           int64
	out, dir                       string
	resume                         bool
	ends                           func(*report.Report, *store.Store) error // what its report is held against; nil: printed
}

// alongside run in every suite beside the systems that are named: the controls, without which a run proves
// nothing, and the reference, whose marks prove the bounds.
var alongside = []string{"blind", "dedupe-everything", "do-nothing", "native-token", "ledger"}

// quickSystems are the policies of the quick suite.
var quickSystems = []string{"blind", "never", "native-token", "ledger", "do-nothing", "dedupe-everything"}

// trialDeadline bounds each wait for a fact in a trial. It orders nothing.
const trialDeadline = 15 * time.Second

func runCommand(c *console) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Drive systems through the boundaries and count what then exists",
		Long: `run drives real processes through the boundaries and judges them by external
state.

The suites: quick is one variant of each boundary with its mirror, on six
policies; core is one variant of each boundary, class and truth, on all
policies; providers is the same on the workloads at real providers' wires; full
is every variant of all. With --contract the providers keep another contract, or
break it. Interrupted at a trial's edge, a run goes on
with --resume and the same --out.`,
		Example: `  sixthcopy run
  sixthcopy run --suite core --system ledger --workload refund
  sixthcopy run --boundary crash-restart --workload ./my-workload.yaml
  sixthcopy run --workload refund --contract stripe-v1-forgets-early`,
		Args: func(cmd *cobra.Command, args []string) error { return exactly(0, "no arguments")(cmd, args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), c, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.suite, "suite", "quick", "quick, core, providers or full")
	f.StringArrayVar(&o.systems, "system", nil, "a system by name; may be repeated; controls and the reference run beside it (default: the policies of the suite)")
	f.StringArrayVar(&o.workloads, "workload", nil, "a workload by name or by file; may be repeated (default: the suite)")
	f.StringVar(&o.contract, "contract", "", "contract that the providers keep instead of each workload's own (sixthcopy list contracts); workloads at other providers are left out")
	f.StringArrayVar(&o.boundaries, "boundary", nil, "a boundary by name; may be repeated (default: all)")
	f.IntVar(&o.repeat, "repeat", 1, "trials of each cell")
	f.Int64Var(&o.seed, "seed", 1, "seed of the ids that trials mint")
	f.IntVar(&o.parallel, "parallel", 2*runtime.NumCPU(), "trials at a time")
	f.StringVar(&o.out, "out", "", "file of the run (default: a new one in "+store.Folder+")")
	f.BoolVar(&o.resume, "resume", false, "go on with the run in --out")
	f.StringArrayVar(&o.hosts, "allow-host", nil, "a host beyond this machine that an external provider may be at, by name; may be repeated ("+externalPage+")")
	f.StringVar(&o.dir, "systems", "", "folder with more systems (default: ./systems)")
	return cmd
}

// run carries out a run:
//  1. check everything that was asked for;  2. plan;  3. raise the world and open the run's file;  4. run what
//     is not done yet;  5. read every 50th trial's state again;  6. report, and say how it went.
func run(ctx context.Context, c *console, o runOptions) (err error) {
	spec, chosen, err := o.spec()
	if err != nil {
		return err
	}
	plan, err := bench.MakePlan(spec)
	if err != nil {
		return usagef("sixthcopy list workloads", "%w", err)
	}
	if len(plan.Trials) == 0 {
		return usagef("sixthcopy run --help", "nothing to run: no trial fits what was asked for")
	}
	if err := readyExternal(ctx, spec.Workloads, o.hosts); err != nil {
		return err
	}
	_ = systems.Subreap() // where it may not, a system's orphans are killed all the same, but not awaited
	w, stop, err := world()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	defer func() { err = errors.Join(err, closeAll(chosen)) }()
	dir, leave, err := trialDir(fastDir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	s, todo, stored, err := o.open(ctx, plan, says(chosen))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a heap of some megabytes: collecting it less often is cheaper
	runner := &bench.Runner{World: w, Dir: dir, Deadline: trialDeadline, Replicas: 2, Word: trialWord()}
	bar := newProgress(c.err, len(plan.Trials), stored, time.Now)
	began := time.Now()
	ran := runner.RunAll(ctx, todo, chosen, o.parallel, func(rec bench.Record) error {
		if err := s.SaveEvidence(rec); err != nil {
			return err
		}
		judged := bench.Judge(rec.Evidence)
		bar.add(judged.Verdict)
		return s.SaveVerdict(rec.Trial.ID, judged)
	})
	bar.end()
	if ran != nil && !errors.Is(ran, context.Canceled) {
		return &ending{broken, ran, "what was stored before is kept; when this is mended, go on: " + o.again(os.Args, s.Path())}
	}
	read, late, err := runner.Late(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	m, err := s.Manifest()
	if err != nil {
		return err
	}
	if m.Ended == nil { // what had ended before keeps its figures
		m.Reread, m.Late, m.Seconds = m.Reread+read, m.Late+late, m.Seconds+time.Since(began).Seconds()
	}
	if ran != nil {
		return errors.Join(&ending{interrupted, errors.New("interrupted at a trial's edge; what was done is kept in " + s.Path()),
			"to go on: " + o.again(os.Args, s.Path())}, s.SetManifest(m))
	}
	return o.finish(context.WithoutCancel(ctx), c, s, m)
}

// says are the systems' lines of configuration.
func says(chosen map[string]bench.System) map[string]string {
	out := map[string]string{}
	for name, s := range chosen {
		if text := s.Says(); text != "" {
			out[name] = text
		}
	}
	return out
}

// open makes or reopens the run's file and returns the trials that are not in it yet, and the verdicts of
// those that are.
func (o runOptions) open(ctx context.Context, plan bench.Plan, says map[string]string) (*store.Store, []bench.Trial, []bench.Verdict, error) {
	hash := planHash(plan)
	if o.resume {
		s, err := store.Resume(o.out)
		if err != nil {
			return nil, nil, nil, badFile(err)
		}
		m, err := s.Manifest()
		if err != nil {
			return nil, nil, nil, errors.Join(err, s.Close())
		}
		if m.PlanHash != hash {
			return nil, nil, nil, errors.Join(usagef("the command of the run was: "+quoted(m.Command),
				"%s holds another plan than this command makes: give the flags that it was begun with", o.out), s.Close())
		}
		done, err := s.Done()
		if err != nil {
			return nil, nil, nil, errors.Join(err, s.Close())
		}
		var todo []bench.Trial
		for _, t := range plan.Trials {
			if !done[t.ID] {
				todo = append(todo, t)
			}
		}
		if m.Ended == nil {
			m.Resumed++
			if err := s.SetManifest(m); err != nil {
				return nil, nil, nil, errors.Join(err, s.Close())
			}
		}
		var stored []bench.Verdict
		_, err = s.Rejudge(ctx, func(e bench.Evidence) bench.Judged { // a verdict may have been lost between its evidence and itself
			j := bench.Judge(e)
			stored = append(stored, j.Verdict)
			return j
		})
		if err != nil {
			return nil, nil, nil, errors.Join(err, s.Close())
		}
		return s, todo, stored, nil
	}
	started := time.Now()
	path := o.out
	if path == "" {
		path = store.DefaultPath(store.Folder, started, o.suite)
	}
	commit, dirty := store.Commit(ctx)
	m := store.Manifest{ID: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Started: started, Command: os.Args,
		Commit: commit, Dirty: dirty, Suite: o.suite, Seed: o.seed, Repeat: o.repeat, Parallel: o.parallel, Substrate: "process",
		PlanHash: hash, Planned: len(plan.Trials), Versions: store.Versions(), Machine: store.Here()}
	s, err := store.Create(path, m)
	if errors.Is(err, store.ErrThere) {
		return nil, nil, nil, usagef("name another with --out, or go on with it with --resume", "%w", err)
	}
	if err != nil {
		return nil, nil, nil, &ending{broken, err, "--out names a file in a folder that can be written to"}
	}
	stored := storedPlan{Classes: plan.Classes, NotApplicable: plan.NotApplicable, Says: says}
	if err := s.SetPlan(stored); err != nil {
		return nil, nil, nil, errors.Join(err, s.Close())
	}
	return s, plan.Trials, nil, nil
}

// planHash is a hash of the ids of all planned trials.
func planHash(p bench.Plan) string {
	var ids []string
	for _, t := range p.Trials {
		ids = append(ids, t.ID)
	}
	sum := sha256.Sum256([]byte(strings.Join(ids, "\n")))
	return hex.EncodeToString(sum[:16])
}

// again is the command line, for a shell, that goes on with the run that args began.
func (o runOptions) again(args []string, path string) string {
	args = slices.Clone(args)
	if strings.Contains(args[0], "/go-build") { // by go run, which removes what it has built
		args = append([]string{"go", "run", "./cmd/sixthcopy"}, args[1:]...)
	}
	if o.out == "" {
		args = append(args, "--out", path)
	}
	if !o.resume {
		args = append(args, "--resume")
	}
	return quoted(args)
}

// quoted is a command line as a POSIX shell reads it.
func quoted(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = a
		if !plainWord.MatchString(a) {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// finish closes the run's books, prints its report and says how it went.
func (o runOptions) finish(ctx context.Context, c *console, s *store.Store, m store.Manifest) error {
	if m.Ended == nil {
		ended := time.Now()
		m.Ended = &ended
		if err := s.SetManifest(m); err != nil {
			return err
		}
	}
	if err := s.Flush(); err != nil {
		return err
	}
	p := wiring()
	r, err := p.reportOf(ctx, s, false)
	if err != nil {
		return err
	}
	if o.ends != nil {
		return o.ends(r, s)
	}
	if err := r.Text(c.out, quoted([]string{s.Path()})); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "Read again at the end: %d trials, %d late effects\n", m.Reread, m.Late)
	return o.verdict(r, s.Path())
}

// verdict is the run's ending.
func (o runOptions) verdict(r *report.Report, path string) error {
	invalid, violations, faulty := 0, 0, 0
	show := map[bool]string{} // the first trial to look at, of the invalid ones and of the violations
	for _, c := range r.Cells {
		if n := c.Invalid + c.Unjudged; n > 0 {
			invalid += n
			show[true] = cmp.Or(show[true], c.Trial)
		}
		if c.Violation > 0 && slices.Contains(o.systems, c.System) {
			violations += c.Violation
			if c.ProviderFault {
				faulty += c.Violation
			}
			show[false] = cmp.Or(show[false], c.Trial)
		}
	}
	tells := quoted([]string{"sixthcopy", "show", show[invalid > 0], "--run", path}) + " tells the first of them"
	var off *ending // a system that cannot do its work without a fault shows nothing about faults
	for _, b := range r.BrokenOff {
		if b.InControl > 0 && off == nil {
			off = &ending{inconclusive, fmt.Errorf("%s broke off in %d trials, %d of them without a fault: it %s: %s",
				b.System, b.Trials, b.InControl, b.Reason, strings.Join(strings.Fields(b.Detail), " ")),
				quoted([]string{"sixthcopy", "show", b.Trial, "--run", path}) + " tells the first of them"}
		}
	}
	missed := 0
	for _, cl := range r.Classes {
		if cl.Regret != nil && (*cl.Regret < 0 || cl.System == "ledger" && *cl.Regret > 0 && cl.LedgerOwes) {
			missed++
		}
	}
	switch {
	case invalid > 0:
		return &ending{inconclusive, fmt.Errorf("%d trials are invalid or unjudged: they prove nothing", invalid), tells}
	case !r.ControlsOK:
		return &ending{inconclusive, errors.New("a control did not come out as known: the run proves nothing"), "the table of controls says which"}
	case missed > 0:
		return &ending{inconclusive, fmt.Errorf("%d classes have a bound that the ledger missed or that a system beat", missed), "the table of regret says which"}
	case off != nil:
		return off
	case violations > 0:
		said := fmt.Sprintf("%d trials of the named systems are violations", violations)
		if faulty > 0 {
			said += fmt.Sprintf(", %d of them at a provider that breaks its promise", faulty)
		}
		return &ending{violated, errors.New(said), tells}
	}
	return nil
}

// closeAll ends the processes that systems keep for their next trial.
func closeAll(chosen map[string]bench.System) error {
	var err error
	for _, s := range chosen {
		if c, ok := s.(interface{ Close() error }); ok {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}
