package github

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/omoi-dev/omoi/internal/scm/mirror"
	"github.com/omoi-dev/omoi/internal/task"
)

// fetch brings refs of the server into the copy under other names, and borrows what the worker has of the repository. A mirror that
// is of no use costs a whole fetch, and is made anew by the next one; one that is busy for long costs that too, and stays.
func (c *clone) fetch(ctx context.Context, refspecs ...string) error {
	store, wanted := c.repo.host.cfg.Mirrors, mirrored(refspecs)
	if err := c.measure(ctx); err != nil {
		return err
	}
	if store == nil || c.mirror != nil || len(wanted) == 0 || c.key == "" {
		return c.fetchAlone(ctx, refspecs...)
	}
	err := c.borrow(ctx, wanted)
	if err == nil {
		err = c.fetchAlone(ctx, refspecs...)
	}
	if err == nil || hopeless(ctx, err) {
		return err
	}
	c.giveBack()
	busy := errors.Is(err, mirror.ErrBusy)
	if err = c.fetchAlone(ctx, refspecs...); err == nil && !busy { // so it is not the server's fault
		store.Forget(c.key)
	}
	return err
}

// hopeless reports whether no other way of fetching leads further.
func hopeless(ctx context.Context, err error) bool {
	code := task.CodeOf(err)
	return ctx.Err() != nil || code == task.CodeForbidden || code == task.CodeExhausted
}

// borrow lets the copy read objects of the mirror, after that was brought up to date with this owner's own token.
func (c *clone) borrow(ctx context.Context, wanted []string) error {
	git := func(ctx context.Context, dir string, held *os.File, args ...string) error {
		_, err := c.repo.git(ctx, dir, []*os.File{held}, args...)
		return err
	}
	handle, err := c.repo.host.cfg.Mirrors.Acquire(ctx, c.key, git, c.fetching(wanted)...)
	if err != nil {
		return c.repo.toldGit(ctx, err, "fetch")
	}
	c.mirror = handle
	err = os.WriteFile(c.alternates(), []byte(handle.Objects+"\n"), 0o600)
	if cut, there := os.ReadFile(handle.Shallow); err == nil && there == nil { // else its history is whole
		err = os.WriteFile(c.shallow(), cut, 0o600) //nolint:gosec // G703: the folder is ours
	}
	if err != nil {
		return fmt.Errorf("borrow from the mirror of %s: %w", c.repo.full(), err)
	}
	return nil
}

// giveBack closes the mirror, if there is one: what was borrowed is not there any more.
func (c *clone) giveBack() {
	if c.mirror != nil {
		_ = os.Remove(c.alternates())
		_ = os.Remove(c.shallow())
		c.mirror.Close()
		c.mirror = nil
	}
}

func (c *clone) alternates() string { return filepath.Join(c.dir, "objects", "info", "alternates") }

// mirrored are the refspecs by which a mirror gets what these get, patterns left out. Their names lie side by side there, so
// that none is in another's way. HEAD is among them: a server that is asked for commits alone is not asked where we have those.
func mirrored(refspecs []string) []string {
	var specs []string
	for _, spec := range refspecs {
		from, into, _ := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
		if !strings.Contains(from, "*") {
			specs = append(specs, "+"+from+":"+mirror.Refs+digest(into))
		}
	}
	if len(specs) > 0 {
		specs = append(specs, "+HEAD:"+mirror.Head)
	}
	return specs
}

const digestBytes = 16

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:digestBytes])
}
