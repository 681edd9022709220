package app

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/config"
	"github.com/omoi-dev/omoi/internal/conductor"
	"github.com/omoi-dev/omoi/internal/cost"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/diagnosis"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/notice"
	"github.com/omoi-dev/omoi/internal/supervise"
	"github.com/omoi-dev/omoi/internal/supervise/model"
	"github.com/omoi-dev/omoi/internal/task"
)

// monitoring returns the settings that the API shows.
func monitoring(cfg *config.Loaded) client.MonitorConfig {
	m := cfg.Monitoring
	return client.MonitorConfig{
		Enabled: m.Enabled, GuardianInterval: m.GuardianInterval.Seconds(), ConductorInterval: m.ConductorInterval.Seconds(),
		AutoSteering: m.AutoSteering, MaxAnalyses: m.MaxAnalyses, LLMAnalysis: asksModel(cfg),
		AnalysisCache: m.AnalysisCache.Seconds(), Cooldown: m.Cooldown.Seconds(), InterventionsLimit: m.MaxInterventions,
	}
}

// asksModel reports whether the settings of a supervision model are complete.
func asksModel(cfg *config.Loaded) bool {
	m, a := cfg.Monitoring, cfg.Anthropic
	return m.LLMAnalysis && cmp.Or(m.Model, a.Model) != "" && (a.APIKey != "" || a.AuthToken != "")
}

// openSupervision creates guardian, conductor and diagnosis, which share one model, and notices.
func (c *core) openSupervision(context.Context) error {
	var asked *model.Model // nil: rules only
	if asksModel(c.cfg) {
		var err error
		if asked, err = model.New(c.modelSettings()); err != nil {
			return fmt.Errorf("create the supervision model: %w", err)
		}
	}
	if asked != nil {
		c.finder = func() supervise.Finder { return asked.Within(c.modelBudget()) }
	}
	c.guardian, c.conductor, c.diagnosis, c.notices = c.newGuardian(asked), c.newConductor(), c.newDiagnosis(asked), c.newNotices()
	return nil
}

// newGuardian returns the guardian. Workers use it for cycles, the API for requests. asked may be nil.
func (c *core) newGuardian(asked *model.Model) *guardian.Guardian {
	m := c.cfg.Monitoring
	var makes func() supervise.Model
	if asked != nil {
		makes = func() supervise.Model { return asked.Within(c.modelBudget()) }
	}
	ladder := guardian.DefaultLadder()
	ladder.CoolDown, ladder.Cap = m.Cooldown, m.MaxInterventions
	fresh := m.AnalysisCache
	if fresh == 0 {
		fresh = -1 // the guardian's value for: never use a stored analysis
	}
	return guardian.New(guardian.Config{
		AutoSteering: m.AutoSteering, Fresh: fresh, Stale: 2 * m.GuardianInterval,
		Asked: m.MaxAnalyses, Ladder: ladder, Rules: rulesOf(c.cfg),
	}, guardian.Deps{
		Store: c.store, Model: makes, Counter: c.metrics, Log: c.log,
		Wake: func(iv guardian.Intervention) {
			c.bus.Wake(live.Messages(iv.SandboxID))
			c.bus.Wake(live.Relay)
		},
	})
}

// modelBudget returns the budget of model calls in one cycle.
func (c *core) modelBudget() *supervise.Budget {
	return supervise.NewBudget(int64(c.cfg.Monitoring.ModelTokens), c.cfg.Monitoring.ModelUSD)
}

// modelSettings returns the settings of the supervision model.
func (c *core) modelSettings() model.Settings {
	m, a := c.cfg.Monitoring, c.cfg.Anthropic
	settings := model.Defaults()
	settings.APIKey, settings.AuthToken, settings.BaseURL = a.APIKey.Reveal(), a.AuthToken.Reveal(), a.BaseURL
	settings.Model = cmp.Or(m.Model, a.Model)
	settings.InputPrice, settings.OutputPrice = modelPrice(c.cfg.Agent.ModelPrices, settings.Model)
	return settings
}

// modelPrice returns the prices in USD per million tokens of a model in agent.model_prices; 0 if the list does not
// contain the model.
func modelPrice(prices, name string) (input, output float64) {
	all, _ := cost.ParseModelPrices(prices) // config has checked them
	for _, p := range all {
		if strings.Contains(name, p.Model) {
			return p.Input, p.Output
		}
	}
	return 0, 0
}

// missedCycles is the number of cycles that a supervisor may miss before an alert.
const missedCycles = 5

// cycles returns a check of a supervisor. The check returns an error if an agent has been active for missedCycles
// periods without a cycle.
func (c *core) cycles(watcher string, period time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		silent, err := c.store.Unwatched(ctx, watcher)
		if err == nil && silent > missedCycles*period {
			err = task.Errorf(task.CodeUnavailable, "Agents are active, and the %s has not run for %s. Next: omoi %s status", watcher, silent.Round(time.Second), watcher)
		}
		return err
	}
}

func (c *core) newConductor() *conductor.Conductor {
	m := c.cfg.Monitoring
	deps := conductor.Deps{Store: c.store, Model: c.finder, Counter: c.metrics, Log: c.log}
	const least, cycles = 10 * time.Minute, 2 // a stored analysis that the guardian still uses must count
	return conductor.New(conductor.Config{
		Fresh: max(least, cycles*m.AnalysisCache), Parallel: m.MaxAnalyses,
	}, deps)
}

// lookSlower is the factor by which the diagnosis polls less often than the relay.
const lookSlower = 5

// newDiagnosis returns the diagnosis service; asked may be nil.
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
		Webhook: cfg.WebhookURL != "",
	}, deps)
}

// newNotices returns the service that sends notices and diagnoses.
func (c *core) newNotices() *notice.Service {
	cfg := c.cfg
	return notice.New(notice.Config{
		Interval: lookSlower * pollInterval(cfg), PageURL: func() string { return cmp.Or(cfg.Notice.PageURL, callback(cfg)) }, // known when the API listens
		Client: func(req *http.Request) (*http.Client, error) { return credential.Client(req, cfg.Notice.AllowPrivate) },
		Diagnoses: notice.Webhook{
			URL: cfg.Diagnostic.WebhookURL.Reveal(), Secret: cfg.Diagnostic.WebhookSecret.Reveal(),
			Client: func(req *http.Request) (*http.Client, error) {
				return credential.Client(req, cfg.Diagnostic.WebhookAllowPrivate)
			},
		},
		Mail: notice.Mail{URL: cfg.Notice.SMTPURL.Reveal(), From: cfg.Notice.MailFrom},
	}, notice.Deps{Store: c.store, Ring: c.sealing, Log: c.log})
}

// rulesOf returns the thresholds of the guardian's rules, with task.tool_timeout as the limit of tool calls.
func rulesOf(cfg *config.Loaded) supervise.Settings {
	s := supervise.DefaultSettings()
	s.ToolLimit = cfg.Task.ToolTimeout
	return s
}
