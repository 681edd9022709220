package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/postgres"
)

func impatient(c *api.Config) { c.StreamBeat = 10 * time.Millisecond }

// awaitEnd reads a stream until it ends.
func (f *follower) awaitEnd() {
	f.t.Helper()
	for {
		if _, more := f.next(); !more {
			f.close()
			return
		}
	}
}

// shutOut reads until the server sends the reason and closes.
func (s *socket) shutOut() {
	s.t.Helper()
	for s.next()["error"] == nil { // frames before the reason
	}
	s.ends(4401)
}

func TestStream_EndsWithItsKey(t *testing.T) {
	t.Parallel()
	w := start(t, impatient)
	w.exec(`INSERT INTO sandboxes (id, organization_id, provider, host_bound, machine, state) VALUES ('box', $1, 'local', true, true, 'running')`, w.org)
	admin, reader := w.key(w.org, "admin"), w.key(w.org, "read")
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, admin), http.StatusCreated)
	ofTask := w.follow(t, "/api/v1/tasks/"+made.ID+"/stream", authorization, reader)
	ofSandbox := w.follow(t, wire+"box/stream", authorization, reader)
	socket := w.socket(t, "", authorization, reader).ready()
	w.exec(`UPDATE api_keys SET revoked_at = now() WHERE scopes = '{read}'`)
	ofTask.awaitEnd()
	ofSandbox.awaitEnd()
	socket.shutOut()
}

func TestStream_EndsWithTheSandboxToken(t *testing.T) {
	t.Parallel()
	w := start(t, impatient)
	w.exec(`INSERT INTO sandboxes (id, organization_id, provider, host_bound, machine, state) VALUES ('box', $1, 'local', true, true, 'running')`, w.org)
	bearer := "Bearer " + w.ring.Mint("box")
	stream := w.follow(t, wire+"box/stream", authorization, bearer)
	socket := w.socket(t, "?entity_ids=box", authorization, bearer).ready()
	w.exec(`UPDATE sandboxes SET state = 'gone', gone_at = now(), verified_at = now() - interval '2 hours'`)
	stream.awaitEnd()
	socket.shutOut()
}

func TestStream_KeepAliveWhileTheDatabaseHangs(t *testing.T) {
	t.Parallel()
	w := open(t)
	store := hang(w.store)
	other := w.beside(t, store.in, api.Config{Open: true, Organization: w.org, StreamBeat: 5 * time.Millisecond})
	w.report("b", 1, "agent.started")
	f := other.follow(t, wire+"b/stream")
	defer f.close()
	<-store.begun
	for range 3 {
		got, more := f.next()
		require.True(t, more)
		require.NotEmpty(t, got.comment)
	}
	close(store.goOn)
	require.Equal(t, "1", f.event().id)
}

// panicky panics at the first query.
type panicky struct {
	*postgres.Store

	once chan struct{}
}

func (p panicky) EventsAfter(ctx context.Context, id string, after int64, limit int) ([]ingest.StoredEvent, error) {
	select {
	case <-p.once:
		panic("the store has a fault")
	default:
		return p.Store.EventsAfter(ctx, id, after, limit)
	}
}

func (p panicky) in(ports *api.Ports) { ports.EventLog = p }

// panicky panics when a stream begins.
type panickyBus struct{ live.Bus }

func (panickyBus) Subscribe(string) (<-chan struct{}, func()) { panic("the bus has a fault") }

// A panic in a stream outside of a request does not end the process.
func TestStream_PanicEndsOneStream(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.report("b", 1, "agent.started")
	once := make(chan struct{}, 1)
	once <- struct{}{}
	cfg := api.Config{Open: true, Organization: w.org, StreamBeat: time.Minute}
	f := w.beside(t, panicky{w.store, once}.in, cfg).follow(t, wire+"b/stream")
	defer f.close()
	require.Equal(t, "1", f.event().id, "it looks again")
	require.NotContains(t, f.raw.String(), "\n: ", "after the first comment, comments are keep-alives only")
	w.bus = panickyBus{w.bus}
	w.beside(t, func(*api.Ports) {}, cfg).follow(t, wire+"b/stream").awaitEnd()
}
