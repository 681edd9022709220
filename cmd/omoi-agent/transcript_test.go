package main_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// said returns the texts of a transcript's lines of type say.
func said(t *testing.T, content string) []string {
	t.Helper()
	var texts []string
	for line := range strings.Lines(content) {
		var entry struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &entry))
		if entry.Type == "say" {
			texts = append(texts, entry.Text)
		}
	}
	return texts
}

func (b *box) transcript() (run string, t agenttest.Transcript) {
	b.t.Helper()
	kept := b.server.Transcripts()
	maps.DeleteFunc(kept, func(run string, _ agenttest.Transcript) bool {
		return run == "earlier" || strings.HasSuffix(run, ".beside")
	})
	require.Len(b.t, kept, 1)
	for run, t = range kept {
		break
	}
	return run, t
}

func TestTranscript_BeforeTheOutcome(t *testing.T) {
	t.Parallel()
	for step, outcome := range map[string]string{`{"complete": {}}`: "agent.completed", `{"fail": "no"}`: "agent.error", `{"continuous_complete": {}}`: "continuous.completed"} {
		b := newBox(t, `{"steps": [{"say": "one"}, {"say": "planted-secret"}, `+step+`]}`)
		thenSaid := []string(nil)
		b.server.Refuse = func(e agenttest.Event) bool {
			if e.Type == outcome {
				for _, kept := range b.server.TranscriptsLocked() {
					thenSaid = said(t, kept.Content)
				}
			}
			return false
		}
		b.run()
		require.Equal(t, []string{"one", "[redacted]"}, thenSaid, outcome)
		run, kept := b.transcript()
		require.Equal(t, run, kept.SessionID)
	}
}

func TestTranscript_DuringTheWork(t *testing.T) {
	t.Parallel()
	b := newBox(t, `{"steps": [{"say": "one"}, {"hang": true}]}`)
	b.cfg.Transcript = time.Millisecond
	cmd, wait := b.start()
	b.server.Wait(t, func([]agenttest.Event) bool {
		for _, kept := range b.server.Transcripts() {
			return strings.Contains(kept.Content, "one") && strings.Contains(kept.Content, "hang")
		}
		return false
	})
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 0, wait().ExitCode())
}

// TestTranscript_Rejected checks that an API which accepts events and no transcripts gets the outcome.
func TestTranscript_Rejected(t *testing.T) {
	t.Parallel()
	for _, status := range []int{404, 502} {
		b := newBox(t, `{"steps": [{"say": "one"}]}`)
		b.cfg.Grace = time.Second
		b.server.TranscriptFaultOf = func(int) agenttest.Fault { return agenttest.Fault{Status: status} }
		require.Equal(t, 0, b.run())
		require.Len(t, b.server.Of("agent.completed"), 1)
		require.Len(t, b.server.Of("agent.shutdown"), 1)
	}
}

const resuming = `{"steps": [{"say": "I remember: {{remembered}}"}]}`

func TestTranscript_Resumed(t *testing.T) {
	t.Parallel()
	first := newBox(t, `{"steps": [{"say": "the answer is 42"}, {"think": "hm"}, {"fail": "no"}]}`)
	require.Equal(t, 1, first.run())
	run, kept := first.transcript()

	b := newBox(t, resuming)
	b.server.Keep("earlier", kept.Content)
	b.cfg.Attempt, b.cfg.Resume = 2, &agentconfig.Resume{RunID: "earlier", SessionID: run, Attempt: 1}
	require.Equal(t, 0, b.run())
	started := b.one("agent.started")
	require.Equal(t, true, started["is_resuming"])
	require.Equal(t, run, started["resumed_session_id"])
	require.EqualValues(t, 4, b.one("agent.message")["turn"], "the turns go on counting")
	require.Equal(t, "I remember: the answer is 42", b.one("agent.message")["content"])
	_, now := b.transcript()
	require.True(t, strings.HasPrefix(now.Content, kept.Content), "its transcript continues the earlier one")
	require.Equal(t, []string{"the answer is 42", "I remember: the answer is 42"}, said(t, now.Content))
}

func TestTranscript_ResumedAfterKill(t *testing.T) {
	t.Parallel()
	b := newBox(t, `{"steps": [{"say": "I remember: {{remembered}}"}, {"crash": "SIGKILL"}, {"say": "still: {{remembered}}"}]}`)
	b.server.Keep("earlier", `{"type":"say","text":"42","turn":7}`)
	b.cfg.Resume = &agentconfig.Resume{RunID: "earlier", SessionID: "s", Attempt: 1}
	require.NotZero(t, b.run())
	require.Equal(t, 0, b.run())
	require.Equal(t, "still: 42", b.server.Of("agent.message")[1].Data["content"])
	_, now := b.transcript()
	require.Equal(t, []string{"42", "I remember: 42", "still: 42"}, said(t, now.Content))
}

func TestTranscript_NotResumed(t *testing.T) {
	t.Parallel()
	for content, why := range map[string]string{"": "404", "rubbish": "does not consist of JSON lines"} {
		b := newBox(t, resuming)
		if content != "" {
			b.server.Keep("earlier", content)
		}
		b.cfg.Resume = &agentconfig.Resume{RunID: "earlier", SessionID: "s", Attempt: 1}
		require.Equal(t, 0, b.run())
		started := b.one("agent.started")
		require.Equal(t, false, started["is_resuming"])
		require.NotContains(t, started, "resumed_session_id")
		failed := b.one("agent.resume_failed")
		require.Contains(t, failed["error"], why)
		require.Equal(t, "s", failed["session_id"])
		require.Equal(t, "I remember: ", b.one("agent.message")["content"])
		require.EqualValues(t, 1, b.one("agent.message")["turn"])
	}
}

// TestTranscript_InEnvironment checks that a legacy worker gets session and transcript in its environment.
func TestTranscript_InEnvironment(t *testing.T) {
	t.Parallel()
	small, large := `{"type":"user"}`+"\n", strings.Repeat(`{"type":"user"}`+"\n", 7000)
	for content, inEnv := range map[string]bool{small: true, large: false} {
		b := newBox(t, "")
		b.server.Keep("earlier", content)
		b.cfg.Runtime, b.cfg.Resume = "command", &agentconfig.Resume{RunID: "earlier", SessionID: "s1", Attempt: 1}
		b.cfg.Env = map[string]string{wantsNoCommit: "false"}
		b.cfg.Command = []string{"sh", "-c", `printf '%s' "$RESUME_SESSION_ID" > id; printf '%s' "$SESSION_TRANSCRIPT_B64" > b64; cp "$SESSION_TRANSCRIPT_PATH" whole`}
		require.Equal(t, 0, b.run())
		read := func(name string) string {
			text, err := os.ReadFile(filepath.Join(b.cfg.Workspace, name))
			require.NoError(t, err)
			return string(text)
		}
		require.Equal(t, "s1", read("id"))
		require.Equal(t, content, read("whole"))
		if want := base64.StdEncoding.EncodeToString([]byte(content)); inEnv {
			require.Equal(t, want, read("b64"))
		} else {
			require.Empty(t, read("b64"))
		}
	}
}
