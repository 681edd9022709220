package notice

import (
	"encoding/json"
	"net/mail"
	"net/url"
	"strings"

	"github.com/omoi-dev/omoi/internal/task"
)

// Channels by which a rule notifies.
const (
	ChannelWebhook = "webhook" // a signed POST
	ChannelSlack   = "slack"   // an incoming webhook of Slack, or of a compatible program
	ChannelNtfy    = "ntfy"    // a topic of ntfy
	ChannelEmail   = "email"   // an e-mail by the operator's mail server
)

// Address is where notices of a rule go. It is stored encrypted: most addresses are secrets.
type Address struct {
	URL    string `json:"url"`              // of e-mail: the e-mail address
	Secret string `json:"secret,omitempty"` // signs webhooks; access token of ntfy
}

const (
	leastSecret = 16
	mostAddress = 2048
	mostEmail   = 254 // RFC 5321
)

// check returns [task.CodeInvalid] for an address that the channel cannot use. The error contains no secret.
func (a Address) check(channel string) error {
	if channel == ChannelEmail {
		return a.checkEmail()
	}
	u, err := url.Parse(a.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || len(a.URL) > mostAddress:
		return task.Invalid("address", "Invalid address: expected an http or https URL of at most %d bytes.", mostAddress)
	case u.User != nil || u.Fragment != "":
		return task.Invalid("address", "Invalid address: a user, a password and a fragment are not allowed.")
	case len(a.Secret) > mostAddress:
		return task.Invalid("secret", "Invalid secret: expected at most %d bytes.", mostAddress)
	}
	switch channel {
	case ChannelWebhook:
		if len(a.Secret) < leastSecret {
			return task.Invalid("secret", "Invalid secret: %d characters, expected %d or more. It signs the notices.", len(a.Secret), leastSecret)
		}
	case ChannelSlack:
		if a.Secret != "" {
			return task.Invalid("secret", "Unexpected secret: the channel slack takes none, since its address is the secret.")
		}
	case ChannelNtfy:
		if strings.Trim(u.Path, "/") == "" {
			return task.Invalid("address", "Invalid address: expected the URL of a topic, for example https://ntfy.sh/my-topic.")
		}
		if strings.ContainsFunc(a.Secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return task.Invalid("secret", "Invalid secret: expected printable ASCII characters without blanks.")
		}
	default:
		return task.Invalid("channel", "Invalid channel %q: expected webhook, slack, ntfy or email.", channel)
	}
	return nil
}

func (a Address) checkEmail() error {
	parsed, err := mail.ParseAddress(a.URL)
	switch {
	case err != nil || parsed.Address != a.URL || len(a.URL) > mostEmail:
		return task.Invalid("address", "Invalid address: expected an e-mail address, for example alice@example.com.")
	case a.Secret != "":
		return task.Invalid("secret", "Unexpected secret: the channel email takes none.")
	}
	return nil
}

// shown returns the address without its path and query, which may be secret.
func (a Address) shown() string {
	u, err := url.Parse(a.URL)
	if err != nil {
		return ""
	}
	if u.Scheme == "" { // an e-mail address is no secret
		return a.URL
	}
	return u.Scheme + "://" + u.Host + "/..."
}

func (a Address) text() string {
	raw, _ := json.Marshal(a) //nolint:gosec,errchkjson // G117: the JSON is encrypted at once; strings always encode
	return string(raw)
}
