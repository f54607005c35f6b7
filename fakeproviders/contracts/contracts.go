// Package contracts holds the idempotency contracts of the fake providers, as data.
//
// Advertised is what the provider's documentation says and what a system is told; Actual is what the fake
// does. They are equal unless a contract's summary says that it lies. Durations are virtual time.
package contracts

import (
	"slices"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// All lists every contract by provider, honest ones first. To add one: a function below, a line here.
var All = slices.Concat(
	payments(),
	outbound(),
	tasks(),
	instances(),
	snapshots(),
	tickets(),
	mail(),
	lines(),
	files(),
	rows(),
	repository(),
	chat(),
	orders(),
	calendar(),
	cluster(),
	queue(),
	items(),
)

// Find returns the contract of this name, and whether there is one.
func Find(name string) (bench.Contract, bool) {
	i := slices.IndexFunc(All, func(c bench.Contract) bool { return c.Name == name })
	if i < 0 {
		return bench.Contract{}, false
	}
	return All[i], true
}

// honest is a contract that does what it says.
func honest(name, provider, summary, source string, t bench.Terms) bench.Contract {
	return bench.Contract{Name: name, Provider: provider, Summary: summary, Source: source, Advertised: t, Actual: t}
}

// lying is a contract that says one thing and does another.
func lying(name, provider, summary string, says, does bench.Terms) bench.Contract {
	return bench.Contract{Name: name, Provider: provider, Summary: summary, Source: "planted", Advertised: says, Actual: does}
}

func within(d time.Duration) *time.Duration { return &d }

func tickets() []bench.Contract {
	look := func(l bench.LookUpTerms) bench.Terms {
		l.By = "identity"
		return bench.Terms{LookUp: l, CommitsWithin: within(10 * time.Minute)}
	}
	authoritative := look(bench.LookUpTerms{Kind: "authoritative"})
	stale := look(bench.LookUpTerms{Kind: "bounded", Lag: 10 * time.Minute})
	return []bench.Contract{
		honest("tickets-authoritative", "tickets", "Found by reference at once.", "planted", authoritative),
		honest("tickets-stale", "tickets", "Found by reference within 10 min.", "planted", stale),
		honest("tickets-lags", "tickets", "Found by reference some time later (here 1 h); no limit is documented.", "planted",
			look(bench.LookUpTerms{Kind: "lags", Lag: time.Hour})),
		honest("tickets-lags-reads", "tickets", "The first two look-ups after a ticket was made do not see it; no limit is documented.", "planted",
			look(bench.LookUpTerms{Kind: "lags", LagReads: 2})),
		honest("tickets-open-only", "tickets", "Finds open tickets only; a ticket closes itself after 1 h.", "planted",
			look(bench.LookUpTerms{Kind: "lags", Forgets: time.Hour})),
		honest("tickets-no-look-up", "tickets", "No key and no look-up.", "planted", bench.Terms{}),
		lying("tickets-stale-unbounded", "tickets", "Lies: says within 10 min, and is found after 30 days.",
			stale, look(bench.LookUpTerms{Kind: "lags", Lag: 30 * 24 * time.Hour})),
	}
}

func mail() []bench.Contract {
	return []bench.Contract{
		honest("mail-no-key", "mail", "Every accepted message is a message; no key, no look-up.", "RFC 5321 has no deduplication", bench.Terms{}),
	}
}

func lines() []bench.Contract {
	keyed := bench.Terms{Key: bench.KeyTerms{
		Location: "header:Idempotency-Key", MaxLength: 255, Scope: "account",
		Retention: 24 * time.Hour, ClockStart: "completed",
		Fingerprint: "params+path", Mismatch: "conflict", Concurrent: "conflict",
		Saves: "success", Replay: "stored", Marker: "Idempotent-Replayed",
	}}
	return []bench.Contract{
		honest("lines-no-key", "lines", "Every append is a line; no key, no look-up by an identity.", "planted", bench.Terms{}),
		honest("lines-keyed", "lines", "A key per account, kept 24 h from completion; only successes are saved.",
			"draft-ietf-httpapi-idempotency-key-header-07, and choices of this project where it leaves them open", keyed),
	}
}

func files() []bench.Contract {
	return []bench.Contract{
		honest("files-put", "files", "The same content at the same path again changes nothing.", "RFC 9110 section 9.2.2 (PUT)", bench.Terms{NaturallyIdempotent: true}),
		honest("files-delete-newest", "files", "Deleting the newest again deletes the next newest.", "planted", bench.Terms{}),
	}
}

func rows() []bench.Contract {
	return []bench.Contract{
		honest("rows-unique", "rows", "A second row of the same key is refused and names the first.", "SQL unique constraint",
			bench.Terms{Unique: map[string][]string{"row": {"table", "key"}}}),
		lying("rows-unenforced", "rows", "Lies: the unique constraint is not there.",
			bench.Terms{Unique: map[string][]string{"row": {"table", "key"}}}, bench.Terms{}),
	}
}
