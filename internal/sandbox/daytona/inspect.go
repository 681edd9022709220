package daytona

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"syscall"

	apiclient "github.com/daytonaio/daytona/libs/api-client-go"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Inspect returns the state of the sandbox, unknown if Daytona does not answer. A sandbox of this name with other
// labels means that the sandbox is gone, with the reason "name_taken". Inspect of a running agent resets the auto-stop
// timer.
func (p *Provider) Inspect(ctx context.Context, labels sandbox.Labels) (sandbox.Inspection, error) {
	box, err := p.find(ctx, labels)
	if task.CodeOf(err) == task.CodeNotFound {
		if box, err = p.nameless(ctx, labels); box == nil && err == nil {
			return sandbox.Gone(""), nil
		}
	}
	switch {
	// Daytona rejected the request; invalid labels have no status.
	case err != nil && statusOf(err) != 0 && task.CodeOf(err) == task.CodeInvalid:
		return sandbox.Unknown(err), nil
	case err != nil:
		return sandbox.Unseen(err)
	}
	seen := still(box)
	if box.GetState() == apiclient.SANDBOXSTATE_STARTED {
		seen = p.inspectAgent(ctx, box)
	}
	seen.ProviderID, seen.CreatedAt = box.Id, when(box.GetCreatedAt())
	return seen, nil
}

// still returns the inspection of an existing sandbox that does not run. The agent is gone in a settled state, else
// unknown.
func still(box *apiclient.Sandbox) sandbox.Inspection {
	state := box.GetState()
	seen := sandbox.Inspection{State: sandbox.StateAlive, Agent: sandbox.StateUnknown, ExitCode: -1, Reason: "Daytona says " + string(state)}
	if reason := cut(box.GetErrorReason()); reason != "" {
		seen.Reason += ": " + reason
	}
	if settled(state) {
		seen.Agent = sandbox.StateGone
	}
	return seen
}

// settled reports whether no process runs in a sandbox of this state.
func settled(state apiclient.SandboxState) bool {
	switch state {
	case apiclient.SANDBOXSTATE_STOPPED, apiclient.SANDBOXSTATE_ARCHIVED, apiclient.SANDBOXSTATE_ARCHIVING, apiclient.SANDBOXSTATE_ERROR,
		apiclient.SANDBOXSTATE_BUILD_FAILED, apiclient.SANDBOXSTATE_DESTROYING, apiclient.SANDBOXSTATE_DESTROYED:
		return true
	default:
		return false
	}
}

// inspectAgent reads the state of the agent in the sandbox. A toolbox that does not answer means unknown: if its daemon
// died, Daytona stops the sandbox within minutes.
func (p *Provider) inspectAgent(ctx context.Context, box *apiclient.Sandbox) sandbox.Inspection {
	tb, err := p.toolbox(ctx, box)
	var seen sandbox.Inspection
	if err == nil {
		seen, err = tb.agent(ctx)
	}
	if err != nil {
		return sandbox.Inspection{State: sandbox.StateAlive, Agent: sandbox.StateUnknown, ExitCode: -1, Reason: err.Error()}
	}
	if seen.Agent != sandbox.StateAlive {
		return seen
	}
	// Daytona counts requests only: without keepAlive a sandbox with a running agent is idle.
	if err := p.client.keepAlive(ctx, box.Id); err != nil {
		p.log.DebugContext(ctx, "keep daytona sandbox alive failed", slog.String("daytona_id", box.Id), slog.String("error", err.Error()))
	}
	return seen
}

// story parses the output of the script look.
func story(text string) (sandbox.Inspection, error) {
	seen := sandbox.Inspection{State: sandbox.StateAlive, Agent: sandbox.StateGone, ExitCode: -1}
	word, rest, _ := strings.Cut(text, " ")
	seen.Started = word != "none"
	switch word {
	case "none":
		seen.Reason = "never started"
	case "alive":
		seen.Agent = sandbox.StateAlive
	case "lost":
		seen.Reason = "lost: the script that ran the command was killed"
	case "ended":
		code, err := strconv.Atoi(strings.TrimSpace(rest))
		if err != nil {
			return seen, task.Errorf(task.CodeUnavailable, "unexpected state %q of the command in the sandbox", cut(text))
		}
		seen.ExitCode, seen.Reason = ending(code)
	default:
		return seen, task.Errorf(task.CodeUnavailable, "unexpected state %q of the command in the sandbox", cut(text))
	}
	return seen, nil
}

// ending splits the exit code of a shell into exit code and signal.
func ending(code int) (exit int, reason string) {
	const signals, last = 128, 64
	if code > signals && code <= signals+last {
		return -1, "killed: " + syscall.Signal(code-signals).String()
	}
	return code, ""
}
