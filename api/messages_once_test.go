package api_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
)

// A client that lost the response sends again with the same key and creates no second message.
func TestMessage_RepeatAfterLostResponseIsDeduplicated(t *testing.T) {
	t.Parallel()
	w := open(t)
	box := w.begin(w.task(newTask()))
	path, body := wire+box+"/messages", `{"content":"once"}`
	w.post(path, body, "k")
	id := ok[client.QueuedMessage](w.call(http.MethodPost, path, body, idempotencyKey, "k"), http.StatusOK).MessageID
	require.Equal(t, 1, w.count(`SELECT count(*) FROM messages WHERE sandbox_id = $1`, box))
	require.Equal(t, id, w.take(box, "")[0].ID)
	require.True(t, w.win(box, id, "me"))
	require.Equal(t, id, w.say(box, "once", idempotencyKey, "k"), "however far it has come")
	require.NotEqual(t, id, w.say(box, "once"), "without a key each is new")

	detail := w.call(http.MethodPost, path, `{"content":"other"}`, idempotencyKey,
		"k").refused(http.StatusConflict, "header.Idempotency-Key").Detail
	require.Contains(t, detail, id)
	w.call(http.MethodPost, path, body, idempotencyKey, strings.Repeat("k", 300)).refused(422, "header.Idempotency-Key")
	other := w.begin(w.task(newTask()))
	require.NotEqual(t, id, w.say(other, "once", idempotencyKey, "k"), "a key counts in its sandbox")

	w.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, box)
	require.Equal(t, id, w.say(box, "once", idempotencyKey, "k"), "it was accepted then")
	refused := w.call(http.MethodPost, path, body, idempotencyKey, "late").refused(http.StatusConflict, "").MessageID
	require.NotEmpty(t, refused)
	require.Equal(t, refused,
		w.call(http.MethodPost, path, body, idempotencyKey, "late").refused(http.StatusConflict, "").MessageID)
}

const idempotencyKey = "Idempotency-Key"

// post sends a message and closes the connection once it is stored, without reading the response.
func (w *world) post(path, body, key string) {
	w.t.Helper()
	host := strings.TrimPrefix(w.url, "http://")
	conn, err := new(net.Dialer).DialContext(w.t.Context(), "tcp", host)
	require.NoError(w.t, err)
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nIdempotency-Key: "+
		"%s\r\nContent-Length: %d\r\n\r\n%s", path, host, key, len(body), body)
	require.NoError(w.t, err)
	require.Eventually(w.t, func() bool { return w.count(`SELECT count(*) FROM messages`) == 1 },
		20*time.Second, 5*time.Millisecond)
	require.NoError(w.t, conn.Close())
}

func TestMessage_ConcurrentRequestsWithOneKey(t *testing.T) {
	t.Parallel()
	w := open(t)
	box := w.begin(w.task(newTask()))
	said := make([]<-chan string, 8)
	for n := range said {
		said[n] = soon(func() string { return w.say(box, "once", idempotencyKey, "k") })
	}
	ids := map[string]bool{}
	for _, id := range said {
		ids[<-id] = true
	}
	require.Len(t, ids, 1)
	require.Equal(t, 1, w.count(`SELECT count(*) FROM messages`))
}

// A repeat is deduplicated also if the receiving task has another agent by now, or none.
func TestAgentMessage_RepeatIsDeduplicated(t *testing.T) {
	t.Parallel()
	w := open(t)
	from, to := w.task(newTask()), w.task(newTask())
	box, peer := w.begin(from), w.begin(to)
	token := "Bearer " + w.ring.Mint(box)
	ok[client.Project](w.call(http.MethodPatch, "/api/v1/projects/"+from.ProjectID, `{"allow_agent_messages":true}`),
		http.StatusOK)
	post := func(in client.CreateAgentMessageRequest) answer {
		return w.call(http.MethodPost, wire+box+"/outbox", in, authorization, token, idempotencyKey, "k")
	}
	in := client.CreateAgentMessageRequest{To: to.ID, Content: "have you seen it?"}
	first := ok[client.QueuedMessage](post(in), http.StatusOK)
	require.Equal(t, peer, first.SandboxID)
	w.exec(`UPDATE tasks SET sandbox_id = NULL WHERE id = $1`, to.ID)
	require.Equal(t, first, ok[client.QueuedMessage](post(in), http.StatusOK))
	in.To = peer
	post(in).refused(http.StatusConflict, "header.Idempotency-Key")
	w.say(box, "an inbox has keys of its own", idempotencyKey, "k")
	require.Equal(t, 2, w.count(`SELECT count(*) FROM messages`))
}
