package main

// This file turns the flags of run into what is to be planned: workloads, contracts, systems, boundaries.

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
	"github.com/sixthcopy/sixthcopy/fakeproviders/tools"
	"github.com/sixthcopy/sixthcopy/faults"
	"github.com/sixthcopy/sixthcopy/workloads"
)

// spec checks the flags and gathers what is to be planned, and the systems by name.
func (o runOptions) spec() (bench.PlanSpec, map[string]bench.System, error) {
	var spec bench.PlanSpec
	if err := errors.Join(oneOf("suite", o.suite, "quick", "core", "providers", "full")); err != nil {
		return spec, nil, err
	}
	if o.repeat < 1 || o.parallel < 1 {
		return spec, nil, usagef("both are whole numbers from 1", "--repeat is %d and --parallel %d, expected at least 1", o.repeat, o.parallel)
	}
	if o.resume && o.out == "" {
		return spec, nil, usagef("sixthcopy run --resume --out FILE", "--resume needs the file of the run to go on with")
	}
	spec = bench.PlanSpec{Suite: bench.Suite(o.suite), Contracts: map[string]bench.Contract{}, Faults: faults.All(),
		Repeat: o.repeat, Seed: o.seed}
	for _, c := range contracts.All {
		spec.Contracts[c.Name] = c
	}
	for _, name := range o.boundaries {
		if !slices.Contains(bench.Boundaries, bench.Boundary(name)) {
			return spec, nil, unknown("boundary", name, boundaryNames())
		}
		spec.Boundaries = append(spec.Boundaries, bench.Boundary(name))
	}
	var err error
	if spec.Workloads, err = o.chooseWorkloads(); err != nil {
		return spec, nil, err
	}
	if spec.Workloads, err = o.underContract(spec.Workloads); err != nil {
		return spec, nil, err
	}
	chosen, err := o.chooseSystems()
	if err != nil {
		return spec, nil, err
	}
	if err := refuseUnready(chosen, o.dir); err != nil {
		return spec, nil, err
	}
	byName := map[string]bench.System{}
	for _, s := range chosen {
		byName[s.Name()] = s
		facts := bench.SystemFacts{Name: s.Name(), Kind: s.Kind(), Clock: s.Clock()}
		facts.Providers, facts.Tools = s.Calls()
		for _, ability := range abilities {
			if s.Can(ability) {
				facts.Can = append(facts.Can, ability)
			}
		}
		spec.Systems = append(spec.Systems, facts)
	}
	spec.Tools, spec.Declare = tools.Catalogue(), tools.Declare
	for _, w := range spec.Workloads {
		if w.Provider.External != nil {
			spec.Contracts[w.Provider.Contract] = declaredContract(w)
		}
	}
	return spec, byName, nil
}

// abilities are those that a fault may need.
var abilities = []string{"repair", "cancel", "decide", "clock", "at", "timeout"}

func boundaryNames() []string {
	var names []string
	for _, b := range bench.Boundaries {
		names = append(names, string(b))
	}
	return names
}

func (o runOptions) chooseWorkloads() ([]bench.Workload, error) {
	if len(o.workloads) == 0 {
		switch bench.Suite(o.suite) {
		case bench.SuiteProviders:
			return workloads.Providers()
		case bench.SuiteFull:
			return workloads.Suite()
		}
		return workloads.Core()
	}
	suite, err := workloads.Suite()
	if err != nil {
		return nil, err
	}
	var chosen []bench.Workload
	for _, name := range o.workloads {
		i := slices.IndexFunc(suite, func(w bench.Workload) bool { return w.Name == name })
		if i >= 0 {
			chosen = append(chosen, suite[i])
			continue
		}
		if !strings.ContainsAny(name, "/.") {
			var names []string
			for _, w := range suite {
				names = append(names, w.Name)
			}
			if _, err := os.Stat(name + ".yaml"); err == nil {
				return nil, usagef("a workload of your own is named by its file, with its ending", "unknown workload %q; did you mean %q?", name, "./"+name+".yaml")
			}
			return nil, unknown("workload", name, names)
		}
		w, err := workloads.LoadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &ending{misused, err, "name a file that exists, or one that `sixthcopy list workloads` has"}
		}
		if err != nil {
			return nil, &ending{misused, err, "docs/workloads.md has the format"}
		}
		chosen = append(chosen, w)
	}
	return chosen, nil
}

// underContract puts --contract in the place of the contracts of the workloads at its provider.
func (o runOptions) underContract(all []bench.Workload) ([]bench.Workload, error) {
	if o.contract == "" {
		return all, nil
	}
	c, ok := contracts.Find(o.contract)
	if !ok {
		var names []string
		for _, c := range contracts.All {
			names = append(names, c.Name)
		}
		return nil, unknown("contract", o.contract, names)
	}
	var fit []bench.Workload
	guarded := ""
	for _, w := range all {
		own, _ := contracts.Find(w.Provider.Contract) // the loader knows no others
		switch {
		case w.Provider.Kind != c.Provider:
		case !sameNature(w, own.Advertised, c.Advertised):
			guarded = w.Name
		default:
			w.Provider.Contract = c.Name
			fit = append(fit, w)
		}
	}
	switch {
	case len(fit) == 0 && guarded != "":
		return nil, usagef("docs/contracts.md, column natural, has the contracts that fit", "workload %s is at provider %s, but its call is guarded by nature (a name, a condition, a PUT) otherwise than contract %s says", guarded, c.Provider, c.Name)
	case len(fit) == 0:
		return nil, usagef("sixthcopy list workloads", "no workload that was asked for is at provider %s, which contract %s is for", c.Provider, c.Name)
	}
	return fit, nil
}

// sameNature tells whether two contracts say the same of what guards the effects of a workload without a key:
// that lies in the call, which --contract does not change.
func sameNature(w bench.Workload, a, b bench.Terms) bool {
	for _, turn := range w.Turns {
		for _, in := range turn.Intents {
			for _, s := range in.Slots {
				if !slices.Equal(a.Unique[s.Class], b.Unique[s.Class]) {
					return false
				}
			}
		}
	}
	return a.NaturallyIdempotent == b.NaturallyIdempotent
}

func (o runOptions) chooseSystems() ([]bench.System, error) {
	all, err := knownSystems(o.dir)
	if err != nil {
		return nil, err
	}
	wanted := o.systems
	if len(wanted) > 0 {
		wanted = append(slices.Clone(wanted), alongside...)
	} else if o.suite == string(bench.SuiteQuick) {
		wanted = quickSystems
	}
	var chosen []bench.System
	if len(wanted) == 0 {
		for _, s := range all {
			if s.Kind() == "policy" || s.Kind() == "ledger" {
				chosen = append(chosen, s)
			}
		}
		return chosen, nil
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Name())
	}
	for _, name := range wanted {
		i := slices.Index(names, name)
		if i < 0 {
			err := unknown("system", name, names)
			var e *ending
			if o.dir == "" && errors.As(err, &e) {
				e.hint += "; --systems DIR names a folder with more (default: ./systems)"
			}
			return nil, err
		}
		if !slices.Contains(chosen, all[i]) {
			chosen = append(chosen, all[i])
		}
	}
	return chosen, nil
}
