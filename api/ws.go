package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/gin-gonic/gin"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/token"
)

// Bulletin reads the entries that WebSocket readers get.
type Bulletin interface {
	BusPlace(ctx context.Context) (ingest.BusPlace, time.Time, error)
	BusEvents(
		ctx context.Context, who ingest.BusReader, after ingest.BusPlace, limit int,
	) ([]ingest.BusEvent, ingest.BusPlace, error)
	MovedSandboxes(ctx context.Context, who ingest.BusReader, since time.Time) (heads map[string]int64, err error)
	SandboxPlace(ctx context.Context, who ingest.BusReader, sandboxID string) (place int64, visible bool, err error)
}

// Close codes.
const (
	closeUnauthorized = websocket.StatusCode(4401)
	closeTryAgain     = websocket.StatusTryAgainLater
)

// clientFrame is a frame from a reader.
type clientFrame struct {
	Type        string    `json:"type"` // subscribe, or auth in the first frame
	Token       string    `json:"token"`
	EventTypes  *[]string `json:"event_types"`
	EntityTypes *[]string `json:"entity_types"`
	EntityIDs   *[]string `json:"entity_ids"`
}

// busFilter selects the entries for a reader; an empty list selects all.
type busFilter struct {
	EventTypes  []string `json:"event_types"`
	EntityTypes []string `json:"entity_types"`
	EntityIDs   []string `json:"entity_ids"`
}

func filterOf(r *http.Request) busFilter {
	list := func(name string) []string {
		found := []string{}
		for part := range strings.SplitSeq(strings.Join(r.URL.Query()[name], ","), ",") {
			if part = strings.TrimSpace(part); part != "" {
				found = append(found, part)
			}
		}
		return found
	}
	return busFilter{EventTypes: list("event_types"), EntityTypes: list("entity_types"), EntityIDs: list("entity_ids")}
}

func (f *busFilter) replace(in clientFrame) {
	for _, pair := range []struct{ have, said *[]string }{
		{&f.EventTypes, in.EventTypes}, {&f.EntityTypes, in.EntityTypes}, {&f.EntityIDs, in.EntityIDs},
	} {
		if pair.said != nil {
			*pair.have = append([]string{}, *pair.said...)
		}
	}
}

func (f *busFilter) takes(e ingest.BusEvent) bool {
	return (len(f.EventTypes) == 0 || slices.Contains(f.EventTypes, e.EventType)) && f.wants(e.EntityType, e.EntityID)
}

const socketPath = "/api/v1/ws/events"

// socketText describes the WebSocket route, which is not an operation of the OpenAPI document.
const socketText = "The WebSocket GET " + socketPath + " sends what happens in an organization, without past events, as frames " +
	"`{event_type, entity_type, entity_id, payload}`. The query parameters event_types, entity_types and entity_ids (values " +
	"separated by commas) filter the frames; the client frame `{\"type\": \"subscribe\", \"entity_ids\": [...]}` replaces the " +
	"filters that it names and is answered with `{status, filters}`. The credential is the query parameter token, a header, or " +
	"the first client frame `{\"type\": \"auth\", \"token\": \"...\"}`; a sandbox token follows only its own sandbox, named in " +
	"entity_ids. The server sends `{\"type\": \"ping\"}` after 30 s without a client frame, and `{error}` before an error closes " +
	"the connection: 4401 unauthorized, 1013 try again later."

// maxFrame is the maximum length of a reader's frame in bytes: a filter of many thousand IDs.
const maxFrame = 1 << 20

// registerSocket registers the WebSocket route, which [socketText] describes.
func (a *API) registerSocket() {
	socket := a.known(http.MethodGet, socketPath)
	a.sockets = socket.count
	socket.params = map[string]bool{"token": false, "event_types": true, "entity_types": true, "entity_ids": true}
	a.routes.GET(socketPath, a.webSocket)
}

// webSocket handles the WebSocket route.
func (a *API) webSocket(c *gin.Context) {
	r := c.Request
	conn, ok := a.upgrade(c.Writer, r)
	if !ok {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(maxFrame)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	reader := &busReader{api: a, conn: conn, filter: filterOf(r), sandboxes: newBusSandboxes()}
	reader.opened = a.opening(r.Context(), kindSocket, http.StatusSwitchingProtocols)
	if err := reader.run(ctx, r); err != nil && ctx.Err() == nil {
		a.log.DebugContext(ctx, "websocket closed", slog.Any("error", err))
	}
}

// busReader is one connection. It reads the database at its own pace, so that a slow reader needs no buffer.
type busReader struct {
	api       *API
	conn      *websocket.Conn
	filter    busFilter
	who       ingest.BusReader
	only      string // the sandbox, if the caller is a sandbox; empty: a user
	place     ingest.BusPlace
	sandboxes busSandboxes

	credential string
	opened     func() (ended func())
}

func (b *busReader) run(ctx context.Context, r *http.Request) error {
	said := b.listen(ctx)
	if err := b.login(ctx, r, said); err != nil {
		return b.turnAway(ctx, err)
	}
	watch, stop := b.api.deps.Bus.Watch()
	defer stop()
	var err error
	if b.place, b.who.Since, err = b.api.deps.Bulletin.BusPlace(ctx); err != nil {
		return b.turnAway(ctx, task.Errorf(task.CodeUnavailable, "The event service is not ready.").WithCause(err))
	}
	defer b.opened()()
	return b.serve(ctx, watch, said)
}

// turnAway rejects a reader before the first frame was sent, and counts the connection as a request.
func (b *busReader) turnAway(ctx context.Context, err error) error {
	b.api.sockets(client.StatusOf(task.CodeOf(err)), 0)
	return b.refuse(ctx, err)
}

// refuse sends the reason and closes. If the database is unavailable, the reader may reconnect with the same
// credential.
func (b *busReader) refuse(ctx context.Context, err error) error {
	code, reason := closeUnauthorized, "unauthorized"
	if c := task.CodeOf(err); c == task.CodeUnavailable || c == task.CodeInternal {
		code, reason = closeTryAgain, "not ready"
	}
	return errors.Join(b.send(ctx, map[string]string{"error": sentenceOf(err)}), b.conn.Close(code, reason))
}

// login reads the credential from the query, a header or the first frame.
func (b *busReader) login(ctx context.Context, r *http.Request, said <-chan []byte) error {
	_, bearer, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	b.credential = cmp.Or(r.URL.Query().Get("token"), prefixToken(ctx),
		r.Header.Get("X-Api-Key"), strings.TrimSpace(bearer))
	if b.credential == "" && !b.api.cfg.Open {
		if err := b.firstFrame(ctx, said); err != nil {
			return err
		}
	}
	if !b.api.cfg.Open && token.Looks(b.credential) && len(b.filter.EntityIDs) == 1 {
		b.only = b.filter.EntityIDs[0]
	}
	return b.identify(ctx)
}

// firstFrame reads the credential that a reader sends in its first frame.
func (b *busReader) firstFrame(ctx context.Context, said <-chan []byte) error {
	patience := time.NewTimer(b.api.cfg.LoginWait)
	defer patience.Stop()
	select {
	case text, open := <-said:
		var first clientFrame
		if open && decode(text, &first) != nil {
			return task.Errorf(task.CodeUnauthorized, "Invalid JSON message")
		}
		b.filter.replace(first)
		b.credential = first.Token
	case <-patience.C:
	case <-b.api.stopping:
		return task.Errorf(task.CodeUnavailable, "The server is stopping.").WithKind(task.KindStopping)
	case <-ctx.Done():
		return ctx.Err()
	}
	if b.credential == "" {
		return task.Errorf(task.CodeUnauthorized, `Missing credential. Next: send it as ?token=, as Authorization: Bearer, or as the first frame {"type":"auth","token":"..."}`)
	}
	return nil
}

// identify sets the caller, if the credential is still valid. A sandbox may follow only itself: the entity_ids of the
// query must name it.
func (b *busReader) identify(ctx context.Context) error {
	if b.api.cfg.Open {
		b.who.OrganizationID, b.who.Bare = b.api.cfg.Organization, true
		return nil
	}
	l := login{b.credential, b.only, accessRead}
	if token.Looks(b.credential) {
		if l.want = accessInspect; b.only == "" {
			return task.Errorf(task.CodeUnauthorized, "A sandbox token follows its own sandbox only. Next: name the sandbox in entity_ids")
		}
	}
	who, err := b.api.identifyActive(ctx, l)
	if err == nil {
		b.who.OrganizationID, err = b.api.organizationOf(ctx, who)
	}
	return err
}

// listen reads the frames of the reader until the connection ends. It then closes the channel.
func (b *busReader) listen(ctx context.Context) <-chan []byte {
	said := make(chan []byte)
	go func() {
		defer close(said)
		for {
			_, text, err := b.conn.Read(ctx)
			if err != nil {
				return
			}
			select {
			case said <- text:
			case <-ctx.Done():
				return
			}
		}
	}()
	return said
}

func (b *busReader) serve(ctx context.Context, watch *live.Watch, said <-chan []byte) error {
	silence := time.NewTimer(b.api.cfg.SocketPing)
	defer silence.Stop()
	look := time.NewTicker(b.api.cfg.PollEvery)
	defer look.Stop()
	sweep := time.NewTicker(b.api.cfg.StreamBeat)
	defer sweep.Stop()
	ready, rest := watch.Ready, (<-chan time.Time)(nil)
	for {
		var err error
		select {
		case text, open := <-said:
			if !open {
				return nil
			}
			silence.Reset(b.api.cfg.SocketPing)
			err = b.answer(ctx, text)
		case <-ready:
			ready, rest = nil, time.After(gather)
			err = b.collect(ctx, watch)
		case <-rest:
			ready, rest = watch.Ready, nil
		case <-look.C:
			err = b.tellBus(ctx)
		case <-sweep.C: // notifications may have been lost, and keys revoked
			if err := b.identify(ctx); shutsOut(err) {
				return b.refuse(ctx, err)
			}
			err = b.sweep(ctx)
		case <-silence.C:
			silence.Reset(b.api.cfg.SocketPing)
			err = b.send(ctx, map[string]string{"type": "ping"})
		case <-b.api.stopping:
			return b.conn.Close(websocket.StatusGoingAway, "the server stops")
		case <-ctx.Done():
			return ctx.Err()
		}
		if errors.Is(err, errManySandboxes) {
			return b.refuse(ctx, errManySandboxes)
		}
		if err != nil && task.CodeOf(err) != task.CodeUnavailable {
			return err // events that an unavailable database could not return are read later
		}
	}
}

func (b *busReader) answer(ctx context.Context, text []byte) error {
	var frame clientFrame
	if decode(text, &frame) != nil {
		return b.send(ctx, map[string]string{"error": "Invalid JSON message"})
	}
	if frame.Type != "subscribe" {
		return nil
	}
	if err := b.refilter(ctx, frame); err != nil {
		return err
	}
	return b.send(ctx, map[string]any{"status": "subscribed", "filters": b.filter})
}

// tellBus sends the next entries of the bus; a sandbox gets its own entries only.
func (b *busReader) tellBus(ctx context.Context) error {
	for {
		events, next, err := b.api.busAfter(ctx, b.who, b.place)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := b.tell(ctx, e); err != nil {
				return err
			}
		}
		b.place = next
		if len(events) < streamBatch {
			return nil
		}
	}
}

// busEventOf converts a stored event to the form of the bus. A field lists the large fields that are left out, unless
// the event has a field of that name. All other fields stay unchanged.
func busEventOf(e ingest.StoredEvent) ingest.BusEvent {
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal(e.Data, &fields) // all stored values are objects
	if _, own := fields["omitted"]; len(e.Omitted) > 0 && !own {
		fields["omitted"] = jsonOf(e.Omitted)
	}
	fields["source"], fields["original_event_type"] = jsonOf(e.Source), jsonOf(e.Type)
	payload, _ := json.Marshal(fields) //nolint:errchkjson // it came from JSON
	return ingest.BusEvent{EventType: "SANDBOX_" + e.Type, EntityType: "sandbox", EntityID: e.SandboxID, Payload: payload}
}

func jsonOf(text any) json.RawMessage {
	quoted, _ := json.Marshal(text) //nolint:errchkjson // texts
	return quoted
}

func (b *busReader) tell(ctx context.Context, e ingest.BusEvent) error {
	if (b.only != "" && (e.EntityType != "sandbox" || e.EntityID != b.only)) || !b.filter.takes(e) {
		return nil
	}
	return b.send(ctx, e)
}

func (b *busReader) send(ctx context.Context, frame any) error {
	ctx, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	return wsjson.Write(ctx, b.conn, frame)
}

// busStand is the cursor of readers of an organization's bus.
type busStand struct {
	organization string
	bare         bool
	after        ingest.BusPlace
}

// busPage is the next entries.
type busPage struct {
	events []ingest.BusEvent
	next   ingest.BusPlace
}

// busAfter returns the next entries of the bus. Concurrent readers at the same cursor share one query.
func (a *API) busAfter(
	ctx context.Context, who ingest.BusReader, after ingest.BusPlace,
) ([]ingest.BusEvent, ingest.BusPlace, error) {
	page, err := a.bulletins.ask(ctx, busStand{who.OrganizationID, who.Bare, after}, func(ctx context.Context, at busStand) (busPage, error) {
		reader := ingest.BusReader{OrganizationID: at.organization, Bare: at.bare}
		events, next, err := a.deps.Bulletin.BusEvents(ctx, reader, at.after, streamBatch)
		return busPage{events, next}, err
	})
	return page.events, page.next, err
}
