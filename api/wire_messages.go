package api

import (
	"context"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

const leaseAtOnce = 100 // messages in one answer

type postMessageIn struct {
	SandboxPath
	RawBody []byte `contentType:"application/json"`
}

type postMessageOut struct {
	Body client.QueuedMessage
}

// postMessage puts a message into an agent's inbox: the row first, then the wake-up.
func (a *API) postMessage(ctx context.Context, in *postMessageIn) (*postMessageOut, error) {
	var said client.NewMessage
	if err := decode(in.RawBody, &said); err != nil {
		return nil, err
	}
	m, err := a.deps.Store.AcceptMessage(ctx, messageOf(callerOf(ctx), in.SandboxID, said, a.cfg.Open))
	if err != nil {
		return nil, err
	}
	if m.State == ingest.MessageRefused {
		return nil, task.Errorf(task.CodeConflict, "The message is stored and was refused: %s", m.Reason)
	}
	a.deps.Bus.Wake(live.Messages(in.SandboxID))
	return &postMessageOut{Body: client.QueuedMessage{Status: "queued", MessageID: m.ID, SandboxID: in.SandboxID}}, nil
}

func messageOf(who caller, sandboxID string, said client.NewMessage, bare bool) ingest.NewMessage {
	m := ingest.NewMessage{
		SandboxID: sandboxID, Kind: said.Type, Content: said.Content, SenderKind: "person", SenderID: who.name, Bare: bare,
	}
	if who.sandbox != "" {
		m.SenderKind, m.SenderID = "agent", who.sandbox
	}
	return m
}

type takeMessagesIn struct {
	SandboxPath
	Wait string `query:"wait" doc:"Long poll: as 25s"`
}

type takeMessagesOut struct {
	Body []client.Message `nullable:"false"`
}

// takeMessages leases what waits: a bare array, interrupts first.
func (a *API) takeMessages(ctx context.Context, in *takeMessagesIn) (*takeMessagesOut, error) {
	wait, err := a.waitOf(in.Wait)
	if err != nil {
		return nil, err
	}
	out := &takeMessagesOut{Body: []client.Message{}}
	err = a.poll(ctx, live.Messages(in.SandboxID), wait, func() (bool, error) {
		leased, err := a.deps.Store.LeaseMessages(ctx, in.SandboxID, a.cfg.Lease, leaseAtOnce)
		for _, m := range leased {
			out.Body = append(out.Body, client.Message{ID: m.ID, Content: m.Content, Type: m.Kind, Timestamp: m.AcceptedAt})
		}
		return len(leased) > 0, err
	})
	return out, err
}

type ackMessageIn struct {
	SandboxPath
	MessageID string `path:"message_id"`
}

type ackMessageOut struct {
	Body client.AckedMessage
}

func (a *API) ackMessage(ctx context.Context, in *ackMessageIn) (*ackMessageOut, error) {
	if err := knownID("message", in.MessageID); err != nil {
		return nil, err
	}
	settled, err := a.deps.Store.AckMessages(ctx, in.SandboxID, []string{in.MessageID})
	return &ackMessageOut{Body: client.AckedMessage{Status: "acknowledged", MessageID: in.MessageID, Settled: settled > 0}}, err
}
