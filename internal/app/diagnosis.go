package app

import (
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

// newDiagnosis makes the part that says why tasks fail; asked may be nil.
func (c *core) newDiagnosis(asked *model.Model) *diagnosis.Service {
	cfg, m := c.cfg.Diagnostic, c.cfg.Monitoring
	deps := diagnosis.Deps{
		Store: c.store, Log: c.log, Period: m.GuardianInterval,
		Wake: func(sandboxID string) { c.bus.Wake(live.Messages(sandboxID)) },
	}
	if asked != nil {
		deps.Model = func() supervise.DiagnosisModel { return asked.Within(c.modelBudget()) }
	}
	return diagnosis.New(diagnosis.Config{
		Enabled: cfg.Enabled, Failures: cfg.Failures, Newest: guardian.NewestEvents, Interval: lookSlower * pollInterval(c.cfg), Rules: rulesOf(c.cfg),
		Webhook: diagnosis.Webhook{
			URL: cfg.WebhookURL.Reveal(), Secret: cfg.WebhookSecret.Reveal(),
			Client: func(req *http.Request) (*http.Client, error) { return credential.Client(req, cfg.WebhookAllowPrivate) },
		},
	}, deps)
}
