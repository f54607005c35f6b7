package systems

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/sixthcopy/sixthcopy/systems/agent"
)

// The test binary runs itself: as the reference agent, and as systems that misbehave.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "agent":
			os.Exit(agent.Main(context.Background(), os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
		case "misbehave":
			misbehave(os.Args[2], os.Args[3:])
			os.Exit(0)
		}
	}
	if err := Subreap(); err != nil {
		fmt.Fprintln(os.Stderr, "the tests need a subreaper:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// misbehave is a system that breaks the contract in one way.
func misbehave(how string, rest []string) {
	orders := bufio.NewScanner(os.Stdin)
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	serve := func(onTurn func()) {
		for orders.Scan() {
			var o struct {
				Type string
				Seq  int
			}
			if json.Unmarshal(orders.Bytes(), &o) != nil {
				os.Exit(3)
			}
			if o.Type == "start" {
				say(`{"type":"started","wire":1}`)
			}
			say(`{"type":"ack","seq":%d}`, o.Seq)
			if o.Type == "turn" {
				onTurn()
			}
		}
	}
	switch how {
	case "well":
		serve(func() {
			say(`{"type":"claim","turn":"t1","call":1,"outcome":"done","receipts":["x"]}`)
			say(`{"type":"idle","seq":2}`)
		})
	case "rubbish":
		say("Loading model...")
		serve(func() {})
	case "hangs":
		select {}
	case "deaf": // reads nothing and prints nothing, but lives
		syscall.Pause()
	case "exits":
		fmt.Fprintln(os.Stderr, "no module named langgraph")
		os.Exit(7)
	case "floods-line":
		line := strings.Repeat("x", 1<<20)
		for range 100 {
			fmt.Print(line)
		}
	case "floods-words":
		serve(func() {
			line := strings.Repeat("y", 1<<19)
			for range 200 {
				say(`{"type":"error","detail":%q}`, line)
			}
		})
	case "many-words":
		serve(func() {
			for range 100000 {
				say(`{"type":"idle","seq":2}`)
			}
		})
	case "silent":
		serve(func() {})
	case "old":
		orders.Scan()
		say(`{"type":"started","wire":7}`)
		serve(func() {})
	case "forks":
		// A child in its own session, and a grandchild whose parent is gone: both outside the group.
		child := exec.Command(os.Args[0], "misbehave", "daemon", rest[0])
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			os.Exit(4)
		}
		group := exec.Command(os.Args[0], "misbehave", "sleeps", rest[0])
		if err := group.Start(); err != nil {
			os.Exit(4)
		}
		serve(func() { os.Exit(0) })
	case "daemon":
		grandchild := exec.Command(os.Args[0], "misbehave", "sleeps", rest[0])
		grandchild.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := grandchild.Start(); err != nil {
			os.Exit(4)
		}
	case "sleeps":
		// Holds the write end of a pipe: its reader sees the end when all holders are dead.
		pipe, err := os.OpenFile(rest[0], os.O_WRONLY, 0)
		if err != nil {
			os.Exit(5)
		}
		fmt.Fprintln(pipe, "alive")
		select {}
	case "dials":
		dial(rest)
	}
}
