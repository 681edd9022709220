package config

// leastWebhookSecret is the least length of a secret that signs webhooks, in bytes.
const leastWebhookSecret = 16

// faults are what no single setting of GitHub has.
func (g *GitHub) faults() (faults []string) {
	key := g.AppKey != "" || g.AppKeyFile != ""
	switch {
	case g.AppID != 0 && !key:
		faults = append(faults, "github.app_id: give its private key too, as github.app_key_file")
	case g.AppID == 0 && key:
		faults = append(faults, "github.app_key: give the id of its App too, as github.app_id")
	}
	for _, secret := range []struct {
		key   string
		value Secret
	}{{"github.webhook_secret", g.WebhookSecret}, {"github.webhook_previous", g.WebhookPrevious}} {
		if n := len(secret.value.Reveal()); n > 0 && n < leastWebhookSecret {
			faults = append(faults, secret.key+": 16 or more characters are needed; openssl rand -hex 32 makes some")
		}
	}
	if g.WebhookPrevious != "" && g.WebhookSecret == "" {
		faults = append(faults, "github.webhook_previous: the secret that signs now is needed too, as github.webhook_secret")
	}
	return faults
}
