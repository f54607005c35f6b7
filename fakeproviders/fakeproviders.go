// Package fakeproviders holds external services that keep a real contract over a durable store: payments,
// tasks, tickets, mail, lines, files and rows. They run in the harness process and speak HTTP/1.1 on
// loopback (docs/providers.md). A gate sees every request at four points: received, before commit,
// committed, and before an answer that commits nothing.
package fakeproviders

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// Kind is what one kind of provider adds to the shared server: how its requests read and what they do.
type Kind interface {
	Name() string    // "payments"
	Summary() string // one line for lists
	// Parse reads a request in business terms. It never fails: what it cannot read has no class.
	Parse(r bench.RawRequest) bench.Call

	// execute carries out a request in x's transaction and renders the answer. It may run twice. A kind
	// that makes several objects of one request, of which a try may make a part, says so by a method
	// makesTheRest and leaves out what x.prior has.
	execute(x *exchange) (answer, error)
	// current renders the answer to a mutation from what it made, as it is now.
	current(objects []store.Object) answer
	// refuse renders an error.
	refuse(r refusal) answer
	// world is an object that was there before the trial.
	world(w bench.WorldEffect, n int) store.Object
}

// All lists every kind of provider. To add one: a file beside this, a line here.
var All = []Kind{
	calendar{},
	chat{},
	cluster{},
	files{},
	instances{},
	items{},
	lines{},
	mail{},
	orders{},
	outbound{},
	payments{},
	queue{},
	repository{},
	rows{},
	snapshots{},
	tasks{},
	tickets{},
}

// Find returns the kind of this name, and whether there is one.
func Find(name string) (Kind, bool) {
	i := slices.IndexFunc(All, func(k Kind) bool { return k.Name() == name })
	if i < 0 {
		return nil, false
	}
	return All[i], true
}

// Raise opens a provider over a new store in spec.Dir, which must exist, with spec.World in it.
func Raise(ctx context.Context, spec bench.ProviderSpec) (bench.Provider, error) {
	kind, ok := Find(spec.Kind)
	if !ok {
		return nil, fmt.Errorf("provider %q is not known; known: %s", spec.Kind, strings.Join(names(), ", "))
	}
	if spec.Contract.Provider != spec.Kind {
		return nil, fmt.Errorf("contract %q is for provider %q, not for %q: choose one of its own (docs/providers.md)",
			spec.Contract.Name, spec.Contract.Provider, spec.Kind)
	}
	p, err := raise(ctx, kind, spec)
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", spec.Kind, err)
	}
	return p, nil
}

func names() []string {
	var all []string
	for _, k := range All {
		all = append(all, k.Name())
	}
	return all
}
