package api

import (
	"maps"
	"slices"
	"sync"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Maximum number of tasks whose frames wait for a slow reader, and of the bytes of these frames. A reader with more has to read the
// list again.
const (
	maxUnsent      = 500
	maxUnsentBytes = 1 << 20
)

// taskReader is the reader of a list of tasks. It keeps the newest frame of each changed task until the frame is sent.
type taskReader struct {
	of       *taskWatch
	projects []string      // empty: all
	news     chan struct{} // ready after a change

	mu     sync.Mutex
	ready  bool // from now on no change is missed
	reset  bool // changes were left out
	frames map[string][]byte
	bytes  int // of all frames
}

func newTaskReader(of *taskWatch, projects []string) *taskReader {
	return &taskReader{of: of, projects: projects, news: make(chan struct{}, 1), frames: map[string][]byte{}}
}

// take returns the frames to send, and whether the reader is ready.
func (r *taskReader) take() (text []byte, ready bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reset {
		text = []byte("event: reset\ndata: {}\n\n")
	}
	for _, id := range slices.Sorted(maps.Keys(r.frames)) {
		text = append(text, r.frames[id]...)
	}
	r.reset, r.bytes = false, 0
	clear(r.frames)
	return text, r.ready
}

// put keeps the frame of a changed task.
func (r *taskReader) put(t client.Task, frame []byte) {
	if len(r.projects) > 0 && !slices.Contains(r.projects, t.ProjectID) {
		return
	}
	r.mu.Lock()
	r.bytes += len(frame) - len(r.frames[t.ID])
	r.frames[t.ID] = frame
	full := len(r.frames) > maxUnsent || r.bytes > maxUnsentBytes
	r.mu.Unlock()
	if full {
		r.leaveOut()
	}
	wait.Notify(r.news)
}

// leaveOut makes the reader read the list again.
func (r *taskReader) leaveOut() {
	r.mu.Lock()
	r.reset, r.bytes = true, 0
	clear(r.frames)
	r.mu.Unlock()
	wait.Notify(r.news)
}

func (r *taskReader) begin() {
	r.mu.Lock()
	r.ready = true
	r.mu.Unlock()
	wait.Notify(r.news)
}

func (r *taskReader) leave() { r.of.watches.leave(r) }
