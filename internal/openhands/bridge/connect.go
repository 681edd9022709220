package bridge

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/wait"
)

// connect returns the client of the server. The first call starts the server, or checks the one that exists.
func (b *bridge) connect(ctx context.Context) (*openhands.Client, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.to != nil {
		return b.to, nil
	}
	if address, key := openhands.Address(b.Vars); address != "" {
		to, err := openhands.New(address, key)
		if err != nil {
			return nil, err
		}
		if _, err = b.check(ctx, to); err == nil {
			b.to = to
		}
		return to, err
	}
	server, err := b.start(ctx)
	if err != nil {
		return nil, err
	}
	b.server, b.to = server, server.Client
	return b.to, nil
}

// check checks a server that may give no answer for a moment.
func (b *bridge) check(ctx context.Context, to *openhands.Client) (info openhands.Info, err error) {
	err = insist(ctx, b.Room, func() (err error) { info, err = to.Check(ctx); return err })
	return info, err
}

// start starts a server in the folder of the former one, with the same keys, so that it can read the conversations.
func (b *bridge) start(ctx context.Context) (*openhands.Server, error) {
	wake, err := b.listen(ctx)
	if err != nil {
		return nil, err
	}
	openhands.EndProcesses(b.Dir) // of a former server
	if err := os.MkdirAll(b.Dir, 0o700); err != nil {
		return nil, err
	}
	path, keys := filepath.Join(b.Dir, "keys.json"), openhands.NewKeys()
	if !statefile.Load(path, &keys) {
		if err := statefile.Save(path, keys); err != nil {
			return nil, err
		}
	}
	return openhands.Start(ctx, openhands.Setup{Program: b.Program, Dir: b.Dir, Environ: tools(b.Vars), Keys: keys, Wake: wake, Output: b.Log})
}

// listen returns the address for the webhooks of the server. What they say is not read: it may be late, and incomplete.
func (b *bridge) listen(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	hook := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		wait.Notify(b.wake)
	})}
	go func() { _ = hook.Serve(listener) }()
	context.AfterFunc(ctx, func() { _ = hook.Close() })
	return "http://" + listener.Addr().String(), nil
}

// kept are prefixes of variables that no tool gets.
//
//nolint:gochecknoglobals // a table
var kept = []string{"LLM_", "AGENT_SERVER_", "WORKSPACE_REMOTE_", "OH_", Folder}

// tools returns the variables that the agent's tools get: those of the task without the accesses to model and server.
func tools(vars map[string]string) (environ []string) {
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if !slices.ContainsFunc(kept, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			environ = append(environ, name+"="+vars[name])
		}
	}
	return environ
}

// model returns the access to the model.
func (b *bridge) model() openhands.Model {
	return openhands.Model{Name: b.Vars["LLM_MODEL"], Key: b.Vars["LLM_API_KEY"], Base: b.Vars["LLM_BASE_URL"]}
}

// close ends the own server, or the work of the conversation on another one.
func (b *bridge) close(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.server != nil:
		b.server.Stop(0)
	case b.one != nil && b.one.running():
		ctx, cancel := context.WithTimeout(ctx, cancelWait)
		defer cancel()
		_ = b.to.Interrupt(ctx, b.one.id) // a server that does not answer keeps the turn: it is not of this sandbox
	}
}
