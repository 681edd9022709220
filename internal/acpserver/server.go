package acpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"sync"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/jsonrpc"
	"github.com/omoi-dev/omoi/internal/task"
)

// The version of the Agent Client Protocol, and its code of a missing login.
const (
	protocol    = 1
	codeNoLogin = -32000
)

// Config is what a server works with.
type Config struct {
	// API returns the client of omoi's API.
	API func() (*client.Client, error)
	// Request returns the request for a task with a text, for a user who works in a folder.
	Request func(ctx context.Context, folder, text string) (client.CreateTaskRequest, error)
	// Folder is where the tasks of sessions are kept.
	Folder  string
	Version string
	// Note writes a line for the log of the editor.
	Note func(format string, args ...any)
}

// server answers one editor.
type server struct {
	Config

	writing  sync.Mutex
	out      io.Writer
	work     sync.WaitGroup
	sessions map[string]*session // of the reader
}

// Serve reads requests until in or ctx ends. The tasks continue.
func Serve(ctx context.Context, cfg Config, in io.Reader, out io.Writer) {
	s := &server{Config: cfg, out: out, sessions: map[string]*session{}}
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer stop()
		s.read(ctx, in)
	}()
	<-ctx.Done()
	s.work.Wait()
}

func (s *server) read(ctx context.Context, in io.Reader) {
	for lines, err := bufio.NewReader(in), error(nil); err == nil; {
		var f *jsonrpc.Frame
		var broken bool
		f, broken, err = jsonrpc.Read(lines)
		switch {
		case f == nil || ctx.Err() != nil:
		case broken:
			s.Note("omoi acp: a line of the editor is not a JSON-RPC message: %.100q", f.Raw)
			s.send(jsonrpc.Response(json.RawMessage("null"), nil, &jsonrpc.Error{Code: jsonrpc.CodeParse, Message: "not a JSON-RPC message"}))
		case f.Request():
			s.request(ctx, f)
		case f.Method == "session/cancel":
			if one := s.sessions[jsonrpc.Into[params](f.Params).SessionID]; one != nil {
				one.cancel()
			}
		}
	}
}

// params are those of all methods.
type params struct {
	SessionID string  `json:"sessionId"` //nolint:tagliatelle // the protocol's name
	Folder    string  `json:"cwd"`
	Prompt    []block `json:"prompt"`
}

func (s *server) request(ctx context.Context, f *jsonrpc.Frame) {
	p := jsonrpc.Into[params](f.Params)
	switch f.Method {
	case "initialize":
		s.answer(f, s.initialized(), nil)
	case "session/new":
		one, err := s.open(p)
		s.answer(f, map[string]any{"sessionId": one.id}, err)
	case "session/load":
		one, err := s.known(p)
		if err != nil {
			s.answer(f, nil, err)
			return
		}
		one.begin(ctx, func(t *turn) { one.load(t, func(err error) { s.answer(f, map[string]any{}, err) }) })
	case "session/prompt":
		one, text, err := s.sessions[p.SessionID], "", errNoSession
		if one != nil {
			text, err = textOf(p.Prompt, one.Cwd)
		}
		if err != nil {
			s.answer(f, nil, err)
			return
		}
		one.begin(ctx, func(t *turn) {
			stop, err := one.prompt(t, text)
			s.answer(f, map[string]any{"stopReason": stop}, err)
		})
	default:
		s.send(jsonrpc.Response(f.ID, nil, &jsonrpc.Error{Code: jsonrpc.CodeMethod, Message: "method not found: " + f.Method}))
	}
}

func (s *server) initialized() map[string]any {
	return map[string]any{
		"protocolVersion": protocol,
		"agentInfo":       map[string]any{"name": "omoi", "title": "omoi", "version": s.Version},
		"agentCapabilities": map[string]any{
			"loadSession":        true,
			"promptCapabilities": map[string]any{"image": false, "audio": false, "embeddedContext": true},
			"mcpCapabilities":    map[string]any{"http": false, "sse": false},
		},
		"authMethods": []any{},
	}
}

var errNoSession error = task.Errorf(task.CodeInvalid, "Unknown session. Next: create one by session/new, or load one by session/load with its ID or that of a task")

// open starts a session without a task.
func (s *server) open(p params) (*session, error) {
	if !filepath.IsAbs(p.Folder) {
		return &session{}, task.Errorf(task.CodeInvalid, "Invalid cwd %q: expected an absolute path.", p.Folder)
	}
	one := s.session(task.NewID(), kept{Cwd: p.Folder})
	return one, one.save()
}

// answer sends the response to a request.
func (s *server) answer(f *jsonrpc.Frame, result any, err error) {
	s.send(jsonrpc.Response(f.ID, result, refusal(err)))
}

// refusal returns an error as the protocol has it; nil for nil.
func refusal(err error) *jsonrpc.Error {
	if err == nil {
		return nil
	}
	code := jsonrpc.CodeInternal
	usage, wrong := errors.AsType[*exit.Error](err)
	switch c := task.CodeOf(err); {
	case c == task.CodeInvalid || c == task.CodeNotFound || wrong && usage.Code == exit.Usage:
		code = jsonrpc.CodeParams
	case c == task.CodeUnauthorized:
		code = codeNoLogin
	case c == task.CodeConflict:
		code = jsonrpc.CodeRequest
	}
	return &jsonrpc.Error{Code: code, Message: exit.Message(err)}
}

// update reports something about a session.
func (s *server) update(session, kind string, fields map[string]any) {
	update := map[string]any{"sessionUpdate": kind}
	maps.Copy(update, fields)
	s.send(jsonrpc.Notification("session/update", map[string]any{"sessionId": session, "update": update}))
}

// send writes a message. An editor that no longer reads has ended, or will.
func (s *server) send(message map[string]any) {
	text, err := json.Marshal(message)
	if err != nil {
		s.Note("omoi acp: encode a message for the editor failed: %v", err)
		return
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, _ = s.out.Write(append(text, '\n'))
}
