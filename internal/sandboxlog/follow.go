package sandboxlog

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

// follow is a log that is handed on as it comes, while somebody looks.
type follow struct {
	asked time.Time // when the log was last read to its end
	from  io.ReadCloser
	keep  int64

	mu   sync.Mutex
	at   int64  // where text begins; guarded by mu
	text []byte // guarded by mu
	over bool   // nothing comes any more; guarded by mu
}

// followed answers what has come of a log that its provider hands on. It is false where that is not so, and from time to time: a
// stream that hangs looks like one in which nothing comes.
func (w *Watcher) followed(ctx context.Context, one Wanted) (first int64, text []byte, ok bool) {
	provider, can := w.providers[one.Provider].(sandbox.Follower)
	if !can {
		return 0, nil, false
	}
	f := w.follows[one.SandboxID]
	switch {
	case f == nil:
		w.begin(ctx, provider, one)
	case f.ended(), time.Since(f.asked) >= w.cfg.Ask:
		f.asked = time.Now()
	default:
		return f.behind(one.Read)
	}
	return 0, nil, false
}

func (w *Watcher) begin(ctx context.Context, p sandbox.Follower, one Wanted) {
	r, err := p.Follow(ctx, one.Labels, one.Read)
	if err != nil {
		w.log.DebugContext(ctx, "log of a sandbox not followed", slog.String("sandbox_id", one.SandboxID), slog.String("error", err.Error()))
		return
	}
	f := &follow{asked: time.Now(), from: r, keep: w.cfg.Keep, at: one.Read}
	w.follows[one.SandboxID] = f
	go f.read()
}

func (w *Watcher) leave(sandboxID string) {
	_ = w.follows[sandboxID].from.Close() // it was only read
	delete(w.follows, sandboxID)
}

// leaveBut ends the streams at which nobody looks any more.
func (w *Watcher) leaveBut(wanted []Wanted) {
	for id := range w.follows {
		if !slices.ContainsFunc(wanted, func(one Wanted) bool { return one.SandboxID == id }) {
			w.leave(id)
		}
	}
}

func (f *follow) read() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := f.from.Read(buffer)
		f.add(buffer[:n], err != nil)
		if err != nil {
			return
		}
	}
}

func (f *follow) add(text []byte, over bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text, f.over = append(f.text, text...), over
	if more := int64(len(f.text)) - f.keep; more > f.keep { // so that little is moved
		f.text, f.at = append(f.text[:0], f.text[more:]...), f.at+more
	}
}

func (f *follow) ended() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over
}

// behind answers what came behind offset, from a whole line on where what lay before has been dropped. It is false if offset lies beyond
// what came.
func (f *follow) behind(offset int64) (first int64, text []byte, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if offset < f.at {
		cut := int64(bytes.IndexByte(f.text, '\n') + 1)
		return f.at + cut, slices.Clone(f.text[cut:]), true
	}
	if offset > f.at+int64(len(f.text)) {
		return 0, nil, false
	}
	f.text, f.at = f.text[offset-f.at:], offset
	return f.at, slices.Clone(f.text), true
}
