package fakeproviders

import (
	"context"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
)

// BenchmarkRaise is what every trial pays for its provider: raise, one front, close.
func BenchmarkRaise(b *testing.B) {
	c, _ := contracts.Find("stripe-v1")
	g, cl := newGate(), &clock{now: bench.Epoch}
	for b.Loop() {
		p, err := Raise(context.Background(), bench.ProviderSpec{Kind: "payments", Contract: c, Dir: b.TempDir(), Gate: g, Clock: cl})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Listen("provider/1"); err != nil {
			b.Fatal(err)
		}
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
