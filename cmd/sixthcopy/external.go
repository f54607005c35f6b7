package main

// This file readies runs at providers that the harness did not make: which hosts may be reached, and whether
// all that a workload declares answers, before anything is run.

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/declared"
	"github.com/sixthcopy/sixthcopy/fakeproviders/upstream"
	"github.com/sixthcopy/sixthcopy/oracles"
)

const externalPage = "docs/bring-your-own-provider.md"

// declaredContract is the contract that a workload declares for its provider.
func declaredContract(w bench.Workload) bench.Contract {
	terms := w.Provider.External.Terms
	return bench.Contract{Name: w.Provider.Contract, Provider: bench.KindExternal, Summary: "declared by workload " + w.Name, Advertised: terms, Actual: terms}
}

// doors raises the doors before external providers.
func doors() *upstream.Doors {
	return upstream.New(func(o bench.ExternalOracle) (upstream.Read, error) {
		read, err := oracles.Outside(o, declared.Environment)
		return read, err
	})
}

// readyExternal looks whether trials at external providers can be run: the hosts are allowed, the requests of
// the workload's calls can be made and read back, the upstream listens, and the oracle reads.
func readyExternal(ctx context.Context, all []bench.Workload, allowed []string) error {
	for _, w := range all {
		x := w.Provider.External
		if x == nil {
			continue
		}
		about := func(what string, err error) error {
			return &ending{misused, fmt.Errorf("workload %s: %s: %w", w.Name, what, err), "nothing was run; " + externalPage + " has the fields"}
		}
		addresses := []string{x.Upstream}
		for _, l := range x.Oracle.HTTP {
			address, err := declared.Environment(l.URL)
			if err != nil {
				return about("oracle", err)
			}
			addresses = append(addresses, address)
		}
		for _, a := range addresses {
			if err := mayReach(a, allowed); err != nil {
				return err
			}
		}
		for _, turn := range w.Turns {
			for _, in := range turn.Intents {
				if err := readsBack(w, in); err != nil {
					return about("intent "+in.ID, err)
				}
			}
		}
		base, err := url.Parse(x.Upstream)
		if err != nil {
			return about("upstream", err)
		}
		if err := upstream.Reachable(ctx, base); err != nil {
			return about("provider", err)
		}
		text, err := json.Marshal(x.Oracle)
		if err != nil {
			return about("oracle", err)
		}
		var oracle bench.ExternalOracle
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), bench.TrialWord, "preflight")), &oracle); err != nil {
			return about("oracle", err)
		}
		read, err := oracles.Outside(oracle, declared.Environment)
		if err == nil {
			_, err = read(ctx)
		}
		if err != nil {
			return about("oracle", err)
		}
	}
	return nil
}

// mayReach says why an address must not be reached: it is neither on this machine nor was it allowed by name.
func mayReach(address string, allowed []string) error {
	u, err := url.Parse(address)
	if err != nil {
		return usagef(externalPage+" has the fields", "address: %w", err)
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	if slices.Contains(allowed, host) || slices.Contains(allowed, u.Host) {
		return nil
	}
	return usagef("if this is a place where copies may be made, and not production: --allow-host "+host,
		"%s is not on this machine: trials would make effects there, repeated and unwanted ones too", u.Host)
}

// readsBack checks that the request of a call is known again for what it is: by that the call is struck, and
// its effect attributed.
func readsBack(w bench.Workload, in bench.Intent) error {
	own := map[string]bench.ExternalTool{}
	for name, use := range w.Tools {
		if use.External != nil {
			own[name] = *use.External
		}
	}
	t, ok := own[in.Call.Tool]
	if !ok {
		return nil
	}
	r, err := declared.Fill(t.Request, in.Call.Args)
	if err != nil {
		return err
	}
	want := declared.Call(in.Call.Tool, t, in.Call.Args)
	raw := bench.RawRequest{Method: r.Method, Path: r.Path, Header: http.Header{}, Body: r.Body}
	got := declared.Parse(own, raw)
	if got.Op != want.Op {
		return fmt.Errorf("the request of %s reads as one of %s: expected requests that differ in method, path, or a fixed value", want.Op, got.Op)
	}
	mine, _ := declared.Match(t.Request, raw) // it fits, as got says
	for name, other := range own {
		if args, fits := declared.Match(other.Request, raw); name != want.Op && fits && len(args) >= len(mine) {
			return fmt.Errorf("the request of %s reads as one of %s too: expected requests that differ in method, path, or a fixed value", want.Op, name)
		}
	}
	if !reflect.DeepEqual(spelled(want.Attrs), spelled(got.Attrs)) {
		return fmt.Errorf("the request of %s reads back with %v, expected %v: let each argument stand alone in its place", want.Op, got.Attrs, want.Attrs)
	}
	return nil
}

// spelled are attributes as text: a form has no numbers.
func spelled(attrs map[string]any) map[string]string {
	out := map[string]string{}
	for name, v := range attrs {
		out[name] = declared.Spell(v)
	}
	return out
}

// trialWord makes what the trials of this run write at external providers differ from what other runs wrote.
func trialWord() string { return strings.ToLower(rand.Text()[:6]) }
