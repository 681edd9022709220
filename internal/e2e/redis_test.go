package e2e_test

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// startRedis starts a real Redis that keeps nothing and answers where it is.
func startRedis(t *testing.T, dir string) (address string, kill func()) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("SKIPPED: no redis-server on this machine")
	}
	port := freePort(t)
	cmd := exec.CommandContext(context.Background(), path, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
	cmd.Dir = dir
	done, err := tied(cmd)
	require.NoError(t, err)
	kill = func() {
		_ = cmd.Process.Kill()
		<-done
	}
	t.Cleanup(kill)
	address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close()
	require.True(t, waitFor(patience, func() bool { return client.Ping(context.Background()).Err() == nil }))
	return address, kill
}

// Two API processes share their wake-ups by Redis; losing it costs latency and nothing else.
func TestRedisMayDie(t *testing.T) {
	t.Parallel()
	address, kill := startRedis(t, t.TempDir())
	r := newRig(t, map[string]string{"REDIS_URL": "redis://" + address + "/0"}).up()
	r.start("api2", map[string]string{"OMOI_API_PORT": "0", "OMOI_HOME": filepath.Join(r.dir, "home")}, "api")
	repo := r.repo()
	first := r.submit(repo, script(stepWrite, stepCommit, stepComplete))
	r.ends(first.ID, task.StatusCompleted)

	second := r.submit(repo, script(`{"sleep_s":2}`, stepWrite, stepCommit, stepComplete))
	r.running(second.ID)
	kill()
	r.ends(second.ID, task.StatusCompleted)
	third := r.submit(repo, script(stepWrite, stepCommit, stepComplete))
	r.ends(third.ID, task.StatusCompleted)
	r.noLeaks()
	r.gapless()
}
