package sandboxwatch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// world is a store, a provider, and whoever is told.
type world struct {
	sandbox.Provider

	boxes []Box
	seen  map[string]sandbox.Inspection // absent: not there
	err   error
	far   bool
	hangs map[string]bool // those at whom a look hangs

	mu        sync.Mutex // guards what follows
	inspected int
	told      []string
}

func (w *world) Name() string { return "fake" }
func (w *world) Capabilities() sandbox.Capabilities {
	return sandbox.Capabilities{Machine: true, HostBound: !w.far}
}

func (w *world) SandboxesAtWork(context.Context, string, string) ([]Box, error) { return w.boxes, nil }

func (w *world) Inspect(ctx context.Context, labels sandbox.Labels) (sandbox.Inspection, error) {
	w.mu.Lock()
	w.inspected++
	w.mu.Unlock()
	if w.hangs[labels.SandboxID] {
		<-ctx.Done()
		return sandbox.Inspection{State: sandbox.StateUnknown, Agent: sandbox.StateUnknown}, nil
	}
	seen, there := w.seen[labels.SandboxID]
	if !there && w.err == nil {
		return seen, task.Errorf(task.CodeNotFound, "there is none")
	}
	return seen, w.err
}

func watchOver(w *world, p sandbox.Provider) *watch {
	w.boxes = []Box{{TaskID: "t", Labels: sandbox.Labels{Installation: "mine", SandboxID: "box"}}}
	l := New(Config{Again: time.Hour, Tell: func(_ context.Context, taskID, sandboxID string) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.told = append(w.told, taskID+" "+sandboxID)
		return task.Errorf(task.CodeGone, "it has just ended")
	}}, w, []sandbox.Provider{p}, slog.New(slog.DiscardHandler))
	return newWatch(l, p)
}

// An end that two looks in a row are sure of is told once, until its time comes again.
func TestAnEndIsToldOnceItIsSure(t *testing.T) {
	t.Parallel()
	w := &world{seen: map[string]sandbox.Inspection{"box": alive()}}
	over := watchOver(w, w)
	for range 2 {
		over.roundDone(t)
	}
	require.Empty(t, w.told, "it lives")
	w.seen["box"] = ended()
	over.roundDone(t)
	require.Empty(t, w.told, "what it said last may be on its way")
	for range 3 {
		over.roundDone(t)
	}
	require.Equal(t, []string{"t box"}, w.told)
	over.seen["box"].due = time.Now()
	over.roundDone(t)
	require.Len(t, w.told, 2, "the first word may have been lost")
	w.boxes = nil
	over.roundDone(t)
	require.Empty(t, over.seen, "nothing is kept of what is over")
}

func TestWhatIsNotKnownIsNoEnd(t *testing.T) {
	t.Parallel()
	w := &world{}
	over := watchOver(w, w)
	for _, seen := range []sandbox.Inspection{
		{State: sandbox.StateUnknown, Agent: sandbox.StateUnknown},
		{State: sandbox.StateAlive, Agent: sandbox.StateUnknown, Started: true},
	} {
		w.seen = map[string]sandbox.Inspection{"box": seen}
		over.roundDone(t)
		over.roundDone(t)
	}
	w.err = errors.New("the provider is down")
	over.roundDone(t)
	over.roundDone(t)
	require.Empty(t, w.told)
	w.err, w.seen = nil, nil
	over.roundDone(t)
	over.roundDone(t)
	require.Len(t, w.told, 1, "what is not there is gone")
}

// roundDone is a round with all its looks.
func (w *watch) roundDone(t *testing.T) {
	t.Helper()
	w.round(t.Context())
	w.looks.Wait()
}

// alive and ended are what is seen of a sandbox with a living agent, and with one that has ended.
func alive() sandbox.Inspection {
	return sandbox.Inspection{State: sandbox.StateAlive, Agent: sandbox.StateAlive, Started: true}
}

func ended() sandbox.Inspection {
	return sandbox.Inspection{State: sandbox.StateAlive, Agent: sandbox.StateGone, Started: true}
}

// keeper notes for which installation it was asked to count.
type keeper struct{ kept []string }

func (k *keeper) KeepDisks(_ context.Context, installation string) error {
	k.kept = append(k.kept, installation)
	return nil
}

func TestDisksAreKeptForThisInstallation(t *testing.T) {
	t.Parallel()
	answers := []error{errors.New("the store is down"), nil}
	l := New(Config{Installation: func(context.Context) (string, error) {
		err := answers[0]
		answers = answers[1:]
		return map[bool]string{true: "mine"}[err == nil], err
	}}, &world{}, nil, slog.New(slog.DiscardHandler))
	k, installation := &keeper{}, ""
	require.Error(t, l.keepOnce(t.Context(), k, &installation))
	require.Empty(t, k.kept)
	for range 2 {
		require.NoError(t, l.keepOnce(t.Context(), k, &installation))
	}
	require.Equal(t, []string{"mine", "mine"}, k.kept)
}
