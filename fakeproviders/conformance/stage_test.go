package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// stage is what one scenario plays on: a provider of its own and a client.
type stage struct {
	contract bench.Contract
	client   client
	gate     *gate
	clock    *clock
	tap      *tap
	base     string // the provider's URL

	provider bench.Provider
	dir      string
	child    *child
}

// patience bounds how long an operation may take, back-offs of the SDK included. It ends a failure only.
const patience = 90 * time.Second

func newStage(c bench.Contract, cl client, kids *children, world []bench.WorldEffect) (*stage, error) {
	dir, err := os.MkdirTemp(kids.home, "store")
	if err != nil {
		return nil, broken{err}
	}
	// The clock starts at the present: it is in the Date of answers, and AWS's SDK for JavaScript takes one far from
	// its own for clock skew, corrects itself and sends a refused call again.
	st := &stage{contract: c, client: cl, gate: newGate(), clock: &clock{now: time.Now().Truncate(time.Second)}, dir: dir}
	if cl.alone {
		st.child, err = start(cl.language, kids.home)
	} else {
		st.child, err = kids.of(cl.language)
	}
	if err != nil {
		return nil, broken{err}
	}
	st.provider, err = fakeproviders.Raise(context.Background(),
		bench.ProviderSpec{Kind: c.Provider, Contract: c, Dir: dir, World: world, Gate: st.gate, Clock: st.clock})
	if err != nil {
		return nil, broken{err}
	}
	l, err := bench.Listen(bench.OwnLoopback())
	if err != nil {
		return nil, broken{errors.Join(err, st.provider.Close())}
	}
	st.tap = &tap{Listener: l}
	if err := st.provider.(server).Serve("provider/1", st.tap); err != nil {
		return nil, broken{errors.Join(err, l.Close(), st.provider.Close())}
	}
	st.base = "http://" + l.Addr().String()
	return st, nil
}

func (st *stage) close() error {
	st.gate.tear()
	if st.client.alone {
		st.child.end()
	}
	busy := st.provider.Busy()
	err := errors.Join(st.provider.Close(), os.RemoveAll(st.dir))
	if strings.HasPrefix(busy, "broken") {
		err = errors.Join(err, errors.New(busy))
	}
	if err != nil {
		return broken{err}
	}
	return nil
}

// with are the options of an operation. "session" is not handed on: operations of one session share the
// SDK's client object, and so its connections. "within" (a time.Duration) bounds its time more narrowly.
type with map[string]any

// do carries out an operation and waits for what the SDK makes of it.
func (st *stage) do(op string, args map[string]any, options ...with) (result, error) {
	o := order{Client: st.client.name, Family: st.client.family, Base: st.base, Op: op, Args: args, Options: map[string]any{}}
	limit := patience
	for _, w := range options {
		for k, v := range w {
			switch k {
			case "session":
				o.Session = v.(string)
			case "within":
				limit = v.(time.Duration)
			default:
				o.Options[k] = v
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return st.child.carryOut(ctx, o)
}

// step is an operation in a scenario made of data.
type step struct {
	op      string
	args    map[string]any
	options with
}

func (st *stage) play(s step) (result, error) { return st.do(s.op, s.args, s.options) }

// must carries out an operation that has to succeed.
func (st *stage) must(op string, args map[string]any, options ...with) (result, error) {
	r, err := st.do(op, args, options...)
	if err == nil && r.Error != nil {
		err = fmt.Errorf("%s: %s: %s", op, r, r.Error.Message)
	}
	return r, err
}

// succeed plays a step that has to succeed.
func (st *stage) succeed(s step) (result, error) { return st.must(s.op, s.args, s.options) }

// twice plays two operations, with something between them, and tells how the second ended: "ok, the same
// object, marked, 1 effect"; how the first one ended stands before it where it failed. id is where an answer
// names its object.
func twice(first, second step, between func(*stage) error, id ...any) func(*stage) (string, error) {
	return func(st *stage) (string, error) {
		a, err := st.play(first)
		if err != nil {
			return "", err
		}
		if between != nil {
			if err := between(st); err != nil {
				return "", err
			}
		}
		b, err := st.play(second)
		if err != nil {
			return "", err
		}
		return st.compare(a, b, id...)
	}
}

// tell plays one operation and gives account of it.
func (st *stage) tell(s step) (string, error) {
	r, err := st.play(s)
	if err != nil {
		return "", err
	}
	return st.account(r)
}

// second plays a second operation while the first one is in work, then lets the first one end, and tells
// how both ended: "APIError 409; the first: ok, 1 effect".
func (st *stage) second(first, second step) (string, error) {
	h := st.gate.hold(bench.BeforeCommit, 1)
	work := st.begin(first)
	if err := st.reached(h); err != nil {
		return "", err
	}
	if second.options == nil {
		second.options = with{}
	}
	second.options = maps.Clone(second.options)
	second.options["within"] = atOnceAnswered
	b, err := st.play(second)
	h.release(bench.Action{Act: bench.Pass})
	a, failed := work.end()
	switch {
	case errors.Is(err, errNoAnswer):
		return "no answer", failed
	case err != nil || failed != nil:
		return "", errors.Join(err, failed)
	}
	made, err := st.effects()
	return fmt.Sprintf("%s; the first: %s, %s", b, a, plural(len(made), "effect")), err
}

// atOnceAnswered is how long a second call may take that must not wait for the first one.
const atOnceAnswered = 20 * time.Second

// compare tells how b ended, whether it names a's object, whether it is marked as a replay, and what there is.
func (st *stage) compare(a, b result, id ...any) (string, error) {
	made, err := st.effects()
	if err != nil {
		return "", err
	}
	words := []string{b.String()}
	switch {
	case a.Error != nil:
		words[0] = a.String() + "; then " + b.String()
	case b.Error == nil:
		words = append(words, same(a, b, id...)+" object")
	}
	if marker := st.contract.Advertised.Key.Marker; marker != "" && b.header(marker) == "true" {
		words = append(words, "marked")
	}
	return strings.Join(append(words, plural(len(made), "effect")), ", "), nil
}

// header is a header of an answer or of an exception, whichever it is.
func (r result) header(name string) string {
	all := r.Headers
	if r.Error != nil {
		all = r.Error.Headers
	}
	for k, v := range all {
		if strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}

// pending is an operation that goes on.
type pending chan struct {
	result
	error
}

// begin starts an operation.
func (st *stage) begin(s step) pending {
	c := make(pending, 1)
	go func() {
		r, err := st.play(s)
		c <- struct {
			result
			error
		}{r, err}
	}()
	return c
}

func (p pending) end() (result, error) {
	r := <-p
	return r.result, r.error
}

// reached waits until a held request stands where it is held.
func (st *stage) reached(h *hold) error {
	select {
	case <-h.arrived:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("the request that was to be held did not come; came: %d", len(st.gate.seen()))
	}
}

// effects lists what was made, of the given classes or all, by a connection of its own to the store. The end
// of an object is an effect too; what was there before, and that a message was handed out, is none.
func (st *stage) effects(classes ...string) ([]store.Object, error) {
	s, err := store.Open(context.Background(), st.dir)
	if err != nil {
		return nil, broken{err}
	}
	all, err := s.Objects()
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, broken{err}
	}
	return slices.DeleteFunc(all, func(o store.Object) bool {
		return o.Request == "" || o.Class == "delivery" || len(classes) > 0 && !slices.Contains(classes, o.Class)
	}), nil
}

// account tells in words what the mutating requests so far came to and how the last operation ended:
// "3 sends under 1 key, 1 effect, APIConnectionError".
func (st *stage) account(r result) (string, error) {
	effects, err := st.effects()
	if err != nil {
		return "", err
	}
	sends, keys := 0, map[string]bool{}
	for _, a := range st.gate.seen() {
		if a.Call.Mutating {
			sends++
			keys[a.Call.Key] = true
		}
	}
	under := fmt.Sprintf(" under %s", plural(len(keys), "key"))
	if len(keys) == 1 && keys[""] {
		under = ""
	}
	return fmt.Sprintf("%s%s, %s, %s", plural(sends, "send"), under, plural(len(effects), "effect"), r), nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// String names how an operation ended: "ok", or the exception, its status and code.
func (r result) String() string {
	if r.Error == nil {
		return "ok"
	}
	s := r.Error.Type
	if r.Error.Status != 0 {
		s += fmt.Sprintf(" %d", r.Error.Status)
	}
	if code, ok := r.Error.Code.(string); ok && code != "" && code != r.Error.Type {
		s += " " + code
	}
	return s
}

// at reads a value of the answer: names of fields (their case does not matter, as SDKs differ in it) and
// indices of lists. nil: it is not there.
func (r result) at(path ...any) any { return at(r.OK, path...) }

func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = nil
			for k, inner := range m {
				if strings.EqualFold(k, p) {
					v = inner
				}
			}
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

// same says in words whether two answers agree at a path: "the same" or "another".
func same(a, b result, path ...any) string {
	x, _ := json.Marshal(a.at(path...))
	y, _ := json.Marshal(b.at(path...))
	if string(x) == string(y) && string(x) != "null" {
		return "the same"
	}
	return "another"
}

// server is what a raised provider can do beside bench.Provider.
type server interface {
	Serve(link string, l net.Listener) error
}

// pass lets virtual time pass.
func pass(d time.Duration) func(*stage) error {
	return func(st *stage) error { st.clock.pass(d); return nil }
}

// meets lets the n-th request meet an action (0: every one) while run plays.
func meets(n int, at bench.Point, act bench.Action, run func(*stage) (string, error)) func(*stage) (string, error) {
	return func(st *stage) (string, error) { st.gate.meet(at, act, n); return run(st) }
}
