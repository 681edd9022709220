package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/stdio"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
)

// Errors of a request without an answer.
var (
	errEnded  = errors.New("the program ended")
	errSilent = errors.New("the program gave no answer")
)

// handler takes what an agent sends by itself, in order.
type handler interface {
	// take records a notification, or a line that is none of the protocol.
	take(f *jsonrpc.Frame)
	// turns returns the number of messages of the model so far.
	turns() int
	// asked returns the result of a request, or an error that refuses it. late: the agent may not wait for the answer any more.
	asked(f *jsonrpc.Frame, late bool) (result any, refused *jsonrpc.Error)
}

// conn is the connection to one process of an agent.
type conn struct {
	*stdio.Process

	stop context.CancelFunc // kills the process with its children
	to   handler

	behind time.Duration // how long the reader has worked since it had read all lines; of the reader

	mu    sync.Mutex
	last  int
	calls map[string]chan reply // open requests by ID
}

// reply is a response, with the number of messages of the model before it.
type reply struct {
	*jsonrpc.Frame

	turn int
}

// dial starts the agent's program.
func dial(ctx context.Context, env agent.Env, command proc.Command, to handler) (*conn, error) {
	ctx, stop := context.WithCancel(ctx)
	c := &conn{stop: stop, to: to, calls: map[string]chan reply{}}
	process, err := stdio.Start(ctx, env.Procs, command, true, c.read)
	if err != nil {
		stop()
		return nil, err
	}
	c.Process = process
	go func() { <-process.Over; stop() }() // the end of a process releases its context
	return c, nil
}

// over reports whether the program has ended.
func (c *conn) over() bool {
	select {
	case <-c.Drained:
		return true
	default:
		return false
	}
}

// read reads lines until the output ends.
func (c *conn) read(out io.Reader) {
	for lines := bufio.NewReaderSize(out, 64<<10); ; {
		begun := time.Now()
		f, broken, err := jsonrpc.Read(lines)
		if time.Since(begun) > upToDate {
			c.behind = 0
		}
		begun = time.Now()
		c.line(f, broken)
		c.behind += time.Since(begun)
		if err != nil {
			return
		}
	}
}

func (c *conn) line(f *jsonrpc.Frame, broken bool) {
	switch {
	case f == nil:
	case broken:
		c.to.take(f)
	case f.Request():
		c.request(f)
	case f.Method != "":
		c.to.take(f)
	default:
		c.answered(f)
	}
}

// upToDate is how long the reader waits for a line if it has read all lines before.
const upToDate = 20 * time.Millisecond

// late is how far behind the reader may be for an answer that the agent still waits for.
const late = time.Second

// request answers a request of the agent at once.
func (c *conn) request(f *jsonrpc.Frame) {
	result, refused := c.to.asked(f, c.behind > late)
	_ = c.send(jsonrpc.Response(f.ID, result, refused)) // a closed input is the end of the program, which its reader sees
}

// answered passes a response to its request. A response to no open request is dropped. Without a result and an error, a
// message is none: a request of the agent whose method is damaged may have the ID of an open request.
func (c *conn) answered(f *jsonrpc.Frame) {
	if f.Result == nil && f.Error == nil {
		c.to.take(f)
		return
	}
	id := strings.Trim(string(f.ID), `"`)
	c.mu.Lock()
	call := c.calls[id]
	delete(c.calls, id)
	c.mu.Unlock()
	if call != nil {
		call <- reply{f, c.to.turns()}
	}
}

func (c *conn) send(message map[string]any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode a message for the agent: %w", err)
	}
	return c.In.Send(append(text, '\n'))
}

// call sends a request. The channel gets the response, if there is one.
func (c *conn) call(method string, params any) (<-chan reply, error) {
	done := make(chan reply, 1)
	c.mu.Lock()
	c.last++
	id := c.last
	c.calls[strconv.Itoa(id)] = done
	c.mu.Unlock()
	return done, c.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

// notify sends a notification.
func (c *conn) notify(method string, params any) error {
	return c.send(jsonrpc.Notification(method, params))
}

// ask sends a request and waits for its result. The error is that of ctx or of the response, [errEnded] or [errSilent].
func (c *conn) ask(ctx context.Context, method string, params any, patience time.Duration) (json.RawMessage, error) {
	done, err := c.call(method, params)
	if err != nil {
		return nil, errEnded
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case f := <-done:
		return f.Outcome()
	case <-c.Drained:
		select {
		case f := <-done: // the last thing that the program said
			return f.Outcome()
		default:
			return nil, errEnded
		}
	case <-late.C:
		return nil, errSilent
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
