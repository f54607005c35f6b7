package bench

// price is what it costs to put an effect into a slot. Prices are compared from the left; a later place
// counts only where all earlier ones are equal.
type price [6]int

// Places of a price. All but the last are gains, hence at most zero, except that a claim can be hurt.
const (
	priceUnits  = iota // units of multiplicity: a wanted unit filled is one absent and one extra less
	priceExtras        // effects left over
	priceClaims        // what the claims would like
	priceOwner         // the request that made the effect carried the slot's intent
	priceReplay        // what dedup records say of the slot's intent
	priceAge           // position of the effect: of equal effects the later is left over
)

func (p price) plus(q price) price {
	for i := range p {
		p[i] += q[i]
	}
	return p
}

func (p price) minus(q price) price {
	for i := range p {
		p[i] -= q[i]
	}
	return p
}

func (p price) less(q price) bool {
	for i := range p {
		if p[i] != q[i] {
			return p[i] < q[i]
		}
	}
	return false
}

// assignment is a minimum-cost assignment problem: effects on the left, each to at most one place on the
// right; places hold up to room[i] effects. fits says what an effect costs in a place, and whether it
// may go there at all. Leaving an effect out costs nothing.
type assignment struct {
	effects int
	room    []int
	fits    func(effect, place int) (price, bool)
}

// solve returns the place of each effect, -1 for those left out, so that the sum of prices is least.
//
// It is the method of successive shortest paths: every step finds, by Bellman and Ford's relaxation in
// the residual graph, the cheapest chain of moves that brings one more effect in, and stops when the
// cheapest chain no longer gains anything. Ties go to the lower index, so that the answer depends on the
// order of effects and places only; the callers sort both.
func (a assignment) solve() []int {
	place := make([]int, a.effects)
	for e := range place {
		place[e] = -1
	}
	used := make([]int, len(a.room))
	cost := make([][]price, a.effects)
	may := make([][]bool, a.effects)
	for e := range cost {
		cost[e], may[e] = make([]price, len(a.room)), make([]bool, len(a.room))
		for p := range a.room {
			cost[e][p], may[e][p] = a.fits(e, p)
		}
	}
	for {
		end, from := a.cheapestChain(place, used, cost, may)
		if end < 0 {
			return place
		}
		used[end]++
		for p := end; ; {
			e := from[p]
			p, place[e] = place[e], p
			if p < 0 {
				break
			}
		}
	}
}

// cheapestChain returns the place at which the cheapest gaining chain ends, -1 if none gains, and for
// each place the effect from which the chain reaches it.
func (a assignment) cheapestChain(place, used []int, cost [][]price, may [][]bool) (int, []int) {
	var zero price
	toEffect, effectSeen := make([]price, a.effects), make([]bool, a.effects)
	toPlace, placeSeen := make([]price, len(a.room)), make([]bool, len(a.room))
	from := make([]int, len(a.room))
	for e := range place {
		effectSeen[e] = place[e] < 0
	}
	for moved := true; moved; {
		moved = false
		for e := range place {
			if !effectSeen[e] {
				continue
			}
			for p := range a.room {
				if !may[e][p] || p == place[e] {
					continue
				}
				if d := toEffect[e].plus(cost[e][p]); !placeSeen[p] || d.less(toPlace[p]) {
					toPlace[p], placeSeen[p], from[p], moved = d, true, e, true
				}
			}
		}
		for e, p := range place {
			if p < 0 || !placeSeen[p] {
				continue
			}
			if d := toPlace[p].minus(cost[e][p]); !effectSeen[e] || d.less(toEffect[e]) {
				toEffect[e], effectSeen[e], moved = d, true, true
			}
		}
	}
	end := -1
	for p := range a.room {
		if placeSeen[p] && used[p] < a.room[p] && toPlace[p].less(zero) && (end < 0 || toPlace[p].less(toPlace[end])) {
			end = p
		}
	}
	return end, from
}
