package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/task"
)

// Feedback stores feedback on pull requests of omoi.
type Feedback interface {
	// NoteFeedback stores feedback. It deduplicates feedback, also if it arrives again with another ID.
	NoteFeedback(ctx context.Context, f feedback.Feedback) (feedback.Noted, error)
	TaskFeedback(ctx context.Context, organizationID, taskID string) (feedback.TaskFeedback, error)
}

const (
	hookPath = "/api/v1/webhooks/github"
	hookBody = 2 << 20  // relevant events are shorter
	hookRoom = 16 << 20 // for bodies of unverified senders
	hookID   = 100      // maximum characters of a delivery ID
)

func (a *API) registerWebhooks() {
	webhooks := a.group(tagWebhooks, hookPath)
	tasks := a.group(tagTasks, "/api/v1/tasks")
	add(webhooks.on(accessSigned, "POST", "github-webhook", "Receive a GitHub webhook"), a.gitHubWebhook, details{
		more:   "Receives webhooks that GitHub signed with github.webhook_secret. 202: received, even if ignored; 200: a repetition or a ping.",
		status: http.StatusAccepted, says: client.Webhook{}, body: hookBody,
		limit: newBodyLimit(hookRoom, hookBody), also: map[int]any{http.StatusOK: feedback.Noted{}},
		fails: []int{http.StatusUnauthorized},
	})
	add(tasks.on(accessRead, "GET /{id}/feedback", "list-task-feedback", "List pull request feedback"),
		a.taskFeedback, details{
			more:  "Checks, reviews and comments of the pull request, oldest first, with what omoi did about each.",
			fails: []int{http.StatusGone},
		})
}

func (a *API) taskFeedback(ctx context.Context, in *listOfIn) (*bodyOut[feedback.TaskFeedback], error) {
	story, err := a.deps.Feedback.TaskFeedback(ctx, callerOf(ctx).organization, in.ID)
	page, err := whole(in.PageRequest, func(i feedback.Item) string {
		return strings.Join([]string{string(i.Kind), i.URL, i.Note, i.At.String()}, "\n")
	}, story.Items, err)
	if err != nil {
		return nil, err
	}
	story.Items, story.NextCursor = page.Body.Items, page.Body.NextCursor
	return body(story, nil)
}

type webhookIn struct {
	Event     string `header:"X-GitHub-Event" doc:"Name of the GitHub event; events that omoi does not use are ignored."`                         //nolint:tagliatelle // as GitHub writes itself
	Delivery  string `header:"X-GitHub-Delivery" doc:"GitHub's ID of the delivery, at most 100 characters. A repeated delivery changes nothing."` //nolint:tagliatelle // as GitHub writes itself
	Signature string `header:"X-Hub-Signature-256" doc:"sha256= and the HMAC-SHA256 of the body in hexadecimal digits, with the webhook secret."`
	Type      string `header:"Content-Type" doc:"Must be application/json."`
	RawBody   []byte `contentType:"application/json"`
}

type notedOut struct {
	Status int
	Body   feedback.Noted
}

// gitHubWebhook receives a webhook event. A relevant event is stored before the response and handled later: GitHub
// waits ten seconds and does not resend by itself.
func (a *API) gitHubWebhook(ctx context.Context, in *webhookIn) (*notedOut, error) {
	if err := a.checkHook(in); err != nil {
		a.deps.Meter.Webhook(eventWord(in.Event), "refused")
		return nil, err
	}
	if in.Event == "ping" {
		return &notedOut{Status: http.StatusOK, Body: feedback.Noted{State: "pong"}}, nil
	}
	noted, err := a.noteHook(ctx, in)
	if err != nil {
		a.deps.Meter.Webhook(eventWord(in.Event), "failed")
		return nil, err
	}
	a.deps.Meter.Webhook(eventWord(in.Event), noted.State)
	out := &notedOut{Status: http.StatusAccepted, Body: noted}
	if noted.State == feedback.StateRepeated {
		out.Status = http.StatusOK
	}
	return out, nil
}

// checkHook rejects a request that is not signed with a configured secret.
func (a *API) checkHook(in *webhookIn) error {
	media, _, _ := strings.Cut(in.Type, ";")
	switch {
	case len(a.cfg.WebhookSecrets) == 0:
		return task.Errorf(task.CodeNotFound,
			"Webhooks are disabled: the server has no webhook secret. Next: set OMOI_GITHUB_WEBHOOK_SECRET, and the same secret "+
				"at GitHub; see docs/GITHUB.md")
	case in.Signature == "":
		return task.Errorf(task.CodeUnauthorized,
			"Missing header X-Hub-Signature-256. Next: give the webhook at GitHub the secret of OMOI_GITHUB_WEBHOOK_SECRET")
	case !a.signed(in.RawBody, in.Signature):
		return task.Errorf(task.CodeUnauthorized,
			"Invalid signature: made with another secret. Next: give the webhook at GitHub the secret of OMOI_GITHUB_WEBHOOK_SECRET")
	case !strings.EqualFold(strings.TrimSpace(media), "application/json"):
		return task.Invalid("Content-Type",
			"Unsupported content type %q. Next: choose the content type application/json at GitHub", clip(media))
	case in.Delivery == "" || len(in.Delivery) > hookID || strings.ContainsFunc(in.Delivery, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return task.Invalid("X-GitHub-Delivery", "Invalid header X-GitHub-Delivery: expected 1 to %d printable ASCII characters.", hookID)
	}
	return nil
}

// signed compares in constant time, with every secret.
func (a *API) signed(body []byte, signature string) bool {
	given, err := hex.DecodeString(strings.TrimPrefix(signature, "sha256="))
	good := false
	for _, secret := range a.cfg.WebhookSecrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		good = hmac.Equal(mac.Sum(nil), given) || good
	}
	return good && err == nil && strings.HasPrefix(signature, "sha256=")
}

// noteHook stores a relevant event and logs the outcome.
func (a *API) noteHook(ctx context.Context, in *webhookIn) (feedback.Noted, error) {
	var said hook
	if err := decode(in.RawBody, &said); err != nil {
		return feedback.Noted{}, err
	}
	f, why := said.feedback(in.Event)
	noted := feedback.Noted{State: feedback.StateIgnored, Reason: why}
	switch {
	case why != "":
	case time.Since(f.At) > feedback.Window: // including events that are replayed after their row is deleted
		noted.Reason = "it is older than three days, or has no time"
	default:
		digest := sha256.Sum256(in.RawBody)
		f.Delivery, f.Digest, f.Settle = in.Delivery, digest[:], a.cfg.WebhookSettle
		var err error
		if noted, err = a.deps.Feedback.NoteFeedback(ctx, f); err != nil {
			return noted, err
		}
	}
	a.log.LogAttrs(ctx, slog.LevelInfo, "webhook received", slog.String("event", eventWord(in.Event)), slog.String("delivery", in.Delivery),
		slog.String("repo", clip(said.Repository.FullName)), slog.String("outcome", noted.State),
		slog.String("reason", noted.Reason),
		slog.String("task_id", noted.TaskID))
	return noted, nil
}
