package acp

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/stdio"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
)

// asking returns a request for a permission with options: kinds by ID, in order.
func asking(options ...string) *jsonrpc.Frame {
	var list []map[string]string
	for _, o := range options {
		id, kind, _ := strings.Cut(o, " ")
		list = append(list, map[string]string{"optionId": id, "kind": kind})
	}
	params, _ := json.Marshal(map[string]any{"options": list}) //nolint:errchkjson // texts
	return &jsonrpc.Frame{Method: "session/request_permission", Params: params}
}

// TestPermit_ByKind checks that the IDs of options decide nothing: each agent has its own, and the second option of a kind
// may change the mode.
func TestPermit_ByKind(t *testing.T) {
	t.Parallel()
	r, _ := newTestRecorder(t)
	for _, c := range []struct{ want, options string }{
		{"no", "allow reject_once,always allow_always,no allow_once,mode allow_once"},
		{"always", "allow reject_once,always allow_always"},
		{"", "allow_once reject_once,x reject_always"},
		{"", ""},
	} {
		want := outcome("selected", c.want)
		if c.want == "" {
			want = outcome("cancelled", "")
		}
		require.Equal(t, want, r.permit(asking(strings.Split(c.options, ",")...)), c.options)
	}
}

// TestPermit_NothingWhileStopping checks that no call begins in a turn that is stopped.
func TestPermit_NothingWhileStopping(t *testing.T) {
	t.Parallel()
	r, _ := newTestRecorder(t)
	r.refuse()
	require.Equal(t, outcome("cancelled", ""), r.permit(asking("a allow_once")))
}

// TestAsked_TooLate checks that an agent which may not wait for the answer any more gets no message, so that none is lost.
func TestAsked_TooLate(t *testing.T) {
	t.Parallel()
	r, _ := newTestRecorder(t)
	m := inbox.Message{ID: "a", Content: "use tabs"}
	k := &talk{Runtime: Runtime{Dialect: dialects["qwen"]}, rec: r, mu: &sync.Mutex{}, queue: []inbox.Message{m}}
	pull := func(late bool) string {
		result, refused := k.asked(&jsonrpc.Frame{Method: "craft/drainMidTurnQueue"}, late)
		require.Nil(t, refused)
		text, err := json.Marshal(result)
		require.NoError(t, err)
		return string(text)
	}
	require.JSONEq(t, `{"messages": [], "hasQueuedPrompt": false}`, pull(true))
	require.Contains(t, pull(false), "use tabs")
	require.NotContains(t, pull(false), "use tabs", "once")
}

// lateness notes whether a request was late.
type lateness struct {
	*recorder

	late bool
}

func (l *lateness) asked(_ *jsonrpc.Frame, late bool) (any, *jsonrpc.Error) {
	l.late = late
	return "", nil
}

// TestRequest_BehindAReader checks that a request counts as late if the reader is behind.
func TestRequest_BehindAReader(t *testing.T) {
	t.Parallel()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	in := stdio.NewWriter(null)
	defer in.Drop()
	for _, behind := range []time.Duration{0, late / 2, 2 * late} {
		to := &lateness{}
		(&conn{Process: &stdio.Process{In: in}, to: to, behind: behind}).request(&jsonrpc.Frame{ID: json.RawMessage("1")})
		require.Equal(t, behind > late, to.late, behind)
	}
}

// TestWithdraw_NoAnswer checks that the next message of the model does not count as the answer to a message that the agent
// did not take.
func TestWithdraw_NoAnswer(t *testing.T) {
	t.Parallel()
	r, report := newTestRecorder(t)
	a, b := inbox.Message{ID: "a"}, inbox.Message{ID: "b"}
	r.injected([]inbox.Message{a, b})
	r.withdraw(a)
	r.take(jsonrpc.Parse([]byte(`{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"text":"yes"}}}}`)))
	r.settle(nil, false)
	require.Contains(t, report.all[0], `"in_reply_to":"b"`)
	r.injected([]inbox.Message{a})
	r.take(jsonrpc.Parse([]byte(`{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","messageId":"2","content":{"text":"no"}}}}`)))
	r.withdraw(a)
	r.settle(nil, false)
	require.NotContains(t, strings.Join(report.all, " "), `"in_reply_to":"a"`)
}

// TestWithdraw_OfATurn checks that a message which waits for the next turn is no answer's question any more.
func TestWithdraw_OfATurn(t *testing.T) {
	t.Parallel()
	m := []inbox.Message{{ID: "a"}}
	for name, ends := range map[string]func(*talk){
		"unread": func(k *talk) { k.rec.accepted(m, 0, inTurn); k.unread() },
		"refused": func(k *talk) {
			k.end.open = []delivery{{messages: m, by: SteerInject}}
			k.answered(0, reply{Frame: &jsonrpc.Frame{Result: json.RawMessage(`{"outcome":"promptRequired"}`)}})
		},
	} {
		r, _ := newTestRecorder(t)
		k := &talk{Driver: &continuous.Driver{}, rec: r, mu: &sync.Mutex{}, end: &turn{}}
		r.injected(m)
		ends(k)
		require.Empty(t, r.asked, name)
		require.Equal(t, m, k.Later, name)
	}
}

// TestListen_WhileAToolRuns checks that the silence of a tool has the limit of tools.
func TestListen_WhileAToolRuns(t *testing.T) {
	t.Parallel()
	r, _ := newTestRecorder(t)
	r.take(jsonrpc.Parse([]byte(`{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","toolCallId":"1"}}}`)))
	r.last -= time.Minute
	k := &talk{Runtime: Runtime{Silence: time.Second}, Driver: &continuous.Driver{}, rec: r, end: &turn{}}
	k.Env.Config.ToolTimeout = time.Hour
	require.NotNil(t, k.listen())
	require.Empty(t, k.end.stop)
}

// TestContinued_InALaterMinute checks that a session is not loaded in the minute in which it was created, in which the agent would
// overwrite it.
func TestContinued_InALaterMinute(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k := &talk{Runtime: Runtime{Dialect: dialects["gemini"], Minute: 1 << 62}, Driver: &continuous.Driver{}, place: &place{Created: time.Now()}}
	k.can.Can.Load = true
	_, err := k.continued(ctx, "s")
	require.ErrorIs(t, err, context.Canceled)
}
