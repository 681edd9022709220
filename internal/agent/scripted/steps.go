package scripted

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// step runs one step. An error ends the run; the failure of a tool is not an error.
func (r *run) step(ctx context.Context, s Step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.note(s.Kind, cmp.Or(s.Text, s.Path, s.Command, s.Output))
	switch s.Kind {
	case "say":
		r.say(s.Text)
	case "think":
		r.env.Report.Emit(event.AgentThinking, map[string]any{
			"turn": r.place.Turn, "content": s.Text, "thinking_type": "extended_thinking",
		})
	case "write", "edit":
		r.file(s)
	case "bash":
		return r.bash(ctx, s.Command, s.time())
	case "commit":
		return r.commit(ctx, s.Text)
	case "push":
		return r.push(ctx)
	case "sleep_s":
		return wait.For(ctx, s.time())
	case "usage":
		r.usage(s.Usage)
	case "wait_message":
		return r.waitMessage(ctx, s.time())
	case "ask":
		return r.ask(ctx, s)
	case "iteration":
		r.iteration(s.Free)
	case "flood":
		return r.flood(ctx, s)
	case "verdict":
		return r.verdict(ctx, s)
	case "complete":
		r.complete(ctx, s)
	case "continuous_complete":
		r.continuousComplete(ctx, s.Free)
	case "fail":
		r.fail(s.Text)
	case "hang":
		<-ctx.Done()
		return ctx.Err()
	case "crash":
		return r.crash(ctx, s.signal())
	case "exit":
		r.res.ExitNow, r.res.ExitCode = true, s.ExitCode
	}
	return nil
}

func (s *Step) time() time.Duration { return time.Duration(s.Seconds * float64(time.Second)) }

func (r *run) assistant(stop string, blocks int) {
	r.env.Report.Emit(event.AgentAssistantMessage, map[string]any{
		"turn": r.place.Turn, "model": Model, "stop_reason": stop, "block_count": blocks,
	})
}

func (r *run) say(text string) {
	r.place.LastSaid = text
	r.assistant("end_turn", 1)
	r.env.Report.Emit(event.AgentMessage, map[string]any{
		"turn": r.place.Turn, "content": text, "content_length": len(text),
	})
}

// usage adds usage and reports it immediately, so that it is known even if the agent dies.
func (r *run) usage(u Usage) {
	t := &r.place.Usage
	t.InputTokens += u.InputTokens
	t.OutputTokens += u.OutputTokens
	t.CacheReadTokens += u.CacheReadTokens
	t.CacheWriteTokens += u.CacheWriteTokens
	t.CostUSD += u.CostUSD
	r.env.Report.Emit(event.AgentAssistantMessage, map[string]any{
		"turn": r.place.Turn, "model": Model, "stop_reason": nil, "block_count": 0,
		"usage": u, "total_usage": *t, "total_cost_usd": t.CostUSD,
	})
}

func (r *run) waitMessage(ctx context.Context, patience time.Duration) error {
	limit := ctx
	if patience > 0 {
		var cancel context.CancelFunc
		limit, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	r.env.Doing.SetStatus(reporter.StatusWaiting)
	defer r.env.Doing.SetStatus(reporter.StatusRunning)
	r.env.Report.Emit(event.AgentWaiting, map[string]any{"message": "Ready for messages", "turn": r.place.Turn})
	m, err := r.env.Inbox.Take(limit)
	if err != nil {
		return ctx.Err() // nil if only the wait timed out
	}
	r.heard(m)
	return nil
}

// heard takes a message for which a step waited. The listener did not get an interrupt among them.
func (r *run) heard(m inbox.Message) {
	if m.Type == inbox.TypeInterrupt {
		r.place.Ended = true
		r.save()
		r.interrupted(m)
		return
	}
	r.place.Message, r.taken = m.Content, m.ID
	r.note("message", m.Content)
}

// ask asks a user and waits for the answer. A question that an earlier attempt asked has its answer.
func (r *run) ask(ctx context.Context, s Step) error {
	for _, a := range r.env.Config.Answers {
		if a.Question == strings.TrimSpace(s.Text) {
			r.place.Message = a.Answer
			return nil
		}
	}
	m, err := r.env.Ask(ctx, agent.Question{Text: s.Text, Options: s.Options})
	if err != nil {
		return err
	}
	r.heard(m)
	return nil
}

// flood emits events as fast as the spool accepts them.
func (r *run) flood(ctx context.Context, s Step) error {
	text := strings.Repeat("x", s.Bytes)
	for i := range s.Events {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r.env.Report.Emit(event.AgentMessage, map[string]any{
			"turn": r.place.Turn, "content": text, "content_length": len(text), "flood": i + 1,
		})
	}
	return nil
}

// crash kills this process by a signal, without an event. A signal that does not kill it is an error.
func (r *run) crash(ctx context.Context, sig syscall.Signal) error {
	if err := syscall.Kill(os.Getpid(), sig); err != nil {
		return fmt.Errorf("crash with %s: %w", sig, err)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(5 * time.Second):
		return task.Invalid("script", "signal %s does not terminate the agent", sig)
	}
}

// verdict sends the verdict. If the command was stopped, it sends none.
func (r *run) verdict(ctx context.Context, s Step) error {
	v := agent.Verdict{Feedback: s.Feedback, Recommendations: s.List}
	if s.Passed != nil {
		v.Passed = *s.Passed
	} else {
		output, ok, err := r.shell(ctx, s.Command, 0)
		if err != nil {
			return err
		}
		v.Passed, v.Evidence = ok, map[string]any{"command": s.Command, "output": textcut.First(output, 2000)}
	}
	return r.env.Give(ctx, v)
}
