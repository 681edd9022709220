package openhands_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/openhands"
	"github.com/omoi-dev/omoi/internal/task"
)

// at returns a provider whose requests go to an address.
func (s *shared) at(t *testing.T, address string) *openhands.Provider {
	t.Helper()
	p, err := openhands.New(openhands.Config{
		URL: address, Key: s.key, Dir: s.dir, Program: func(string) (io.ReadCloser, error) { return os.Open("/proc/self/exe") },
	}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return p
}

func newSpec() sandbox.Spec {
	return sandbox.Spec{Labels: sandbox.Labels{Installation: "i", TaskID: task.NewID(), Attempt: 1, SandboxID: task.NewSandboxID()}}
}

// A sandbox is not gone because the configured server now has another machine or folder.
func TestReaches_OnlyThePlaceOfTheSandbox(t *testing.T) {
	t.Parallel()
	here, there := onFake(t), onFake(t)
	p := here.at(t, here.url)
	made, err := p.Ensure(t.Context(), newSpec())
	require.NoError(t, err)
	seen, err := p.Inspect(t.Context(), made.Labels)
	require.NoError(t, err)
	require.Equal(t, made.ProviderID, seen.ProviderID)
	require.NoError(t, here.at(t, here.url).Reaches(t.Context(), made.ProviderID), "after a restart of the worker")
	require.Equal(t, task.CodeUnavailable, task.CodeOf(there.at(t, there.url).Reaches(t.Context(), made.ProviderID)))
	require.NoError(t, os.RemoveAll(here.dir))
	seen, _ = p.Inspect(t.Context(), made.Labels)
	require.Equal(t, sandbox.StateUnknown, seen.State, "the machine was made anew behind the same address")
	require.Equal(t, task.CodeUnavailable, task.CodeOf(p.Reaches(t.Context(), made.ProviderID)))
}

// A server that does not answer blocks no caller beyond its ctx.
func TestInstall_BlocksNoOther(t *testing.T) {
	t.Parallel()
	s := onFake(t)
	asked, release := make(chan struct{}, 10), make(chan struct{})
	slow := s.through(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.HasPrefix(r.URL.Path, "/api/bash/") {
			asked <- struct{}{}
			<-release
		}
		next.ServeHTTP(w, r)
	})
	p := s.at(t, slow)
	first := make(chan error, 1)
	go func() { _, err := p.List(t.Context(), "i"); first <- err }()
	<-asked
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.List(ended, "i")
	require.ErrorIs(t, err, context.Canceled)
	close(release)
	require.NoError(t, <-first)
}

// through returns the address of a proxy of the server.
func (s *shared) through(t *testing.T, do func(w http.ResponseWriter, r *http.Request, next http.Handler)) string {
	t.Helper()
	to, err := url.Parse(s.url)
	require.NoError(t, err)
	next := httputil.NewSingleHostReverseProxy(to)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { do(w, r, next) }))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// A sandbox is created only in the place that was recorded for it.
func TestPlace_IsThatOfTheSandbox(t *testing.T) {
	t.Parallel()
	s := onFake(t)
	p := s.at(t, s.url)
	where, err := p.Place(t.Context())
	require.NoError(t, err)
	made, err := p.Ensure(t.Context(), newSpec())
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(made.ProviderID, where))
	require.NoError(t, p.Reaches(t.Context(), where))
	other := onFake(t)
	require.Equal(t, task.CodeUnavailable, task.CodeOf(other.at(t, other.url).Reaches(t.Context(), where)))
	require.NoError(t, p.Delete(t.Context(), made.Labels))
}

// A call whose answer is an error leaves no request with secrets on the machine.
func TestStart_LeavesNoRequest(t *testing.T) {
	t.Parallel()
	s := onFake(t)
	to, err := url.Parse(s.url)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	refused := 0
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if strings.Contains(string(text), " place '") || strings.Contains(string(text), " place /") {
			refused++
			http.Error(w, "bad gateway", http.StatusBadGateway)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(text)))
		proxy.ServeHTTP(w, r)
	}))
	defer broken.Close()
	spec := newSpec()
	_, err = s.at(t, s.url).Ensure(t.Context(), spec)
	require.NoError(t, err)
	err = s.at(t, broken.URL).Start(t.Context(), spec.Labels, sandbox.Command{Args: []string{"true"}, Env: map[string]string{"KEY": "planted"}})
	require.Equal(t, task.CodeUnavailable, task.CodeOf(err))
	require.Equal(t, 1, refused)
	left, err := os.ReadDir(filepath.Join(s.dir, "calls"))
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoError(t, s.at(t, s.url).Delete(t.Context(), spec.Labels))
}
