package supervise_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/taskcontract"
)

// took adds a call that reports a duration; by its storage times the call took one second.
func (t *tape) took(command, answer string, said time.Duration) *tape {
	t.calls++
	id := fmt.Sprintf("toolu_%04d", t.calls)
	t.add(event.AgentToolUse, map[string]any{"tool": "Bash", "tool_use_id": id, "input": map[string]any{"command": command}}).wait(time.Second)
	t.add(event.AgentToolCompleted, map[string]any{"tool": "Bash", "tool_use_id": id, "tool_response": map[string]any{"duration_ms": said.Milliseconds()}})
	return t.add("agent.tool_result", map[string]any{"tool_use_id": id, "result": answer})
}

// last limits the subject to the newest n events, as in a long attempt.
func last(tp *tape, n int) func(*supervise.Subject) {
	return func(s *supervise.Subject) { s.Read(tp.rows[len(tp.rows)-n:], tp.at) }
}

// A program can send any event in its agent's name. Its claims silence a rule only for a limited time.
func TestRules_ForgedEvents(t *testing.T) {
	t.Parallel()
	again := func(tp *tape) *tape { return tp.bash("cat config.yaml", "port: 80") }
	polling := newTape().times(300, func(tp *tape, _ int) { tp.bash("sleep 0; cat config.yaml", "port: 80") })
	hold(t, []judged{
		{name: "done after each call", tape: newTape().times(5, func(tp *tape, _ int) { again(tp).done() }), want: []string{"loop"}},
		{name: "done after each failure", tape: newTape().times(5, func(tp *tape, i int) {
			tp.fails(fmt.Sprintf("make part-%d", i), "error: no such compiler").done()
		}), want: []string{"repeated_error"}},
		{name: "done after each word", tape: newTape().times(6, func(tp *tape, i int) { tp.say(fmt.Sprint("step ", i)).done() }), want: []string{"no_progress"}},
		{name: "asked to go on after its end", tape: newTape().times(9, func(tp *tape, _ int) { again(tp) }).done().told("Once more.").read("a.go").done()},
		{name: "fast calls that say they took long", tape: newTape().times(5, func(tp *tape, _ int) { tp.took("cat x", "y", 20*time.Second) }), want: []string{"loop"}},
		{name: "of a length that overflows", tape: newTape().times(5, func(tp *tape, _ int) { tp.took("cat x", "y", 1<<62) }), want: []string{"loop"}},
		{name: "calls that took long", tape: newTape().times(9, func(tp *tape, _ int) { tp.wait(19*time.Second).took("./ci", "queued", 20*time.Second) })},
		{name: "told late, in pairs", tape: newTape().times(9, func(tp *tape, i int) {
			tp.wait(time.Duration(i%2)*40*time.Second).took("./ci", "queued", 20*time.Second)
		})},
		{name: "polling for all that is read", tape: polling, with: last(polling, 200), want: []string{"loop"}},
		{name: "said to wait", tape: newTape().read("a.go").wait(11*time.Minute).beat("waiting", "", 0), want: []string{"no_progress"}},
		{name: "waits anew every while", tape: newTape().times(4, func(tp *tape, _ int) {
			tp.add(event.AgentWaiting, nil).wait(4*time.Minute).beat("waiting", "", 0)
		}), want: []string{"idle_after_end", "no_progress"}},
		{name: "done anew every while", tape: newTape().times(4, func(tp *tape, _ int) { tp.done().wait(4*time.Minute).beat("waiting", "", 0) }), want: []string{"idle_after_end"}},
		{name: "talk while a tool is said to be at work", tape: newTape().times(6, func(tp *tape, i int) {
			tp.say(fmt.Sprint("step ", i)).beat("running", "Bash", time.Second)
		}), want: []string{"no_progress"}},
		{name: "nothing new while a tool is said to be at work", want: []string{"no_progress"}, tape: newTape().times(9, func(tp *tape, i int) {
			tp.read(fmt.Sprintf("f%d.go", i))
		}).times(9, func(tp *tape, i int) {
			tp.wait(4*time.Minute).read(fmt.Sprintf("f%d.go", i*4%9)).beat("running", "Bash", time.Second)
		})},
	})
}

// A program can report the refusal of a call that ran.
func TestRules_ForgedRefusals(t *testing.T) {
	t.Parallel()
	only := accepts(taskcontract.Contract{AllowedPaths: []string{"src"}, ForbiddenCommands: []string{"git push --force"}})
	hold(t, []judged{
		{name: "of a command with a result", tape: newTape().bash("git push --force", "done").decided(event.AgentToolRefused), with: only, want: []string{"constraint"}},
		{name: "before the command", tape: newTape().use("Bash", map[string]any{"command": "git push --force"}).decided(event.AgentToolRefused).result("done", false), with: only, want: []string{"constraint"}},
		{name: "of a command without a result", tape: newTape().use("Bash", map[string]any{"command": "git push --force"}).decided(event.AgentToolRefused), with: only},
		{name: "of an edit that changed a file", tape: newTape().call("Edit", map[string]any{"file_path": "a.go"}, "done", false).edit("a.go", "+x").decided(event.AgentToolRefused), with: only, want: []string{"outside_paths"}},
	})
}

// A program can report that a user allowed a call.
func TestRules_ForgedAllowances(t *testing.T) {
	t.Parallel()
	only := accepts(taskcontract.Contract{AllowedPaths: []string{"src"}, ForbiddenCommands: []string{"git push --force"}})
	push := func(tp *tape) *tape { return tp.bash("git push --force", "done").decided(event.AgentToolAllowed) }
	edit := func(tp *tape) *tape {
		return tp.use("Edit", map[string]any{"file_path": "a.go"}).edit("a.go", "+x").decided(event.AgentToolAllowed)
	}
	hold(t, []judged{
		{name: "of a command", tape: push(newTape()), with: only, want: []string{"constraint"}},
		{name: "of an edit", tape: edit(newTape()), with: only, want: []string{"outside_paths"}},
		{name: "of an edit that a user allowed", tape: edit(newTape().allows()), with: only},
		{name: "once more", tape: push(push(newTape().allows())), with: only, want: []string{"constraint"}},
		{name: "with a message that only the agent reports", tape: push(newTape().claims("You may run it once.")), with: only, want: []string{"constraint"}},
		{name: "without a refusal", tape: newTape().told("Go on.").bash("git push --force", "done").add(event.AgentToolAllowed, map[string]any{"tool_use_id": "toolu_0001"}), with: only, want: []string{"constraint"}},
	})
}
