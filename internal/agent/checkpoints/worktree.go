package checkpoints

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/checkpoint"
)

// Place restores the files and the Git index of a checkpoint in a new work tree of a user, whose head is that of the checkpoint
// and whose repository has its objects. Place runs no program that a file or a setting of Git names, and restores no unfinished
// operation of Git. Call [Bounded] before.
func Place(ctx context.Context, dir, work string, from checkpoint.Checkpoint) error {
	shadow, err := openShadow(ctx, dir, work)
	if err == nil {
		err = hold(ctx, shadow, from)
	}
	if err != nil {
		return err
	}
	r := Restorer{From: from}
	if err := r.tree(ctx, shadow); err != nil {
		return err
	}
	tree := from.Head
	if from.Index {
		tree = from.Commit + ":" + entryIndex
	}
	_, err = gitcmd.Repository(work).Run(ctx, "read-tree", tree)
	return err
}

// hold copies the objects of a checkpoint to the shadow: no branch of the user holds them, and a ref of the work tree alone does
// not keep them from git gc in another one.
func hold(ctx context.Context, shadow *gitcmd.Shadow, from checkpoint.Checkpoint) error {
	revs := strings.NewReader(from.Commit + "\n^" + from.Head + "\n")
	pack := filepath.Join(shadow.GitDir, "objects", "pack", "pack")
	return shadow.Stream(ctx, revs, io.Discard, "pack-objects", "--revs", "--quiet", "--threads=1", pack)
}

// boundFactor is how much more than one checkpoint may add is accepted: each may add files to those of the one before.
const boundFactor = 10

// Bounded returns an error if the head or the files of a checkpoint exceed those of a commit that the agent did not make by more than
// [boundFactor] times the limits of omoi-agent: the sender of the checkpoint lied. git has the objects of the checkpoint. An empty or
// missing base has no files.
func Bounded(ctx context.Context, git gitcmd.Git, from checkpoint.Checkpoint, base string) (err error) {
	if base != "" {
		base = git.Commit(ctx, base)
	}
	if base == "" {
		if base, err = git.Run(ctx, "hash-object", "-t", "tree", "/dev/null"); err != nil {
			return err
		}
	}
	own, err := countFiles(ctx, git, base, math.MaxInt)
	for _, tree := range []string{from.Head, from.Commit + ":" + entryWork} {
		if err == nil && tree != "" {
			err = bounded(ctx, git, base, tree, own)
		}
	}
	return err
}

// bounded checks the number of files first: git diff-tree holds all names in memory before it prints the first one.
func bounded(ctx context.Context, git gitcmd.Git, base, tree string, own int) error {
	most, sizes := (gitcmd.Caps{}).WithDefaults(), &bytes.Buffer{}
	if _, err := countFiles(ctx, git, tree, own+boundFactor*most.Files); err != nil {
		return err
	}
	ids, err := changedFiles(ctx, git, base, tree, boundFactor*most.Files)
	if err == nil {
		err = git.Stream(ctx, ids, sizes, "cat-file", "--batch-check=%(objectsize)")
	}
	if err != nil {
		return err
	}
	total := int64(0)
	for line := range strings.FieldsSeq(sizes.String()) {
		size, _ := strconv.ParseInt(line, 10, 64) // 0: an object of another repository
		if total += size; size > most.FileBytes || total > boundFactor*most.TotalBytes {
			return errors.New("the checkpoint exceeds the limits: its changed files are too large")
		}
	}
	return nil
}

// countFiles returns the number of files of a tree, and an error if there are more than most.
func countFiles(ctx context.Context, git gitcmd.Git, tree string, most int) (int, error) {
	c := counter{left: most}
	err := git.Stream(ctx, nil, &c, "ls-tree", "-r", "-z", "--full-tree", "--name-only", tree)
	if c.left < 0 {
		err = errFiles
	}
	return most - c.left, err
}

var errFiles = errors.New("the checkpoint exceeds the limits: it has too many files")

// counter counts names, and fails when there are too many, which ends git.
type counter struct{ left int }

// Write implements [io.Writer].
func (c *counter) Write(p []byte) (int, error) {
	if c.left -= bytes.Count(p, []byte{0}); c.left < 0 {
		return 0, errFiles
	}
	return len(p), nil
}

// changedFiles returns the IDs of the files that differ from a base, and an error if there are more than most.
func changedFiles(ctx context.Context, git gitcmd.Git, base, tree string, most int) (ids *bytes.Buffer, err error) {
	raw, in := io.Pipe()
	defer func() { _ = raw.Close() }() // ends git
	go func() {
		in.CloseWithError(git.Stream(ctx, nil, in, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--diff-filter=d", base, tree))
	}()
	fields, ids := bufio.NewReader(raw), &bytes.Buffer{}
	for n := 0; n <= most; {
		field, err := fields.ReadString(0)
		if err != nil {
			return ids, eof(err)
		}
		if change := strings.Fields(field); strings.HasPrefix(field, ":") && len(change) == 5 && change[1] != "160000" {
			n++
			ids.WriteString(change[3] + "\n")
		}
	}
	return nil, fmt.Errorf("the checkpoint exceeds the limits: more than %d changed files", most)
}

// eof returns nil for the end of a file.
func eof(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Given is a user's work tree that was made by [Place], and is given back to its task.
type Given struct {
	Dir, Work string // as for Place
	Branch    string // the task's branch
	From      checkpoint.Checkpoint
	Newest    int // number of the newest checkpoint of the attempt of From
	Line      *apiclient.Client
	// Session is the session as it has grown since; nil: the session of From, which may be older than the files.
	Session Transcript
	Log     *slog.Logger
}

// Give takes a checkpoint of the work tree and sends it as the next one of the attempt of From. It returns the number of the
// checkpoint; that of From if nothing has changed since.
func Give(ctx context.Context, g Given) (number int, err error) {
	err = statefile.Save(filepath.Join(g.Dir, stateName), state{
		Opened: true, Begun: g.Newest, Last: g.From.Number, Commit: g.From.Commit, RunID: g.From.RunID, Transcript: g.From.Transcript,
		HeadRef: headsRefs + g.Branch,
	})
	if err != nil {
		return 0, err
	}
	k, err := Open(ctx, Config{
		Dir: g.Dir, Work: g.Work, Branch: g.Branch, Ended: g.Session == nil, Watches: 1, // one scan is enough
		Line: g.Line, Report: NoEvents{}, Transcript: g.Session, Doing: noAgent{}, Log: g.Log,
	})
	if err != nil {
		return 0, err
	}
	defer k.Close()
	if err := g.sendSession(ctx); err != nil {
		return 0, err
	}
	if err := k.Finish(ctx); err != nil {
		return 0, err
	}
	if k.over {
		return 0, errors.New("the API accepts no checkpoint")
	}
	return k.state.Last, nil
}

// sendSession sends the session before the checkpoint, which would otherwise continue the task without one if the API rejects it.
func (g Given) sendSession(ctx context.Context) error {
	if g.Session == nil {
		return nil
	}
	err := g.Session.Send(ctx)
	if run, _ := g.Session.Sent(); err == nil && run == "" {
		err = errors.New("the API accepts no session")
	}
	return err
}

// NoEvents is the reporter of checkpoints without events: of a user's work tree, and of an agent that has ended, whose readers
// may have seen its last event.
type NoEvents struct{}

// Emit drops the event.
func (NoEvents) Emit(string, map[string]any) {}

// Flush has nothing to send.
func (NoEvents) Flush(context.Context) error { return nil }

// noAgent is the activity in a work tree in which no agent is supervised.
type noAgent struct{}

func (noAgent) Calls() (int64, string) { return 0, "" }
func (noAgent) Completed() string      { return "" }

// Exclude leaves out what the file at path names, as the user's core.excludesFile. Call Exclude after [Place].
func Exclude(ctx context.Context, dir, path string) error {
	_, err := gitcmd.Git{Dir: dir, GitDir: filepath.Join(dir, shadowName)}.Run(ctx, "config", "core.excludesFile", path)
	return err
}
