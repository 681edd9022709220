package mcpserver

import (
	"context"
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// instructions tell a model what the tools are for.
const instructions = `omoi runs coding agents as durable tasks: each task has a sandbox, a branch and a pull request, and survives restarts.
run_task answers at once with the key of the task, for example APP-12. show_task reports its state, and waits for its end with wait_seconds.
why explains a task that waits or has failed. A task continues without this connection.`

// Config is what a server works with.
type Config struct {
	// API returns the client of omoi's API for a request with these HTTP headers; nil headers: standard input.
	API func(http.Header) (*client.Client, error)
	// Repo returns the repository of a task that names none; nil: the caller has to name one.
	Repo func(context.Context) (string, error)
	// Version of omoi.
	Version string
}

// New returns a server with all tools and resources. It keeps nothing of a client, so that one server serves all.
func New(cfg Config) *mcp.Server {
	s := &server{cfg}
	m := mcp.NewServer(&mcp.Implementation{Name: "omoi", Title: "omoi", Version: cfg.Version}, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}}, // which never change
	})
	s.addActions(m)
	s.addReadings(m)
	s.addResources(m)
	return m
}

type server struct{ Config }

// tool is a function of the protocol: its arguments and its result.
type tool[In, Out any] func(ctx context.Context, c *call, in In) (Out, error)

// call is one request of a client.
type call struct {
	api *client.Client
	req *mcp.CallToolRequest
}

// add adds a tool whose result is Out, as JSON.
func add[In, Out any](s *server, m *mcp.Server, t *mcp.Tool, do tool[In, Out]) {
	mcp.AddTool(m, t, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		var out Out
		c, err := s.call(req)
		if err == nil {
			out, err = do(ctx, c, in)
		}
		return nil, out, public(err)
	})
}

// addText adds a tool whose result is a text. It has no second form: clients give their model only one of both.
func addText[In any](s *server, m *mcp.Server, t *mcp.Tool, do tool[In, string]) {
	mcp.AddTool(m, t, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		c, err := s.call(req)
		if err != nil {
			return nil, nil, public(err)
		}
		text, err := do(ctx, c, in)
		if err != nil {
			return nil, nil, public(err)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
}

func (s *server) call(req *mcp.CallToolRequest) (*call, error) {
	api, err := s.API(headers(req.Extra))
	return &call{api, req}, err
}

func headers(extra *mcp.RequestExtra) http.Header {
	if extra == nil {
		return nil
	}
	return extra.Header
}

// public returns an error with the public message alone: a model reads the error of a tool.
func public(err error) error {
	if e, ok := errors.AsType[*task.Error](err); ok {
		return errors.New(e.Message)
	}
	return err
}

// readOnly describes a tool that changes nothing.
func readOnly(name, title, text string) *mcp.Tool {
	return &mcp.Tool{Name: name, Description: text, Annotations: &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, OpenWorldHint: new(false)}}
}

// changing describes a tool that changes something; destructive: it may undo or end work.
func changing(name, title, text string, destructive bool) *mcp.Tool {
	return &mcp.Tool{Name: name, Description: text, Annotations: &mcp.ToolAnnotations{
		Title: title, DestructiveHint: new(destructive), OpenWorldHint: new(false),
	}}
}
