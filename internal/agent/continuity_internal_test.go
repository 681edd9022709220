package agent

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/checkpoint"
)

func TestRestoredNotice_SaysThatTheSessionIsNotOfTheFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "resume.jsonl")
	notice := func(restore agentconfig.Restore, resumed bool) string {
		require.NoError(t, os.WriteFile(path, []byte("0123456789"), 0o600))
		s := &session{cfg: agentconfig.Config{Restore: &restore}, restore: &checkpoints.Restorer{From: checkpoint.Checkpoint{
			ID: "1.3", Attempt: 1, Sealed: checkpoint.Sealed{RunID: "first", Transcript: 8},
		}}}
		if resumed {
			s.resume = &Resume{Path: path}
		}
		require.NoError(t, s.cutSession())
		return s.restoredNotice()
	}
	const apart = "are of different moments"
	for name, restore := range map[string]agentconfig.Restore{
		"of another attempt": {Session: &agentconfig.Resume{RunID: "second"}},
		"cut off":            {Session: &agentconfig.Resume{RunID: "first"}, CutBytes: 8},
		"not kept":           {},
	} {
		require.Contains(t, notice(restore, true), apart, name)
		require.NotContains(t, notice(restore, false), apart, name)
	}
	require.NotContains(t, notice(agentconfig.Restore{Session: &agentconfig.Resume{RunID: "first"}, CutBytes: 3}, true), apart)
	cut, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "01234", string(cut))
}

func TestRestoredNotice_SaysThatNoCheckpointCouldBeRestored(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	for _, resume := range []*Resume{nil, {SessionID: "session"}} {
		dir := t.TempDir()
		missing := [][]checkpoint.Checkpoint{{{ID: "1.1", Attempt: 1, Number: 1, Sealed: checkpoint.Sealed{PackBytes: 9}}}}
		s, done, err := open(withDefaults(agentconfig.Config{
			Dir: dir, Workspace: filepath.Join(dir, "work"), APIURL: server.URL, Restore: &agentconfig.Restore{Segments: missing},
		}), Deps{Procs: &proc.Runner{}, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(done)
		s.marks, s.resume = &marks{path: filepath.Join(dir, "run.json")}, resume
		s.chooseSession()
		require.NoError(t, s.prepare(t.Context()))
		require.Equal(t, resume != nil, s.restoredNotice() != "")
		if resume != nil {
			require.Contains(t, s.restoredNotice(), "No checkpoint could be restored: the files lack what was not committed.")
		}
	}
}
