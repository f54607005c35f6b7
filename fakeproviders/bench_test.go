package fakeproviders

import (
	"context"
	"fmt"
	"net/http"
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

// BenchmarkRefund is one keyed mutation on a kept connection.
func BenchmarkRefund(b *testing.B) {
	c, _ := contracts.Find("stripe-v1")
	p, err := Raise(context.Background(), bench.ProviderSpec{Kind: "payments", Contract: c, Dir: b.TempDir(), Gate: open{}, Clock: &clock{now: bench.Epoch}})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	addr, err := p.Listen("provider/1")
	if err != nil {
		b.Fatal(err)
	}
	r := &rig{base: "http://" + addr, client: &http.Client{Transport: &http.Transport{}}}
	for i := 0; b.Loop(); i++ {
		if got := r.refund("o", fmt.Sprint("k", i)); got.status != 200 {
			b.Fatal(got)
		}
	}
}

// open is a gate that lets everything pass.
type open struct{}

func (open) Arrive(bench.Arrival) bench.Action { return bench.Action{Act: bench.Pass} }
func (open) Left(bench.Arrival)                {}
func (open) Ended(bench.Arrival)               {}
