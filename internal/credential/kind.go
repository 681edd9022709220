package credential

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/omoi-dev/omoi/internal/redact"
	"github.com/omoi-dev/omoi/internal/task"
)

// Kinds that omoi itself knows. Any other word is a provider of an agent's own: its key stands
// in <KIND>_API_KEY.
const (
	Anthropic   = "anthropic"    // an API key, for Anthropic or for what speaks its API
	ClaudeOAuth = "claude_oauth" // the token of a Claude subscription
	GitHub      = "github"       // a token of GitHub
)

// Model stands for whichever of [ClaudeOAuth] and [Anthropic] is found first.
const Model = "model"

// Value is one credential. Only the secret has to be there.
type Value struct {
	Secret string `json:"secret"`
	// Bearer sends the key of a model as a bearer token, which some compatible endpoints ask for.
	Bearer  bool   `json:"bearer,omitempty"`
	BaseURL string `json:"base_url,omitempty"`
	Models
}

// Models are the names of models that an agent takes; empty: its own choice.
type Models struct {
	Model  string `json:"model,omitempty" doc:"Model of tasks that name none. Default: the agent decides."`
	Haiku  string `json:"haiku_model,omitempty" doc:"Model to use instead of Claude Haiku; kinds anthropic and claude_oauth only. Default: none."`
	Sonnet string `json:"sonnet_model,omitempty" doc:"Model to use instead of Claude Sonnet; kinds anthropic and claude_oauth only. Default: none."`
	Opus   string `json:"opus_model,omitempty" doc:"Model to use instead of Claude Opus; kinds anthropic and claude_oauth only. Default: none."`
}

// Bounds of a secret, in bytes.
const (
	shortest = 8
	longest  = 16 << 10
)

var (
	kindForm  = regexp.MustCompile(`^[a-z][a-z0-9_]{1,30}$`)
	modelForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:/@\[\]-]{0,199}$`)
)

// CheckKind is [task.CodeInvalid] for what cannot be the name of a kind. Names that begin like
// omoi's own variables would take their place.
func CheckKind(kind string) error {
	switch {
	case kind == Model:
		return task.Invalid("kind", "Ambiguous kind of credential: model. Next: use %s for an API key, or %s for the token of a subscription", Anthropic, ClaudeOAuth)
	case !kindForm.MatchString(kind), strings.HasPrefix(kind, "omoi"):
		return task.Invalid("kind", "Invalid kind of credential: expected %s, %s, %s or the name of another model provider, for example openai: lower-case letters, digits and _, not omoi first.",
			Anthropic, ClaudeOAuth, GitHub)
	}
	return nil
}

// Check is [task.CodeInvalid] for a value that cannot work. It never repeats the secret.
func (v Value) Check(kind string) error {
	return cmp.Or(CheckKind(kind), checkSecret(kind, v.Secret), v.checkFor(kind), checkBase(v.BaseURL), v.check())
}

// checkFor refuses what a kind has no use for, rather than drop it.
func (v Value) checkFor(kind string) error {
	switch {
	case kind == GitHub && v != (Value{Secret: v.Secret}):
		return task.Invalid("base_url", "Unexpected field: a %s credential has a secret only; the settings of the server name the GitHub host.", kind)
	case kind == ClaudeOAuth && (v.BaseURL != "" || v.Bearer):
		return task.Invalid("base_url", "Unexpected base_url or bearer: the token of a subscription works at Anthropic's own API only. Next: use the kind %s", Anthropic)
	case kind != GitHub && kind != ClaudeOAuth && kind != Anthropic && v != (Value{Secret: v.Secret, BaseURL: v.BaseURL, Models: Models{Model: v.Model}}):
		return task.Invalid("bearer", "Unexpected field: a credential of %s has secret, base_url and model; bearer and other models belong to the kind %s.", kind, Anthropic)
	}
	return nil
}

func checkSecret(kind, secret string) error {
	switch {
	case len(secret) < shortest || len(secret) > longest:
		return task.Invalid("secret", "The secret has %d bytes: expected %d to %d.", len(secret), shortest, longest)
	case strings.ContainsFunc(secret, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar }):
		return task.Invalid("secret", "The secret contains a space, a line break or a control character. Next: copy the secret alone")
	case !redact.CanHide(secret):
		return task.Invalid("secret", "The secret is a number or a path: omoi could not remove it from the output of agents.")
	case kind == Anthropic && strings.HasPrefix(secret, "sk-ant-oat"):
		return task.Invalid("secret", "The secret is the token of a Claude subscription. Next: omoi credentials set %s", ClaudeOAuth)
	case kind == ClaudeOAuth && strings.HasPrefix(secret, "sk-ant-api"):
		return task.Invalid("secret", "The secret is an API key of Anthropic. Next: omoi credentials set %s", Anthropic)
	case kind == GitHub && strings.HasPrefix(secret, "sk-"):
		return task.Invalid("secret", "The secret is not a GitHub token: expected one that begins with ghp_, github_pat_ or a similar prefix.")
	}
	return nil
}

// checkBase refuses addresses that hold a secret of their own, or that name no server.
func checkBase(base string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || len(base) > longest {
		return task.Invalid("base_url", "Invalid base_url: expected a URL, for example https://api.example.com.")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return task.Invalid("base_url", "Invalid base_url: expected a URL without user, password, ? and #.")
	}
	return nil
}

func (m Models) check() error {
	for field, name := range map[string]string{"model": m.Model, "haiku_model": m.Haiku, "sonnet_model": m.Sonnet, "opus_model": m.Opus} {
		if name != "" && !modelForm.MatchString(name) {
			return task.Invalid(field, "Invalid %s: expected the name of a model, for example claude-sonnet-4-5.", field)
		}
	}
	return nil
}

// Masked is what may be shown of a secret: enough to tell two apart.
func Masked(secret string) string {
	const ends = 4
	if len(secret) < 6*ends {
		return "********"
	}
	return "********" + secret[len(secret)-ends:]
}
