package app

import (
	"context"
	"log/slog"

	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/feedback"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/wait"
)

// webhookSecrets returns the secrets that GitHub may sign with, newest first.
func webhookSecrets(g config.GitHub) []string {
	var all []string
	for _, secret := range []config.Secret{g.WebhookSecret, g.WebhookPreviousSecret} {
		if secret != "" {
			all = append(all, secret.Reveal())
		}
	}
	return all
}

// tellFeedback delivers feedback of webhooks to agents, and starts follow-up tasks, until ctx ends. Several processes
// may run tellFeedback.
func (c *core) tellFeedback(ctx context.Context) error {
	if c.cfg.GitHub.WebhookSecret == "" { // without a secret, no webhook events arrive
		<-ctx.Done()
		return nil
	}
	how := feedback.Policy{MaxRounds: c.cfg.GitHub.MaxFollowupTasks, Pause: 2 * pollInterval(c.cfg)}
	for ctx.Err() == nil {
		step, err := c.store.SettleFeedback(ctx, how)
		if err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "process feedback failed, retrying", slog.String("error", err.Error()))
		}
		c.toldFeedback(ctx, step)
		_ = wait.For(ctx, pollInterval(c.cfg)) // returns an error if ctx ends
	}
	return nil
}

// toldFeedback logs a step and wakes the waiting readers.
func (c *core) toldFeedback(ctx context.Context, step feedback.Step) {
	for _, id := range step.Sandboxes {
		c.log.InfoContext(ctx, "feedback sent to agent", slog.String("sandbox_id", id))
		c.bus.Wake(live.Messages(id))
	}
	for _, id := range step.Started {
		c.log.InfoContext(ctx, "task created from feedback", slog.String("task_id", id))
		c.bus.Wake(live.Relay)
	}
	for _, id := range step.Dropped {
		c.log.InfoContext(ctx, "feedback dropped", slog.String("task_id", id))
	}
}
