package tools

import (
	"sync"

	"github.com/sixthcopy/sixthcopy/bench"
)

// notes hands a replica's notes to whoever reads its channel. A slow reader never holds up the child:
// what it has not read waits here.
type notes struct {
	mu      sync.Mutex
	waiting []bench.ToolServerNote
	arrived chan struct{} // has room for one token
	out     chan bench.ToolServerNote
	over    chan struct{}
}

func newNotes() *notes {
	n := &notes{}
	n.begin()
	return n
}

func (n *notes) begin() {
	n.waiting = nil
	n.arrived = make(chan struct{}, 1)
	n.out = make(chan bench.ToolServerNote)
	n.over = make(chan struct{})
	go n.pump(n.arrived, n.out, n.over)
}

func (n *notes) channel() <-chan bench.ToolServerNote {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.out
}

func (n *notes) add(note bench.ToolServerNote) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiting = append(n.waiting, note)
	select {
	case n.arrived <- struct{}{}:
	default:
	}
}

// forget closes the channel and begins another.
func (n *notes) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.over)
	n.begin()
}

func (n *notes) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.over)
}

func (n *notes) pump(arrived chan struct{}, out chan bench.ToolServerNote, over chan struct{}) {
	defer close(out)
	for {
		select {
		case <-arrived:
		case <-over:
			return
		}
		n.mu.Lock()
		batch := n.waiting
		n.waiting = nil
		n.mu.Unlock()
		for _, note := range batch {
			select {
			case out <- note:
			case <-over:
				return
			}
		}
	}
}
