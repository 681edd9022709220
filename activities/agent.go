package activities

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/mailbox"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/transcript"
)

// StartAgent copies omoi-agent, the repository and the configuration into the sandbox and starts the agent once. An
// external agent connects by itself, so StartAgent starts nothing.
func (a *Activities) StartAgent(ctx context.Context, in contract.StartAgentInput) (contract.Projected, error) {
	at, stop := beating[int](ctx)
	defer stop()
	p, err := a.here(ctx, in.SandboxID)
	if err != nil {
		return contract.Projected{}, err
	}
	work, err := a.work(ctx, p.row.TaskID)
	if err != nil {
		return contract.Projected{}, err
	}
	if !task.RuntimeOf(work.Agent).SelfConnecting && p.exec() {
		if err := a.launch(ctx, p, work, at); err != nil {
			return contract.Projected{}, ofSandbox(err)
		}
	}
	if err := a.deps.Ledger.AgentStarted(ctx, in.SandboxID); err != nil {
		return contract.Projected{}, fmt.Errorf("write that the agent started: %w", err)
	}
	return a.SaveTaskState(ctx, in.Assignment)
}

// work returns the task as the agent of its newest attempt needs it.
func (a *Activities) work(ctx context.Context, taskID string) (task.Work, error) {
	work, err := a.deps.Tasks.Work(ctx, taskID)
	if err != nil {
		return work, fmt.Errorf("read task %s: %w", taskID, err)
	}
	return asGiven(work), nil
}

// launch starts the agent unless an earlier try did. It prepares the sandbox in steps and continues after the last
// finished step of an earlier try.
func (a *Activities) launch(ctx context.Context, p place, work task.Work, at *progress[int]) error {
	seen, err := p.inspect(ctx)
	if err != nil {
		return err
	}
	if seen.State == sandbox.StateGone {
		return task.Errorf(task.CodeGone, "sandbox %s was deleted before its agent started", p.row.ID)
	}
	if seen.Started {
		return nil
	}
	steps := []func(context.Context, place, task.Work) error{a.putAgent, a.putRepo, a.putConfig}
	for i := at.get(); i < len(steps); i++ {
		if err := steps[i](ctx, p, work); err != nil {
			return err
		}
		at.set(i + 1)
	}
	start := sandbox.Command{Args: []string{sandbox.AgentPath, "run", "--config", agentconfig.ConfigPath}}
	if err := p.provider.Start(ctx, p.labels, start); err != nil {
		return fmt.Errorf("start agent: %w", err)
	}
	return nil
}

// putAgent copies the omoi-agent program for the sandbox's architecture. It calls Ensure, which returns the existing
// sandbox with its architecture.
func (a *Activities) putAgent(ctx context.Context, p place, _ task.Work) error {
	made, err := a.ensure(ctx, p)
	if err != nil {
		return fmt.Errorf("adopt sandbox: %w", err)
	}
	program, err := a.deps.Agents(made.Arch)
	if err != nil {
		return fmt.Errorf("open agent program for %s: %w", made.Arch, err)
	}
	defer program.Close() //nolint:errcheck // read only
	if err := p.provider.WriteFile(ctx, p.labels, sandbox.AgentPath, 0o755, program); err != nil {
		return fmt.Errorf("write agent program: %w", err)
	}
	return nil
}

// bundleHeader is how far the branch is searched for in a bundle, in bytes. omoi writes the branch first.
const bundleHeader = 4 << 10

// putRepo streams the task's branch into the sandbox as a bundle.
func (a *Activities) putRepo(ctx context.Context, p place, work task.Work) error {
	if work.Repo == "" {
		return nil
	}
	host, err := a.host(work)
	if err != nil {
		return err
	}
	r, w := io.Pipe()
	bundled := make(chan error, 1)
	go func() {
		err := host.Bundle(ctx, scm.Repo(work.Repo), work.Branch, work.Base, w)
		w.CloseWithError(err) // CloseWithError always returns nil; the reader gets err or EOF
		bundled <- err
	}()
	content := bufio.NewReaderSize(r, bundleHeader)
	header, _ := content.Peek(bundleHeader) // WriteFile reads the error again
	start := scm.BundleHead(header, work.Branch)
	err = p.provider.WriteFile(ctx, p.labels, agentconfig.InBundle, 0o644, content)
	r.CloseWithError(context.Canceled) // unblocks the writer if nothing reads any more
	if bundleErr := <-bundled; bundleErr != nil && err == nil {
		err = bundleErr
	}
	if err != nil {
		return ofHost(fmt.Errorf("put branch %s in: %w", work.Branch, err))
	}
	return a.deps.Tasks.SaveBranchCommit(ctx, p.row.ID, start)
}

// putConfig writes the agent's configuration with mode 0600, since the file holds the sandbox token and credentials.
func (a *Activities) putConfig(ctx context.Context, p place, work task.Work) error {
	given, err := a.given(ctx, work)
	if err != nil {
		return err
	}
	cfg := a.agentConfig(p, work, given)
	if cfg.Resume, err = a.resume(ctx, p); err != nil {
		return err
	}
	if err := a.restore(ctx, p, work, &cfg); err != nil {
		return err
	}
	return p.writeConfig(ctx, cfg)
}

func (p place) writeConfig(ctx context.Context, cfg agentconfig.Config) error {
	text, err := json.Marshal(cfg)
	if err != nil {
		return fmt.Errorf("encode agent configuration: %w", err)
	}
	if err := p.provider.WriteFile(ctx, p.labels, agentconfig.ConfigPath, 0o600, bytes.NewReader(text)); err != nil {
		return fmt.Errorf("write agent configuration: %w", err)
	}
	return nil
}

// resume returns the newest transcript of an earlier attempt, which the agent downloads by itself. Retries, revisions
// and replacements all continue the session.
func (a *Activities) resume(ctx context.Context, p place) (*agentconfig.Resume, error) {
	from, ok, err := a.deps.Tasks.EarlierTranscript(ctx, p.row.TaskID, p.row.Attempt)
	if err != nil {
		return nil, fmt.Errorf("find the transcript of an earlier attempt: %w", err)
	}
	if !ok {
		return nil, nil //nolint:nilnil // a first attempt has nothing to go on from
	}
	return resumeOf(from), nil
}

func resumeOf(from transcript.Info) *agentconfig.Resume {
	return &agentconfig.Resume{RunID: from.RunID, SessionID: from.SessionID, Attempt: from.Attempt}
}

// restore sets the checkpoints with which the attempt begins, which the agent downloads by itself, and their session. A
// session of an attempt before the newest rewind belongs to no other checkpoint than that of the rewind.
func (a *Activities) restore(ctx context.Context, p place, work task.Work, cfg *agentconfig.Config) error {
	origin, err := a.deps.Tasks.EarlierCheckpoints(ctx, p.row.TaskID, p.row.Attempt)
	if err != nil {
		return fmt.Errorf("find checkpoints of an earlier attempt: %w", err)
	}
	if cfg.Resume != nil && cfg.Resume.Attempt < origin.Rewound {
		cfg.Resume = nil
	}
	if len(origin.Segments) == 0 {
		return nil // the attempt begins with the branch
	}
	newest := origin.Segments[0][len(origin.Segments[0])-1]
	cfg.Restore = &agentconfig.Restore{Segments: origin.Segments, Branches: work.FormerBranches()}
	if newest.Attempt == 0 {
		cfg.Restore.Fork = work.ForkedFrom
	}
	info, ok, err := a.deps.Tasks.RunTranscript(ctx, p.row.TaskID, newest.RunID)
	if err != nil {
		return fmt.Errorf("find the transcript of checkpoint %s: %w", newest.ID, err)
	}
	if ok && (origin.Rewound == 0 || newest.Transcript > info.CutBytes) {
		cfg.Restore.Session, cfg.Restore.CutBytes = resumeOf(info), info.CutBytes
	}
	return nil
}

func (a *Activities) agentConfig(p place, work task.Work, given map[string]string) agentconfig.Config {
	token := a.deps.Tokens.Mint(p.row.ID)
	api := a.apiURL(p)
	paths := p.provider.Paths(p.labels)
	if a.pulled(p.row) { // the pull relay has the token
		api, token = mailbox.URL(paths.Dir), ""
	}
	return agentconfig.Config{
		Protocol:        agentconfig.Protocol,
		SandboxID:       p.row.ID,
		TaskID:          work.TaskID,
		Attempt:         p.row.Attempt,
		APIURL:          api,
		Token:           token,
		Runtime:         work.Agent,
		Workspace:       paths.Workspace,
		Dir:             paths.Dir,
		Title:           work.Title,
		Description:     work.Description,
		Mode:            work.Mode,
		Continuous:      work.Continuous,
		Feedback:        work.Feedback,
		Answers:         work.Answers,
		Validation:      validation(work),
		Repo:            a.agentRepo(work, paths),
		Script:          work.Execution.Script,
		Command:         work.Execution.Command,
		Program:         a.cfg.Programs[work.Agent],
		Setup:           setupOf(work),
		SetupTimeout:    work.SetupTimeout,
		TestCommand:     work.Execution.TestCommand,
		Takeover:        work.Takeover,
		Contract:        work.Contract,
		Accepted:        work.AcceptedContract,
		Env:             a.priced(work, workerEnv(work, a.cfg.Phases[work.PhaseID], given, paths.Workspace, reportsTo{p.row.ID, a.callback(work, api, token)})),
		ReadsMessages:   work.Execution.ReadsMessages,
		WaitForMessages: work.Execution.WaitForMessages,
		Idle:            a.cfg.IdleTimeout,
		Heartbeat:       a.cfg.AgentHeartbeat,
		ToolTimeout:     a.cfg.ToolTimeout,
		SpoolBytes:      spoolBytes,
		Grace:           a.cfg.StopGrace,
		Transcript:      transcriptInterval,
		Checkpoint:      a.checkpointInterval(work),
		CommitLeftovers: work.CommitLeftovers,
	}
}

// checkpointInterval returns the time between two checkpoints; 0: none. A validator's work is not kept.
func (a *Activities) checkpointInterval(work task.Work) time.Duration {
	if validation(work) != nil {
		return 0
	}
	return a.cfg.CheckpointInterval
}

// setupOf returns the setup command of the task, or else of the project.
func setupOf(work task.Work) string {
	if own := work.Execution.Setup; own != nil {
		return *own
	}
	return work.Setup
}

func (a *Activities) agentRepo(work task.Work, paths sandbox.Paths) *agentconfig.Repo {
	if work.Repo == "" {
		return nil
	}
	return &agentconfig.Repo{
		Branch: work.Branch, Base: work.Base,
		Bundle:     paths.Dir + strings.TrimPrefix(agentconfig.InBundle, sandbox.Dir),
		AuthorName: a.cfg.AuthorName, AuthorEmail: a.cfg.AuthorEmail,
	}
}

// apiURL returns the API's address as seen from the sandbox: the provider's own, a Unix socket if the sandbox has no
// network, or the configured one.
func (a *Activities) apiURL(p place) string {
	configured, socket := strings.TrimSuffix(a.cfg.APIURL, "/"), "unix://"+agentconfig.SocketPath
	if r, ok := p.provider.(sandbox.Reacher); ok {
		return r.APIURL(a.cfg.Network, configured, socket)
	}
	if a.cfg.Network == sandbox.NetworkNone {
		return socket
	}
	return configured
}

// callback returns the URL to which a legacy worker reports. A legacy worker cannot send a token, so the URL carries
// one if the API requires authentication.
func (a *Activities) callback(work task.Work, api, token string) string {
	if task.RuntimeOf(work.Agent).Input == task.InputCommand && !a.cfg.Open && token != "" {
		return api + "/t/" + token
	}
	return api
}

// StopAgent ends the agent and its process tree. Its files stay.
func (a *Activities) StopAgent(ctx context.Context, in contract.SandboxRef) error {
	_, stop := beating[struct{}](ctx)
	defer stop()
	p, err := a.here(ctx, in.SandboxID)
	if err != nil || !p.machine() {
		return err
	}
	return ofSandbox(a.halt(ctx, p))
}

// halt stops all processes in a sandbox. It succeeds if the sandbox no longer exists.
func (a *Activities) halt(ctx context.Context, p place) error {
	err := p.provider.Stop(ctx, p.labels, a.cfg.StopGrace)
	if err == nil || absent(err) {
		return nil
	}
	return fmt.Errorf("stop agent: %w", err)
}
