package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// api is somebody's service: a POST makes an object of its body, under a key one only.
type api struct {
	*httptest.Server
	mu      sync.Mutex
	objects []bench.Effect
	keys    map[string]string
	hidden  int   // how many readings do not show the newest object yet
	reads   int   // of the oracle
	fails   error // of the oracle
	blind   bool  // the oracle shows nothing
	cuts    bool  // it ends connections without an answer
	posts   int
}

func newAPI(t *testing.T) *api {
	a := &api{keys: map[string]string{}}
	a.Server = httptest.NewServer(http.HandlerFunc(a.serve))
	t.Cleanup(a.Close)
	return a
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a request that is cut makes nothing
	a.mu.Lock()
	defer a.mu.Unlock()
	form, _ := url.ParseQuery(string(body)) // nor does one that cannot be read
	if a.cuts {
		panic(http.ErrAbortHandler)
	}
	if r.Method != http.MethodPost {
		fmt.Fprintln(w, "[]")
		return
	}
	a.posts++
	if form.Get("room") == "none" {
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprintln(w, `{"error":"no such room"}`)
		return
	}
	id := a.keys[r.Header.Get("Idempotency-Key")]
	if id == "" {
		id = a.add(form.Get("room"), form.Get("guest"))
		if key := r.Header.Get("Idempotency-Key"); key != "" {
			a.keys[key] = id
		}
	}
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"id":%q}`, id)
}

// add needs mu.
func (a *api) add(room, guest string) string {
	id := fmt.Sprintf("b%d", len(a.objects)+1)
	a.objects = append(a.objects, bench.Effect{Object: id, Class: "booking", Attrs: map[string]any{"room": room, "guest": guest}, Sign: 1})
	return id
}

func (a *api) read(context.Context) ([]bench.Effect, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reads++
	if a.fails != nil {
		return nil, a.fails
	}
	if a.blind {
		return nil, nil
	}
	n := len(a.objects)
	if a.hidden > 0 && n > 0 {
		a.hidden--
		n--
	}
	return slices.Clone(a.objects[:n]), nil
}

// watch is a gate that notes what arrives, and says what a point meets.
type watch struct {
	mu    sync.Mutex
	seen  []bench.Arrival
	meets func(bench.Arrival) bench.Action
}

func (g *watch) Arrive(a bench.Arrival) bench.Action {
	g.mu.Lock()
	g.seen = append(g.seen, a)
	g.mu.Unlock()
	if g.meets != nil {
		return g.meets(a)
	}
	return bench.Action{Act: bench.Pass}
}
func (g *watch) Left(bench.Arrival)  {}
func (g *watch) Ended(bench.Arrival) {}

// last is where the latest arrival was, and its note.
func (g *watch) last() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.seen[len(g.seen)-1]
	return strings.TrimSpace(a.Request + " " + string(a.Point) + " " + a.Note)
}

var tools = map[string]bench.ToolUse{
	"book": {External: &bench.ExternalTool{Makes: "booking", Arguments: []bench.ExternalArgument{{Name: "room", Type: "text"}, {Name: "guest", Type: "text"}},
		Request: bench.ExternalRequest{Method: "POST", Path: "/bookings", Form: map[string]string{"room": "${room}", "guest": "${guest}"}},
		Answer:  bench.ExternalAnswer{Receipt: "id"}}},
	"list": {External: &bench.ExternalTool{Request: bench.ExternalRequest{Method: "GET", Path: "/bookings"}, Answer: bench.ExternalAnswer{Found: &bench.ExternalFound{ID: "id"}}}},
}

// stand raises a door before an api and opens a front.
type stand struct {
	*testing.T
	*api
	gate  *watch
	door  bench.Provider
	front string
}

func raise(t *testing.T, lag time.Duration, prepare ...func(*api)) *stand {
	t.Helper()
	s := &stand{T: t, api: newAPI(t), gate: &watch{}}
	for _, p := range prepare {
		p(s.api)
	}
	var err error
	s.door, err = New(func(bench.ExternalOracle) (Read, error) { return s.api.read, nil }).Raise(t.Context(), s.spec(lag))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.door.Close() }) // twice is no error
	if s.front, err = s.door.Listen("provider/1"); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stand) spec(lag time.Duration) bench.ProviderSpec {
	return bench.ProviderSpec{Kind: bench.KindExternal, Gate: s.gate, Tools: tools,
		External: &bench.External{Upstream: s.URL, Oracle: bench.ExternalOracle{LagMS: int(lag.Milliseconds())}}}
}

// post asks for a booking through the door; "" is a connection that ended.
func (s *stand) post(room, guest, key string) string {
	s.Helper()
	req, err := http.NewRequest("POST", "http://"+s.front+"/bookings", strings.NewReader(url.Values{"room": {room}, "guest": {guest}}.Encode()))
	if err != nil {
		s.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return ""
	}
	return fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(body)))
}

// effects are what a reading shows: OBJECT by REQUEST.
func (s *stand) effects() string {
	s.Helper()
	all, err := s.door.(bench.Oracle).Read(s.Context(), "")
	if err != nil {
		return "error: " + err.Error()
	}
	var out []string
	for _, e := range all {
		out = append(out, e.Object+" by "+e.Request)
	}
	return strings.Join(out, ", ")
}

func (s *stand) want(what, got, want string) {
	s.Helper()
	if got != want {
		s.Errorf("%s: %q, expected %q", what, got, want)
	}
}

func TestACommitIsShownByTheOracle(t *testing.T) {
	s := raise(t, 0, func(a *api) { a.add("9", "before") })
	s.want("answer", s.post("12", "ann", ""), `201 {"id":"b2"}`)
	s.want("park", s.gate.last(), "r1 provider/committed the oracle shows b2")
	s.want("refusal", s.post("none", "ann", ""), `422 {"error":"no such room"}`)
	s.want("park of the refusal", s.gate.last(), "r2 provider/before-response the oracle shows nothing new")
	s.want("effects", s.effects(), "b1 by , b2 by r1")
}

func TestAReplayIsADedupRecord(t *testing.T) {
	s := raise(t, 0)
	s.post("12", "ann", "k")
	s.want("replay", s.post("12", "ann", "k"), `201 {"id":"b1"}`)
	s.want("park", s.gate.last(), "r2 provider/before-response the answer names b1, which was there")
	if d := s.door.Dedup(); len(d) != 1 || d[0] != (bench.DedupRecord{By: "provider", Request: "r2", Record: "b1"}) {
		t.Errorf("dedup records %v", d)
	}
}

// What ends at the door never gets in; what is lost on its way back was carried out.
func TestStrikes(t *testing.T) {
	s := raise(t, 0)
	s.gate.meets = func(a bench.Arrival) bench.Action {
		if a.Request == "r1" && a.Point == bench.Received || a.Request == "r2" && a.Point == bench.Committed {
			return bench.Action{Act: bench.Reset}
		}
		return bench.Action{Act: bench.Pass}
	}
	s.want("ended at the door", s.post("12", "ann", ""), "")
	s.want("effects", s.effects(), "")
	s.want("lost on its way back", s.post("12", "ann", ""), "")
	s.want("effects", s.effects(), "b1 by r2")
	if s.posts != 1 {
		t.Errorf("%d requests got in, expected 1", s.posts)
	}
}

// A request that is held at the door has made nothing, so the effect of its retry is the retry's.
func TestHeldRequestMadeNothing(t *testing.T) {
	s := raise(t, 0)
	held, go_ := make(chan struct{}), make(chan struct{})
	s.gate.meets = func(a bench.Arrival) bench.Action {
		if a.Request == "r1" && a.Point == bench.Received {
			close(held)
			<-go_
		}
		return bench.Action{Act: bench.Pass}
	}
	first := make(chan string)
	go func() { first <- s.post("12", "ann", "") }()
	<-held
	s.post("12", "ann", "")
	s.want("while the first is held", s.effects(), "b1 by r2")
	close(go_)
	s.want("the first", <-first, `201 {"id":"b2"}`)
	s.want("late", s.effects(), "b1 by r2, b2 by r1")
}

// Objects go to the request that they fit best, strangers' to nobody.
func TestAttribution(t *testing.T) {
	for name, c := range map[string]struct {
		does func(s *stand)
		want string
	}{
		"a stranger's, before any request": {func(s *stand) { s.stranger("12", "ann") }, "b1 by "},
		"a stranger's, unlike any request": {func(s *stand) { s.post("12", "ann", ""); s.stranger("9", "zoe") }, "b1 by r1, b2 by "},
		"two of one request":               {func(s *stand) { s.post("12", "ann", ""); s.stranger("12", "ann") }, "b1 by r1, b2 by r1"},
		"refused, then shown late":         {func(s *stand) { s.post("none", "ann", ""); s.stranger("none", "ann") }, "b1 by r1"},
		"refused, then made by another":    {func(s *stand) { s.post("none", "ann", ""); s.post("12", "ann", "") }, "b1 by r2"},
		"equal ones":                       {func(s *stand) { s.post("12", "ann", ""); s.post("12", "ann", "") }, "b1 by r1, b2 by r2"},
		"of another class": {func(s *stand) {
			s.post("12", "ann", "")
			s.mu.Lock()
			s.objects = append(s.objects, bench.Effect{Object: "x", Class: "invoice"})
			s.mu.Unlock()
		}, "b1 by r1, x by "},
		"gone again": {func(s *stand) { s.post("12", "ann", ""); s.mu.Lock(); s.objects = nil; s.mu.Unlock() }, "b1 by r1"},
	} {
		t.Run(name, func(t *testing.T) {
			s := raise(t, 0)
			if strings.HasPrefix(name, "a stranger's, before") {
				s.effects() // the reading after which it comes
			}
			c.does(s)
			s.want("effects", s.effects(), c.want)
		})
	}
}

func (s *stand) stranger(room, guest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(room, guest)
}

// Within its lag an oracle is asked again; the answer waits for what it shows.
func TestLag(t *testing.T) {
	s := raise(t, 5*time.Second)
	s.mu.Lock()
	s.hidden = 3
	s.mu.Unlock()
	s.want("answer", s.post("12", "ann", ""), `201 {"id":"b1"}`)
	s.want("park", s.gate.last(), "r1 provider/committed the oracle shows b1")
	if s.reads != 5 { // at the start, three that do not show it, one that does
		t.Errorf("%d readings, expected 5", s.reads)
	}
	s.want("busy", s.door.Busy(), "")
	s.post("none", "ann", "") // it may show yet, whatever the answer said
	s.want("busy after a refusal", s.door.Busy(), "waiting for the oracle's lag")
}

// What the harness cannot know proves nothing, and it says why.
func TestProvesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(s *stand)
		want   string
	}{
		"the oracle shows it too late": {func(s *stand) { s.hidden = 1 }, `the oracle does not show its object "b1" within 0s: if it takes longer to show, say so in oracle.lag`},
		"the oracle reads nothing":     {func(s *stand) { s.blind = true }, "the oracle reads something else than the tool makes"},
		"the oracle fails":             {func(s *stand) { s.fails = errors.New("no such table: bookings") }, "oracle: no such table: bookings"},
		"the upstream cuts":            {func(s *stand) { s.cuts = true }, "did not answer: it ended the connection; no fault was placed there"},
		"the upstream is gone":         {func(s *stand) { s.Server.Listener.Close() }, "cannot be reached any more"},
	} {
		t.Run(name, func(t *testing.T) {
			s := raise(t, 0)
			s.mu.Lock()
			c.breaks(s)
			s.mu.Unlock()
			s.want("answer", s.post("12", "ann", ""), "")
			s.mu.Lock()
			s.fails, s.hidden = nil, 0 // mended afterwards, it stays broken
			s.mu.Unlock()
			if got := s.effects(); !strings.HasPrefix(got, "error: request r1 (book): ") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, expected %q in it", got, c.want)
			}
			s.want("busy", s.door.Busy(), "")
		})
	}
}

// A read is not held against the oracle, and one that fits no tool is passed on.
func TestReads(t *testing.T) {
	s := raise(t, 0, func(a *api) { a.blind = true })
	for _, path := range []string{"/bookings", "/else"} {
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(must(http.NewRequest("GET", "http://"+s.front+path, nil)))
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("GET %s: %v, %v", path, resp, err)
		}
		_ = resp.Body.Close() // read or not
	}
	s.want("park", s.gate.last(), "r2 provider/before-response")
	s.want("effects", s.effects(), "")
}

func must(r *http.Request, err error) *http.Request {
	if err != nil {
		panic(err)
	}
	return r
}

// Trials at one upstream run one at a time.
func TestOneAtATime(t *testing.T) {
	a := newAPI(t)
	doors := New(func(bench.ExternalOracle) (Read, error) { return a.read, nil })
	spec := (&stand{api: a, gate: &watch{}}).spec(0)
	first, err := doors.Raise(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := doors.Raise(ended, spec); !errors.Is(err, context.Canceled) {
		t.Fatalf("a second door while the first stands: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := doors.Raise(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}

// Where nobody listens, or the oracle fails at once, no trial begins, and the next one may.
func TestNothingThere(t *testing.T) {
	a := newAPI(t)
	a.fails = errors.New("no such table: bookings")
	doors := New(func(bench.ExternalOracle) (Read, error) { return a.read, nil })
	spec := (&stand{api: a, gate: &watch{}}).spec(0)
	if _, err := doors.Raise(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "oracle: no such table") {
		t.Errorf("an oracle that fails: %v", err)
	}
	a.Close()
	if _, err := doors.Raise(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("an upstream that is down: %v", err)
	}
}
