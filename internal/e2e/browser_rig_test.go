package e2e_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"
)

// browser is a Chromium with one tab, driven by the DevTools protocol. Each name below evil.example
// resolves to 127.0.0.1 in it.
type browser struct {
	t    *testing.T
	conn *websocket.Conn
	last int
}

// devtools is a command, its answer, or an event.
type devtools struct {
	ID     int            `json:"id,omitempty"`
	Method string         `json:"method,omitempty"`
	Params map[string]any `json:"params,omitempty"`
	Result map[string]any `json:"result,omitempty"`
	Error  any            `json:"error,omitempty"`
	// SessionID is of the tab; empty: the browser's own.
	SessionID string `json:"sessionId,omitempty"` //nolint:tagliatelle // the protocol's name
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		t.Skip("SKIPPED: no chromium on this machine, so no attack by a web page is tried")
	}
	cmd := exec.CommandContext(t.Context(), path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		// what only some browsers do for us is not relied upon
		"--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
		"--host-resolver-rules=MAP evil.example 127.0.0.1", "--user-data-dir="+t.TempDir(), "--remote-debugging-port=0", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() }) // it was killed with the test's context
	lines := bufio.NewScanner(stderr)
	address := ""
	for address == "" && lines.Scan() {
		_, address, _ = strings.Cut(lines.Text(), "DevTools listening on ")
	}
	require.NotEmpty(t, address, "chromium does not start")
	go func() {
		for lines.Scan() { // nobody reads the rest
		}
	}()
	b := &browser{t: t}
	b.conn, _, err = websocket.Dial(t.Context(), address, nil) //nolint:bodyclose // the library closes it
	require.NoError(t, err)
	b.conn.SetReadLimit(-1)
	t.Cleanup(func() { _ = b.conn.CloseNow() })
	return b
}

// page opens a page of an origin whose server is the attacker's, and runs a script there, an
// expression that may be a promise. From then on the origin's name leads to 127.0.0.1.
func (b *browser) page(url, script string) string {
	b.t.Helper()
	target := b.call("", "Target.createTarget", map[string]any{"url": "about:blank"})["targetId"]
	tab, _ := b.call("", "Target.attachToTarget", map[string]any{"targetId": target, "flatten": true})["sessionId"].(string)
	b.call(tab, "Fetch.enable", map[string]any{"patterns": []any{map[string]any{"urlPattern": url}}})
	b.call(tab, "Page.enable", nil)
	b.send(tab, "Page.navigate", map[string]any{"url": url})
	paused := b.await(func(m devtools) bool { return m.SessionID == tab && m.Method == "Fetch.requestPaused" })
	b.call(tab, "Fetch.fulfillRequest", map[string]any{
		"requestId": paused.Params["requestId"], "responseCode": 200,
		"responseHeaders": []any{map[string]any{"name": "Content-Type", "value": "text/html"}},
		"body":            base64.StdEncoding.EncodeToString([]byte("<title>evil</title>")),
	})
	b.await(func(m devtools) bool { return m.SessionID == tab && m.Method == "Page.loadEventFired" })
	b.call(tab, "Fetch.disable", nil)
	got := b.call(tab, "Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true})
	require.Nil(b.t, got["exceptionDetails"])
	b.call("", "Target.closeTarget", map[string]any{"targetId": target})
	result, _ := got["result"].(map[string]any)
	said, err := json.Marshal(result["value"])
	require.NoError(b.t, err)
	return string(said)
}

func (b *browser) call(tab, method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.send(tab, method, params)
	id := b.last
	got := b.await(func(m devtools) bool { return m.ID == id })
	require.Nil(b.t, got.Error, method)
	return got.Result
}

func (b *browser) send(tab, method string, params map[string]any) {
	b.t.Helper()
	b.last++
	require.NoError(b.t, wsjson.Write(b.t.Context(), b.conn, devtools{ID: b.last, Method: method, Params: params, SessionID: tab}))
}

// await reads until a message is the one; the others are of no interest.
func (b *browser) await(is func(devtools) bool) devtools {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	for {
		var m devtools
		require.NoError(b.t, wsjson.Read(ctx, b.conn, &m))
		if is(m) {
			return m
		}
	}
}
