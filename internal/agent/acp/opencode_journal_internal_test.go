package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	acptest "github.com/omoi-dev/omoi/internal/testkit/acp"
)

// followed returns the file of a session after a program has told it the given number of times.
func followed(t *testing.T, times int) (path string) {
	t.Helper()
	told := acptest.Teller{Session: "ses_1", Printed: "printed", User: opencodeUser, Password: "right"}
	path = filepath.Join(t.TempDir(), "opencode", "ses_1.jsonl")
	for range times {
		server := httptest.NewServer(told)
		at, err := url.Parse(server.URL)
		require.NoError(t, err)
		from := Teller{Secret: "right", Work: "/w/a", Session: "ses_1"}
		from.Port, err = strconv.Atoi(at.Port())
		require.NoError(t, err)
		wrong := from
		wrong.Secret = "wrong"
		require.ErrorContains(t, followOpencode(t.Context(), wrong, path, func() { t.Error("nothing was told") }), "401")
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, followOpencode(ctx, from, path, func() { server.CloseClientConnections() }))
		cancel()
		server.Close()
	}
	return path
}

// imported returns the messages that a program is to take.
func imported(t *testing.T, path string) (messages []opencodeMessage) {
	t.Helper()
	args, err := importOpencode(path, path+".import")
	require.NoError(t, err)
	require.Equal(t, []string{"import", path + ".import"}, args)
	text, err := os.ReadFile(path + ".import")
	require.NoError(t, err)
	var all struct {
		Info     map[string]any    `json:"info"`
		Messages []opencodeMessage `json:"messages"`
	}
	require.NoError(t, json.Unmarshal(text, &all))
	require.Equal(t, "ses_1", all.Info["id"])
	return all.Messages
}

// TestOpencode_FollowsItsSession checks the file of a session by what opencode told in a recorded task: each change once, and a
// running tool without its growing output.
func TestOpencode_FollowsItsSession(t *testing.T) {
	t.Parallel()
	once, again := followed(t, 1), followed(t, 2)
	text, err := os.ReadFile(once)
	require.NoError(t, err)
	same, err := os.ReadFile(again)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), `"status":"completed"`))
	require.Equal(t, 2, strings.Count(string(text), `"status":"running"`), "two tools")
	require.NotContains(t, string(text), "Index: one", "the changes of the work tree")
	require.NotContains(t, string(text), "delta")
	require.Contains(t, summaryOf(once), "what the agent remembers")
	_, more, found := bytes.Cut(same, text)
	require.True(t, found)
	require.LessOrEqual(t, bytes.Count(more, []byte("\n")), bytes.Count(text, []byte("\n"))) // the recording goes back in time
	require.Equal(t, imported(t, once), imported(t, again))
}

// TestOpencode_TakesACutSession checks that a session may be cut behind each of its lines, as a checkpoint does.
func TestOpencode_TakesACutSession(t *testing.T) {
	t.Parallel()
	path := followed(t, 1)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	messages := 0
	for at := range text {
		if text[at] != '\n' {
			continue
		}
		require.NoError(t, os.WriteFile(path, text[:at+1], 0o600))
		got := imported(t, path)
		require.GreaterOrEqual(t, len(got), messages)
		messages = len(got)
	}
	require.Equal(t, 3, messages)
	require.NoError(t, os.WriteFile(path, append(text, `{"type":"gone","id":"`+idOf(t, imported(t, path)[2].Info)+`"}`+"\n{cut"...), 0o600))
	require.Len(t, imported(t, path), 2, "a removed message")
	require.NoError(t, os.WriteFile(path, []byte(`{"role":"agent","text":"omoi's own"}`+"\n"), 0o600))
	_, err = importOpencode(path, path+".import")
	require.Error(t, err)
}

func idOf(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var of struct {
		ID string `json:"id"`
	}
	require.NoError(t, json.Unmarshal(raw, &of))
	return of.ID
}
