package textcut

import (
	"bytes"
	"sync"
)

// Tail keeps the last Max bytes that are written to it. Its methods can be called at the same time.
type Tail struct {
	Max int

	mu   sync.Mutex
	kept []byte
}

// Write never fails.
func (t *Tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, text...)
	if len(t.kept) > 2*t.Max { // not at each write, because it copies
		t.kept = bytes.Clone(t.last())
	}
	return len(text), nil
}

// Bytes returns the kept end.
func (t *Tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.last())
}

func (t *Tail) last() []byte { return t.kept[max(0, len(t.kept)-t.Max):] }
