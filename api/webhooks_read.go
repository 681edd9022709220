package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/redact"
)

// hook holds the fields that omoi reads from GitHub's webhooks.
type hook struct {
	Action     string   `json:"action"`
	Repository hookRepo `json:"repository"`

	CheckRun    *hookCheck `json:"check_run"`
	CheckSuite  *hookCheck `json:"check_suite"`
	WorkflowRun *hookCheck `json:"workflow_run"`
	hookStatus

	PullRequest *hookPull  `json:"pull_request"`
	Issue       *hookPull  `json:"issue"`
	Review      *hookWords `json:"review"`
	Comment     *hookWords `json:"comment"`
}

type hookRepo struct {
	ID       int64  `json:"id"`
	FullName string `json:"full_name"`
}

// hookCheck is a check run, a check suite, or a run of GitHub Actions.
type hookCheck struct {
	Name       string     `json:"name"`
	Conclusion string     `json:"conclusion"`
	HeadSHA    string     `json:"head_sha"`
	HTMLURL    string     `json:"html_url"`
	DetailsURL string     `json:"details_url"`
	Completed  *time.Time `json:"completed_at"`
	Updated    *time.Time `json:"updated_at"`
	App        struct {
		Name string `json:"name"`
	} `json:"app"`
	Output struct {
		Title   string `json:"title"`
		Summary string `json:"summary"`
		Text    string `json:"text"`
	} `json:"output"`
	PullRequests []hookPull `json:"pull_requests"`
}

// hookStatus is the status of a commit, whose fields are at the top level.
type hookStatus struct {
	SHA         string     `json:"sha"`
	State       string     `json:"state"`
	Context     string     `json:"context"`
	Description string     `json:"description"`
	TargetURL   string     `json:"target_url"`
	Updated     *time.Time `json:"updated_at"`
	Branches    []struct {
		Name string `json:"name"`
	} `json:"branches"`
}

// hookPull is a pull request, also in the form of an issue.
type hookPull struct {
	Number  int        `json:"number"`
	State   string     `json:"state"`
	Merged  bool       `json:"merged"`
	User    hookUser   `json:"user"`
	Updated *time.Time `json:"updated_at"`
	Head    hookSide   `json:"head"`
	Base    hookSide   `json:"base"`
	IsPull  *struct{}  `json:"pull_request"` // set on an issue that is a pull request
}

type hookSide struct {
	Ref  string   `json:"ref"`
	Repo hookRepo `json:"repo"`
}

type hookUser struct {
	Login string `json:"login"`
	Type  string `json:"type"`
}

// hookWords is a text by a user: a review or a comment.
type hookWords struct {
	Body        string     `json:"body"`
	State       string     `json:"state"`
	HTMLURL     string     `json:"html_url"`
	Association string     `json:"author_association"`
	User        hookUser   `json:"user"`
	Submitted   *time.Time `json:"submitted_at"`
	Created     *time.Time `json:"created_at"`
	Path        string     `json:"path"`
	Line        int        `json:"line"`
	OldLine     int        `json:"original_line"`
	Hunk        string     `json:"diff_hunk"`
}

// GitHub events that omoi handles.
const (
	hookCheckRun    = "check_run"
	hookCheckSuite  = "check_suite"
	hookWorkflowRun = "workflow_run"
	hookStatusEvent = "status"
	hookReview      = "pull_request_review"
	hookLineComment = "pull_request_review_comment"
	hookComment     = "issue_comment"
	hookPullEvent   = "pull_request"
)

// eventWord returns the name of an event for logs and metrics; a caller cannot introduce names.
func eventWord(event string) string {
	known := []string{
		hookCheckRun, hookCheckSuite, hookWorkflowRun, hookStatusEvent, hookReview, hookLineComment, hookComment,
		hookPullEvent, "ping",
	}
	if slices.Contains(known, event) {
		return event
	}
	return "other"
}

// feedback returns the feedback in a webhook event, or why the event is not relevant.
func (h *hook) feedback(event string) (f feedback.Feedback, why string) {
	const other = "the event says nothing that matters"
	switch event {
	case hookCheckRun:
		f, why = h.check(h.CheckRun, event)
	case hookCheckSuite:
		f, why = h.check(h.CheckSuite, event)
	case hookWorkflowRun:
		f, why = h.check(h.WorkflowRun, event)
	case hookStatusEvent:
		f, why = h.status()
	case hookReview:
		f, why = h.review()
	case hookLineComment, hookComment:
		f, why = h.comment(event)
	case hookPullEvent:
		f, why = h.pull()
	default:
		return f, other
	}
	f.Repo = h.Repository.FullName
	// scrubbed before it is cut, since a part of a secret is not recognized
	f.Note, f.Text = feedback.OneLine(redact.Scrub(f.Note, nil), feedback.MaxNote), feedback.Cut(strings.TrimSpace(redact.Scrub(f.Text, nil)), feedback.MaxText)
	f.URL = feedback.OneLine(redact.URL(f.URL), feedback.MaxNote)
	return f, why
}

// check returns the feedback of a failed check. It only accepts pull requests from branches of the repository itself:
// anybody can choose the branch names of a fork.
func (h *hook) check(c *hookCheck, event string) (feedback.Feedback, string) {
	if c == nil || h.Action != "completed" || !failing(c.Conclusion) {
		return feedback.Feedback{}, "nothing failed"
	}
	f := feedback.Feedback{
		Kind: feedback.KindCheck, Commit: c.HeadSHA, At: timeOf(c.Completed, c.Updated), URL: cmp.Or(c.HTMLURL, c.DetailsURL),
	}
	for _, p := range c.PullRequests {
		if p.Head.Repo.ID == p.Base.Repo.ID {
			f.Numbers, f.Branches = append(f.Numbers, numbered(p)), append(f.Branches, p.Head.Ref)
		}
	}
	name := cmp.Or(c.Name, c.App.Name)
	f.Note = fmt.Sprintf("Check %q: %s, on commit %s", feedback.OneLine(name, 100), c.Conclusion, short(c.HeadSHA))
	f.Text = strings.Join([]string{c.Output.Title, c.Output.Summary, c.Output.Text}, "\n")
	f.Whole = event != hookCheckRun
	f.Subject = strings.Join([]string{event, c.HeadSHA, name}, " ")
	return f, ""
}

func failing(conclusion string) bool {
	return slices.Contains([]string{"failure", "timed_out", "startup_failure"}, conclusion)
}

func (h *hook) status() (feedback.Feedback, string) {
	if h.State != "failure" && h.State != "error" {
		return feedback.Feedback{}, "nothing failed"
	}
	f := feedback.Feedback{
		Kind: feedback.KindCheck, Commit: h.SHA, At: timeOf(h.Updated), URL: h.TargetURL, Text: h.Description,
		Note:    fmt.Sprintf("Status %q: %s, on commit %s", feedback.OneLine(h.Context, 100), h.State, short(h.SHA)),
		Subject: strings.Join([]string{"status", h.SHA, h.Context}, " "),
	}
	for _, b := range h.Branches {
		f.Branches = append(f.Branches, b.Name)
	}
	return f, ""
}

func (h *hook) review() (feedback.Feedback, string) {
	w := h.Review
	if w == nil || h.PullRequest == nil || h.Action != "submitted" || (w.State != "changes_requested" && (w.State != "commented" || strings.TrimSpace(w.Body) == "")) {
		return feedback.Feedback{}, "nothing is asked for"
	}
	f, why := h.words(w, h.PullRequest)
	f.Kind = feedback.KindReview
	f.Note = "Review by " + f.Note + ": " + strings.ReplaceAll(w.State, "_", " ")
	return f, why
}

func (h *hook) comment(event string) (feedback.Feedback, string) {
	w, p := h.Comment, h.PullRequest
	if event == hookComment {
		p = h.Issue
	}
	switch {
	case w == nil || p == nil || h.Action != "created":
		return feedback.Feedback{}, "nothing new was said"
	case event == hookComment && p.IsPull == nil:
		return feedback.Feedback{}, "the issue is no pull request"
	}
	f, why := h.words(w, p)
	f.Kind = feedback.KindComment
	f.Note = "Comment by " + f.Note
	if w.Path != "" {
		f.Note += fmt.Sprintf(" on %s:%d", feedback.OneLine(w.Path, 150), cmp.Or(w.Line, w.OldLine))
		f.Text = strings.TrimSpace(lastLines(w.Hunk)) + "\n\n" + f.Text
	}
	return f, why
}

// words returns the feedback in a user's text, if the user may steer.
func (h *hook) words(w *hookWords, p *hookPull) (f feedback.Feedback, why string) {
	f = feedback.Feedback{
		At: timeOf(w.Submitted, w.Created), URL: w.HTMLURL, Text: w.Body, Author: feedback.OneLine(w.User.Login, 60),
		Opener:  p.User.Login,
		Numbers: []int{numbered(*p)}, Branches: h.own(p), PullClosed: p.State == "closed",
	}
	f.Note = fmt.Sprintf("%s (%s)", f.Author, strings.ToLower(feedback.OneLine(w.Association, 30)))
	switch {
	case !strings.EqualFold(w.User.Type, "User") || strings.HasSuffix(w.User.Login, "[bot]"):
		return f, "it is from a bot"
	case !slices.Contains([]string{"OWNER", "MEMBER", "COLLABORATOR"}, w.Association):
		return f, "its author has no say in the repository"
	case strings.Contains(w.Body, "<!-- omoi:"):
		return f, "it is omoi's own text"
	}
	return f, ""
}

func (h *hook) pull() (feedback.Feedback, string) {
	p := h.PullRequest
	if p == nil || (h.Action != "closed" && h.Action != "reopened") {
		return feedback.Feedback{}, "nothing was closed"
	}
	f := feedback.Feedback{
		Kind: feedback.KindPull, At: timeOf(p.Updated), Numbers: []int{numbered(*p)}, Branches: h.own(p),
		PullState: feedback.PullOpen,
	}
	if h.Action == "closed" {
		f.PullState = feedback.PullClosed
	}
	if h.Action == "closed" && p.Merged {
		f.PullState = feedback.PullMerged
	}
	return f, ""
}

// own returns the branch of a pull request, if the branch is in the repository itself.
func (h *hook) own(p *hookPull) []string {
	if p.Head.Ref == "" || p.Head.Repo.ID != h.Repository.ID {
		return nil
	}
	return []string{p.Head.Ref}
}

// numbered returns a number that fits into the database column; 0: no pull request.
func numbered(p hookPull) int {
	const most = 1 << 30
	if p.Number < 0 || p.Number > most {
		return 0
	}
	return p.Number
}

func timeOf(times ...*time.Time) time.Time {
	for _, t := range times {
		if t != nil {
			return *t
		}
	}
	return time.Time{}
}

func short(commit string) string {
	const digits = 10
	return feedback.OneLine(commit[:min(len(commit), digits)], digits)
}

// lastLines returns the last lines of a diff hunk, on which the comment is.
func lastLines(hunk string) string {
	const most = 6
	lines := strings.Split(strings.TrimRight(hunk, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
