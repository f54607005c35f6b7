package upstream

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/sixthcopy/sixthcopy/bench"
)

// request is one request that arrived at the door.
type request struct {
	name     string // r1, r2, ... in order of arrival
	call     bench.Call
	sent     bool // forwarded: only then can it have an effect
	answered bool
	done     bool   // by its answer
	receipt  string // of its answer
	over     bool   // what exists has been read after its answer
	made     int    // objects that are attributed to it
}

func (p *door) arrive(call bench.Call) *request {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hand++
	x := &request{name: "r" + strconv.Itoa(len(p.requests)+1), call: call}
	p.requests = append(p.requests, x)
	return x
}

// look reads what exists and attributes what is new. An object that goes stays: it was an effect.
func (p *door) look(ctx context.Context) error {
	p.reading.Lock() // one after another, so that what a reading shows first is attributed first
	defer p.reading.Unlock()
	there, err := p.read(ctx)
	if err != nil {
		return fmt.Errorf("oracle: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var fresh []bench.Effect
	for _, e := range there {
		if i, known := p.objects[e.Object]; known {
			p.effects[i].Attrs = e.Attrs // what is known of it may come bit by bit
			continue
		}
		fresh = append(fresh, e)
	}
	makers := p.makers(fresh)
	for i, e := range fresh {
		if _, twice := p.objects[e.Object]; twice {
			return fmt.Errorf("oracle: it lists %s twice: expected each object once", e.Object)
		}
		e.Request = makers[i]
		e.Committed = len(p.effects) + 1
		p.objects[e.Object] = len(p.effects)
		p.effects = append(p.effects, e)
	}
	p.looked = true
	return nil
}

// makers says which request made each of the objects that are new, "" for those of the world. The nearest pair
// is matched first; of equal pairs the one that arrived first.
func (p *door) makers(fresh []bench.Effect) []string {
	out := make([]string, len(fresh))
	if !p.looked {
		return out
	}
	left := map[int]bool{}
	for i := range fresh {
		left[i] = true
	}
	for len(left) > 0 {
		object, best, maker := -1, 0, (*request)(nil)
		for i := range fresh {
			if !left[i] {
				continue
			}
			for _, x := range p.requests {
				if cost, fits := x.cost(fresh[i]); fits && (maker == nil || cost < best) {
					object, best, maker = i, cost, x
				}
			}
		}
		if maker == nil {
			return out
		}
		maker.made++
		out[object] = maker.name
		delete(left, object)
	}
	return out
}

// cost says how far an object is from what a request asked for, and whether it may be its effect at all. A
// request that is open, or has just been answered, is the one after which something new appeared; one that was
// over before, or has its effect already, must be near.
func (x *request) cost(e bench.Effect) (cost int, fits bool) {
	if !x.sent || x.call.Class != e.Class {
		return 0, false
	}
	if x.receipt == e.Object && x.made == 0 {
		return -1, true
	}
	differ := 0
	for name, want := range x.call.Attrs {
		if got, there := e.Attrs[name]; there && !same(want, got) {
			differ++
		}
	}
	cost = 8 * differ
	switch {
	case x.made > 0:
		return cost + 4, differ <= 1
	case x.over:
		return cost + 2, differ <= 1
	case x.answered && !x.done:
		return cost + 1, true
	}
	return cost, true
}

// same compares two business values: numbers by value, however they are written.
func same(a, b any) bool {
	x, y := fmt.Sprint(a), fmt.Sprint(b)
	if x == y {
		return true
	}
	n, err := strconv.ParseFloat(x, 64)
	m, err2 := strconv.ParseFloat(y, 64)
	return err == nil && err2 == nil && n == m
}

// there says whether an object is known.
func (p *door) there(object string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, known := p.objects[object]
	return known && object != ""
}

// contradicted says in words what the oracle does not show although the answer says that it is there; "": it
// shows all.
func (p *door) contradicted(x *request) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !x.done {
		return ""
	}
	if x.receipt != "" {
		if _, shown := p.objects[x.receipt]; !shown {
			return fmt.Sprintf("the oracle does not show its object %q", x.receipt)
		}
		return ""
	}
	if x.made == 0 && !slices.ContainsFunc(p.effects, func(e bench.Effect) bool {
		cost, fits := (&request{call: x.call, sent: true}).cost(e)
		return fits && cost == 0
	}) {
		return "the oracle shows no " + x.call.Class + " that fits it"
	}
	return ""
}

func (p *door) madeBy(name string) []string {
	var all []string
	for _, e := range p.effects {
		if e.Request == name {
			all = append(all, e.Object)
		}
	}
	return all
}
