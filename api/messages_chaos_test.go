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
	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/ingest"
)

// envTaker makes the test binary run as a taker: seed, API, sandbox, folder.
const envTaker = "OMOI_TEST_TAKER"

// TestMessages_AreUsedOnceOrExpire expects that each accepted message is used at least once by the taker that has won
// it, or expires. Two takers never use the same message; one taker uses a message twice only if it died after the use
// and before the confirmation. Takers are processes that log each use themselves and are killed at random points: while
// they ask, win, hand out, and before and after the use. Leases are short, so that several takers hold the same
// message. Receipts are lost, repeated, and their responses dropped.
func TestMessages_AreUsedOnceOrExpire(t *testing.T) {
	t.Parallel()
	const seed, generations, stays, ends = 20251121, 6, 40, 24
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
	w.usedByWinners(takers, won)
}

// usedByWinners compares what the takers did with the receipts.
func (w *world) usedByWinners(takers []*taker, won int) {
	w.t.Helper()
	all := usesOf(w.t, takers)
	require.Len(w.t, all, won, "nothing was used that nobody has won")
	for id, uses := range all {
		m, err := w.store.Message(w.t.Context(), id)
		require.NoError(w.t, err)
		require.Equal(w.t, ingest.MessageAcknowledged, m.State)
		for n, u := range uses {
			require.Equal(w.t, m.Taker, u.taker, "message %s is used by the one who has won it", id)
			if n == 0 {
				continue
			}
			before := uses[n-1]
			require.True(w.t, u.repeated, "message %s says that it was handed out before", id)
			require.False(w.t, before.confirmed, "message %s is not used again after its use was confirmed", id)
			require.Greater(w.t, u.life, before.life, "message %s is used twice only after a death", id)
		}
	}
}

// taker is a process that is restarted each time that it was killed.
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
				faults = 0 // the last process is not killed, so that every claim is settled
			}
			process := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestTakerProcess$")
			process.Env = append(os.Environ(),
				envTaker+"="+strings.Join([]string{strconv.FormatUint(faults, 10), w.url, box, one.dir}, " "))
			if stdin, err := process.StdinPipe(); err == nil && process.Start() == nil { // ends with the test
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

// use is one use of a message.
type use struct {
	taker               string
	life                int  // number of the taker's process
	repeated, confirmed bool // the inbox reported a repeat; the process confirmed the use
}

// usesOf reads what the takers did, message by message, in order.
func usesOf(tb testing.TB, takers []*taker) map[string][]use {
	tb.Helper()
	uses := map[string][]use{}
	for _, one := range takers {
		raw, err := os.ReadFile(filepath.Join(one.dir, "did"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		require.NoError(tb, err)
		name, life := nameOf(tb, one.dir), 0
		for line := range strings.Lines(string(raw)) {
			verb, id, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			switch verb {
			case didStart:
				life++
			case didUse, didAgain:
				uses[id] = append(uses[id], use{taker: name, life: life, repeated: verb == didAgain})
			case didConfirm:
				uses[id][len(uses[id])-1].confirmed = true
			}
		}
	}
	return uses
}

// nameOf returns the name of a taker, the first record of its inbox.
func nameOf(tb testing.TB, dir string) string {
	tb.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "used"))
	require.NoError(tb, err)
	var named struct {
		Taker string `json:"taker"`
	}
	require.NoError(tb, json.NewDecoder(strings.NewReader(string(raw))).Decode(&named))
	return named.Taker
}

// Records of a taker in its own file, apart from its inbox.
const (
	didStart   = "started"
	didUse     = "used"
	didAgain   = "used-again" // the inbox reported that the message may be used again
	didConfirm = "confirmed"
)

// diary records what a taker did in lines that outlive its process.
type diary struct{ file *os.File }

func openDiary(t *testing.T, dir string) diary {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(dir, "did"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	return diary{file}
}

func (d diary) note(t *testing.T, verb, id string) {
	t.Helper()
	_, err := d.file.WriteString(verb + " " + id + "\n")
	require.NoError(t, err)
}

// TestTakerProcess is the program of a taker, not a test of its own.
func TestTakerProcess(t *testing.T) {
	t.Parallel()
	args := strings.Fields(os.Getenv(envTaker))
	if len(args) == 0 {
		return
	}
	seed, err := strconv.ParseUint(args[0], 10, 64)
	require.NoError(t, err)
	line, err := apiclient.New(apiclient.Config{APIURL: args[1], SandboxID: args[2]})
	require.NoError(t, err)
	defer line.Close()
	hostile := &hostileLine{Client: line, seed: seed, dice: rand.New(rand.NewPCG(seed, seed))}
	box, err := inbox.New(inbox.Config{
		Wait: 200 * time.Millisecond, MinBackoff: 5 * time.Millisecond, MaxBackoff: 20 * time.Millisecond,
		UsedFile: filepath.Join(args[3], "used"),
	}, hostile, unheard{hostile}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	done := make(chan struct{})
	go func() { box.Run(ctx); close(done) }()
	did := openDiary(t, args[3])
	did.note(t, didStart, "")
	for {
		m, err := box.Take(ctx)
		if err != nil {
			break
		}
		hostile.use(t, box, did, m)
	}
	<-done
}

// use uses a message and confirms its use; it may be killed at any point.
func (l *hostileLine) use(t *testing.T, box *inbox.Inbox, did diary, m inbox.Message) {
	t.Helper()
	l.mayDie()
	verb := didUse
	if m.Repeated {
		verb = didAgain
	}
	did.note(t, verb, m.ID)
	l.mayDie() // used, and not confirmed
	box.Used(m.ID)
	l.mayDie()
	did.note(t, didConfirm, m.ID)
}

// unheard drops the numbered receipts, so that the plain ones count.
type unheard struct{ line *hostileLine }

func (u unheard) Emit(string, map[string]any) { u.line.mayDie() } // won, and not handed out

// hostileLine kills the process, loses requests and responses, and repeats requests, at random.
type hostileLine struct {
	*apiclient.Client

	seed uint64
	mu   sync.Mutex
	dice *rand.Rand
}

// happens returns true once in n calls, on average.
func (l *hostileLine) happens(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seed != 0 && l.dice.IntN(n) == 0
}

func (l *hostileLine) mayDie() {
	if l.happens(12) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // until the kill arrives
	}
}

func (l *hostileLine) Get(ctx context.Context, path string, wait time.Duration) (apiclient.Answer, error) {
	answer, err := l.Client.Get(ctx, path, wait)
	if len(answer.Body) > len("[]\n") {
		l.mayDie() // leased, and nothing done
	}
	return answer, err
}

var errLost = errors.New("lost on the way")

func (l *hostileLine) Post(ctx context.Context, path string, body []byte, compress bool) (apiclient.Answer, error) {
	l.mayDie()
	if l.happens(5) {
		return apiclient.Answer{}, errLost
	}
	if l.happens(5) {
		_, _ = l.Client.Post(ctx, path, body, compress) // repeated below
	}
	answer, err := l.Client.Post(ctx, path, body, compress)
	l.mayDie() // won, and the response was lost
	if l.happens(5) {
		return apiclient.Answer{}, errLost
	}
	return answer, err
}
