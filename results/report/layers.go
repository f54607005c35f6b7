package report

import "strings"

// Layer says in words who made an extra: bench.Cause.Layer names the outermost link with a new message before
// it.
func Layer(layer string) string {
	switch layer {
	case "redelivery":
		return "the caller, who handed the turn over again after the crash"
	case "restart":
		return "the system, by itself, when it came back after the crash"
	case "model":
		return "the caller's next call: a repair, or a new turn"
	case "agent link":
		return "the system, which sent the same call again by itself"
	case "provider link":
		return "the tool server, which sent its request again"
	}
	return "nobody known: no request that was seen"
}

// Told says in words what a caller had been told before an extra was made.
func Told(told string) string {
	if told == "nothing" || told == "" {
		return "its caller had been told nothing"
	}
	return "its caller had been told: " + told
}

// Folder is the part of a system's name that its variants share: "tenacity" of "tenacity/default".
func Folder(system string) string {
	folder, _, _ := strings.Cut(system, "/")
	return folder
}

// Pairs are the cells of the other variants of a cell's system: its default beside what is tuned.
func (r *Report) Pairs(c Cell) []Cell {
	var out []Cell
	for _, o := range r.Cells {
		if o.System != c.System && Folder(o.System) == Folder(c.System) && o.Workload == c.Workload && o.Boundary == c.Boundary && o.Variant == c.Variant && o.Struck == c.Struck {
			out = append(out, o)
		}
	}
	return out
}

// Worst is the worst verdict of a cell that proves something, in one word; "no proof" without one.
func (c Cell) Worst() string {
	switch {
	case c.Violation > 0:
		return "violation"
	case c.Safe > 0:
		return "safe"
	case c.Exact > 0:
		return "exact"
	}
	return "no proof"
}
