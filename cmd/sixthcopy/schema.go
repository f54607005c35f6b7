package main

import (
	"github.com/spf13/cobra"

	"github.com/sixthcopy/sixthcopy/results/report"
)

func schemaCommand(p parts, c *console) *cobra.Command {
	var of string
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of workload files, for editors",
		Args:  exactly(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			if err := oneOf("of", of, "workload", "report"); err != nil {
				return err
			}
			schema := report.JSONSchema
			if of == "workload" {
				var err error
				if schema, err = p.schema(); err != nil {
					return err
				}
			}
			_, err := c.out.Write(schema)
			return err
		},
	}
	cmd.Flags().StringVar(&of, "of", "workload", "workload or report")
	return cmd
}
