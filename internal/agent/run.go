package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/checkpoints"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/hook"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/leftovers"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/agent/spool"
	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/agent/track"
	"github.com/omoi-dev/omoi/internal/agent/transcript"
	"github.com/omoi-dev/omoi/internal/agent/workspace"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Deps are the dependencies of [Run].
type Deps struct {
	Runtimes map[string]Runtime
	Procs    *proc.Runner
	Log      *slog.Logger
	Version  string
	// Program is the path of omoi-agent, which is also the hook; empty: tool calls are not checked.
	Program string
	// Output gets the output of the setup step; may be nil.
	Output io.Writer
}

// SpoolName is the name of the spool in the agent's folder.
const SpoolName = "spool"

// Run runs the agent and returns the exit code of the program: 0 after a success or a stop, 1 after a failure. When ctx
// ends, Run stops the agent and reports that within the grace time. An error means that Run could not report.
func Run(ctx context.Context, cfg agentconfig.Config, deps Deps) (exitCode int, err error) {
	cfg = withDefaults(cfg)
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return 1, fmt.Errorf("create the agent's folder: %w", err)
	}
	s, done, err := open(cfg, deps)
	if err != nil {
		return 1, err
	}
	defer done()
	deps.Procs.Hide = s.secrets.Text
	return s.run(ctx), nil
}

// Flush sends the rest of an ended agent's spool until the API has acknowledged all of it or rejects more, or ctx ends.
// A spool of a running agent is [spool.ErrLocked].
func Flush(ctx context.Context, cfg agentconfig.Config, deps Deps) error {
	return afterwards(ctx, cfg, deps, func(*session) error { return nil })
}

// KeepCheckpoint takes and sends the checkpoint of an agent that ended without one, after its events as [Flush] does.
func KeepCheckpoint(ctx context.Context, cfg agentconfig.Config, deps Deps) error {
	return afterwards(ctx, cfg, deps, func(s *session) error { return s.endCheckpoints(ctx) })
}

// Note sends a system message of an agent that has ended, after its events as [Flush] does.
func Note(ctx context.Context, cfg agentconfig.Config, deps Deps, data map[string]any) error {
	return afterwards(ctx, cfg, deps, func(s *session) error {
		s.report.Emit(event.AgentSystemMessage, data)
		return s.report.Flush(ctx)
	})
}

// afterwards sends the events of an ended agent, then calls do while further events are sent.
func afterwards(ctx context.Context, cfg agentconfig.Config, deps Deps, do func(*session) error) error {
	s, done, err := open(withDefaults(cfg), deps)
	if err != nil {
		return err
	}
	defer done()
	hook.ForwardLeft(s.cfg.Dir, s.report.Emit)
	sending, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.report.Run(sending) // Flush below returns its error
	}()
	if err = s.report.Flush(ctx); err == nil {
		err = do(s)
	}
	stop()
	<-ended
	if errors.Is(err, reporter.ErrGone) {
		return nil
	}
	return err
}

// open opens the spool and the client of the API; done closes both.
func open(cfg agentconfig.Config, deps Deps) (s *session, done func(), err error) {
	sp, err := spool.Open(filepath.Join(cfg.Dir, SpoolName), spool.Config{Limit: cfg.SpoolBytes})
	if err != nil {
		return nil, nil, err
	}
	line, err := apiclient.New(apiclient.Config{APIURL: cfg.APIURL, Token: cfg.Token, SandboxID: cfg.SandboxID})
	if err != nil {
		return nil, nil, errors.Join(err, sp.Close())
	}
	s = &session{cfg: cfg, deps: deps, line: line, spool: sp, secrets: redact.New(cfg.Token, cfg.Env), doing: &reporter.Activity{}}
	s.report = reporter.New(reporter.Config{
		SandboxID: cfg.SandboxID, TaskID: cfg.TaskID, AgentID: agentID(cfg), Secrets: s.secrets,
	}, sp, line, deps.Log)
	return s, func() { line.Close(); _ = sp.Close() }, nil
}

func withDefaults(cfg agentconfig.Config) agentconfig.Config {
	cfg.Dir = cmp.Or(cfg.Dir, DefaultDir)
	cfg.Workspace = cmp.Or(cfg.Workspace, DefaultWorkspace)
	cfg.Heartbeat = cmp.Or(cfg.Heartbeat, DefaultHeartbeat)
	cfg.ToolTimeout = cmp.Or(cfg.ToolTimeout, DefaultToolTimeout)
	cfg.SetupTimeout = min(cmp.Or(cfg.SetupTimeout, DefaultSetup), cfg.ToolTimeout)
	cfg.Grace = cmp.Or(cfg.Grace, DefaultGrace)
	return cfg
}

func agentID(cfg agentconfig.Config) string {
	return cmp.Or(cfg.Env["AGENT_ID"], "agent-"+cfg.SandboxID)
}

// session is one run of omoi-agent.
type session struct {
	cfg     agentconfig.Config
	deps    Deps
	line    *apiclient.Client
	spool   *spool.Spool
	secrets *redact.Hider
	report  *reporter.Reporter
	doing   *reporter.Activity
	box     *inbox.Inbox
	keep    *transcript.Keeper
	marks   *marks
	resume  *Resume
	restore *checkpoints.Restorer // nil: nothing is restored
	apart   bool                  // the resumed session is not of the moment of the files
	files   *track.Tracker        // nil without git
	points  *checkpoints.Keeper   // nil: no checkpoints are taken
}

// run runs the work, together with the reporter, heartbeats, transcript and inbox.
func (s *session) run(ctx context.Context) int {
	ctx, release := s.afterCall(ctx)
	defer release()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	late, over := wait.Outlast(ctx, s.cfg.Grace)
	defer over()
	sending, silence := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer silence()
	wg.Go(func() {
		if err := s.report.Run(sending); errors.Is(err, reporter.ErrGone) {
			stop(err)
		}
	})
	s.marks = &marks{path: filepath.Join(s.cfg.Dir, "run.json")}
	_ = statefile.Load(s.marks.path, s.marks) // without the file the work starts from the beginning
	s.chooseSession()
	s.started(s.resumed(ctx))
	s.keep = transcript.New(transcript.Config{
		RunID: s.marks.SessionID, Every: s.cfg.Transcript, Secrets: s.secrets, Beside: filepath.Join(s.cfg.Dir, "beside.jsonl"),
	}, s.line, s.deps.Log)
	beating, still := context.WithCancel(sending)
	defer still()
	wg.Go(func() { s.report.Beat(beating, s.cfg.Heartbeat, s.doing) })
	wg.Go(func() { s.keep.Run(beating) })
	listening, deaf := context.WithCancel(ctx)
	defer deaf()
	res, err := s.work(listening, &wg)
	deaf()
	killed, left := s.deps.Procs.KillAll()
	still()
	return s.finish(ctx, late, ending{res: res, err: err, killed: killed, left: left})
}

// callWait is the maximum time by which a tool call in progress delays a stop.
const callWait = 5 * time.Second

// afterCall returns a context that ends with ctx. If [agentconfig.AfterCall] exists then, a tool call in progress may end before,
// for at most [callWait] and a quarter of the grace time.
func (s *session) afterCall(ctx context.Context) (context.Context, context.CancelFunc) {
	later, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		defer cancel()
		if _, err := os.Stat(filepath.Join(s.cfg.Dir, filepath.Base(agentconfig.AfterCall))); err != nil {
			return
		}
		limit, done := context.WithTimeout(later, min(callWait, s.cfg.Grace/4))
		defer done()
		for _, running := s.doing.Calls(); running != "" && wait.For(limit, 20*time.Millisecond) == nil; {
			_, running = s.doing.Calls()
		}
	})
	return later, func() { unhook(); cancel() }
}

func (s *session) started(notResumed error) {
	data := map[string]any{
		"timestamp": time.Now().UTC(), "sdk": "omoi-agent", "agent_version": s.deps.Version, "protocol": agentconfig.Protocol,
		"runtime": s.cfg.Runtime, "model": cmp.Or(s.cfg.Env["MODEL"], s.cfg.Runtime), "attempt": s.cfg.Attempt,
		"task": textcut.First(cmp.Or(s.cfg.Description, s.cfg.Title), 500), "task_description_length": len(s.cfg.Description),
		"ticket_title": s.cfg.Title, "is_resuming": s.marks.Began || s.resume != nil, "fork_session": s.resume != nil && s.cfg.Resume.Attempt == 0, "mode": s.cfg.Mode,
	}
	if s.cfg.Takeover != nil {
		data["credential_takeover"] = s.cfg.Takeover
	}
	switch {
	case s.marks.Began:
		data["resumed_session_id"] = s.marks.SessionID
	case s.resume != nil:
		data["resumed_session_id"], data["resumed_attempt"] = s.resume.SessionID, s.cfg.Resume.Attempt
	}
	name, _ := s.spool.ID() // the ID stays the same after a restart with the same spool
	s.marks.Began, s.marks.Resumes, s.marks.SessionID = true, s.resume != nil, cmp.Or(s.marks.SessionID, name)
	s.report.Emit(event.AgentStarted, data)
	if notResumed != nil {
		s.report.Emit(event.AgentResumeFailed, map[string]any{
			"session_id": s.cfg.Resume.SessionID, "attempt": s.cfg.Resume.Attempt, "error": notResumed.Error(),
		})
	}
	if damaged := s.spool.Damaged(); damaged > 0 {
		s.report.Emit(event.AgentEventsDropped, map[string]any{"count": damaged, "reason": "spool_damaged"})
	}
}

// work prepares the workspace and runs the agent. A panic of the runtime becomes an error, so that it is reported and
// the work is saved.
func (s *session) work(ctx context.Context, wg *sync.WaitGroup) (res Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.deps.Log.ErrorContext(ctx, "agent runtime panicked, ending the attempt", slog.Any("panic", p))
			err = &phaseError{phase: "initial_task", cause: fmt.Errorf("the agent runtime panicked: %v", p), trace: string(debug.Stack())}
		}
	}()
	s.marks.save(s.deps.Log)
	if s.marks.Done && !s.cfg.WaitForMessages {
		return Result{}, nil
	}
	rt, ok := s.deps.Runtimes[s.cfg.Runtime]
	if !ok {
		return Result{}, Failure(task.ClassNone, task.Invalid("agent", "omoi-agent does not support the agent runtime %q", s.cfg.Runtime))
	}
	if err := s.prepare(ctx); err != nil {
		return Result{}, err
	}
	s.box, err = inbox.New(inbox.Config{
		UsedFile: filepath.Join(s.cfg.Dir, "used_messages"), Turn: s.doing.Turn,
		// The program of the command runtime may poll for messages. omoi-agent then receives interrupts only.
		InterruptsOnly: s.deaf(), Allow: s.allow,
	}, s.line, s.report, s.deps.Log)
	if err != nil {
		return Result{}, Failure(task.ClassNone, err)
	}
	wg.Go(func() { s.box.Run(ctx) })
	defer s.follow(ctx)()
	s.openCheckpoints(ctx, wg)
	hooked, unhook := s.openHook(ctx)
	defer unhook()
	restored := s.restoredNotice()
	env := Env{
		Config: s.cfg, SessionID: s.marks.SessionID, Done: s.marks.Done, Environ: environ(s.cfg, s.resume, restored, hooked), Hook: hooked,
		Resume: s.resume, Keep: s.keep.Follow,
		Report: &outcomes{Reporter: s.report, session: s}, Line: s.line, Inbox: s.box, Doing: s.doing, Procs: s.deps.Procs,
		Files: s.files, Log: s.deps.Log, Restored: restored, Leftovers: s.leftovers(),
	}
	return rt.Run(ctx, env)
}

// deaf reports that omoi-agent gets no messages for the program.
func (s *session) deaf() bool {
	return task.RuntimeOf(s.cfg.Runtime).Input == task.InputCommand && !s.cfg.ReadsMessages
}

// leftovers returns the keeper of an agent that changes code; nil: omoi commits nothing.
func (s *session) leftovers() *leftovers.Keeper {
	cfg := s.cfg
	if !cfg.CommitLeftovers || cfg.Repo == nil || cfg.Validates() || cfg.Mode == task.ModeExploration || !gitcmd.Available() {
		return nil
	}
	title, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(cfg.Title, cfg.Description)), "\n")
	return &leftovers.Keeper{
		Dir: cfg.Dir, Work: cfg.Workspace, Repo: *cfg.Repo, Title: title, Emit: s.report.Emit, Log: s.deps.Log,
	}
}

// prepare makes the workspace: with the files of a checkpoint, or else of the branch.
func (s *session) prepare(ctx context.Context) error {
	if err := s.checkout(ctx); err != nil {
		return err
	}
	if s.marks.Restores == "" || s.marks.Restored {
		return s.setup(ctx)
	}
	switch err := s.restoreCommits(ctx); {
	case errors.Is(err, checkpoints.ErrUnavailable):
		return err
	case err == nil:
		if err := s.setup(ctx); err != nil {
			return err
		}
		if s.restoreFiles(ctx) {
			return nil
		}
	}
	s.restore, s.apart = nil, s.resume != nil
	if err := s.startAgain(ctx); err != nil {
		return err
	}
	s.marks.Restored = true
	s.marks.save(s.deps.Log)
	return s.setup(ctx)
}

// startAgain makes the workspace again after a restore that failed in between, which leaves files of the checkpoint and of the branch.
// A restart before the end of startAgain tries the restore again.
func (s *session) startAgain(ctx context.Context) error {
	if s.cfg.Repo == nil { // what else is in the folder did not come from omoi
		return nil
	}
	s.marks.SetUp = false
	s.marks.save(s.deps.Log)
	if err := workspace.Clear(s.cfg.Workspace); err != nil {
		return Failure(task.ClassInfrastructure, err)
	}
	return s.checkout(ctx)
}

func (s *session) checkout(ctx context.Context) error {
	if err := workspace.Prepare(ctx, s.cfg.Dir, s.cfg.Workspace, s.cfg.Repo); err != nil {
		return Failure(task.ClassInfrastructure, err)
	}
	return nil
}
