package tools

import (
	"context"
	"sync"
)

// memory is the instance-local state of a tool server: what it answered, by the caller's key or call
// id, and the keys that it minted. It dies with the process and no other instance knows it.
type memory struct {
	mu      sync.Mutex
	answers map[string]*remembered
	minted  map[string]string // key by call id
}

// remembered is the answer to a call; it is set once done is closed.
type remembered struct {
	done   chan struct{}
	answer Answer
}

func newMemory() *memory {
	return &memory{answers: map[string]*remembered{}, minted: map[string]string{}}
}

// once carries a call out, or answers it from memory. A repeat of a call that is under way waits for
// it. Only a call that is done, in whole or in part, is remembered: after any other end the next repeat is carried out.
func (m *memory) once(ctx context.Context, id string, carryOut func() Answer) (answer Answer, repeated bool) {
	for {
		m.mu.Lock()
		first, known := m.answers[id]
		if !known {
			mine := &remembered{done: make(chan struct{})}
			m.answers[id] = mine
			m.mu.Unlock()
			mine.answer = carryOut()
			if !mine.answer.settled() {
				m.mu.Lock()
				delete(m.answers, id)
				m.mu.Unlock()
			}
			close(mine.done)
			return mine.answer, false
		}
		m.mu.Unlock()
		select {
		case <-first.done:
			if first.answer.settled() {
				return first.answer, true
			}
		case <-ctx.Done():
			return Answer{Status: Unknown, Message: "the caller left while an earlier copy of this call was under way"}, false
		}
	}
}

// mint returns the key of a call id, made anew if this instance has none for it.
func (m *memory) mint(callID string, fresh func() string) (key string, isNew bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if key, ok := m.minted[callID]; ok {
		return key, false
	}
	key = fresh()
	m.minted[callID] = key
	return key, true
}
