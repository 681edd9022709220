package command

import (
	"io"
	"sync"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
)

const (
	maxKept = 64 << 10 // of the end of an output
	maxTail = 5000     // of it that is told
)

// output is what a program printed that is no event: it goes to the log, and its end is kept.
type output struct {
	log io.Writer

	mu   sync.Mutex
	kept []byte
}

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = o.log.Write(p)
	o.kept = append(o.kept, p...)
	if len(o.kept) > 2*maxKept {
		o.kept = append([]byte(nil), o.kept[len(o.kept)-maxKept:]...)
	}
	return len(p), nil
}

// text is the end of it, without what hide takes out.
func (o *output) text(hide func(string) string) string {
	o.mu.Lock()
	text := string(o.kept[max(len(o.kept)-maxKept, 0):])
	o.mu.Unlock()
	if hide != nil {
		text = hide(text)
	}
	return textcut.Last(text, maxTail)
}
