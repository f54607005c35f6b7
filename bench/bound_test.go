package bench_test

import (
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
)

func limit(hours float64) *float64 { return &hours }

// Each line differs from the one above it, or from the one that it names, by one thing.
func TestBound(t *testing.T) {
	none := bench.BoundTerms{}
	key := bench.BoundTerms{KeyHours: 24}
	saving := bench.BoundTerms{KeyHours: 24, SavesFailures: true}
	lookUp := bench.BoundTerms{LookUp: "authoritative", CommitsWithin: limit(1)}
	with := func(t bench.BoundTerms, change func(*bench.BoundTerms)) bench.BoundTerms {
		change(&t)
		return t
	}
	for _, c := range []struct {
		name  string
		terms bench.BoundTerms
		facts bench.BoundFacts
		want  bench.Mark
	}{
		{"nothing to go by", none, bench.BoundFacts{}, bench.MarkSafe},
		{"a read", none, bench.BoundFacts{NoEffects: true}, bench.MarkExact},
		{"a read that is never answered", none, bench.BoundFacts{NoEffects: true, NothingGetsIn: true}, bench.MarkExact},
		{"told that nothing left", none, bench.BoundFacts{Told: bench.TruthNothing}, bench.MarkExact},
		{"told so, and nothing ever leaves", none, bench.BoundFacts{Told: bench.TruthNothing, NothingGetsIn: true}, bench.MarkSafe},
		{"told so, nothing ever leaves, and nothing is wanted", none, bench.BoundFacts{Told: bench.TruthNothing, NothingGetsIn: true, Withdrawn: true}, bench.MarkExact},
		{"told that it is there, and nothing more gets through", none, bench.BoundFacts{Told: bench.TruthCommitted, NothingGetsIn: true}, bench.MarkExact},
		{"denied before anything happened", none, bench.BoundFacts{Denied: true}, bench.MarkExact},

		{"key", key, bench.BoundFacts{}, bench.MarkExact},
		{"key, inside its retention", key, bench.BoundFacts{HoursPass: 23.9}, bench.MarkExact},
		{"key, at the end of its retention", key, bench.BoundFacts{HoursPass: 24}, bench.MarkExact},
		{"key, past its retention", key, bench.BoundFacts{HoursPass: 24.1}, bench.MarkSafe},
		{"key that is never answered", key, bench.BoundFacts{NothingGetsIn: true}, bench.MarkSafe},
		{"key after a withdrawal", key, bench.BoundFacts{Withdrawn: true}, bench.MarkSafe},
		{"key, asked again or wanted twice", key, bench.BoundFacts{AskedAgain: true}, bench.MarkSafe},
		{"key that saves failures", saving, bench.BoundFacts{}, bench.MarkExact},
		{"key that saved this failure", saving, bench.BoundFacts{ProviderFailure: true}, bench.MarkSafe},
		{"key that saves none, at a failure", key, bench.BoundFacts{ProviderFailure: true}, bench.MarkExact},

		{"look-up", lookUp, bench.BoundFacts{}, bench.MarkExact},
		{"look-up with a documented lag", with(lookUp, func(t *bench.BoundTerms) { t.LookUp = "bounded" }), bench.BoundFacts{}, bench.MarkExact},
		{"look-up with an unknown lag", with(lookUp, func(t *bench.BoundTerms) { t.LookUp = "lags" }), bench.BoundFacts{}, bench.MarkSafe},
		{"look-up by attributes", with(lookUp, func(t *bench.BoundTerms) { t.LookUpBy = "attributes" }), bench.BoundFacts{}, bench.MarkSafe},
		{"look-up, but a lost call may commit at any time", with(lookUp, func(t *bench.BoundTerms) { t.CommitsWithin = nil }), bench.BoundFacts{}, bench.MarkSafe},
		{"look-up after a withdrawal", lookUp, bench.BoundFacts{Withdrawn: true}, bench.MarkExact},
		{"look-up after a withdrawal, never answered", lookUp, bench.BoundFacts{Withdrawn: true, NothingGetsIn: true}, bench.MarkSafe},
		{"look-up past any retention", lookUp, bench.BoundFacts{HoursPass: 1000}, bench.MarkExact},
		{"look-up, asked again or wanted twice", lookUp, bench.BoundFacts{AskedAgain: true}, bench.MarkSafe},

		{"unique constraint", bench.BoundTerms{Unique: true}, bench.BoundFacts{}, bench.MarkExact},
		{"unique constraint, asked again", bench.BoundTerms{Unique: true}, bench.BoundFacts{AskedAgain: true}, bench.MarkExact},
		{"unique constraint after a withdrawal", bench.BoundTerms{Unique: true}, bench.BoundFacts{Withdrawn: true}, bench.MarkSafe},
		{"naturally idempotent", bench.BoundTerms{NaturallyIdempotent: true}, bench.BoundFacts{}, bench.MarkExact},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := bench.Bound(c.terms, c.terms, c.facts); got != c.want {
				t.Errorf("got %s, expected %s", got, c.want)
			}
			if bench.ProviderFault(c.terms, c.terms) || !bench.LedgerOwesBound(c.terms, c.terms) {
				t.Error("a contract that is kept: expected no provider fault, and the bound owed")
			}
		})
	}
}

// An ability counts only if it is advertised and true.
func TestBoundOfBrokenPromises(t *testing.T) {
	key := bench.BoundTerms{KeyHours: 24}
	lookUp := bench.BoundTerms{LookUp: "authoritative", CommitsWithin: limit(1)}
	both := bench.BoundTerms{KeyHours: 24, LookUp: "authoritative", CommitsWithin: limit(1)}
	for _, c := range []struct {
		name        string
		said, is    bench.BoundTerms
		want        bench.Mark
		owes, fault bool
	}{
		{"key ignored", key, bench.BoundTerms{}, bench.MarkSafe, false, true},
		{"key kept in silence", bench.BoundTerms{}, key, bench.MarkSafe, false, true},
		{"key ignored, look-up true", both, lookUp, bench.MarkExact, true, true},
		{"key true, look-up false", both, key, bench.MarkExact, false, true},
		{"look-up slower than said", lookUp, bench.BoundTerms{LookUp: "bounded", CommitsWithin: limit(1)}, bench.MarkSafe, false, true},
		{"look-up faster than said", bench.BoundTerms{LookUp: "bounded", CommitsWithin: limit(1)}, lookUp, bench.MarkExact, true, true},
		{"commits later than said", lookUp, bench.BoundTerms{LookUp: "authoritative", CommitsWithin: limit(2)}, bench.MarkSafe, false, true},
		{"commits sooner than said", lookUp, bench.BoundTerms{LookUp: "authoritative", CommitsWithin: limit(0.5)}, bench.MarkExact, true, true},
		{"failures saved in silence", key, bench.BoundTerms{KeyHours: 24, SavesFailures: true}, bench.MarkExact, false, true},
		{"`none` spelled out", bench.BoundTerms{LookUp: "none", LookUpBy: "identity"}, bench.BoundTerms{}, bench.MarkSafe, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := bench.Bound(c.said, c.is, bench.BoundFacts{}); got != c.want {
				t.Errorf("bound: got %s, expected %s", got, c.want)
			}
			if got := bench.ProviderFault(c.said, c.is); got != c.fault {
				t.Errorf("provider fault: got %v, expected %v", got, c.fault)
			}
			if got := bench.LedgerOwesBound(c.said, c.is); got != c.owes {
				t.Errorf("ledger owes the bound: got %v, expected %v", got, c.owes)
			}
		})
	}
	silent := bench.Bound(key, bench.BoundTerms{KeyHours: 24, SavesFailures: true}, bench.BoundFacts{ProviderFailure: true})
	if silent != bench.MarkSafe {
		t.Errorf("a failure saved in silence answers the key: got %s, expected safe", silent)
	}
}
