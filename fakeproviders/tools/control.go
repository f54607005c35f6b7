package tools

import (
	"time"

	"github.com/sixthcopy/sixthcopy/bench"
)

// The control protocol between the pool and a tool server: JSON objects, one a line, orders on the
// child's stdin and words on its stdout. It is private to this package.

// order types of the control protocol.
const (
	orderConfigure = "configure" // open a trial, forget the one before
	orderClock     = "clock"     // virtual time
	orderBusy      = "busy"      // how many calls are in hand
	orderWarm      = "warm"      // make one read on the provider connection
	orderRest      = "rest"      // wait until nothing is in hand, at most WithinMS, and forget the trial
)

// controlOrder is a line to a tool server. Every order is answered by a reply with its Seq.
type controlOrder struct {
	Seq      int                     `json:"seq"`
	Type     string                  `json:"type"`
	Config   *bench.ToolServerConfig `json:"config,omitempty"`
	Now      time.Time               `json:"now,omitzero"`
	WithinMS int                     `json:"within_ms,omitempty"` // real time
}

// controlWord is a line from a tool server.
type controlWord struct {
	Type    string                `json:"type"` // started, reply, note
	Address string                `json:"address,omitempty"`
	Seq     int                   `json:"seq,omitempty"`
	Busy    int                   `json:"busy,omitempty"`
	Error   string                `json:"error,omitempty"`
	Note    *bench.ToolServerNote `json:"note,omitempty"`
}
