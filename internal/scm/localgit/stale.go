package localgit

import (
	"context"
	"errors"
	"strings"
	"time"
)

const (
	// refWait is how long git waits for the lock of a ref. It is short, since omoi holds the repository's lock meanwhile, for which
	// all other tasks wait: the ref may be locked for one task alone. The next attempt of the activity tries again.
	refWait = time.Second
	// lockPatience is the age from which a lock of one of omoi's own refs was left by a git that was killed: a process that changes
	// these refs holds the repository's lock, and is quick.
	lockPatience = 10 * time.Second
	// branchPatience is the same for what the user's own git may be at work on: a branch of a task, with hooks, and packed-refs.
	branchPatience = time.Minute
)

// change runs one ref transaction in a repository that omoi shares with others. The caller holds [repository.lock].
func (r *repository) change(ctx context.Context, lines ...string) (err error) {
	rec, err := r.records()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rec.Close()) }()
	for _, line := range lines {
		verb, rest, _ := strings.Cut(line, " ")
		rec.unlockStale(strings.Fields(rest)[0])
		if verb == "delete" { // which takes the lock of packed-refs, too
			rec.removeStale("packed-refs.new", branchPatience)
			rec.removeStale("packed-refs.lock", branchPatience)
		}
	}
	return r.update(ctx, lines...)
}

// unlockStale removes git's lock of a ref if a git that was killed has left it. Where it cannot, git says what is wrong.
func (r *records) unlockStale(ref string) {
	patience := branchPatience
	if strings.HasPrefix(ref, "refs/omoi/") {
		patience = lockPatience
	}
	r.removeStale(ref+".lock", patience)
}

// removeStale removes a file that nobody has written to for longer than patience.
func (r *records) removeStale(name string, patience time.Duration) {
	if info, err := r.Lstat(name); err == nil && time.Since(info.ModTime()) > patience {
		_ = r.Remove(name)
	}
}
