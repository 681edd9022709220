package daytona

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"
	toolboxclient "github.com/daytonaio/daytona/libs/toolbox-api-client-go"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// terminal types the command into a shell of Daytona and copies its output.
func (e execution) terminal(ctx context.Context, env string) (int, error) {
	if err := e.tb.furnish(ctx, e.dir, prepared(e.dir, scriptShell, env)); err != nil {
		return -1, err
	}
	if err := e.tb.openTerminal(ctx, e.id, e.streams.Terminal.Size); err != nil {
		return -1, err
	}
	conn, err := e.tb.dial(ctx, "/process/pty/"+url.PathEscape(e.id)+"/connect")
	if err != nil {
		return -1, err
	}
	defer conn.CloseNow() //nolint:errcheck // may be closed already
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := conn.Write(ctx, websocket.MessageBinary, []byte("exec sh "+e.dir+"/run "+e.dir+"\n")); err != nil {
		return -1, classify("send input to the sandbox", nil, err)
	}
	// Until the command starts, no input reaches it, not even Ctrl-C.
	late := time.AfterFunc(e.begins, func() { _ = conn.CloseNow() })
	defer late.Stop()
	show := &curtain{to: e.streams.Stdout, up: func() {
		late.Stop()
		go e.keys(ctx, conn)
	}}
	// A failure is ignored: the terminal works with any size.
	go e.streams.Terminal.Follow(ctx, func(size sandbox.Size) { _ = e.tb.resizeTerminal(ctx, e.id, size) })
	return watch(ctx, conn, show)
}

// keys copies the user's input to the terminal.
func (e execution) keys(ctx context.Context, conn *websocket.Conn) {
	typed := make([]byte, 4096)
	for {
		n, err := e.streams.Stdin.Read(typed)
		if n > 0 && conn.Write(ctx, websocket.MessageBinary, typed[:n]) != nil || err != nil {
			return
		}
	}
}

// watch copies output until the command ends, and returns its exit code.
func watch(ctx context.Context, conn *websocket.Conn, show *curtain) (int, error) {
	for {
		kind, frame, err := conn.Read(ctx)
		if err != nil {
			return exitCodeIn(show.close(err))
		}
		if kind == websocket.MessageText {
			if word, ok := control(frame); ok {
				if word != "" {
					return -1, task.Errorf(task.CodeUnavailable, "Daytona did not open a terminal: %s", cut(word))
				}
				continue
			}
		}
		if _, err := show.Write(frame); err != nil {
			return -1, err
		}
	}
}

// control reports whether a frame is a control message of the daemon, and returns the error in it, "" if none.
func control(frame []byte) (trouble string, ours bool) {
	var said struct {
		Type   string `json:"type"`
		Status string `json:"status"`
		Error  string `json:"error"`
	}
	if json.Unmarshal(frame, &said) != nil || said.Type != "control" {
		return "", false
	}
	if said.Status == "error" {
		return "the toolbox answered: " + said.Error, true
	}
	return "", true
}

// exitCodeIn returns the exit code in the close reason of a connection.
func exitCodeIn(err error) (int, error) {
	closed, ok := errors.AsType[websocket.CloseError](err)
	var said map[string]any
	if ok && json.Unmarshal([]byte(closed.Reason), &said) == nil {
		if code, known := said["exitCode"].(float64); known {
			return int(code), nil
		}
	}
	return -1, task.Errorf(task.CodeUnavailable, "lost the connection to the terminal").WithCause(err)
}

// markShown is printed by the script before the output of the command. The typed command line does not contain it.
const markShown = 0o36

// curtain hides the output of the shell before markShown.
type curtain struct {
	to   io.Writer
	up   func() // called when markShown arrives
	held bytes.Buffer
	open bool
}

// Write writes the output after markShown.
func (c *curtain) Write(text []byte) (int, error) {
	if c.open {
		return c.to.Write(text)
	}
	before, behind, found := bytes.Cut(text, []byte{markShown})
	c.held.Write(before)
	if !found {
		return len(text), nil
	}
	c.open = true
	c.up()
	_, err := c.to.Write(behind)
	return len(text), err
}

// close writes the hidden output if markShown never came, because it has the reason.
func (c *curtain) close(err error) error {
	if !c.open {
		_, werr := c.to.Write(c.held.Bytes())
		return errors.Join(err, werr)
	}
	return err
}

func (t *toolbox) openTerminal(ctx context.Context, id string, size sandbox.Size) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	ask := *toolboxclient.NewPtyCreateRequest()
	ask.SetId(id)
	ask.SetCwd("/")
	ask.SetRows(int32(size.Rows))
	ask.SetCols(int32(size.Columns))
	_, resp, err := t.api.ProcessAPI.CreatePtySession(ctx).Request(ask).Execute()
	defer closeBody(resp)
	err = classify("open a terminal in the sandbox", resp, err)
	if task.CodeOf(err) == task.CodeNotFound { // an older toolbox without terminals
		return task.Errorf(task.CodeInvalid, "the toolbox of this sandbox has no terminals. Next: run omoi sandbox exec <sandbox> -- <command>").WithCause(err)
	}
	return err
}

func (t *toolbox) resizeTerminal(ctx context.Context, id string, size sandbox.Size) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	ask := *toolboxclient.NewPtyResizeRequest(int32(size.Columns), int32(size.Rows))
	_, resp, err := t.api.ProcessAPI.ResizePtySession(ctx, id).Request(ask).Execute()
	defer closeBody(resp)
	return classify("resize a terminal in the sandbox", resp, err)
}

// endTerminal closes a terminal and ends its shell.
func (t *toolbox) endTerminal(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, resp, _ := t.api.ProcessAPI.DeletePtySession(ctx, id).Execute() // the official client cannot decode the answer
	closeBody(resp)
}

const dialTimeout = 15 * time.Second

// dial opens a WebSocket to the toolbox.
func (t *toolbox) dial(ctx context.Context, path string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	options := &websocket.DialOptions{HTTPClient: t.http, HTTPHeader: t.head.Clone()}
	conn, resp, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(t.base, "http")+path, options)
	if err != nil {
		defer closeBody(resp)
		return nil, classify("open a stream of the sandbox", nil, err)
	}
	conn.SetReadLimit(-1)
	return conn, nil
}
