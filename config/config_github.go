package config

// GitHub configures repositories on GitHub.
type GitHub struct {
	URL   string `key:"url" default:"https://github.com" doc:"URL of GitHub, or of a GitHub Enterprise server."`
	Token Secret `key:"token" env:"GITHUB_TOKEN" zero:"none" doc:"Token for repositories on GitHub."`

	AppID      int64  `key:"app_id" env:"GITHUB_APP_ID" default:"0" min:"0" max:"9007199254740991" zero:"no App" doc:"ID of a GitHub App. omoi uses its tokens where it is installed and no user has a token of their own."`
	AppKey     Secret `key:"app_key" env:"GITHUB_APP_PRIVATE_KEY" zero:"app_key_file" doc:"Private key of that App (PEM); lines may be separated by \\n."`
	AppKeyFile string `key:"app_key_file" zero:"none" doc:"File of that private key, as GitHub provides it."`

	WebhookSecret         Secret `key:"webhook_secret" env:"GITHUB_WEBHOOK_SECRET" zero:"webhooks are rejected" doc:"Secret with which GitHub signs webhooks, 16 or more characters. All processes of an installation must have the same."`
	WebhookPreviousSecret Secret `key:"webhook_previous_secret" zero:"none" doc:"Previous webhook secret, still accepted during a rotation."`
	MaxFollowupTasks      int    `key:"max_followup_tasks" default:"3" min:"0" max:"20" zero:"none" doc:"Maximum number of tasks that webhooks may start for one pull request."`
}

// faults returns the faults in combinations of GitHub settings.
func (g *GitHub) faults() (faults []string) {
	key := g.AppKey != "" || g.AppKeyFile != ""
	switch {
	case g.AppID != 0 && !key:
		faults = append(faults, "github.app_id: requires github.app_key_file")
	case g.AppID == 0 && key:
		faults = append(faults, "github.app_key: requires github.app_id")
	}
	if g.WebhookSecret != "" {
		faults = append(faults, secretFault("github.webhook_secret", g.WebhookSecret))
	}
	if g.WebhookPreviousSecret != "" {
		faults = append(faults, secretFault("github.webhook_previous_secret", g.WebhookPreviousSecret))
	}
	if g.WebhookPreviousSecret != "" && g.WebhookSecret == "" {
		faults = append(faults, "github.webhook_previous_secret: requires github.webhook_secret")
	}
	return faults
}
