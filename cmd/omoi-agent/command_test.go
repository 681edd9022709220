package main_test

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCommand(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		command []string
		code    int
		want    []string
	}{
		"success":     {[]string{"sh", "-c", "test $TASK_ID = task-1 && test $SANDBOX_ID = sbx && test $IS_SANDBOX = 1 && test $BRANCH_NAME = feature/x && test -n \"$CALLBACK_URL\" && test $MINE = yes"}, 0, bounds()},
		"failure":     {[]string{"sh", "-c", "exit 5"}, 1, []string{"agent.started", "agent.error", "agent.shutdown"}},
		"not there":   {[]string{"/nonexistent"}, 1, []string{"agent.started", "agent.error", "agent.shutdown"}},
		"no command":  {nil, 1, []string{"agent.started", "agent.error", "agent.shutdown"}},
		"not the key": {[]string{"sh", "-c", "! env | grep -q planted-secret"}, 0, bounds()},
		"own outcome": {[]string{"python3", "-c", "import os, json, urllib.request as u\nu.urlopen(u.Request(os.environ['CALLBACK_URL']+'/api/v1/sandboxes/'+os.environ['SANDBOX_ID']+'/events', json.dumps({'event_type': 'agent.completed', 'event_data': {'success': True}}).encode(), {'Content-Type': 'application/json'}))"}, 0, []string{"agent.started", "agent.completed", "agent.shutdown"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(c.command) > 0 && c.command[0] == "python3" {
				if _, err := exec.LookPath("python3"); err != nil {
					t.Skip("no python3 here")
				}
			}
			b := newBox(t, "")
			b.cfg.Runtime, b.cfg.Command, b.cfg.Env = "command", c.command, map[string]string{"MINE": "yes", wantsNoCommit: "false"}
			require.Equal(t, c.code, b.run())
			require.Equal(t, c.want, b.server.Types())
		})
	}
}

// TestCommand_BehindASocket checks that a program which only knows URLs reaches its own routes of an API behind a
// socket.
func TestCommand_BehindASocket(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 here")
	}
	b := newBox(t, "")
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var listen net.ListenConfig
	socket, err := listen.Listen(t.Context(), "unix", filepath.Join(dir, "api.sock"))
	require.NoError(t, err)
	server := &http.Server{Handler: b.server.Config.Handler, ReadHeaderTimeout: time.Minute}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(socket) }()
	b.cfg.Env = map[string]string{wantsNoCommit: "false"}
	b.cfg.Runtime, b.cfg.APIURL = "command", "unix://"+filepath.Join(dir, "api.sock")
	b.cfg.Command = []string{"python3", "-c", `
import os, json, urllib.request as u, urllib.error
base = os.environ['CALLBACK_URL']
u.urlopen(u.Request(base+'/api/v1/sandboxes/sbx/events', json.dumps({'event_type': 'agent.message'}).encode(), {'Content-Type': 'application/json'}))
try:
    u.urlopen(base+'/api/v1/sandboxes/other/events')
except urllib.error.HTTPError as e:
    assert e.code == 404
`}
	require.Equal(t, 0, b.run())
	require.ElementsMatch(t, bounds("agent.message"), b.server.Types())
	require.Zero(t, b.server.Token(""), "every request carries the token, those of the program too")
}
