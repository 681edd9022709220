package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
)

// writePack writes the objects of a commit or tree that the API lacks and that are not in others, and returns their number of bytes.
func (t *taker) writePack(ctx context.Context, path, id string, others ...string) (int64, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return 0, fmt.Errorf("create pack: %w", err)
	}
	defer func() { _ = f.Close() }()
	if slices.Contains(others, id) { // the files are unchanged, and the transcript has grown
		return 0, nil
	}
	how := []string{"pack-objects", "--stdout", "--quiet", "--threads=1"}
	objects := t.added(ctx, id, others)
	if objects == "" { // With --shallow, git also leaves out what a commit has that is no parent: the base.
		objects, how = t.revisions(id, others), append(how, "--revs", "--thin", "--shallow")
	}
	err = t.shadow.Stream(ctx, strings.NewReader(objects), f, how...)
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("read pack: %w", err)
	}
	if info.Size() > t.maxPack { // the API would reject the pack after most of it was sent
		return 0, fmt.Errorf("%w: %d bytes, more than %d", errLarge, info.Size(), t.maxPack)
	}
	return info.Size(), Inflates(f, id) // else no attempt could restore the checkpoint
}

// revisions returns the lines with which git pack-objects finds the objects of id.
func (t *taker) revisions(id string, others []string) string {
	var revs strings.Builder
	revs.WriteString(id + "\n")
	for _, known := range slices.Concat(t.known, others) {
		if known != "" {
			revs.WriteString("^" + known + "\n")
		}
	}
	return revs.String()
}

// added returns the objects of a checkpoint that its base lacks, as lines for git pack-objects, which would read all trees of the base to
// find them. A line has an ID and a path, which selects the object that a delta builds on. added returns no lines without one base of the
// same parents, and where objects are damaged, so that git reports them.
func (t *taker) added(ctx context.Context, id string, bases []string) string {
	if len(bases) != 1 || bases[0] == "" {
		return ""
	}
	base, err := t.tracker.Load(ctx, bases[0])
	commit, err2 := t.tracker.Load(ctx, id)
	before, parents, _ := strings.Cut(base, "\n")
	now, same, _ := strings.Cut(commit, "\n")
	if errors.Join(err, err2) != nil || parents != same {
		return ""
	}
	var lines strings.Builder
	listed := 0
	fmt.Fprintf(&lines, "-%s\n%s\n", bases[0], id)
	err = t.tracker.Added(ctx, strings.TrimPrefix(before, treeLine), strings.TrimPrefix(now, treeLine), func(id, path string) {
		if listed++; listed > maxListed {
			return
		}
		if len(path) > maxHint || strings.Contains(path, "\n") {
			path = ""
		}
		fmt.Fprintf(&lines, "%s %s\n", id, path)
	})
	if err != nil || listed > maxListed {
		return ""
	}
	return lines.String()
}

// maxListed is the number of objects above which git looks for those that the head and the known commits have.
const maxListed = 500

// treeLine begins the first line of a commit.
const treeLine = "tree "

// maxHint is the longest path in a line for git pack-objects, which reads lines of up to 4 KiB.
const maxHint = 1 << 10

// damaged is why a checkpoint lacks a part.
const damaged = ": objects of it are missing, damaged or too large"

// errLarge reports that the API accepts no pack of this size.
var errLarge = errors.New("the pack is too large")

// errDamaged reports that the next try leaves out what is damaged.
var errDamaged = errors.New("objects of the workspace are damaged")

// findDamaged notes which commits and trees of a checkpoint no pack can have, except the head and the files. It reports whether there are
// new ones.
func (t *taker) findDamaged(ctx context.Context, path string, c *taken, base string) (found bool) {
	for _, id := range c.needs {
		if id == "" || id == c.said.Head || t.damaged[id] {
			continue
		}
		if _, err := t.writePack(ctx, path, id, base, c.said.Head); isDamage(err) {
			t.damaged[id], found = true, true
		}
	}
	return found
}

// isDamage reports whether git ended by itself at an object, and not through the host.
func isDamage(err error) bool {
	failed, ok := errors.AsType[*gitcmd.Error](err)
	return reasonOf(err) == reasonTooLarge || ok && failed.ExitCode > 0 && reasonOf(err) == reasonUnreadable
}
