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

// Kinds with a meaning for omoi. Any other kind names a model provider: its key is passed as <KIND>_API_KEY.
const (
	Anthropic   = "anthropic"    // API key of Anthropic or of a compatible endpoint
	ClaudeOAuth = "claude_oauth" // token of a Claude subscription
	GitHub      = "github"       // token for GitHub

	gitHubCopilot = "github_copilot" // token of a user with a Copilot plan
)

// Model is the name for the first of [ClaudeOAuth] and [Anthropic] that exists. It is not a kind.
const Model = "model"

// Value is one credential. Secret is required.
type Value struct {
	Secret string `json:"secret"`
	// Bearer sends the key in the header Authorization: Bearer, as some compatible endpoints require.
	Bearer  bool   `json:"bearer,omitempty"`
	BaseURL string `json:"base_url,omitempty"`
	Models
}

// Models are the models that an agent uses. An empty name leaves the choice to the agent.
type Models struct {
	Model  string `json:"model,omitempty" doc:"Model of tasks that name none. Default: the agent decides."`
	Haiku  string `json:"haiku_model,omitempty" doc:"Model to use instead of Claude Haiku; kinds anthropic and claude_oauth only. Default: none."`
	Sonnet string `json:"sonnet_model,omitempty" doc:"Model to use instead of Claude Sonnet; kinds anthropic and claude_oauth only. Default: none."`
	Opus   string `json:"opus_model,omitempty" doc:"Model to use instead of Claude Opus; kinds anthropic and claude_oauth only. Default: none."`
}

// Bounds of a secret in bytes. longest also bounds a base URL.
const (
	shortest = 8
	longest  = 16 << 10
)

var (
	kindForm  = regexp.MustCompile(`^[a-z][a-z0-9_]{1,30}$`)
	modelForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:/@\[\]-]{0,199}$`)
)

// CheckKind returns an error with [task.CodeInvalid] if kind cannot name a credential. The prefix "omoi" is refused:
// its variable would have the prefix OMOI_ of omoi's own variables.
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

// Check returns an error with [task.CodeInvalid] if the value cannot work. The error never contains the secret.
func (v Value) Check(kind string) error {
	return cmp.Or(CheckKind(kind), checkSecret(kind, v.Secret), v.checkFor(kind), checkBase(v.BaseURL), v.check())
}

// checkFor refuses fields that the kind does not use.
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

// checkBase refuses URLs with credentials, query or fragment, and URLs without a host.
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

// Masked returns the last four characters of a secret after asterisks, to tell two secrets apart. Of a secret below 24
// bytes, Masked shows no character.
func Masked(secret string) string {
	const ends = 4
	if len(secret) < 6*ends {
		return "********"
	}
	return "********" + secret[len(secret)-ends:]
}
