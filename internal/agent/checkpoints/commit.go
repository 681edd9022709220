package checkpoints

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/diff"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
)

// Entries of the tree of a checkpoint.
const (
	entryWork  = "work"
	entryIndex = "index"
	entryState = "state"
)

// commit makes the commit of a checkpoint, whose entry work exists.
func (t *taker) commit(ctx context.Context, c *taken, index string, state gitState) (err error) {
	var tree, commit strings.Builder
	for _, e := range [][2]string{{entryIndex, index}, {entryState, state.tree}, {entryWork, c.tree}} {
		if id, err := hex.DecodeString(e[1]); err != nil {
			return fmt.Errorf("entry %s: %w", e[0], err)
		} else if len(id) > 0 {
			fmt.Fprintf(&tree, "40000 %s\x00%s", e[0], id)
		}
	}
	top, err := t.tracker.Store(ctx, "tree", tree.String())
	if err != nil {
		return err
	}
	fmt.Fprintf(&commit, "tree %s\n", top)
	for i, parent := range state.parents {
		if !slices.Contains(state.parents[:i], parent) {
			fmt.Fprintf(&commit, "parent %s\n", parent)
		}
	}
	const who = "omoi <omoi@localhost> 0 +0000"
	fmt.Fprintf(&commit, "author %s\ncommitter %s\n\ncheckpoint\n", who, who)
	c.commit, err = t.tracker.Store(ctx, "commit", commit.String())
	c.said.Commit = c.commit
	return err
}

// count counts the files that differ from the head.
func (t *taker) count(ctx context.Context, c *taken) error {
	before := c.said.Head
	if before == "" {
		empty, err := t.shadow.Run(ctx, "hash-object", "-t", "tree", "-w", "/dev/null")
		if err != nil {
			return err
		}
		before = empty
	}
	paths, total, err := diff.Names(ctx, t.shadow.Git, before, c.tree)
	for _, path := range paths {
		if info, err := os.Lstat(filepath.Join(t.work, path)); err == nil && !info.IsDir() {
			c.said.Bytes += info.Size()
		}
	}
	c.said.Files = total
	return err
}

// index returns the tree of the workspace's index if it differs from the head's; empty if not. Unmerged entries are the state of an
// operation, also where no file of Git tells of one, for example after git stash pop.
func (t *taker) index(ctx context.Context, c *taken) string {
	if c.at.index == "" || c.said.GitState {
		t.kept.index = newest[string]{}
		return ""
	}
	key := c.at.stamp + " " + c.at.commit
	if time.Since(c.at.changed) < tick { // the next change may have the same stamp
		key = ""
	}
	tree, err := t.kept.index.of(key, func() (string, error) { return t.readIndex(ctx, c.at) })
	if err != nil {
		unmerged, _ := gitcmd.Repository(t.work).Run(ctx, "ls-files", "--unmerged")
		if c.said.GitState = unmerged != ""; c.said.GitState {
			return ""
		}
	}
	c.leaveOutError("the Git index", err)
	if t.damaged[tree] {
		c.leaveOut("the Git index" + damaged)
		return ""
	}
	c.said.Index = tree != ""
	return tree
}

// ownIndex returns git with an index of another name in the shadow, without the lock that a killed process left.
func (t *taker) ownIndex(name string) gitcmd.Git {
	git := t.shadow.Git
	git.Index = filepath.Join(git.GitDir, name)
	_ = os.Remove(git.Index + ".lock")
	return git
}

func (t *taker) readIndex(ctx context.Context, at head) (string, error) {
	content, ok := gitcmd.ReadSmall(at.index)
	switch {
	case !ok && at.stamp == "": // there is none
		return "", nil
	case !ok:
		return "", errors.New("it is no regular file of up to 64 MiB")
	}
	git := t.ownIndex("index.workspace")
	if err := os.WriteFile(git.Index, content, 0o600); err != nil {
		return "", fmt.Errorf("copy the index: %w", err)
	}
	tree, err := git.Run(ctx, "write-tree", "--missing-ok")
	head, _ := t.tracker.TreeOf(ctx, at.commit)
	if err != nil || tree == head {
		return "", err
	}
	return tree, nil
}
