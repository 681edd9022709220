package transcript_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/transcript"
	"github.com/omoi-dev/omoi/internal/redact"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a growing file and the server that stores it.
type rig struct {
	t      *testing.T
	server *agenttest.Server
	line   *apiclient.Client
	path   string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, server: agenttest.New(t), path: filepath.Join(t.TempDir(), "session.jsonl")}
	line, err := apiclient.New(apiclient.Config{APIURL: r.server.URL, SandboxID: "sbx"})
	require.NoError(t, err)
	t.Cleanup(line.Close)
	r.line = line
	return r
}

func (r *rig) keeper(cfg transcript.Config) *transcript.Keeper {
	cfg.RunID = "run"
	if cfg.Backoff == 0 {
		cfg.Backoff = time.Millisecond
	}
	k := transcript.New(cfg, r.line, slog.New(slog.DiscardHandler))
	k.Follow(r.path, "session")
	return k
}

func (r *rig) grow(text string) {
	r.t.Helper()
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(r.t, err)
	_, err = f.WriteString(text)
	require.NoError(r.t, err)
	require.NoError(r.t, f.Close())
}

func (r *rig) kept() agenttest.Transcript { return r.server.Transcripts()["run"] }

func TestSend_CompleteNewLines(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	k := r.keeper(transcript.Config{})
	require.NoError(t, k.Send(t.Context()), "there is no file yet")
	r.grow("one\ntwo\nthr")
	require.NoError(t, k.Send(t.Context()))
	require.Equal(t, agenttest.Transcript{Content: "one\ntwo\n", SessionID: "session", Pieces: 1}, r.kept())
	require.NoError(t, k.Send(t.Context()))
	require.Equal(t, 1, r.kept().Pieces, "nothing new, nothing sent")
	r.grow("ee\n")
	require.NoError(t, k.Send(t.Context()))
	require.Equal(t, "one\ntwo\nthree\n", r.kept().Content)
	require.NoError(t, os.WriteFile(r.path, []byte("again\n"), 0o600))
	require.NoError(t, k.Send(t.Context()))
	require.Equal(t, "again\n", r.kept().Content, "a file that was written again")
}

func TestThrough_WaitsForTheResultOfACall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	k := r.keeper(transcript.Config{Secrets: redact.New("", map[string]string{"MY_SECRET": "planted-secret"})})
	call := `{"message":{"content":[{"type":"tool_use","id":"toolu_1","input":"planted-secret"}]}}` + "\n"
	result := `{"message":{"content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"planted-secret"}]}}` + "\n"
	r.grow(call)
	length := make(chan int64)
	go func() { length <- k.Through(t.Context(), "toolu_1") }()
	require.Eventually(t, func() bool { return r.kept().Pieces > 0 }, time.Minute, time.Millisecond)
	r.grow(result + `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_2"}]}}` + "\n")
	want := strings.ReplaceAll(call+result, "planted-secret", "[redacted]")
	require.EqualValues(t, len(want), <-length)
	require.True(t, strings.HasPrefix(r.kept().Content, want))
	require.Zero(t, k.Through(t.Context(), "toolu_2"), "it has not ended")
	require.EqualValues(t, len(want), k.Through(t.Context(), "toolu_1"), "sent before")
}

func TestSend_SecondProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text := strings.Repeat("a line of some length\n", 60_000) // more than a piece
	r.grow(text)
	require.NoError(t, r.keeper(transcript.Config{}).Send(t.Context()))
	sent := r.kept().Pieces
	require.Greater(t, sent, 2)
	r.grow("more\n")
	require.NoError(t, r.keeper(transcript.Config{}).Send(t.Context()))
	require.Equal(t, text+"more\n", r.kept().Content)
	require.Equal(t, sent+2, r.kept().Pieces, "one that asked, one that went on")

	require.NoError(t, os.WriteFile(r.path, []byte("something else\n"), 0o600))
	require.NoError(t, r.keeper(transcript.Config{}).Send(t.Context()))
	require.Equal(t, "something else\n", r.kept().Content)
}

func TestSend_SecretsAndLongLines(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	k := r.keeper(transcript.Config{Secrets: redact.New("", map[string]string{"MY_SECRET": "planted-secret"})})
	r.grow(`{"text":"planted-secret"}` + "\n" + strings.Repeat("x", 3<<20) + "\n{\"a\":1}\n")
	require.NoError(t, k.Send(t.Context()))
	want := `{"text":"[redacted]"}` + "\n" + fmt.Sprintf(`{"type":"omoi_line_left_out","bytes":%d}`, 3<<20+1) + "\n{\"a\":1}\n"
	require.Equal(t, want, r.kept().Content)
	require.NoError(t, k.Send(t.Context()))
	require.NoError(t, r.keeper(transcript.Config{Secrets: redact.New("", map[string]string{"MY_SECRET": "planted-secret"})}).Send(t.Context()))
	require.Equal(t, want, r.kept().Content, "the place is found in what was sent, not in the file")
}

// TestSend_UnreliableNetwork checks that the stored transcript always has complete lines from the start, each once, and
// all of them when the network works again.
func TestSend_UnreliableNetwork(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rng := rand.New(rand.NewPCG(3, 4))
	r.server.TranscriptFaultOf = func(int) agenttest.Fault {
		return []agenttest.Fault{{}, {Status: 502}, {CutBefore: true}, {CutAfter: true}, {Status: 503}, {Status: 404, Foreign: true}}[rng.IntN(6)]
	}
	k, text := r.keeper(transcript.Config{}), ""
	for n := range 40 {
		more := strings.Repeat(fmt.Sprintf("line %d\n", n), 1+n%7)
		r.grow(more)
		text += more
		if n%10 == 9 {
			k = r.keeper(transcript.Config{}) // a restart
		}
		_ = k.Send(t.Context())
		require.True(t, strings.HasPrefix(text, r.kept().Content))
	}
	require.NoError(t, k.Finish(t.Context()))
	require.Equal(t, text, r.kept().Content)
}

func TestSend_Refused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.server.TranscriptFaultOf = func(int) agenttest.Fault { return agenttest.Fault{Status: http.StatusConflict} }
	asked := 0
	r.server.TranscriptFaultOf = func(n int) agenttest.Fault { asked = n; return agenttest.Fault{Status: http.StatusConflict} }
	k := r.keeper(transcript.Config{})
	r.grow("a\n")
	require.NoError(t, k.Finish(t.Context()), "never the task's failure")
	require.NoError(t, k.Finish(t.Context()))
	require.Equal(t, 1, asked)
}

func TestFinish_Timeout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	r.server.TranscriptFaultOf = func(n int) agenttest.Fault {
		if n == 3 {
			cancel()
		}
		return agenttest.Fault{Status: http.StatusBadGateway}
	}
	r.grow("a\n")
	require.Error(t, r.keeper(transcript.Config{}).Finish(ctx))
}

func TestRun_Intervals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	k := r.keeper(transcript.Config{Every: time.Millisecond})
	go func() { defer close(done); k.Run(ctx) }()
	for _, line := range []string{"one\n", "two\n"} {
		r.grow(line)
		r.server.Wait(t, func([]agenttest.Event) bool { return strings.HasSuffix(r.kept().Content, line) })
	}
	cancel()
	<-done
}

func TestFetch(t *testing.T) {
	t.Parallel()
	whole := strings.Repeat(`{"type":"say","text":"x"}`+"\n", 1000)
	cases := map[string]struct {
		content string
		fault   func(n int) agenttest.Fault
		fails   string
	}{
		"whole": {content: whole},
		"after outage": {content: whole, fault: func(n int) agenttest.Fault {
			return []agenttest.Fault{{Status: 502}, {CutBefore: true}, {CutAfter: true}, {Status: 404, Foreign: true}, {}}[min(n, 5)-1]
		}},
		"none":     {fails: "404"},
		"no JSON":  {content: "\x00\x01 rubbish", fails: "does not consist of JSON lines"},
		"empty":    {content: " ", fails: "does not consist of JSON lines"},
		"torn end": {content: whole + `{"type":`, fails: "does not consist of JSON lines"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.server.TranscriptFaultOf = c.fault
			if c.content != "" {
				r.server.Keep("earlier", c.content)
			}
			err := transcript.Fetch(t.Context(), r.line, "earlier", r.path)
			if c.fails != "" {
				require.ErrorContains(t, err, c.fails)
				require.NoFileExists(t, r.path)
				require.NoFileExists(t, r.path+".new")
				return
			}
			require.NoError(t, err)
			got, err := os.ReadFile(r.path)
			require.NoError(t, err)
			require.Equal(t, c.content, string(got))
		})
	}
}
