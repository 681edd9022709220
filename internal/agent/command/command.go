// Package command runs a given program as the agent: a program that prints omoi's event lines, an unchanged legacy
// worker, or any other program. The program gets the environment of every agent. Its exit code is the outcome unless it
// reports one itself.
package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
)

// Runtime runs Config.Command.
type Runtime struct {
	// Output gets the program's output; nil: standard error, which the provider keeps as the log.
	Output io.Writer
	// LookEvery is the interval between comparisons of the work tree; zero: 10 s.
	LookEvery time.Duration
}

var _ agent.Runtime = Runtime{}

const defaultLook = 10 * time.Second

// Run runs the program until the task has an outcome.
func (c Runtime) Run(ctx context.Context, env agent.Env) (agent.Result, error) {
	if env.Done {
		return agent.Result{}, nil
	}
	if len(env.Config.Command) == 0 {
		return agent.Result{}, task.Invalid("command", "Cannot start the command runtime: execution_config.command is missing.")
	}
	vars := agent.Variables(env.Environ)
	if err := continuous.Check(vars); err != nil {
		return agent.Result{}, err
	}
	environ, closeRelay, err := relayed(env)
	if err != nil {
		return agent.Result{}, err
	}
	defer closeRelay()
	r := c.prepare(ctx, env, vars, environ)
	defer r.rec.log.Close()
	res, err := r.Run(ctx)
	r.TooLate(ctx)
	if ctx.Err() != nil {
		return agent.Result{}, ctx.Err()
	}
	return res, err
}

func (c Runtime) prepare(ctx context.Context, env agent.Env, vars map[string]string, environ []string) *run {
	place := openPlace(env.Config.Dir)
	r := &run{log: c.Output, every: cmp.Or(max(c.LookEvery, 0), defaultLook)}
	r.Driver = continuous.NewDriver(r, env, vars, &place.State)
	r.Asks.Pushed = false // omoi pushes the commits
	r.Deaf, r.Environ = !env.Config.ReadsMessages, environ
	r.rec = newRecorder(ctx, env, place, r.Limits)
	r.rec.begin = r.begin
	if r.log == nil {
		r.log = os.Stderr
	}
	return r
}

// reported asks the API whether the program has reported an outcome. reported retries until the API answers, because a
// wrong guess could end a task. If the API refuses, the result is false, and the exit code decides.
func reported(ctx context.Context, env agent.Env) (bool, error) {
	answer, err := apiclient.Insist(ctx, func() (apiclient.Answer, error) { return env.Line.Get(ctx, "/counts", 0) })
	if err != nil || answer.Status != http.StatusOK {
		return false, err
	}
	var counts struct {
		Types map[string]int64 `json:"types"`
	}
	if err := json.Unmarshal(answer.Body, &counts); err != nil {
		return false, fmt.Errorf("read the API's counts of events: %w", err)
	}
	for eventType := range counts.Types {
		if event.Ends(eventType, env.Config.Continuous) {
			return true, nil
		}
	}
	return false, nil
}

// relayed starts a relay if the API is behind a socket or a mailbox, which a program that only knows URLs cannot use.
func relayed(env agent.Env) (environ []string, done func(), err error) {
	way := env.Line.Local()
	if way == nil {
		return env.Environ, func() {}, nil
	}
	address, done, err := relay(way, env.Config)
	if err != nil {
		return nil, nil, err
	}
	return withAddress(env.Environ, address), done, nil
}

// withAddress sets the variables with the API address to that of the relay.
func withAddress(environ []string, address string) []string {
	vars := agent.Variables(environ)
	vars["CALLBACK_URL"], vars["OMOIOS_API_URL"], vars["MCP_SERVER_URL"] = address, address, address+"/mcp"
	return agent.Environ(vars)
}

// relay listens on loopback in the sandbox and forwards the routes of this sandbox to the API, with the token, which
// the program does not need to know. The random path prefix keeps out other users of this host, which may share its
// network.
func relay(way http.RoundTripper, cfg agentconfig.Config) (address string, done func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // returns immediately
	if err != nil {
		return "", nil, fmt.Errorf("listen for the command: %w", err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "omoi", "omoi"
			if cfg.Token != "" {
				r.Out.Header.Set("Authorization", "Bearer "+cfg.Token)
			}
		},
		Transport: way,
		ErrorLog:  log.New(io.Discard, "", 0), // the client gets status 502
	}
	prefix := "/" + rand.Text()
	server := &http.Server{ReadHeaderTimeout: 30 * time.Second, Handler: http.StripPrefix(prefix, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" && !strings.HasPrefix(r.URL.Path, "/api/v1/sandboxes/"+cfg.SandboxID+"/") {
			http.NotFound(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return "http://" + listener.Addr().String() + prefix, func() {
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			_ = listener.Close()
		}
	}, nil
}
