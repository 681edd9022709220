package sandboxwatch

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Far is how gently sandboxes are looked at whose providers count calls: those alone that have said nothing for a while.
type Far struct {
	Every  time.Duration // between rounds; default 3 s
	Silent time.Duration // for how long nothing was heard; default 5 s
	Pause  time.Duration // between two looks at one that lives; default 15 s
	Most   int           // looks that begin in a round; default 5
}

// atOnce is for how many rounds looks may be under way, so that those at sandboxes that do not answer delay no others.
const atOnce = 4

func (f Far) withDefaults() Far {
	return Far{
		Every: cmp.Or(f.Every, 3*time.Second), Silent: cmp.Or(f.Silent, 5*time.Second),
		Pause: cmp.Or(f.Pause, 15*time.Second), Most: cmp.Or(f.Most, 5),
	}
}

// roundElsewhere begins looks, and waits for none: the next round does not wait for a sandbox that answers nothing.
func (w *watch) roundElsewhere(ctx context.Context, boxes []Box) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, box := range w.silent(boxes) {
		w.busy[box.Labels.SandboxID] = true
		w.looks.Go(func() { w.look(ctx, box) })
	}
}

// silent are those to look at where calls are counted: the most silent first, each only so often unless its end is to be told. Those
// that did not answer come last.
func (w *watch) silent(boxes []Box) []Box {
	boxes = slices.DeleteFunc(slices.Clone(boxes), func(box Box) bool {
		if w.busy[box.Labels.SandboxID] {
			return true
		}
		if due, seen := w.ended[box.Labels.SandboxID]; seen {
			return time.Now().Before(due)
		}
		return box.Silent < w.cfg.Far.Silent || time.Since(w.looked[box.Labels.SandboxID]) < w.cfg.Far.Pause
	})
	slices.SortStableFunc(boxes, func(a, b Box) int {
		return cmp.Or(w.mute[a.Labels.SandboxID].Compare(w.mute[b.Labels.SandboxID]), cmp.Compare(b.Silent, a.Silent))
	})
	return boxes[:max(0, min(len(boxes), w.cfg.Far.Most, atOnce*w.cfg.Far.Most-len(w.busy)))]
}
