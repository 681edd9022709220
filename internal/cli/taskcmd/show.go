package taskcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/cost"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/task"
)

func newShow(s *session) *cobra.Command {
	return s.taskVerb("show <task>", "Show a task: status, attempts, sandboxes, branch, next commands", s.show)
}

// shown is the JSON form of show: the fields of the task and its related objects.
type shown struct {
	client.Task

	Sandboxes []client.Sandbox       `json:"sandboxes"`
	Steps     []client.Intervention  `json:"interventions"`      // of the guardian, newest first
	Workflow  string                 `json:"temporal_url"`       // empty: the Web UI is unknown
	Feedback  *feedback.TaskFeedback `json:"feedback,omitempty"` // feedback on the pull request; absent: none
	API       string                 `json:"api_url"`            // URL of the server
	Failing   *failing               `json:"checkpoint_failure,omitempty"`
	Contract  *client.TaskContract   `json:"contract,omitempty"` // absent: the request failed

	ticketKey string // empty: unknown
}

func (s *session) show(ctx context.Context, api *client.Client, t client.Task) error {
	boxes, err := listBoxes(ctx, api, client.SandboxFilter{TaskID: t.ID}, 0)
	if err != nil {
		return err
	}
	steps, err := api.Interventions(ctx, client.GuardianFilter{TaskID: t.ID, Limit: 20})
	if err != nil {
		return err
	}
	info, _ := api.Info(ctx) // without info the link is left out
	waits := s.listens(ctx, api, t)
	out := shown{
		Task: t, Sandboxes: boxes, Steps: steps.Items, Workflow: WorkflowURL(info, t.ID), API: api.BaseURL(), Feedback: feedbackOf(ctx, api, t),
		Failing: failingOf(ctx, api, t),
	}
	if contract, contractErr := api.TaskContract(ctx, t.ID); contractErr == nil { // show works without it
		out.Contract = &contract
	}
	if *s.JSON {
		return s.printJSON(out)
	}
	if ticket, ticketErr := api.Ticket(ctx, t.TicketID); ticketErr == nil { // without the ticket its ID is shown
		out.ticketKey = ticket.Key
	}
	s.showTask(out, waits)
	if c := out.Contract; c != nil && c.Known() {
		s.showContract(*c)
	}
	s.showAttempts(t)
	s.showTestRepeats(t)
	s.showReviews(t)
	if len(steps.Items) > 0 {
		s.say("")
		s.showInterventions(steps.Items)
	}
	s.showFeedback(out.Feedback, t.ID)
	s.showResult(t)
	if len(boxes) > 0 {
		s.say("")
	}
	s.showSandboxes(boxes, "")
	if len(boxes) > 0 && len(boxes[0].Isolation) > 0 {
		s.row("Isolation", render.Clean(render.Short(boxes[0].ID)+": "+strings.Join(boxes[0].Isolation, ", ")))
	}
	s.savedWork(ctx, api, t, boxes, s.say)
	s.next(s.say, nextCommands(t, waits))
	return nil
}

// listens reports whether the agent waits for a message, by its newest event or heartbeat.
func (s *session) listens(ctx context.Context, api *client.Client, t client.Task) bool {
	if t.Status != task.StatusRunning || len(t.Attempts) == 0 {
		return false
	}
	last := t.Attempts[len(t.Attempts)-1]
	page, err := api.Events(ctx, t.ID, fmt.Sprintf("%d:%d", last.Number, max(last.Events-1, 0)), 0)
	return err == nil && len(page.Items) > 0 && render.Waits(page.Items[len(page.Items)-1])
}

// WorkflowURL returns the page of a task in the Temporal Web UI; empty if the UI is unknown.
func WorkflowURL(info client.Info, taskID string) string {
	if info.TemporalUIURL == "" {
		return ""
	}
	return fmt.Sprintf("%s/namespaces/%s/workflows/task-%s", strings.TrimRight(info.TemporalUIURL, "/"), info.Namespace, taskID)
}

func (s *session) showTask(t shown, waits bool) {
	st, status := s.style(), ""
	if waits && waiting(t.Task) == "" {
		status = forMessage
	}
	s.row("Task", st.Bold(strings.TrimSpace(t.Key+"  "+t.ID)))
	s.row("Title", render.OneLine(t.Title, 120))
	s.row("Status", st.Status(t.Status)+waiting(t.Task)+status)
	s.row("", shortWhy(t.Task))
	s.row("Repository", render.Clean(t.Repo))
	s.row("Branch", text(t.Branch))
	s.row("Earlier", render.Clean(strings.Join(t.Earlier, ", ")))
	if from := t.ForkedFrom; from != nil {
		s.row("Forked from", render.Clean(from.TaskKey+", checkpoint "+from.Checkpoint))
	}
	s.row("Continues", t.Continues)
	s.row("Continued by", t.ContinuedBy)
	s.row("Ticket", cmp.Or(t.ticketKey, t.TicketID))
	s.row("Pull request", render.Clean(explain.PullRequest(t.Task)))
	s.row("Agent", fmt.Sprintf("%s (%s)", t.Agent, t.Mode))
	s.row("Provider", t.Provider)
	if t.SelfConnecting() {
		s.row("Sandbox", text(t.SandboxID)) // the whole ID, as the agent reports it
	}
	if f := t.Failing; f != nil {
		s.row("Checkpoints", s.style().Yellow("fail since "+moment(&f.Since)+": "+render.OneLine(f.Error, 200)))
	}
	s.row("Created", moment(&t.CreatedAt))
	if t.DeadlineAt != nil {
		s.row("Deadline", t.DeadlineAt.Local().Format(time.DateTime))
	}
	s.row("Finished", moment(t.CompletedAt))
	s.row("Retries", fmt.Sprintf("%d of %d automatic", t.Retries, t.MaxRetries))
	s.row("Cleanup", cleanup(t))
	s.row("Waits for", strings.Join(t.DependsOn.TaskIDs, " "))
	if c := t.PendingCommand; c != nil {
		s.row("Command", fmt.Sprintf("%s, %s since %s", c.Kind, c.State, moment(&c.CreatedAt)))
	}
	s.row("Temporal", t.Workflow)
}

// cleanup returns the command that shows the deletion of sandboxes; empty if all deletions are verified.
func cleanup(t shown) string {
	if slices.ContainsFunc(t.Sandboxes, func(b client.Sandbox) bool {
		ended := b.EndedAt != nil || t.Status.Final()
		return ended && b.Machine() && b.VerifiedAt == nil && b.State != task.SandboxLost
	}) {
		return "in progress. Next: omoi receipt " + render.Name(t.Key, t.ID)
	}
	return ""
}

// row prints one field of show. A field without a value is left out.
func (s *session) row(name, value string) {
	if value != "" {
		s.say("%-13s %s", name, value)
	}
}

func text(v *string) string { return render.Clean(task.Deref(v)) }

func moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Local().Format(time.DateTime) + " (" + render.Elapsed(time.Since(*t)) + " ago)"
}

func (s *session) showAttempts(t client.Task) {
	if len(t.Attempts) == 0 {
		return
	}
	s.say("")
	list(s, t.Attempts, "", "ATTEMPT|OUTCOME|DURATION|EVENTS|COST|REASON", func(a client.Attempt) []string {
		return []string{
			fmt.Sprintf("%d (%s)", a.Number, kindOf(a)), s.outcomeWord(a), took(a.StartedAt, a.EndedAt),
			strconv.FormatInt(a.Events, 10), cost.Text(a.CostUSD, a.CostUnknown, "$%.2f"), render.OneLine(whyAttempt(t, a), 80),
		}
	})
}

// showTestRepeats prints what the repeats of the test command have shown.
func (s *session) showTestRepeats(t client.Task) {
	for _, r := range t.TestRepeats() {
		s.row("Tests", render.OneLine(fmt.Sprintf("attempt %d, repeated by omoi in a sandbox of its own: %s", r.Attempt, r.Words()), 400))
	}
}

// kindOf returns why an attempt started, the checkpoint with whose files it began, and the credential that took the
// place of a rate limited one.
func kindOf(a client.Attempt) string {
	kind := a.Kind
	if a.RestoredFrom != "" {
		kind += " from checkpoint " + render.Clean(a.RestoredFrom)
	}
	if used := a.Takeover; used != nil {
		kind += " with " + numbered(render.Clean(used.Kind), used.Number)
	}
	return kind
}

func (s *session) outcomeWord(a client.Attempt) string {
	switch a.Outcome {
	case "":
		return s.style().Cyan("running")
	case "completed":
		return s.style().Green(a.Outcome)
	case "failed":
		return s.style().Red(strings.TrimSpace(a.Outcome + " " + string(a.FailureClass)))
	}
	return s.style().Yellow(a.Outcome)
}

func whyAttempt(t client.Task, a client.Attempt) string {
	switch {
	case a.Outcome == "completed" && a.Kind != task.KindValidation && t.PullURL == nil && t.Branch != nil && !committed(t, a):
		return "no commits, nothing to publish"
	case a.Reason != "":
		return explain.InShort(a.Reason)
	}
	return a.StopReason
}

func took(from time.Time, to *time.Time) string {
	if to == nil {
		return render.Elapsed(time.Since(from))
	}
	return render.Elapsed(to.Sub(from))
}

func newDiff(s *session) *cobra.Command {
	from, to := "", ""
	cmd := s.taskVerb("diff <task>", "Show the changes of a task, or between two checkpoints", func(ctx context.Context, api *client.Client, t client.Task) error {
		switch {
		case from != "":
			return s.diffBetween(ctx, api, t, from, to)
		case to != "":
			return exit.Usagef("--to needs --from: name both checkpoints")
		}
		return s.diff(ctx, api, t)
	})
	cmd.Flags().StringVar(&from, "from", "", "`checkpoint` to compare from, for example 1.3; needs a clone of the repository around the current folder")
	cmd.Flags().StringVar(&to, "to", "", "`checkpoint` to compare with (default: the newest)")
	return cmd
}

func (s *session) diff(ctx context.Context, api *client.Client, t client.Task) error {
	var diff strings.Builder
	if err := api.Diff(ctx, t.ID, &diff); err != nil {
		return err
	}
	if *s.JSON {
		return s.printJSON(map[string]string{"task_id": t.ID, "branch_name": text(t.Branch), "diff": diff.String()})
	}
	if diff.Len() == 0 {
		s.note("The branch has no changes.")
	}
	s.savedWorkOf(ctx, api, t, s.note)
	return s.printDiff(diff.String())
}

func (s *session) printDiff(diff string) error {
	if !isTerminal(s.Stdout) { // unchanged, so that git apply accepts the output
		_, err := fmt.Fprint(s.Stdout, diff)
		return err
	}
	s.lineByLine(diff, func(line string) string { return s.style().DiffLine(render.Clean(line)) })
	return nil
}

// lineByLine prints the lines of a text, each formatted by form.
func (s *session) lineByLine(text string, form func(string) string) {
	for line := range strings.Lines(text) {
		s.say("%s", form(strings.TrimRight(line, "\n")))
	}
}

// resultLines is the number of lines of a result that show prints; --json prints all.
const resultLines = 40

// showResult prints the result of the agent.
func (s *session) showResult(t client.Task) {
	output := strings.Trim(outputOf(t.Result), "\r\n")
	if strings.TrimSpace(output) == "" {
		return
	}
	s.say("\n%s", s.style().Bold("Result"))
	n := 0
	for line := range strings.Lines(output) {
		if n++; n <= resultLines {
			s.say("  %s", render.Clean(strings.TrimRight(line, "\r\n")))
		}
	}
	if n > resultLines {
		s.say("  … %s more. Next: omoi show %s --json", task.Count(n-resultLines, "line"), render.Name(t.Key, t.ID))
	}
}

// outputOf returns a result that is a string, or the field output of an object; empty otherwise.
func outputOf(result json.RawMessage) string {
	var text string
	if json.Unmarshal(result, &text) == nil {
		return text
	}
	var object struct {
		Output string `json:"output"`
	}
	_ = json.Unmarshal(result, &object) // custom agents may send any JSON
	return object.Output
}

// feedbackOf returns the feedback on a task's pull request; nil if there is none or the request fails.
func feedbackOf(ctx context.Context, api *client.Client, t client.Task) *feedback.TaskFeedback {
	if t.PullURL == nil {
		return nil
	}
	story, err := api.TaskFeedback(ctx, t.ID)
	if err != nil || len(story.Items) == 0 && story.PullState == "" && story.Follows == "" {
		return nil // show works without feedback
	}
	return &story
}

// mostShown is the number of feedback items that show prints.
const mostShown = 10

func (s *session) showFeedback(story *feedback.TaskFeedback, id string) {
	if story == nil {
		return
	}
	s.say("")
	s.row("Follow-up of", suffix("task ", story.Follows))
	s.row("On GitHub", suffix("pull request ", story.PullState))
	items := story.Items
	if more := len(items) - mostShown; more > 0 {
		s.row("Feedback", fmt.Sprintf("the newest %d of %d", mostShown, len(items)))
		items = items[more:]
	}
	list(s, items, "", "FEEDBACK|NOTE|RESULT", func(i feedback.Item) []string {
		return []string{"  " + i.At.Local().Format("01-02 15:04"), render.OneLine(i.Note, 70), feedbackResult(i, id)}
	})
}

// feedbackResult renders the state of a feedback item. id is the shown task.
func feedbackResult(i feedback.Item, id string) string {
	whose := "task " + i.TaskID
	if i.TaskID == id {
		whose = "this task"
	}
	switch i.State {
	case feedback.StateSent:
		return "sent to the agent of " + whose
	case feedback.StateAcknowledged:
		return "acknowledged by the agent of " + whose
	case feedback.StateTaskCreated:
		return "started " + whose
	case feedback.StatePending:
		return render.OneLine(strings.TrimSuffix("waiting: "+i.Reason, ": "), 90)
	}
	return render.OneLine("ignored: "+i.Reason, 90)
}
