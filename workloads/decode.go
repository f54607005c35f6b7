package workloads

import (
	"fmt"

	"github.com/sixthcopy/sixthcopy/bench"
)

// decode makes a workload of what was read, with the defaults filled in. Places that could not be read
// are left at their zero values.
func decode(v *value) bench.Workload {
	w := bench.Workload{
		Name:    v.get("name").text(),
		Summary: v.get("summary").text(),
		Provider: bench.ProviderUse{
			Kind:     v.get("provider").get("kind").text(),
			Contract: v.get("provider").get("contract").text(),
		},
		Tools: map[string]bench.ToolUse{},
		Net:   v.get("net").truth(),
	}
	if w.Provider.Kind == bench.KindExternal {
		w.Provider = external(v.get("provider"), w.Name)
	}
	for _, x := range v.get("world").list() {
		w.World = append(w.World, bench.WorldEffect{
			Class: x.get("class").text(), Attrs: x.get("attributes").plainMap(), Principal: x.get("principal").text(),
		})
	}
	for _, k := range v.get("tools").names() {
		w.Tools[k.Value] = toolUse(v.get("tools").get(k.Value))
	}
	for i, x := range v.get("turns").list() {
		w.Turns = append(w.Turns, turn(x, i+1))
	}
	for _, x := range v.get("outcomes").list() {
		w.Outcomes = append(w.Outcomes, outcome(x))
	}
	for _, x := range v.get("ordered").list() {
		w.Ordered = append(w.Ordered, x.text())
	}
	for _, x := range v.get("inject").get("boundaries").list() {
		w.Inject.Boundaries = append(w.Inject.Boundaries, bench.Boundary(x.text()))
	}
	for _, x := range v.get("inject").get("intents").list() {
		w.Inject.Intents = append(w.Inject.Intents, x.text())
	}
	if len(w.Inject.Intents) == 0 {
		w.Inject.Intents = firstIntent(w)
	}
	w.Repair = repair(v.get("repair"))
	for _, name := range bench.DriftNames {
		if x := v.get("drifts").get(name); x != nil {
			w.Drifts = append(w.Drifts, bench.Drift{Name: name, Args: x.get("args").plainMap(), Tool: x.get("tool").text()})
		}
	}
	return w
}

func firstIntent(w bench.Workload) []string {
	for _, t := range w.Turns {
		for _, in := range t.Intents {
			return []string{in.ID}
		}
	}
	return nil
}

func toolUse(v *value) bench.ToolUse {
	hint := func(name string) *bool {
		if x := v.get("annotations").get(name); x != nil {
			b := x.truth()
			return &b
		}
		return nil
	}
	var own *bench.ExternalTool
	if v.get("request") != nil {
		own = declaredTool(v)
	}
	return bench.ToolUse{
		External:  own,
		Key:       bench.KeyUse(v.get("key").textOr(string(bench.KeyNone))),
		Transport: bench.Transport(v.get("transport").textOr(string(bench.TransportMCP))),
		Errors:    bench.ErrorStyle(v.get("errors").textOr(string(bench.ErrorsVague))),
		Memory:    v.get("memory").truth(),
		Annotations: bench.Annotations{
			ReadOnly: hint("readOnlyHint"), Destructive: hint("destructiveHint"), Idempotent: hint("idempotentHint"),
		},
	}
}

func turn(v *value, ordinal int) bench.Turn {
	t := bench.Turn{
		ID:        v.get("id").textOr(fmt.Sprintf("t%d", ordinal)),
		Say:       v.get("say").text(),
		AsksAgain: v.get("asks_again").text(),
		Continues: v.get("continues").text(),
		Overlap:   v.get("overlap").truth(),
	}
	for _, x := range v.get("intents").list() {
		t.Intents = append(t.Intents, intent(x))
	}
	return t
}

func intent(v *value) bench.Intent {
	in := bench.Intent{
		Slots:     []bench.Slot{},
		ID:        v.get("id").text(),
		TwinOf:    v.get("twin_of").text(),
		Principal: v.get("principal").text(),
		Decision:  bench.Decision(v.get("decision").textOr(string(bench.Approved))),
		Call:      bench.ToolCall{Tool: v.get("call").get("tool").text(), Args: v.get("call").get("args").plainMap()},
	}
	effects := v.get("effects").list()
	for i, x := range effects {
		name := in.ID
		if len(effects) > 1 {
			name = fmt.Sprintf("%s/%d", in.ID, i+1)
		}
		in.Slots = append(in.Slots, bench.Slot{
			Name:       x.get("slot").textOr(name),
			Class:      x.get("class").text(),
			Match:      x.get("match").plainMap(),
			Count:      x.get("count").number(1),
			Sign:       x.get("sign").number(1),
			AttachedTo: x.get("attached_to").text(),
		})
	}
	return in
}

func outcome(v *value) bench.Outcome {
	if v == nil || v.fields == nil {
		return bench.Outcome{Word: v.text()}
	}
	if most := v.get("at_most"); most != nil {
		return bench.Outcome{AtMost: units(most)}
	}
	return bench.Outcome{Counts: units(v)}
}

func units(v *value) map[string]int {
	all := map[string]int{}
	for name, x := range v.fields {
		all[name] = x.number(0)
	}
	return all
}

func repair(v *value) bench.Repair {
	if v == nil || v.fields == nil {
		return bench.Repair{Kind: v.textOr("give-up")}
	}
	return bench.Repair{Kind: v.get("kind").text(), Drift: v.get("drift").plainMap(), Tool: v.get("tool").text()}
}

func (v *value) textOr(otherwise string) string {
	if v == nil {
		return otherwise
	}
	return v.text()
}
