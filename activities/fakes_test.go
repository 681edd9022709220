package activities_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/checkpoint"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/transcript"
)

// errLost is a call whose effect was had and whose answer was lost.
var errLost = errors.New("connection reset by peer")

// faults loses answers: the named call does its work once and fails then.
type faults struct {
	mu    sync.Mutex
	lose  map[string]bool
	calls []string
}

// call notes a call and answers what it fails with after its work.
func (f *faults) call(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, name)
	if f.lose[name] {
		delete(f.lose, name)
		return errLost
	}
	return nil
}

func (f *faults) loseAnswerOf(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lose == nil {
		f.lose = map[string]bool{}
	}
	f.lose[name] = true
}

func (f *faults) count(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, c := range f.calls {
		if c == name {
			n++
		}
	}
	return n
}

// fakeStore is Tasks, Ledger and Fleet in memory.
type fakeStore struct {
	frozen time.Duration

	wait     time.Duration // of an attempt that is to begin
	story    receipt.PullRequestData
	sizes    [][2]int      // of changes
	doubts   []task.Reason // as they were noted
	troubles []task.Reason // as they were noted
	adopted  []string      // sandboxes that were listed and orphans
	found    []string      // which sandbox on which host
	left     map[string][]contract.Orphan
	faults

	work     task.Work
	loaded   contract.LoadedTask
	loadErr  error
	facts    contract.Digest
	taken    contract.LoadedCommand
	rows     map[string]task.Sandbox
	pulse    task.Pulse
	pulseErr error
	texts    map[string]string // id to kind and content, or its first 1,000 bytes
	lengths  map[string]int64  // of texts that are base64
	textErr  error
	pieceErr error
	heads    map[int]string
	settled  []contract.RecordSandboxStateInput
	runs     []string
	current  []bool

	targets   []contract.ReaperTarget
	ledger    []contract.Orphan
	unowned   []contract.Orphan
	open      []string
	abandoned []string
	rest      []bool
	rests     []bool // the flag, as it was set

	branch, base string // as noted
	bundled      string // commit of the branch that a sandbox got
	points       checkpoint.Commits

	transcripts map[int]transcript.Info // by attempt
	checkpoints [][]checkpoint.Checkpoint
	rewound     int // attempt

	saved    task.Unpublished
	emptyRun bool

	testsBox string // of the newest repeat of the tests
	repeats  []task.TestRepeat

	ranOut   int   // attempts
	ranOutIs error // the answer instead
	overdue  int
	alerts   map[string]string
	strays   int
	foreign  bool     // another run wrote the task last
	back     []string // were there again
	alertErr error
}

func (s *fakeStore) LoadTask(_ context.Context, _ contract.TaskRef, runID string) (contract.LoadedTask, error) {
	s.runs = append(s.runs, runID)
	return s.loaded, s.loadErr
}

func (s *fakeStore) SaveTaskState(
	ctx context.Context, _ contract.Projection, runID string, current func(context.Context) (bool, error),
) (contract.Projected, error) {
	s.runs = append(s.runs, runID)
	if !s.foreign {
		return contract.Projected{}, nil
	}
	is, err := current(ctx)
	s.current = append(s.current, is)
	return contract.Projected{Fenced: !is}, err
}

func (s *fakeStore) BeginAttempt(_ context.Context, in contract.BeginAttemptInput, runID string) (contract.BeginAttemptResult, error) {
	s.runs = append(s.runs, runID)
	return contract.BeginAttemptResult{LiveAttempt: contract.LiveAttempt{Number: int(in.Ordinal)}, Wait: s.wait}, nil
}

func (s *fakeStore) LoadCommand(_ context.Context, _ contract.LoadCommandInput, runID string) (contract.LoadedCommand, error) {
	s.runs = append(s.runs, runID)
	return s.taken, nil
}

func (s *fakeStore) LoadEvents(context.Context, contract.LoadEventsInput) (contract.Digest, error) {
	return s.facts, nil
}

func (s *fakeStore) Work(context.Context, string) (task.Work, error) { return s.work, nil }

func (s *fakeStore) EmptyRun(context.Context, string) (bool, error) { return s.emptyRun, nil }

func (s *fakeStore) EarlierTranscript(_ context.Context, _ string, attempt int) (transcript.Info, bool, error) {
	for n := attempt - 1; n > 0; n-- {
		if found, ok := s.transcripts[n]; ok {
			return found, true, nil
		}
	}
	return transcript.Info{}, false, nil
}

func (s *fakeStore) EarlierCheckpoints(context.Context, string, int) (checkpoint.Origin, error) {
	return checkpoint.Origin{Segments: s.checkpoints, Rewound: s.rewound}, nil
}

func (s *fakeStore) RunTranscript(_ context.Context, _, runID string) (transcript.Info, bool, error) {
	for _, found := range s.transcripts {
		if found.RunID == runID {
			return found, true, nil
		}
	}
	return transcript.Info{}, false, nil
}

func (s *fakeStore) SaveBranch(_ context.Context, _, branch, base string) error {
	s.branch, s.base = branch, base
	return nil
}

func (s *fakeStore) LedgerSandbox(_ context.Context, id string) (task.Sandbox, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, ok := s.rows[id]
	if !ok {
		return row, task.Errorf(task.CodeNotFound, "no sandbox %s", id)
	}
	return row, nil
}

func (s *fakeStore) change(id, call string, f func(*task.Sandbox)) error {
	s.mu.Lock()
	row := s.rows[id]
	f(&row)
	s.rows[id] = row
	s.mu.Unlock()
	return s.call(call)
}

func (s *fakeStore) SandboxCreating(_ context.Context, id, transport string) error {
	return s.change(id, "creating", func(r *task.Sandbox) { r.State, r.Transport = task.SandboxCreating, transport })
}

func (s *fakeStore) SandboxPlaced(_ context.Context, id, providerID string) error {
	return s.change(id, "placed", func(r *task.Sandbox) { r.ProviderID = cmp.Or(r.ProviderID, providerID) })
}

func (s *fakeStore) SandboxSeen(_ context.Context, id, providerID string, since time.Time) error {
	return s.change(id, "seen", func(r *task.Sandbox) { r.ProviderID, r.ProviderCreatedAt, r.GoneAt = providerID, &since, nil })
}

func (s *fakeStore) MarkReappeared(_ context.Context, id, providerID string, since time.Time) error {
	s.back = append(s.back, id)
	return s.change(id, "again", func(r *task.Sandbox) {
		r.ProviderID, r.ProviderCreatedAt, r.GoneAt, r.VerifiedAt = providerID, &since, nil, nil
	})
}

func (s *fakeStore) CountReappeared(context.Context) (int, string, error) {
	if len(s.back) == 0 {
		return 0, "", nil
	}
	return len(s.back), s.back[0], nil
}

func (s *fakeStore) SandboxRunning(_ context.Context, id string, made sandbox.Sandbox) error {
	return s.change(id, "running", func(r *task.Sandbox) { r.State, r.ProviderID = task.SandboxRunning, made.ProviderID })
}

func (s *fakeStore) AgentStarted(_ context.Context, id string) error {
	now := time.Now()
	return s.change(id, "agent_started", func(r *task.Sandbox) { r.StartedAt = &now })
}

func (s *fakeStore) RecordSandboxState(_ context.Context, in contract.RecordSandboxStateInput) error {
	s.settled = append(s.settled, in)
	return nil
}

func (s *fakeStore) SandboxUnmade(_ context.Context, id string) (bool, error) {
	unmade := s.rows[id].State == task.SandboxIntended
	return unmade, s.change(id, "unmade", func(r *task.Sandbox) {
		if unmade {
			r.State = task.SandboxGone
		}
	})
}

func (s *fakeStore) SaveSalvage(_ context.Context, id string, saved task.Salvage) error {
	return s.change(id, "save_salvage", func(r *task.Sandbox) { r.Salvage = &saved })
}

func (s *fakeStore) SaveHead(_ context.Context, _ string, attempt int, commit string) error {
	s.mu.Lock()
	if s.heads == nil {
		s.heads = map[int]string{}
	}
	s.heads[attempt] = commit
	s.mu.Unlock()
	return s.call("save_head")
}

func (s *fakeStore) Pulse(context.Context, string, time.Duration) (task.Pulse, error) {
	return s.pulse, s.pulseErr
}

func (s *fakeStore) FrozenTime(context.Context, string) (time.Duration, error) { return s.frozen, nil }

func (s *fakeStore) NoteDoubt(_ context.Context, _ string, reason task.Reason) error {
	s.doubts = append(s.doubts, reason)
	return nil
}

func (s *fakeStore) NoteTrouble(_ context.Context, _ string, reason task.Reason) error {
	s.troubles = append(s.troubles, reason)
	return nil
}

func (s *fakeStore) SaveText(_ context.Context, _, kind, content string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.textErr != nil {
		return "", s.textErr
	}
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	id := "text-" + strconv.Itoa(len(s.texts)+1)
	s.texts[id] = kind + ":" + content
	return id, nil
}

// SaveBase64 holds little of what it is given.
func (s *fakeStore) SaveBase64(ctx context.Context, taskID, kind string, content io.Reader) (string, error) {
	var first strings.Builder
	n, err := io.Copy(&first, io.LimitReader(content, 1000))
	if err != nil {
		return "", err
	}
	rest, err := io.Copy(io.Discard, content)
	if err != nil {
		return "", err
	}
	id, err := s.SaveText(ctx, taskID, kind, first.String())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lengths == nil {
		s.lengths = map[string]int64{}
	}
	s.lengths[id] = n + rest
	return id, err
}

func (s *fakeStore) Installation(context.Context) (string, error) { return "inst", nil }

func (s *fakeStore) Targets(context.Context) ([]contract.ReaperTarget, error) { return s.targets, nil }

func (s *fakeStore) EndStrays(context.Context) error {
	s.strays++
	return nil
}

func (s *fakeStore) LedgerOrphans(context.Context, time.Duration) ([]contract.Orphan, error) {
	return s.ledger, nil
}

func (s *fakeStore) Overdue(context.Context, time.Duration) (int, time.Duration, error) {
	return s.overdue, time.Hour, nil
}

func (s *fakeStore) SetAlert(_ context.Context, source, text string) error {
	if s.alerts == nil {
		s.alerts = map[string]string{}
	}
	s.alerts[source] = text
	return s.alertErr
}

func (s *fakeStore) Unowned(context.Context, []sandbox.Sandbox, time.Duration) ([]contract.Orphan, error) {
	return s.unowned, nil
}

func (s *fakeStore) Leftovers(_ context.Context, id string) ([]contract.Orphan, error) {
	return s.left[id], nil
}

func (s *fakeStore) Adopt(_ context.Context, _, _ string, listed []sandbox.Sandbox) error {
	for _, box := range listed {
		s.adopted = append(s.adopted, box.Labels.SandboxID)
	}
	return nil
}

func (s *fakeStore) Found(_ context.Context, host string, listed []sandbox.Sandbox) error {
	for _, box := range listed {
		s.found = append(s.found, box.Labels.SandboxID+" on "+host)
	}
	return nil
}

func (s *fakeStore) OpenTasks(context.Context, time.Duration) ([]string, error) { return s.open, nil }

func (s *fakeStore) Abandon(_ context.Context, id, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abandoned = append(s.abandoned, id)
	return nil
}

func (s *fakeStore) Grant(context.Context) error { return s.call("grant") }

func (s *fakeStore) IsIdle(context.Context) (bool, error) {
	now := s.rest[0]
	if len(s.rest) > 1 {
		s.rest = s.rest[1:]
	}
	return now, nil
}

func (s *fakeStore) SetReaperRests(_ context.Context, rests bool) error {
	s.rests = append(s.rests, rests)
	return nil
}

// fakeRuns is Temporal as activities see it.
type fakeRuns struct {
	faults

	newest string
	open   map[string]bool // absent: not found
	down   map[string]bool
	asked  func() // called for each query of a run; may be nil
}

func (r *fakeRuns) CurrentRun(_ context.Context, taskID string) (string, bool, error) {
	if r.asked != nil {
		r.asked()
	}
	open, known := r.open[taskID]
	switch {
	case r.down[taskID]:
		return "", false, task.Errorf(task.CodeUnavailable, "Temporal is down")
	case !known:
		return "", false, task.Errorf(task.CodeNotFound, "no run of %s", taskID)
	}
	return r.newest, open, nil
}

func (r *fakeRuns) StartCleanup(_ context.Context, in contract.CleanupInput) error {
	return r.call("cleanup " + in.SandboxID)
}

func (r *fakeRuns) SignalCheck(_ context.Context, _ string, look contract.CheckSignal) error {
	return r.call("look " + look.SandboxID)
}

func (r *fakeRuns) PauseSchedule(_ context.Context, id, _ string) error { return r.call("pause " + id) }
func (r *fakeRuns) WakeReaper(context.Context) error                    { return r.call("wake") }

// box is a sandbox of the fake provider.
type box struct {
	labels  sandbox.Labels
	files   map[string][]byte
	modes   map[string]uint32
	started []sandbox.Command
	agent   sandbox.State
	exit    int
	oom     bool
	since   time.Time // when it was made
}

// fakeProvider holds sandboxes in memory.
type fakeProvider struct {
	unready error
	unsure  string // why it cannot say anything of any sandbox
	faults

	caps     sandbox.Capabilities
	specs    []sandbox.Spec // as they were ensured
	boxes    map[string]*box
	bare     bool                                                    // without a file system of its own
	down     error                                                   // answer of every call
	unended  error                                                   // answer of every Stop
	lateList bool                                                    // what it lists is gone
	moved    error                                                   // answer of Reaches
	at       string                                                  // answer of Place; sandboxes are in one place only
	onExec   func(b *box, args []string) (sandbox.ExecResult, error) // answers Exec
	onWrite  func(path string) error
}

func newProvider() *fakeProvider {
	return &fakeProvider{
		caps:  sandbox.Capabilities{HostBound: true, Machine: true, Exec: true},
		boxes: map[string]*box{},
	}
}

func (p *fakeProvider) Ready() error { return p.unready }

func (p *fakeProvider) Name() string                       { return task.ProviderLocal }
func (p *fakeProvider) Capabilities() sandbox.Capabilities { return p.caps }

func (p *fakeProvider) Paths(sandbox.Labels) sandbox.Paths {
	if p.bare {
		return sandbox.Paths{Dir: "/srv/box/omoi", Workspace: "/srv/box/work", Home: "/srv/box/home", Agent: "/srv/box/omoi/bin/omoi-agent"}
	}
	return sandbox.DefaultPaths()
}

func (p *fakeProvider) box(l sandbox.Labels) (*box, error) {
	if p.down != nil {
		return nil, p.down
	}
	b, ok := p.boxes[l.SandboxID]
	if !ok || b.labels != l {
		return nil, task.Errorf(task.CodeNotFound, "no sandbox %s", l.SandboxID)
	}
	return b, nil
}

func (p *fakeProvider) Ensure(_ context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if p.down != nil {
		return sandbox.Sandbox{}, p.down
	}
	p.specs = append(p.specs, spec)
	b, had := p.boxes[spec.Labels.SandboxID]
	switch {
	case had && b.labels != spec.Labels:
		return sandbox.Sandbox{}, sandbox.ErrNameTaken
	case !had:
		p.boxes[spec.Labels.SandboxID] = &box{
			labels: spec.Labels, files: map[string][]byte{}, modes: map[string]uint32{}, agent: sandbox.StateGone,
		}
	}
	return sandbox.Sandbox{
		Labels: spec.Labels, ProviderID: "p-" + spec.Labels.SandboxID, Adopted: had, Isolation: []string{"fake"}, Arch: "riscv64",
	}, p.call("ensure")
}

func (p *fakeProvider) Inspect(_ context.Context, l sandbox.Labels) (sandbox.Inspection, error) {
	b, err := p.box(l)
	if task.CodeOf(err) == task.CodeNotFound || p.lateList {
		return sandbox.Inspection{State: sandbox.StateGone, Agent: sandbox.StateGone}, nil
	}
	if err != nil {
		return sandbox.Inspection{State: sandbox.StateUnknown}, err
	}
	if p.unsure != "" {
		return sandbox.Inspection{State: sandbox.StateUnknown, Agent: sandbox.StateUnknown, Reason: p.unsure}, nil
	}
	return sandbox.Inspection{
		State: sandbox.StateAlive, Agent: b.agent, Started: len(b.started) > 0, ExitCode: b.exit, OOM: b.oom,
		ProviderID: "p-" + l.SandboxID, CreatedAt: b.since,
	}, p.call("inspect")
}

func (p *fakeProvider) Start(_ context.Context, l sandbox.Labels, cmd sandbox.Command) error {
	b, err := p.box(l)
	if err != nil {
		return err
	}
	if len(b.started) == 0 {
		b.started, b.agent = append(b.started, cmd), sandbox.StateAlive
	}
	return p.call("start")
}

func (p *fakeProvider) Stop(_ context.Context, l sandbox.Labels, _ time.Duration) error {
	b, err := p.box(l)
	if err != nil {
		return err
	}
	if p.unended != nil {
		return p.unended
	}
	b.agent = sandbox.StateGone
	return p.call("stop")
}

func (p *fakeProvider) Attach(_ context.Context, l sandbox.Labels, cmd sandbox.Command, to sandbox.Streams) (int, error) {
	b, err := p.box(l)
	if err != nil {
		return -1, err
	}
	if err := p.call("exec " + cmd.Args[1]); err != nil {
		return -1, err
	}
	if p.onExec == nil {
		return 127, nil
	}
	res, err := p.onExec(b, cmd.Args)
	_, outErr := to.Stdout.Write(res.Stdout)
	_, errsErr := to.Stderr.Write(res.Stderr)
	return res.ExitCode, errors.Join(err, outErr, errsErr)
}

func (p *fakeProvider) WriteFile(_ context.Context, l sandbox.Labels, path string, mode uint32, r io.Reader) error {
	b, err := p.box(l)
	if err != nil {
		return err
	}
	if p.onWrite != nil {
		if err := p.onWrite(path); err != nil {
			return err
		}
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	b.files[path], b.modes[path] = content, mode
	return p.call("write " + path)
}

func (p *fakeProvider) ReadFile(_ context.Context, l sandbox.Labels, path string) (io.ReadCloser, error) {
	b, err := p.box(l)
	if err != nil {
		return nil, err
	}
	content, ok := b.files[path]
	if !ok {
		return nil, task.Errorf(task.CodeNotFound, "no file %s", path)
	}
	return io.NopCloser(bytes.NewReader(content)), p.call("read " + path)
}

func (p *fakeProvider) Log(context.Context, sandbox.Labels, int64) (io.ReadCloser, error) {
	return nil, errors.ErrUnsupported
}

func (p *fakeProvider) Delete(_ context.Context, l sandbox.Labels) error {
	if _, err := p.box(l); err != nil {
		return err
	}
	delete(p.boxes, l.SandboxID)
	return p.call("delete")
}

func (p *fakeProvider) Survey(ctx context.Context) ([]sandbox.Sandbox, error) { return p.List(ctx, "") }

func (p *fakeProvider) List(context.Context, string) ([]sandbox.Sandbox, error) {
	if p.down != nil {
		return nil, p.down
	}
	var out []sandbox.Sandbox
	for _, id := range slices.Sorted(maps.Keys(p.boxes)) {
		out = append(out, sandbox.Sandbox{Labels: p.boxes[id].labels})
	}
	return out, nil
}
