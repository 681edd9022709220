package api_test

import (
	"context"
	"log/slog"
	"net"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/internal/live"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// apiPair is two API processes that share a database and a bus.
type apiPair struct {
	one, other *world
	kill       func() // kills what carries notifications between the two
}

// onEachBus runs a test with every implementation of the bus.
func onEachBus(t *testing.T, change func(*api.Config), test func(t *testing.T, w apiPair)) {
	t.Helper()
	t.Run("in process", func(t *testing.T) {
		t.Parallel()
		bus := live.New()
		test(t, pair(t, bus, bus, func() {}, change))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		address, kill := redisServer(t)
		test(t, pair(t, redisBus(t, address), redisBus(t, address), kill, change))
	})
}

func pair(t *testing.T, bus, otherBus live.Bus, kill func(), change func(*api.Config)) apiPair {
	t.Helper()
	pool := pgtest.New(t)
	connected(t, bus, otherBus)
	connected(t, otherBus, bus)
	return apiPair{one: startOn(t, pool, bus, change), other: startOn(t, pool, otherBus, change), kill: kill}
}

// connected returns once at gets notifications from the other bus, and not because it has just connected.
func connected(t *testing.T, from, at live.Bus) {
	t.Helper()
	for _, topic := range []string{"first", "second"} {
		ready, leave := at.Subscribe(topic)
		heard := func() bool {
			from.Wake(topic)
			select {
			case <-ready:
				return true
			default:
				return false
			}
		}
		require.Eventually(t, heard, 20*time.Second, 5*time.Millisecond)
		leave()
	}
}

func redisBus(t *testing.T, address string) live.Bus {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1})
	bus := live.NewRedis(live.Config{Pause: 5 * time.Millisecond}, client, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		require.NoError(t, bus.Close())
		require.NoError(t, client.Close())
	})
	return bus
}

// redisServer starts a real Redis if one is installed, else miniredis, which the log of the test says.
func redisServer(t *testing.T) (address string, kill func()) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Log("no redis-server on this machine: using miniredis")
		server := miniredis.RunT(t)
		return server.Addr(), server.Close
	}
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address = free.Addr().String()
	require.NoError(t, free.Close())
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	cmd := exec.CommandContext(context.Background(), path, "--port", port, "--bind", "127.0.0.1", "--save", "",
		"--appendonly", "no", "--databases", strconv.Itoa(1))
	cmd.Dir = t.TempDir()
	require.NoError(t, cmd.Start())
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	client := redis.NewClient(&redis.Options{Addr: address})
	defer func() { require.NoError(t, client.Close()) }()
	require.Eventually(t, func() bool { return client.Ping(t.Context()).Err() == nil },
		20*time.Second, 10*time.Millisecond)
	return address, kill
}
