package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/link"
	"github.com/omoi-dev/omoi/internal/ingest"
)

// envTaker makes the test's own program a taker: seed, API, sandbox, folder.
const envTaker = "OMOI_TEST_TAKER"

// A message is used exactly once by receipt: whoever uses it has won it before, one taker
// wins it, and who is killed in between finds out when it starts again. Takers are processes that
// are killed at random points; leases are short, so that several hold the same message; receipts are
// lost, repeated, and answered without anybody hearing it.
func TestEachMessageIsUsedOnceOrExpires(t *testing.T) {
	t.Parallel()
	const seed, generations, stays, ends = 20251121, 4, 40, 24
	w := start(t, func(c *api.Config) {
		c.Open, c.Lease, c.PollEvery, c.MaxWait = true, 100*time.Millisecond, 50*time.Millisecond, 500*time.Millisecond
	})
	box, ending := w.begin(w.task(newTask())), w.begin(w.task(newTask()))
	takers := []*taker{}
	for n := range 5 {
		takers = append(takers, w.taker([]string{box, box, box, ending, ending}[n], uint64(seed+n*generations), generations))
	}
	for n := range stays {
		w.say(box, "stays "+strconv.Itoa(n))
		if n < ends {
			w.say(ending, "ends "+strconv.Itoa(n))
		}
	}
	const taken = `SELECT count(*) FROM messages WHERE sandbox_id = $1 AND state = 'taken_up'`
	require.Eventually(t, func() bool { return w.count(taken, ending) > ends/4 }, time.Minute, 10*time.Millisecond)
	w.exec(`UPDATE sandboxes SET ended_at = now() WHERE id = $1`, ending)
	require.Eventually(t, func() bool { return w.count(taken, box) == stays }, time.Minute, 20*time.Millisecond)
	require.Zero(t, w.count(`SELECT count(*) FROM messages WHERE state IN ('accepted', 'delivered')`))
	won := w.count(`SELECT count(*) FROM messages WHERE state = 'taken_up'`)
	require.Eventually(t, func() bool { return len(usesOf(t, takers)) >= won }, time.Minute, 20*time.Millisecond)
	starts := 0
	for _, one := range takers {
		one.stop()
		starts += int(one.starts.Load())
	}
	require.Greater(t, starts, len(takers), "some were killed")
	w.usedOnce(takers, won)
}

// usedOnce holds what the takers noted against the receipts.
func (w *world) usedOnce(takers []*taker, won int) {
	w.t.Helper()
	uses := usesOf(w.t, takers)
	require.Len(w.t, uses, won, "nothing was used that nobody has won")
	for id, by := range uses {
		m, err := w.store.Message(w.t.Context(), id)
		require.NoError(w.t, err)
		require.Equal(w.t, ingest.MessageTakenUp, m.State)
		require.Len(w.t, by, 1, "message %s was used %d times", id, len(by))
		require.Equal(w.t, m.Taker, by[0], "by the one who has won it")
	}
}

// taker is a process that is started again each time that it was killed.
type taker struct {
	dir    string
	starts atomic.Int32
	stop   func()
}

func (w *world) taker(box string, seed uint64, generations int) *taker {
	w.t.Helper()
	one := &taker{dir: w.t.TempDir()}
	ctx, kill := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range generations {
			faults := seed + uint64(n)
			if n == generations-1 {
				faults = 0 // the last one lives, so that every claim is settled
			}
			process := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestTakerProcess$")
			process.Env = append(os.Environ(), envTaker+"="+strings.Join([]string{strconv.FormatUint(faults, 10), w.url, box, one.dir}, " "))
			if stdin, err := process.StdinPipe(); err == nil && process.Start() == nil { // it ends with us, by its input
				one.starts.Add(1)
				_ = process.Wait() // killed
				_ = stdin.Close()
			}
		}
	}()
	one.stop = sync.OnceFunc(func() { kill(); <-done })
	w.t.Cleanup(one.stop)
	return one
}

// usesOf reads what takers noted as used: the names of those that used each message.
func usesOf(tb testing.TB, takers []*taker) map[string][]string {
	tb.Helper()
	uses := map[string][]string{}
	for _, one := range takers {
		raw, err := os.ReadFile(filepath.Join(one.dir, "used"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		require.NoError(tb, err)
		var named struct {
			Taker string `json:"taker"`
		}
		for line := range strings.Lines(string(raw)) {
			var id string
			if json.Unmarshal([]byte(line), &id) == nil {
				uses[id] = append(uses[id], named.Taker)
			}
			_ = json.Unmarshal([]byte(line), &named) // the first line; others have no such field
		}
	}
	return uses
}

// TestTakerProcess is no test of its own: it is the program of a taker.
func TestTakerProcess(t *testing.T) {
	t.Parallel()
	args := strings.Fields(os.Getenv(envTaker))
	if len(args) == 0 {
		return
	}
	seed, err := strconv.ParseUint(args[0], 10, 64)
	require.NoError(t, err)
	line, err := link.New(link.Config{APIURL: args[1], SandboxID: args[2]})
	require.NoError(t, err)
	defer line.Close()
	hostile := &hostileLine{Client: line, seed: seed, dice: rand.New(rand.NewPCG(seed, seed))}
	box, err := inbox.New(inbox.Config{
		Wait: 200 * time.Millisecond, MinBackoff: 5 * time.Millisecond, MaxBackoff: 20 * time.Millisecond, UsedFile: filepath.Join(args[3], "used"),
	}, hostile, unheard{}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	done := make(chan struct{})
	go func() { box.Run(ctx); close(done) }()
	for err == nil {
		_, err = box.Take(ctx)
	}
	<-done
}

// unheard drops the numbered receipts, so that the plain ones decide.
type unheard struct{}

func (unheard) Emit(string, map[string]any) {}

// hostileLine ends the process, loses what is sent and what is answered, and repeats, at random.
type hostileLine struct {
	*link.Client

	seed uint64
	mu   sync.Mutex
	dice *rand.Rand
}

// happens is true once in n times.
func (l *hostileLine) happens(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seed != 0 && l.dice.IntN(n) == 0
}

func (l *hostileLine) mayDie() {
	if l.happens(12) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until it comes
	}
}

func (l *hostileLine) Get(ctx context.Context, path string, wait time.Duration) (link.Answer, error) {
	answer, err := l.Client.Get(ctx, path, wait)
	if len(answer.Body) > len("[]\n") {
		l.mayDie() // given, and nothing done
	}
	return answer, err
}

var errLost = errors.New("lost on the way")

func (l *hostileLine) Post(ctx context.Context, path string, body []byte, compress bool) (link.Answer, error) {
	l.mayDie()
	if l.happens(5) {
		return link.Answer{}, errLost
	}
	if l.happens(5) {
		_, _ = l.Client.Post(ctx, path, body, compress) // and once more below
	}
	answer, err := l.Client.Post(ctx, path, body, compress)
	l.mayDie() // won, and not heard
	if l.happens(5) {
		return link.Answer{}, errLost
	}
	return answer, err
}
