package bench

import (
	"strings"
	"testing"
)

func TestHungSystemIsToldWhichOrderIsOpen(t *testing.T) {
	st := &stage{history: NewHistory(func() (string, int64) { return "", 0 })}
	for _, step := range []struct {
		kind string // of an event; orders are sent
		idle int    // the order that an idle covers
		want string
	}{
		{"order start", 0, ""},
		{"order turn", 0, " (order 2, turn, has had no claim and no idle)"},
		{"order clock", 0, " (order 2, turn, has had no claim and no idle)"},
		{"word claim", 0, " (order 2, turn, has had no idle)"},
		{"word idle", 3, ""},
		{"order repair", 3, " (order 4, repair, has had no claim and no idle)"},
	} {
		st.history.Log(Event{Kind: step.kind})
		if order, sent := strings.CutPrefix(step.kind, "order "); sent {
			st.sent++
			if givesWork(order) {
				st.work = st.sent
			}
		}
		st.idleAt = step.idle
		if got := st.lacking(); got != step.want {
			t.Errorf("after %s: got %q, expected %q", step.kind, got, step.want)
		}
	}
}
