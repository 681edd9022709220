package bridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/jsonrpc"
	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/openhands/bridge"
)

const patience = 5 * time.Minute

// client speaks with a bridge.
type client struct {
	*testing.T

	in      io.WriteCloser
	over    chan struct{}
	session string

	mu      sync.Mutex
	last    int
	answers map[int]*jsonrpc.Frame
	updates []map[string]any
}

// dial starts a bridge.
func dial(t *testing.T, cfg bridge.Config) *client {
	t.Helper()
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	c := &client{T: t, in: stdin, over: make(chan struct{}), answers: map[int]*jsonrpc.Frame{}}
	go func() {
		defer close(c.over)
		bridge.Serve(context.WithoutCancel(t.Context()), cfg, in, out)
	}()
	go c.read(stdout)
	t.Cleanup(c.close)
	return c
}

func (c *client) close() {
	_ = c.in.Close()
	<-c.over
}

func (c *client) read(out io.Reader) {
	for lines := bufio.NewReader(out); ; {
		f, _, err := jsonrpc.Read(lines)
		if err != nil {
			return
		}
		c.mu.Lock()
		if f.Method == "" {
			var id int
			_ = json.Unmarshal(f.ID, &id)
			c.answers[id] = f
		} else {
			c.updates = append(c.updates, jsonrpc.Into[struct {
				Update map[string]any `json:"update"`
			}](f.Params).Update)
		}
		c.mu.Unlock()
	}
}

// call sends a request, and returns what waits for its answer.
func (c *client) call(method string, params map[string]any) func() *jsonrpc.Frame {
	c.Helper()
	c.mu.Lock()
	c.last++
	id := c.last
	c.mu.Unlock()
	c.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	return func() (f *jsonrpc.Frame) {
		c.Helper()
		require.Eventually(c, func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			f = c.answers[id]
			return f != nil
		}, patience, 10*time.Millisecond, method)
		return f
	}
}

func (c *client) send(message map[string]any) {
	c.Helper()
	text, err := json.Marshal(message)
	require.NoError(c, err)
	_, err = c.in.Write(append(text, '\n'))
	require.NoError(c, err)
}

func (c *client) says(text string) map[string]any {
	return map[string]any{"sessionId": c.session, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

// open creates a session in a folder.
func (c *client) open(dir string) {
	c.Helper()
	hello := c.call("initialize", nil)()
	require.Nil(c, hello.Error)
	require.Contains(c, string(hello.Result), openhands.Tested)
	made := c.call("session/new", map[string]any{"cwd": dir})()
	require.Nil(c, made.Error)
	c.session = jsonrpc.Into[struct {
		ID string `json:"sessionId"` //nolint:tagliatelle // the protocol's name
	}](made.Result).ID
}

// of returns the updates of a kind.
func (c *client) of(kind string) (found []map[string]any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range c.updates {
		if u["sessionUpdate"] == kind {
			found = append(found, u)
		}
	}
	return found
}

// texts returns the texts of the agent.
func (c *client) texts() (all []string) {
	for _, u := range c.of("agent_message_chunk") {
		if text := u["content"].(map[string]any)["text"].(string); text != "" {
			all = append(all, text)
		}
	}
	return all
}

// spent returns the tokens that were reported while turns ran.
func (c *client) spent() (input, output float64) {
	for _, u := range c.of("agent_message_chunk") {
		meta, _ := u["_meta"].(map[string]any)
		if usage, ok := meta["usage"].(map[string]any); ok {
			input, output = input+usage["inputTokens"].(float64), output+usage["outputTokens"].(float64)
		}
	}
	return input, output
}

func (c *client) failure() map[string]any {
	c.Helper()
	var failure map[string]any
	require.Eventually(c, func() bool {
		found := c.of("session_info_update")
		if len(found) == 0 {
			return false
		}
		text, err := json.Marshal(found[0]["_meta"])
		failure = jsonrpc.Into[map[string]map[string]map[string]map[string]any](text)["jetbrains"]["air"]["sessionFailure"]
		return err == nil
	}, patience, 10*time.Millisecond)
	return failure
}

func waitFile(t *testing.T, file string) string {
	t.Helper()
	var text []byte
	require.Eventually(t, func() bool {
		text, _ = os.ReadFile(file)
		return strings.HasSuffix(string(text), "\n")
	}, patience, 20*time.Millisecond)
	return strings.TrimSpace(string(text))
}
