package sandboxwatch

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

// Elsewhere, who talks is not looked at; who has become silent is, though its sandbox lives.
func TestASilentAgentElsewhereIsLookedAt(t *testing.T) {
	t.Parallel()
	w := &world{far: true, seen: map[string]sandbox.Inspection{"box": ended()}}
	over := watchOver(w, w)
	over.roundDone(t)
	require.Zero(t, w.inspected, "it talks")
	w.boxes[0].Silent = time.Minute
	over.roundDone(t)
	require.Empty(t, w.told, "what it said last may be on its way")
	over.roundDone(t)
	require.Equal(t, []string{"t box"}, w.told)
	require.Equal(t, 2, w.inspected)
	over.roundDone(t)
	require.Equal(t, 2, w.inspected, "it is told")
	over.seen["box"].due = time.Now()
	over.roundDone(t)
	require.Len(t, w.told, 2, "the first word may have been lost")
}

// However many are silent, few are looked at in a round, the most silent first, and one that lives not soon again.
func TestLooksElsewhereAreFew(t *testing.T) {
	t.Parallel()
	w := &world{far: true, seen: map[string]sandbox.Inspection{}}
	over := watchOver(w, w)
	over.pace = pace{silent: time.Second, pause: time.Hour, most: 2}
	w.boxes = nil
	for n, id := range []string{"c", "b", "a", "d"} {
		w.seen[id] = alive()
		w.boxes = append(w.boxes, Box{TaskID: "t", Labels: sandbox.Labels{SandboxID: id}, Silent: time.Duration(n+1) * time.Minute})
	}
	for _, looked := range []int{2, 4, 4} {
		over.roundDone(t)
		require.Equal(t, looked, w.inspected)
		if looked == 2 {
			require.NotZero(t, over.seen["d"].looked)
			require.NotZero(t, over.seen["a"].looked)
		}
	}
	over.seen["b"].looked = time.Now().Add(-2 * time.Hour)
	over.roundDone(t)
	require.Equal(t, 5, w.inspected)
	w.boxes = nil
	over.roundDone(t)
	require.Empty(t, over.seen, "nothing is kept of what is over")
}

func (w *watch) underWay() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.busy
}

func (w *world) tells() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.told)
}

// However many sandboxes do not answer, and however long they have been silent, the end of another one is told soon, and looks
// that hang do not pile up.
func TestLooksThatHangDelayNoOthers(t *testing.T) {
	t.Parallel()
	for _, many := range []int{5, 200} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{far: true, seen: map[string]sandbox.Inspection{"box": ended()}, hangs: map[string]bool{}}
			over := watchOver(w, w)
			w.boxes[0].Silent = time.Minute
			for n := range many {
				id := fmt.Sprint("hangs", n)
				w.hangs[id] = true
				w.boxes = append(w.boxes, Box{TaskID: "t", Labels: sandbox.Labels{SandboxID: id}, Silent: time.Hour})
			}
			begun := time.Now()
			for w.tells() == 0 && time.Since(begun) < time.Hour {
				over.round(t.Context())
				require.LessOrEqual(t, over.underWay(), roundsAtOnce*over.pace.most)
				<-time.After(over.pace.every) // by the clock of this bubble
				synctest.Wait()
			}
			soon := lookTimeout
			if many > roundsAtOnce*over.pace.most { // each has to be found to hang once
				soon *= time.Duration(many/(roundsAtOnce*over.pace.most) + 2)
			}
			require.Equal(t, []string{"t box"}, w.told)
			require.Less(t, time.Since(begun), soon)
			over.looks.Wait()
			require.Zero(t, over.busy)
		})
	}
}
