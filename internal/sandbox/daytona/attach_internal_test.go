package daytona

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	apiclient "github.com/daytonaio/daytona/libs/api-client-go"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// TestToolbox_AddressIsAskedFor checks that the address of the toolbox is requested if the sandbox does not name it.
func TestToolbox_AddressIsAskedFor(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"url":"https://proxy.example/toolbox/"}`)
	}))
	t.Cleanup(server.Close)
	p, err := New(Config{APIKey: "key", APIURL: server.URL}, nil)
	require.NoError(t, err)
	tb, err := p.toolbox(t.Context(), &apiclient.Sandbox{Id: "box"})
	require.NoError(t, err)
	require.Equal(t, "https://proxy.example/toolbox/box", tb.base)
}

// TestTerminal_ShellHangs checks that a terminal whose shell never starts the command is closed: no input reaches it,
// not even Ctrl-C.
func TestTerminal_ShellHangs(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/connect") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"exitCode":0,"result":"","sessionId":"visit"}`)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		for err == nil {
			_, _, err = conn.Read(r.Context())
		}
	}))
	t.Cleanup(server.Close)
	p, err := New(Config{APIKey: "key", APIURL: server.URL}, nil)
	require.NoError(t, err)
	tb, err := p.toolbox(t.Context(), &apiclient.Sandbox{Id: "box", ToolboxProxyUrl: server.URL})
	require.NoError(t, err)
	e := execution{
		tb: tb, id: "visit", dir: dirExec + "/visit", begins: time.Millisecond, time: time.Minute,
		streams: sandbox.Streams{Stdin: strings.NewReader(""), Stdout: io.Discard, Terminal: &sandbox.Terminal{Size: sandbox.Size{Rows: 24, Columns: 80}}},
	}
	_, err = e.run(t.Context(), "")
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
	require.NotErrorIs(t, err, context.Canceled, "the person did not leave")
}
