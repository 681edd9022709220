package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/omoi-dev/omoi/api/client"
)

// stateInterval is the minimum time between two frames of the same object in a stream.
const stateInterval = 250 * time.Millisecond

// stateFeed is the part of a stream that shows the task itself.
type stateFeed struct {
	hello client.StreamHello
	read  func(ctx context.Context) (taskState, error)
	sent  map[string][]byte // what the newest frame said, by object
	at    time.Time         // of the newest read
}

// taskState is a task with its sandboxes.
type taskState struct {
	version   int64
	task      client.Task
	sandboxes []client.Sandbox
}

func (a *API) newStateFeed(ctx context.Context, of tenantTask) (*stateFeed, error) {
	heads, err := a.deps.EventLog.TaskHeads(ctx, of.id)
	hello := client.StreamHello{ServerVersion: a.cfg.Version, SentAt: time.Now().UTC(), Attempts: []client.AttemptHead{}}
	for _, attempt := range slices.Sorted(maps.Keys(heads)) {
		hello.Attempts = append(hello.Attempts, client.AttemptHead{Attempt: attempt, LastSequence: heads[attempt]})
	}
	read := func(ctx context.Context) (taskState, error) { return a.states.ask(ctx, of, a.readState) }
	return &stateFeed{hello: hello, read: read, sent: map[string][]byte{}}, err
}

func (a *API) readState(ctx context.Context, of tenantTask) (taskState, error) {
	state := taskState{version: time.Now().UnixMicro()}
	t, err := a.deps.Tasks.Task(ctx, of.organization, of.id)
	if err != nil {
		return state, err
	}
	state.task = explained(t)
	page, err := a.deps.Sandboxes.SandboxRows(ctx, of.organization, client.SandboxQuery{
		TaskIDs: []string{of.id}, PageRequest: client.PageRequest{Limit: 500},
	})
	state.sandboxes = page.Items
	return state, err
}

// sendState sends the objects that changed. If the last read is too recent, it plans the next one.
func (s *stateFeed) sendState(ctx context.Context, p *pulse, last bool) error {
	if rest := stateInterval - time.Since(s.at); rest > 0 && !last {
		p.soon = time.After(rest)
		return nil
	}
	s.at, p.soon = time.Now(), nil
	state, err := patiently(ctx, p, s.read)
	for ; err != nil; state, err = patiently(ctx, p, s.read) { // the stream must not end without the last state
		if err := p.pause(ctx, err); err != nil {
			return err
		}
	}
	var text bytes.Buffer
	err = s.frame(&text, "task", state.version, state.task.ID, state.task)
	for _, sandbox := range slices.Backward(state.sandboxes) {
		if err == nil {
			err = s.frame(&text, "sandbox", state.version, sandbox.ID, sandbox)
		}
	}
	if err != nil || text.Len() == 0 {
		return err
	}
	return p.out.send(text.Bytes())
}

// timeless returns a sandbox without what grows with time, which alone is no change.
func timeless(b client.Sandbox) client.Sandbox {
	b.SecondsAlive, b.Cost = 0, nil
	return b
}

// frame writes the frame of an object, unless the reader has it.
func (s *stateFeed) frame(out *bytes.Buffer, kind string, version int64, id string, object any) error {
	lasting := object
	if box, ok := object.(client.Sandbox); ok {
		lasting = timeless(box)
	}
	compared, err := json.Marshal(lasting)
	if err != nil || bytes.Equal(s.sent[id], compared) {
		return err
	}
	content := compared
	if kind == "sandbox" {
		content, err = json.Marshal(object)
	}
	if err == nil {
		s.sent[id] = compared
		fmt.Fprintf(out, "event: %s\ndata: {\"version\":%d,\"%s\":%s}\n\n", kind, version, kind, content)
	}
	return err
}
