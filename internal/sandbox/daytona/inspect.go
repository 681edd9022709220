package daytona

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"syscall"
	"time"

	apiclient "github.com/daytonaio/daytona/libs/api-client-go"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Inspect says what Daytona tells now, and unknown wherever it cannot be asked. A sandbox of our
// name with other labels is not ours: ours is gone, with the reason "name_taken". A look at a
// living agent keeps its sandbox from being stopped as idle.
func (p *Provider) Inspect(ctx context.Context, labels sandbox.Labels) (sandbox.Inspection, error) {
	box, err := p.find(ctx, labels)
	if task.CodeOf(err) == task.CodeNotFound {
		if box, err = p.nameless(ctx, labels); box == nil && err == nil {
			return sandbox.Gone(""), nil
		}
	}
	switch task.CodeOf(err) {
	case "":
	case task.CodeConflict:
		return sandbox.Gone("name_taken"), nil
	case task.CodeInvalid:
		if statusOf(err) == 0 {
			return sandbox.Inspection{}, err
		}
		return sandbox.Unknown(err), nil
	default:
		return sandbox.Unknown(err), nil
	}
	seen := still(box)
	if stateOf(box) == apiclient.SANDBOXSTATE_STARTED {
		seen = p.inspectAgent(ctx, box)
	} else {
		p.lookUp(labels)
	}
	seen.ProviderID, seen.CreatedAt = box.Id, when(box.GetCreatedAt())
	return seen, nil
}

// still is a sandbox that exists and does not run. Settled ones have lost their processes; of
// the others nothing is known yet.
func still(box *apiclient.Sandbox) sandbox.Inspection {
	state := stateOf(box)
	seen := sandbox.Inspection{State: sandbox.StateAlive, Agent: sandbox.StateUnknown, ExitCode: -1, Reason: "Daytona says " + string(state)}
	if reason := cut(box.GetErrorReason()); reason != "" {
		seen.Reason += ": " + reason
	}
	if settled(state) {
		seen.Agent = sandbox.StateGone
	}
	return seen
}

// settled reports whether nothing runs any more in a sandbox of this state.
func settled(state apiclient.SandboxState) bool {
	switch state {
	case apiclient.SANDBOXSTATE_STOPPED, apiclient.SANDBOXSTATE_ARCHIVED, apiclient.SANDBOXSTATE_ARCHIVING, apiclient.SANDBOXSTATE_ERROR,
		apiclient.SANDBOXSTATE_BUILD_FAILED, apiclient.SANDBOXSTATE_DESTROYING, apiclient.SANDBOXSTATE_DESTROYED:
		return true
	default:
		return false
	}
}

// inspectAgent looks inside. A toolbox that cannot be reached says nothing, until it has been
// silent for so long, while Daytona itself answers, that its daemon counts as dead.
func (p *Provider) inspectAgent(ctx context.Context, box *apiclient.Sandbox) sandbox.Inspection {
	seen, err := p.lookInside(ctx, box)
	if err == nil {
		p.forget(box.Id)
		if seen.Agent == sandbox.StateAlive {
			p.hold(ctx, box.Id)
		}
		return seen
	}
	seen = sandbox.Inspection{State: sandbox.StateAlive, Agent: sandbox.StateUnknown, ExitCode: -1, Reason: err.Error()}
	if ctx.Err() == nil && p.silentFor(box.Id) >= p.cfg.DeadPatience {
		seen.Agent, seen.Started = sandbox.StateGone, true
		seen.Reason = fmt.Sprintf("the sandbox is started and has not answered for %s: its daemon is dead", p.cfg.DeadPatience)
	}
	return seen
}

func (p *Provider) lookInside(ctx context.Context, box *apiclient.Sandbox) (sandbox.Inspection, error) {
	tb, err := p.toolbox(ctx, box)
	if err != nil {
		return sandbox.Inspection{}, err
	}
	return tb.agent(ctx)
}

// hold keeps the sandbox from being stopped as idle: for Daytona an agent at work is none.
func (p *Provider) hold(ctx context.Context, id string) {
	if err := p.client.keepAlive(ctx, id); err != nil { // the next look does it again
		p.log.DebugContext(ctx, "daytona sandbox not kept alive", slog.String("daytona_id", id), slog.String("error", err.Error()))
	}
}

func (p *Provider) silentFor(id string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, ok := p.silent[id]
	if !ok {
		p.silent[id] = time.Now()
		return 0
	}
	return time.Since(since)
}

func (p *Provider) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.silent, id)
}

// story reads what the script look says.
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
		seen.Reason = "lost: what ran the command was killed"
	case "ended":
		code, err := strconv.Atoi(strings.TrimSpace(rest))
		if err != nil {
			return seen, task.Errorf(task.CodeUnavailable, "the sandbox says %q of its command", cut(text))
		}
		seen.ExitCode, seen.Reason = ending(code)
	default:
		return seen, task.Errorf(task.CodeUnavailable, "the sandbox says %q of its command", cut(text))
	}
	return seen, nil
}

// ending tells a code from a signal, as a shell reports both.
func ending(code int) (exit int, reason string) {
	const signals, last = 128, 64
	if code > signals && code <= signals+last {
		return -1, "killed: " + syscall.Signal(code-signals).String()
	}
	return code, ""
}
