package config

// Diagnostic is about saying why tasks fail again and again.
type Diagnostic struct {
	Enabled  bool `key:"enabled" env:"DIAGNOSTIC_ENABLED" default:"true" doc:"Diagnose tasks that fail."`
	Failures int  `key:"max_consecutive_failures" env:"DIAGNOSTIC_MAX_CONSECUTIVE_FAILURES" default:"3" min:"2" max:"20" doc:"Attempts in a row that fail in one class before a task is diagnosed that goes on, and ends of tasks before their ticket is; a task that has failed is diagnosed in any case."`

	WebhookURL     Secret `key:"webhook_url" zero:"nobody is told" doc:"Address that is told of each diagnosis, by a signed POST."`
	WebhookSecret  Secret `key:"webhook_secret" zero:"none; needed with webhook_url" doc:"Secret with which it is signed, 16 or more characters."`
	WebhookPrivate bool   `key:"webhook_private" default:"false" doc:"Let webhook_url be an address that is not public."`
}

// faults are what no single setting has.
func (d *Diagnostic) faults() []string {
	faults := []string{urlFault("diagnostic.webhook_url", d.WebhookURL.Reveal(), "http", "https")}
	if d.WebhookURL != "" && len(d.WebhookSecret.Reveal()) < leastWebhookSecret {
		faults = append(faults, "diagnostic.webhook_secret: 16 or more characters are needed; openssl rand -hex 32 makes some")
	}
	return faults
}
