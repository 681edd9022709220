package ingest_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

func (b *bench) say(sandbox, kind, content string) ingest.Message {
	b.t.Helper()
	m, err := b.store.AcceptMessage(b.t.Context(), ingest.NewMessage{SandboxID: sandbox, Kind: kind, Content: content})
	require.NoError(b.t, err)
	return m
}

func (b *bench) lease(sandbox string) []string {
	b.t.Helper()
	messages, err := b.store.LeaseMessages(b.t.Context(), ingest.Taking{SandboxID: sandbox, Lease: time.Minute, Legacy: true})
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

// ack answers whether the taker has won the message.
func (b *bench) ack(sandbox, id, taker string) bool {
	b.t.Helper()
	won, err := b.store.AckMessage(b.t.Context(), sandbox, id, taker)
	require.NoError(b.t, err)
	return won
}

func (b *bench) endLeases() {
	b.exec(`UPDATE messages SET lease_until = now() WHERE lease_until IS NOT NULL`)
}

// TestMessage_NeverConfirmed settles what a legacy worker is given and never confirms: after three leases, or once the worker waits
// again. A worker that confirms late is believed, and omoi-agent is given its messages for as long as it takes.
func TestMessage_NeverConfirmed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	box, intake := b.sandbox(), b.intake(ingest.IntakeConfig{}, nil)
	first := b.say(box, "", "one")
	for n := range 3 {
		require.Equal(t, []string{"one"}, b.lease(box), n)
		require.Nil(t, b.message(first.ID).SettledAt)
		b.endLeases()
	}
	require.Empty(t, b.lease(box), "three leases are enough")
	final := func(id string, deliveries int) {
		t.Helper()
		m := b.message(id)
		require.Equal(t, []any{ingest.MessageDelivered, deliveries, true}, []any{m.State, m.DeliveryCount, m.Settled()})
		require.Contains(t, m.Reason, "never acknowledged")
	}
	final(first.ID, 3)

	second, third := b.say(box, "", "two"), b.say(box, "", "three")
	require.Equal(t, []string{"two", "three"}, b.lease(box))
	b.inject(intake, box, event.AgentWaiting, map[string]any{})
	final(second.ID, 1)
	require.True(t, b.ack(box, first.ID, ""))
	require.Empty(t, b.message(first.ID).Reason, "it was acknowledged after all")
	b.endLeases()
	require.Empty(t, b.lease(box))
	b.inject(intake, box, event.AgentMessageInjected, map[string]any{"content": "three"})
	require.Equal(t, ingest.MessageAcknowledged, b.message(third.ID).State, "a late confirmation counts")
	require.Empty(t, b.message(third.ID).Reason, "it was acknowledged after all")
	b.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, box)
	final(second.ID, 1)

	ours := b.sandbox()
	kept := b.say(ours, "", "x")
	for n := range 5 {
		got, err := b.store.LeaseMessages(t.Context(), ingest.Taking{SandboxID: ours, Poll: "poll-of-agent-" + string(rune('a'+n))})
		require.NoError(t, err)
		require.Len(t, got, 1)
		b.inject(intake, ours, event.AgentWaiting, map[string]any{"message_ids": []string{}})
		b.endLeases()
	}
	require.False(t, b.message(kept.ID).Settled())
}

// TestMessage_LostAnswer gives the same omoi-agent the same messages at once, and nobody else before the lease is over.
func TestMessage_LostAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	box := b.sandbox()
	take := func(poll string) (contents []string) {
		got, err := b.store.LeaseMessages(t.Context(), ingest.Taking{SandboxID: box, Poll: poll})
		require.NoError(t, err)
		for _, m := range got {
			contents = append(contents, m.Content)
		}
		return contents
	}
	said := b.say(box, "", "one")
	require.Equal(t, []string{"one"}, take("first-poll"))
	b.say(box, "", "two")
	require.Equal(t, []string{"one", "two"}, take("first-poll"), "its answer was lost")
	require.Empty(t, take("second-poll"), "an answer that came is not repeated")
	require.Empty(t, b.lease(box), "a legacy worker keeps to the lease")
	require.True(t, b.ack(box, said.ID, "me"))
	require.Equal(t, []string{"two"}, take("first-poll"))
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
	require.True(t, b.ack(sandbox, first.ID, ""))
	b.endLeases()
	require.Equal(t, []string{"two"}, b.lease(sandbox))
	require.Equal(t, 2, b.message(second.ID).DeliveryCount)
	require.Equal(t, ingest.MessageAcknowledged, b.message(first.ID).State)
	require.NotNil(t, b.message(first.ID).SettledAt)
}

func TestOnlyTheOwnSandboxAcknowledges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sandbox, other := b.sandbox(), b.sandbox()
	m := b.say(sandbox, "", "one")
	require.False(t, b.ack(other, m.ID, ""))
	require.False(t, b.ack(sandbox, task.NewID(), ""))
	_, err := b.store.AckMessage(t.Context(), sandbox, "msg-1", "")
	require.Equal(t, task.CodeNotFound, task.CodeOf(err))
	_, err = b.store.AckMessage(t.Context(), sandbox, m.ID, strings.Repeat("x", 101))
	requireInvalid(t, err, "query.taker", "too long")
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
	require.Equal(t, ingest.MessageAcknowledged, b.message(first.ID).State, "the oldest")
	require.Equal(t, ingest.MessageDelivered, b.message(twin.ID).State)
	inject(map[string]any{"message_id": twin.ID, "content": "whatever"})
	require.Equal(t, ingest.MessageAcknowledged, b.message(twin.ID).State)
	inject(map[string]any{"content": "not fetched"})
	require.Equal(t, ingest.MessageAccepted, b.message(waiting.ID).State, "without an id only what was delivered")
	inject(map[string]any{"message_id": "msg-0123456789ab"})
	inject(map[string]any{"message_id": 7, "content": []string{"odd"}})
	b.contiguous(sandbox, 5)
}

// One taker wins a message. Who has won it may ask again, should the answer have been lost.
func TestOneTakerWins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sandbox := b.sandbox()
	m := b.say(sandbox, "", "one")
	b.lease(sandbox)
	require.True(t, b.ack(sandbox, m.ID, "a"))
	require.True(t, b.ack(sandbox, m.ID, "a"), "it asks again")
	require.False(t, b.ack(sandbox, m.ID, "b"))
	require.False(t, b.ack(sandbox, m.ID, ""))
	b.endLeases()
	require.Empty(t, b.lease(sandbox))
	require.Equal(t, "a", b.message(m.ID).Taker)
	nameless := b.say(sandbox, "", "two")
	require.True(t, b.ack(sandbox, nameless.ID, ""))
	require.False(t, b.ack(sandbox, nameless.ID, ""), "who has no name cannot be told from another")
}

func (b *bench) inject(intake *ingest.Intake, sandbox, eventType string, data map[string]any) {
	b.t.Helper()
	raw, err := json.Marshal(data)
	require.NoError(b.t, err)
	_, err = intake.Single(within(b.t), sandbox, ingest.Event{Type: eventType, Data: raw}, false)
	require.NoError(b.t, err)
}

func TestAMessageIsAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, sandbox, other := b.intake(ingest.IntakeConfig{}, nil), b.sandbox(), b.sandbox()
	acked, injected, replied := b.say(sandbox, "", "a"), b.say(sandbox, "", "b"), b.say(sandbox, "", "c")
	stop, old := b.say(sandbox, ingest.MessageInterrupt, "d"), b.say(sandbox, ingest.MessageInterrupt, "e")
	b.lease(sandbox)
	require.True(t, b.ack(sandbox, acked.ID, "me"))
	b.inject(intake, sandbox, "agent.message_injected", map[string]any{"message_id": injected.ID})
	b.inject(intake, other, "agent.waiting", nil)
	require.Equal(t, ingest.MessageAcknowledged, b.message(injected.ID).State)
	b.inject(intake, sandbox, "agent.waiting", nil)
	require.Equal(t, ingest.MessageAnswered, b.message(injected.ID).State)
	require.NotNil(t, b.message(injected.ID).AnsweredAt)
	require.Equal(t, ingest.MessageAcknowledged, b.message(acked.ID).State, "the agent may have waited before it saw it")
	b.inject(intake, other, "agent.message", map[string]any{"in_reply_to": replied.ID})
	require.Equal(t, ingest.MessageDelivered, b.message(replied.ID).State, "of another sandbox")
	b.inject(intake, sandbox, "agent.message", map[string]any{"content": "yes", "in_reply_to": replied.ID})
	require.Equal(t, ingest.MessageAnswered, b.message(replied.ID).State)
	b.inject(intake, sandbox, "agent.interrupted", map[string]any{"message_id": stop.ID, "reason": "d"})
	b.inject(intake, sandbox, "agent.interrupted", map[string]any{"reason": "e"}) // an old worker
	b.inject(intake, sandbox, "agent.interrupted", map[string]any{"reason": "shutdown_signal"})
	for _, id := range []string{stop.ID, old.ID} {
		require.Equal(t, ingest.MessageAnswered, b.message(id).State)
	}
	b.inject(intake, sandbox, "agent.message_injected", map[string]any{"message_id": stop.ID})
	require.Equal(t, ingest.MessageAnswered, b.message(stop.ID).State)
	require.True(t, b.ack(sandbox, acked.ID, "me"))
}

// An agent that wins messages by its name says by their ids which ones it has answered: nothing else settles them.
func TestAnAgentThatWaitsNamesWhatItHasAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, sandbox := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	said, unread := b.say(sandbox, "", "a"), b.say(sandbox, "", "b")
	for _, m := range []ingest.Message{said, unread} {
		b.lease(sandbox)
		require.True(t, b.ack(sandbox, m.ID, "me"))
		b.inject(intake, sandbox, event.AgentMessageInjected, map[string]any{"message_id": m.ID})
	}
	b.inject(intake, sandbox, event.AgentWaiting, map[string]any{"message": "a program says so"})
	require.Equal(t, ingest.MessageAcknowledged, b.message(said.ID).State)
	b.inject(intake, sandbox, event.AgentWaiting, map[string]any{"message_ids": []any{said.ID, 7, "no id"}})
	b.inject(intake, sandbox, event.AgentWaiting, map[string]any{"message_ids": []any{}})
	require.Equal(t, ingest.MessageAnswered, b.message(said.ID).State)
	require.Equal(t, ingest.MessageAcknowledged, b.message(unread.ID).State)
}

// Who has won a message and could not use it says so: nobody takes it for said. What was answered
// stays answered.
func TestAMessageThatCouldNotBeUsedExpires(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, sandbox := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	late, answered := b.say(sandbox, "", "a"), b.say(sandbox, "", "b")
	for _, m := range []ingest.Message{late, answered} {
		b.inject(intake, sandbox, event.AgentMessageInjected, map[string]any{"message_id": m.ID})
	}
	b.inject(intake, sandbox, "agent.message", map[string]any{"in_reply_to": answered.ID})
	for _, m := range []ingest.Message{late, answered} {
		b.inject(intake, sandbox, event.AgentMessageDropped, map[string]any{"message_id": m.ID})
	}
	require.Equal(t, ingest.MessageExpired, b.message(late.ID).State)
	require.Contains(t, b.message(late.ID).Reason, "could use the message")
	require.Equal(t, ingest.MessageAnswered, b.message(answered.ID).State)
}

// What names the message of another sandbox settles nothing, neither there nor here.
func TestAnIDOfAnotherSandboxSettlesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, sandbox, other := b.intake(ingest.IntakeConfig{}, nil), b.sandbox(), b.sandbox()
	mine, theirs := b.say(sandbox, "", "same"), b.say(other, "", "same")
	b.lease(sandbox)
	b.lease(other)
	for _, kind := range []string{"agent.message_injected", "agent.interrupted"} {
		b.inject(intake, sandbox, kind, map[string]any{"message_id": theirs.ID, "content": "same", "reason": "same"})
	}
	require.Equal(t, ingest.MessageDelivered, b.message(mine.ID).State)
	require.Equal(t, ingest.MessageDelivered, b.message(theirs.ID).State)
	b.inject(intake, sandbox, "agent.message_injected", map[string]any{"content": "same"})
	require.Equal(t, ingest.MessageAcknowledged, b.message(mine.ID).State)
	require.Equal(t, ingest.MessageDelivered, b.message(theirs.ID).State)
}

// An old worker gives the whole text back, however long it is.
func TestALongMessageIsSettledByItsText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	intake, sandbox := b.intake(ingest.IntakeConfig{}, nil), b.sandbox()
	long := strings.Repeat("ä\n", 20_000)
	m := b.say(sandbox, "", long)
	require.Equal(t, []string{long}, b.lease(sandbox))
	b.inject(intake, sandbox, "agent.message_injected", map[string]any{"content": long})
	require.Equal(t, ingest.MessageAcknowledged, b.message(m.ID).State)
}

func (b *bench) refuse(sandbox string, code task.Code) ingest.Message {
	b.t.Helper()
	stored, err := b.store.AcceptMessage(b.t.Context(), ingest.NewMessage{SandboxID: sandbox, Content: "too late"})
	require.Equal(b.t, code, task.CodeOf(err), "%v", err)
	id, ok := ingest.RefusedOf(err)
	require.True(b.t, ok)
	require.Equal(b.t, stored.ID, id)
	require.Contains(b.t, err.Error(), id)
	receipt := b.message(id)
	require.Equal(b.t, ingest.MessageRejected, receipt.State)
	require.NotNil(b.t, receipt.SettledAt)
	return receipt
}

func TestMessagesToAnEndedAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	taskID := b.task()
	sandbox := b.attempt(taskID, 1)
	open, given, taken := b.say(sandbox, "", "in time"), b.say(sandbox, ingest.MessageInterrupt, "x"), b.say(sandbox, "", "y")
	_, err := b.store.LeaseMessages(t.Context(), ingest.Taking{SandboxID: sandbox, Lease: time.Minute, Limit: 1})
	require.NoError(t, err)
	require.True(t, b.ack(sandbox, taken.ID, ""))
	b.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, sandbox)
	for _, id := range []string{open.ID, given.ID} {
		require.Equal(t, ingest.MessageExpired, one[string](b, `SELECT state FROM messages WHERE id = $1`, id), "at once, not when it is looked at")
		require.Contains(t, b.message(id).Reason, "ended")
		require.NotNil(t, b.message(id).SettledAt)
		require.False(t, b.ack(sandbox, id, "late"))
	}
	require.Equal(t, ingest.MessageAcknowledged, b.message(taken.ID).State)
	require.Empty(t, b.lease(sandbox))
	require.Contains(t, b.refuse(sandbox, task.CodeConflict).Reason, "no later attempt")
	next := b.attempt(taskID, 2)
	b.exec(`UPDATE tasks SET sandbox_id = $2 WHERE id = $1`, taskID, next)
	require.Contains(t, b.refuse(sandbox, task.CodeConflict).Reason, "another sandbox")
	b.exec(`UPDATE tasks SET sandbox_id = NULL, status = 'completed' WHERE id = $1`, taskID)
	require.Contains(t, b.refuse(sandbox, task.CodeConflict).Reason, "completed")
	b.exec(`UPDATE sandboxes SET state = 'gone', verified_at = now() - interval '2 hours' WHERE id = $1`, sandbox)
	require.Contains(t, b.refuse(sandbox, task.CodeGone).Reason, "deleted")
	_, err = b.store.LeaseMessages(t.Context(), ingest.Taking{SandboxID: next, Lease: time.Minute, Limit: 1})
	require.NoError(t, err)
	waiting := b.say(next, "", "x")
	b.exec(`UPDATE sandboxes SET state = 'lost' WHERE id = $1`, next)
	require.Equal(t, ingest.MessageExpired, b.message(waiting.ID).State)
	require.Contains(t, b.refuse(next, task.CodeGone).Reason, "lost")
}

// After an interrupt an agent may leave long before its attempt ends: who writes to it learns so.
func TestMessagesToAnAgentThatHasLeft(t *testing.T) {
	t.Parallel()
	b := setup(t)
	i := b.intake(ingest.IntakeConfig{}, nil)
	sandbox := b.sandbox()
	open, taken := b.say(sandbox, "", "in time"), b.say(sandbox, "", "x")
	require.True(t, b.ack(sandbox, taken.ID, ""))
	b.inject(i, sandbox, event.AgentShutdown, map[string]any{"reason": "sigterm"})
	require.Equal(t, ingest.MessageAccepted, b.message(open.ID).State, "it may be started again")
	b.inject(i, sandbox, event.AgentShutdown, map[string]any{"reason": "interrupted"})
	require.Equal(t, ingest.MessageExpired, b.message(open.ID).State)
	require.Contains(t, b.message(open.ID).Reason, "left")
	require.NotNil(t, b.message(open.ID).SettledAt)
	require.Equal(t, ingest.MessageAcknowledged, b.message(taken.ID).State)
	require.Contains(t, b.refuse(sandbox, task.CodeConflict).Reason, "has exited")
	b.inject(i, sandbox, event.AgentStarted, nil)
	b.say(sandbox, "", "it is back")
}

// A message is accepted before an attempt's end, and expires with it, or it is refused.
func TestNoMessageSlipsInAtTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sandbox := b.sandbox()
	var speakers sync.WaitGroup
	for range 8 {
		speakers.Go(func() {
			for range 5 {
				_, _ = b.store.AcceptMessage(within(t), ingest.NewMessage{SandboxID: sandbox, Content: "x"}) // refused or not
			}
		})
	}
	b.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, sandbox)
	speakers.Wait()
	require.Equal(t, 40, one[int](b, `SELECT count(*) FROM messages WHERE sandbox_id = $1`, sandbox))
	require.Zero(t, one[int](b, `SELECT count(*) FROM messages WHERE sandbox_id = $1 AND state NOT IN ('expired', 'refused')`, sandbox))
}

func TestTooManyMessagesAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sandbox := b.sandbox()
	b.exec(`INSERT INTO messages (id, sandbox_id, kind, content) SELECT gen_random_uuid(), $1, 'system', 'x' FROM generate_series(1, $2)`,
		sandbox, ingest.MaxOpenMessages)
	_, err := b.store.AcceptMessage(t.Context(), ingest.NewMessage{SandboxID: sandbox, Content: "x"})
	require.Equal(t, task.CodeExhausted, task.CodeOf(err))
	_, refused := ingest.RefusedOf(err)
	require.False(t, refused, "nothing is stored")
	require.Equal(t, ingest.MaxOpenMessages, one[int](b, `SELECT count(*) FROM messages`))
	b.exec(`UPDATE messages SET state = 'taken_up' WHERE ordinal = (SELECT min(ordinal) FROM messages)`)
	b.say(sandbox, "", "there is room again")
}

func TestSendersAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sandbox := b.sandbox()
	for _, kind := range []string{ingest.SenderPerson, ingest.SenderGuardian, ingest.SenderSystem, ingest.SenderAgent} {
		m, err := b.store.AcceptMessage(t.Context(), ingest.NewMessage{SandboxID: sandbox, Content: kind, SenderKind: kind, SenderID: "me"})
		require.NoError(t, err)
		require.Equal(t, []string{kind, "me"}, []string{b.message(m.ID).SenderKind, b.message(m.ID).SenderID})
	}
	require.Len(t, b.lease(sandbox), 4)
	_, err := b.store.AcceptMessage(t.Context(), ingest.NewMessage{SandboxID: sandbox, Content: "x", SenderKind: "god"})
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
}

// The bus gets only the beginning of a message.
func TestTheBusIsToldOfAMessage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sandbox := b.sandbox()
	b.say(sandbox, "", strings.Repeat("ü", 150))
	b.say(sandbox, ingest.MessageInterrupt, "stop")
	told := pgtest.Frames(t, b.pool, "SANDBOX_MESSAGE_QUEUED")
	require.Len(t, told, 2)
	for n, want := range [][]string{{"user_message", strings.Repeat("ü", 100), "normal"}, {"interrupt", "stop", "high"}} {
		require.Equal(t, []string{"sandbox", sandbox}, []string{told[n].EntityType, told[n].EntityID})
		said := map[string]string{}
		require.NoError(t, json.Unmarshal(told[n].Payload, &said))
		require.Equal(t, want, []string{said["message_type"], said["content"], said["priority"]})
		require.NotEmpty(t, said["message_id"])
	}
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
	_, err = b.store.AcceptMessage(t.Context(), ingest.NewMessage{SandboxID: "s", Content: strings.Repeat("x", ingest.MaxMessage+1)})
	requireInvalid(t, err, "content", "length")
	sandbox, texts := b.sandbox(), []string{" ", "\t\n", "日本語 \u202e 👩‍👩‍👧", "\u0001\x7f", strings.Repeat("x", ingest.MaxMessage)}
	for _, text := range texts {
		b.say(sandbox, "", text)
	}
	require.Equal(t, texts, b.lease(sandbox), "as they were said")
}

func TestALookThatFindsNothingWritesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	box := b.sandbox()
	b.exec(`CREATE TABLE writes (at timestamptz DEFAULT now())`)
	b.exec(`CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO writes DEFAULT VALUES; RETURN NULL; END'`)
	b.exec(`CREATE TRIGGER lease AFTER UPDATE ON messages FOR EACH STATEMENT EXECUTE FUNCTION note()`)
	lease := func(most time.Duration) []ingest.Message {
		got, err := b.store.LeaseMessages(t.Context(), ingest.Taking{SandboxID: box, Lease: most})
		require.NoError(t, err)
		return got
	}
	require.Empty(t, lease(time.Minute))
	_, err := b.store.AcceptMessage(t.Context(), ingest.NewMessage{SandboxID: box, Kind: ingest.MessageUser, Content: "x"})
	require.NoError(t, err)
	require.Len(t, lease(time.Microsecond), 1)
	require.Len(t, lease(time.Minute), 1, "the first lease is over")
	require.Empty(t, lease(time.Minute), "the second one is not")
	var writes int
	require.NoError(t, b.pool.QueryRow(t.Context(), `SELECT count(*) FROM writes`).Scan(&writes))
	require.Equal(t, 2, writes, "those that found something")
}
