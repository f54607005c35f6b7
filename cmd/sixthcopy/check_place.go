package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
	"github.com/sixthcopy/sixthcopy/systems"
	"github.com/sixthcopy/sixthcopy/systems/check"
	"github.com/sixthcopy/sixthcopy/workloads"
)

// This file puts together what the calls of a system lead to while it is checked: a provider of the suite,
// behind one tool server or by itself.

// passing is a gate that lets everything pass: what calls meet, they meet at the front of the check.
type passing struct{}

func (passing) Arrive(bench.Arrival) bench.Action { return bench.Action{Act: bench.Pass} }
func (passing) Left(bench.Arrival)                {}
func (passing) Ended(bench.Arrival)               {}

// movedClock is a clock that another moves.
type movedClock func() time.Time

func (c movedClock) Now() time.Time { return c() }

// places returns what makes the places of a system: at the first workload of the suite whose calls it can make.
func places(w bench.World, m systems.Manifest) (func(context.Context, string, bench.Transport, func() time.Time) (*check.Place, error), error) {
	work, err := fittingWorkload(w, m)
	if err != nil {
		return nil, err
	}
	contract, ok := contracts.Find(work.Provider.Contract)
	if !ok {
		return nil, fmt.Errorf("contract %s of workload %s: there is none", work.Provider.Contract, work.Name)
	}
	usual := bench.TransportMCP // gateways, servers and runtimes speak it
	if m.Kind == "client" {
		usual = bench.TransportJSON
	}
	return func(ctx context.Context, dir string, over bench.Transport, now func() time.Time) (_ *check.Place, err error) {
		if over == "" {
			over = usual
		}
		if len(m.Providers) > 0 {
			over = bench.TransportProvider
		}
		provider, err := w.Providers(ctx, bench.ProviderSpec{Kind: work.Provider.Kind, Contract: contract, Dir: dir, World: work.World, Gate: passing{}, Clock: movedClock(now)})
		if err != nil {
			return nil, fmt.Errorf("provider %s: %w", work.Provider.Kind, err)
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, provider.Close())
			}
		}()
		p := &check.Place{Calls: callsOf(work), Close: provider.Close, Parse: provider.Parse}
		uses := map[string]bench.ToolUse{}
		for name := range work.Tools {
			if over == bench.TransportProvider && len(m.Tools) > 0 && !slices.Contains(m.Tools, name) {
				continue
			}
			uses[name] = bench.ToolUse{Transport: over, Errors: bench.ErrorsTyped, Key: bench.KeyNone}
			if contract.Advertised.Key.Location != "" && !w.Tools[name].ReadOnly() {
				uses[name] = bench.ToolUse{Transport: over, Errors: bench.ErrorsTyped, Key: bench.KeyArgument}
			}
		}
		if p.Upstream, err = provider.Listen("provider/1"); err != nil {
			return nil, fmt.Errorf("front of provider %s: %w", work.Provider.Kind, err)
		}
		if over == bench.TransportProvider {
			p.Providers = []string{work.Provider.Kind}
		} else if err = serveTools(ctx, w, work, contract, uses, now(), p); err != nil {
			return nil, err
		}
		p.Tools = offered(w, contract, uses, over)
		world := map[string]bool{}
		read := func(ctx context.Context) ([]string, error) {
			return objectIDs(ctx, w.Oracles[work.Provider.Kind], dir, world)
		}
		before, err := read(ctx)
		if err != nil {
			return nil, err
		}
		for _, id := range before {
			world[id] = true
		}
		p.Objects = read
		return p, nil
	}, nil
}

// serveTools puts a tool server between the system and the provider.
func serveTools(ctx context.Context, w bench.World, work bench.Workload, contract bench.Contract, uses map[string]bench.ToolUse, now time.Time, p *check.Place) error {
	server, err := w.ToolServers.Get(ctx, "1")
	if err != nil {
		return err
	}
	err = server.Configure(ctx, bench.ToolServerConfig{ProviderKind: work.Provider.Kind, Provider: p.Upstream, Tools: uses, Key: contract.Advertised.Key, Fresh: true, Now: now})
	if err != nil {
		server.Release()
		return fmt.Errorf("tool server: %w", err)
	}
	go func() {
		for range server.Notes() { // what it reports of itself is of no matter here
		}
	}()
	closeProvider := p.Close
	p.Upstream, p.Parse = server.Address(), w.ParseAgent(uses)
	p.Close = func() error { server.Release(); return closeProvider() }
	refused := bench.ToolCall{Tool: p.Calls[0].Tool, Args: maps.Clone(p.Calls[0].Args)}
	refused.Args["no_such_argument"] = "the tool refuses what it does not know"
	p.Refused = &refused
	return nil
}

// offered are the tools as a system is given them, with the path only in their addresses.
func offered(w bench.World, contract bench.Contract, uses map[string]bench.ToolUse, over bench.Transport) []bench.OfferedTool {
	path := ""
	if over == bench.TransportMCP {
		path = "/mcp"
	}
	var all []bench.OfferedTool
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		tool, use := w.Tools[name], uses[name]
		o := bench.OfferedTool{Name: name, Address: path, Transport: over, TakesKey: use.Key == bench.KeyArgument, TakesRef: tool.TakesRef(),
			ReadOnly: tool.ReadOnly(), Arguments: tool.Arguments(use), Contract: bench.OfferedContract{ErrorsTyped: true}}
		if o.TakesKey {
			o.Contract.KeyRetentionS = contract.Advertised.Promises().Seconds()
		}
		all = append(all, o)
	}
	return all
}

// fittingWorkload is the first workload of the suite that a system can be given, at the first provider of its
// manifest where there is one: it makes the calls, of one request each.
func fittingWorkload(w bench.World, m systems.Manifest) (bench.Workload, error) {
	suite, err := workloads.Suite()
	if err != nil {
		return bench.Workload{}, err
	}
	at := slices.IndexFunc(suite, func(work bench.Workload) bool { return work.Name == "refund" })
	suite = append([]bench.Workload{suite[at]}, suite...) // where nothing speaks against it
	kinds := m.Providers
	if len(kinds) == 0 {
		kinds = []string{""}
	}
	for _, kind := range kinds {
		for _, work := range suite {
			fits := kind == "" || kind == work.Provider.Kind
			for _, call := range callsOf(work) {
				tool := w.Tools[call.Tool]
				fits = fits && (len(m.Tools) == 0 || slices.Contains(m.Tools, call.Tool)) && !tool.ReadOnly() && tool.Requests(call.Args) == 1
			}
			if fits {
				return work, nil
			}
		}
	}
	return bench.Workload{}, usagef("docs/tool-servers.md lists the tools and their providers", "%s cannot be tried: no workload of the suite fits its providers and tools", m.Name)
}

// callsOf are the calls of a workload.
func callsOf(work bench.Workload) []bench.ToolCall {
	var all []bench.ToolCall
	for _, turn := range work.Turns {
		for _, in := range turn.Intents {
			all = append(all, in.Call)
		}
	}
	return all
}

// objectIDs lists what exists by an oracle, but for what was there before.
func objectIDs(ctx context.Context, o bench.Oracle, dir string, before map[string]bool) ([]string, error) {
	effects, err := o.Read(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("oracle: %w", err)
	}
	var ids []string
	for _, e := range effects {
		if !before[e.Object] && !slices.Contains(ids, e.Object) {
			ids = append(ids, e.Object)
		}
	}
	return ids, nil
}
