// Command sixthcopy loses acknowledgements on purpose, at every place where that can happen to a system
// that retries, and counts what then exists in the outside world.
package main

import (
	"context"
	"os"
)

func main() { os.Exit(sixthcopy(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
