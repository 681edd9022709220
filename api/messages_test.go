package api_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// say posts a message to a sandbox and returns its ID.
func (w *world) say(box, content string, headers ...string) string {
	w.t.Helper()
	return ok[client.QueuedMessage](w.call(http.MethodPost, wire+box+"/messages", client.CreateMessageRequest{Content: content},
		headers...), http.StatusOK).MessageID
}

// take fetches the waiting messages of a sandbox.
func (w *world) take(box, query string, headers ...string) []client.LeasedMessage {
	w.t.Helper()
	return ok[[]client.LeasedMessage](w.call(http.MethodGet, wire+box+"/messages"+query, nil, headers...), http.StatusOK)
}

func (w *world) win(box, id, taker string, headers ...string) bool {
	w.t.Helper()
	return ok[client.AcknowledgedMessage](w.call(http.MethodPost, wire+box+"/messages/"+id+"/ack?taker="+taker, nil, headers...),
		http.StatusOK).Settled
}

func (w *world) receipt(path string, headers ...string) client.MessageReceipt {
	w.t.Helper()
	return ok[client.MessageReceipt](w.call(http.MethodGet, "/api/v1"+path, nil, headers...), http.StatusOK)
}

// soon runs do concurrently and returns a channel with its result.
func soon[T any](do func() T) <-chan T {
	got := make(chan T, 1)
	go func() {
		var result T
		defer func() { got <- result }()
		result = do()
	}()
	return got
}

// Every wait here is a minute or more, so that only a notification ends it within the time of the test.
func TestMessages_OverEachBus(t *testing.T) {
	t.Parallel()
	onEachBus(t, patient, func(t *testing.T, w apiPair) {
		t.Helper()
		polled := soon(func() []client.LeasedMessage { return w.other.take("b", "?wait=50s") })
		id := w.one.say("b", "now")
		got := <-polled
		require.Len(t, got, 1)
		require.Equal(t, id, got[0].ID)
		require.Empty(t, w.one.take("b", ""), "it is leased")

		settled := soon(func() client.MessageReceipt { return w.one.receipt("/messages/" + id + "?wait=50s") })
		require.True(t, w.other.win("b", id, "me"))
		require.Equal(t, client.MessageAcknowledged, (<-settled).State)

		second := w.other.say("b", "by an event")
		w.one.take("b", "")
		settled = soon(func() client.MessageReceipt { return w.one.receipt("/messages/" + second + "?wait=50s") })
		w.other.call(http.MethodPost, wire+"b/events",
			`{"event_type":"agent.message_injected","event_data":{"content":"by an event"}}`)
		require.Equal(t, client.MessageAcknowledged, (<-settled).State)
	})
}

// Without notifications a poll finds the message at its next query.
func TestMessagePoll_SurvivesLossOfTheBus(t *testing.T) {
	t.Parallel()
	quick := func(c *api.Config) { c.Open, c.PollEvery, c.MaxWait = true, 20*time.Millisecond, time.Minute }
	onEachBus(t, quick, func(t *testing.T, w apiPair) {
		t.Helper()
		polled := soon(func() []client.LeasedMessage { return w.other.take("b", "?wait=50s") })
		w.kill()
		id := w.one.say("b", "anyway")
		got := <-polled
		require.Len(t, got, 1)
		require.Equal(t, id, got[0].ID)
		require.True(t, w.other.win("b", id, "me"))
		require.Equal(t, client.MessageAcknowledged, w.one.receipt("/messages/"+id+"?wait=50s").State)
	})
}

// Many polls at both processes get each message once while its lease lasts.
func TestMessages_LeasedOnceAtATime(t *testing.T) {
	t.Parallel()
	onEachBus(t, patient, func(t *testing.T, w apiPair) {
		t.Helper()
		const messages, takers = 40, 8
		var mu sync.Mutex
		var group sync.WaitGroup
		given, all := map[string]int{}, make(chan struct{})
		for n := range takers {
			at := []*world{w.one, w.other}[n%2]
			group.Go(func() {
				for {
					got := at.take("b", "?wait=50s")
					mu.Lock()
					for _, m := range got {
						given[m.ID]++
						if len(given) == messages {
							close(all)
						}
					}
					done := len(given) >= messages
					mu.Unlock()
					if done {
						return
					}
				}
			})
		}
		for n := range messages {
			[]*world{w.one, w.other}[n%2].say("b", "x")
		}
		<-all
		over := soon(func() bool { group.Wait(); return true })
		for waits := true; waits; { // polls that still wait end
			w.one.say("b", "over")
			select {
			case <-over:
				waits = false
			default:
			}
		}
		for id, times := range given {
			require.Equal(t, 1, times, id)
		}
	})
}

func TestMessageReceipts(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	box := w.begin(made)
	id := w.say(box, "hello")
	path := "/messages/" + id
	got := w.receipt(path)
	require.Equal(t, client.MessageReceipt{
		ID: id, SandboxID: box, TaskID: made.ID, Kind: "user_message", Content: "hello", SenderKind: "person",
		SenderID: "open",
		State:    client.MessageAccepted, AcceptedAt: got.AcceptedAt,
	}, got)
	require.Equal(t, got, w.receipt("/sandboxes/"+box+path))
	require.Empty(t, w.take(box, "?only=interrupt"), "the rest is left to another taker")
	w.call(http.MethodGet, wire+box+"/messages?only=others", nil).refused(422, "query.only")
	w.take(box, "")
	given := w.receipt(path)
	require.Equal(t, client.MessageDelivered, given.State)
	require.Equal(t, 1, given.DeliveryCount)
	require.NotNil(t, given.DeliveredAt)
	require.True(t, w.win(box, id, ""))
	require.NotNil(t, w.receipt(path).SettledAt)
	w.call(http.MethodPost, wire+box+"/events", client.CreateEventRequest{
		Type: "agent.message", Data: []byte(`{"content":"hi","in_reply_to":"` + id + `"}`),
	})
	answered := w.receipt(path)
	require.Equal(t, client.MessageAnswered, answered.State)
	require.NotNil(t, answered.AnsweredAt)
	for _, unknown := range []string{"/api/v1/messages/7", "/api/v1/messages/" + made.ID, wire + "other" + path, wire + box + "/messages/" + made.ID} {
		w.call(http.MethodGet, unknown, nil).refused(http.StatusNotFound, "")
	}
	w.call(http.MethodGet, "/api/v1"+path+"?wait=long", nil).refused(422, "query.wait")
}

func TestMessageReceipts_OfExpiredMessages(t *testing.T) {
	t.Parallel()
	w := open(t)
	made := w.task(newTask())
	box := w.begin(made)
	waiting := w.say(box, "in time")
	w.end(made, task.StatusFailed)
	w.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, box)
	require.Equal(t, client.MessageExpired, w.receipt("/messages/"+waiting+"?wait=25s").State)
	refused := func(status int) client.MessageReceipt {
		p := w.call(http.MethodPost, wire+box+"/messages", `{"content":"too late"}`).refused(status, "")
		require.Contains(t, p.Detail, p.MessageID)
		return w.receipt("/messages/" + p.MessageID + "?wait=25s")
	}
	require.Equal(t, client.MessageRejected, refused(http.StatusConflict).State)
	require.Contains(t, refused(http.StatusConflict).Reason, "The task is failed")
	w.exec(`UPDATE sandboxes SET state = 'gone' WHERE id = $1`, box)
	require.Contains(t, refused(http.StatusGone).Reason, "deleted")
}

func TestMessages_AreBounded(t *testing.T) {
	t.Parallel()
	w := open(t)
	path := wire + "b/messages"
	w.call(http.MethodPost, path, client.CreateMessageRequest{Content: strings.Repeat("x", 64<<10+1)}).refused(422, "body.content")
	w.call(http.MethodPost, path, `{"content":"a\u0000b"}`).refused(422, "body.content")
	w.call(http.MethodPost, path, `{"content":7}`).refused(422, "body.content")
	w.say("b", " ")
	w.exec(`INSERT INTO messages (id, sandbox_id, kind, content) SELECT gen_random_uuid(), 'b', 'system', 'x' FROM generate_series(1, 999)`)
	require.Contains(t, w.call(http.MethodPost, path, `{"content":"x"}`).refused(http.StatusTooManyRequests, "").Detail,
		"1000 messages already wait")
}

// Two organizations, three projects: access to receipts.
func TestMessageReceipt_Access(t *testing.T) {
	t.Parallel()
	w := closed(t)
	mine := w.key(w.org, "write")
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, mine), http.StatusCreated)
	box, elsewhere := w.begin(made), w.begin(ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", newTask(), authorization, mine), http.StatusCreated))
	id := w.say(box, "hello", authorization, mine)
	read, own := w.key(w.org, "read"), "Bearer "+w.ring.Mint(box)
	require.Equal(t, "hello", w.receipt("/messages/"+id, authorization, read).Content)
	require.Equal(t, "key test", w.receipt("/messages/"+id, authorization, read).SenderID)
	require.Equal(t, "hello", w.receipt("/sandboxes/"+box+"/messages/"+id, authorization, own).Content)
	other, err := w.store.EnsureOrganization(t.Context(), "other")
	require.NoError(t, err)
	theirs, stranger := w.key(other, "admin"), "Bearer "+w.ring.Mint(elsewhere)
	w.call(http.MethodGet, "/api/v1/messages/"+id, nil, authorization, theirs).refused(http.StatusNotFound, "")
	w.call(http.MethodGet, wire+box+"/messages/"+id, nil, authorization, theirs).refused(http.StatusNotFound, "")
	w.call(http.MethodGet, "/api/v1/messages/"+id, nil, authorization, own).refused(http.StatusForbidden, "")
	w.call(http.MethodGet, wire+box+"/messages/"+id, nil, authorization, stranger).refused(http.StatusForbidden, "")
	w.call(http.MethodGet, wire+elsewhere+"/messages/"+id, nil, authorization, stranger).refused(http.StatusNotFound, "")
	require.False(t, w.win(elsewhere, id, "x", authorization, stranger))
	w.call(http.MethodPost, wire+box+"/messages", `{"content":"x"}`, authorization, read).refused(http.StatusForbidden, "")
}

func TestAgentMessage_RequiresTheProjectSetting(t *testing.T) {
	t.Parallel()
	w := open(t)
	from, to := w.task(newTask()), w.task(newTask())
	box, peer := w.begin(from), w.begin(to)
	token := "Bearer " + w.ring.Mint(box)
	outbox, inbox := wire+box+"/outbox", wire+box+"/messages"
	post := func(to, kind string) answer {
		return w.call(http.MethodPost, outbox,
			client.CreateAgentMessageRequest{To: to, Content: "have you seen it?", Type: kind}, authorization, token)
	}
	require.Contains(t, post(peer, "").refused(http.StatusForbidden, "").Detail,
		"--allow-agent-messages", "not unless it is allowed")
	changed := ok[client.Project](w.call(http.MethodPatch, "/api/v1/projects/"+from.ProjectID,
		`{"allow_agent_messages":true}`), http.StatusOK)
	require.True(t, changed.AllowAgentMessages)

	queued := ok[client.QueuedMessage](post(peer, ""), http.StatusOK)
	require.Equal(t, peer, queued.SandboxID)
	ok[client.QueuedMessage](post(to.ID, "interrupt"), http.StatusOK)
	given := w.take(peer, "")
	require.Len(t, given, 2)
	require.Equal(t, []string{"interrupt", "agent", box}, []string{given[0].Type, given[0].SenderKind, given[0].SenderID})
	sent := w.receipt("/sandboxes/"+box+"/messages/"+queued.MessageID, authorization, token)
	require.Equal(t, []string{"agent", box, peer, client.MessageDelivered},
		[]string{sent.SenderKind, sent.SenderID, sent.SandboxID, sent.State})

	for _, kind := range []string{"guardian_nudge", "system", "shout"} {
		post(peer, kind).refused(422, "body.message_type")
	}
	post("", "").refused(422, "body.to")
	w.call(http.MethodPost, outbox, client.CreateAgentMessageRequest{To: peer, Content: "x"}).refused(http.StatusForbidden, "") // an open server's anybody
	require.Contains(t, post(box, "").refused(http.StatusForbidden, "").Detail, "the same agent")
	require.Contains(t,
		w.call(http.MethodPost, inbox, `{"content":"x"}`, authorization, token).refused(http.StatusForbidden, "").Detail,
		"own inbox")
	w.call(http.MethodPost, wire+peer+"/messages", `{"content":"x"}`, authorization, token).
		refused(http.StatusForbidden, "")
	w.exec(`UPDATE tasks SET sandbox_id = NULL WHERE id = $1`, to.ID)
	require.Contains(t, post(to.ID, "").refused(http.StatusConflict, "").Detail, "no running attempt")
}

// An agent learns nothing about agents of others, not even that they exist.
func TestAgentMessage_OtherProjectsAreNotFound(t *testing.T) {
	t.Parallel()
	w := open(t)
	made, other := w.task(newTask()), w.task(newTask())
	box := w.begin(made)
	w.exec(`UPDATE projects SET agents_may_message = true`)
	project := task.NewID()
	w.exec(`INSERT INTO projects (id, organization_id, name, agents_may_message) VALUES ($1, $2, 'p', true)`,
		project, w.org)
	w.exec(`UPDATE tasks SET project_id = $2 WHERE id = $1`, other.ID, project)
	elsewhere := w.begin(other)
	token := "Bearer " + w.ring.Mint(box)
	said := map[string]int{}
	for _, to := range []string{elsewhere, other.ID, task.NewID(), "nobody", "b"} {
		detail := w.call(http.MethodPost, wire+box+"/outbox", client.CreateAgentMessageRequest{To: to, Content: "x"}, authorization,
			token).refused(http.StatusForbidden, "").Detail
		said[strings.ReplaceAll(detail, to, "")]++
	}
	require.Len(t, said, 1, "the same for what is elsewhere and what is nowhere")
	w.say("bare", "x")
	bare := "Bearer " + w.ring.Mint("bare")
	w.call(http.MethodPost, wire+"bare/outbox", client.CreateAgentMessageRequest{To: box, Content: "x"}, authorization, bare).
		refused(http.StatusForbidden, "")
	w.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, box)
	w.call(http.MethodPost, wire+box+"/outbox", client.CreateAgentMessageRequest{To: elsewhere, Content: "x"}, authorization, token).
		refused(http.StatusConflict, "")
	require.Zero(t, w.count(`SELECT count(*) FROM messages WHERE sender_kind = 'agent'`))
}
