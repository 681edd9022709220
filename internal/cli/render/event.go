package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/task"
)

// Limits of the output of one event, in characters and lines.
const (
	textWidth  = 140
	briefWidth = 100
	textLines  = 4
	diffLines  = 12
)

// Lines renders the events of one task, each as one line, some with further lines of output or diff. Lines remembers
// the current attempt and the last tool result, so call Event in the order of the events.
type Lines struct {
	Style

	// Start is the time from which elapsed time counts, usually the creation of the task.
	Start time.Time
	// Task is the key or ID of the task in hints; empty: no hints.
	Task string
	// Live reports that the events are current: the hint how to answer a waiting agent is shown.
	Live bool
	// Heartbeats includes heartbeats.
	Heartbeats bool
	attempt    int
	result     string // tool_use_id of the last result: omoi-agent reports some results by two event types
}

// Event returns the lines of one event; nil for an event that repeats another.
func (l *Lines) Event(e event.Event) []string {
	what, text, more := l.describe(e)
	lines := l.newAttempt(e)
	if what == "" {
		return lines
	}
	if e.Late {
		text += l.Dim(" (after the attempt's end)")
	}
	lines = append(lines, l.Line(e.CreatedAt, what, text))
	for _, m := range more {
		lines = append(lines, strings.Repeat(" ", indent)+m)
	}
	return lines
}

// indent is the column in which the text of a line begins.
const indent = 21

// Line returns one line of progress: elapsed time, a word, a text.
func (l *Lines) Line(at time.Time, what, text string) string {
	return fmt.Sprintf("%s  %s %s", l.Dim(fmt.Sprintf("%8s", Elapsed(at.Sub(l.Start)))), pad(what, 10), text)
}

func pad(cell string, n int) string { return cell + strings.Repeat(" ", max(n-width(cell), 0)) }

func (l *Lines) newAttempt(e event.Event) []string {
	if e.Attempt <= l.attempt {
		return nil
	}
	first := l.attempt == 0
	l.attempt = e.Attempt
	if first && e.Attempt == 1 {
		return nil
	}
	return []string{l.Line(e.CreatedAt, l.Yellow("attempt"), fmt.Sprintf("%d starts in sandbox %s", e.Attempt, Short(e.SandboxID)))}
}

// describe returns the word and the text of an event's line, and the lines below. what is empty for an event that is
// not shown.
func (l *Lines) describe(e event.Event) (what, text string, more []string) {
	d := decode(e.Data)
	switch e.Type {
	case event.AgentStarted:
		return l.Bold("started"), d.started(), nil
	case event.AgentHeartbeat, event.Heartbeat, event.SpecHeartbeat:
		if !l.Heartbeats {
			return "", "", nil
		}
		return l.Dim("heartbeat"), l.Dim(d.text("status")), nil
	case event.AgentMessage:
		first, more := l.block(d.text("content"))
		return "message", first, more
	case event.AgentThinking:
		return l.Dim("thinking"), l.Dim(OneLine(d.text("content"), textWidth)), nil
	case event.AgentToolUse, event.AgentSubagentInvoked, event.AgentSkillInvoked:
		return l.Cyan("tool"), d.toolCall(), nil
	case event.AgentToolResult:
		l.result = d.text("tool_use_id")
		return l.toolResult(d)
	case event.AgentUserToolResult:
		if id := d.text("tool_use_id"); id != "" && id == l.result {
			return "", "", nil
		}
		return l.toolResult(d)
	case event.AgentFileEdited:
		return l.fileEdited(d)
	case event.AgentCompleted:
		return l.completed(d)
	case event.AgentError, event.AgentFailed, event.AgentStreamError, event.IterationFailed:
		return l.Red("error"), OneLine(explain.InShort(d.text("error")), textWidth), nil
	case event.AgentSystemMessage:
		return l.retries(d)
	case event.AgentAssistantMessage, event.AgentToolCompleted, event.AgentSubagentCompleted, event.AgentSkillCompleted,
		event.AgentUserMessage:
		return "", "", nil // other events contain the same
	}
	return l.rest(e, d)
}

// Brief returns an event in one line; empty for an event that is not shown.
func Brief(kind string, raw json.RawMessage) string {
	l := &Lines{Heartbeats: true}
	_, text, _ := l.describe(event.Event{Type: kind, Data: raw})
	return OneLine(text, briefWidth)
}

func (l *Lines) rest(e event.Event, d data) (what, text string, more []string) {
	switch e.Type {
	case event.AgentWaiting:
		return l.waits(d)
	case event.AgentMessageInjected:
		return l.Yellow("injected"), OneLine(d.text("content"), textWidth), nil
	case event.AgentToolRefused:
		return l.refused(e, d)
	case event.AgentToolAllowed:
		return l.Yellow("allowed"), OneLine(cmp.Or(d.text("command"), d.text("file_path")), textWidth), nil
	case event.AgentToolUnchecked:
		return l.Yellow("unchecked"), OneLine(d.text("error"), textWidth), nil
	case event.AgentInterrupted:
		return l.Yellow("interrupt"), OneLine(d.text("reason"), textWidth), nil
	case event.AgentShutdown:
		return l.Dim("shutdown"), l.Dim(OneLine(d.text("reason"), textWidth)), nil
	case event.AgentCheckpoint:
		return l.checkpoint(d)
	case event.AgentCheckpointFailed:
		return l.Yellow("checkpoint"), OneLine("failed: "+d.text("error"), textWidth), nil
	case event.AgentRestored:
		return l.Bold("restored"), "files of checkpoint " + d.text("checkpoint"), nil
	case event.AgentRestoreFailed:
		return l.Yellow("not restored"), OneLine(d.text("error"), textWidth), nil
	case event.AgentCommitted:
		return l.Bold("committed"), d.committed(), nil
	case event.AgentSetupStarted:
		return l.Dim("setup"), l.Dim(OneLine(d.text("command"), textWidth)), nil
	case event.AgentSetupCompleted:
		return l.setupEnded(d)
	case event.ContinuousStarted:
		return "iteration", roundsBegin(d), nil
	case event.IterationCompletionSignal:
		return "iteration", d.text("iteration_num") + " signals completion", nil
	case event.IterationStarted:
		return "iteration", fmt.Sprintf("%s started", d.text("iteration_num")), nil
	case event.IterationCompleted:
		return "iteration", fmt.Sprintf("%s done, %s so far", d.text("iteration_num"), costText(d, "total_cost_usd")), nil
	case event.IterationValidation:
		return "validation", passed(d), nil
	case event.ContinuousCompleted:
		return l.Green("completed"), OneLine(d.text("stop_reason"), textWidth), nil
	}
	delete(d, "task_id")
	delete(d, "sandbox_id")
	delete(d, "agent_id")
	return OneLine(e.Type, 40), l.Dim(d.pairs()), nil
}

// refused returns the lines of a call that omoi refused.
func (l *Lines) refused(e event.Event, d data) (what, text string, more []string) {
	more = []string{l.Dim(OneLine(d.text("reason"), textWidth))}
	if l.Live && l.Task != "" && d.text("can_be_allowed") == "true" {
		more = append(more, fmt.Sprintf("Next: omoi allow %s %d", l.Task, e.Sequence))
	}
	return l.Red("refused"), OneLine(cmp.Or(d.text("command"), d.text("file_path")), textWidth), more
}

// retries returns the line of a request to the model that Claude Code repeats. Other messages of a program about itself are not
// shown.
func (l *Lines) retries(d data) (what, text string, more []string) {
	if d.text("subtype") != "api_retry" {
		return "", "", nil
	}
	said := event.Read[struct {
		Attempt int    `json:"attempt"`
		Most    int    `json:"max_retries"`
		Status  int    `json:"error_status"`
		Error   string `json:"error"`
	}](d["metadata"])
	answered := "did not answer"
	if said.Status > 0 {
		answered = fmt.Sprintf("answered %d", said.Status)
	}
	return l.Yellow("model"), OneLine(fmt.Sprintf("the endpoint %s (%s), retry %d of %d", answered, said.Error, said.Attempt, said.Most), textWidth), nil
}

// checkpoint returns the line of a checkpoint. One that lacks nothing is shown with heartbeats only.
func (l *Lines) checkpoint(d data) (what, text string, more []string) {
	switch {
	case d.text("torn") == "true":
		return l.Yellow("checkpoint"), "files changed while they were read", nil
	case l.Heartbeats:
		return l.Dim("checkpoint"), l.Dim(d.text("files") + " files"), nil
	}
	return "", "", nil
}

func (l *Lines) toolResult(d data) (what, text string, more []string) {
	first, more := l.block(d.text("result"))
	if first == "" {
		return "", "", nil
	}
	if d.text("is_error") == "true" {
		return l.Red("error"), first, more
	}
	return l.Dim("output"), first, more
}

func (l *Lines) fileEdited(d data) (what, text string, more []string) {
	verb, path := "edit", OneLine(d.text("file_path"), textWidth)
	switch d.text("change_type") {
	case "created":
		verb = "create"
	case "deleted":
		verb = "delete"
	case "renamed":
		verb, path = "rename", OneLine(d.text("old_path"), textWidth)+" → "+path
	}
	text = fmt.Sprintf("%s  %s %s", path,
		l.Green(fmt.Sprintf("+%.0f", d.float("lines_added"))), l.Red(fmt.Sprintf("-%.0f", d.float("lines_removed"))))
	return l.Bold(verb), text, l.shortDiff(d.text("diff_preview"))
}

// shortDiff returns the first changed lines of a diff.
func (l *Lines) shortDiff(diff string) []string {
	var lines []string
	for line := range strings.Lines(diff) {
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasPrefix(line, "+++") && !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "@@") && strings.TrimSpace(line) != "" {
			lines = append(lines, l.DiffLine(Cut(Clean(line), textWidth)))
		}
	}
	return l.first(diffLines, lines)
}

// rounded returns an amount of dollars with at most four digits behind the point; another text as it is.
func rounded(amount string) string {
	f, err := strconv.ParseFloat(amount, 64)
	if err != nil {
		return amount
	}
	return strconv.FormatFloat(math.Round(f*1e4)/1e4, 'f', -1, 64)
}

// costText returns the cost in an event, and whether a part is unknown; empty: the event has no cost.
func costText(d data, key string) string {
	cost, unknown := rounded(d.text(key)), d.text("cost_unknown") == "true"
	switch {
	case cost == "" && unknown:
		return "cost unknown"
	case cost == "":
		return ""
	case unknown:
		return "$" + cost + " + unknown"
	}
	return "$" + cost
}

func (l *Lines) completed(d data) (what, text string, more []string) {
	var parts []string
	if turns, _ := strconv.Atoi(d.text("turns")); turns > 0 {
		parts = append(parts, task.Count(turns, "turn"))
	}
	if cost := costText(d, "cost_usd"); cost != "" && cost != "$0" {
		parts = append(parts, cost)
	}
	out, more := l.block(d.text("final_output"))
	if out != "" {
		parts = append(parts, out)
	}
	if d.text("success") == "false" {
		return l.Red("failed"), strings.Join(parts, ", "), more
	}
	return l.Green("completed"), strings.Join(parts, ", "), more
}

func passed(d data) string {
	if d.text("passed") == "true" {
		return "passed"
	}
	return "not passed: " + OneLine(d.text("feedback"), textWidth)
}

// block returns the first line of a text, and a few more.
func (l *Lines) block(s string) (first string, more []string) {
	var lines []string
	for line := range strings.Lines(strings.Trim(s, "\n")) {
		lines = append(lines, Cut(Clean(strings.TrimRight(line, "\r\n")), textWidth))
	}
	if len(lines) == 0 {
		return "", nil
	}
	lines = l.first(textLines, lines)
	return lines[0], lines[1:]
}

// first returns the first n lines, then a line with the number of omitted lines.
func (l *Lines) first(n int, lines []string) []string {
	if len(lines) <= n {
		return lines
	}
	more := fmt.Sprintf("… %s more", task.Count(len(lines)-n, "line"))
	if l.Task != "" {
		more += fmt.Sprintf(". Next: omoi logs %s --json", l.Task)
	}
	return append(lines[:n], more)
}

func (l *Lines) waits(d data) (what, text string, more []string) {
	live := l.Task != "" && l.Live
	switch question := d.text("question"); {
	case question != "":
		text, more = l.block(question)
		if live {
			more = append(more, fmt.Sprintf("Next: omoi answer %s \"<answer>\"", l.Task))
		}
		return l.Yellow("asks"), text, more
	case live:
		return "waiting", fmt.Sprintf("for a message: omoi send %s \"<text>\"", l.Task), nil
	}
	return "waiting", "for a message", nil
}

// Waits reports whether an event shows that the agent waits for a message.
func Waits(e event.Event) bool {
	switch e.Type {
	case event.AgentWaiting:
		return true
	case event.AgentHeartbeat, event.Heartbeat:
		return decode(e.Data).text("status") == "waiting"
	}
	return false
}

// data is the event_data of an event. Its content is untrusted.
type data map[string]json.RawMessage

func decode(raw json.RawMessage) data { return event.Read[data](raw) }

// text returns the string of a key, or its JSON if the value is not a string; empty if the key is missing.
func (d data) text(key string) string {
	var text string
	if json.Unmarshal(d[key], &text) == nil {
		return text
	}
	return string(d[key])
}

func (d data) started() string {
	var parts []string
	for _, key := range []string{"sdk", "model"} {
		if v := d.text(key); v != "" {
			parts = append(parts, OneLine(v, 60))
		}
	}
	var used task.Takeover
	if _ = json.Unmarshal(d["credential_takeover"], &used); used.Number > 0 {
		parts = append(parts, OneLine(explain.Takeover(used), 200))
	}
	return strings.Join(parts, ", ")
}

// committed describes the commit of what the agent left uncommitted.
func (d data) committed() string {
	var leftOut []string
	_ = json.Unmarshal(d["left_out"], &leftOut)
	text := fmt.Sprintf("by omoi: %s that the agent left uncommitted", task.Count(int(d.float("files")), "file"))
	return OneLine(strings.Join(append([]string{text}, leftOut...), ". "), 2*textWidth)
}

// toolCall returns the name of the tool and the main field of its input.
func (d data) toolCall() string {
	in := decode(d["input"])
	for _, key := range []string{"command", "file_path", "path", "pattern", "url", "query", "description", "prompt"} {
		if v := in.text(key); v != "" {
			return OneLine(d.text("tool"), 40) + "  " + OneLine(v, textWidth)
		}
	}
	if len(in) == 0 {
		return OneLine(d.text("tool"), 40)
	}
	return OneLine(d.text("tool"), 40) + "  " + OneLine(string(d["input"]), textWidth)
}

// setupEnded describes the end of the project's setup command, with its output if it failed.
func (l *Lines) setupEnded(d data) (what, text string, more []string) {
	took := "took " + Elapsed(time.Duration(d.float("duration_ms"))*time.Millisecond)
	if d.text("success") != "false" {
		return l.Dim("setup"), l.Dim(took), nil
	}
	how := "ended with exit code " + d.text("exit_code")
	if outcome := d.text("outcome"); outcome != "" && outcome != "exited" {
		how = "ended by " + OneLine(strings.ReplaceAll(outcome, "_", " "), textWidth)
	}
	first, more := l.block(d.text("output"))
	if first != "" {
		more = append([]string{first}, more...)
	}
	return l.Red("setup"), how + ", " + took, more
}

// roundsBegin describes the limits of continuous mode.
func roundsBegin(d data) string {
	in := decode(d["limits"])
	var parts []string
	if n := int(in.float("max_iterations")); n > 0 {
		parts = append(parts, task.Count(n, "iteration"))
	}
	if usd := in.float("max_cost_usd"); usd > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f", usd))
	}
	if s := in.float("max_duration_seconds"); s > 0 {
		parts = append(parts, Elapsed(time.Duration(s*float64(time.Second))))
	}
	if parts == nil {
		return "until its work passes"
	}
	return "until its work passes, for at most " + strings.Join(parts, ", ")
}

func (d data) float(key string) float64 {
	f, _ := strconv.ParseFloat(d.text(key), 64)
	return f
}

// pairs returns all fields as "name: value"; nested values are JSON.
func (d data) pairs() string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(d)) {
		if value := d.text(key); value != "" {
			parts = append(parts, key+": "+value)
		}
	}
	return OneLine(strings.Join(parts, ", "), textWidth)
}
