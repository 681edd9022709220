package config

import (
	"net/mail"
	"time"
)

// Anthropic configures model calls of agents and of supervision.
type Anthropic struct {
	APIKey    Secret `key:"api_key" env:"ANTHROPIC_API_KEY" zero:"no model" doc:"API key of Anthropic, or of a compatible model provider."`
	AuthToken Secret `key:"auth_token" env:"ANTHROPIC_AUTH_TOKEN" zero:"none" doc:"Bearer token instead of api_key, which takes precedence. Some compatible endpoints require it."`
	BaseURL   string `key:"base_url" env:"ANTHROPIC_BASE_URL" zero:"Anthropic's" doc:"Base URL of the model API."`
	Model     string `key:"model" env:"ANTHROPIC_MODEL" zero:"the agent's own choice" doc:"Model of tasks that name none."`
}

// Claude configures the Claude Code program.
type Claude struct {
	Bin        string `key:"bin" zero:"found on PATH" doc:"Path of the claude program for local sandboxes. If omoi runs as root, every user must be able to read it. Other sandboxes have their own on PATH."`
	OAuthToken Secret `key:"code_oauth_token" env:"CLAUDE_CODE_OAUTH_TOKEN" zero:"none" doc:"Token of a Claude subscription."`
}

// Monitoring configures guardian and conductor.
type Monitoring struct {
	Enabled           bool          `key:"enabled" env:"MONITORING_ENABLED" default:"true" doc:"Run guardian and conductor. They analyze active agents; without steering they send no messages."`
	GuardianInterval  time.Duration `key:"guardian_interval" env:"MONITORING_GUARDIAN_INTERVAL_SECONDS(s)" default:"60s" min:"1s" max:"24h" doc:"Period of the guardian."`
	ConductorInterval time.Duration `key:"conductor_interval" env:"MONITORING_CONDUCTOR_INTERVAL_SECONDS(s)" default:"300s" min:"1s" max:"24h" doc:"Period of the conductor."`
	AutoSteering      bool          `key:"auto_steering" env:"MONITORING_AUTO_STEERING_ENABLED" default:"false" doc:"Let the guardian steer agents of projects without their own setting. If false, it records what it would do."`
	Cooldown          time.Duration `key:"cooldown" default:"10m" min:"1ms" max:"24h" doc:"Minimum time between two interventions in one attempt."`
	MaxInterventions  int           `key:"max_interventions" default:"4" min:"1" max:"100" doc:"Maximum number of interventions in one attempt."`
	AnalysisCache     time.Duration `key:"analysis_cache" default:"5m" min:"0s" max:"24h" zero:"analyze in every cycle" doc:"Minimum age of an analysis before the guardian makes the next one."`
	MaxAnalyses       int           `key:"max_concurrent_analyses" env:"MONITORING_MAX_CONCURRENT_ANALYSES" default:"5" min:"1" max:"100" doc:"Maximum number of concurrent model analyses."`
	LLMAnalysis       bool          `key:"llm_analysis" env:"MONITORING_LLM_ANALYSIS_ENABLED" default:"true" doc:"Use a model, if a key and a model are configured."`
	Model             string        `key:"model" zero:"anthropic.model; without it, no model is used" doc:"Model of guardian and conductor, at anthropic.base_url with the key of the group anthropic."`
	ModelTokens       int           `key:"model_tokens" default:"500000" min:"0" max:"1000000000" unit:"tokens" zero:"no limit" doc:"Maximum number of tokens in one cycle, of the guardian and of the conductor each. Beyond it, rules alone analyze."`
	ModelUSD          float64       `key:"model_usd" default:"0" min:"0" max:"10000" unit:"USD" zero:"no limit" doc:"Maximum cost of the model in one cycle, if agent.model_prices has its price."`
}

// Diagnostic configures the diagnosis of repeated failures.
type Diagnostic struct {
	Enabled  bool `key:"enabled" env:"DIAGNOSTIC_ENABLED" default:"true" doc:"Diagnose tasks that fail."`
	Failures int  `key:"max_consecutive_failures" env:"DIAGNOSTIC_MAX_CONSECUTIVE_FAILURES" default:"3" min:"2" max:"20" doc:"Consecutive failures of one class after which a running task, or a ticket, is diagnosed. A failed task is always diagnosed."`

	WebhookURL          Secret `key:"webhook_url" zero:"none" doc:"URL that receives each diagnosis as a signed POST."`
	WebhookSecret       Secret `key:"webhook_secret" zero:"none; required with webhook_url" doc:"Secret that signs the webhook, 16 or more characters."`
	WebhookAllowPrivate bool   `key:"webhook_allow_private" default:"false" doc:"Allow a private address in webhook_url."`
}

// Notice configures notices of tasks.
type Notice struct {
	AllowPrivate bool   `key:"allow_private" default:"false" doc:"Allow users to enter addresses that are not public. Without it, a user could reach servers in omoi's own network."`
	PageURL      string `key:"page_url" zero:"api.callback_url" doc:"Base URL of omoi's page for links in notices."`
	SMTPURL      Secret `key:"smtp_url" zero:"no e-mail" doc:"Mail server of the channel email: smtp://user:password@host:587 with STARTTLS, or smtps://user:password@host:465."`
	MailFrom     string `key:"mail_from" zero:"none; required with smtp_url" doc:"Sender of e-mails: an address, or a name with an address in angle brackets."`
}

// faults returns the faults in combinations of settings.
func (n *Notice) faults() []string {
	faults := []string{urlFault("notice.smtp_url", n.SMTPURL.Reveal(), "smtp", "smtps")}
	if _, err := mail.ParseAddress(n.MailFrom); err != nil && n.SMTPURL != "" {
		faults = append(faults, "notice.mail_from: must be an e-mail address")
	}
	return faults
}

// faults returns the faults in combinations of settings.
func (d *Diagnostic) faults() []string {
	faults := []string{urlFault("diagnostic.webhook_url", d.WebhookURL.Reveal(), "http", "https")}
	if d.WebhookURL != "" {
		faults = append(faults, secretFault("diagnostic.webhook_secret", d.WebhookSecret))
	}
	return faults
}
