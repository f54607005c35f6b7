package tools

import (
	"context"
	"fmt"
	"testing"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
	"github.com/sixthcopy/sixthcopy/fakeproviders/store"
)

// TestQueuesAndSeats plays calls on the fakes, each told by its status, receipts and what was found. Receipts and
// ids that are there already are named by the call that first had them.
func TestQueuesAndSeats(t *testing.T) {
	type call struct{ tool, args, key, want string }
	for name, c := range map[string]struct {
		contract string
		world    []bench.WorldEffect
		calls    []call
		effects  int
	}{
		"messages": {"sqs-fifo-content", []bench.WorldEffect{{Class: "queue", Attrs: map[string]any{"queue": "q.fifo"}}}, []call{
			{"enqueue_message", `{"queue":"q.fifo","body":"a","group":"g"}`, "k", "done 1"},
			{"enqueue_message", `{"queue":"q.fifo","body":"a","group":"g"}`, "k", "done of call 1"},
			{"enqueue_message", `{"queue":"q.fifo","body":"a","group":"g"}`, "l", "done 1"},
			{"enqueue_message", `{"queue":"q.fifo","body":"b","group":"g"}`, "", "done 1"},
			{"enqueue_message", `{"queue":"q.fifo","body":"b","group":"g"}`, "", "done of call 4"},
			{"enqueue_message", `{"queue":"q.fifo","body":"b"}`, "", "refused 0"},
			{"enqueue_message", `{"queue":"none.fifo","body":"b","group":"g"}`, "", "refused 0"},
		}, 3},
		"a batch in parts": {"sqs-fifo-throttled", []bench.WorldEffect{{Class: "queue", Attrs: map[string]any{"queue": "q.fifo"}}}, []call{
			{"enqueue_messages", `{"queue":"q.fifo","body":["a","b","c"],"group":"g"}`, "k", "unknown 2"},
			{"enqueue_messages", `{"queue":"q.fifo","body":["a","b","c"],"group":"g"}`, "k", "done 3"},
			{"enqueue_messages", `{"queue":"q.fifo","body":"d"}`, "l", "refused 0"},
		}, 3},
		"seats": {"dynamodb-transact-write-condition", []bench.WorldEffect{{Class: "item", Attrs: map[string]any{"table": "seats", "flight": "f/1", "seat": "1", "guest": "omar"}}}, []call{
			{"book_seats", `{"flight":"f/1","seat":["2","3"],"guest":"ines"}`, "", "done 0"},
			{"book_seats", `{"flight":"f/1","seat":["4","3"],"guest":"zoe"}`, "", "conflict seats/f%2F1/3"},
			{"book_seats", `{"flight":"f/1","seat":"1","guest":"zoe"}`, "", "conflict seats/f%2F1/1"},
			{"find_seats", `{"flight":"f/1"}`, "", "done 0 seats/f%2F1/1 omar, seats/f%2F1/2 ines, seats/f%2F1/3 ines"},
			{"find_seats", `{"flight":"f"}`, "", "done 0"},
		}, 2},
		"points": {"dynamodb-transact-write", nil, []call{
			{"add_points", `{"account":["a","b"],"points":"5","reason":"r"}`, "k", "done 0"},
			{"add_points", `{"account":["a","b"],"points":5,"reason":"r"}`, "k", "done 0"},
			{"add_points", `{"account":["a","b"],"points":6,"reason":"r"}`, "k", "conflict 0"},
			{"add_points", `{"account":"a","points":5}`, "", "done 0"},
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			contract, ok := contracts.Find(c.contract)
			if !ok {
				t.Fatalf("contract %s is not there", c.contract)
			}
			dir, clock := t.TempDir(), &stoppedClock{}
			fake, err := fakeproviders.Raise(withDeadline(t), bench.ProviderSpec{Kind: contract.Provider, Contract: contract, Dir: dir, World: c.world, Gate: open{}, Clock: clock})
			if err != nil {
				t.Fatal(err)
			}
			defer fake.Close()
			address, err := fake.Listen("provider/1")
			if err != nil {
				t.Fatal(err)
			}
			offered := map[string]bench.ToolUse{}
			for _, each := range c.calls {
				offered[each.tool] = bench.ToolUse{Errors: bench.ErrorsTyped}
				if !ByName(each.tool).ReadOnly() {
					offered[each.tool] = bench.ToolUse{Key: bench.KeyArgument, Errors: bench.ErrorsTyped}
				}
			}
			s := raise(t, newTestPool(t), bench.ToolServerConfig{ProviderKind: contract.Provider, Provider: address, Tools: offered, Key: contract.Advertised.Key, Now: clock.Now()})
			defer s.Release()
			by := map[string]int{}
			for i, each := range c.calls {
				args := decode(t, each.args)
				if each.key != "" {
					args[keyArgument] = each.key
				}
				_, a := post(t, s, each.tool, args, "", "")
				got := fmt.Sprintf("%s %d", a.Status, len(a.Receipts))
				switch {
				case len(a.Receipts) == 1 && a.Status == Conflict:
					got = "conflict " + a.Receipts[0]
				case len(a.Receipts) == 1 && by[a.Receipts[0]] > 0:
					got = fmt.Sprintf("%s of call %d", a.Status, by[a.Receipts[0]])
				case len(a.Receipts) == 1:
					by[a.Receipts[0]] = i + 1
				}
				for n, f := range a.Found {
					got += map[bool]string{true: " ", false: ", "}[n == 0] + fmt.Sprintf("%v %v", f["id"], f["guest"])
				}
				if got != each.want {
					t.Errorf("call %d: %s (%s), want %s", i+1, got, a.Message, each.want)
				}
			}
			st, err := store.Open(context.Background(), dir)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			all, err := st.Objects()
			if err != nil || len(all)-len(c.world) != c.effects {
				t.Errorf("%d effects (%v), want %d", len(all)-len(c.world), err, c.effects)
			}
		})
	}
}
