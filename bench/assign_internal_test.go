package bench

import (
	"math/rand/v2"
	"testing"
)

// least is the cheapest assignment by trying them all.
func (a assignment) least(effect int, used []int) price {
	if effect == a.effects {
		return price{}
	}
	best := a.least(effect+1, used)
	for p := range a.room {
		cost, may := a.fits(effect, p)
		if !may || used[p] == a.room[p] {
			continue
		}
		used[p]++
		if c := cost.plus(a.least(effect+1, used)); c.less(best) {
			best = c
		}
		used[p]--
	}
	return best
}

func TestSolveAgainstAllAssignments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		a := assignment{effects: r.IntN(6), room: make([]int, r.IntN(4))}
		for p := range a.room {
			a.room[p] = r.IntN(3)
		}
		cost := make([][]price, a.effects)
		may := make([][]bool, a.effects)
		for e := range cost {
			cost[e], may[e] = make([]price, len(a.room)), make([]bool, len(a.room))
			for p := range a.room {
				may[e][p] = r.IntN(3) > 0
				cost[e][p] = price{-r.IntN(3), -1, r.IntN(3) - 1, -r.IntN(2), -r.IntN(2), e}
			}
		}
		a.fits = func(e, p int) (price, bool) { return cost[e][p], may[e][p] }
		var got price
		used := make([]int, len(a.room))
		for e, p := range a.solve() {
			if p < 0 {
				continue
			}
			if !may[e][p] {
				t.Fatalf("effect %d put where it may not go", e)
			}
			used[p]++
			got = got.plus(cost[e][p])
		}
		for p := range used {
			if used[p] > a.room[p] {
				t.Fatalf("place %d holds %d, has room for %d", p, used[p], a.room[p])
			}
		}
		if want := a.least(0, make([]int, len(a.room))); got != want {
			t.Fatalf("got cost %v, least is %v: %+v %v", got, want, a.room, cost)
		}
	}
}

func TestSameValue(t *testing.T) {
	for _, c := range []struct {
		want, got any
		same      bool
	}{
		{5, 5.0, true},
		{5, "5.00", true},
		{25.0, "25.00", true},
		{25.1, "25.10", true},
		{0.1, "0.1", true},
		{-3, "-3.0", true},
		{2500, int64(2500), true},
		{25, "25.01", false},
		{25, "25 ", false},
		{25, "5e1", false},
		{2, "4/2", false},
		{25, "", false},
		{25, ".", false},
		{25, nil, false},
		{1, true, false},
		{"25.00", 25, false},
		{"25.00", "25", false},
		{"Ann", "ann", false},
		{"Ann", "Ann", true},
		{true, true, true},
		{true, "true", false},
		{nil, nil, true},
		{nil, "", false},
		{map[string]any{"n": 5}, map[string]any{"n": "5.0"}, true},
		{map[string]any{"n": 5}, map[string]any{"n": 5, "m": 1}, false},
		{[]any{1, "a"}, []any{"1.0", "a"}, true},
		{[]any{1, 2}, []any{2, 1}, false},
	} {
		if got := sameValue(c.want, c.got); got != c.same {
			t.Errorf("slot wants %#v, effect has %#v: got %v, expected %v", c.want, c.got, got, c.same)
		}
	}
}
