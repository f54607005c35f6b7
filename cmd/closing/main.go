// Command closing reads the events of `go test -json` and says at the end what matters: what failed, what
// was skipped and why, by name, and how many tests there were. A skipped test is no passed test, so the
// names of skipped ones stand last, where they are read.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() { os.Exit(closing(os.Args[1:], os.Stdin, os.Stdout)) }

// closing returns 0 if tests ran and none failed, nor was skipped under -no-skip; 1 otherwise; 2 for
// bad usage or a file that cannot be written.
func closing(args []string, in io.Reader, out io.Writer) int {
	flags := flag.NewFlagSet("closing", flag.ContinueOnError)
	flags.SetOutput(out)
	noSkip := flags.Bool("no-skip", false, "a skipped test is a failure")
	record := flags.String("record", "", "folder in which to store the result of a deep run with its commit")
	deep := flags.String("deep", "", "folder of stored deep results: say whether they are stale")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	started := time.Now()
	r, err := read(in, out)
	if err != nil {
		fmt.Fprintf(out, "closing: events of go test: %v\n", err)
		return 2
	}
	r.Seconds = time.Since(started).Seconds()
	ok := r.print(out, *noSkip)
	if *record != "" {
		path, err := r.store(*record, started)
		if err != nil {
			fmt.Fprintf(out, "closing: result of the deep run: %v\n", err)
			return 2
		}
		fmt.Fprintf(out, "stored in %s\n", path)
	}
	if *deep != "" {
		fmt.Fprintln(out, staleness(*deep))
	}
	if !ok {
		return 1
	}
	return 0
}
