package app

import (
	"context"
	"fmt"
	"net/http"

	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/diagnosis"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/supervise/model"
)

// lookSlower is how much less often failures are looked for than what the relay sends.
const lookSlower = 5

// diagnose looks at failures until ctx ends.
func (c *core) diagnose(ctx context.Context) error {
	s, err := c.newDiagnosis()
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// sendWebhooks tells of diagnoses until ctx ends. A receiver that hangs keeps no diagnosis waiting.
func (c *core) sendWebhooks(ctx context.Context) error {
	s, err := c.newDiagnosis()
	if err != nil {
		return err
	}
	return s.Deliver(ctx)
}

// newDiagnosis makes the part that says why tasks fail.
func (c *core) newDiagnosis() (*diagnosis.Service, error) {
	cfg, m := c.cfg.Diagnostic, c.cfg.Monitoring
	deps := diagnosis.Deps{
		Store: c.store, Log: c.log, Period: m.GuardianInterval,
		Budget: func() *supervise.Budget { return supervise.NewBudget(int64(m.ModelTokens), m.ModelUSD) },
		Wake:   func(sandboxID string) { c.bus.Wake(live.Messages(sandboxID)) },
	}
	if asksModel(c.cfg) {
		asked, err := model.New(c.modelSettings())
		if err != nil {
			return nil, fmt.Errorf("make the model of diagnoses: %w", err)
		}
		deps.Model = asked
	}
	return diagnosis.New(diagnosis.Config{
		Enabled: cfg.Enabled, Failures: cfg.Failures, Newest: guardian.NewestEvents, Interval: lookSlower * pollInterval(c.cfg), Rules: rulesOf(c.cfg),
		Webhook: diagnosis.Webhook{
			URL: cfg.WebhookURL.Reveal(), Secret: cfg.WebhookSecret.Reveal(),
			Client: func(req *http.Request) (*http.Client, error) { return credential.Client(req, cfg.WebhookAllowPrivate) },
		},
	}, deps), nil
}
