package links

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/sixthcopy/sixthcopy/bench"
)

// BenchmarkBoundaryToxic sends keep-alive requests through a link whose gate lets all pass, and through a
// stock toxiproxy without toxics, in turns of one run: one of each is one operation. The acceptance line
// is a ratio of the medians of at most 1.25.
func BenchmarkBoundaryToxic(b *testing.B) {
	address := answerOK(b)
	l := raise(b, address, passGate{})
	stock := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), "stock", "127.0.0.1:0", address)
	if err := stock.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(stock.Stop)
	ours, theirs, direct := newCaller(b, l.Address()), newCaller(b, stock.Listen), newCaller(b, address)
	for range 200 { // warm
		ours.call()
		theirs.call()
		direct.call()
	}
	ours.took, theirs.took, direct.took = nil, nil, nil
	for i := 0; b.Loop(); i++ {
		if i%2 == 0 {
			ours.call()
			theirs.call()
		} else {
			theirs.call()
			ours.call()
		}
		direct.call()
	}
	b.ReportMetric(ours.median(), "us-link-p50")
	b.ReportMetric(theirs.median(), "us-stock-p50")
	b.ReportMetric(direct.median(), "us-direct-p50")
	b.ReportMetric(ours.median()/theirs.median(), "ratio")
}

// BenchmarkRaise raises a link, sends one request over a new connection, and stops it.
func BenchmarkRaise(b *testing.B) {
	address := answerOK(b)
	ls := New()
	for b.Loop() {
		l, err := ls.Raise(bench.LinkSpec{Name: "agent", Upstream: address, Gate: passGate{}})
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Stop(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFreshConnection is a request on a connection of its own.
func BenchmarkFreshConnection(b *testing.B) {
	address := answerOK(b)
	l := raise(b, address, passGate{})
	transport := &http.Transport{DisableKeepAlives: true}
	c := caller{b: b, client: &http.Client{Transport: transport}, url: "http://" + l.Address() + "/v1/refunds"}
	for b.Loop() {
		c.call()
	}
}

type passGate struct{}

func (passGate) Arrive(bench.Arrival) bench.Action { return bench.Action{Act: bench.Pass} }
func (passGate) Left(bench.Arrival)                {}
func (passGate) Ended(bench.Arrival)               {}

// answerOK is a net/http server with a short JSON answer.
func answerOK(b *testing.B) string {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"re_1","object":"refund","amount":2500,"status":"succeeded"}`)
	})}
	done := make(chan struct{})
	go func() { _ = s.Serve(ln); close(done) }()
	b.Cleanup(func() { _ = s.Close(); <-done })
	return ln.Addr().String()
}

type caller struct {
	b      *testing.B
	client *http.Client
	url    string
	took   []time.Duration
}

func newCaller(b *testing.B, address string) *caller {
	transport := &http.Transport{MaxIdleConnsPerHost: 1}
	b.Cleanup(transport.CloseIdleConnections)
	return &caller{b: b, client: &http.Client{Transport: transport}, url: "http://" + address + "/v1/refunds"}
}

func (c *caller) call() {
	start := time.Now()
	r, err := c.client.Post(c.url, "application/json", strings.NewReader(`{"order":"order_4821","amount":2500}`))
	if err != nil {
		c.b.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		c.b.Fatal(err)
	}
	_ = r.Body.Close()
	c.took = append(c.took, time.Since(start))
	if r.StatusCode != http.StatusOK {
		c.b.Fatal(fmt.Errorf("status %d, expected 200", r.StatusCode))
	}
}

// median is in microseconds.
func (c *caller) median() float64 {
	slices.Sort(c.took)
	return float64(c.took[len(c.took)/2]) / float64(time.Microsecond)
}
