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

// terminal types the command at a shell of Daytona's and shows what it says.
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
	defer conn.CloseNow() //nolint:errcheck // it is over
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := conn.Write(ctx, websocket.MessageBinary, []byte("exec sh "+e.dir+"/run "+e.dir+"\n")); err != nil {
		return -1, classify("type in the sandbox", nil, err)
	}
	late := time.AfterFunc(e.begins, func() { _ = conn.CloseNow() }) // until it begins nothing that is typed gets there, not even Ctrl-C
	defer late.Stop()
	show := &curtain{to: e.streams.Stdout, up: func() {
		late.Stop()
		go e.keys(ctx, conn)
	}}
	go e.streams.Terminal.Follow(ctx, func(size sandbox.Size) { _ = e.tb.resizeTerminal(ctx, e.id, size) }) // one of another size is still one
	return watch(ctx, conn, show)
}

// keys hands on the person's keys, once the command is there to take them.
func (e execution) keys(ctx context.Context, conn *websocket.Conn) {
	typed := make([]byte, 4096)
	for {
		n, err := e.streams.Stdin.Read(typed)
		if n > 0 && conn.Write(ctx, websocket.MessageBinary, typed[:n]) != nil || err != nil {
			return
		}
	}
}

// watch shows what comes until the command ends, and answers its exit code.
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

// control reports whether a frame is the daemon's own, and the error that it tells.
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
		return "it says: " + said.Error, true
	}
	return "", true
}

// exitCodeIn takes the exit code out of how a connection was closed.
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

// markShown is what the script prints before the command: it is no part of what is typed.
const markShown = 0o36

// curtain hides what a shell says before the command that was typed at it begins.
type curtain struct {
	to   io.Writer
	up   func() // called once the command begins
	held bytes.Buffer
	open bool
}

// Write hands on what is behind the mark.
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

// close shows what was hidden if the command never began: it says why.
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
	if task.CodeOf(err) == task.CodeNotFound { // a toolbox from before there were terminals
		return task.Errorf(task.CodeInvalid, "the toolbox of this sandbox has no terminals. Next: omoi sandbox exec <sandbox> -- <command>").WithCause(err)
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

// endTerminal ends a terminal with its shell.
func (t *toolbox) endTerminal(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	_, resp, _ := t.api.ProcessAPI.DeletePtySession(ctx, id).Execute() // the official client cannot read its answer
	closeBody(resp)
}

const dialTimeout = 15 * time.Second

// dial opens a stream of the toolbox.
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
