package app

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/internal/task"
)

// The next step is never parsed from the text, which users may change.
func TestCheckWorkers_TakesNextFromItsField(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"ready": true, "dependencies": [
			{"name": "workers", "state": "down", "required": false, "detail": "Host a. Next: host b.", "next": "omoi worker"}]}`))
	}))
	t.Cleanup(server.Close)
	require.Equal(t, []Finding{{Check: "workers", Status: FindingWarn, Detail: "Host a. Next: host b.", Next: "omoi worker"}},
		checkWorkers(t.Context(), fresh(t), server.URL))
}

// The check fails if another check has the name of Redis.
func TestProbes_RedisIsCheckedUnderItsName(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	for _, c := range []*core{{cfg: fresh(t)}, {cfg: fresh(t), redis: client}} {
		for _, p := range c.probes() {
			if p.Name == "redis" {
				require.Equal(t, c.redis != nil, p.Check != nil)
			}
		}
	}
}

func TestWithNextStep_NamesTheFullDiskInItsField(t *testing.T) {
	t.Parallel()
	full := task.Errorf(task.CodeUnavailable, "Temporal cannot write.").WithCause(&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	require.Equal(t, api.DownError{Err: full, Next: "free disk space in /home/omoi", NoTasks: true}, withNextStep(full, "/home/omoi"))
	locked := task.Errorf(task.CodeUnavailable, "Temporal does not take writes.").WithCause(errors.New("locked"))
	require.Equal(t, error(locked), withNextStep(locked, "/home/omoi"))
	require.NoError(t, withNextStep(nil, "/home/omoi"))
}
