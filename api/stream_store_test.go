package api_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/postgres"
)

// hanging is a store whose queries of sandboxes block until the test releases them.
type hanging struct {
	*postgres.Store

	begun chan struct{}
	goOn  chan struct{}
}

func hang(s *postgres.Store) hanging {
	return hanging{Store: s, begun: make(chan struct{}, 100), goOn: make(chan struct{})}
}

func (h hanging) EventsAfter(ctx context.Context, id string, after int64, limit int) ([]ingest.StoredEvent, error) {
	h.begun <- struct{}{}
	select {
	case <-h.goOn:
		return h.Store.EventsAfter(ctx, id, after, limit)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (h hanging) in(p *api.Ports) { p.EventLog = h }

// beside starts another API process, with the given store.
func (w *world) beside(t *testing.T, change func(*api.Ports), cfg api.Config) *world {
	t.Helper()
	ports := api.PortsOf(w.store)
	change(&ports)
	handler := api.New(cfg, api.Deps{Ports: ports, Bus: w.bus, Tokens: w.ring})
	other := *w
	other.t, other.url = t, serve(t, handler)
	return &other
}

// A server without authentication accepts events with any sandbox ID.
func TestStream_SandboxWithTheIDOfATask(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	w.report(w.begin(made), 1, "agent.started")
	w.report(made.ID, 1, "of.the.sandbox")
	store := hang(w.store)
	other := w.beside(t, store.in, api.Config{Open: true, Organization: w.org, StreamBeat: time.Minute})
	ofSandbox := other.follow(t, wire+made.ID+"/stream")
	defer ofSandbox.close()
	<-store.begun // readers at the same cursor now wait for the next query
	ofTask := other.follow(t, "/api/v1/tasks/"+made.ID+"/stream")
	defer ofTask.close()
	require.Equal(t, "agent.started", ofTask.event().data.Type)
	close(store.goOn)
	require.Equal(t, "of.the.sandbox", ofSandbox.event().data.Type)
}
