package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// Paths of a tool server.
const (
	PathMCP         = "/mcp"          // streamable HTTP, stateless, protocol 2026-07-28
	PathMCPSessions = "/mcp-sessions" // streamable HTTP with sessions, protocol 2025-11-25
	PathTools       = "/tools/"       // plain JSON: POST /tools/NAME; GET lists the tools
)

// Main is a tool server: it listens on a free loopback port, says where on stdout, and serves until
// stdin ends or ctx is done. Orders come on stdin (see Pool). It returns the exit status.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		fmt.Fprintf(stderr, "sixthcopy: error: tool-server takes no arguments, got %q\n", args)
		return 2
	}
	listener, err := bench.Listen(bench.OwnLoopback())
	if err != nil {
		fmt.Fprintf(stderr, "sixthcopy: error: tool server: %v\n", err)
		return 4
	}
	s := &server{out: json.NewEncoder(stdout)}
	web := &http.Server{Handler: s}
	go web.Serve(listener)
	defer web.Close()
	s.say(controlWord{Type: "started", Address: listener.Addr().String()})

	lines := make(chan error, 1)
	go func() { lines <- s.obey(ctx, stdin) }()
	select {
	case <-ctx.Done():
		return 0
	case err := <-lines:
		if err != nil {
			fmt.Fprintf(stderr, "sixthcopy: error: tool server: %v\n", err)
			return 2
		}
		return 0
	}
}

// server is the child's side: the control protocol, and the surface of the current trial.
type server struct {
	outMu sync.Mutex
	out   *json.Encoder

	mu      sync.Mutex
	surface *surface // of the current trial; nil before the first
	inHand  int      // exchanges of agents, and calls that outlived theirs
	quiet   chan struct{}
}

func (s *server) say(w controlWord) {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	s.out.Encode(w) // a parent that is gone ends stdin too
}

// obey carries out orders until stdin ends.
func (s *server) obey(ctx context.Context, stdin io.Reader) error {
	decoder := json.NewDecoder(stdin)
	for {
		var o controlOrder
		if err := decoder.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("order on stdin: %w", err)
		}
		if o.Type == orderWarm || o.Type == orderRest { // these wait, and the clock must go on meanwhile
			go func() { s.reply(o, s.carryOut(ctx, o)) }()
			continue
		}
		s.reply(o, s.carryOut(ctx, o))
	}
}

func (s *server) reply(o controlOrder, err error) {
	w := controlWord{Type: "reply", Seq: o.Seq, Busy: s.busy()}
	if err != nil {
		w.Error = err.Error()
	}
	s.say(w)
}

func (s *server) carryOut(ctx context.Context, o controlOrder) error {
	current := s.current()
	if current == nil && o.Type != orderConfigure && o.Type != orderRest {
		return fmt.Errorf("order %q before configure", o.Type)
	}
	switch o.Type {
	case orderConfigure:
		if o.Config == nil {
			return errors.New("order configure without a config")
		}
		return s.configure(*o.Config)
	case orderClock:
		current.trial.clock.set(o.Now)
		return nil
	case orderBusy:
		return nil
	case orderWarm:
		return current.trial.warm(ctx)
	case orderRest:
		s.rest(ctx, time.Duration(o.WithinMS)*time.Millisecond)
		return nil
	}
	return fmt.Errorf("order %q is not one of configure, clock, busy, warm, rest", o.Type)
}

func (s *server) configure(config bench.ToolServerConfig) error {
	t, err := newTrial(config, func(n bench.ToolServerNote) { s.say(controlWord{Type: "note", Note: &n}) })
	if err != nil {
		return err
	}
	t.began, t.ended = s.began, s.ended
	s.replace(newSurface(t))
	return nil
}

func (s *server) replace(next *surface) {
	s.mu.Lock()
	before := s.surface
	s.surface = next
	s.mu.Unlock()
	if before != nil {
		before.trial.close()
	}
}

func (s *server) current() *surface {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.surface
}

// began and ended count what is in hand.
func (s *server) began() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inHand++
}

func (s *server) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inHand--
	if s.inHand == 0 && s.quiet != nil {
		close(s.quiet)
		s.quiet = nil
	}
}

func (s *server) busy() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inHand
}

// rest returns when nothing is in hand, or within has passed, and closes the trial.
func (s *server) rest(ctx context.Context, within time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	s.mu.Lock()
	var quiet chan struct{}
	if s.inHand > 0 {
		if s.quiet == nil {
			s.quiet = make(chan struct{})
		}
		quiet = s.quiet
	}
	s.mu.Unlock()
	if quiet != nil {
		select {
		case <-quiet:
		case <-ctx.Done():
		}
	}
	s.replace(nil)
}

// ServeHTTP serves agents. Every exchange but a stream that only listens counts as in hand.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	surface := s.current()
	if surface == nil {
		http.Error(w, "tool server: no trial is open", http.StatusServiceUnavailable)
		return
	}
	if r.Method == http.MethodPost {
		s.began()
		defer s.ended()
	}
	surface.ServeHTTP(w, r)
}
