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
	streamBatch = 100              // events of one query
	streamBytes = 256 << 10        // of one query, and so the memory of a slow reader, plus or minus one event
	writeWait   = 30 * time.Second // for a reader that does not read
)

// feed is the content of a stream. It holds its own cursor, so that a slow reader, or one that missed a notification,
// continues in the database where it stopped.
type feed struct {
	kind  string
	topic string
	read  func(ctx context.Context) (stretch, error) // returns the next events and moves the cursor
	done  func(ctx context.Context) (bool, error)    // reports whether no more events will follow
	id    func(e ingest.StoredEvent) string          // called once for each event, in order
	state *stateFeed                                 // nil: events only
	lost  string                                     // the requested cursor, if it does not exist here; empty otherwise
	// access is the required access level, which still checks again.
	access access
	still  func(ctx context.Context) error
	opened func() (ended func())
	// follow replaces [API.follow]; nil: a stream of events.
	follow func(ctx context.Context, f feed, out *eventWriter) error
}

// stretch is the result of one query; more reports that more events are stored.
type stretch struct {
	events []ingest.StoredEvent
	more   bool
}

// light returns the beginning of a stretch that is long in bytes.
func (s stretch) light() stretch {
	size := 0
	for n, e := range s.events {
		if size += len(e.Data); size > streamBytes && n > 0 {
			return stretch{slices.Clone(s.events[:n]), true}
		}
	}
	return s
}

// stream responds with server-sent events until the feed is done, the reader disconnects or the server stops.
func (a *API) stream(f feed) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("Content-Type", "text/event-stream")
		ctx.SetHeader("X-Accel-Buffering", "no")
		c := humagin.Unwrap(ctx)
		f.still = a.still(c.Request, ctx.Param("sandbox_id"), f.access)
		f.opened = a.opening(ctx.Context(), f.kind, http.StatusOK)
		a.streams.Add(1) // while it is a request: a stopping server waits for requests and streams
		if conn, ok := takeOver(c.Writer, c.Request); ok {
			go a.serveConn(f, conn)
			return
		}
		defer a.streams.Done()
		a.serveStream(ctx.Context(), f, c.Writer)
	}}
}

func (a *API) serveStream(ctx context.Context, f feed, w http.ResponseWriter) {
	out := &eventWriter{w: w, control: http.NewResponseController(w), id: f.id, short: f.state != nil}
	follow := a.follow
	if f.follow != nil {
		follow = f.follow
	}
	if err := follow(ctx, f, out); err != nil && ctx.Err() == nil && !errors.Is(err, errStopping) {
		if task.CodeOf(err) == task.CodeGone {
			_ = out.fail(http.StatusGone, task.MessageOf(err)) // the reader may have disconnected
		}
		a.log.DebugContext(ctx, "stream ended", slog.Any("error", err))
	}
}

// follow sends stored events, then new ones. It subscribes before it queries, so that no event is missed; notifications
// during a write count as one.
func (a *API) follow(ctx context.Context, f feed, out *eventWriter) error {
	news, leave := a.deps.Bus.Subscribe(f.topic)
	defer leave()
	if err := out.open(f.lost); err != nil {
		return err
	}
	defer f.opened()()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // running queries end with the stream
	p := newPulse(a, out)
	defer p.beat.Stop()
	if err := f.greet(out); err != nil {
		return err
	}
	for last, first := false, true; ; first = false {
		found, err := a.advance(ctx, f, p)
		if err != nil {
			return err
		}
		if found.more {
			continue
		}
		events := found.events
		if err := f.sendState(ctx, p, last && len(events) == 0); err != nil {
			return err
		}
		switch {
		case last && len(events) > 0:
			continue
		case last:
			return out.end()
		case first || len(events) == 0 || slices.ContainsFunc(events, mayBeLast):
			if last, err = patiently(ctx, p, f.done); err == nil && last {
				continue // events stored before the end are still to be sent
			}
		}
		if len(events) > 0 { // a notification without events sends nothing to the reader
			p.beat.Reset(a.cfg.StreamBeat)
		}
		if err := p.wait(ctx, news); err != nil {
			return err
		}
	}
}

// advance sends the next events. It tries again while the database fails.
func (a *API) advance(ctx context.Context, f feed, p *pulse) (stretch, error) {
	for {
		if err := a.recheck(ctx, f, p); err != nil {
			return stretch{}, err
		}
		found, err := patiently(ctx, p, f.read)
		if err == nil {
			return found, p.out.events(found.events)
		}
		if err := p.pause(ctx, err); err != nil {
			return stretch{}, err
		}
	}
}

// greet sends the first frame of a stream with state.
func (f feed) greet(out *eventWriter) error {
	if f.state == nil {
		return nil
	}
	return out.named("hello", f.state.hello)
}

func (f feed) sendState(ctx context.Context, p *pulse, end bool) error {
	if f.state == nil {
		return nil
	}
	return f.state.sendState(ctx, p, end)
}

// pause waits a second after an error of the database, with keep-alives. It ends the stream of an object that no longer
// exists.
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
	short   bool // frames of events have a name, and their texts are cut
}

// open sends the response headers, and clears the server's deadlines, which are for requests that end. A reader whose
// cursor is beyond the last event gets the frame reset and gets all events from the beginning.
func (o *eventWriter) open(lost string) error {
	_ = o.control.SetReadDeadline(time.Time{}) // a writer without deadlines has none to clear
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

// named sends a frame with a name and no cursor.
func (o *eventWriter) named(name string, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return o.send([]byte("event: " + name + "\ndata: " + string(text) + "\n\n"))
}

// fail sends the last frame of a stream whose next events retention removed.
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
		var shown any = e
		if o.short {
			shown = shortEvent(e)
			text.WriteString("event: event\n")
		}
		content, err := json.Marshal(shown)
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
	_ = o.control.SetWriteDeadline(time.Now().Add(writeWait)) // see open
	if _, err := o.w.Write(text); err != nil {
		return err
	}
	return o.control.Flush()
}
