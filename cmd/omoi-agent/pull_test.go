package main_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/mailbox"
	"github.com/omoi-dev/omoi/internal/agent/spool"
	agenttest "github.com/omoi-dev/omoi/internal/testkit/agent"
)

// disk accesses the files of a sandbox that is a folder.
type disk struct{}

func (disk) ReadFile(_ context.Context, path string) (io.ReadCloser, error) { return os.Open(path) }

func (disk) WriteFile(_ context.Context, path string, r io.Reader) error {
	text, err := io.ReadAll(r)
	if err == nil {
		err = os.WriteFile(path+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	return err
}

// to sends every request to the test server.
type to struct{ host string }

func (t to) RoundTrip(r *http.Request) (*http.Response, error) {
	r.URL.Host = t.host
	return http.DefaultTransport.RoundTrip(r)
}

// pulled returns a box whose agent has no network and no token.
func pulled(t *testing.T, script string) *box {
	t.Helper()
	b := newBox(t, script)
	b.cfg.APIURL, b.cfg.Token = mailbox.URL(b.cfg.Dir), ""
	return b
}

// carry runs the worker's side; the returned function ends it at any point of its work.
func (b *box) carry() (stop func()) {
	p := mailbox.NewForwarder(mailbox.Route{
		Files: disk{}, Dir: b.cfg.Dir, API: to{strings.TrimPrefix(b.server.URL, "http://")},
		Own: "/api/v1/sandboxes/" + b.cfg.SandboxID, Token: "carried", Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(10 * time.Millisecond); ctx.Err() == nil; {
			_, _ = p.Round(ctx) // there is no outbox at first
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
		p.Wait()
	}()
	stop = func() { cancel(); <-ended }
	b.t.Cleanup(stop)
	return stop
}

func TestPull(t *testing.T) {
	t.Parallel()
	b := pulled(t, `{"steps": [{"say": "hello"}, {"wait_message": {"timeout_s": 60}}, {"say": "heard {{message}}"}, {"flood": {"events": 900, "bytes": 2000}}]}`)
	b.carry()
	b.server.Say(agenttest.Message{ID: "m1", Content: "go on", Type: "user_message"})
	require.Equal(t, 0, b.run())
	for i, e := range b.server.Events() {
		require.EqualValues(t, i+1, e.N)
	}
	require.Equal(t, "m1", b.one("agent.message_injected")["message_id"])
	require.Equal(t, []string{"m1"}, slices.Compact(b.server.Acks()), "a message that is given again is confirmed again")
	b.one("agent.completed")
	require.Zero(t, b.server.Token(""), "all went with the carrier's token")
	look, err := spool.Look(filepath.Join(b.cfg.Dir, "spool"), spool.Clock())
	require.NoError(t, err)
	require.Zero(t, look.Unsent, "what is stored is let go")
}

// TestPull_Command checks that a program which only knows URLs reaches its own routes through files.
func TestPull_Command(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: no python3 here")
	}
	b := pulled(t, "")
	b.carry()
	b.cfg.Runtime, b.cfg.Env = "command", map[string]string{wantsNoCommit: "false"}
	b.cfg.Command = []string{"python3", "-c", `
import os, json, urllib.request as u
u.urlopen(u.Request(os.environ['CALLBACK_URL']+'/api/v1/sandboxes/sbx/events', json.dumps({'event_type': 'agent.message'}).encode(), {'Content-Type': 'application/json'}))
`}
	require.Equal(t, 0, b.run())
	b.one("agent.message")
	b.one("agent.completed")
}

// TestPull_ForwarderDies kills the forwarder repeatedly and loses requests and answers: each event is stored once and
// in order.
func TestPull_ForwarderDies(t *testing.T) {
	t.Parallel()
	b := pulled(t, `{"steps": [{"flood": {"events": 900, "bytes": 50}}, {"flood": {"events": 900, "bytes": 50}}, {"say": "done"}]}`)
	b.server.FaultOf = func(n int) agenttest.Fault {
		return []agenttest.Fault{{}, {CutBefore: true}, {CutAfter: true}, {Keep: 30}, {}}[n%5]
	}
	_, wait := b.start()
	for n := range 5 {
		stop := b.carry()
		b.server.Wait(t, func(events []agenttest.Event) bool { return len(events) > n*200 })
		stop()
	}
	b.carry()
	require.Equal(t, 0, wait().ExitCode())
	for i, e := range b.server.Events() {
		require.EqualValues(t, i+1, e.N)
	}
	b.one("agent.completed")
}

// TestPull_AfterKill checks that the spool of a killed agent is read after its end.
func TestPull_AfterKill(t *testing.T) {
	t.Parallel()
	b := pulled(t, `{"steps": [{"say": "last words"}, {"sleep_s": 600}]}`)
	cmd, wait := b.start()
	require.Eventually(t, func() bool {
		look, err := spool.Look(filepath.Join(b.cfg.Dir, "spool"), spool.Clock())
		return err == nil && look.Unsent >= 3
	}, time.Minute, 10*time.Millisecond)
	config := filepath.Join(b.cfg.Dir, "agent.json")
	out, err := b.command("flush", "--config", config).CombinedOutput()
	require.Error(t, err, "the agent lives")
	require.Contains(t, string(out), "flush")
	require.NoError(t, cmd.Process.Kill())
	wait()
	b.carry()
	out, err = b.command("flush", "--config", config).CombinedOutput()
	require.NoError(t, err, string(out))
	b.one("agent.assistant_message")
	require.Len(t, b.server.Of("agent.started"), 1)
}

// TestPull_HostileOutbox checks that an outbox reaches the sandbox's own routes only.
func TestPull_HostileOutbox(t *testing.T) {
	t.Parallel()
	b := pulled(t, "")
	require.NoError(t, os.MkdirAll(filepath.Join(b.cfg.Dir, "post", "in"), 0o755))
	asked := make(chan string, 10)
	b.server.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path + " " + r.Header.Get("Authorization") + r.Header.Get("Upgrade")
	})
	asks := []mailbox.Ask{}
	for i, request := range []string{
		"GET /api/v1/tasks HTTP/1.1\r\nHost: x\r\n\r\n", "GET /api/v1/sandboxes/other/events HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /api/v1/sandboxes/sbx/../../tasks HTTP/1.1\r\nHost: x\r\n\r\n", "GET /api/v1/sandboxes/sbx/%2e%2e/other HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://elsewhere/api/v1/tasks HTTP/1.1\r\nHost: x\r\n\r\n", "GET /api/v1/sandboxes/sbx/stream HTTP/1.1\r\nHost: x\r\n\r\n", "nonsense",
		"GET /api/v1/sandboxes/sbx/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer stolen\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
	} {
		asks = append(asks, mailbox.Ask{ID: strings.Repeat("A", 25) + string(rune('A'+i)), Request: []byte(request)})
	}
	text, err := json.Marshal(map[string]any{"asks": asks})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(mailbox.Outbox(b.cfg.Dir), text, 0o600))
	stop := b.carry()
	for _, ask := range asks {
		require.Eventually(t, func() bool { _, err := os.Stat(mailbox.Answer(b.cfg.Dir, ask.ID)); return err == nil }, time.Minute, 10*time.Millisecond)
	}
	stop()
	require.Len(t, asked, 1)
	require.Equal(t, "/api/v1/sandboxes/sbx/events Bearer carried", <-asked)
	for _, id := range []string{"../../etc/passwd", "", strings.Repeat("a", 26)} {
		_, err := mailbox.Read(strings.NewReader(`{"asks":[{"id":"` + id + `"}]}`))
		require.Error(t, err)
	}
}
