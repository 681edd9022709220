package live_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/omoi-dev/omoi/internal/live"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// forms are all buses; each is given twice, as two processes have it.
func forms() map[string]func(*testing.T) (one, other live.Bus) {
	return map[string]func(*testing.T) (live.Bus, live.Bus){
		"local": func(*testing.T) (live.Bus, live.Bus) {
			bus := live.New()
			return bus, bus
		},
		"redis": func(t *testing.T) (live.Bus, live.Bus) {
			t.Helper()
			server := miniredis.RunT(t)
			one, other := onRedis(t, server), onRedis(t, server)
			awaitSubscribers(t, server, 2)
			settle(t, one, other)
			settle(t, other, one)
			return one, other
		},
	}
}

// settle returns once at has woken everybody, as it does when it has just connected.
func settle(t *testing.T, from, at live.Bus) {
	t.Helper()
	first, leaveFirst := at.Subscribe("first")
	defer leaveFirst()
	from.Wake("first")
	await(t, first) // by that, or by what comes after it
	second, leaveSecond := at.Subscribe("second")
	defer leaveSecond()
	from.Wake("second")
	await(t, second)
}

func onRedis(t *testing.T, server *miniredis.Miniredis) live.Bus {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	bus := live.NewRedis(live.Config{Pause: 5 * time.Millisecond}, client, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		require.NoError(t, bus.Close())
		require.NoError(t, client.Close())
	})
	return bus
}

func awaitSubscribers(t *testing.T, server *miniredis.Miniredis, want int) {
	t.Helper()
	require.Eventually(t, func() bool {
		n := 0
		for _, name := range server.PubSubChannels("") {
			n += server.PubSubNumSub(name)[name]
		}
		return n == want
	}, 10*time.Second, time.Millisecond)
}

func eachForm(t *testing.T, test func(t *testing.T, one, other live.Bus)) {
	t.Helper()
	for name, form := range forms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, other := form(t)
			test(t, one, other)
		})
	}
}

func await(t *testing.T, ready <-chan struct{}) {
	t.Helper()
	select {
	case <-ready:
	case <-time.After(10 * time.Second):
		require.FailNow(t, "nobody was woken")
	}
}

func TestWakesEverySubscriberOfTheTopic(t *testing.T) {
	t.Parallel()
	eachForm(t, func(t *testing.T, one, other live.Bus) {
		t.Helper()
		here, leaveHere := one.Subscribe("a")
		there, leaveThere := other.Subscribe("a")
		defer leaveHere()
		defer leaveThere()
		one.Wake("a")
		await(t, here)
		await(t, there)
	})
}

func TestLeavesOtherTopicsAlone(t *testing.T) {
	t.Parallel()
	eachForm(t, func(t *testing.T, one, other live.Bus) {
		t.Helper()
		wanted, leaveWanted := other.Subscribe("a")
		unwanted, leaveUnwanted := other.Subscribe("b")
		defer leaveWanted()
		defer leaveUnwanted()
		one.Wake("a")
		await(t, wanted)
		require.Empty(t, unwanted)
	})
}

func TestWakingNeverBlocksAndCoalesces(t *testing.T) {
	t.Parallel()
	eachForm(t, func(t *testing.T, one, _ live.Bus) {
		t.Helper()
		ready, leave := one.Subscribe("a")
		defer leave()
		for range 100_000 {
			one.Wake("a")
		}
		await(t, ready)
		require.LessOrEqual(t, len(ready), 1)
	})
}

func TestASubscriptionEnds(t *testing.T) {
	t.Parallel()
	eachForm(t, func(t *testing.T, one, _ live.Bus) {
		t.Helper()
		gone, leave := one.Subscribe("a")
		stays, leaveStays := one.Subscribe("a")
		defer leaveStays()
		leave()
		leave() // twice is once
		one.Wake("a")
		await(t, stays)
		require.Empty(t, gone)
	})
}

func TestAClosedBusDoesNothing(t *testing.T) {
	t.Parallel()
	eachForm(t, func(t *testing.T, one, _ live.Bus) {
		t.Helper()
		before, leaveBefore := one.Subscribe("a")
		require.NoError(t, one.Close())
		after, leaveAfter := one.Subscribe("a")
		one.Wake("a")
		require.Empty(t, before)
		require.Empty(t, after)
		leaveBefore()
		leaveAfter()
	})
}

func TestRedisComesBack(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	one, other := onRedis(t, server), onRedis(t, server)
	awaitSubscribers(t, server, 2)
	settle(t, one, other)
	ready, leave := other.Subscribe("a")
	defer leave()
	server.Close()
	one.Wake("a") // lost to the other process
	require.NoError(t, server.Restart())
	await(t, ready) // it is woken nevertheless, once it listens again
	require.Eventually(t, func() bool {
		one.Wake("a")
		select {
		case <-ready:
			return true
		default:
			return false
		}
	}, 10*time.Second, time.Millisecond)
}

func TestWithoutRedisThisProcessIsWoken(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialTimeout: time.Millisecond})
	bus := live.NewRedis(live.Config{Pause: time.Millisecond}, client, slog.New(slog.DiscardHandler))
	ready, leave := bus.Subscribe("a")
	defer leave()
	bus.Wake("a")
	await(t, ready)
	require.NoError(t, bus.Close())
	require.NoError(t, client.Close())
}
