package live_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/live"
)

// tunnel lets connections to Redis hang: those of before for good, as a network does that
// has lost them.
type tunnel struct {
	target string
	mu     sync.Mutex
	held   chan struct{} // closed: connections that were made under it hang
	group  sync.WaitGroup
}

func (u *tunnel) hang() {
	u.mu.Lock()
	defer u.mu.Unlock()
	close(u.held)
	u.held = make(chan struct{})
}

// dial connects to Redis through the tunnel.
func (u *tunnel) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	there, err := new(net.Dialer).DialContext(ctx, "tcp", u.target)
	if err != nil {
		return nil, err
	}
	here, end := net.Pipe()
	u.mu.Lock()
	held := u.held
	u.mu.Unlock()
	u.group.Go(func() { defer there.Close(); pump(there, end, held) })
	u.group.Go(func() { defer end.Close(); pump(end, there, held) })
	return here, nil
}

// pump copies until the connection ends; once held, it drops what it reads.
func pump(to io.Writer, from io.Reader, held <-chan struct{}) {
	some := make([]byte, 1024)
	for {
		n, err := from.Read(some)
		if err != nil {
			return
		}
		select {
		case <-held:
		default:
			if _, err := to.Write(some[:n]); err != nil {
				return
			}
		}
	}
}

func TestARedisThatHangsIsNoticed(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	through := &tunnel{target: server.Addr(), held: make(chan struct{})}
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), Dialer: through.dial})
	bus := live.NewRedis(live.Config{Pause: 5 * time.Millisecond, Silence: 200 * time.Millisecond}, client, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		require.NoError(t, bus.Close())
		require.NoError(t, client.Close())
		server.Close()
		through.group.Wait()
	})
	other := onRedis(t, server)
	awaitSubscribers(t, server, 2)
	settle(t, other, bus)
	through.hang()
	require.Eventually(t, func() bool {
		ready, leave := bus.Subscribe("news")
		defer leave()
		other.Wake("news")
		select {
		case <-ready:
			return true
		case <-time.After(50 * time.Millisecond):
			return false
		}
	}, 20*time.Second, 10*time.Millisecond, "it listens on a connection that nobody answers")
}
