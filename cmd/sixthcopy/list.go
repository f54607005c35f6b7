package main

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sixthcopy/sixthcopy/bench"
)

// thing is one entry of a list.
type thing struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Summary string `json:"summary"`
	State   string `json:"state,omitempty"` // of a system: whether it can be run
}

// boundarySummaries says of each boundary where the call is parked and what is then true.
var boundarySummaries = map[bench.Boundary]string{
	bench.BeforeDispatch:          "the request is held at a link and nothing was forwarded: nothing happened",
	bench.ReceivedBeforeCommit:    "the provider has the whole request and has changed nothing: nothing happened",
	bench.CommittedBeforeResponse: "the provider has committed durably and no byte of the answer has left: it happened",
	bench.ResponseAtToolServer:    "the tool server has the provider's whole answer and the agent has nothing",
	bench.DuringCancellation:      "the call is cancelled before receipt, between receipt and commit, or after commit",
	bench.TimeoutBeforeCompletion: "the provider holds the call until the caller's time-out is seen, then commits late or never",
	bench.CrashRestart:            "the agent is killed around the call and started again on the same state folder",
	bench.OtherInstance:           "the answer is lost and the retry reaches a tool server without the first one's memory",
	bench.TokenExpired:            "the answer is lost and the retry comes around the end of the key's retention",
	bench.ParameterDrift:          "the answer is lost and the repair asks for the same thing in other words",
}

func boundaries() ([]thing, error) {
	var all []thing
	for _, b := range bench.Boundaries {
		all = append(all, thing{Name: string(b), Kind: "boundary", Summary: boundarySummaries[b]})
	}
	return all, nil
}

func listCommand(p parts, c *console) *cobra.Command {
	var format, dir string
	lists := map[string]func() ([]thing, error){
		"boundaries": boundaries,
		"contracts":  p.contracts,
		"providers":  p.providers,
		"systems":    func() ([]thing, error) { return p.systems(dir) },
		"workloads":  p.workloads,
	}
	names := []string{"boundaries", "contracts", "providers", "systems", "workloads"}
	cmd := &cobra.Command{
		Use:   "list systems|workloads|boundaries|providers|contracts",
		Short: "List what a run can be made of",
		Args:  exactly(1, "one of systems, workloads, boundaries, providers, contracts"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := oneOf("format", format, "text", "json"); err != nil {
				return err
			}
			list, ok := lists[args[0]]
			if !ok {
				return unknown("list", args[0], names)
			}
			all, err := list()
			if err != nil {
				return err
			}
			return printList(c, format, all)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text or json: an array of objects with name, kind and summary, and the state of systems")
	cmd.Flags().StringVar(&dir, "systems", "", "folder of more systems (default ./systems, if it is there)")
	return cmd
}

func printList(c *console, format string, all []thing) error {
	if format == "json" {
		e := json.NewEncoder(c.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(append([]thing{}, all...))
	}
	name, kind, state := 0, 0, 0
	for _, t := range all {
		name, kind, state = max(name, len(t.Name)), max(kind, len(t.Kind)), max(state, len(t.State))
	}
	var b strings.Builder
	for _, t := range all {
		head := fmt.Sprintf("%-*s  %-*s  ", name, t.Name, kind, t.Kind)
		if state > 0 {
			head += fmt.Sprintf("%-*s  ", state, t.State)
		}
		if name+kind+state > 40 { // too little would be left for the summaries
			fmt.Fprintln(&b, strings.TrimRight(head, " "))
			head = "    "
		}
		hang(&b, head, t.Summary)
	}
	_, err := io.WriteString(c.out, b.String())
	return err
}

// flagNames lists the flags of a command.
func flagNames(cmd *cobra.Command) []string {
	var names []string
	for _, m := range flagName.FindAllStringSubmatch(cmd.Flags().FlagUsages(), -1) {
		names = append(names, m[1])
	}
	return names
}

var flagName = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)`)
