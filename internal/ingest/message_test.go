package ingest_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
)

func (b *bench) say(sandbox, kind, content string) ingest.Message {
	b.t.Helper()
	m, err := b.store.AcceptMessage(b.t.Context(), ingest.NewMessage{SandboxID: sandbox, Kind: kind, Content: content})
	require.NoError(b.t, err)
	return m
}

func (b *bench) lease(sandbox string) []string {
	b.t.Helper()
	messages, err := b.store.LeaseMessages(b.t.Context(), sandbox, time.Minute, 0)
	require.NoError(b.t, err)
	contents := make([]string, 0, len(messages))
	for _, m := range messages {
		require.Equal(b.t, ingest.MessageDelivered, m.State)
		contents = append(contents, m.Content)
	}
	return contents
}

func (b *bench) message(id string) ingest.Message {
	b.t.Helper()
	m, err := b.store.Message(b.t.Context(), id)
	require.NoError(b.t, err)
	return m
}

func (b *bench) endLeases() {
	b.exec(`UPDATE messages SET lease_until = now() WHERE lease_until IS NOT NULL`)
}

func TestMessagesComeInOrderAndInterruptsFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sandbox, other := b.sandbox(), b.sandbox()
	b.say(sandbox, "", "one")
	b.say(sandbox, ingest.MessageNudge, "two")
	b.say(sandbox, ingest.MessageInterrupt, "stop")
	b.say(other, "", "not yours")
	require.Equal(t, []string{"stop", "one", "two"}, b.lease(sandbox))
	require.Empty(t, b.lease(sandbox), "they are leased")
}

func TestALeaseThatRanOutIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sandbox := b.sandbox()
	first, second := b.say(sandbox, "", "one"), b.say(sandbox, "", "two")
	require.Equal(t, []string{"one", "two"}, b.lease(sandbox))
	settled, err := b.store.AckMessages(t.Context(), sandbox, []string{first.ID})
	require.NoError(t, err)
	require.Equal(t, 1, settled)
	b.endLeases()
	require.Equal(t, []string{"two"}, b.lease(sandbox))
	require.Equal(t, 2, b.message(second.ID).Deliveries)
	require.Equal(t, ingest.MessageTakenUp, b.message(first.ID).State)
	require.NotNil(t, b.message(first.ID).SettledAt)
}

func TestOnlyTheOwnSandboxAcknowledges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sandbox, other := b.sandbox(), b.sandbox()
	m := b.say(sandbox, "", "one")
	settled, err := b.store.AckMessages(t.Context(), other, []string{m.ID, task.NewID()})
	require.NoError(t, err)
	require.Zero(t, settled)
	_, err = b.store.AckMessages(t.Context(), sandbox, []string{"msg-1"})
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
	require.Equal(t, ingest.MessageAccepted, b.message(m.ID).State)
}

func TestTheEventSettlesItsMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, sandbox := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	inject := func(data map[string]any) {
		raw, err := json.Marshal(data)
		require.NoError(t, err)
		_, err = intake.Single(within(t), sandbox, ingest.Event{Type: "agent.message_injected", Data: raw}, false)
		require.NoError(t, err)
	}
	first, twin := b.say(sandbox, "", "same"), b.say(sandbox, "", "same")
	waiting := b.say(sandbox, "", "not fetched")
	b.exec(`UPDATE messages SET state = 'delivered', lease_until = now() WHERE content = 'same'`)
	inject(map[string]any{"message_id": nil, "content": "same"}) // an old worker
	require.Equal(t, ingest.MessageTakenUp, b.message(first.ID).State, "the oldest")
	require.Equal(t, ingest.MessageDelivered, b.message(twin.ID).State)
	inject(map[string]any{"message_id": twin.ID, "content": "whatever"})
	require.Equal(t, ingest.MessageTakenUp, b.message(twin.ID).State)
	inject(map[string]any{"content": "not fetched"})
	require.Equal(t, ingest.MessageAccepted, b.message(waiting.ID).State, "without an id only what was delivered")
	inject(map[string]any{"message_id": "msg-0123456789ab"})
	inject(map[string]any{"message_id": 7, "content": []string{"odd"}})
	b.contiguous(sandbox, 5)
}

func TestMessagesToAnEndedAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sandbox := b.sandbox()
	open := b.say(sandbox, "", "in time")
	b.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, sandbox)
	refused := b.say(sandbox, "", "too late")
	require.Equal(t, ingest.MessageRefused, refused.State)
	require.NotEmpty(t, refused.Reason)
	require.NotNil(t, refused.SettledAt)
	require.Equal(t, ingest.MessageExpired, b.message(open.ID).State)
	require.Empty(t, b.lease(sandbox))
	b.exec(`UPDATE sandboxes SET verified_at = now() - interval '2 hours' WHERE id = $1`, sandbox)
	_, err := b.store.AcceptMessage(t.Context(), ingest.NewMessage{SandboxID: sandbox, Content: "x"})
	require.Equal(t, task.CodeGone, task.CodeOf(err))
}

func TestMessagesToUnknownSandboxes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.store.AcceptMessage(t.Context(), ingest.NewMessage{SandboxID: "stranger", Content: "x"})
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
	_, err = b.store.AcceptMessage(t.Context(), ingest.NewMessage{SandboxID: "stranger", Content: "x", Bare: true})
	require.NoError(t, err)
	require.Equal(t, []string{"x"}, b.lease("stranger"))
	for _, id := range []string{"nonsense", task.NewID()} {
		_, err = b.store.Message(t.Context(), id)
		require.Equal(t, task.CodeNotFound, task.CodeOf(err))
	}
}

func TestMessagesAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.store.AcceptMessage(t.Context(), ingest.NewMessage{SandboxID: "s", Kind: "shout", Content: "x"})
	requireInvalid(t, err, "message_type", "kind")
	_, err = b.store.AcceptMessage(t.Context(), ingest.NewMessage{SandboxID: "s"})
	requireInvalid(t, err, "content", "empty")
	_, err = b.store.AcceptMessage(t.Context(), ingest.NewMessage{SandboxID: "s", Content: "a\x00b"})
	requireInvalid(t, err, "content", "NUL")
}
