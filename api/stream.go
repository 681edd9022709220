package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	streamBatch = 100              // events of one look at the store
	streamBytes = 256 << 10        // of them, and all that a slow reader keeps in memory, give or take one event
	writeWait   = 30 * time.Second // for a reader that takes nothing
)

// feed is what a stream shows. It keeps its own place, so that a reader who is slow or was
// not woken goes on in the store where it stopped.
type feed struct {
	kind  string
	topic string
	read  func(ctx context.Context) (stretch, error) // the next events; it moves the place
	done  func(ctx context.Context) (bool, error)    // nothing more will come
	id    func(e ingest.StoredEvent) string          // asked once of each event, in order
	lost  string                                     // the place that was asked for and is not here; empty: none
	// access is what the route asks for; by it still judges whether the reader may go on.
	access access
	still  func(ctx context.Context) error
	opened func() (ended func())
}

// stretch is what one look at the store found; more says that there is more already.
type stretch struct {
	events []ingest.StoredEvent
	more   bool
}

// light is the beginning of a stretch that is long in bytes.
func (s stretch) light() stretch {
	size := 0
	for n, e := range s.events {
		if size += len(e.Data); size > streamBytes && n > 0 {
			return stretch{slices.Clone(s.events[:n]), true}
		}
	}
	return s
}

// stream answers with server-sent events until the feed is done, the reader leaves or the
// server stops.
func (a *API) stream(f feed) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", "text/event-stream")
		ctx.SetHeader("X-Accel-Buffering", "no")
		c := humagin.Unwrap(ctx)
		f.still = a.still(c.Request, ctx.Param("sandbox_id"), f.access)
		f.opened = a.opening(ctx.Context(), f.kind, http.StatusOK)
		a.streams.Add(1) // while it is a request: a server that stops awaits the one or the other
		if conn, ok := takeOver(c.Writer, c.Request); ok {
			go a.serveConn(f, conn)
			return
		}
		defer a.streams.Done()
		a.serveStream(ctx.Context(), f, c.Writer)
	}}
}

func (a *API) serveStream(ctx context.Context, f feed, w http.ResponseWriter) {
	out := &eventWriter{w: w, control: http.NewResponseController(w), id: f.id}
	if err := a.follow(ctx, f, out); err != nil && ctx.Err() == nil && !errors.Is(err, errStopping) {
		if task.CodeOf(err) == task.CodeGone {
			_ = out.fail(http.StatusGone, task.MessageOf(err)) // a reader that left is nobody's fault
		}
		a.log.DebugContext(ctx, "stream ended", slog.Any("error", err))
	}
}

// follow shows what is stored, then what comes. It subscribes before it looks, so that
// nothing is missed between; wake-ups that come while it writes are one.
func (a *API) follow(ctx context.Context, f feed, out *eventWriter) error {
	news, leave := a.deps.Bus.Subscribe(f.topic)
	defer leave()
	if err := out.open(f.lost); err != nil {
		return err
	}
	defer f.opened()()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // looks under way end with the stream
	p := newPulse(a, out)
	defer p.beat.Stop()
	for last, first := false, true; ; first = false {
		if err := a.recheck(ctx, f, p); err != nil {
			return err
		}
		found, err := patiently(ctx, p, f.read)
		if err != nil {
			if err := p.pause(ctx, err); err != nil {
				return err
			}
			continue
		}
		events := found.events
		if err := out.events(events); err != nil {
			return err
		}
		switch {
		case found.more:
			continue
		case last && len(events) > 0:
			continue
		case last:
			return out.end()
		case first || len(events) == 0 || slices.ContainsFunc(events, mayBeLast):
			if last, err = patiently(ctx, p, f.done); err == nil && last {
				continue // what was stored before the end is still to be shown
			}
		}
		if len(events) > 0 { // wake-ups that bring nothing are no sign of life to the reader
			p.beat.Reset(a.cfg.StreamBeat)
		}
		if err := p.wait(ctx, news); err != nil {
			return err
		}
	}
}

// pause waits a second after an error of the store, and beats on; it ends the stream of something that is not there any
// more.
func (p *pulse) pause(ctx context.Context, err error) error {
	if code := task.CodeOf(err); code == task.CodeNotFound || code == task.CodeGone || errors.Is(err, errStopping) || ctx.Err() != nil {
		return err
	}
	retry, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	return p.wait(ctx, retry.Done())
}

func mayBeLast(e ingest.StoredEvent) bool { return event.ClassOf(e.Type) == event.ClassMilestone }

// eventWriter writes server-sent events.
type eventWriter struct {
	w       io.Writer
	control *http.ResponseController
	id      func(e ingest.StoredEvent) string
}

// open sends the head of the answer. The deadlines of the server are for requests that end. A
// reader whose place is beyond all that is stored is told to forget what it has: it follows
// from the beginning.
func (o *eventWriter) open(lost string) error {
	_ = o.control.SetReadDeadline(time.Time{}) // a writer without deadlines has none to lift
	if err := o.comment("stream of events"); err != nil || lost == "" {
		return err
	}
	asked, err := json.Marshal(map[string]string{"after": lost})
	if err != nil {
		return err
	}
	return o.send([]byte("event: reset\ndata: " + string(asked) + "\n\n"))
}

func (o *eventWriter) comment(text string) error { return o.send([]byte(": " + text + "\n\n")) }

func (o *eventWriter) end() error { return o.send([]byte("event: end\ndata: {}\n\n")) }

// fail is the last word where retention removed what was still to be shown.
func (o *eventWriter) fail(status int, detail string) error {
	said, err := json.Marshal(map[string]any{"status": status, "detail": detail})
	if err != nil {
		return err
	}
	return o.send([]byte("event: error\ndata: " + string(said) + "\n\n"))
}

func (o *eventWriter) events(events []ingest.StoredEvent) error {
	if len(events) == 0 {
		return nil
	}
	var text bytes.Buffer
	for _, e := range events {
		content, err := json.Marshal(e)
		if err != nil {
			return err
		}
		text.WriteString("id: " + o.id(e) + "\ndata: ")
		text.Write(content)
		text.WriteString("\n\n")
	}
	return o.send(text.Bytes())
}

func (o *eventWriter) send(text []byte) error {
	_ = o.control.SetWriteDeadline(time.Now().Add(writeWait)) // likewise
	if _, err := o.w.Write(text); err != nil {
		return err
	}
	return o.control.Flush()
}
