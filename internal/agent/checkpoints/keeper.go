package checkpoints

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/agent/track"
	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Limits of a segment: a keyframe follows after maxPacks packs, and when the packs after the keyframe exceed both maxSegment and
// keyframeFactor times the keyframe. In a measurement, 200 packs took 2.7 s to restore one by one, and a keyframe instead of them 0.2 s.
const (
	maxPacks        = 50
	maxSegment      = 4 << 20 // bytes
	keyframeFactor  = 2
	maxDoublings    = 5
	keepTime        = 5 * time.Minute // timeout of one checkpoint
	costShare       = 50              // checkpoints use at most this fraction of a processor: 1/50
	stateName       = "checkpoint.json"
	packName        = "checkpoint.pack"
	defaultInterval = 10 * time.Second
	defaultPrune    = 64 << 20
	pruneEvery      = 6 // checkpoints between two looks at the size of the objects, which takes 12 ms
)

// Reporter is the part of the event reporter that a Keeper uses.
type Reporter interface {
	Emit(eventType string, data map[string]any)
	Flush(ctx context.Context) error
}

// Transcript sends the transcript, and returns the run and the number of bytes that it has sent.
type Transcript interface {
	Send(ctx context.Context) error
	Sent() (runID string, length int64)
}

// Activity is the agent's current activity.
type Activity interface {
	// Calls returns the number of starts and ends of tool calls, and the running tool; empty: none.
	Calls() (changes int64, running string)
	// Completed returns the ID of the last ended tool call; empty: none.
	Completed() string
}

// Config configures a Keeper.
type Config struct {
	Dir, Work string
	Every     time.Duration // interval; default 10 s
	// Ended reports that the agent has ended: the checkpoint keeps the position of the last one in the transcript, and
	// Transcript is not used.
	Ended bool
	// PruneBytes is the size of the objects in the shadow above which those of older checkpoints are deleted; default 64 MiB.
	PruneBytes int64
	// PackBytes is the maximum size of a pack; default [checkpoint.MaxPack].
	PackBytes int64
	// Tracker follows the files, as [Track] returns it; nil: the keeper opens one.
	Tracker *track.Tracker
	// Watches limits the watched folders of the keeper's own tracker; 0: only the host limits them.
	Watches int
	// Branch is the task's branch, for the work tree of a user; empty: the branches of the workspace are those of the task.
	Branch string

	Line       *apiclient.Client
	Report     Reporter
	Transcript Transcript
	// Through returns the length of the transcript up to the result of a tool call, as far as it was sent; 0: unknown. It may be nil.
	Through func(ctx context.Context, call string) int64
	Doing   Activity
	Log     *slog.Logger
}

// Keeper takes checkpoints at intervals and sends them.
type Keeper struct {
	cfg   Config
	free  chan struct{} // has a value unless a checkpoint is in progress
	taker *taker
	state state
	over  bool            // the API accepts no further checkpoint
	spent atomic.Int64    // processor time of the newest checkpoint, in nanoseconds
	fails int             // consecutive failures
	calls int64           // tools that were called or ended up to the newest checkpoint
	call  string          // the last completed tool call of the newest checkpoint
	found int             // changes that only a scan found, up to the newest checkpoint that the API has
	told  map[string]bool // reasons of failures that were reported since the newest checkpoint that the API has
}

// state is the state on disk, from which a restarted omoi-agent continues.
type state struct {
	Known    []string `json:"known"` // commits that the API has
	Opened   bool     `json:"opened"`
	Begun    int      `json:"begun"`    // number of the newest started checkpoint
	Last     int      `json:"last"`     // number of the newest checkpoint that the API has
	Commit   string   `json:"commit"`   // commit of checkpoint Last
	Keyframe int64    `json:"keyframe"` // bytes of the keyframe
	Since    int64    `json:"since"`    // bytes of the packs after the keyframe
	Packs    int      `json:"packs"`    // number of packs after the keyframe

	// Finished reports that the newest checkpoint has all changes of the agent.
	Finished bool `json:"finished"`

	RunID      string `json:"run_id"`
	Transcript int64  `json:"transcript"`
	HeadRef    string `json:"head_ref"`
}

// Open returns a keeper of a workspace that is ready for the agent.
func Open(ctx context.Context, cfg Config) (*Keeper, error) {
	cfg.Every = cmp.Or(max(cfg.Every, 0), defaultInterval)
	cfg.PruneBytes = cmp.Or(max(cfg.PruneBytes, 0), defaultPrune)
	k := &Keeper{cfg: cfg, free: make(chan struct{}, 1), told: map[string]bool{}}
	k.free <- struct{}{}
	_ = statefile.Load(k.path(stateName), &k.state) // without the file the numbers start from the beginning
	if k.over = cfg.Ended && !k.state.Opened; k.over {
		return k, nil // the agent has not started
	}
	if !k.state.Opened {
		k.state.Opened, k.state.Known = true, knownCommits(ctx, cfg.Work)
	}
	tracker := cfg.Tracker
	if tracker == nil {
		var err error
		if tracker, err = Track(ctx, cfg.Dir, cfg.Work, track.Config{Watches: cfg.Watches, Log: cfg.Log}); err != nil {
			return nil, err
		}
	}
	k.taker = &taker{
		tracker: tracker, shadow: tracker.Shadow(), work: cfg.Work, known: k.state.Known, branch: cfg.Branch, base: k.state.Commit,
		damaged: map[string]bool{}, maxPack: cmp.Or(max(cfg.PackBytes, 0), checkpoint.MaxPack),
	}
	k.taker.shadow.Used = func(cpu time.Duration) { k.spent.Add(int64(cpu)) }
	return k, k.save()
}

func (k *Keeper) path(name string) string { return filepath.Join(k.cfg.Dir, name) }

func (k *Keeper) save() error { return statefile.Save(k.path(stateName), k.state) }

// Run takes checkpoints until ctx ends. After a failure it retries at the next interval.
func (k *Keeper) Run(ctx context.Context) {
	for wait.For(ctx, k.pause()) == nil {
		if err := errors.Join(k.finished(false), k.within(ctx, keepTime)); err != nil && ctx.Err() == nil {
			k.cfg.Log.WarnContext(ctx, "keep checkpoint failed, retrying", slog.Any("error", err))
		}
	}
}

// Finish is Keep for the files at the end of the agent.
func (k *Keeper) Finish(ctx context.Context) error {
	if err := k.once(ctx, true); err != nil {
		return err
	}
	return k.finished(true)
}

// finished records whether the newest checkpoint is the last one.
func (k *Keeper) finished(yes bool) error {
	<-k.free
	defer func() { k.free <- struct{}{} }()
	if k.over || k.state.Finished == yes {
		return nil
	}
	k.state.Finished = yes
	return k.save()
}

// Unfinished reports whether the agent of this folder took checkpoints and ended without the last one.
func Unfinished(dir string) bool {
	var s state
	return statefile.Load(filepath.Join(dir, stateName), &s) && s.Opened && !s.Finished
}

// within calls Keep with a timeout.
func (k *Keeper) within(ctx context.Context, most time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return k.Keep(ctx)
}

// pause returns the time until the next checkpoint. Checkpoints use at most 1/[costShare] of a processor, and consecutive
// failures double the pause.
func (k *Keeper) pause() time.Duration {
	<-k.free
	defer func() { k.free <- struct{}{} }()
	return max(k.cfg.Every, costShare*time.Duration(k.spent.Load())) << min(k.fails, maxDoublings)
}

// Keep takes a checkpoint and sends it, unless nothing has changed since the last one.
func (k *Keeper) Keep(ctx context.Context) error { return k.once(ctx, false) }

// Close ends the keeper's own tracker. Finish may be called afterwards.
func (k *Keeper) Close() {
	<-k.free
	defer func() { k.free <- struct{}{} }()
	if k.taker == nil || k.cfg.Tracker != nil {
		return
	}
	if err := k.taker.tracker.Close(); err != nil {
		k.cfg.Log.Warn("end watches of files failed", slog.Any("error", err))
	}
}

func (k *Keeper) once(ctx context.Context, finish bool) error {
	select {
	case <-k.free:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { k.free <- struct{}{} }()
	if k.over {
		return nil
	}
	how, err := k.reading(finish), errDamaged
	for n := 0; n < maxTries && errors.Is(err, errDamaged); n++ {
		err = k.keep(ctx, how)
	}
	if err == nil {
		k.fails = 0
		return nil
	}
	k.fails++
	k.taker.kept = kept{} // an object may be missing
	return err
}

// reading returns how the files are read: the agent works if a tool runs, or was called since the last checkpoint.
func (k *Keeper) reading(finish bool) reading {
	calls, running := k.cfg.Doing.Calls()
	same := calls == k.calls
	k.calls = calls
	switch {
	case finish:
		return last
	case running != "" || !same:
		return working
	}
	return atRest
}

func (k *Keeper) keep(ctx context.Context, how reading) error {
	at := moment{run: k.state.RunID, length: k.state.Transcript}
	if !k.cfg.Ended { // before the files, so that the session is not newer than they are
		if err := k.cfg.Transcript.Send(ctx); err != nil {
			return err
		}
		at.run, at.length = k.cfg.Transcript.Sent()
	}
	k.spent.Store(0)
	sent := time.Now()
	c, err := k.taker.take(ctx, how, k.quiet(&at))
	if err != nil {
		return k.fail(ctx, err)
	}
	if c.read.Before(sent) || !k.news(ctx, &c, at) { // without watches the files may be those of an earlier scan
		return nil
	}
	k.prune(ctx, c.commit) // before the send, which may last until ctx ends
	return k.settle(ctx, c, k.send(ctx, c))
}

// prune deletes objects of older checkpoints with each [pruneEvery]th one.
func (k *Keeper) prune(ctx context.Context, commit string) {
	if k.state.Begun%pruneEvery != 0 {
		return
	}
	if err := k.taker.tracker.Prune(ctx, k.cfg.PruneBytes, commit, k.state.Commit); err != nil {
		k.cfg.Log.WarnContext(ctx, "delete objects of older checkpoints failed, retrying with a later one", slog.Any("error", err))
	}
}

// moment is what the agent did when the files were read, and the transcript that was sent before.
type moment struct {
	completed, running string // tool calls
	run                string
	length             int64
}

// quiet returns a function that reports whether no tool was called or ended since its last call, and notes the calls.
func (k *Keeper) quiet(at *moment) func() bool {
	var last int64
	return func() (same bool) {
		at.completed = k.cfg.Doing.Completed() // first: a call that ends now is not noted
		now, running := k.cfg.Doing.Calls()
		same, last, at.running = now == last, now, running
		return same
	}
}

// news reports whether a checkpoint differs from the last one, and completes its data. The session ends with what was sent before
// the files were read, or with the result of the last completed call, which the program may write a moment after it prints it.
func (k *Keeper) news(ctx context.Context, c *taken, at moment) bool {
	if at.completed != k.call && k.cfg.Through != nil && !k.cfg.Ended {
		k.call = at.completed
		if at.length = max(at.length, k.cfg.Through(ctx, k.call)); at.run == "" {
			at.run, _ = k.cfg.Transcript.Sent()
		}
	}
	c.said.RunID, c.said.Transcript, c.said.FilesOnly = at.run, at.length, k.cfg.Ended
	c.said.RunningCall, c.said.ToolCall, c.said.TakenAt = at.running, at.completed, time.Now().UTC()
	moved := c.said.Transcript != k.state.Transcript || c.said.HeadRef != k.state.HeadRef // the commit has neither
	return c.commit != k.state.Commit || moved && k.state.Last > 0
}

// send sends a checkpoint under the next number.
func (k *Keeper) send(ctx context.Context, c taken) error {
	base := k.base()
	size, err := k.pack(ctx, &c, base)
	defer func() { _ = os.Remove(k.path(packName)) }()
	if isDamage(err) && k.taker.findDamaged(ctx, k.path(packName), &c, base) {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err != nil {
		return k.fail(ctx, err)
	}
	if base != "" {
		c.said.Base = k.state.Last
	}
	found := k.taker.tracker.Stats().Found
	k.cfg.Report.Emit(event.AgentCheckpoint, map[string]any{
		"found_by_scan": found - k.found,
		"checkpoint":    k.state.Begun, "files": c.said.Files, "bytes": c.said.Bytes, "pack_bytes": size, "torn": c.said.Torn, "left_out": c.said.LeftOut,
	})
	if err := k.cfg.Report.Flush(ctx); err != nil {
		return err
	}
	if err := send(ctx, k.cfg.Line, k.state.Begun, k.path(packName), c.said); err != nil {
		return err
	}
	k.found = found
	k.state.sealed(base == "", size)
	return nil
}

// pack begins the next checkpoint, and writes its pack while it counts the files.
func (k *Keeper) pack(ctx context.Context, c *taken, base string) (size int64, err error) {
	k.state.Begun++
	if err = k.save(); err != nil {
		return 0, err
	}
	counted := make(chan error, 1)
	go func() { counted <- k.taker.count(ctx, c) }()
	size, err = k.taker.writePack(ctx, k.path(packName), c.commit, base)
	return size, cmp.Or(<-counted, err)
}

// base returns the commit that the next pack builds on; empty: the next checkpoint is a keyframe.
func (k *Keeper) base() string {
	s := &k.state
	if s.Last > 0 && k.cfg.Ended { // compares the files with those of the last checkpoint
		return s.Commit
	}
	if s.Last == 0 || s.Packs >= maxPacks || s.Since > max(maxSegment, keyframeFactor*s.Keyframe) {
		return ""
	}
	return s.Commit
}

// sealed records that the API has the newest started checkpoint.
func (s *state) sealed(keyframe bool, size int64) {
	s.Last = s.Begun
	if keyframe {
		s.Keyframe, s.Since, s.Packs = size, 0, 0
		return
	}
	s.Since, s.Packs = s.Since+size, s.Packs+1
}

// settle records the result of sending a checkpoint.
func (k *Keeper) settle(ctx context.Context, c taken, err error) error {
	refused, ok := errors.AsType[*refusedError](err)
	if ok {
		_ = k.fail(ctx, err)
	}
	if ok && refused.final {
		k.over = true
		k.cfg.Log.WarnContext(ctx, "checkpoint rejected by the api, sending stopped", slog.Int("status", refused.answer.Status))
		return nil
	}
	if ok && !refused.answer.Later() {
		k.state.Last = 0 // the API may lack the base, so the next checkpoint is a keyframe
	}
	if err != nil {
		return err
	}
	clear(k.told)
	k.state.Commit = c.commit
	k.state.RunID, k.state.Transcript, k.state.HeadRef = c.said.RunID, c.said.Transcript, c.said.HeadRef
	return k.save()
}
