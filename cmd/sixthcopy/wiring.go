package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
	"github.com/sixthcopy/sixthcopy/fakeproviders/tools"
	"github.com/sixthcopy/sixthcopy/faults/balancer"
	"github.com/sixthcopy/sixthcopy/faults/links"
	"github.com/sixthcopy/sixthcopy/oracles"
	"github.com/sixthcopy/sixthcopy/systems"
	"github.com/sixthcopy/sixthcopy/systems/agent"
	"github.com/sixthcopy/sixthcopy/systems/drive"
	"github.com/sixthcopy/sixthcopy/workloads"
)

// This file puts the program together: it is the one place that knows all siblings.

const (
	agentChild      = "agent"       // the reference agent, as a child of itself
	driveChild      = "drive"       // the front of what is no adapter, likewise
	toolServerChild = "tool-server" // a tool server, likewise
)

func wiring() parts {
	return parts{
		children: map[string]func(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int{agentChild: agent.Main, driveChild: drive.Main, toolServerChild: tools.Main},
		systems: func(dir string) ([]thing, error) {
			all, err := knownSystems(dir)
			var list []thing
			for _, s := range all {
				is, wrong := readiness(s)
				err = errors.Join(err, wrong)
				list = append(list, thing{Name: s.Name(), Kind: s.Kind(), Summary: s.Summary(), State: is.String()})
			}
			return list, err
		},
		workloads: func() ([]thing, error) {
			all, err := workloads.Suite()
			var list []thing
			for _, w := range all {
				list = append(list, thing{Name: w.Name, Kind: w.Provider.Kind, Summary: w.Summary})
			}
			return list, err
		},
		providers: func() ([]thing, error) {
			var list []thing
			for _, k := range fakeproviders.All {
				list = append(list, thing{Name: k.Name(), Kind: "provider", Summary: k.Summary()})
			}
			return list, nil
		},
		contracts: func() ([]thing, error) {
			var list []thing
			for _, c := range contracts.All {
				list = append(list, thing{Name: c.Name, Kind: c.Provider, Summary: c.Summary})
			}
			slices.SortFunc(list, func(a, b thing) int { return strings.Compare(a.Name, b.Name) })
			return list, nil
		},
		schema:   func() ([]byte, error) { return workloads.Schema(workloads.Known()), nil },
		judge:    bench.Judge,
		grade:    grade,
		commands: []func(*console) *cobra.Command{checkCommand, initCommand, runCommand, provideCommand, setupCommand, gateCommand},
	}
}

// knownSystems are the reference policies and the systems with manifests in dir; "" is ./systems, where
// there is one.
func knownSystems(dir string) ([]bench.System, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("path of this program: %w", err)
	}
	all := systems.Reference(exe)
	if dir == "" {
		if found, _ := filepath.Glob("systems/*/system.yaml"); len(found) == 0 { // the pattern is well formed
			return all, nil
		}
		dir = "systems"
	}
	manifests, err := loadManifests(dir)
	if err != nil {
		return nil, err
	}
	for _, m := range manifests {
		if err := known(m); err != nil {
			return nil, err
		}
		more, err := m.Systems()
		if err != nil {
			return nil, &ending{misused, err, "docs/wire-contract.md says what a manifest may ask for"}
		}
		all = append(all, more...)
	}
	return all, nil
}

// loadManifests reads the systems of a folder, one at least.
func loadManifests(dir string) ([]systems.Manifest, error) {
	manifests, err := systems.Load(dir)
	var wrong *systems.Problems
	if errors.As(err, &wrong) {
		return nil, &ending{misused, err, "docs/wire-contract.md has the fields of a manifest"}
	}
	if _, there := os.Stat(filepath.Join(dir, "system.yaml")); there == nil && len(manifests) == 0 {
		return nil, usagef("--systems "+filepath.Dir(filepath.Clean(dir)), "--systems %s is the folder of one system: name the folder above it", dir)
	}
	if err == nil && len(manifests) == 0 {
		err = fmt.Errorf("systems: there is no %s", filepath.Join(dir, "*", "system.yaml"))
	}
	if err != nil {
		return nil, &ending{misused, err, "--systems names a folder with a folder for each system, and a system.yaml in each of these"}
	}
	return manifests, nil
}

// known checks that the providers and calls that a manifest names are there.
func known(m systems.Manifest) error {
	var kinds []string
	for _, k := range fakeproviders.All {
		kinds = append(kinds, k.Name())
	}
	for _, p := range m.Providers {
		if !slices.Contains(kinds, p) {
			err := unknown("provider", p, kinds)
			return &ending{misused, fmt.Errorf("%s: providers: %w", m.File, err), "`sixthcopy list providers` has them"}
		}
	}
	catalogue := tools.Catalogue()
	for _, t := range m.Tools {
		if catalogue[t] == nil {
			return &ending{misused, fmt.Errorf("%s: tools: %w", m.File, unknown("tool", t, slices.Sorted(maps.Keys(catalogue)))), "docs/tool-servers.md has them"}
		}
	}
	return nil
}

// world puts the parts together in which trials run. stop ends what it started.
func world() (w bench.World, stop func() error, err error) {
	exe, err := os.Executable()
	if err != nil {
		return w, nil, fmt.Errorf("path of this program: %w", err)
	}
	pool := tools.NewPool(exe, toolServerChild)
	readers := map[string]bench.Oracle{}
	for _, o := range oracles.All {
		readers[o.Kind()] = o
	}
	external := doors()
	w = bench.World{
		Providers: func(ctx context.Context, spec bench.ProviderSpec) (bench.Provider, error) {
			if spec.Kind == bench.KindExternal {
				return external.Raise(ctx, spec)
			}
			return fakeproviders.Raise(ctx, spec)
		},
		Oracles:     readers,
		Links:       links.New(),
		Balance:     func() (bench.Balancer, error) { return balancer.New() },
		ToolServers: pool,
		Tools:       tools.Catalogue(),
		Declare:     tools.Declare,
		ParseAgent:  tools.ParseAgentRequest,
		Told:        tools.Told,
	}
	return w, pool.Close, nil
}
