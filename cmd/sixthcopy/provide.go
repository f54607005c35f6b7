package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sixthcopy/sixthcopy/bench"
	"github.com/sixthcopy/sixthcopy/fakeproviders/contracts"
	"github.com/sixthcopy/sixthcopy/fakeproviders/provide"
	"github.com/sixthcopy/sixthcopy/oracles"
)

// provideOptions are the flags of provide.
type provideOptions struct {
	listen, store string
	beyond        bool
}

// provided is the one line that provide prints when the fake can be called.
type provided struct {
	Name      string `json:"name"`
	Address   string `json:"address"`    // base URL for clients of the provider
	Control   string `json:"control"`    // base URL of the clock, the gate and what was counted
	TokenFile string `json:"token_file"` // for its owner's eyes only; gone when the fake ends
}

func provideCommand(c *console) *cobra.Command {
	var o provideOptions
	cmd := &cobra.Command{
		Use:   "provide CONTRACT",
		Short: "Serve one fake provider for tests of your own",
		Long: `provide serves one fake provider that keeps the contract of this name, until it
is interrupted: SIGINT and SIGTERM end it with status 0, and what was committed
is kept if --store names a file.

When it can be called it prints one line:

  {"name":"stripe-v1","address":"http://127.0.0.1:40001",
   "control":"http://127.0.0.1:40002","token_file":"/tmp/sixthcopy-1/token"}

Point an unmodified SDK at the address. The control address moves the clock,
gives the gate its orders (the answer to the next refund is lost) and lists what
exists; it wants the token that lies in the token file. docs/provide.md has it
all, with examples that run.`,
		Example: `  sixthcopy provide stripe-v1
  sixthcopy provide ecs-run-task --listen 127.0.0.1:8080 --store ecs.db
  sixthcopy list contracts`,
		Args: exactly(1, "the name of a contract"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.store == "" && cmd.Flags().Changed("store") {
				return usagef("name a file, or leave --store away: nothing is kept then", "--store is empty")
			}
			return o.serve(cmd.Context(), c, args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "address to be called at; port 0 is any free one")
	f.BoolVar(&o.beyond, "beyond-loopback", false, "let --listen name an address that other machines reach: a fake asks nobody who he is")
	f.StringVar(&o.store, "store", "", "file that keeps requests, effects, keys and the clock from one start to the next (default: nothing is kept)")
	return cmd
}

// serve serves the fake until ctx ends.
func (o provideOptions) serve(ctx context.Context, c *console, name string) (err error) {
	contract, err := contractNamed(name)
	if err != nil {
		return err
	}
	oracle, ok := oracles.Find(contract.Provider)
	if !ok {
		return fmt.Errorf("provider %s has no oracle", contract.Provider)
	}
	listener, err := o.door(ctx)
	if err != nil {
		return err
	}
	dir, leave, err := trialDir("")
	if err != nil {
		if at := (*os.PathError)(nil); errors.As(err, &at) {
			err = at // without what the folder is for in a run
		}
		return errors.Join(usagef("TMPDIR names a folder that can be written", "folder for the token file: %w", err), listener.Close())
	}
	defer func() { err = errors.Join(err, leave()) }()
	fake, err := provide.Open(ctx, provide.Spec{Contract: contract, Listener: listener, Dir: dir, File: o.store, Oracle: oracle, Machine: time.Now})
	if err != nil && o.store != "" {
		hint := ""
		if foreign := (*provide.Foreign)(nil); errors.As(err, &foreign) {
			hint = "--store names a file that only one fake of that contract has used, or a new one"
		}
		return &ending{misused, err, hint}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fake.Close(context.WithoutCancel(ctx))) }()
	token := rand.Text()
	handler, err := fake.Handler(token)
	if err != nil {
		return err
	}
	control, err := bench.Listen("127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("control address: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(control) }()
	defer func() { err = errors.Join(err, server.Close()) }()
	line := provided{name, "http://" + reachable(listener.Addr()), "http://" + control.Addr().String(), filepath.Join(dir, "token")}
	if err := os.WriteFile(line.TokenFile, []byte(token), 0o600); err != nil {
		return fmt.Errorf("token: %w", err)
	}
	if err := json.NewEncoder(c.out).Encode(line); err != nil {
		return fmt.Errorf("address: %w", err)
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-served:
		return fmt.Errorf("control address: %w", err)
	}
}

// contractNamed finds a contract, or says which are meant.
func contractNamed(name string) (bench.Contract, error) {
	if c, ok := contracts.Find(name); ok {
		return c, nil
	}
	var names, its []string
	for _, c := range contracts.All {
		names = append(names, c.Name)
		if c.Provider == name {
			its = append(its, c.Name)
		}
	}
	hint := "`sixthcopy list contracts` says what each promises"
	if len(its) > 0 {
		slices.Sort(its)
		return bench.Contract{}, usagef(hint, "%s is a kind of provider; its contracts are %s", name, strings.Join(its, ", "))
	}
	if near := nearest(name, names); near != "" {
		return bench.Contract{}, usagef(hint, "unknown contract %q; did you mean %q?", name, near)
	}
	return bench.Contract{}, usagef(hint, "unknown contract %q", name)
}

// door listens where --listen says.
func (o provideOptions) door(ctx context.Context) (net.Listener, error) {
	host, port, err := net.SplitHostPort(o.listen)
	if err != nil {
		return nil, usagef("--listen 127.0.0.1:8080, or with port 0 for any free one", "--listen is %q, expected HOST:PORT", o.listen)
	}
	if !o.beyond {
		addresses := []string{host}
		if host != "" && net.ParseIP(host) == nil {
			if addresses, err = net.DefaultResolver.LookupHost(ctx, host); err != nil {
				return nil, usagef("name an address of this machine", "--listen %s: %w", o.listen, err)
			}
		}
		for _, a := range addresses {
			if ip := net.ParseIP(a); ip == nil || !ip.IsLoopback() {
				return nil, usagef("--beyond-loopback allows it, where a container must reach the fake say; the control address stays on loopback",
					"--listen %s can be reached from other machines, and a fake asks nobody who he is: whoever reaches it reads and writes", o.listen)
			}
		}
	}
	if host == "localhost" { // two addresses: the one that listeners here have
		host = "127.0.0.1"
	}
	l, err := bench.Listen(net.JoinHostPort(host, port))
	if err != nil {
		return nil, usagef("--listen 127.0.0.1:0 takes a free port; addresses are IPv4", "--listen %s: %w", o.listen, err)
	}
	return l, nil
}

// reachable is an address that a client on this machine can dial.
func reachable(a net.Addr) string {
	if t, ok := a.(*net.TCPAddr); ok && t.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", fmt.Sprint(t.Port))
	}
	return a.String()
}
