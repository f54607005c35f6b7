package bench

import "sync"

// Event is one entry of a trial's history. It names causes and proves strikes; no count rests on it.
type Event struct {
	Tick     int    `json:"tick"`  // position in the history, from 1
	Actor    string `json:"actor"` // harness, gate, agent, agent-link, toolserver/1, provider-link/1, provider, clock
	Kind     string `json:"kind"`
	Turn     string `json:"turn,omitempty"`
	Call     *Call  `json:"call,omitempty"`
	Link     string `json:"link,omitempty"`
	Conn     int    `json:"conn,omitempty"`
	Exchange int    `json:"exchange,omitempty"`
	Request  string `json:"request,omitempty"`
	Word     *Word  `json:"word,omitempty"`
	Order    *Order `json:"order,omitempty"`
	Truth    Truth  `json:"truth,omitempty"`
	Told     string `json:"told,omitempty"`
	Status   int    `json:"status,omitempty"`
	Text     string `json:"text,omitempty"`
	Virtual  string `json:"virtual,omitempty"` // virtual time
	Micros   int64  `json:"us,omitempty"`      // real time since the trial's start; never in a normalised history
}

// HistorySchema is the version of Event.
const HistorySchema = 1

// History is a trial's ordered event log. It is safe for concurrent use.
type History struct {
	mu     sync.Mutex
	events []Event
	stamp  func() (virtual string, micros int64)
}

// NewHistory returns an empty history whose events are stamped by stamp.
func NewHistory(stamp func() (string, int64)) *History { return &History{stamp: stamp} }

// Log appends e and returns its tick.
func (h *History) Log(e Event) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.Tick = len(h.events) + 1
	e.Virtual, e.Micros = h.stamp()
	h.events = append(h.events, e)
	return e.Tick
}

// Events returns a copy of all events so far.
func (h *History) Events() []Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Event(nil), h.events...)
}

// Len is the tick of the last event.
func (h *History) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.events)
}
