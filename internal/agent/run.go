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
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/apiclient"
	"github.com/omoi-dev/omoi/internal/agent/gitcmd"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/agent/spool"
	"github.com/omoi-dev/omoi/internal/agent/statefile"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/agent/transcript"
	"github.com/omoi-dev/omoi/internal/agent/workspace"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Deps is what [Run] works with.
type Deps struct {
	Runtimes map[string]Runtime
	Procs    *proc.Runner
	Log      *slog.Logger
	Version  string
	// Output gets what the setup step prints as it comes; nil: nobody does.
	Output io.Writer
}

// SpoolName is the spool's name in the agent's folder.
const SpoolName = "spool"

// Run runs the agent to its end and returns the exit code of the program: 0 also for a
// stop, 1 for a failed run. When ctx ends it stops the agent and says so within the grace
// time. An error means that not even reporting was possible.
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

// Flush sends what an ended agent left in its spool, until all of it is acknowledged, the API rejects more, or ctx
// ends. A spool that another process holds is [spool.ErrLocked]: its agent runs and sends by itself.
func Flush(ctx context.Context, cfg agentconfig.Config, deps Deps) error {
	s, done, err := open(withDefaults(cfg), deps)
	if err != nil {
		return err
	}
	defer done()
	sending, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.report.Run(sending) // Flush tells how it ended
	}()
	err = s.report.Flush(ctx)
	stop()
	<-ended
	if errors.Is(err, reporter.ErrGone) {
		return nil
	}
	return err
}

// open opens the spool and the line to the API; done closes them.
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

// session is one run of the program.
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
}

// run keeps reporting, heartbeats and inbox going around the work.
func (s *session) run(ctx context.Context) int {
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
	_ = statefile.Load(s.marks.path, s.marks) // without it the work begins
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

func (s *session) started(notResumed error) {
	data := map[string]any{
		"timestamp": time.Now().UTC(), "sdk": "omoi-agent", "agent_version": s.deps.Version, "protocol": agentconfig.Protocol,
		"runtime": s.cfg.Runtime, "model": cmp.Or(s.cfg.Env["MODEL"], s.cfg.Runtime), "attempt": s.cfg.Attempt,
		"task": textcut.First(cmp.Or(s.cfg.Description, s.cfg.Title), 500), "task_description_length": len(s.cfg.Description),
		"ticket_title": s.cfg.Title, "is_resuming": s.marks.Began || s.resume != nil, "fork_session": false, "mode": s.cfg.Mode,
	}
	switch {
	case s.marks.Began:
		data["resumed_session_id"] = s.marks.SessionID
	case s.resume != nil:
		data["resumed_session_id"], data["resumed_attempt"] = s.resume.SessionID, s.cfg.Resume.Attempt
	}
	name, _ := s.spool.ID() // outlives a restart over the same spool
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

// work makes the surroundings and runs the agent in them. A panic of a runtime is an error
// like others: it must be reported, and the work saved.
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
	shadow, err := s.surroundings(ctx)
	if err != nil {
		return Result{}, err
	}
	s.box, err = inbox.New(inbox.Config{
		UsedFile: filepath.Join(s.cfg.Dir, "used_messages"), Turn: s.doing.Turn,
		// A program that gets no messages from omoi may poll for them itself; it gets all except interrupts.
		InterruptsOnly: task.RuntimeOf(s.cfg.Runtime).Input == task.InputCommand && !s.cfg.ReadsMessages,
	}, s.line, s.report, s.deps.Log)
	if err != nil {
		return Result{}, Failure(task.ClassNone, err)
	}
	wg.Go(func() { s.box.Run(ctx) })
	env := Env{
		Config: s.cfg, SessionID: s.marks.SessionID, Done: s.marks.Done, Environ: environ(s.cfg, s.resume),
		Resume: s.resume, Keep: s.keep.Follow,
		Report: &outcomes{Reporter: s.report, session: s}, Line: s.line, Inbox: s.box, Doing: s.doing, Procs: s.deps.Procs,
		Shadow: shadow, Log: s.deps.Log,
	}
	return rt.Run(ctx, env)
}

// surroundings makes workspace and shadow and runs the setup step.
func (s *session) surroundings(ctx context.Context) (*gitcmd.Shadow, error) {
	made, err := workspace.Prepare(ctx, s.cfg.Dir, s.cfg.Workspace, s.cfg.Repo)
	if err != nil {
		return nil, Failure(task.ClassInfrastructure, err)
	}
	if err := s.setup(ctx); err != nil {
		return nil, err
	}
	shadow, err := openShadow(ctx, s.cfg, made && s.cfg.Setup == "")
	if err != nil {
		s.deps.Log.WarnContext(ctx, "track file changes failed, reporting none", slog.Any("error", err))
		return nil, ctx.Err()
	}
	return shadow, nil
}

func openShadow(ctx context.Context, cfg agentconfig.Config, fresh bool) (*gitcmd.Shadow, error) {
	if !gitcmd.Available() {
		return nil, errors.New("git is not installed in the sandbox")
	}
	opening := gitcmd.Opening{
		Dir: filepath.Join(cfg.Dir, "shadow.git"), Work: cfg.Workspace, Caps: gitcmd.Caps{FileBytes: 8 << 20, TotalBytes: 128 << 20},
	}
	shadow, err := opening.Open(ctx)
	if err != nil {
		return nil, err
	}
	if fresh {
		shadow.Seed(ctx)
		return shadow, nil
	}
	head, _ := gitcmd.Repository(cfg.Workspace).Run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{tree}")
	return shadow, shadow.Begin(ctx, head)
}
