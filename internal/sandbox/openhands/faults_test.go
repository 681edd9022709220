package openhands_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/openhands"
	"github.com/omoi-dev/omoi/internal/task"
	openhandstest "github.com/omoi-dev/omoi/internal/testkit/openhands"
)

// wrongs are what goes wrong with a request.
var wrongs = map[string]openhandstest.Fault{
	"500": {Status: http.StatusInternalServerError}, "429": {Status: http.StatusTooManyRequests}, "404": {Status: http.StatusNotFound},
	"cut": {Cut: true}, "lost answer": {Drop: true}, "frozen": {Hang: true}, "another page": {Other: true},
}

// sites are the routes of a provider.
var sites = map[string]string{"shell": "/api/bash/", "upload": "/api/file/upload", "download": "/api/file/download", "info": "/server_info", "key": "/count"}

// calls are the calls of the provider that use a site, on a sandbox with a file.
var calls = map[string]struct {
	sites string
	do    func(ctx context.Context, p *openhands.Provider, spec sandbox.Spec) error
}{
	"ensure": {"shell info key", func(ctx context.Context, p *openhands.Provider, spec sandbox.Spec) error {
		_, err := p.Ensure(ctx, spec)
		return err
	}},
	"inspect": {"shell", func(ctx context.Context, p *openhands.Provider, spec sandbox.Spec) error {
		seen, err := p.Inspect(ctx, spec.Labels)
		if err == nil && seen.State == sandbox.StateUnknown {
			err = task.Errorf(task.CodeUnavailable, "%s", seen.Reason)
		}
		return err
	}},
	"start": {"shell upload", func(ctx context.Context, p *openhands.Provider, spec sandbox.Spec) error {
		return p.Start(ctx, spec.Labels, sandbox.Command{Args: []string{"true"}, Env: map[string]string{"KEY": "planted"}})
	}},
	"attach": {"upload", func(ctx context.Context, p *openhands.Provider, spec sandbox.Spec) error {
		_, err := p.Attach(ctx, spec.Labels, sandbox.Command{Args: []string{"echo", "one"}}, sandbox.Streams{Stdout: io.Discard, Stderr: io.Discard})
		return err
	}},
	"write": {"shell upload", func(ctx context.Context, p *openhands.Provider, spec sandbox.Spec) error {
		return p.WriteFile(ctx, spec.Labels, "/omoi/other", 0o600, strings.NewReader("other"))
	}},
	"read": {"shell download", func(ctx context.Context, p *openhands.Provider, spec sandbox.Spec) error {
		from, err := p.ReadFile(ctx, spec.Labels, "/omoi/file")
		if err != nil {
			return err
		}
		defer func() { _ = from.Close() }()
		_, err = io.ReadAll(from)
		return err
	}},
	"list": {"shell", func(ctx context.Context, p *openhands.Provider, _ sandbox.Spec) error {
		_, err := p.List(ctx, "i")
		return err
	}},
	"delete": {"shell", func(ctx context.Context, p *openhands.Provider, spec sandbox.Spec) error {
		return p.Delete(ctx, spec.Labels)
	}},
}

// With any of these faults, a call fails by the server, within its ctx, and says nothing about the sandbox. After the fault it succeeds.
func TestFaults_OfShellAndFiles(t *testing.T) {
	t.Parallel()
	s := onFake(t)
	for name, c := range calls {
		for site := range strings.FieldsSeq(c.sites) {
			for wrong, fault := range wrongs {
				t.Run(name+" "+site+" "+wrong, func(t *testing.T) {
					t.Parallel()
					spec := newSpec()
					_, err := s.at(t, s.url).Ensure(t.Context(), spec)
					require.NoError(t, err)
					require.NoError(t, s.at(t, s.url).WriteFile(t.Context(), spec.Labels, "/omoi/file", 0o600, strings.NewReader("content")))
					var on atomic.Bool
					p := s.at(t, s.through(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
						if !on.Load() || !strings.Contains(r.URL.Path, sites[site]) || !fault.Play(w, r, next) {
							next.ServeHTTP(w, r)
						}
					}))
					_, err = p.List(t.Context(), "i") // installs
					require.NoError(t, err)
					on.Store(true)
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
					if fault.Hang {
						ctx, cancel = context.WithTimeout(t.Context(), time.Second)
					}
					defer cancel()
					err = c.do(ctx, p, spec)
					require.Error(t, err)
					require.True(t, task.CodeOf(err) == task.CodeUnavailable || fault.Hang && ctx.Err() != nil, "%v", err)
					on.Store(false)
					require.NoError(t, c.do(t.Context(), p, spec))
					require.NoError(t, p.Delete(t.Context(), spec.Labels))
				})
			}
		}
	}
}
