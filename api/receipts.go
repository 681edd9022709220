package api

import (
	"context"

	"github.com/omoi-dev/omoi/internal/client"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
)

// MessagePath is the part of a request that names a message.
type MessagePath struct {
	MessageID string `path:"message_id" doc:"Id of the message"`
	Wait      string `query:"wait" doc:"Wait until it is settled: as 25s"`
}

type sandboxMessageIn struct {
	SandboxPath
	MessagePath
}

// sandboxMessage returns the receipt of what was said to the agent of a sandbox, or by it.
func (a *API) sandboxMessage(ctx context.Context, in *sandboxMessageIn) (*bodyOut[client.MessageReceipt], error) {
	return a.receipt(ctx, in.MessagePath, func(m ingest.Message) bool {
		return m.SandboxID == in.SandboxID || m.SenderKind == ingest.SenderAgent && m.SenderID == in.SandboxID
	})
}

// getMessage returns the receipt of a message in the caller's organization.
func (a *API) getMessage(ctx context.Context, in *MessagePath) (*bodyOut[client.MessageReceipt], error) {
	who := callerOf(ctx)
	return a.receipt(ctx, *in, func(m ingest.Message) bool {
		return m.OrganizationID == who.organization || m.OrganizationID == "" && a.cfg.Open
	})
}

// receipt reads a message that may be shown, as soon as it is settled or the wait is over.
func (a *API) receipt(
	ctx context.Context, in MessagePath, mine func(ingest.Message) bool,
) (*bodyOut[client.MessageReceipt], error) {
	wait, err := a.waitOf(in.Wait)
	if err != nil {
		return nil, err
	}
	m, err := a.deps.Messages.Message(ctx, in.MessageID)
	if err == nil && !mine(m) {
		err = task.Errorf(task.CodeNotFound, "There is no message %s.", in.MessageID)
	}
	if err != nil {
		return nil, err
	}
	if wait.wait > 0 && !m.Settled() {
		err = a.poll(ctx, live.Sandbox(m.SandboxID), wait, func() (bool, error) {
			m, err = a.deps.Messages.Message(ctx, in.MessageID)
			return m.Settled(), err
		})
	}
	return body(m, err)
}
