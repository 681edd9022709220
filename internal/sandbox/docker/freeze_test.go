package docker_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox/docker"
)

// TestFreeze_PausesInParallel checks that containers are paused 16 at a time, because a stop has little time.
func TestFreeze_PausesInParallel(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now, peak, full := 0, 0, make(chan struct{})
	count := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		if now += by; now > peak {
			if peak = now; peak == 16 {
				close(full)
			}
		}
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/containers/json"):
			list := make([]map[string]string, 20)
			for i := range list {
				list[i] = map[string]string{"Id": strconv.Itoa(i)}
			}
			_ = json.NewEncoder(w).Encode(list)
		case strings.HasSuffix(r.URL.Path, "/pause"):
			count(1)
			defer count(-1)
			select {
			case <-full:
			case <-r.Context().Done():
			}
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	t.Cleanup(api.Close)
	p, err := docker.New(docker.Config{Host: "tcp://" + api.Listener.Addr().String(), StateDir: t.TempDir()}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = p.Freeze(ctx, "any")
	require.NoError(t, err)
	require.Equal(t, 16, peak)
}

// TestFreeze_PassesOverAContainerThatEnds ends a command between the list and the pause of its container: the engine
// answers an internal error, and records the end a moment later.
func TestFreeze_PassesOverAContainerThatEnds(t *testing.T) {
	t.Parallel()
	for ends, wait := range map[bool]int{true: http.StatusOK, false: http.StatusInternalServerError} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.HasSuffix(r.URL.Path, "/containers/json"):
				_, _ = w.Write([]byte(`[{"Id": "command"}]`))
			case strings.HasSuffix(r.URL.Path, "/pause"):
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = w.Write([]byte(`{"message": "Cannot pause container command: process already finished"}`))
			case strings.HasSuffix(r.URL.Path, "/wait"):
				w.WriteHeader(wait)
				_, _ = w.Write([]byte(`{"StatusCode": 0}`))
			}
		}))
		t.Cleanup(api.Close)
		p, err := docker.New(docker.Config{Host: "tcp://" + api.Listener.Addr().String(), StateDir: t.TempDir()}, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close()) })
		_, err = p.Freeze(t.Context(), "any")
		require.Equal(t, ends, err == nil, "%v", err)
	}
}

// TestFreeze_WithoutAnEngineFreezesNothing checks that an engine which does not run is no error: a failed stop would
// count the time of the agents that it froze.
func TestFreeze_WithoutAnEngineFreezesNothing(t *testing.T) {
	t.Parallel()
	p, err := docker.New(docker.Config{Host: "unix://" + t.TempDir() + "/none.sock", StateDir: t.TempDir()}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	count, err := p.Freeze(t.Context(), "any")
	require.NoError(t, err)
	require.Zero(t, count)
	_, err = p.Thaw(t.Context(), "any")
	require.Error(t, err, "containers of the last stop may be paused: it is asked again")
}

// TestFreeze_RepeatsAPauseThatFails has the kernel of a busy machine freeze a container at the third pause.
func TestFreeze_RepeatsAPauseThatFails(t *testing.T) {
	t.Parallel()
	var pauses atomic.Int32
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/containers/json"):
			_, _ = w.Write([]byte(`[{"Id": "one"}]`))
		case strings.HasSuffix(r.URL.Path, "/pause") && pauses.Add(1) == 3:
			w.WriteHeader(http.StatusNoContent)
		default:
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(`{"message": "Cannot pause container one: OCI runtime pause failed: unable to freeze"}`))
		}
	}))
	t.Cleanup(api.Close)
	p, err := docker.New(docker.Config{Host: "tcp://" + api.Listener.Addr().String(), StateDir: t.TempDir()}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	_, err = p.Freeze(t.Context(), "any")
	require.NoError(t, err)
	require.EqualValues(t, 3, pauses.Load())
}
